import { hash } from 'node:crypto'
import type { RateRule } from '../config/index.ts'
import type { ServerLimits } from '../config/model.ts'
import { fold, RecentMap, wildcards } from '../text/index.ts'
import { Buckets, type Flow, secondsOf, shortKey } from './buckets.ts'
import { networkOf } from './quota.ts'

/** A request that is counted: a `StepRequest`. */
export interface Subject {
  lease: { quotaKey: string }
  /** Address of the client. */
  address: string | undefined
  /** The caller's session id, if any. */
  sessionId(): string | undefined
}

/** A request beyond a rate. */
export interface Excess {
  per: RateRule['per']
  /** Seconds after which to retry. */
  retryAfter: number
}

/** Rate limits of a route. */
export interface RateLimits {
  /**
   * Counts requests that arrive together, each by itself.
   * @param tools called by each request; undefined: not a tool call
   */
  take(subject: Subject, tools: readonly (string | undefined)[]): Promise<Excesses>
}

/** For each request: undefined if allowed. */
export type Excesses = readonly (Excess | undefined)[]

/** Counts the requests of one HTTP context, as `RateLimits.take`. */
export type Meter = (tools: readonly (string | undefined)[]) => Promise<Excesses>

/** One count for one key. */
export interface Take extends Flow {
  key: string
}

/** Counters shared by replicas. */
export interface SharedBuckets {
  /**
   * Counts one more for each take, or none if one of them must wait.
   * @returns milliseconds to wait for each; undefined: no answer
   */
  take(takes: readonly Take[]): Promise<readonly number[] | undefined>
}

interface Counter {
  id: string
  per: RateRule['per']
  /** Absent: every request counts. */
  counts?: (tool: string) => boolean
  /** The rate that all processes share. */
  flow: Flow
  /** Counts in this process. */
  buckets: Buckets
}

/** The rates of a gateway, which survive reloads, so that unchanged rules keep their counts. */
export class Rates {
  /** Routes keep those in use. */
  private readonly counters = new RecentMap<string, Counter>(10_000)

  /**
   * @param everywhere rules for all routes together
   * @param shared counters of replicas
   * @param share the part of a worker
   */
  constructor(
    private readonly everywhere: readonly RateRule[] = [],
    private readonly shared?: SharedBuckets,
    private readonly now?: () => number,
    private readonly share: WorkerShare = { worker: 1, workers: 1 },
  ) {}

  /** @returns the rates of a route; undefined: none */
  of(route: {
    prefix: string
    tenant: string
    rate?: readonly RateRule[] | undefined
  }): RateLimits | undefined {
    const { prefix, tenant, rate = [] } = route
    const own = rate.map((rule) => this.counter(rule, prefix))
    const counters = [...new Set([...this.everywhere.map((rule) => this.counter(rule)), ...own])]
    if (!counters.length) return undefined
    const { shared } = this
    return {
      async take(subject, tools) {
        const all = tools.map((tool) => {
          const found = counters.filter(({ counts }) => !counts || (tool !== undefined && counts(tool)))
          return found.map((counter) => ({ counter, key: shortKey(KEYS[counter.per](subject, tenant)) }))
        })
        return shared ? Promise.all(all.map((counts) => together(counts, shared))) : all.map(alone)
      },
    }
  }

  private counter({ per, tools, limit, window, burst = limit }: RateRule, prefix?: string): Counter {
    const name = JSON.stringify([prefix ?? null, per, tools ?? null, limit, window, burst])
    const known = this.counters.get(name)
    if (known) return known
    const flow = { interval: window / limit, burst }
    const part = { interval: flow.interval * this.share.workers, burst: partOf(burst, this.share) }
    const buckets = new Buckets(part, this.now)
    const id = hash('sha256', name, 'base64url').slice(0, 16)
    const counter = { id, per, flow, buckets, ...(tools && { counts: countsOf(tools) }) }
    this.counters.set(name, counter)
    return counter
  }
}

/** Servers may ignore case, so names are compared without it. */
function countsOf(tools: readonly string[]): (tool: string) => boolean {
  const patterns = tools.map((pattern) => wildcards(fold(pattern)))
  return (tool) => {
    const name = fold(tool)
    return patterns.some((fits) => fits(name))
  }
}

interface Count {
  counter: Counter
  key: string
}

/** The key that a request counts for, by the `per` of a rate. */
const KEYS: Readonly<Record<RateRule['per'], (subject: Subject, tenant: string) => string>> = {
  caller: ({ lease }) => lease.quotaKey,
  session: (subject) => subject.sessionId() ?? subject.lease.quotaKey,
  tenant: (_, tenant) => tenant,
  address: ({ address = '' }) => networkOf(address),
}

/** Counts in this process only. */
function alone(counts: readonly Count[]): Excess | undefined {
  const excess = excessOf(
    counts,
    counts.map(({ counter, key }) => counter.buckets.wait(key)),
  )
  if (!excess) for (const { counter, key } of counts) counter.buckets.add(key)
  return excess
}

async function together(counts: readonly Count[], shared: SharedBuckets): Promise<Excess | undefined> {
  if (!counts.length) return undefined
  const takes = counts.map(({ counter, key }) => ({ ...counter.flow, key: `${counter.id}:${key}` }))
  const waits = await shared.take(takes)
  return waits ? excessOf(counts, waits) : alone(counts)
}

function excessOf(counts: readonly Count[], waits: readonly number[]): Excess | undefined {
  const longest = Math.max(0, ...waits)
  const count = longest > 0 ? counts[waits.indexOf(longest)] : undefined
  return count && { per: count.counter.per, retryAfter: secondsOf(longest) }
}

/** Message for the client. */
export function rateMessage({ retryAfter }: Excess): string {
  return `Too many requests: try again in ${retryAfter} s`
}

/** The place of a worker among those that share the limits. */
export interface WorkerShare {
  /** From 1 on. */
  worker: number
  workers: number
}

/** Limits that each worker counts by itself. */
const DIVIDED = ['maxSessions', 'maxCallsPerPrefix', 'maxFailedLogins'] as const

/** The part of a worker in a limit. All parts add up to the limit; where it is smaller than the number of workers, each has 1. */
function partOf(limit: number, { worker, workers }: WorkerShare): number {
  return Math.max(1, Math.floor(limit / workers) + (worker <= limit % workers ? 1 : 0))
}

/** The limits of a worker. @param share absent: there is one process */
export function partsOf(limits: ServerLimits, share: WorkerShare | undefined): ServerLimits {
  const parts = { ...limits }
  for (const name of DIVIDED) {
    const limit = limits[name]
    if (share && limit !== undefined) parts[name] = partOf(limit, share)
  }
  return parts
}

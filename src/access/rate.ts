import { hash } from 'node:crypto'
import type { RateRule } from '../config/index.ts'
import { fold, wildcards } from '../text/index.ts'
import { Buckets, type Flow, secondsOf, shortKey } from './buckets.ts'
import { networkOf } from './quota.ts'
import type { Refusal, Step, StepRequest } from './steps.ts'

/** Whom a request is counted for. */
export interface Subject {
  /** Of the limits. */
  sharer: string
  /** Of the client. */
  address: string | undefined
  /** The id of one that is the caller's. */
  session(): string | undefined
}

/** A request beyond a rate. */
export interface Excess {
  per: RateRule['per']
  /** Seconds after which it may come again. */
  retryAfter: number
}

/** What a route takes in a time. */
export interface RateLimits {
  /**
   * Counts requests that come together, each by itself.
   * @param tools what each of them calls; undefined: it is not the call of a tool
   */
  take(subject: Subject, tools: readonly (string | undefined)[]): Excesses | Promise<Excesses>
}

/** For each of some requests: undefined where it may pass. */
export type Excesses = readonly (Excess | undefined)[]

/** Counts requests of one exchange, as `RateLimits.take`. */
export type Meter = (tools: readonly (string | undefined)[]) => Excesses | Promise<Excesses>

/** One count of one key. */
export interface Take extends Flow {
  key: string
}

/** Counts that replicas share. */
export interface SharedBuckets {
  /**
   * Counts one more for each of the takes, or for none where one of them has to wait.
   * @returns milliseconds to wait for each; undefined: it is not known, as nothing answers
   */
  take(takes: readonly Take[]): Promise<readonly number[] | undefined>
}

interface Counter {
  id: string
  per: RateRule['per']
  /** Absent: every request counts. */
  counts?: (tool: string) => boolean
  buckets: Buckets
}

/** Counters that are known at most; routes hold those that they use. */
const MAX_COUNTERS = 10_000

/** The rates of a gateway. It outlives reloads, so that a rule which stays goes on counting. */
export class Rates {
  private readonly counters = new Map<string, Counter>()

  /**
   * @param everywhere rules for all routes together
   * @param shared where replicas count together
   */
  constructor(
    private readonly everywhere: readonly RateRule[] = [],
    private readonly shared?: SharedBuckets,
    private readonly now?: () => number,
  ) {}

  /** @returns the rates of a route; undefined: it has none */
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
      take(subject, tools) {
        const all = tools.map((tool) => {
          const found = counters.filter(({ counts }) => !counts || (tool !== undefined && counts(tool)))
          return found.map((counter) => ({ counter, key: shortKey(keyOf(counter.per, subject, tenant)) }))
        })
        return shared ? Promise.all(all.map((counts) => together(counts, shared))) : all.map(alone)
      },
    }
  }

  private counter({ per, tools, limit, window, burst = limit }: RateRule, prefix?: string): Counter {
    const name = JSON.stringify([prefix ?? null, per, tools ?? null, limit, window, burst])
    const known = this.counters.get(name)
    if (known) return known
    const buckets = new Buckets({ interval: window / limit, burst }, this.now)
    const id = hash('sha256', name, 'base64url').slice(0, 16)
    const counter = { id, per, buckets, ...(tools && { counts: countsOf(tools) }) }
    this.counters.set(name, counter)
    if (this.counters.size > MAX_COUNTERS) this.counters.delete(this.counters.keys().next().value as string)
    return counter
  }
}

/** A server may read a name leniently: one in another case counts as well. */
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

function keyOf(per: RateRule['per'], { sharer, address, session }: Subject, tenant: string): string {
  if (per === 'tenant') return tenant
  if (per === 'address') return networkOf(address ?? '')
  return (per === 'session' ? session() : undefined) ?? sharer
}

/** Counts in this process. */
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
  const takes = counts.map(({ counter, key }) => ({ ...counter.buckets.flow, key: `${counter.id}:${key}` }))
  const waits = await shared.take(takes)
  return waits ? excessOf(counts, waits) : alone(counts)
}

/** The one that has to wait for the longest time. */
function excessOf(counts: readonly Count[], waits: readonly number[]): Excess | undefined {
  const longest = Math.max(0, ...waits)
  const count = longest > 0 ? counts[waits.indexOf(longest)] : undefined
  return count && { per: count.counter.per, retryAfter: secondsOf(longest) }
}

/** A request that was refused because of a rate. */
export interface RateRefusal {
  prefix: string
  per: RateRule['per']
  caller: string | undefined
  /** Of the client. */
  address: string | undefined
}

/** Words for a client. */
export function rateMessage({ retryAfter }: Excess): string {
  return `Too many requests: try again in ${retryAfter} s`
}

/**
 * Has requests counted. What a POST holds is counted once its messages are known, with the `meter` that is set here; any
 * other request counts as one.
 */
export function rateStep(onRefused: (refusal: RateRefusal) => void = () => {}): Step {
  const refusalOf = ([excess]: Excesses): Refusal | undefined =>
    excess && {
      status: 429,
      message: rateMessage(excess),
      headers: { 'retry-after': String(excess.retryAfter) },
    }
  return {
    name: 'rate',
    run(request) {
      const { route, forwarded } = request
      // The replica that passed a request on has counted it.
      if (!route.rate || forwarded) return undefined
      const meter = meterOf(request, route.rate, onRefused)
      request.meter = meter
      if (request.method === 'POST') return undefined
      const found = meter([undefined])
      return found instanceof Promise ? found.then(refusalOf) : refusalOf(found)
    },
  }
}

function meterOf(request: StepRequest, rate: RateLimits, onRefused: (refusal: RateRefusal) => void): Meter {
  const { route, address, stay, caller, callerName = caller } = request
  const subject: Subject = { sharer: stay.sharer, address, session: () => request.sessionId() }
  const told = (excesses: Excesses) => {
    for (const excess of excesses)
      if (excess) onRefused({ prefix: route.prefix, per: excess.per, caller: callerName, address })
    return excesses
  }
  return (tools) => {
    const found = rate.take(subject, tools)
    return found instanceof Promise ? found.then(told) : told(found)
  }
}

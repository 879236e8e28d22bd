import { setTimeout as pause } from 'node:timers/promises'
import type { ReadConfiguration } from '../config/index.ts'
import { type Finding, finding, sortFindings } from '../findings/index.ts'
import { targetsOf } from './targets.ts'
import {
  type CheckEndpointsOptions,
  DEFAULTS,
  type EndpointCheck,
  type Read,
  type Status,
  type Step,
  type Target,
} from './types.ts'

/**
 * Checks the endpoints of configurations: the origin of each tool once, each MCP server, and the tools in `call`. Only
 * these change anything. Never rejects; after `signal` only finished checks are returned.
 */
export async function checkEndpoints(
  configurations: readonly ReadConfiguration[],
  options: CheckEndpointsOptions,
): Promise<EndpointCheck[]> {
  const { concurrency = DEFAULTS.concurrency, onProgress, signal } = options
  const targets = await targetsOf(configurations.filter(isRead), options)
  const checks: (EndpointCheck | undefined)[] = targets.map(() => undefined)
  let next = 0
  let done = 0
  const work = async () => {
    while (next < targets.length && !signal?.aborted) {
      const i = next++
      checks[i] = await checkOne(targets[i]!, options)
      onProgress?.(++done, targets.length, targets[i]!.endpoint)
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, targets.length) }, work))
  return checks.filter((check) => check !== undefined)
}

function isRead(read: ReadConfiguration): read is Read {
  return read.configuration !== undefined
}

/** Milliseconds before the second attempt; doubled for each further one. */
const PAUSE = 250

async function checkOne(
  target: Target,
  { retries = DEFAULTS.retries, signal }: CheckEndpointsOptions,
): Promise<EndpointCheck | undefined> {
  const { type, endpoint, users: usedBy, timeout } = target
  for (let attempts = 1; ; attempts++) {
    const begin = performance.now()
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), timeout)
    const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal
    const steps: Step[] = []
    await target.run({ steps, timeout, signal: either })
    clearTimeout(timer)
    if (signal?.aborted) return undefined
    const ms = Math.round(performance.now() - begin)
    const again =
      attempts <= retries && steps.some(({ status, transient }) => status === 'failed' && transient)
    if (!again) return { type, endpoint, status: worst(steps), steps, usedBy, attempts, ms }
    await pause(PAUSE * 2 ** (attempts - 1), undefined, { signal }).catch(() => {})
  }
}

const RANK: Status[] = ['failed', 'warning', 'skipped', 'ok']

function worst(steps: readonly Step[]): Status {
  return RANK.find((rank) => steps.some(({ status }) => status === rank)) ?? 'ok'
}

/** Findings of the checks, each at its first user. */
export function endpointFindings(checks: readonly EndpointCheck[]): Finding[] {
  return sortFindings(
    checks.flatMap(({ steps, usedBy }) =>
      steps.flatMap(({ status, code, detail, hint }) => {
        if (code === undefined || (status !== 'failed' && status !== 'warning')) return []
        const [first, ...others] = usedBy
        const { file, range } = first!
        const tools =
          others.length === 1
            ? 'one other tool or server of these files needs'
            : `${others.length} other tools or servers of these files need`
        const more = others.length === 0 ? '' : `; ${tools} it too`
        const severity = status === 'failed' ? ('error' as const) : ('warning' as const)
        const place = { severity, ...(range && { range }), ...(hint !== undefined && { hint }) }
        return [finding(code, file, detail + more, place)]
      }),
    ),
  )
}

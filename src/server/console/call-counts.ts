import type { RecordedCall } from '../../mcp/index.ts'
import { tokensIn } from '../../text/index.ts'
import { MAX_CALLS, MINUTES, type Minute, type Recorded } from '../recorder.ts'

export interface PrefixCalls {
  /** Calls of each of the last 60 minutes, the oldest first. */
  minutes: number[]
  /** Calls and failed calls of the last 60 minutes. */
  calls: number
  errors: number
  /** Milliseconds, of the remembered calls; undefined: there are none. */
  p50: number | undefined
  p95: number | undefined
  /** Estimated tokens of the answers of the last 60 minutes, and what shaping saved of them. */
  answered: number
  saved: number
  /** Revisions of the remembered calls. */
  revisions: ReadonlySet<string>
}

/** The last calls of all processes that a tenant, or an administrator of all, may see; the newest first. */
export function lastCalls(all: readonly Recorded[], tenant: string | undefined): RecordedCall[] {
  const own = all.flatMap(({ calls }) => calls.filter((one) => tenant === undefined || one.tenant === tenant))
  // The sort keeps the order of the calls of one millisecond in one process.
  return own
    .reverse()
    .sort((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
    .slice(0, MAX_CALLS)
}

/** @param prefix as in the table */
export function countsOf(all: readonly Recorded[], prefix: string): PrefixCalls {
  const last = Math.max(0, ...all.map(({ minute }) => minute))
  const counted = all.flatMap(({ minutes }) =>
    (minutes.get(prefix) ?? []).filter(({ at }) => at > last - MINUTES),
  )
  const own = all.flatMap(({ calls }) => calls.filter((call) => call.prefix === prefix))
  const times = own.map(({ ms }) => ms).sort((a, b) => a - b)
  const sum = (of: keyof Minute, among = counted) => among.reduce((total, one) => total + one[of], 0)
  const part = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]
  return {
    minutes: Array.from({ length: MINUTES }, (_, i) =>
      sum(
        'calls',
        counted.filter(({ at }) => at === last - MINUTES + 1 + i),
      ),
    ),
    calls: sum('calls'),
    errors: sum('errors'),
    answered: tokensIn(sum('answered')),
    saved: tokensIn(sum('saved')),
    p50: part(0.5),
    p95: part(0.95),
    revisions: new Set(own.map(({ revision }) => revision)),
  }
}

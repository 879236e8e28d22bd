import { Breaker, type BreakerChange, type BreakerState, type Permit, retryPause } from './breaker.ts'
import { type CancelSignal, waitFor } from './cancel.ts'
import { NetFault, type NetFaultKind } from './faults.ts'
import type { AnswerHeaders } from './types.ts'

/** Maximum milliseconds between two requests of one call, unless the upstream asks for more. */
const LONGEST_PAUSE = 5_000
/** First and longest time in milliseconds that a breaker stays open. */
const OPEN = { pause: 10_000, longest: 30_000 }

/** Faults without an answer that may pass. */
const PASSING = new Set<NetFaultKind>([
  'name',
  'refused',
  'unreachable',
  'proxy',
  'connect-timeout',
  'closed',
])
/** Faults before the first byte of the request was sent. */
const UNSENT = new Set<NetFaultKind>(['name', 'refused', 'unreachable', 'connect-timeout'])
/** Statuses with which an upstream, or a proxy before it, reports that it is temporarily unavailable. */
const PASSING_STATUS = new Set([429, 502, 503, 504])
/** Faults that the upstream did not cause. */
const OWN = new Set<NetFaultKind>(['cancelled', 'outbound', 'no-room', 'request', 'ended', 'breaker'])
/** Faults of an answer that cannot be used. */
const ANSWERED = new Set<NetFaultKind>(['headers', 'too-large', 'encoding'])

/**
 * Result of a retry: `ok` and `failed` if it was sent; `budget` if there were too many retries; `deadline` if the call
 * would time out.
 */
export type RetryOutcome = 'ok' | 'failed' | 'budget' | 'deadline'

/** Retry and breaker options of one upstream. */
export interface ResilienceOptions {
  /** Name of the server, for messages. */
  name: string
  /** Failures in a row that open the breaker. Absent: no breaker. */
  breaker?: { failures: number } | undefined
  onRetry?: (outcome: RetryOutcome) => void
  /** Called when the breaker of an origin opens, and when it closes. */
  onBreaker?: (change: BreakerChange) => void
  /** Clock in milliseconds. Default: `performance.now`. */
  now?: () => number
  /** Waits, at most until the signal aborts. Default: `waitFor`. */
  wait?: (milliseconds: number, signal: CancelSignal | undefined) => Promise<void>
}

/** The requests of one call. */
interface Attempts {
  origin: string
  /** Maximum attempts, including the first. */
  attempts: number
  /** End of the call's time, on the clock `now`. */
  deadline: number
  /** Whether to repeat a request only if none of its bytes was sent. Default false. */
  unsent?: boolean
  signal?: CancelSignal | undefined
}

interface Answered {
  status: number
  headers: AnswerHeaders
}

/** Circuit breakers of one upstream, one for each origin, and its budget of retries. */
export class Resilience {
  private readonly breaker: Breaker | undefined
  private readonly budget: RetryBudget
  private readonly now: () => number
  private readonly wait

  constructor(private readonly options: ResilienceOptions) {
    const { breaker, now = performance.now.bind(performance), wait = waitFor, onBreaker } = options
    this.now = now
    this.wait = wait
    this.budget = new RetryBudget(now)
    this.breaker = breaker && new Breaker({ ...OPEN, ...breaker }, now, onBreaker)
  }

  /** State of the worst origin; undefined without a breaker. */
  state(): BreakerState | undefined {
    return this.breaker?.state()
  }

  /** Reasons why origins are not called now, without duplicates. */
  faults(): string[] {
    return this.breaker?.faults() ?? []
  }

  /** Counts a request that needs neither retries nor a breaker; false if the caller must use `run`. */
  passes(attempts: number): boolean {
    if (attempts > 1 || this.breaker) return false
    this.budget.call()
    return true
  }

  /**
   * Sends a request, and repeats it while it fails and may be repeated.
   * @param send resolves to a NetFault for faults of the upstream; rejects only for other errors
   */
  async run<A extends Answered>(
    send: () => Promise<A | NetFault>,
    { origin, attempts, deadline, unsent = false, signal }: Attempts,
  ): Promise<A | NetFault> {
    this.budget.call()
    let last: A | NetFault | undefined
    for (let count = 1; ; count++) {
      const permit = this.breaker?.admit(origin)
      if (typeof permit === 'string') return last ?? this.refused(origin, permit)
      const result = await send().catch((error: unknown) => {
        permit?.released()
        throw error
      })
      reportTo(permit, origin, result)
      last = result
      if (signal?.aborted) return result
      if (count > 1) this.options.onRetry?.(isGood(result) ? 'ok' : 'failed')
      if (count >= attempts || !isPassing(result, unsent)) return result
      const pause = Math.max(retryPause(count - 1, LONGEST_PAUSE), askedPause(result))
      // A retry after the deadline is not worth a wait.
      if (this.now() + pause >= deadline) return this.given('deadline', result)
      if (this.breaker?.refusal(origin) !== undefined) return result
      if (!this.budget.take()) return this.given('budget', result)
      await this.wait(pause, signal)
      if (signal?.aborted) return NetFault.of('cancelled', origin)
    }
  }

  private given<A>(outcome: RetryOutcome, result: A): A {
    this.options.onRetry?.(outcome)
    return result
  }

  private refused(origin: string, why: string): NetFault {
    return new NetFault('breaker', origin, `the server ${this.options.name} is not called for now. ${why}`)
  }
}

/** Whether the upstream handled the request. */
function isGood(result: Answered | NetFault): boolean {
  return !(result instanceof NetFault) && result.status < 500 && !PASSING_STATUS.has(result.status)
}

/** Whether a retry may succeed. */
function isPassing(result: Answered | NetFault, unsent: boolean): boolean {
  if (!(result instanceof NetFault)) return !unsent && PASSING_STATUS.has(result.status)
  return (unsent ? UNSENT : PASSING).has(result.kind) && !result.answered
}

/** Reports the result of an attempt to the breaker. */
function reportTo(permit: Permit | undefined, origin: string, result: Answered | NetFault): void {
  if (!permit) return
  if (!(result instanceof NetFault)) {
    if (result.status >= 500) permit.failed(`${origin} answered ${result.status}`)
    else permit.worked()
  } else if (OWN.has(result.kind)) permit.released()
  else if (ANSWERED.has(result.kind)) permit.worked()
  else permit.failed(result.message)
}

function askedPause(result: Answered | NetFault): number {
  return result instanceof NetFault ? 0 : askedPauseOf(result.headers)
}

/** Milliseconds of `Retry-After` (RFC 9110, 10.2.3); 0 without the header, Infinity if it is invalid. */
export function askedPauseOf({ 'retry-after': asked, date }: Answered['headers']): number {
  if (asked === undefined) return 0
  if (/^\d+$/.test(String(asked))) return Number(asked) * 1000
  // The date is on the upstream's clock, which may differ from this one.
  const pause = Date.parse(String(asked)) - Date.parse(String(date))
  return Number.isNaN(pause) ? Number.POSITIVE_INFINITY : Math.max(0, pause)
}

/** Milliseconds of a slice of the sliding window. */
const SLICE = 10_000
/** Slices of the window, which is a minute long. */
const SLICES = 6
/** Share of recent calls that may be retried, so that an outage does not multiply the upstream's load. */
const SHARE = 0.2
/** Retries that each window permits, however few calls it has. */
const FLOOR = 10

interface Slice {
  /** Number of the slice since the start of the clock. */
  at: number
  calls: number
  repeats: number
}

/** Limits the retries to one upstream to a share of its calls. */
class RetryBudget {
  private readonly slices: Slice[] = Array.from({ length: SLICES }, () => ({ at: -1, calls: 0, repeats: 0 }))

  constructor(private readonly now: () => number) {}

  /** Counts a call. */
  call(): void {
    this.current().calls++
  }

  /** Counts a retry; false if the budget is used up. */
  take(): boolean {
    const current = this.current()
    const recent = this.slices.filter(({ at }) => at > current.at - SLICES)
    const sum = (key: 'calls' | 'repeats') => recent.reduce((all, slice) => all + slice[key], 0)
    if (sum('repeats') + 1 > Math.max(FLOOR, SHARE * sum('calls'))) return false
    current.repeats++
    return true
  }

  private current(): Slice {
    const at = Math.floor(this.now() / SLICE)
    const slice = this.slices[at % SLICES]!
    if (slice.at !== at) Object.assign(slice, { at, calls: 0, repeats: 0 })
    return slice
  }
}

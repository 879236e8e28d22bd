import { Breaker, type BreakerChange, type BreakerState, type Permit, retryPause } from './breaker.ts'
import { type CancelSignal, waitFor } from './cancel.ts'
import { NetFault, type NetFaultKind } from './faults.ts'
import type { AnswerHeaders } from './types.ts'

/** Maximum milliseconds between two requests of one call, unless the upstream asks for more. */
const LONGEST_PAUSE = 5_000
/** Milliseconds that a breaker stays open, at first and at most. */
const OPEN = { pause: 10_000, longest: 30_000 }

/** No answer came, and another request may get one. */
const PASSING = new Set<NetFaultKind>([
  'name',
  'refused',
  'unreachable',
  'proxy',
  'connect-timeout',
  'closed',
])
/** Not a byte of the request was sent. */
const UNSENT = new Set<NetFaultKind>(['name', 'refused', 'unreachable', 'connect-timeout'])
/** Statuses with which an upstream, or a proxy before it, reports that it is temporarily unavailable. */
const PASSING_STATUS = new Set([429, 502, 503, 504])
/** Nothing that the upstream did. */
const OWN = new Set<NetFaultKind>(['cancelled', 'outbound', 'no-room', 'request', 'ended', 'breaker'])
/** An answer came, which cannot be used. */
const ANSWERED = new Set<NetFaultKind>(['headers', 'too-large', 'encoding'])

/**
 * Result of a retry: `ok` and `failed`: it was sent; `budget` and `deadline`: it was not sent, because of too many
 * retries, or because the call would time out.
 */
export type RetryOutcome = 'ok' | 'failed' | 'budget' | 'deadline'

/** Retry and breaker options of one upstream. */
export interface ResilienceOptions {
  /** Name of the server, for messages. */
  name: string
  /** Failures in a row after which it opens. Absent: every request is sent. */
  breaker?: { failures: number } | undefined
  onRetry?: (outcome: RetryOutcome) => void
  /** Called when an origin is no longer called, and when it is called again. */
  onBreaker?: (change: BreakerChange) => void
  /** Milliseconds. */
  now?: () => number
  /** Waits; ends early when the signal aborts. */
  wait?: (milliseconds: number, signal: CancelSignal | undefined) => Promise<void>
}

/** The requests of one call. */
interface Attempts {
  origin: string
  /** The first one too. */
  attempts: number
  /** When the time of the call is over, of `performance.now()`. */
  deadline: number
  /** Repeats only requests that have not been sent in part. Default false. */
  unsent?: boolean
  signal?: CancelSignal | undefined
}

interface Answered {
  status: number
  headers: AnswerHeaders
}

/** Circuit breakers of one upstream, one for each origin, and its budget of requests that are sent again. */
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

  /** State of the worst origin; undefined: there is no breaker. */
  state(): BreakerState | undefined {
    return this.breaker?.state()
  }

  /** Why origins are not called now, each reason once. */
  faults(): string[] {
    return this.breaker?.faults() ?? []
  }

  /** Counts a request without retries and breaker, and returns true; false: the caller must use `run`. */
  passes(attempts: number): boolean {
    if (attempts > 1 || this.breaker) return false
    this.budget.call()
    return true
  }

  /**
   * Sends a request, and again as long as it fails and may be repeated.
   * @param send rejects for nothing that the upstream does
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
      tell(permit, origin, result)
      last = result
      if (signal?.aborted) return result
      if (count > 1) this.options.onRetry?.(isGood(result) ? 'ok' : 'failed')
      if (count >= attempts || !isPassing(result, unsent)) return result
      const pause = Math.max(retryPause(count - 1, LONGEST_PAUSE), askedPause(result))
      // Nothing is waited for that cannot be sent then.
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

/** Tells the breaker how an attempt went. */
function tell(permit: Permit | undefined, origin: string, result: Answered | NetFault): void {
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

/** Milliseconds that an answer asks to wait for (RFC 9110, 10.2.3); 0: it asks for nothing; Infinity: not known. */
export function askedPauseOf({ 'retry-after': asked, date }: Answered['headers']): number {
  if (asked === undefined) return 0
  if (/^\d+$/.test(String(asked))) return Number(asked) * 1000
  // By the clock of the upstream: ours may be another.
  const pause = Date.parse(String(asked)) - Date.parse(String(date))
  return Number.isNaN(pause) ? Number.POSITIVE_INFINITY : Math.max(0, pause)
}

/** Milliseconds of one part of the time that is looked back on. */
const SLICE = 10_000
/** Parts that are looked back on: a minute. */
const SLICES = 6
/** Share of recent calls that may be retried, so that an outage does not multiply the upstream's load. */
const SHARE = 0.2
/** Repeated requests in that time, however few calls there are. */
const FLOOR = 10

interface Slice {
  /** The number of its time since the clock began. */
  at: number
  calls: number
  repeats: number
}

/** How many requests to one upstream may be repeated. */
class RetryBudget {
  private readonly slices: Slice[] = Array.from({ length: SLICES }, () => ({ at: -1, calls: 0, repeats: 0 }))

  constructor(private readonly now: () => number) {}

  /** Counts a call. */
  call(): void {
    this.current().calls++
  }

  /** Takes a request that is to be repeated; false: it may not be. */
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

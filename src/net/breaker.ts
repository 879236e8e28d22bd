import { RecentMap } from '../text/index.ts'

/** When a breaker opens, and for how long. */
interface BreakerRules {
  /** Failures in a row that open it. */
  failures: number
  /** First pause in milliseconds; each further failure doubles it. */
  pause: number
  /** Longest pause in milliseconds. */
  longest: number
}

/** Milliseconds of the first pause. */
const FIRST_PAUSE = 250
/** Maximum milliseconds between two attempts. */
export const LONGEST_PAUSE = 30_000

/** Rules for starts: a single failure may be chance. */
const OF_STARTS: BreakerRules = { failures: 2, pause: FIRST_PAUSE, longest: LONGEST_PAUSE }

/** `half-open`: the pause is over, and one attempt tests whether the upstream works; others are refused until its result. */
export type BreakerState = 'closed' | 'half-open' | 'open'

export interface BreakerChange {
  key: string
  state: 'open' | 'closed'
  /** Reason of the last failure; absent once it works. */
  reason?: string
}

/** State after a failure. */
interface Circuit {
  /** Failures in a row. */
  count: number
  until: number
  reason: string
  /** The attempt after a pause. */
  probe?: Permit | undefined
}

/** Permission for one attempt. Call one of its methods once, with the result. */
export interface Permit {
  worked(): void
  /** @param reason a sentence without a full stop */
  failed(reason: string): void
  /** Ends an attempt without a result, such as a cancelled one. */
  released(): void
}

/** Circuit breakers by key: after repeated failures, attempts are refused for a pause. */
export class Breaker {
  private readonly circuits = new RecentMap<string, Circuit>(1_000)

  /** @param onChange called when the breaker of a key opens, and when it closes again */
  constructor(
    private readonly rules: BreakerRules = OF_STARTS,
    private readonly now: () => number = performance.now.bind(performance),
    private readonly onChange: (change: BreakerChange) => void = () => {},
  ) {}

  /** Why attempts are refused now, as a sentence without a full stop; undefined if one is permitted. */
  refusal(key: string): string | undefined {
    const circuit = this.circuits.get(key)
    if (!circuit) return undefined
    const left = circuit.until - this.now()
    const failures = `${circuit.reason}. It failed ${timesText(circuit.count)}`
    if (left > 0) return `${failures}; the next attempt is in ${Math.ceil(Math.round(left) / 1000)} s`
    return circuit.probe && `${failures}; the next attempt is under way`
  }

  /** Permits every attempt while closed, and one after each pause; otherwise returns the text of `refusal`. */
  admit(key: string): Permit | string {
    const refusal = this.refusal(key)
    if (refusal !== undefined) return refusal
    const circuit = this.circuits.get(key)
    const isOpen = circuit !== undefined && this.isOpen(circuit)
    // A request sent before the breaker opened does not show the state after the pause.
    const counts = () => {
      const current = this.circuits.get(key)
      return !current || !this.isOpen(current) || current.probe === permit
    }
    const permit: Permit = {
      worked: () => counts() && this.worked(key),
      failed: (reason) => counts() && this.failed(key, reason),
      released: () => {
        const current = this.circuits.get(key)
        if (current?.probe === permit) current.probe = undefined
      },
    }
    if (isOpen) circuit.probe = permit
    return permit
  }

  /** @param reason a sentence without a full stop */
  failed(key: string, reason: string): void {
    const { failures, pause, longest } = this.rules
    const count = (this.circuits.get(key)?.count ?? 0) + 1
    const length = count < failures ? 0 : pauseOf(count - failures, pause, longest)
    this.circuits.set(key, { count, reason, until: this.now() + length })
    if (count === failures) this.onChange({ key, state: 'open', reason })
  }

  worked(key: string): void {
    const circuit = this.circuits.get(key)
    this.circuits.delete(key)
    if (circuit && this.isOpen(circuit)) this.onChange({ key, state: 'closed' })
  }

  /** Reasons why attempts are refused now, without duplicates. */
  faults(): string[] {
    const current = [...this.circuits.values()].filter(({ until }) => until > this.now())
    return [...new Set(current.map(({ reason }) => reason))]
  }

  /** The worst state of all keys. */
  state(): BreakerState {
    const open = [...this.circuits.values()].filter((circuit) => this.isOpen(circuit))
    if (open.some(({ until }) => until > this.now())) return 'open'
    return open.length ? 'half-open' : 'closed'
  }

  private isOpen({ count }: Circuit): boolean {
    return count >= this.rules.failures
  }
}

function timesText(count: number): string {
  return count === 1 ? 'once' : `${count} times in a row`
}

/** Milliseconds of a pause, which doubles after each failure. @param failures before this one */
export function pauseOf(failures: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** failures)
}

/**
 * Milliseconds until the next attempt, with jitter, so that attempts that failed together are not repeated together.
 * @param failures before this one
 * @param longest milliseconds. Default 30,000
 */
export function retryPause(failures: number, longest = LONGEST_PAUSE): number {
  return pauseOf(failures, FIRST_PAUSE, longest) * (0.5 + Math.random() / 2)
}

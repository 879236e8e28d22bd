import { RecentMap } from '../text/index.ts'

/** When a breaker opens, and for how long. */
interface BreakerRules {
  /** Failures in a row after which nothing is tried for a while. */
  failures: number
  /** Milliseconds; twice as long after each further failure. */
  pause: number
  /** Milliseconds. */
  longest: number
}

/** Milliseconds after the first failure that is waited for. */
const FIRST_PAUSE = 250
/** Milliseconds at most between two attempts to reach something. */
export const LONGEST_PAUSE = 30_000

/** Rules for starts: a single failure may be chance. */
const OF_STARTS: BreakerRules = { failures: 2, pause: FIRST_PAUSE, longest: LONGEST_PAUSE }

/** After a pause, one attempt tests whether the upstream works again; until its result no other is sent. */
export type BreakerState = 'closed' | 'half-open' | 'open'

export interface BreakerChange {
  key: string
  state: 'open' | 'closed'
  /** Reason of the last failure; absent: it works. */
  reason?: string
}

/** State after a failure. */
interface Circuit {
  /** In a row. */
  count: number
  until: number
  reason: string
  /** The attempt after a pause. */
  probe?: Permit | undefined
}

/** One attempt. Say once how it went. */
export interface Permit {
  worked(): void
  /** @param reason a sentence without a full stop */
  failed(reason: string): void
  /** Ends an attempt without a result, such as a cancelled one. */
  released(): void
}

/** Remembers by key what failed, so that it is not tried again and again without a pause. */
export class Breaker {
  private readonly circuits = new RecentMap<string, Circuit>(1_000)

  /** @param onChange called when a key opens, and when it closes again */
  constructor(
    private readonly rules: BreakerRules = OF_STARTS,
    private readonly now: () => number = performance.now.bind(performance),
    private readonly onChange: (change: BreakerChange) => void = () => {},
  ) {}

  /** Why it is not tried now, as a sentence without a full stop; undefined when it may be. */
  refusal(key: string): string | undefined {
    const circuit = this.circuits.get(key)
    if (!circuit) return undefined
    const left = circuit.until - this.now()
    const told = `${circuit.reason}. It failed ${timesText(circuit.count)}`
    if (left > 0) return `${told}; the next attempt is in ${Math.ceil(Math.round(left) / 1000)} s`
    return circuit.probe && `${told}; the next attempt is under way`
  }

  /** Lets one attempt pass after each pause, and every one while all is well; or says why not, as `refusal`. */
  admit(key: string): Permit | string {
    const refusal = this.refusal(key)
    if (refusal !== undefined) return refusal
    const circuit = this.circuits.get(key)
    const isOpen = circuit !== undefined && this.isOpen(circuit)
    // The result of a request sent before the breaker opened says nothing about the state after the pause.
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

  /** Why keys are not tried now, each reason once. */
  faults(): string[] {
    const current = [...this.circuits.values()].filter(({ until }) => until > this.now())
    return [...new Set(current.map(({ reason }) => reason))]
  }

  /** The worst among all keys. */
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

/** Twice as long after each failure. @param failures before this one @param first, longest milliseconds */
export function pauseOf(failures: number, first: number, longest: number): number {
  return Math.min(longest, first * 2 ** failures)
}

/**
 * Milliseconds until something that failed is tried again, with jitter: things that failed together are not all tried
 * again at the same moment.
 * @param failures before this one
 * @param longest milliseconds. Default 30,000
 */
export function retryPause(failures: number, longest = LONGEST_PAUSE): number {
  return pauseOf(failures, FIRST_PAUSE, longest) * (0.5 + Math.random() / 2)
}

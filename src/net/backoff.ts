/** Milliseconds after the first failure that is waited for. */
const FIRST_PAUSE = 250
/** Of `Backoff`, milliseconds. */
const LONGEST_PAUSE = 30_000
/** Keys come from callers, so their number is bounded. */
const MAX_KEYS = 1_000

/** Twice as long after each failure. @param failures before this one @param longest milliseconds */
function pauseOf(failures: number, longest: number): number {
  return Math.min(longest, FIRST_PAUSE * 2 ** failures)
}

/**
 * Milliseconds until something that failed is tried again, with jitter: things that failed together are not all tried
 * again at the same moment.
 * @param failures before this one
 * @param longest milliseconds
 */
export function retryPause(failures: number, longest: number): number {
  return pauseOf(failures, longest) * (0.5 + Math.random() / 2)
}

/** A failure whose pause is not over. */
interface Failure {
  count: number
  until: number
  reason: string
}

/** Remembers by key what failed to start, so that requests do not start it again and again without a pause. */
export class Backoff {
  private readonly failures = new Map<string, Failure>()

  constructor(private readonly now: () => number = performance.now.bind(performance)) {}

  /** Why it is not tried now, as a sentence; undefined when it may be. */
  refusal(key: string): string | undefined {
    const failure = this.failures.get(key)
    const left = failure ? failure.until - this.now() : 0
    if (!failure || left <= 0) return undefined
    return `${failure.reason}. It failed ${failure.count} times in a row; the next attempt is in ${Math.ceil(left / 1000)} s`
  }

  /** The first failure makes no pause. @param reason a sentence without a full stop */
  failed(key: string, reason: string): void {
    const count = (this.failures.get(key)?.count ?? 0) + 1
    this.failures.delete(key)
    const pause = count === 1 ? 0 : pauseOf(count - 2, LONGEST_PAUSE)
    this.failures.set(key, { count, reason, until: this.now() + pause })
    if (this.failures.size > MAX_KEYS) this.failures.delete(this.failures.keys().next().value as string)
  }

  worked(key: string): void {
    this.failures.delete(key)
  }

  /** Why keys are not tried now, each reason once. */
  faults(): string[] {
    const current = [...this.failures.values()].filter(({ until }) => until > this.now())
    return [...new Set(current.map(({ reason }) => reason))]
  }
}

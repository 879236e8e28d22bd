/** Remembers what failed to start, so that it is not tried again and again without a pause. */
export interface Backoff {
  /** Why it is not tried now, as a sentence; undefined when it may be. */
  refusal(key: string): string | undefined
  failed(key: string, reason: string): void
  worked(key: string): void
  /** Why what is not tried now failed, each reason once. */
  faults(): string[]
}

/** Milliseconds of the pause after a second failure in a row; each further one is twice as long. */
const FIRST = 250
const LONGEST = 30_000
/** Keys come from callers, so their number is bounded. */
const MAX_KEYS = 1_000

export function createBackoff(now: () => number = Date.now): Backoff {
  const failures = new Map<string, { count: number; until: number; reason: string }>()
  return {
    refusal(key) {
      const failure = failures.get(key)
      if (!failure) return undefined
      const left = failure.until - now()
      if (left <= 0) return undefined
      return `${failure.reason}. It failed ${failure.count} times in a row; the next try is in ${Math.ceil(left / 1000)} s`
    },
    failed(key, reason) {
      const count = (failures.get(key)?.count ?? 0) + 1
      failures.delete(key)
      const pause = count === 1 ? 0 : Math.min(LONGEST, FIRST * 2 ** (count - 2))
      failures.set(key, { count, reason, until: now() + pause })
      if (failures.size > MAX_KEYS) failures.delete(failures.keys().next().value as string)
    },
    worked(key) {
      failures.delete(key)
    },
    faults() {
      const current = [...failures.values()].filter(({ until }) => until > now())
      return [...new Set(current.map(({ reason }) => reason))]
    },
  }
}

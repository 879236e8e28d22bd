import { hash } from 'node:crypto'

/** How fast something may come. */
export interface Flow {
  /** Milliseconds after which one more may come. */
  interval: number
  /** How many may come at once. */
  burst: number
}

/** Keys that are counted apart; of more than those the ones that were not seen for the longest time begin anew. */
const MAX_KEYS = 50_000
/** Characters of a key that is kept as it is. */
const MAX_KEY = 100

/**
 * Counts by key what may come at the pace of a flow: a token bucket, kept as the time at which it will be full again (the
 * generic cell rate algorithm, ITU-T I.371). Whoever keeps to the flow is never refused, and what is refused counts for
 * nothing.
 */
export class Buckets {
  private recent = new Map<string, number>()
  /** Seen before `since`, and not after it. */
  private earlier = new Map<string, number>()
  private since: number

  constructor(
    readonly flow: Flow,
    private readonly now: () => number = performance.now.bind(performance),
  ) {
    this.since = now()
  }

  /** Milliseconds until one more may come; 0: now. */
  wait(key: string): number {
    const { interval, burst } = this.flow
    const now = this.now()
    const wait = this.fullAt(key, now) - now - interval * (burst - 1)
    // Sums of fractions are not exact: the last of a burst must not be refused for a millionth of a second.
    return wait < 0.001 ? 0 : wait
  }

  /** Counts one more. */
  add(key: string): void {
    const { interval, burst } = this.flow
    const now = this.now()
    const fullAt = this.fullAt(key, now)
    // A bucket that was not touched in the time that fills an empty one is full, and need not be known.
    if (this.recent.size >= MAX_KEYS / 2 || now - this.since > interval * burst) {
      this.earlier = this.recent
      this.recent = new Map()
      this.since = now
    }
    this.recent.set(key, fullAt + interval)
  }

  private fullAt(key: string, now: number): number {
    return Math.max(now, this.recent.get(key) ?? this.earlier.get(key) ?? 0)
  }
}

/** A key that is no longer than others. */
export function shortKey(key: string): string {
  return key.length <= MAX_KEY ? key : hash('sha256', key, 'base64')
}

/** What a client is told to wait. @param wait milliseconds @returns whole seconds, at least one */
export function secondsOf(wait: number): number {
  return Math.max(1, Math.ceil(wait / 1000))
}

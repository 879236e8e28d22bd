import { hash } from 'node:crypto'

/** A permitted pace. */
export interface Flow {
  /** Milliseconds until one more is permitted. */
  interval: number
  /** How many may come at once. */
  burst: number
}

/** Maximum keys counted; beyond, the least recently seen start anew. */
const MAX_KEYS = 50_000

/**
 * Token buckets by key, each stored as the time at which it will be full (generic cell rate algorithm, ITU-T I.371). A
 * client within the pace is never refused, and refused requests are not counted.
 */
export class Buckets {
  private recent = new Map<string, number>()
  /** Keys last seen before `since`. */
  private earlier = new Map<string, number>()
  private since: number

  constructor(
    readonly flow: Flow,
    private readonly now: () => number = performance.now.bind(performance),
  ) {
    this.since = now()
  }

  /** Milliseconds until one more is permitted; 0: now. */
  wait(key: string): number {
    const { interval, burst } = this.flow
    const now = this.now()
    const wait = this.fullAt(key, now) - now - interval * (burst - 1)
    // Tolerates floating-point error, so that the last request of a burst is not refused.
    return wait < 0.001 ? 0 : wait
  }

  /** Counts one more. */
  add(key: string): void {
    const { interval, burst } = this.flow
    const now = this.now()
    const fullAt = this.fullAt(key, now)
    // An untouched bucket is full by then, and need not be stored.
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

/** The key, hashed if long. */
export function shortKey(key: string): string {
  return key.length <= 100 ? key : hash('sha256', key, 'base64')
}

/** Value of Retry-After. @param wait milliseconds @returns whole seconds, at least one */
export function secondsOf(wait: number): number {
  return Math.max(1, Math.ceil(wait / 1000))
}

import { Buckets } from '../access/buckets.ts'
import type { Take } from '../access/rate.ts'

/** Flows that are counted at most: each rule of a rate has one. */
const MAX_FLOWS = 1_000

/** What all workers count together, in the process that started them. */
export class SharedCounts {
  private readonly flows = new Map<string, Buckets>()

  /** Counts one more for each of the takes, or for none where one of them has to wait. @returns milliseconds to wait */
  take(takes: readonly Take[]): number[] {
    const counted = takes.map((take) => ({ key: take.key, buckets: this.bucketsOf(take) }))
    const waits = counted.map(({ key, buckets }) => buckets.wait(key))
    if (waits.every((wait) => wait === 0)) for (const { key, buckets } of counted) buckets.add(key)
    return waits
  }

  private bucketsOf({ interval, burst }: Take): Buckets {
    const name = `${interval} ${burst}`
    const buckets = this.flows.get(name) ?? new Buckets({ interval, burst })
    this.flows.set(name, buckets)
    if (this.flows.size > MAX_FLOWS) this.flows.delete(this.flows.keys().next().value as string)
    return buckets
  }
}

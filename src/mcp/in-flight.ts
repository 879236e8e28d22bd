/**
 * V8 links the tables that a `Map` outgrows, be it by deletions, and one that got old keeps alive whatever came
 * after it: a fifth of a busy gateway's CPU went into collecting calls that were long over. After as many
 * deletions a map is begun anew.
 */
const DELETIONS = 64

/** What is under way, by key: a `Map` for entries that come and go with each call. */
export class InFlight<K, V> {
  #map = new Map<K, V>()
  #deleted = 0

  get size(): number {
    return this.#map.size
  }

  has(key: K): boolean {
    return this.#map.has(key)
  }

  get(key: K): V | undefined {
    return this.#map.get(key)
  }

  set(key: K, value: V): void {
    this.#map.set(key, value)
  }

  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false
    if (++this.#deleted > DELETIONS + this.#map.size) {
      this.#map = new Map(this.#map)
      this.#deleted = 0
    }
    return true
  }

  /** The keys of this moment, the oldest first. */
  keys(): K[] {
    return [...this.#map.keys()]
  }

  /** The values of this moment, the oldest first. */
  values(): V[] {
    return [...this.#map.values()]
  }
}

/** Entries deleted before the map is rebuilt: a `Map` with a long history of deletions retains finished calls. */
const DELETIONS = 64

/** Entries of running calls, by key: a `Map` for short-lived entries. */
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

  /** Current keys, oldest first. */
  keys(): K[] {
    return [...this.#map.keys()]
  }

  /** Current values, oldest first. */
  values(): V[] {
    return [...this.#map.values()]
  }
}

/** Maps that are replaced as a whole, a few entries at a time: a copy of thousands takes longer than all else of a reload. */

/** Stands in the place of an entry that is there no more. */
const GONE = Symbol('gone')

/** Entries that a revision has of its own, as a part of all. */
const MOST = 1 / 64

class Revision<V> implements ReadonlyMap<string, V> {
  constructor(
    readonly base: ReadonlyMap<string, V>,
    readonly own: ReadonlyMap<string, V | typeof GONE>,
    readonly size: number,
  ) {}

  get(key: string): V | undefined {
    const own = this.own.get(key)
    if (own === undefined) return this.base.get(key)
    return own === GONE ? undefined : own
  }

  has(key: string): boolean {
    return this.get(key) !== undefined
  }

  *entries(): Generator<[string, V], undefined> {
    for (const key of this.base.keys()) {
      const value = this.get(key)
      if (value !== undefined) yield [key, value]
    }
    for (const [key, value] of this.own) if (value !== GONE && !this.base.has(key)) yield [key, value]
  }

  *keys(): Generator<string, undefined> {
    for (const [key] of this.entries()) yield key
  }

  *values(): Generator<V, undefined> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator](): Generator<[string, V], undefined> {
    return this.entries()
  }

  forEach(use: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) use(value, key, this)
  }
}

/**
 * A map with other entries, of which the last one of a key counts; undefined: the key is gone. What is replaced keeps its
 * place. Neither map changes any more.
 */
export function revised<V extends object>(
  map: ReadonlyMap<string, V>,
  entries: readonly (readonly [key: string, value: V | undefined])[],
): ReadonlyMap<string, V> {
  if (entries.length === 0) return map
  const { base, own } = partsOf(map)
  const next = new Map(own)
  let { size } = map
  for (const [key, value] of entries) {
    const before = next.get(key) ?? base.get(key) ?? GONE
    next.set(key, value ?? GONE)
    size += Number(value !== undefined) - Number(before !== GONE)
  }
  const revision = new Revision(base, next, size)
  return next.size > base.size * MOST ? new Map(revision) : revision
}

function partsOf<V>(map: ReadonlyMap<string, V>): Pick<Revision<V>, 'base' | 'own'> {
  return map instanceof Revision ? map : { base: map, own: new Map() }
}

/** Entries of `one` that are not the same in `other`. Of revisions of the same map only what is their own is looked at. */
export function changed<V>(one: ReadonlyMap<string, V>, other: ReadonlyMap<string, V>): [key: string, V][] {
  if (one === other) return []
  const [mine, its] = [partsOf(one), partsOf(other)]
  const keys = mine.base === its.base ? new Set([...mine.own.keys(), ...its.own.keys()]) : one.keys()
  const found: [string, V][] = []
  for (const key of keys) {
    const value = one.get(key)
    if (value !== undefined && other.get(key) !== value) found.push([key, value])
  }
  return found
}

/** Groups by key, in order of first occurrence, as `Map.groupBy`, which Node 20 lacks. */
export function groupBy<K, T>(all: Iterable<T>, keyOf: (one: T) => K): Map<K, T[]> {
  const made = new Map<K, T[]>()
  for (const one of all) {
    const key = keyOf(one)
    const list = made.get(key)
    if (list) list.push(one)
    else made.set(key, [one])
  }
  return made
}

/** The places of keys that came before, each with the first place of the same key. */
export function repeats(keys: Iterable<string>): [at: number, first: number][] {
  const places = [...groupBy([...keys].entries(), ([, key]) => key).values()]
  return places.flatMap(([first, ...others]) => others.map(([at]): [number, number] => [at, first![0]]))
}

/** A map of bounded size: beyond `most` keys it forgets the one that was set first. Keys may come from outside. */
export class RecentMap<Key, Value> extends Map<Key, Value> {
  constructor(private readonly most: number) {
    super()
  }

  /** The key becomes the newest. */
  override set(key: Key, value: Value): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.most) this.delete(this.keys().next().value as Key)
    return this
  }
}

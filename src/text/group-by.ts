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

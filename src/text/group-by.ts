/** What has the same key, in the order of the first of each; as `Map.groupBy`, which Node 20 does not have. */
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

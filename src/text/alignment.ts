/** How two lists of the same things lie beside each other. */
export interface Alignment {
  /** By place in the later one: the place in the earlier one, or -1. */
  before: number[]
  /** Places in the earlier one of what has no place in the later one. */
  gone: number[]
}

/** So many items that came or went at one place are looked over. */
const REACH = 32

/**
 * Compares lists item by item, so that it is fast for thousands of items with few changes. What has moved
 * far is gone and has come.
 */
export function alignment<T>(earlier: readonly T[], later: readonly T[]): Alignment {
  const before: number[] = Array(later.length).fill(-1)
  const gone: number[] = []
  let at = 0
  for (let i = 0; i < later.length && at < earlier.length; i++) {
    if (earlier[at] !== later[i]) {
      const went = distance(later[i], earlier, at)
      const came = distance(earlier[at], later, i)
      if (came < went) continue
      // One in the place of another, where neither is found again.
      const count = went > REACH ? 1 : went
      for (let n = 0; n < count; n++) gone.push(at++)
      if (earlier[at] !== later[i] || at === earlier.length) continue
    }
    before[i] = at++
  }
  for (; at < earlier.length; at++) gone.push(at)
  return { before, gone }
}

/** How far behind a place an item is; more than `REACH`: it is not near. */
function distance<T>(item: T, list: readonly T[], place: number): number {
  for (let far = 1; far <= REACH && place + far < list.length; far++)
    if (list[place + far] === item) return far
  return REACH + 1
}

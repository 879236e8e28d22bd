/** The candidate at exactly one edit from the word (a letter more, less, other, or in other case), if only one is. */
export function oneEditAway(word: string, candidates: Iterable<string>): string | undefined {
  const close = [...new Set(candidates)].filter((candidate) => isOneEdit(word, candidate))
  return close.length === 1 ? close[0] : undefined
}

/** Whether one letter more, less or other, or two neighbours swapped, makes one of the other. */
export function isOneEdit(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false
  let start = 0
  while (start < a.length && a[start] === b[start]) start++
  let end = 0
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++
  const restOfA = a.slice(start, a.length - end)
  const restOfB = b.slice(start, b.length - end)
  if (restOfA.length <= 1 && restOfB.length <= 1) return true
  return restOfA.length === 2 && restOfB.length === 2 && restOfA === restOfB[1]! + restOfB[0]!
}

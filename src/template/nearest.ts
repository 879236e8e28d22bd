/**
 * The candidate that a misspelt word most likely means, or undefined when none is near: at most a third of its
 * letters (and at least one) may be wrong, where two swapped letters count as one and case as half of one.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > 100) return undefined
  let best: string | undefined
  let least = Math.max(1, Math.floor(word.length / 3)) + 0.5
  const lower = word.toLowerCase()
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= least + 0.5) continue
    // However many letters: nothing else can have been meant.
    if (candidate.toLowerCase() === lower && candidate !== word) return candidate
    const distance = editDistance(word, candidate)
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

/** The candidate with the fewest letters to change, however many those are; undefined for overlong words. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > 100) return undefined
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - word.length) >= least) continue
    const distance = editDistance(word, candidate)
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

/** Optimal string alignment, with half a step for letters that differ by case only. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      let least = Math.min(
        previous[j]! + 1,
        row[j - 1]! + 1,
        previous[j - 1]! + letterDistance(a[i - 1]!, b[j - 1]!),
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, before[j - 2]! + 1)
      }
      row.push(least)
    }
    before = previous
    previous = row
  }
  return previous[b.length]!
}

function letterDistance(a: string, b: string): number {
  if (a === b) return 0
  return a.toLowerCase() === b.toLowerCase() ? 0.5 : 1
}

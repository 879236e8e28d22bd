/** Letters compared for one word: what is not reached among very many long candidates is not proposed. */
const MAX_COMPARED = 100_000
/** Longer words are not proposed, nor anything for them. */
const MAX_LETTERS = 100

/**
 * The candidate that a misspelt word most likely means, or undefined when none is near: at most a third of its
 * letters (and at least one) may be wrong, where two swapped letters count as one and case as half of one.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const lower = word.toLowerCase()
  const all = [...candidates]
  // However many letters: nothing else can have been meant.
  const inOtherCase = (one: string) =>
    one.length === word.length && one !== word && one.toLowerCase() === lower
  if (word.length > MAX_LETTERS) return undefined
  return all.find(inOtherCase) ?? nearer(word, all, Math.max(1, Math.floor(word.length / 3)) + 0.5)
}

/** The candidate with the fewest letters to change, however many those are; undefined for overlong words. */
export function closest(word: string, candidates: Iterable<string>): string | undefined {
  return word.length > MAX_LETTERS ? undefined : nearer(word, candidates, Number.POSITIVE_INFINITY)
}

/** A sentence that proposes a name for one that there is not, or an empty text. */
export function proposal(name: string, names: readonly string[]): string {
  const near = nearest(name, names)
  if (near !== undefined) return `Did you mean ${near}?`
  // Too far off to be what was meant, but a name to go on with.
  const some = closest(name, names)
  return some === undefined ? '' : `The nearest name is ${some}.`
}

/** The nearest candidate of those that are fewer steps than `bound` away. */
function nearer(word: string, candidates: Iterable<string>, bound: number): string | undefined {
  let best: string | undefined
  let least = bound
  const work = { left: MAX_COMPARED }
  for (const candidate of candidates) {
    const difference = Math.abs(candidate.length - word.length)
    if (candidate.length > MAX_LETTERS || difference >= least || work.left <= 0) continue
    const distance = editDistance(word, candidate, least, work)
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best
}

/**
 * Optimal string alignment, with half a step for letters that differ by case only; infinite when it is not below
 * `bound`, or when no work is left.
 */
function editDistance(a: string, b: string, bound: number, work: { left: number }): number {
  const [lowerA, lowerB] = [a, b].map((text) =>
    Array.from(text.split(''), (letter) => letter.toLowerCase()),
  ) as [string[], string[]]
  work.left -= a.length + b.length
  let earlier: number[] = []
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    work.left -= b.length
    if (work.left < 0) return Number.POSITIVE_INFINITY
    const row = earlier
    row[0] = i
    let least = i
    for (let j = 1; j <= b.length; j++) {
      const other = a[i - 1] === b[j - 1] ? 0 : lowerA[i - 1] === lowerB[j - 1] ? 0.5 : 1
      let steps = Math.min(previous[j]! + 1, row[j - 1]! + 1, previous[j - 1]! + other)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        steps = Math.min(steps, before[j - 2]! + 1)
      row[j] = steps
      if (steps < least) least = steps
    }
    // A swap reaches back two rows, for one step.
    if (least >= bound + 1) return Number.POSITIVE_INFINITY
    earlier = before
    before = previous
    previous = row
  }
  return previous[b.length]!
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

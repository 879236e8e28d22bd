/** Letters that are compared for one message: what is not reached among very many long candidates is not proposed. */
const MAX_COMPARED = 100_000
/** Longer words are not proposed, nor anything for them. */
const MAX_LETTERS = 100

/** How many letters may still be compared. */
export interface Comparisons {
  left: number
}

/** The comparisons for all names of one message together. */
export function comparisons(): Comparisons {
  return { left: MAX_COMPARED }
}

/**
 * The candidate that a misspelt word most likely means, or undefined when none is near: at most a third of its
 * letters (and at least one) may be wrong, where two swapped letters count as one and case as half of one.
 */
export function nearest(
  word: string,
  candidates: Iterable<string>,
  work = comparisons(),
): string | undefined {
  return nearer(word, [...candidates], nearBound(word), work)?.candidate
}

function nearBound(word: string): number {
  return Math.max(1, Math.floor(word.length / 3)) + 0.5
}

/** A sentence that proposes a name for one that there is not, or an empty text. */
export function proposal(name: string, names: readonly string[]): string {
  const found = nearer(name, names, Number.POSITIVE_INFINITY, comparisons())
  if (found === undefined) return ''
  // Too far off to be what was meant, but a name to go on with.
  const isNear = found.distance < nearBound(name)
  return isNear ? `Did you mean ${found.candidate}?` : `The nearest name is ${found.candidate}.`
}

/** The nearest candidate of those that are fewer steps than `bound` away; undefined for overlong words. */
function nearer(
  word: string,
  candidates: readonly string[],
  bound: number,
  work: Comparisons,
): { candidate: string; distance: number } | undefined {
  if (word.length > MAX_LETTERS) return undefined
  const lower = word.toLowerCase()
  // However many letters: nothing else can have been meant.
  const other = candidates.find(
    (one) => one.length === word.length && one !== word && one.toLowerCase() === lower,
  )
  if (other !== undefined) return { candidate: other, distance: 0 }
  let best: string | undefined
  let least = bound
  for (const candidate of candidates) {
    const difference = Math.abs(candidate.length - word.length)
    if (candidate.length > MAX_LETTERS || difference >= least || work.left <= 0) continue
    const distance = editDistance(word, candidate, least, work)
    if (distance < least) [best, least] = [candidate, distance]
  }
  return best === undefined ? undefined : { candidate: best, distance: least }
}

/** The last three rows of a comparison. */
let rows = [0, 1, 2].map(() => new Float64Array(MAX_LETTERS + 1)) as [
  Float64Array,
  Float64Array,
  Float64Array,
]

/**
 * Optimal string alignment, with half a step for letters that differ by case only; infinite when it is not below
 * `bound`, or when no work is left.
 */
function editDistance(a: string, b: string, bound: number, work: Comparisons): number {
  const [lowerA, lowerB] = [inLowerCase(a), inLowerCase(b)]
  work.left -= a.length + b.length
  for (let j = 0; j <= b.length; j++) rows[2][j] = j
  for (let i = 1; i <= a.length; i++) {
    work.left -= b.length
    if (work.left < 0) return Number.POSITIVE_INFINITY
    const [row, before, previous] = rows
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
    rows = [before, previous, row]
  }
  return rows[2][b.length]!
}

/** In as many letters, also where one has another length in lower case. */
function inLowerCase(text: string): string {
  const lower = text.toLowerCase()
  return lower.length === text.length ? lower : text
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

import { distance } from 'fastest-levenshtein'

/** Longer words are not proposed, nor anything for them. */
const MAX_LETTERS = 100

/** How many letters may still be compared. */
export interface Comparisons {
  left: number
}

/** The comparisons for all names of one message together. */
export function comparisons(): Comparisons {
  // Maximum letters compared for one message; candidates beyond are not suggested.
  return { left: 100_000 }
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
  // Too far off for a suggestion, but a starting point.
  const isNear = found.distance < nearBound(name)
  return isNear ? `Did you mean ${found.candidate}?` : `The nearest name is ${found.candidate}.`
}

/** The nearest of the candidates that are fewer edits than `bound` away; undefined for overlong words. */
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
    work.left -= word.length + candidate.length
    const edits = editsBetween(word, candidate)
    if (edits < least) [best, least] = [candidate, edits]
  }
  return best === undefined ? undefined : { candidate: best, distance: least }
}

/** Edits between two words: two swapped letters count as one, a letter that differs by case only as half of one. */
function editsBetween(a: string, b: string): number {
  const [lowerA, lowerB] = [a.toLowerCase(), b.toLowerCase()]
  return isSwap(lowerA, lowerB) ? 1 : (distance(a, b) + distance(lowerA, lowerB)) / 2
}

/** Whether two neighbouring letters, swapped, make one word of the other. */
function isSwap(a: string, b: string): boolean {
  const at = [...b].findIndex((_, index) => a[index] !== b[index])
  return at >= 0 && a.slice(0, at) + a.slice(at + 1, at + 2) + a.slice(at, at + 1) + a.slice(at + 2) === b
}

/** Whether one letter more, less or other, or two neighbours swapped, makes one of the other. */
export function isOneEdit(a: string, b: string): boolean {
  return Math.abs(a.length - b.length) <= 1 && (isSwap(a, b) || distance(a, b) === 1)
}

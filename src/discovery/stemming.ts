import { stem } from 'porter2'

/** Letters of a word that count. */
const MAX_LETTERS = 40

const RUNS = /[\p{L}\p{M}\p{N}]+/gu
/** Most runs are one piece. */
const PLAIN_WORD = /^(?:[A-Z]?[a-z]|\d)[a-z\d]*$/
const PIECES = /\p{Lu}+(?!\p{Ll})\p{N}*|\p{Lu}?[^\p{Lu}]+|\p{Lu}/gu
const ASCII = /^[\x00-\x7f]*$/
/** Scripts without spaces, which are indexed as pairs of letters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u

const stems = new Map<string, string>()

/** The stem of a word in lower case (Porter2); words of other languages mostly stay as they are. */
export function stemOf(word: string): string {
  const known = stems.get(word)
  if (known !== undefined) return known
  if (stems.size >= 20_000) stems.clear()
  const made = stem(word)
  stems.set(word, made)
  return made
}

/** The words of a text in lower case, split at case changes, underscores and all characters except letters and digits. */
export function wordsOf(text: string, limit = Number.POSITIVE_INFINITY): string[] {
  const words: string[] = []
  for (const run of plain(text).match(RUNS) ?? []) {
    if (words.length >= limit) break
    const pieces = piecesOf(run)
    if (pieces) for (const piece of pieces) words.push(piece.slice(0, MAX_LETTERS).toLowerCase())
    else addPairs(words, run)
  }
  return words.length > limit ? words.slice(0, limit) : words
}

/** The stems of a text for the index: of its words, and of short identifiers as a whole. */
export function stemsOf(text: string): string[] {
  const found: string[] = []
  for (const run of plain(text).match(RUNS) ?? []) {
    const pieces = piecesOf(run)
    if (!pieces) {
      addPairs(found, run)
      continue
    }
    for (const piece of pieces) found.push(stemOf(piece.slice(0, MAX_LETTERS).toLowerCase()))
    // Maximum parts of an identifier that also counts as a single word: `ConfigMap`, `GitHub`, `OAuth`.
    if (pieces.length > 1 && pieces.length <= 3) found.push(stemOf(run.slice(0, MAX_LETTERS).toLowerCase()))
  }
  return found
}

/** Without accents, and without the `'s` of English. */
function plain(text: string): string {
  // Maximum UTF-16 units indexed of one text; the important words come early.
  const short = text.length > 8_000 ? text.slice(0, 8_000) : text
  const bare = ASCII.test(short)
    ? short
    : short
        .normalize('NFKD')
        .replace(/\p{Mn}+/gu, '')
        .normalize('NFC')
  return bare.includes("'") || bare.includes('’') ? bare.replace(/['’](?:s\b)?/g, '') : bare
}

/** Undefined for scripts without spaces between words. */
function piecesOf(run: string): readonly string[] | undefined {
  if (PLAIN_WORD.test(run)) return [run]
  return UNSPACED.test(run) ? undefined : (run.match(PIECES) ?? [])
}

function addPairs(words: string[], run: string): void {
  const letters = [...run]
  if (letters.length === 1) words.push(run)
  for (let at = 1; at < letters.length; at++) words.push(letters[at - 1]! + letters[at]!)
}

/** English words without information about a tool's purpose; they count only in a query of nothing else. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after all also am an and any anybody anyone are as at be because been before being both but by can could did do
  does doing done dont down each everybody everyone everything everywhere for from gets getting  go going got had has have
  having he her here hers him his how i if im in into is it its ive just  kind  like lot lots may me might mine more
  most much must my   no nobody none not nothing now of off on once one only onto or other our ours out over own
  please  really say said same shall she should so some somebody someone something such  than that the their theirs
  them then there these they thing this those to too under until up upon us use using very want wants was we were what when
  where which while who whom whose why will with without would yes you your yours`.split(/\s+/),
)

import { randomInt } from 'node:crypto'

/** Bounds of every JSON text that is parsed, so that none can hold the event loop or exhaust the stack. */
export const JSON_LIMITS = {
  /** Arrays and objects inside each other. */
  depth: 128,
  /** Digits of one number. */
  digits: 400,
  /** Arrays, objects, and their items and members, except the first of each. */
  values: 300_000,
  /** Different keys: those of a list of equal records count once. */
  keys: 50_000,
  /** Numbers that a double may not hold: of 16 digits, or with an exponent of three. */
  longNumbers: 50_000,
} as const

/** Sees the outer objects and keys of a text while it is scanned; the outermost container has depth 1. */
export interface KeyWatch {
  /** The deepest level whose keys are of interest. */
  readonly depth: number
  /** An array or object begins. */
  open(depth: number, isObject: boolean): void
  /** A key, as it is written in `text` between its quotes: escapes are not decoded. */
  key(depth: number, text: string, from: number, to: number): void
}

interface Scanned {
  /** The limit that the text exceeds, as the end of a sentence about it. */
  fault?: string
  /** Where the numbers begin and end that a double may not keep: pairs of indexes. */
  places: readonly number[]
}

/** Code units. */
const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const BACKSLASH = 0x5c
const [LIST, LIST_END] = [0x5b, 0x5d]
const [OBJECT, OBJECT_END] = [0x7b, 0x7d]
/** A number with such an exponent may exceed a double. */
const LONG_EXPONENT = /[eE][+-]?\d{3}/

/** How exactly numbers are kept: `value`, or also the `spelling`, such as `1.10`. */
export type Exactness = 'value' | 'spelling'

/** Checks the limits in one pass that does not recurse. Invalid JSON is left to the parser. */
export function scan(text: string, exactness: Exactness, watch?: KeyWatch): Scanned {
  const end = text.length
  const watched = watch?.depth ?? 0
  const places: number[] = []
  let longNumbers = 0
  let rewritten = 0
  let depth = 0
  let keys: KeyCount | undefined
  let values = 0
  /** The last string, which is a key if a colon follows. */
  let stringStart = 0
  let stringEnd = 0
  let i = 0
  const exceeds = (fault: string): Scanned => ({ fault, places })
  while (i < end) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) {
      stringStart = i + 1
      stringEnd = closingQuote(text, stringStart)
      i = stringEnd + 1
    } else if (code === COMMA) {
      if (++values > JSON_LIMITS.values) return exceeds(`has more than ${JSON_LIMITS.values} values`)
      i++
    } else if (code === COLON) {
      keys ??= new KeyCount()
      if (keys.add(text, stringStart, stringEnd) > JSON_LIMITS.keys)
        return exceeds(`has more than ${JSON_LIMITS.keys} different keys`)
      if (depth <= watched) watch?.key(depth, text, stringStart, stringEnd)
      i++
    } else if (code === OBJECT || code === LIST) {
      if (++depth > JSON_LIMITS.depth) return exceeds(`is nested deeper than ${JSON_LIMITS.depth} levels`)
      if (++values > JSON_LIMITS.values) return exceeds(`has more than ${JSON_LIMITS.values} values`)
      if (depth <= watched) watch?.open(depth, code === OBJECT)
      i++
    } else if (code === OBJECT_END || code === LIST_END) {
      depth--
      i++
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      const start = i
      i = numberEnd(text, i + 1)
      const length = i - start
      // Only digits count, not sign, point and exponent letter.
      if (length > JSON_LIMITS.digits && text.slice(start, i).replace(/\D/g, '').length > JSON_LIMITS.digits)
        return exceeds(`has a number of more than ${JSON_LIMITS.digits} digits`)
      const isLong = length >= 5 && (length >= 16 || LONG_EXPONENT.test(text.slice(start, i)))
      if (isLong && ++longNumbers > JSON_LIMITS.longNumbers)
        return exceeds(`has more than ${JSON_LIMITS.longNumbers} numbers of 16 digits or more`)
      // Each takes long. Numbers beyond the maximum keep their value, but not their spelling.
      const isRewritten =
        !isLong && exactness === 'spelling' && rewritten < MAX_REWRITTEN && mayChange(text, start, i)
      if (isRewritten) rewritten++
      if (isLong || isRewritten) places.push(start, i)
    } else i++
  }
  return { places }
}

/** Maximum numbers of one text that keep a spelling which a double would change. */
const MAX_REWRITTEN = 25_000

/** Whether a double may write a number of less than 16 characters differently: `1.10`, `1e2`, `-0`, `0.0000001`. */
function mayChange(text: string, start: number, end: number): boolean {
  let hasPoint = false
  for (let i = start + 1; i < end; i++) {
    const code = text.charCodeAt(i)
    if (code === POINT) hasPoint = true
    else if (isExponent(code)) return true
  }
  if (!hasPoint) return text.startsWith('-0', start)
  return (
    text.charCodeAt(end - 1) === ZERO || text.startsWith('0.000000', start + (text[start] === '-' ? 1 : 0))
  )
}

/** Keys of a text that are counted one by one: nearly all texts have fewer. */
const FEW = 1_000
const BITS = 19
const SEED = randomInt(2 ** 31)

/** Counts the different keys of a text by one bit for each hash: a few are missed, none is counted twice. */
class KeyCount {
  private all = 0
  private different = 0
  private seen: Uint8Array | undefined

  /** @returns how many there are now */
  add(text: string, from: number, to: number): number {
    if (++this.all <= FEW) return this.all
    this.seen ??= new Uint8Array(2 ** (BITS - 3))
    let hash = SEED
    for (let i = from; i < to; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    hash = (hash ^ (hash >>> 15)) >>> (32 - BITS)
    const bit = 1 << (hash & 7)
    if ((this.seen[hash >> 3]! & bit) === 0) {
      this.seen[hash >> 3]! |= bit
      this.different++
    }
    return this.different + FEW
  }
}

/** The index of the quote that ends a string which begins at `from`; the text's length when there is none. */
export function closingQuote(text: string, from: number): number {
  let quote = from
  for (;;) {
    quote = text.indexOf('"', quote)
    if (quote < 0) return text.length
    let before = quote - 1
    while (before >= from && text.charCodeAt(before) === BACKSLASH) before--
    if ((quote - before) % 2 === 1) return quote
    quote++
  }
}

/** The index behind a number that continues at `i`. */
export function numberEnd(text: string, i: number): number {
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const isDigit = code >= ZERO && code <= NINE
    if (!isDigit && code !== POINT && code !== MINUS && code !== PLUS && !isExponent(code)) return i
  }
  return i
}

function isExponent(code: number): boolean {
  return code === 0x65 || code === 0x45
}

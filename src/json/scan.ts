/** Bounds of every JSON text that is parsed, so that none can hold the event loop or exhaust the stack. */
export const JSON_LIMITS = {
  /** Arrays and objects inside each other. */
  depth: 128,
  /** Digits of one number. */
  digits: 400,
  /** Keys of all objects together. */
  keys: 100_000,
  /** Arrays and objects together. */
  containers: 200_000,
  /** Numbers that a double may not hold: of 16 digits, or with an exponent of three. */
  longNumbers: 100_000,
} as const

/** Sees the outer objects and keys of a text while it is scanned; the outermost container has depth 1. */
export interface KeyWatch {
  /** The deepest level whose keys are of interest. */
  readonly depth: number
  /** An array or object begins. */
  open(depth: number, isObject: boolean): void
  /** @param source between its quotes, as it is written: escapes are not decoded */
  key(depth: number, source: string): void
}

export interface Scanned {
  /** The limit that the text exceeds, as the end of a sentence about it. */
  fault?: string
  /** Whether there is a number that a double may not hold. */
  inexact: boolean
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** With one, a number may be beyond what a double reaches. */
const LONG_EXPONENT = /[eE][+-]?\d{3}/

/** Checks the limits in one pass that neither allocates nor recurses. What is not JSON is left to the parser. */
export function scan(text: string, watch?: KeyWatch): Scanned {
  const end = text.length
  const watched = watch?.depth ?? 0
  let depth = 0
  let keys = 0
  let containers = 0
  let longNumbers = 0
  /** The last string, which is a key once a colon follows. */
  let from = 0
  let to = 0
  let i = 0
  while (i < end) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      from = i + 1
      to = closingQuote(text, from)
      i = to + 1
    } else if (c === 0x3a) {
      if (++keys > JSON_LIMITS.keys) return { fault: `has more than ${JSON_LIMITS.keys} keys`, inexact: true }
      if (depth <= watched) watch?.key(depth, text.slice(from, to))
      i++
    } else if (c === 0x7b || c === 0x5b) {
      if (++depth > JSON_LIMITS.depth)
        return { fault: `is nested deeper than ${JSON_LIMITS.depth} levels`, inexact: true }
      if (++containers > JSON_LIMITS.containers)
        return { fault: `has more than ${JSON_LIMITS.containers} arrays and objects`, inexact: true }
      if (depth <= watched) watch?.open(depth, c === 0x7b)
      i++
    } else if (c === 0x7d || c === 0x5d) {
      depth--
      i++
    } else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) {
      const start = i
      i = numberEnd(text, i + 1)
      const length = i - start
      // The limit is of digits; sign, point and exponent's letter may come on top.
      if (length > JSON_LIMITS.digits && digitsIn(text, start, i) > JSON_LIMITS.digits)
        return { fault: `has a number of more than ${JSON_LIMITS.digits} digits`, inexact: true }
      if (length < 5 || (length < 16 && !LONG_EXPONENT.test(text.slice(start, i)))) continue
      if (++longNumbers > JSON_LIMITS.longNumbers)
        return {
          fault: `has more than ${JSON_LIMITS.longNumbers} numbers of 16 digits or more`,
          inexact: true,
        }
    } else i++
  }
  return { inexact: longNumbers > 0 }
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

/** The index behind a number that goes on at `i`. */
export function numberEnd(text: string, i: number): number {
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    const digit = c >= 0x30 && c <= 0x39
    if (!digit && c !== 0x2e && c !== 0x65 && c !== 0x45 && c !== 0x2b && c !== 0x2d) return i
  }
  return i
}

function digitsIn(text: string, start: number, end: number): number {
  let digits = 0
  for (let i = start; i < end; i++) {
    const c = text.charCodeAt(i)
    if (c >= 0x30 && c <= 0x39) digits++
  }
  return digits
}

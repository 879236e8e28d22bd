import { randomBytes } from 'node:crypto'
import type { Exactness } from './scan.ts'

/**
 * A JSON value with exact numbers: a number that a double cannot hold is a `bigint` or an `ExactNumber`; in values
 * of `parseVerbatim`, so is one that a double would write differently.
 */
export type Json = null | boolean | number | bigint | ExactNumber | string | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/**
 * A number that is neither an integer of at most 100 digits nor exact as a double, or one whose spelling is kept;
 * `text` is its spelling.
 */
export class ExactNumber {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text
  }
  toJSON(): string {
    return placeholder(this.text)
  }
}

/**
 * Prefix of the strings that replace exact numbers while V8 reads or writes JSON, which is many times as fast as a
 * parser in JavaScript. It is random, so no text from outside contains it.
 */
const MARK = randomBytes(9).toString('base64url')
/** Whether `stringifyExact` is running. */
let isWriting = false

function placeholder(text: string): string {
  if (!isWriting) throw new TypeError('use stringify of src/json for exact numbers')
  return MARK + text
}

// `JSON.stringify` calls this for every bigint. Outside of `stringifyExact` it throws, as it would without this method.
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  writable: true,
  value(this: bigint) {
    return placeholder(this.toString())
  },
})

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const COLON = /^\s*:/

/**
 * Parses a text with numbers that a double may not hold, or may write differently. Strings replace them for
 * `JSON.parse`, and the exact numbers replace these strings in its result.
 * @param places where they begin and end, as `scan` finds them
 * @throws SyntaxError
 */
export function parseExact(text: string, places: readonly number[], exactness: Exactness): Json {
  const numbers: Json[] = []
  const pieces: string[] = []
  let at = 0
  for (let i = 0; i < places.length; i += 2) {
    const [start, end] = [places[i] as number, places[i + 1] as number]
    const source = text.slice(start, end)
    // A string in this place could turn an invalid text into JSON, so the text itself is parsed, for its error.
    if (!NUMBER.test(source) || COLON.test(text.slice(end, end + 20))) return JSON.parse(text)
    pieces.push(text.slice(at, start), `"${MARK}${numbers.push(exactNumber(source, exactness)) - 1}"`)
    at = end
  }
  pieces.push(text.slice(at))
  return restoreNumbers(JSON.parse(pieces.join('')), numbers)
}

/** Replaces the placeholders by their numbers. */
function restoreNumbers(value: Json, numbers: readonly Json[]): Json {
  if (typeof value === 'string')
    return value.startsWith(MARK) ? (numbers[Number(value.slice(MARK.length))] as Json) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as Json
      if (typeof item !== 'number') value[i] = restoreNumbers(item, numbers)
    }
    return value
  }
  const members = value as Record<string, Json>
  for (const key of Object.keys(members)) {
    const member = members[key] as Json
    const exactly =
      typeof member === 'string' || typeof member === 'object' ? restoreNumbers(member, numbers) : member
    // The member `__proto__` is an own one already, so that this does not set the prototype.
    if (exactly !== member) members[key] = exactly
  }
  return value
}

/**
 * Writes a JSON value with exact numbers. @throws TypeError for a value that JSON cannot represent, such as a cycle
 */
export function stringifyExact(value: unknown, indent?: number): string {
  isWriting = true
  try {
    const text = JSON.stringify(value, undefined, indent)
    if (text === undefined) throw new TypeError(`${typeof value} is not JSON`)
    return text.split(`"${MARK}`).map(withoutQuotes).join('')
  } finally {
    isWriting = false
  }
}

/** Removes the closing quote of the placeholder with which the piece begins; the first piece begins with none. */
function withoutQuotes(piece: string, i: number): string {
  if (i === 0) return piece
  const quote = piece.indexOf('"')
  return piece.slice(0, quote) + piece.slice(quote + 1)
}

/** Below this a double has fewer digits (IEEE 754, subnormal numbers). */
const MIN_NORMAL = 2.2250738585072014e-308

/** Integers that a `bigint` writes in the same way. */
const LONG_INTEGER = /^-?[1-9]\d*$/
/** The significant digits, up to the exponent. */
const SIGNIFICANT = /^-?[0.]*([\d.]*)/

/** The number that a text stands for. */
export function exactNumber(source: string, exactness: Exactness): number | bigint | ExactNumber {
  const value = Number(source)
  if (exactness === 'spelling' && String(value) !== source && !LONG_INTEGER.test(source))
    return new ExactNumber(source)
  if (/^-?\d+$/.test(source)) {
    if (Number.isSafeInteger(value)) return value
    // Digits of an integer that becomes a `bigint`: more take long to read and to write.
    return source.length > 100 ? new ExactNumber(source) : BigInt(source)
  }
  const digits = SIGNIFICANT.exec(source)![1]!.replace('.', '').length
  const isNormal = digits === 0 || (Number.isFinite(value) && Math.abs(value) >= MIN_NORMAL)
  if (digits <= 15 && isNormal) return value
  return String(value) === source ? value : new ExactNumber(source)
}

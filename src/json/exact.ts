import { randomBytes } from 'node:crypto'
import type { Interest } from './scan.ts'

/**
 * A JSON value with exact numbers: what a double cannot hold is a `bigint` or an `ExactNumber`. So is what a double
 * would write otherwise, in values of `parseVerbatim`.
 */
export type Json = null | boolean | number | bigint | ExactNumber | string | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/**
 * A number that is neither an integer of at most 100 digits nor exact as a double, or one whose text is to be kept;
 * `text` is how it was written.
 */
export class ExactNumber {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text
  }
  toJSON(): string {
    return standIn(this.text)
  }
}

/**
 * Begins the strings that stand for exact numbers while V8 reads or writes JSON, which is many times as fast as any
 * reader in JavaScript. It cannot come from outside of this process, as it cannot be guessed.
 */
const MARK = randomBytes(9).toString('base64url')
/** Whether exact numbers are being written as strings that stand for them. */
let writing = false

function standIn(text: string): string {
  if (!writing) throw new TypeError('use stringify of src/json for exact numbers')
  return MARK + text
}

// `JSON.stringify` asks every bigint for this, and it throws as before wherever exact numbers are not being written.
Object.defineProperty(BigInt.prototype, 'toJSON', {
  configurable: true,
  writable: true,
  value(this: bigint) {
    return standIn(this.toString())
  },
})

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const COLON = /^\s*:/

/**
 * Parses a text that has numbers which a double may not hold, or may write otherwise.
 * @param places where those begin and end, as `scan` finds them
 * @throws SyntaxError
 */
export function parseExact(text: string, places: readonly number[], interest: Interest): Json {
  const numbers: Json[] = []
  const pieces: string[] = []
  let at = 0
  for (let i = 0; i < places.length; i += 2) {
    const [start, end] = [places[i] as number, places[i + 1] as number]
    const source = text.slice(start, end)
    // A string would be sound where this is not; V8 says what is wrong, and where.
    if (!NUMBER.test(source) || COLON.test(text.slice(end, end + 20))) return JSON.parse(text)
    pieces.push(text.slice(at, start), `"${MARK}${numbers.push(exact(source, interest)) - 1}"`)
    at = end
  }
  pieces.push(text.slice(at))
  return put(JSON.parse(pieces.join('')), numbers)
}

/** Puts the numbers in place of what stands for them. */
function put(value: Json, numbers: readonly Json[]): Json {
  if (typeof value === 'string')
    return value.startsWith(MARK) ? (numbers[Number(value.slice(MARK.length))] as Json) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) {
      const item = value[i] as Json
      if (typeof item !== 'number') value[i] = put(item, numbers)
    }
    return value
  }
  const members = value as Record<string, Json>
  for (const key of Object.keys(members)) {
    const member = members[key] as Json
    const exactly = typeof member === 'string' || typeof member === 'object' ? put(member, numbers) : member
    // The member `__proto__` is an own one already, so that this does not set the prototype.
    if (exactly !== member) members[key] = exactly
  }
  return value
}

/** Writes a JSON value, exact numbers as they are. @throws TypeError for what JSON cannot hold, as for a cycle */
export function stringifyExact(value: unknown): string {
  writing = true
  try {
    const text = JSON.stringify(value)
    if (text === undefined) throw new TypeError(`${typeof value} is not JSON`)
    return text.split(`"${MARK}`).map(unquoted).join('')
  } finally {
    writing = false
  }
}

/** A piece of text that begins with the rest of what stands for a number, but for the first. */
function unquoted(piece: string, i: number): string {
  if (i === 0) return piece
  const quote = piece.indexOf('"')
  return piece.slice(0, quote) + piece.slice(quote + 1)
}

/** Below this a double has fewer digits (IEEE 754, subnormal numbers). */
const MIN_NORMAL = 2.2250738585072014e-308

/** Written by a `bigint` as it is. */
const LONG_INTEGER = /^-?[1-9]\d*$/
/** Up to the exponent, from the first digit that is not zero. */
const SIGNIFICANT = /^-?[0.]*([\d.]*)/

/** The number that a text stands for. */
export function exact(source: string, interest: Interest): number | bigint | ExactNumber {
  const value = Number(source)
  if (interest === 'text' && String(value) !== source && !LONG_INTEGER.test(source))
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

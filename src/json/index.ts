import { parse as parseLossless } from 'lossless-json'

/** A JSON value with exact numbers: what a double cannot hold is a `bigint` or an `ExactNumber`. */
export type Json = null | boolean | number | bigint | ExactNumber | string | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/** A number that is neither an integer nor exact as a double; `text` is how it was written. */
export class ExactNumber {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text
  }
  /** Sends `JSON.stringify` to `stringify`'s slow path. */
  toJSON(): never {
    throw new TypeError('use stringify of src/json for exact numbers')
  }
}

/** Only a number of 16 digits or with an exponent of three can differ from its double. */
const MAYBE_INEXACT = /[\d.]{16}|\d[eE][+-]?\d{3}/

/**
 * Parses JSON text (RFC 8259) with exact numbers; of repeated keys the last one counts.
 * Nearly as fast as `JSON.parse` for text without long numbers.
 * @throws SyntaxError, also for nesting too deep to read
 */
export function parse(text: string): Json {
  const value = JSON.parse(text)
  if (!MAYBE_INEXACT.test(text)) return value
  try {
    return parseLossless(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) as Json
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxError('JSON nested too deep')
    throw error
  }
}

function parseNumber(text: string): number | bigint | ExactNumber {
  const value = Number(text)
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value) ? value : BigInt(text)
  if (String(value) === text) return value
  const digits = text
    .replace(/[eE].*$/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '')
  const exact = digits.length <= 15 && Number.isFinite(value) && (value !== 0 || digits === '')
  return exact ? value : new ExactNumber(text)
}

/**
 * Writes a JSON value without white space, exact numbers as they are.
 * @throws TypeError for what JSON cannot hold, RangeError for nesting too deep
 */
export function stringify(value: unknown): string {
  try {
    const text = JSON.stringify(value)
    if (text !== undefined) return text
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return write(value, 0)
  }
  throw new TypeError(`${typeof value} is not JSON`)
}

/** Deeper than this is a cycle or an attack. */
const MAX_DEPTH = 1000

function write(value: unknown, depth: number): string {
  if (typeof value === 'bigint' || value instanceof ExactNumber) return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (depth > MAX_DEPTH) throw new RangeError('JSON nested too deep')
  if (Array.isArray(value)) return `[${value.map((item) => write(item, depth + 1)).join(',')}]`
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => `${JSON.stringify(key)}:${write(member, depth + 1)}`)
  return `{${members.join(',')}}`
}

/** The value with every exact number as the nearest double, for code that knows doubles only. */
export function toDoubles(value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof ExactNumber) return Number(value.text)
  if (Array.isArray(value)) return value.map(toDoubles)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toDoubles(member)]))
}

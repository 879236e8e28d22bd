import { ExactNumber, parseExact, stringifyExact } from './exact.ts'
import { type KeyWatch, scan } from './scan.ts'

export { ExactNumber } from './exact.ts'
export { closingQuote, JSON_LIMITS, type KeyWatch, numberEnd } from './scan.ts'
export { isObject, pointerOf, pointerSegments, valueAt } from './values.ts'

/** A JSON value with exact numbers: what a double cannot hold is a `bigint` or an `ExactNumber`. */
export type Json = null | boolean | number | bigint | ExactNumber | string | Json[] | JsonObject
export type JsonObject = { [key: string]: Json }

/** Valid JSON, perhaps, but beyond `JSON_LIMITS`; the message says which limit. */
export class JsonLimitError extends SyntaxError {}

/**
 * Parses JSON text (RFC 8259) with exact numbers; of repeated keys the last one counts. Time and stack are bounded by
 * `JSON_LIMITS`. Nearly as fast as `JSON.parse`.
 * @param watch sees the outer keys, also those that are repeated
 * @throws SyntaxError, of which `JsonLimitError` is the kind for what exceeds a limit
 */
export function parse(text: string, watch?: KeyWatch): Json {
  const { fault, longNumbers } = scan(text, watch)
  if (fault !== undefined) throw new JsonLimitError(`the JSON ${fault}`)
  return longNumbers.length ? parseExact(text, longNumbers) : JSON.parse(text)
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
    return stringifyExact(value)
  }
  throw new TypeError(`${typeof value} is not JSON`)
}

/** The value with every exact number as the nearest double, for code that knows doubles only. */
export function toDoubles(value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof ExactNumber) return Number(value.text)
  if (Array.isArray(value)) return value.map(toDoubles)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toDoubles(member)]))
}

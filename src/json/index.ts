import { NotJson, readExact } from './read.ts'
import { type KeyWatch, scan } from './scan.ts'

export { closingQuote, JSON_LIMITS, type KeyWatch, numberEnd } from './scan.ts'

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

/** Valid JSON, perhaps, but beyond `JSON_LIMITS`; the message says which limit. */
export class JsonLimitError extends SyntaxError {}

/**
 * Parses JSON text (RFC 8259) with exact numbers; of repeated keys the last one counts. Time and stack are bounded by
 * `JSON_LIMITS`. Nearly as fast as `JSON.parse` for text without long numbers.
 * @param watch sees the outer keys, also those that are repeated
 * @throws SyntaxError, of which `JsonLimitError` is the kind for what exceeds a limit
 */
export function parse(text: string, watch?: KeyWatch): Json {
  const { fault, inexact } = scan(text, watch)
  if (fault !== undefined) throw new JsonLimitError(`the JSON ${fault}`)
  if (!inexact) return JSON.parse(text)
  try {
    return readExact(text)
  } catch (error) {
    // The message of `JSON.parse` names the place.
    if (error instanceof NotJson) JSON.parse(text)
    throw error
  }
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
  let text = ''
  if (Array.isArray(value)) {
    for (const item of value) text += `${text && ','}${write(item, depth + 1)}`
    return `[${text}]`
  }
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key]
    if (member !== undefined) text += `${text && ','}${JSON.stringify(key)}:${write(member, depth + 1)}`
  }
  return `{${text}}`
}

/** The value with every exact number as the nearest double, for code that knows doubles only. */
export function toDoubles(value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof ExactNumber) return Number(value.text)
  if (Array.isArray(value)) return value.map(toDoubles)
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toDoubles(member)]))
}

import { ExactNumber, exactNumber, type Json, type JsonObject, parseExact, stringifyExact } from './exact.ts'
import { type Interest, type KeyWatch, scan } from './scan.ts'
import { setOwn } from './values.ts'

export { ExactNumber, type Json, type JsonObject } from './exact.ts'
export { closingQuote, JSON_LIMITS, type KeyWatch, numberEnd } from './scan.ts'
export { isObject, pointerOf, pointerSegments, setOwn, valueAt, withoutComments } from './values.ts'

/** The text exceeds one of `JSON_LIMITS`, which the message names; it may be valid JSON. */
export class JsonLimitError extends SyntaxError {}

/**
 * Parses JSON text (RFC 8259) with exact numbers; of repeated keys the last one counts. Time and stack are bounded by
 * `JSON_LIMITS`. Nearly as fast as `JSON.parse`.
 * @param watch sees the outer keys, also those that are repeated
 * @throws SyntaxError; a `JsonLimitError` beyond a limit
 */
export function parse(text: string, watch?: KeyWatch): Json {
  return read(text, 'value', watch)
}

/**
 * Parses JSON text that will be written again: numbers keep their spelling, such as `1.10`, `1e2` and `-0` (only the
 * first 25,000 that a double would write differently). `plain` converts the value to that of `parse`.
 * @throws SyntaxError as `parse`
 */
export function parseVerbatim(text: string, watch?: KeyWatch): Json {
  return read(text, 'text', watch)
}

function read(text: string, interest: Interest, watch: KeyWatch | undefined): Json {
  const { fault, places } = scan(text, interest, watch)
  if (fault !== undefined) throw new JsonLimitError(`the JSON ${fault}`)
  return places.length ? parseExact(text, places, interest) : JSON.parse(text)
}

/** A value of `parseVerbatim` as `parse` gives it, for code that reads numbers rather than passes them on. */
export function plain(value: Json): Json {
  if (value instanceof ExactNumber) return exactNumber(value.text, 'value')
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) {
    const items = value.map(plain)
    return items.some((item, i) => item !== value[i]) ? items : value
  }
  let changed: JsonObject | undefined
  for (const [key, member] of Object.entries(value)) {
    const read = plain(member)
    if (read === member) continue
    changed ??= { ...value }
    setOwn(changed, key, read)
  }
  return changed ?? value
}

/**
 * Writes a JSON value with exact numbers.
 * @param indent spaces of each level; absent: one line without white space
 * @throws TypeError for a value that JSON cannot represent, RangeError for too deep nesting
 */
export function stringify(value: unknown, indent?: number): string {
  try {
    const text = JSON.stringify(value, undefined, indent)
    if (text !== undefined) return text
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return stringifyExact(value, indent)
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

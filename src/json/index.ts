import { ExactNumber, exactNumber, type Json, type JsonObject, parseExact, stringifyExact } from './exact.ts'
import { type Exactness, type KeyWatch, scan } from './scan.ts'
import { setOwn } from './values.ts'

export { ExactNumber, type Json, type JsonObject } from './exact.ts'
export { closingQuote, JSON_LIMITS, type KeyWatch, numberEnd } from './scan.ts'
export {
  isObject,
  mapMembers,
  masked,
  pointerOf,
  pointerSegments,
  referenced,
  setOwn,
  textsIn,
  valueAt,
  withoutComments,
} from './values.ts'

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
  return read(text, 'spelling', watch)
}

function read(text: string, exactness: Exactness, watch: KeyWatch | undefined): Json {
  const { fault, places } = scan(text, exactness, watch)
  if (fault !== undefined) throw new JsonLimitError(`the JSON ${fault}`)
  return places.length ? parseExact(text, places, exactness) : JSON.parse(text)
}

/** A value of `parseVerbatim` as `parse` gives it, for code that reads numbers rather than passes them on. */
export function plain(value: Json): Json {
  if (value instanceof ExactNumber) return exactNumber(value.text, 'value')
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? changedItems(value, plain) : changedMembers(value, plain)
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

/** The canonical JSON text of a value (RFC 8785); of numbers that a double cannot hold, that of the nearest one. */
export function canonicalText(value: Json): string {
  return canonical(JSON.parse(stringify(value)))
}

/** Members by the UTF-16 code units of their names, numbers as ECMAScript writes them. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`
}

/** Lists of exact numbers, by their copies with doubles. */
const exactLists = new WeakMap<object, Json[]>()

/** The items of a list that `toDoubles` may have copied, as they were. */
export function exactItems(list: Json[]): Json[] {
  return exactLists.get(list) ?? list
}

/** The value with every exact number as the nearest double, for code that knows doubles only; other parts are not copied. */
export function toDoubles(value: Json): Json {
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof ExactNumber) return Number(value.text)
  if (Array.isArray(value)) {
    const copy = changedItems(value, toDoubles)
    if (copy !== value) exactLists.set(copy, value)
    return copy
  }
  return changedMembers(value, toDoubles)
}

/** The list with its items converted; the same list if nothing changes. */
function changedItems(list: Json[], convert: (item: Json) => Json): Json[] {
  let copy: Json[] | undefined
  for (let at = 0; at < list.length; at++) {
    const item = convert(list[at]!)
    if (item === list[at]) continue
    copy ??= list.slice()
    copy[at] = item
  }
  return copy ?? list
}

/** The object with its members converted; the same object if nothing changes. */
function changedMembers(object: JsonObject, convert: (member: Json) => Json): JsonObject {
  let copy: JsonObject | undefined
  for (const name in object) {
    const member = convert(object[name]!)
    if (member === object[name]) continue
    copy ??= { ...object }
    setOwn(copy, name, member)
  }
  return copy ?? object
}

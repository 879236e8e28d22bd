import { randomUUID } from 'node:crypto'
import { ExactNumber, isObject, type Json, parse, stringify } from '../../json/index.ts'

/** Prefix of a string that represents an exact number; unguessable. */
const MARK = randomUUID()
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g')
/** Shorter numbers fit a double. */
const LONG = /\d[\d.eE+-]{15}/

/**
 * JSON text for a parser that reads doubles, like the SDK's transports: numbers that do not fit become strings, which
 * `unmark` restores. Text other than JSON stays unchanged.
 */
export function mark(text: string): string {
  if (!LONG.test(text)) return text
  try {
    return JSON.stringify(marked(parse(text)))
  } catch {
    return text
  }
}

/** JSON text with its original numbers. */
export function unmark(text: string): string {
  return text.replaceAll(MARKED, '$1')
}

/** A value for the SDK, with exact numbers as strings. */
export function toSdk<T extends Json>(value: T): T {
  return JSON.parse(mark(stringify(value)))
}

/** A value from the SDK, with its original numbers. */
export function fromSdk(value: unknown): Json {
  return parse(unmark(JSON.stringify(value)))
}

function marked(value: Json): unknown {
  if (typeof value === 'bigint' || value instanceof ExactNumber) return MARK + stringify(value)
  if (Array.isArray(value)) return value.map(marked)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, marked(member)]))
}

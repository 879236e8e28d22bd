import { randomUUID } from 'node:crypto'
import { ExactNumber, isObject, type Json, parse, stringify } from '../../json/index.ts'

/** Begins a string that stands for a number which a double does not hold. Nobody else can know it. */
const MARK = randomUUID()
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g')
/** Shorter numbers are doubles. */
const LONG = /\d[\d.eE+-]{15}/

/**
 * JSON text for a reader that makes doubles of numbers, as the SDK's transports do: those that a double does not hold
 * become strings, which `unmark` turns back. Text that is not JSON stays as it is.
 */
export function mark(text: string): string {
  if (!LONG.test(text)) return text
  try {
    return JSON.stringify(marked(parse(text)))
  } catch {
    return text
  }
}

/** JSON text with its numbers as they were. */
export function unmark(text: string): string {
  return text.replaceAll(MARKED, '$1')
}

/** A value for the SDK, whose exact numbers become strings. */
export function toSdk<T extends Json>(value: T): T {
  return JSON.parse(mark(stringify(value)))
}

/** A value from the SDK, with its numbers as they were. */
export function fromSdk(value: unknown): Json {
  return parse(unmark(JSON.stringify(value)))
}

function marked(value: Json): unknown {
  if (typeof value === 'bigint' || value instanceof ExactNumber) return MARK + stringify(value)
  if (Array.isArray(value)) return value.map(marked)
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, marked(member)]))
}

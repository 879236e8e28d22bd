import { ExactNumber, type Json, stringify } from '../json/index.ts'
import { wellFormed } from '../text/index.ts'

/** How a value is written where only text fits: strings as they are, everything else as JSON. */
export function valueText(value: Json): string {
  return typeof value === 'string' ? value : stringify(value)
}

/**
 * An argument as query pairs `name=value`, both percent-encoded so that nothing of them can end the pair; an array is
 * the name again for each item.
 */
export function queryPairs(name: string, value: Json): string[] {
  const before = `${percentEncode(name)}=`
  const pair = (one: Json) => before + percentEncode(valueText(one))
  return Array.isArray(value) ? value.map(pair) : [pair(value)]
}

function percentEncode(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return encodeURIComponent(wellFormed(text))
  }
}

/** Whether the value holds a number that a double cannot. */
export function hasExact(value: Json): boolean {
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint'
  if (value instanceof ExactNumber) return true
  if (Array.isArray(value)) return value.some(hasExact)
  for (const key in value) if (hasExact(value[key]!)) return true
  return false
}

/** The JSON name of a value's type, with its article. */
export function typeText(value: Json | undefined): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'bigint') return 'an integer'
  if (value instanceof ExactNumber) return 'a number'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a number'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Makes a value at its first use, once. */
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

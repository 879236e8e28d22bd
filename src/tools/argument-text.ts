import { ExactNumber, type Json, stringify } from '../json/index.ts'
import { proposal, shorten, sizeText, wellFormed } from '../text/index.ts'
import { CallError } from './failure.ts'

const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/** A value as text: strings unchanged, everything else as JSON. */
export function valueText(value: Json): string {
  return typeof value === 'string' ? value : stringify(value)
}

/** An argument as percent-encoded query pairs `name=value`; an array repeats the name for each item. */
export function queryPairs(name: string, value: Json): string[] {
  const before = `${percentEncode(name)}=`
  const pair = (one: Json) => before + percentEncode(valueText(one))
  return Array.isArray(value) ? value.map(pair) : [pair(value)]
}

/** Separator between a path, which may have a query, and further pairs. */
export function querySeparator(path: string): string {
  if (!path.includes('?')) return '?'
  return /[?&]$/.test(path) ? '' : '&'
}

function percentEncode(text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    return encodeURIComponent(wellFormed(text))
  }
}

/** The escaping context of a header. */
export function headerPlace(name: string): 'cookie' | 'header' {
  return name.toLowerCase() === 'cookie' ? 'cookie' : 'header'
}

/** A header value, which must not contain control characters. @throws CallError */
export function checkedHeader(name: string, value: string): string {
  if (!CONTROL.test(value)) return value
  throw new CallError(
    'arguments',
    `No request was sent: the value of the header ${name} holds a control character, such as a line break.`,
  )
}

/** A header value as undici expects it, one character for each byte; non-ASCII is sent as UTF-8, as curl and Go do. */
export function wireText(value: string): string {
  return /[^\x20-\x7e\t]/.test(value) ? Buffer.from(value).toString('latin1') : value
}

/** @throws CallError if the body exceeds the limit */
export function checkSize(bytes: number, maxSize: number): void {
  if (bytes > maxSize)
    throw new CallError(
      'too-large',
      `No request was sent: its body would be larger than the limit of ${sizeText(maxSize)} (maxRequestSize).`,
    )
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

/** @param names of the existing tools or prompts */
export function unknownText(kind: 'tool' | 'prompt', name: string, names: readonly string[]): string {
  const said = `Unknown ${kind}: ${shorten(name, 80)}`
  const proposed = proposal(name, names)
  return proposed === '' ? said : `${said}. ${proposed}`
}

/** Computes a value on first use. */
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

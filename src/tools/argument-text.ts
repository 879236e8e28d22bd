import { ExactNumber, type Json, stringify } from '../json/index.ts'
import { proposal, shorten, sizeText, wellFormed } from '../text/index.ts'
import { CallError } from './failure.ts'

const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

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

/** What stands between a path, which may have a query, and more pairs. */
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

/** How values are escaped in this header. */
export function headerPlace(name: string): 'cookie' | 'header' {
  return name.toLowerCase() === 'cookie' ? 'cookie' : 'header'
}

/** The value of a header, which holds no control characters. @throws CallError */
export function checkedHeader(name: string, value: string): string {
  if (!CONTROL.test(value)) return value
  throw new CallError(
    'arguments',
    `No request was sent: the value of the header ${name} holds a control character, such as a line break.`,
  )
}

/**
 * The value of a header as undici takes it, one character for each byte: anything beyond ASCII goes as its UTF-8 bytes,
 * as curl and Go send it.
 */
export function wireText(value: string): string {
  return /[^\x20-\x7e\t]/.test(value) ? Buffer.from(value).toString('latin1') : value
}

/** @throws CallError for a body that is larger than the limit */
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

/** @param names of the tools or prompts that there are */
export function unknownText(kind: 'tool' | 'prompt', name: string, names: readonly string[]): string {
  const said = `Unknown ${kind}: ${shorten(name, 80)}`
  const proposed = proposal(name, names)
  return proposed === '' ? said : `${said}. ${proposed}`
}

/** Makes a value at its first use, once. */
export function lazy<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

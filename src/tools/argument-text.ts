import { type Arg, wireName } from '../config/model.ts'
import { ExactNumber, isObject, type Json, stringify } from '../json/index.ts'
import { deepPairs, proposal, shorten, sizeText, styled, wellFormed } from '../text/index.ts'
import { CallError } from './failure.ts'

const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/** A value as text: strings unchanged, everything else as JSON. */
export function valueText(value: Json): string {
  return typeof value === 'string' ? value : stringify(value)
}

type Written = Pick<Arg, 'name' | 'as' | 'style' | 'explode'>

const membersOf = (value: unknown) =>
  isObject(value as Json) ? (value as Record<string, unknown>) : undefined
const inQuery = { write: (value: unknown) => percentEncode(valueText(value as Json)), membersOf }
const inHeader = { write: (value: unknown) => valueText(value as Json), membersOf }

/** An argument as percent-encoded pairs `name=value` of a query or form. Without a style an object is JSON. */
export function queryPairs(arg: Written, value: Json): string[] {
  const { style = 'form', explode } = arg
  const name = wireName(arg)
  if (style === 'deepObject') return deepPairs(name, value, inQuery)
  const isPlain = arg.style === undefined && explode === undefined && !Array.isArray(value)
  const text = isPlain
    ? `${percentEncode(name)}=${inQuery.write(value)}`
    : styled(name, value, { style, explode }, inQuery)
  return text === '' ? [] : [text]
}

/** An argument as the value of a header; an array or object without a style is JSON. */
export function headerText({ name, style, explode }: Written, value: Json): string {
  if (style === undefined && explode === undefined) return valueText(value)
  return styled(name, value, { style: 'simple', explode }, inHeader)
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

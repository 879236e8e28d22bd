/** The styles of OpenAPI 3.1 (Parameter Object, "Style Values"), which are the expansions of RFC 6570. */
export type ParameterStyle = 'form' | 'simple' | 'label' | 'matrix' | 'spaceDelimited' | 'pipeDelimited'

interface Form {
  first: string
  between: string
  /** Whether a value stands behind the name of its parameter. */
  isNamed: boolean
  /** Between values that are not exploded. */
  within: string
}

const FORMS: Readonly<Record<ParameterStyle, Form>> = {
  simple: { first: '', between: ',', isNamed: false, within: ',' },
  label: { first: '.', between: '.', isNamed: false, within: ',' },
  matrix: { first: ';', between: ';', isNamed: true, within: ',' },
  form: { first: '', between: '&', isNamed: true, within: ',' },
  spaceDelimited: { first: '', between: '&', isNamed: true, within: '%20' },
  pipeDelimited: { first: '', between: '&', isNamed: true, within: '%7C' },
}

/** How a kind of values is taken apart and written. */
interface Writing {
  /** A name or scalar, escaped for its place. */
  write(value: unknown): string
  /** The members of an object; undefined: it is none. */
  membersOf(value: unknown): Readonly<Record<string, unknown>> | undefined
}

/** A value in a style; an empty text for an empty array or object. */
export function styled(
  name: string,
  value: unknown,
  { style, explode = style === 'form' }: { style: ParameterStyle; explode?: boolean | undefined },
  { write, membersOf }: Writing,
): string {
  const { first, between, isNamed, within } = FORMS[style]
  const members = membersOf(value)
  const named = (text: string) => (isNamed ? `${write(name)}=${text}` : text)
  let parts: string[]
  if (explode && members) parts = Object.entries(members).map(([key, one]) => `${write(key)}=${write(one)}`)
  else if (explode && Array.isArray(value)) parts = value.map((one) => named(write(one)))
  else {
    const flat = members ? Object.entries(members).flat() : [value].flat()
    parts = flat.length > 0 ? [named(flat.map(write).join(within))] : []
  }
  return parts.length > 0 ? first + parts.join(between) : ''
}

/** An object as `name[key]=value` pairs, as written by OpenAPI's `deepObject` and read by qs, Rails and PHP. */
export function deepPairs(name: string, value: unknown, { write, membersOf }: Writing): string[] {
  const pairs = (key: string, one: unknown): string[] => {
    const members = membersOf(one)
    if (members) return Object.entries(members).flatMap(([inner, part]) => pairs(`${key}[${inner}]`, part))
    if (!Array.isArray(one)) return [`${write(key)}=${write(one)}`]
    const isNested = one.some((item) => Array.isArray(item) || membersOf(item))
    return one.flatMap((item, i) => pairs(`${key}[${isNested ? i : ''}]`, item))
  }
  return pairs(name, value)
}

const HEX = Buffer.from('0123456789ABCDEF')

/** By byte: the code that it is written as, 0 for `%XX`. @param plain the ASCII characters that stand for themselves */
export function percentTable(plain: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, byte) =>
    byte < 128 && plain.test(String.fromCharCode(byte)) ? byte : 0,
  )
}

/** Percent-encodes bytes; much faster than a replacement for long texts. */
export function percentEncode(bytes: Uint8Array, table: Uint8Array): string {
  const out = Buffer.allocUnsafe(3 * bytes.length)
  let size = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    const plain = table[byte]!
    if (plain !== 0) out[size++] = plain
    else {
      out[size++] = 0x25
      out[size++] = HEX[byte >> 4]!
      out[size++] = HEX[byte & 15]!
    }
  }
  return out.toString('latin1', 0, size)
}

/** Percent-decoded, if possible. */
export function percentDecoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The path of a request's target (RFC 9112, 3.2.1), without the query. */
export function pathOf(target: string): string {
  const query = target.indexOf('?')
  return query < 0 ? target : target.slice(0, query)
}

/** Types that are JSON and do not say so by `+json`. */
const JSON_TYPES = /^(?:application|text)\/json$|^application\/(?:csp-report|x-amz-json-1\.[01])$/

/** `application/json`, `application/problem+json` and their like; a media type in lower case. */
export function isJsonType(mediaType: string): boolean {
  return mediaType.endsWith('+json') || JSON_TYPES.test(mediaType)
}

/** A URL or path without the slashes at its end. */
export function withoutEndSlashes(text: string): string {
  return text.replace(/(?<!\/)\/+$/, '')
}

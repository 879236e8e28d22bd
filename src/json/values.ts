import { isSecretName } from '../text/index.ts'
import { ExactNumber, type Json, type JsonObject } from './exact.ts'

/** A JSON object: not null, an array or an exact number. */
export function isObject(value: unknown): value is JsonObject {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber)
  )
}

/** The value at a path of own members and items; undefined when nothing is there. */
export function valueAt(value: unknown, path: readonly (string | number)[]): Json | undefined {
  let at = value
  for (const segment of path) {
    if (!(isObject(at) || Array.isArray(at)) || !Object.hasOwn(at, segment)) return undefined
    at = (at as JsonObject)[segment]
  }
  return at as Json | undefined
}

/** Assignment would set the prototype for the key `__proto__`. */
export function setOwn(object: JsonObject, key: string, value: Json): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

/** The object with each member converted. */
export function mapMembers(object: JsonObject, convert: (member: Json, name: string) => Json): JsonObject {
  const made: JsonObject = {}
  for (const [name, member] of Object.entries(object)) setOwn(made, name, convert(member, name))
  return made
}

/** The value with `***` for members whose key is the name of a secret. Messages are not deeper than JSON may be. */
export function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked)
  if (!isObject(value)) return value
  return mapMembers(value, (member, name) => (isSecretName(name) ? '***' : masked(member)))
}

/** Every string in a value, with its path. */
export function* textsIn(
  value: Json | undefined,
  path: readonly (string | number)[] = [],
): Generator<[text: string, path: readonly (string | number)[]]> {
  if (typeof value === 'string') yield [value, path]
  else if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* textsIn(item, [...path, i])
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) yield* textsIn(member, [...path, name])
}

/** The JSON pointer (RFC 6901) of a path: `['a/b', 0]` → `/a~1b/0`. */
export function pointerOf(path: readonly (string | number)[]): string {
  return path.map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** The segments of a JSON pointer, unescaped; indexes of arrays stay strings. */
export function pointerSegments(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The schema that a `$ref` into the same document names; undefined: none. */
export function referenced(reference: string, root: JsonObject): JsonObject | undefined {
  if (reference === '#') return root
  const found = reference.startsWith('#/') ? valueAt(root, pointerSegments(reference)) : undefined
  return isObject(found) ? found : undefined
}

/** A string or a comment; an unclosed one reaches to the end. */
const TOKEN = /"(?:[^"\\]|\\[\s\S])*"?|\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g
const TOKEN_OR_COMMA = /"(?:[^"\\]|\\[\s\S])*"?|,(?=\s*[}\]])/g

/**
 * Converts JSON with comments to JSON: comments and trailing commas become blanks, so that offsets stay the same.
 * @returns undefined for a text without comments, or one that is not JSON without them; `first`: offsets of the
 * first comment
 */
export function withoutComments(text: string): { text: string; first: [number, number] } | undefined {
  if (!/^\uFEFF?\s*(?:[{[]|\/[/*])/.test(text) || !/\/[/*]/.test(text)) return undefined
  let first: [number, number] | undefined
  const bare = text.replace(TOKEN, (token, at: number) => {
    if (token.startsWith('"')) return token
    first ??= [at, at + token.length]
    return token.replace(/[^\r\n]/g, ' ')
  })
  if (!first) return undefined
  const plain = bare.replace(TOKEN_OR_COMMA, (token) => (token === ',' ? ' ' : token))
  try {
    JSON.parse(plain.replace(/^\uFEFF/, ''))
    return { text: plain, first }
  } catch {
    return undefined
  }
}

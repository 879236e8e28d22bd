import type { Severity } from '../findings/index.ts'
import { isObject, type Json, type JsonObject, setOwn } from '../json/index.ts'
import type { Reference } from '../template/index.ts'
import type { Args } from './subjects.ts'

const FORMATS: Record<string, string> = {
  date: '2026-01-31',
  'date-time': '2026-01-31T12:00:00Z',
  time: '12:00:00Z',
  email: 'a@example.com',
  uri: 'https://example.com/a',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
}

/** Sample of texts without a format, and number of array items. */
export interface Flavour {
  text: string
  items: number
}

/** Tried in turn if a template needs text of a certain form, such as a second segment. */
export const FLAVOURS: readonly [Flavour, ...Flavour[]] = [
  { text: 'sample', items: 3 },
  { text: '1.2.3', items: 3 },
  { text: 'https://example.com/a/b/c/d', items: 9 },
  { text: '2026-01-31', items: 3 },
  { text: 'a,b,c,d', items: 3 },
  { text: '{"a": 1}', items: 3 },
]

/** Deeper schemas get empty values. */
const MAX_DEPTH = 8

/**
 * A harmless value that a schema allows: the first of `enum`, a short text, 1, an array of a few items.
 * @param all include optional properties
 */
export function sampleOf(schema: Json | undefined, all: boolean, flavour: Flavour, depth = 0): Json {
  if (!isObject(schema)) return flavour.text
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]!
  if (schema.const !== undefined) return schema.const
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type
  switch (type) {
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' ? schema.minimum : 1
    case 'boolean':
      return true
    case 'null':
      return null
    case 'array':
      return depth > MAX_DEPTH ? [] : sampleArray(schema, all, flavour, depth)
    case 'object':
      return depth > MAX_DEPTH ? {} : sampleObject(schema, all, flavour, depth)
    default:
      if (isObject(schema.properties)) return sampleObject(schema, all, flavour, depth)
      return sampleText(schema, flavour)
  }
}

function sampleArray(schema: JsonObject, all: boolean, flavour: Flavour, depth: number): Json {
  const { items, minItems, maxItems } = schema
  const wanted = depth === 0 ? flavour.items : 2
  const most = typeof maxItems === 'number' ? Math.min(wanted, maxItems) : wanted
  // Arrays inside each other multiply.
  const least = typeof minItems === 'number' ? Math.min(minItems, [100, 10][depth] ?? 2) : 0
  return Array.from<Json>({ length: Math.max(most, least) }).fill(sampleOf(items, all, flavour, depth + 1))
}

function sampleObject(
  { properties, required, minProperties }: JsonObject,
  all: boolean,
  flavour: Flavour,
  depth: number,
): JsonObject {
  const names = Array.isArray(required) ? required : []
  const entries = Object.entries(isObject(properties) ? properties : {})
  const isGiven = ([name]: [string, Json]) => all || names.includes(name)
  const least = typeof minProperties === 'number' ? minProperties - entries.filter(isGiven).length : 0
  const more = entries.filter((entry) => !isGiven(entry)).slice(0, Math.max(least, 0))
  return Object.fromEntries(
    entries
      .filter((entry) => isGiven(entry) || more.includes(entry))
      .map(([name, schema]) => [name, sampleOf(schema, all, flavour, depth + 1)]),
  )
}

function sampleText({ format, minLength }: JsonObject, flavour: Flavour): string {
  const text = (typeof format === 'string' && FORMATS[format]) || flavour.text
  return typeof minLength === 'number' ? text.padEnd(Math.min(minLength, 1000), 'x') : text
}

/**
 * Arguments of a call: all, or only those that every call has, with defaults.
 * @param references members added to objects without declared properties
 */
export function sampleArgs(
  { schemas, always, required }: Args,
  all: boolean,
  flavour: Flavour = FLAVOURS[0],
  references: readonly Reference[] = [],
): JsonObject {
  const args: JsonObject = {}
  for (const [name, schema] of schemas) {
    if (!all && !always.has(name)) continue
    const given = all || required.has(name)
    const value = !given && schema.default !== undefined ? schema.default : sampleOf(schema, all, flavour)
    setOwn(args, name, value)
  }
  for (const { path } of references) {
    const [root, name, ...rest] = path
    if (root !== 'Args' || rest.length === 0 || !isFree(schemas.get(name!))) continue
    if (Object.hasOwn(args, name!)) setMissing(args, [name!, ...rest], flavour.text)
  }
  return args
}

/** An object without declared properties. */
function isFree(schema: JsonObject | undefined): boolean {
  return schema?.type === 'object' && !isObject(schema.properties)
}

export function setMissing(object: JsonObject, path: readonly string[], value: Json): void {
  let at = object
  for (const [i, key] of path.entries()) {
    if (!Object.hasOwn(at, key)) setOwn(at, key, i === path.length - 1 ? value : {})
    const next = at[key]
    if (!isObject(next)) return
    at = next
  }
}

/** An MCP request with everything that the template reads. */
export function sampleRequest(references: readonly Reference[]): JsonObject {
  const request: JsonObject = { Headers: {}, Query: {}, Cookies: {}, Path: '/mcp', Body: {} }
  for (const { path } of references) {
    const [root, part, name] = path
    if (root !== 'Request' || part === undefined || name === undefined) continue
    const map = request[part]
    if (isObject(map)) setOwn(map, name, 'sample')
  }
  return request
}

/** A caller with all claims that the template reads. */
export function sampleCaller(references: readonly Reference[]): JsonObject {
  const claims: JsonObject = {}
  for (const { path } of references)
    if (path[0] === 'Caller' && path[1] === 'claims' && path.length > 2)
      setMissing(claims, path.slice(2), 'sample')
  const name = 'sample'
  return { subject: name, issuer: name, clientId: name, scopes: [name], claims }
}

/** An anonymous caller. */
export const NO_CALLER: JsonObject = { subject: '', issuer: '', clientId: '', scopes: [], claims: {} }

/** Two items suffice to show the separator. */
const ANSWER_ITEMS = 2

/** An answer's data with everything that is read; `*` in a path is a list item. */
export function sampleData(paths: readonly (readonly string[])[]): Json {
  const [own] = paths.filter((path) => path.length > 0)
  if (!own) return 'sample'
  const isList = paths.some(([name]) => name === '*')
  const names = new Set(paths.flatMap(([name]) => (name === undefined || name === '*' ? [] : [name])))
  const below = (name: string) => paths.filter((path) => path[0] === name).map((path) => path.slice(1))
  if (isList) return Array.from({ length: ANSWER_ITEMS }, () => sampleData(below('*')))
  const data: JsonObject = {}
  for (const name of names) setOwn(data, name, sampleData(below(name)))
  return data
}

/** Arguments of a call that differs in one respect. */
interface Variation {
  args: JsonObject
  /** The difference, after "with" or "without". */
  what: string
  severity: Severity
}

/**
 * Calls allowed by the declared arguments, each with one change: an optional argument alone or missing, a boolean
 * inverted, a value of an enum, and empty values.
 * @param args those that the template reads
 * @param full a call with all arguments
 * @param least a call with only those that every call has
 */
export function* variations(
  { schemas, always }: Args,
  full: JsonObject,
  least: JsonObject,
  flavour: Flavour = FLAVOURS[0],
): Generator<Variation> {
  let left = 100
  const optional = [...schemas].filter(([name]) => !always.has(name))
  const several = optional.length > 1
  for (const [name] of several ? optional : []) {
    if (left-- <= 0) return
    const what = `with \`${name}\` as the only optional argument`
    yield { args: withChange(least, name, full[name]), what, severity: 'error' }
  }
  for (const [name] of several ? optional : []) {
    if (left-- <= 0) return
    yield { args: withChange(full, name, undefined), what: `without \`${name}\``, severity: 'error' }
  }
  for (const [name, schema] of schemas) {
    for (const value of otherValues(schema, full[name], flavour)) {
      if (left-- <= 0) return
      const what = `with ${shown(value)} as \`${name}\``
      yield { args: withChange(full, name, value), what, severity: isEmpty(value) ? 'warning' : 'error' }
      // Without other arguments that could hide the problem.
      if (always.has(name) && optional.length > 0)
        yield { args: withChange(least, name, value), what, severity: isEmpty(value) ? 'warning' : 'error' }
    }
  }
}

/** Other values that a template could distinguish. */
function otherValues(schema: JsonObject, sample: Json | undefined, flavour: Flavour): Json[] {
  if (Array.isArray(schema.enum)) return schema.enum.slice(0, 20).filter((value) => value !== sample)
  switch (schema.type) {
    case 'boolean':
      return [false]
    case 'integer':
    case 'number':
      return typeof schema.minimum === 'number' && schema.minimum > 0 ? [] : [0]
    case 'string':
      return typeof schema.minLength === 'number' && schema.minLength > 0 ? [] : ['']
    case 'array':
      return typeof schema.minItems === 'number' && schema.minItems > 0 ? [] : [[]]
    case 'object':
      return [sampleOf(schema, false, flavour)]
    default:
      return []
  }
}

/** Authors often do not think of empty values, so they cause warnings instead of errors. */
function isEmpty(value: Json): boolean {
  return value === 0 || value === '' || (typeof value === 'object' && value !== null)
}

function shown(value: Json): string {
  if (value === '') return 'an empty text'
  if (Array.isArray(value) && value.length === 0) return 'an empty array'
  if (typeof value === 'object' && value !== null) return 'only what is required'
  return `\`${String(value).slice(0, 40)}\``
}

function withChange(args: JsonObject, name: string, value: Json | undefined): JsonObject {
  const copy: JsonObject = { ...args }
  if (value === undefined) delete copy[name]
  else setOwn(copy, name, value)
  return copy
}

import type { Json, JsonObject } from '../json/index.ts'
import { compilePattern } from '../template/index.ts'
import { isMap, listOf, mapOf, type Refs, reasonOf, TooLarge, textOf, Unsupported } from './open-document.ts'
import { LENGTHS, plainText } from './tool-names.ts'

/** How deeply schemas are followed. */
export interface Bounds {
  /** Levels of properties, items and alternatives. */
  depth: number
  /** Maximum characters of a nested description; 0: none. */
  description: number
}

export interface SchemaContext {
  refs: Refs
  bounds: Bounds
  /** Number of schemas that may still be examined. */
  budget: { left: number }
  /** Collects members without description, omitted because of size. */
  unsaid: Set<string>
  /** Called for inexact conversions. */
  note(reason: string): void
}

/** Any JSON value, explicit to show that it is intended. */
const ANY_TYPES = ['string', 'number', 'boolean', 'object', 'array', 'null']
export const MAX_SCHEMAS = 4000
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'])

/**
 * Converts an OpenAPI schema to JSON Schema 2020-12 without references, with keywords that model providers accept. It
 * may allow more than the original, never less: the API decides.
 * @throws TooLarge
 */
export function toSchema(
  given: Json | undefined,
  context: SchemaContext,
  depth = 0,
  path: readonly Json[] = [],
): JsonObject {
  if (--context.budget.left < 0) throw new TooLarge()
  if (!isMap(given)) return {}
  let parts: Parts
  try {
    parts = flatten(given, context.refs)
  } catch (error) {
    context.note(`${reasonOf(error)}: any value is accepted there`)
    return describe({}, given, context, depth)
  }
  const { schema, sources } = parts
  // A recursive or too deep schema is reduced to its type.
  const again = sources.some((source) => path.includes(source))
  const deep = again || depth >= context.bounds.depth
  const inside = (one: Json | undefined) => toSchema(one, context, depth + 1, [...path, ...sources])
  const types = typesOf(schema)
  const made: JsonObject = {}
  const values = enumOf(schema, types)
  if (types.length === 1) made.type = types[0]!
  else if (types.length > 1) made.type = types
  describe(made, schema, context, depth)
  if (values) made.enum = values
  Object.assign(made, constraints(schema, types, context.note))
  if (types.includes('object') && !deep) addProperties(made, parts, context, inside)
  if (types.includes('array')) made.items = itemsOf(deep ? {} : inside(schema.items))
  const alternatives = deep ? undefined : alternativesOf(schema, inside)
  if (deep && !again) for (const name of membersOf(schema, context.refs)) context.unsaid.add(name)
  if (alternatives) {
    if (types.length === 1 && types[0] === 'object' && !made.properties) delete made.type
    delete made.additionalProperties
    made.anyOf = alternatives
  } else if (deep && (schema.anyOf || schema.oneOf) && !schema.type && !made.properties) delete made.type
  const preset = fittingDefault(schema, made)
  if (preset !== undefined) made.default = preset
  return made
}

/** A schema with references followed and `allOf` merged. */
interface Parts {
  /** Its own keywords, completed by those of its parts. */
  schema: JsonObject
  properties: Map<string, Json>
  required: string[]
  /** The document's schemas that it consists of, to detect recursion. */
  sources: Json[]
}

const MAX_HOPS = 20

/** @throws Unsupported for a dangling or circular reference */
export function flatten(given: JsonObject, refs: Refs, hops = 0): Parts {
  if (hops > MAX_HOPS) throw new Unsupported('a schema includes itself')
  const parts: JsonObject[] = []
  const sources: Json[] = []
  gather(given, refs, parts, sources, 0)
  const schema: JsonObject = {}
  const said = new Map<string, Json[]>()
  const required = new Set<string>()
  let withProperties = 0
  for (const part of parts) {
    for (const [key, value] of Object.entries(part))
      if (!SEPARATE.has(key) && !Object.hasOwn(schema, key) && key !== '__proto__') schema[key] = value
    const properties = Object.entries(mapOf(part.properties))
    if (properties.length > 0) withProperties++
    for (const [name, property] of properties) said.set(name, [...(said.get(name) ?? []), property])
    for (const name of listOf(part.required)) if (typeof name === 'string') required.add(name)
  }
  // With several parts, each would forbid the others' properties.
  if (withProperties > 1 && schema.additionalProperties === false) delete schema.additionalProperties
  const entries = [...said].map(([name, all]): [string, Json] => [
    name,
    all.length === 1 ? all[0]! : { allOf: all },
  ])
  if (entries.length > 0) schema.properties = Object.fromEntries(entries)
  const lone = takeLone(schema)
  if (lone) {
    const inner = flatten({ ...schema, required: [...required], allOf: [lone] }, refs, hops + 1)
    return { ...inner, sources: [...sources, ...inner.sources] }
  }
  return { schema, properties: new Map(entries), required: [...required], sources }
}

const SEPARATE = new Set(['allOf', '$ref', 'properties', 'required'])

/** Nearest first: a schema's own keywords override those of its parts. */
function gather(given: Json, refs: Refs, parts: JsonObject[], sources: Json[], hops: number): void {
  if (!isMap(given)) return
  if (hops > MAX_HOPS || parts.length > 60)
    throw new Unsupported('a schema includes itself, or too many others')
  const { $ref, ...own } = given
  if (typeof $ref === 'string') {
    if (Object.keys(own).length > 0) parts.push(own)
    const target = refs.target($ref)
    sources.push(target)
    gather(target, refs, parts, sources, hops + 1)
  } else parts.push(given)
  for (const part of listOf(given.allOf)) gather(part, refs, parts, sources, hops + 1)
}

/** Removes an `anyOf` of one schema, possibly with null, or of restrictions only. */
function takeLone(schema: JsonObject): Json | undefined {
  for (const key of ['anyOf', 'oneOf'] as const) {
    const given = listOf(schema[key])
    if (given.length === 0) continue
    const others = given.filter((one) => !(isMap(one) && one.type === 'null'))
    // Alternatives that only add required names describe no value.
    const describing = others.some(
      (one) => !isMap(one) || Object.keys(one).some((name) => !RESTRICTING.has(name)),
    )
    if (describing && others.length > 1) continue
    delete schema[key]
    if (!describing) continue
    if (given.length > others.length) schema.nullable = true
    return others[0]
  }
  return undefined
}

const RESTRICTING = new Set(['required', 'not', 'description', 'title'])

function describe(
  made: JsonObject,
  schema: JsonObject,
  { bounds }: SchemaContext,
  depth: number,
): JsonObject {
  const longest = depth === 0 ? LENGTHS.argument : bounds.description
  const said = textOf(schema.description) ?? textOf(schema.title) ?? ''
  const text = longest > 0 ? withExample(said, schema, longest) : ''
  const encoded = schema.format === 'byte' || schema.contentEncoding === 'base64' ? 'Base64' : ''
  const whole = [text, text.includes(encoded) ? '' : encoded].filter(Boolean).join(' — ')
  if (whole) made.description = whole
  return made
}

/** A description, with a short and informative example. */
export function withExample(
  description: string,
  { example, examples, enum: values }: JsonObject,
  longest: number,
): string {
  const [first] = Array.isArray(examples)
    ? examples
    : Object.values(mapOf(examples)).map((one) => mapOf(one).value)
  const value = example ?? first
  const shown = typeof value === 'string' || isNumber(value) ? plainText(String(value), 60) : ''
  // Generators use the type's name if there is no example.
  if (
    shown === '' ||
    shown === 'string' ||
    shown.endsWith('…') ||
    values !== undefined ||
    description.includes(shown)
  )
    return plainText(description, longest)
  const end = `For example ${shown}`
  const text = plainText(description, longest - end.length - 2)
  return text === '' ? end : `${text}${/[.!?:…]$/.test(text) ? '' : '.'} ${end}`
}

/** The explicit or implied types of a schema; empty: any. */
function typesOf(schema: JsonObject): string[] {
  const given = (Array.isArray(schema.type) ? schema.type : [schema.type]).map((type) =>
    type === 'file' ? 'string' : type,
  )
  const types = [...new Set(given.filter((type) => typeof type === 'string' && TYPES.has(type)))] as string[]
  if (types.length === 0) types.push(...impliedTypes(schema))
  if (isNullable(schema) && types.length > 0 && !types.includes('null')) types.push('null')
  return types.includes('number') ? types.filter((type) => type !== 'integer') : types
}

function isNullable(schema: JsonObject): boolean {
  return schema.nullable === true || schema['x-nullable'] === true
}

function impliedTypes(schema: JsonObject): string[] {
  // An unknown type.
  if (schema.type !== undefined) return []
  if (isMap(schema.properties)) return ['object']
  if (isMap(schema.additionalProperties) && !schema.anyOf && !schema.oneOf) return ['object']
  if (schema.items !== undefined) return ['array']
  const values = schema.const !== undefined ? [schema.const] : listOf(schema.enum)
  const kinds = [...new Set(values.map((value) => typeof value))]
  const scalars = kinds.filter((kind) => kind === 'string' || kind === 'number' || kind === 'boolean')
  return scalars.length > 0 && values.includes(null) ? [...scalars, 'null'] : scalars
}

/** Converts a nested schema. */
type Inside = (one: Json | undefined) => JsonObject

function addProperties(
  made: JsonObject,
  { schema, properties, required }: Parts,
  context: SchemaContext,
  inside: Inside,
): void {
  if (properties.has('__proto__')) context.note('no argument can be called __proto__')
  const written = [...properties].filter(
    ([name, property]) => name !== '__proto__' && !isReadOnly(property, context),
  )
  const entries = written.map(([name, property]) => [name, inside(property)] as const)
  if (entries.length > 0) made.properties = Object.fromEntries(entries)
  const needed = required.filter((name) => entries.some(([key]) => key === name))
  if (needed.length > 0) made.required = needed
  const more = schema.additionalProperties
  // Read-only properties may be sent when a client returns what it read.
  if (more === false && entries.length > 0 && entries.length === properties.size)
    made.additionalProperties = false
  if (isMap(more) && Object.keys(more).length > 0) {
    const values = inside(more)
    if (Object.keys(values).length > 0) made.additionalProperties = values
  }
}

/** Names inside a schema: its members, and those of items and alternatives. */
function membersOf(schema: JsonObject, refs: Refs): string[] {
  const within = [schema, schema.items, ...listOf(schema.anyOf), ...listOf(schema.oneOf)]
  return within.flatMap((one) => {
    try {
      return isMap(one) ? [...flatten(one, refs).properties.keys()] : []
    } catch (error) {
      reasonOf(error)
      return []
    }
  })
}

function isReadOnly(property: Json, { refs }: SchemaContext): boolean {
  try {
    return refs.follow(property).readOnly === true
  } catch {
    return false
  }
}

function itemsOf(items: JsonObject): JsonObject {
  // Some model providers refuse arrays without item types.
  return items.type || items.anyOf || items.enum ? items : { ...items, type: ANY_TYPES }
}

/** Uses `anyOf` for `oneOf` too, as descriptions often allow several alternatives for one value. */
function alternativesOf(schema: JsonObject, inside: Inside): JsonObject[] | undefined {
  const given = [schema.anyOf, schema.oneOf].map(listOf).find((list) => list.length > 0)
  if (!given || given.length > 12) return undefined
  const made = given.map(inside)
  const unlike = [...new Map(made.map((one) => [JSON.stringify(one), one])).values()]
  // An unrestricted alternative makes the others redundant.
  if (unlike.some((one) => !one.type && !one.enum && !one.anyOf)) return undefined
  return unlike
}

/** Formats that all validators check alike. */
const FORMATS = new Set(['date-time', 'date', 'time', 'email', 'uuid', 'uri', 'ipv4', 'ipv6', 'hostname'])

/** The allowed values, if few and of the schema's types. */
function enumOf(schema: JsonObject, types: readonly string[]): Json[] | undefined {
  const given = schema.const !== undefined ? [schema.const] : listOf(schema.enum)
  const nullable = types.includes('null')
  const values = [...new Set(given.filter((value) => value !== null || nullable))]
  if (values.every((value) => value === null) || values.length > 150) return undefined
  if (nullable && isNullable(schema) && !values.includes(null)) values.push(null)
  const fits = (value: Json) => types.length === 0 || types.some((type) => isOf(value, type))
  if (!values.every((value) => isExact(value) && fits(value))) return undefined
  return JSON.stringify(values).length > 3000 ? undefined : values
}

/** A scalar that survives JSON unchanged. */
function isExact(value: Json | undefined): boolean {
  return isNumber(value) || value === null || typeof value === 'string' || typeof value === 'boolean'
}

/** Excludes integers that may have been rounded. */
function isNumber(value: Json | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value) && Math.abs(value) <= Number.MAX_SAFE_INTEGER
}

function isCount(value: Json | undefined): boolean {
  return isNumber(value) && Number.isInteger(value) && value >= 0
}

export function isOf(value: Json, type: string): boolean {
  if (value === null) return type === 'null'
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

type Note = SchemaContext['note']

/** Keywords with the types they apply to, and the accepted values. */
const KEYWORDS: [key: string, types: string[], fits: (value: Json | undefined, note: Note) => boolean][] = [
  ['format', ['string'], (value) => typeof value === 'string' && FORMATS.has(value)],
  ['pattern', ['string'], isPattern],
  ['minLength', ['string'], isCount],
  ['maxLength', ['string'], isCount],
  ['minimum', ['number', 'integer'], isNumber],
  ['maximum', ['number', 'integer'], isNumber],
  ['exclusiveMinimum', ['number', 'integer'], isNumber],
  ['exclusiveMaximum', ['number', 'integer'], isNumber],
  ['multipleOf', ['number', 'integer'], (value) => isNumber(value) && value > 0],
  ['minItems', ['array'], isCount],
  ['maxItems', ['array'], isCount],
  ['uniqueItems', ['array'], (value) => value === true],
]
const RANGES = ['Length', 'imum', 'Items'].map((end) => [`min${end}`, `max${end}`] as const)

/** Lengths, ranges, formats and patterns, for applicable types only. */
function constraints(schema: JsonObject, types: readonly string[], note: Note): JsonObject {
  const made: JsonObject = {}
  for (const [key, about, fits] of KEYWORDS)
    if (about.some((type) => types.includes(type)) && fits(schema[key], note)) made[key] = schema[key]!
  for (const [least, most] of RANGES)
    if ((made[least] as number) > (made[most] as number)) {
      delete made[least]
      delete made[most]
    }
  // In OpenAPI 3.0 these are booleans.
  for (const [exclusive, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const)
    if (schema[exclusive] === true && made[limit] !== undefined) {
      made[exclusive] = made[limit]
      delete made[limit]
    }
  return made
}

function isPattern(pattern: Json | undefined, note: Note): boolean {
  if (typeof pattern !== 'string') return false
  const fault = patternFault(pattern)
  if (fault !== undefined) note(`a pattern cannot be checked and is omitted: ${fault}`)
  return fault === undefined
}

function patternFault(pattern: string): string | undefined {
  if (pattern.length > 200) return `it is longer than 200 characters`
  // Some authors include the slashes of a regular expression literal.
  if (/^\/.*\/[a-z]*$/.test(pattern)) return 'it is written between slashes'
  const compiled = compilePattern(pattern)
  return 'error' in compiled ? compiled.error : undefined
}

/** The default, if the schema allows it. */
export function fittingDefault(schema: JsonObject, made: JsonObject): Json | undefined {
  const value = schema.default
  if (value === undefined || value === null) return undefined
  const types = Array.isArray(made.type) ? made.type : [made.type]
  if (!isExact(value)) {
    const isList = Array.isArray(value) && value.every(isExact) && types.includes('array')
    return isList && JSON.stringify(value).length <= 200 ? value : undefined
  }
  if (typeof value === 'string' && (value.length > 200 || value === '')) return undefined
  if (Array.isArray(made.enum) && !made.enum.includes(value)) return undefined
  if (made.type === undefined) return made.anyOf === undefined ? value : undefined
  return types.some((type) => isOf(value, String(type))) ? value : undefined
}

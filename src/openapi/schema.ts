import type { Json, JsonObject } from '../json/index.ts'
import { compilePattern } from '../template/index.ts'
import { isMap, listOf, TooLarge, textOf, Unfit } from './document-values.ts'
import { flatten, type Parts } from './flatten.ts'
import type { Refs } from './references.ts'
import { LENGTHS, plainText } from './tool-names.ts'

/** How far schemas are followed. */
export interface Bounds {
  /** Levels of properties, items and alternatives. */
  depth: number
  /** Characters of a nested description; 0: none. */
  description: number
}

export interface SchemaContext {
  refs: Refs
  bounds: Bounds
  /** Schemas that may still be looked at. */
  budget: { left: number }
  /** Called with what could not be said exactly. */
  note(reason: string): void
}

/** Any JSON value, written out so that nobody takes it for an oversight. */
export const ANY_TYPES = ['string', 'number', 'boolean', 'object', 'array', 'null']
export const MAX_SCHEMAS = 4000
const MAX_ALTERNATIVES = 12
const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'])

/**
 * A schema of OpenAPI as JSON Schema 2020-12 without references, in the keywords that model providers take. It may
 * allow more than the original where that cannot be said in them, never less: the API has the last word.
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
    if (!(error instanceof Unfit)) throw error
    context.note(`${error.message}: any value is accepted there`)
    return describe({}, given, context, depth)
  }
  const { schema, sources } = parts
  // A schema that recurs, or is too deep, is reduced to its type.
  const again = sources.some((source) => path.includes(source))
  const inner = again ? [] : [...path, ...sources]
  const deep = again || depth >= context.bounds.depth
  const types = typesOf(schema)
  const made: JsonObject = {}
  const values = enumOf(schema, types)
  if (types.length === 1) made.type = types[0]!
  else if (types.length > 1) made.type = types
  describe(made, schema, context, depth)
  if (values) made.enum = values
  Object.assign(made, constraints(schema, types, context.note))
  if (types.includes('object')) addProperties(made, parts, context, depth, inner, deep)
  if (types.includes('array')) made.items = itemsOf(schema, context, depth, inner, deep)
  const alternatives = deep ? undefined : alternativesOf(schema, context, depth, inner)
  if (alternatives) {
    if (types.length === 1 && types[0] === 'object' && !made.properties) delete made.type
    delete made.additionalProperties
    made.anyOf = alternatives
  } else if (deep && (schema.anyOf || schema.oneOf) && !schema.type && !made.properties) delete made.type
  const preset = fittingDefault(schema, made)
  if (preset !== undefined) made.default = preset
  return made
}

function describe(
  made: JsonObject,
  schema: JsonObject,
  { bounds }: SchemaContext,
  depth: number,
): JsonObject {
  const longest = depth === 0 ? LENGTHS.argument : bounds.description
  const text = longest > 0 ? plainText(textOf(schema.description) ?? textOf(schema.title) ?? '', longest) : ''
  const encoded = schema.format === 'byte' || schema.contentEncoding === 'base64' ? 'Base64' : ''
  const whole = [text, text.includes(encoded) ? '' : encoded].filter(Boolean).join(' — ')
  if (whole) made.description = whole
  return made
}

/** The types that a schema says or means; none: any. */
function typesOf(schema: JsonObject): string[] {
  const given = (Array.isArray(schema.type) ? schema.type : [schema.type]).map((type) =>
    type === 'file' ? 'string' : type,
  )
  const types = [...new Set(given.filter((type) => typeof type === 'string' && TYPES.has(type)))] as string[]
  if (types.length === 0) types.push(...impliedTypes(schema))
  const nullable = schema.nullable === true || schema['x-nullable'] === true
  if (nullable && types.length > 0 && !types.includes('null')) types.push('null')
  return types.includes('number') ? types.filter((type) => type !== 'integer') : types
}

function impliedTypes(schema: JsonObject): string[] {
  // Another type than those that there are: nothing is known.
  if (schema.type !== undefined) return []
  if (isMap(schema.properties)) return ['object']
  if (isMap(schema.additionalProperties) && !schema.anyOf && !schema.oneOf) return ['object']
  if (schema.items !== undefined) return ['array']
  const values = schema.const !== undefined ? [schema.const] : listOf(schema.enum)
  const kinds = new Set(values.map((value) => (value === null ? 'null' : typeof value)))
  return [...kinds].filter((kind) => kind === 'string' || kind === 'number' || kind === 'boolean')
}

function addProperties(
  made: JsonObject,
  { schema, properties, required }: Parts,
  context: SchemaContext,
  depth: number,
  path: readonly Json[],
  deep: boolean,
): void {
  if (deep) return
  const entries: [string, JsonObject][] = []
  let dropped = false
  for (const [name, property] of properties) {
    if (name === '__proto__' || isReadOnly(property, context)) {
      dropped = true
      continue
    }
    entries.push([name, toSchema(property, context, depth + 1, path)])
  }
  if (entries.length > 0) made.properties = Object.fromEntries(entries)
  const needed = required.filter((name) => entries.some(([key]) => key === name))
  if (needed.length > 0) made.required = needed
  const more = schema.additionalProperties
  // What is read only may be sent all the same where somebody sends back what was read.
  if (more === false && entries.length > 0 && !dropped) made.additionalProperties = false
  if (isMap(more) && Object.keys(more).length > 0) {
    const values = toSchema(more, context, depth + 1, path)
    if (Object.keys(values).length > 0) made.additionalProperties = values
  }
}

function isReadOnly(property: Json, { refs }: SchemaContext): boolean {
  try {
    return refs.follow(property).readOnly === true
  } catch {
    return false
  }
}

function itemsOf(
  schema: JsonObject,
  context: SchemaContext,
  depth: number,
  path: readonly Json[],
  deep: boolean,
): JsonObject {
  const items = deep ? {} : toSchema(schema.items, context, depth + 1, path)
  // Some model providers refuse an array that does not say what it holds.
  return items.type || items.anyOf || items.enum ? items : { ...items, type: ANY_TYPES }
}

/** `anyOf` too for `oneOf`: descriptions that mean one of several often allow more of them for a value. */
function alternativesOf(
  schema: JsonObject,
  context: SchemaContext,
  depth: number,
  path: readonly Json[],
): JsonObject[] | undefined {
  const given = [schema.anyOf, schema.oneOf].map(listOf).find((list) => list.length > 0)
  if (!given || given.length > MAX_ALTERNATIVES) return undefined
  const made = given.map((one) => toSchema(one, context, depth + 1, path))
  const seen = new Set<string>()
  const unlike = made.filter((one) => {
    const text = JSON.stringify(one)
    return !seen.has(text) && seen.add(text)
  })
  // One that allows anything allows all that the others do.
  if (unlike.some((one) => !one.type && !one.enum && !one.anyOf)) return undefined
  return unlike
}

/** More values, or more characters of them, are for a description. */
const MAX_VALUES = 150
const MAX_VALUES_TEXT = 3000
const MAX_PATTERN = 200
const MAX_DEFAULT = 200
/** Those that everybody checks alike. */
const FORMATS = new Set(['date-time', 'date', 'time', 'email', 'uuid', 'uri', 'ipv4', 'ipv6', 'hostname'])

/** The allowed values, where they are few and of the types that the schema says. */
export function enumOf(schema: JsonObject, types: readonly string[]): Json[] | undefined {
  const given = schema.const !== undefined ? [schema.const] : listOf(schema.enum)
  const nullable = types.includes('null')
  const values = [...new Set(given.filter((value) => value !== null || nullable))]
  if (values.filter((value) => value !== null).length === 0 || values.length > MAX_VALUES) return undefined
  if (nullable && schema.nullable === true && !values.includes(null)) values.push(null)
  if (
    !values.every(
      (value) => isExact(value) && (types.length === 0 || types.some((type) => isOf(value, type))),
    )
  )
    return undefined
  return JSON.stringify(values).length > MAX_VALUES_TEXT ? undefined : values
}

/** A scalar that comes through JSON unchanged. */
function isExact(value: Json): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !isRounded(value)
  return value === null || typeof value === 'string' || typeof value === 'boolean'
}

/** An integer that may have been another one before it was read. */
function isRounded(value: number): boolean {
  return Math.abs(value) > Number.MAX_SAFE_INTEGER
}

function isOf(value: Json, type: string): boolean {
  if (value === null) return type === 'null'
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}

/**
 * Lengths, ranges, formats and patterns, each only with a type that it is about.
 * @param note gets the reason why a pattern is omitted
 */
export function constraints(
  schema: JsonObject,
  types: readonly string[],
  note: (reason: string) => void,
): JsonObject {
  const made: JsonObject = {}
  if (types.includes('string')) {
    if (typeof schema.format === 'string' && FORMATS.has(schema.format)) made.format = schema.format
    if (typeof schema.pattern === 'string') {
      const fault = patternFault(schema.pattern)
      if (fault === undefined) made.pattern = schema.pattern
      else note(`a pattern cannot be checked and is omitted: ${fault}`)
    }
    range(schema, made, 'minLength', 'maxLength', isCount)
  }
  if (types.includes('number') || types.includes('integer')) {
    range(schema, made, 'minimum', 'maximum', isNumber)
    // OpenAPI 3.0 has the exclusive ones as switches.
    for (const [exclusive, limit] of [
      ['exclusiveMinimum', 'minimum'],
      ['exclusiveMaximum', 'maximum'],
    ] as const) {
      const value = schema[exclusive]
      if (isNumber(value)) made[exclusive] = value as Json
      else if (value === true && made[limit] !== undefined) {
        made[exclusive] = made[limit]
        delete made[limit]
      }
    }
    if (isNumber(schema.multipleOf) && (schema.multipleOf as number) > 0)
      made.multipleOf = schema.multipleOf as Json
  }
  if (types.includes('array')) {
    range(schema, made, 'minItems', 'maxItems', isCount)
    if (schema.uniqueItems === true) made.uniqueItems = true
  }
  return made
}

function range(
  schema: JsonObject,
  made: JsonObject,
  least: string,
  most: string,
  fits: (value: unknown) => boolean,
): void {
  const [low, high] = [schema[least], schema[most]]
  if (fits(low) && fits(high) && (low as number) > (high as number)) return
  if (fits(low)) made[least] = low as Json
  if (fits(high)) made[most] = high as Json
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value) && !isRounded(value)
}

function isCount(value: unknown): boolean {
  return isNumber(value) && Number.isInteger(value) && (value as number) >= 0
}

/** Why a pattern is left out; undefined for one that can be kept. */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MAX_PATTERN) return `it is longer than ${MAX_PATTERN} characters`
  // Some write the slashes of a programming language.
  if (/^\/.*\/[a-z]*$/.test(pattern)) return 'it is written between slashes'
  const compiled = compilePattern(pattern)
  return 'error' in compiled ? compiled.error : undefined
}

/** The default, where it is a value that the schema allows. */
export function fittingDefault(schema: JsonObject, made: JsonObject): Json | undefined {
  const value = schema.default
  if (value === undefined || value === null) return undefined
  const types = Array.isArray(made.type) ? made.type : [made.type]
  if (!isExact(value)) {
    const isList = Array.isArray(value) && value.every(isExact) && types.includes('array')
    return isList && JSON.stringify(value).length <= MAX_DEFAULT ? value : undefined
  }
  if (typeof value === 'string' && (value.length > MAX_DEFAULT || value === '')) return undefined
  if (Array.isArray(made.enum) && !made.enum.includes(value)) return undefined
  if (made.type === undefined && made.anyOf !== undefined) return undefined
  return made.type === undefined || types.some((type) => isOf(value, String(type))) ? value : undefined
}

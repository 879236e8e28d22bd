import type { Json, JsonObject } from '../json/index.ts'
import { LENGTHS, plainText } from './describe.ts'
import { constraints, enumOf, fittingDefault } from './keywords.ts'
import { flatten, type Parts } from './merge.ts'
import type { Refs } from './refs.ts'
import { isMap, listOf, TooLarge, textOf, Unfit } from './values.ts'

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

/** Any JSON value, said so that nobody takes it for an oversight. */
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
    context.note(`${error.message}: any value is allowed there`)
    return describe({}, given, context, depth)
  }
  const { schema, sources } = parts
  // What comes around again, or is too deep, is told by its type only.
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

import type { Json, JsonObject } from '../json/index.ts'
import { isMap, listOf, mapOf, type Refs, reasonOf, textOf, Unsupported } from './open-document.ts'
import type { Operation } from './operations.ts'
import { flatten } from './schema.ts'
import { plainText } from './tool-names.ts'

/** Maximum characters of a response's schema in a tool. */
const MAX_SIZE = 800
/** Levels of members, and characters of a description (0: only types); the first that fits is used. */
const TRIES = [
  { depth: 4, words: 80 },
  { depth: 3, words: 80 },
  { depth: 2, words: 80 },
  { depth: 3, words: 0 },
  { depth: 2, words: 0 },
  { depth: 1, words: 80 },
  { depth: 1, words: 0 },
]

const JSON_TYPE = /^(?:application|text)\/(?:[\w.-]+\+)?json\b/i
/** Other notations of the same data: the API is asked for JSON. */
const OTHER_TYPE = /^(?:application|text)\/(?:[\w.-]+\+)?(?:xml|yaml|x-yaml|plain)\b|^\*\/\*/i

/**
 * The `outputSchema` of a tool: names and descriptions of a response. The gateway and clients refuse results that do
 * not match, and descriptions are often wrong about null, missing members and quoted numbers: so only the outer type is
 * checked, and the types of members are described in words.
 * @returns undefined unless every success is a JSON object
 */
export function outputOf({ method, results }: Operation, refs: Refs): JsonObject | undefined {
  if (method === 'HEAD') return undefined
  try {
    const schemas = results().flatMap(schemasOf)
    const [first, ...others] = new Map(schemas.map((one) => [JSON.stringify(one), one])).values()
    // The response decides which schema applies.
    return first === undefined || others.length > 0 ? undefined : bounded(first, refs)
  } catch (error) {
    // An unsupported response is returned without a schema.
    reasonOf(error)
    return undefined
  }
}

/** The schemas of a success's body: none if it has no body. @throws Unsupported if it may not be JSON */
function schemasOf(content: readonly (readonly [type: string, media: JsonObject])[]): JsonObject[] {
  if (content.length === 0) return []
  const media = content.find(([type]) => JSON_TYPE.test(type))?.[1]
  if (!media || !content.every(([type]) => JSON_TYPE.test(type) || OTHER_TYPE.test(type)))
    throw new Unsupported('a success is not JSON')
  const schema = mapOf(media.schema)
  return [Object.keys(schema).length > 0 ? schema : exampleSchema(exampleOf(media), 0)]
}

/** @throws Unsupported */
function bounded(schema: JsonObject, refs: Refs): JsonObject | undefined {
  let made: JsonObject | undefined
  for (const bounds of TRIES) {
    made = rootOf(schema, { refs, ...bounds, left: 1_000 })
    if (!made || JSON.stringify(made).length <= MAX_SIZE) return made
  }
  return made && shortened(made)
}

/** Keeps the first members. */
function shortened(schema: JsonObject): JsonObject | undefined {
  const { properties, ...rest } = schema
  let left = MAX_SIZE - JSON.stringify(rest).length
  const kept = Object.entries(mapOf(properties)).filter(([name, property]) => {
    left -= JSON.stringify({ [name]: property }).length
    return left > 0
  })
  return kept.length > 0 ? { ...rest, properties: Object.fromEntries(kept) } : undefined
}

interface Walk {
  refs: Refs
  depth: number
  words: number
  left: number
}

/** @throws Unsupported */
function rootOf(given: JsonObject, walk: Walk): JsonObject | undefined {
  const { schema, properties } = flatten(given, walk.refs)
  const types = typesOf(schema)
  const isOpen = types.length === 0 && (schema.anyOf !== undefined || schema.oneOf !== undefined)
  const isObject =
    types.includes('object') || properties.size > 0 || (isOpen && isAllObjects(schema, walk.refs))
  const made = loose(given, walk, 0, [])
  if (Object.keys(made).length === 0) return undefined
  return isObject && types.every((type) => type === 'object') ? { type: 'object', ...made } : undefined
}

function isAllObjects({ anyOf, oneOf }: JsonObject, refs: Refs): boolean {
  return [...listOf(anyOf), ...listOf(oneOf)].every((one) => {
    const { schema, properties } = flatten(mapOf(one), refs)
    return properties.size > 0 || typesOf(schema).join() === 'object'
  })
}

/** A schema that describes without refusing anything. */
function loose(given: Json | undefined, walk: Walk, depth: number, path: readonly Json[]): JsonObject {
  if (--walk.left < 0 || !isMap(given)) return {}
  const { schema, properties, sources } = flatten(given, walk.refs)
  const made: JsonObject = {}
  const words = depth > 0 ? wordsOf(schema, walk.words) : ''
  if (words) made.description = words
  if (sources.some((source) => path.includes(source))) return made
  const within = [...path, ...sources]
  const inside = (one: Json | undefined) => loose(one, walk, depth + 1, within)
  // A list adds no level.
  if (schema.items !== undefined) put(made, 'items', loose(schema.items, walk, Math.max(1, depth), within))
  if (depth >= walk.depth) return made
  const members = [...properties]
    .filter(([name, property]) => name !== '__proto__' && mapOf(property).writeOnly !== true)
    .slice(0, 60)
  if (members.length > 0)
    made.properties = Object.fromEntries(members.map(([name, property]) => [name, inside(property)]))
  else if (isMap(schema.additionalProperties))
    put(made, 'additionalProperties', inside(schema.additionalProperties))
  const alternatives = [...listOf(schema.anyOf), ...listOf(schema.oneOf)]
  if (alternatives.length > 0 && alternatives.length <= 4) {
    const all = alternatives.map(inside)
    // An empty alternative would allow everything.
    if (all.every((one) => Object.keys(one).length > 0)) made.anyOf = all
  }
  return made
}

function put(made: JsonObject, key: string, schema: JsonObject): void {
  if (Object.keys(schema).length > 0) made[key] = schema
}

/** Without `null`, which may occur anywhere. */
function typesOf(schema: JsonObject): string[] {
  const given = [schema.type ?? []].flat().filter((type) => typeof type === 'string' && type !== 'null')
  return [...new Set(given as string[])]
}

/** The description with known values, or else the type unless string. */
function wordsOf(schema: JsonObject, longest: number): string {
  const text =
    longest === 0 ? '' : plainText(textOf(schema.description) ?? textOf(schema.title) ?? '', longest)
  const values = listOf(schema.enum).filter((value) => typeof value === 'string')
  const known = values.length > 6 ? '' : plainText(values.join(', '), longest)
  const types = typesOf(schema).filter((type) => SCALARS.has(type))
  const type = DATES.has(textOf(schema.format) ?? '') ? textOf(schema.format)! : types.join(' or ')
  if (longest === 0) return type === 'string' ? '' : type
  const said = text.includes(known) ? text : [text, known].filter(Boolean).join(' – ')
  return said || (type === 'string' ? '' : type)
}

const SCALARS = new Set(['string', 'integer', 'number', 'boolean'])
const DATES = new Set(['date', 'date-time'])

/** The first example of a media type. */
function exampleOf({ example, examples }: JsonObject): Json | undefined {
  return example ?? mapOf(Object.values(mapOf(examples))[0]).value
}

/** The schema that an example shows. */
function exampleSchema(example: Json | undefined, depth: number): JsonObject {
  if (depth > 4 || example === undefined || example === null) return {}
  if (Array.isArray(example)) return { type: 'array', items: exampleSchema(example[0], depth + 1) }
  if (!isMap(example)) return { type: typeof example }
  const members = Object.entries(example)
    .slice(0, 60)
    .map(([name, value]): [string, Json] => [name, exampleSchema(value, depth + 1)])
  return { type: 'object', properties: Object.fromEntries(members) }
}

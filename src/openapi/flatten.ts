import type { Json, JsonObject } from '../json/index.ts'
import { isMap, listOf, mapOf, Unfit } from './document-values.ts'
import type { Refs } from './references.ts'

/** A schema with its references followed and its `allOf` merged into it. */
export interface Parts {
  /** Its own keywords, those of the parts where it has none. */
  schema: JsonObject
  /** Each with all that is said of it. */
  properties: Map<string, Json>
  required: string[]
  /** The schemas of the document that it was made of, to find it again. */
  sources: Json[]
}

const MAX_PARTS = 60
const MAX_HOPS = 20

/** @throws Unfit for a reference that leads nowhere, or back to itself */
export function flatten(given: JsonObject, refs: Refs, hops = 0): Parts {
  if (hops > MAX_HOPS) throw new Unfit('a schema includes itself')
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
  // Each part forbids what only another one names.
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

/** What is nearest goes first: a schema's own words count more than those of its parts. */
function gather(given: Json, refs: Refs, parts: JsonObject[], sources: Json[], hops: number): void {
  if (!isMap(given)) return
  if (hops > MAX_HOPS || parts.length > MAX_PARTS)
    throw new Unfit('a schema includes itself, or too many others')
  const { $ref, ...own } = given
  if (typeof $ref === 'string') {
    if (Object.keys(own).length > 0) parts.push(own)
    const target = refs.target($ref)
    sources.push(target)
    gather(target, refs, parts, sources, hops + 1)
  } else parts.push(given)
  for (const part of listOf(given.allOf)) gather(part, refs, parts, sources, hops + 1)
}

/** Takes an `anyOf` of one schema, or of one and null, out of a schema; and one that only restricts. */
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

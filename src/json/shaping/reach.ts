import { isObject, type Json, type JsonObject, referenced, valueAt } from '../index.ts'
import type { Entry, Step } from './mask-text.ts'

/** A mask entry that matches nothing in any value of a schema. */
interface Unmatched {
  entry: Entry
  /** A missing name, or `[]` without an array. */
  missing: string
  /** The existing members. */
  known: string[]
  /** Path of the list in whose place an object was expected. */
  list?: string
}

/** Maximum schemas examined for one step. */
const MAX_SCHEMAS = 1_000

/** Entries that match no value of a schema; an incomplete schema may match. */
export function unmatched(entries: readonly Entry[], schema: JsonObject): Unmatched[] {
  return entries.flatMap((entry) => follow(entry, [schema], schema, ''))
}

/** @param path of `from` */
function follow(entry: Entry, from: readonly JsonObject[], root: JsonObject, path: string): Unmatched[] {
  let at: readonly JsonObject[] = from
  let passed = path
  for (const step of entry.steps) {
    const flat = flattened(at, root)
    const next = flat && after(flat, step, root)
    if (!next) return []
    if (next.length === 0) {
      const known = [...new Set(flat.flatMap(({ properties }) => Object.keys(objectOf(properties))))]
      const missing = typeof step === 'object' ? step.member : step === 'items' ? '[]' : '*'
      const isList = flat.length > 0 && flat.every(({ type }) => type === 'array')
      return [{ entry, missing, known, ...(isList && { list: passed }) }]
    }
    at = next
    passed += textOf(step, passed)
  }
  const missed = entry.fields?.flatMap((field) => follow(field, at, root, passed)) ?? []
  // One `[]` is missing, whatever the number of fields.
  return missed.length > 1 && missed.every(({ list }) => list === passed) ? missed.slice(0, 1) : missed
}

function textOf(step: Step, before: string): string {
  if (step === 'items') return '[]'
  const name = typeof step === 'object' ? step.member : step === 'deep' ? '**' : '*'
  return before === '' ? name : `.${name}`
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {}
}

/** The schemas with references and combinations resolved; undefined: some are unknown. */
function flattened(schemas: readonly JsonObject[], root: JsonObject): JsonObject[] | undefined {
  const rest: JsonObject[] = [...schemas]
  const seen = new Set<JsonObject>()
  for (let one = rest.pop(); one; one = rest.pop()) {
    if (seen.has(one)) continue
    if (seen.add(one).size > MAX_SCHEMAS) return undefined
    const { $ref, allOf, anyOf, oneOf, $dynamicRef } = one
    if ($dynamicRef !== undefined) return undefined
    if (typeof $ref === 'string') {
      const target = referenced($ref, root)
      if (!target) return undefined
      rest.push(target)
    }
    for (const part of [allOf, anyOf, oneOf].flat()) if (isObject(part)) rest.push(part)
  }
  return [...seen].filter((one) => !isFrame(one))
}

/** Whether a schema only combines others. */
function isFrame(schema: JsonObject): boolean {
  const says = ['type', 'properties', 'items', 'additionalProperties', 'enum', 'const']
  return (
    ['$ref', 'allOf', 'anyOf', 'oneOf'].some((key) => schema[key] !== undefined) &&
    !says.some((key) => schema[key] !== undefined)
  )
}

/** The schemas after a step; undefined: unknown. */
function after(schemas: readonly JsonObject[], step: Step, root: JsonObject): JsonObject[] | undefined {
  if (step === 'deep') return everything(schemas, root)
  const found: JsonObject[] = []
  for (const schema of schemas) {
    const next = step === 'items' ? itemsOf(schema) : membersOf(schema, step)
    if (!next) return undefined
    found.push(...next)
  }
  return found
}

function itemsOf(schema: JsonObject): JsonObject[] | undefined {
  if (!may(schema, 'array')) return []
  return isObject(schema.items) && schema.prefixItems === undefined ? [schema.items] : undefined
}

function membersOf(schema: JsonObject, step: 'members' | { member: string }): JsonObject[] | undefined {
  if (!may(schema, 'object')) return []
  const { properties, additionalProperties: more, patternProperties } = schema
  if (step === 'members') return isObject(properties) ? schemasIn(Object.values(properties)) : undefined
  const named = valueAt(properties, [step.member])
  if (named !== undefined) return schemasIn([named])
  const open =
    !isObject(properties) || patternProperties !== undefined || (more !== undefined && more !== false)
  return open ? undefined : []
}

function schemasIn(values: readonly Json[]): JsonObject[] | undefined {
  return values.every(isObject) ? (values as JsonObject[]) : undefined
}

function may({ type }: JsonObject, wanted: string): boolean {
  return type === undefined || [type].flat().includes(wanted)
}

/** The schemas after any number of steps. */
function everything(schemas: readonly JsonObject[], root: JsonObject): JsonObject[] | undefined {
  const seen = new Set(schemas)
  for (const schema of seen) {
    if (seen.size > MAX_SCHEMAS) return undefined
    const members = isLeaf(schema) ? [] : membersOf(schema, 'members')
    const items = isLeaf(schema) ? [] : itemsOf(schema)
    const below = members && items && flattened([...members, ...items], root)
    if (!below) return undefined
    for (const one of below) seen.add(one)
  }
  return [...seen]
}

/** Whether its values have nothing below. */
function isLeaf(schema: JsonObject): boolean {
  return schema.type !== undefined && !may(schema, 'object') && !may(schema, 'array')
}

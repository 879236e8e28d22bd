import type { Json, JsonObject } from '../json/index.ts'
import type { DraftArg } from './draft.ts'
import { isMap } from './values.ts'

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object'])
const OWN = new Set(['type', 'description', 'enum', 'items', 'properties'])
/** The keywords of `ArgSchema` in `schemas/configuration.schema.json`. */
const NESTED = new Set(
  'type title description enum const default items properties required additionalProperties format pattern minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems anyOf'.split(
    ' ',
  ),
)

/** The argument in the words of `args`, where they say all that its schema does. */
export function plainArg({ name, position, required, schema }: DraftArg): JsonObject | undefined {
  const { default: preset, ...rest } = schema
  // A default of `args` is sent; the API's own is only told.
  if (preset !== undefined && !required) return undefined
  if (position === undefined || !TYPES.has(String(rest.type))) return undefined
  if (!Object.keys(rest).every((key) => OWN.has(key))) return undefined
  if (Array.isArray(rest.enum) && rest.type !== 'string') return undefined
  if (!isNested(rest.items) || !isNestedMap(rest.properties)) return undefined
  const { type, description, ...more } = rest
  return {
    name,
    position,
    type: type!,
    ...(required && { required }),
    ...(description !== undefined && { description }),
    ...more,
  }
}

function isNested(schema: Json | undefined): boolean {
  if (schema === undefined) return true
  if (!isMap(schema)) return false
  if (Array.isArray(schema.type)) return false
  return Object.entries(schema).every(([key, value]) => {
    if (!NESTED.has(key)) return false
    if (key === 'properties') return isNestedMap(value)
    if (key === 'items') return isNested(value)
    if (key === 'additionalProperties') return typeof value === 'boolean' || isNested(value)
    if (key === 'anyOf') return Array.isArray(value) && value.every(isNested)
    // Texts are read again by the type beside them.
    return key !== 'enum' || schema.type === 'string'
  })
}

function isNestedMap(map: Json | undefined): boolean {
  return map === undefined || (isMap(map) && Object.values(map).every(isNested))
}

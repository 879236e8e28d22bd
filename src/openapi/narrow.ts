import { ExactNumber, type Json, type JsonObject } from '../json/index.ts'
import { fittingDefault } from './keywords.ts'
import { isMap, listOf } from './values.ts'

/** What a place outside of JSON can take. */
export type Kind = 'scalar' | 'array' | 'object'

const SCALARS = ['string', 'number', 'integer', 'boolean']

/** The kinds of values that a schema made by `toSchema` allows. */
export function kindsOf(schema: JsonObject): Set<Kind> {
  const kinds = new Set<Kind>()
  for (const type of typeList(schema)) if (type !== 'null') kinds.add(kindOf(type))
  for (const one of listOf(schema.anyOf)) if (isMap(one)) for (const kind of kindsOf(one)) kinds.add(kind)
  // What says nothing of itself is a text outside of JSON.
  return kinds.size > 0 ? kinds : new Set<Kind>(['scalar'])
}

function kindOf(type: string): Kind {
  return type === 'array' || type === 'object' ? type : 'scalar'
}

function typeList({ type, enum: values }: JsonObject): string[] {
  if (type !== undefined) return (Array.isArray(type) ? type : [type]) as string[]
  return listOf(values).map((value) => typeof value)
}

/** What is left of a schema where only texts, numbers and booleans can be sent; undefined: nothing. */
export function scalarOnly(schema: JsonObject): JsonObject | undefined {
  return only(schema, (type) => SCALARS.includes(type)) as JsonObject | undefined
}

/** An array whose items are scalars. */
export function arrayOnly(schema: JsonObject): JsonObject | undefined {
  const made = only(schema, (type) => type === 'array')
  if (!made || !isMap(made.items)) return undefined
  const items = scalarOnly(made.items)
  return items && { ...made, items }
}

/** An object whose properties are scalars; those that are not are left out. */
export function objectOnly(schema: JsonObject): { schema: JsonObject; leftOut: string[] } | undefined {
  const made = only(schema, (type) => type === 'object')
  if (!made) return undefined
  const leftOut: string[] = []
  const entries = Object.entries(isMap(made.properties) ? made.properties : {}).flatMap(([name, one]) => {
    const scalar = isMap(one) ? scalarOnly(one) : undefined
    if (scalar) return [[name, scalar] as const]
    leftOut.push(name)
    return []
  })
  const required = listOf(made.required)
  if (required.some((name) => leftOut.includes(String(name)))) return undefined
  const more = made.additionalProperties
  const values = isMap(more) ? scalarOnly(more) : undefined
  if (isMap(more) && !values && entries.length === 0) return undefined
  const { properties: _, additionalProperties: __, ...rest } = made
  const result: JsonObject = { ...rest }
  if (entries.length > 0) result.properties = Object.fromEntries(entries)
  if (leftOut.length > 0 && entries.length === 0 && !values) return undefined
  result.additionalProperties =
    more === false || leftOut.length > 0
      ? false
      : (values ?? { type: SCALARS.filter((type) => type !== 'integer') })
  return { schema: result, leftOut }
}

/** The schema without the types that do not fit. */
function only(schema: JsonObject, fits: (type: string) => boolean): JsonObject | undefined {
  const alternatives = listOf(schema.anyOf).flatMap((one): JsonObject[] => {
    const left = isMap(one) ? only(one, fits) : undefined
    return left ? [left] : []
  })
  const types = typeList(schema)
  const fitting = [...new Set(types.filter(fits))]
  if (schema.anyOf !== undefined && types.length === 0) {
    if (alternatives.length === 0) return undefined
    const { anyOf: _, ...rest } = schema
    if (alternatives.length === 1) return { ...alternatives[0], ...rest }
    return { ...rest, anyOf: alternatives }
  }
  if (types.length === 0)
    return fits('string') ? withFittingDefault({ ...schema, type: 'string' }) : undefined
  if (fitting.length === 0) return undefined
  const { anyOf: _, enum: values, ...rest } = schema
  const made: JsonObject = { ...rest, type: fitting.length === 1 ? fitting[0]! : fitting }
  if (Array.isArray(values)) {
    const given = values.filter((value: Json) => value !== null)
    const left = given.filter((value: Json) => allows(fitting, value))
    if (left.length > 0) made.enum = left
    else if (given.length > 0) return undefined
  }
  return withFittingDefault(made)
}

/** The type of a value; of numbers, those of more digits than a double has too, `number`. */
function typeOf(value: Json): string {
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'string' || typeof value === 'boolean') return typeof value
  return isMap(value) && !(value instanceof ExactNumber) ? 'object' : 'number'
}

function allows(types: readonly string[], value: Json): boolean {
  const type = typeOf(value)
  const whole = typeof value !== 'number' || Number.isInteger(value)
  return types.includes(type) || (type === 'number' && whole && types.includes('integer'))
}

/** The default may have been of a type that was taken away. */
export function withFittingDefault(made: JsonObject): JsonObject {
  if (fittingDefault(made, made) === undefined) delete made.default
  return made
}

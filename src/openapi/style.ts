import { ExactNumber, type Json, type JsonObject } from '../json/index.ts'
import { isMap, listOf, Unfit } from './document-values.ts'
import { fittingDefault } from './schema.ts'

/** How one value is written where only text fits: the styles of OpenAPI, and `json` for a `content`. */
export interface Style {
  style: string
  explode: boolean
}

/** A value's schema, as far as the style can write it, and what it is then. */
export interface Writable {
  schema: JsonObject
  kind: Kind | 'json'
  /** Also a single value for an array: written alike. */
  mixed?: boolean
  leftOut: string[]
}

const UNDEFINED = 'no OpenAPI style defines how to write such a value there'

/**
 * Narrows a schema to what a style is defined for.
 * @param either an array may be given as a single value too, where both are written alike
 * @throws Unfit when nothing is left
 */
export function writable(schema: JsonObject, { style, explode }: Style, either: boolean): Writable {
  if (style === 'json') return { schema, kind: 'json', leftOut: [] }
  const kinds = kindsOf(schema)
  const scalar =
    style === 'deepObject' || (style.endsWith('Delimited') && !explode) ? undefined : scalarOnly(schema)
  const array = kinds.has('array') && style !== 'deepObject' ? arrayOnly(schema) : undefined
  if (array && scalar && either && kinds.has('scalar') && explode)
    return {
      schema: { ...describeOnly(schema), anyOf: [withoutText(scalar), withoutText(array)] },
      kind: 'array',
      mixed: true,
      leftOut: [],
    }
  if (array) return { schema: array, kind: 'array', leftOut: [] }
  if (scalar && kinds.has('scalar')) return { schema: scalar, kind: 'scalar', leftOut: [] }
  const object = kinds.has('object') && !style.endsWith('Delimited') ? objectOnly(schema) : undefined
  if (object) return { ...object, kind: 'object' }
  throw new Unfit(UNDEFINED)
}

function describeOnly({ description }: JsonObject): JsonObject {
  return description === undefined ? {} : { description }
}

function withoutText({ description: _, ...rest }: JsonObject): JsonObject {
  return rest
}

/** What stands between the items of an array that is not exploded. */
export function separator(style: string): string {
  return { spaceDelimited: '%20', pipeDelimited: '%7C', tabDelimited: '%09' }[style] ?? ','
}

/** The argument in a template. */
export function access(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.Args.${name}` : `(index .Args "${name}")`
}

const print = (value: string) => `{{${value.replace(/^\((.*)\)$/, '$1')}}}`
const range = (variables: string, value: string) =>
  `{{range ${variables}${value.replace(/^\((.*)\)$/, '$1')}}}`

/** The items of an array with a text between them. */
function joined(value: string, between: string): string {
  return `${range('$i, $v := ', value)}{{if $i}}${between}{{end}}{{$v}}{{end}}`
}

/** The members of an object: names and values joined, and a text between members. */
function members(value: string, equals: string, between: string): string {
  const pairs = `{{$s}}{{$k}}${equals}{{$v}}{{$s = "${between}"}}`
  return `{{$s := ""}}${range('$k, $v := ', value)}${pairs}{{end}}`
}

/** A value in a header or in a segment of a path: RFC 6570 without, with `.` and with `;`. */
export function inPlace(
  name: string,
  parameter: string,
  { kind }: Writable,
  { style, explode }: Style,
): string {
  const value = access(name)
  if (kind === 'json') return `{{toJSON ${value}}}`
  if (style === 'label') {
    if (kind === 'scalar') return `.${print(value)}`
    if (kind === 'array')
      return explode ? `${range('$v := ', value)}.{{$v}}{{end}}` : `.${joined(value, ',')}`
    return explode ? `${range('$k, $v := ', value)}.{{$k}}={{$v}}{{end}}` : `.${members(value, ',', ',')}`
  }
  if (style === 'matrix') {
    const key = encodeURIComponent(parameter)
    if (kind === 'scalar') return `;${key}=${print(value)}`
    if (kind === 'array')
      return explode ? `${range('$v := ', value)};${key}={{$v}}{{end}}` : `;${key}=${joined(value, ',')}`
    return explode
      ? `${range('$k, $v := ', value)};{{$k}}={{$v}}{{end}}`
      : `;${key}=${members(value, ',', ',')}`
  }
  if (kind === 'scalar') return print(value)
  if (kind === 'array') return joined(value, separator(style))
  return explode ? members(value, '=', ',') : members(value, ',', ',')
}

/** A value as pairs of a query or of a form, each with `&` after it; nothing when it is not given. */
export function asPairs(
  name: string,
  parameter: string,
  what: Writable,
  { style, explode }: Style,
  required: boolean,
): string {
  const { kind } = what
  const value = access(name)
  const key = encodeURIComponent(parameter)
  const given = (text: string) => (required ? text : `{{if hasKey .Args "${name}"}}${text}{{end}}`)
  if (kind === 'json') return given(`${key}={{toJSON ${value}}}&`)
  if (kind === 'scalar') return given(`${key}=${print(value)}&`)
  if (kind === 'array') {
    const each = `${range('', value)}${key}={{.}}&{{end}}`
    if (what.mixed)
      return `{{if kindIs "slice" ${value}}}${each}{{else}}${given(`${key}=${print(value)}&`)}{{end}}`
    if (explode) return each
    return `{{if ${value}}}${key}=${joined(value, separator(style))}&{{end}}`
  }
  if (style === 'deepObject') return `${range('$k, $v := ', value)}${key}%5B{{$k}}%5D={{$v}}&{{end}}`
  if (explode) return `${range('$k, $v := ', value)}{{$k}}={{$v}}&{{end}}`
  return `{{if ${value}}}${key}=${members(value, ',', ',')}&{{end}}`
}

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

import type { JsonObject } from '../json/index.ts'
import { isMap, listOf, mapOf, maps, Unfit } from './open-document.ts'
import { fittingDefault, isOf } from './schema.ts'
import type { Pair } from './tool-draft.ts'

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

export const UNDEFINED = 'no OpenAPI style defines how to write such a value there'

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

export function describeOnly({ description }: JsonObject): JsonObject {
  return description === undefined ? {} : { description }
}

function withoutText({ description: _, ...rest }: JsonObject): JsonObject {
  return rest
}

/** What stands between the items of an array that is not exploded. */
function separator(style: string): string {
  return { spaceDelimited: '%20', pipeDelimited: '%7C', tabDelimited: '%09' }[style] ?? ','
}

/** The argument in a template. */
export function access(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.Args.${name}` : `(index .Args "${name}")`
}

/** What an action begins with needs no parentheses. */
const bare = (value: string) => value.replace(/^\((.*)\)$/, '$1')
const print = (value: string) => `{{${bare(value)}}}`
const range = (variables: string, value: string) => `{{range ${variables}${bare(value)}}}`

/** Prints the argument. */
export const printArg = (name: string) => print(access(name))

/** The items of an array with a text between them. */
function joined(value: string, between: string): string {
  return `${range('$i, $v := ', value)}{{if $i}}${between}{{end}}{{$v}}{{end}}`
}

/** The members of an object: names and values joined, and commas between members. */
function members(value: string, equals: string): string {
  const pairs = `{{$s}}{{$k}}${equals}{{$v}}{{$s = ","}}`
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
  const mark = { label: '.', matrix: ';' }[style]
  const before = style === 'matrix' ? `;${encodeURIComponent(parameter)}=` : (mark ?? '')
  if (kind === 'scalar') return before + print(value)
  if (mark && explode)
    return kind === 'array'
      ? `${range('$v := ', value)}${before}{{$v}}{{end}}`
      : `${range('$k, $v := ', value)}${mark}{{$k}}={{$v}}{{end}}`
  return before + (kind === 'array' ? joined(value, separator(style)) : members(value, explode ? '=' : ','))
}

/** Sent as the gateway sends body and query arguments by itself. */
export function isDirect({ arg, name, what, style }: Pair): boolean {
  if (arg.name !== name) return false
  if (what.kind === 'json') return isPlainObject(what.schema)
  return what.kind === 'scalar' || (what.kind === 'array' && style.style === 'form' && style.explode)
}

export function isPlainObject(schema: JsonObject): boolean {
  const kinds = kindsOf(schema)
  return kinds.size === 1 && kinds.has('object')
}

/** A value as pairs of a query or of a form, each with `&` after it; nothing when it is not given. */
export function asPairs({
  arg: { name, required },
  name: parameter,
  what,
  style: { style, explode },
}: Pair): string {
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
  return `{{if ${value}}}${key}=${members(value, ',')}&{{end}}`
}

/** What a place outside of JSON can take. */
export type Kind = 'scalar' | 'array' | 'object'

const SCALARS = ['string', 'number', 'integer', 'boolean']

/** The kinds of values that a schema made by `toSchema` allows. */
export function kindsOf(schema: JsonObject): Set<Kind> {
  const types = typeList(schema).filter((type) => type !== 'null')
  const own = types.map((type): Kind => (type === 'array' || type === 'object' ? type : 'scalar'))
  const kinds = new Set([...own, ...maps(schema.anyOf).flatMap((one) => [...kindsOf(one)])])
  // What says nothing of itself is a text outside of JSON.
  return kinds.size > 0 ? kinds : new Set<Kind>(['scalar'])
}

function typeList({ type, enum: values }: JsonObject): string[] {
  if (type !== undefined) return (Array.isArray(type) ? type : [type]) as string[]
  return listOf(values).map((value) => typeof value)
}

/** What is left of a schema where only texts, numbers and booleans can be sent; undefined: nothing. */
function scalarOnly(schema: JsonObject): JsonObject | undefined {
  return only(schema, (type) => SCALARS.includes(type))
}

/** An array whose items are scalars. */
function arrayOnly(schema: JsonObject): JsonObject | undefined {
  const made = only(schema, (type) => type === 'array')
  if (!made || !isMap(made.items)) return undefined
  const items = scalarOnly(made.items)
  return items && { ...made, items }
}

/** An object whose properties are scalars; those that are not are left out. */
function objectOnly(schema: JsonObject): { schema: JsonObject; leftOut: string[] } | undefined {
  const made = only(schema, (type) => type === 'object')
  if (!made) return undefined
  const members = Object.entries(mapOf(made.properties)).map(
    ([name, one]) => [name, isMap(one) ? scalarOnly(one) : undefined] as const,
  )
  const leftOut = members.filter(([, one]) => !one).map(([name]) => name)
  if (listOf(made.required).some((name) => leftOut.includes(String(name)))) return undefined
  const isEmpty = leftOut.length === members.length
  const { properties: _, additionalProperties: more, ...result } = made
  const values = isMap(more) ? scalarOnly(more) : undefined
  if (isEmpty && !values && (isMap(more) || leftOut.length > 0)) return undefined
  if (!isEmpty) result.properties = Object.fromEntries(members.filter(([, one]) => one)) as JsonObject
  result.additionalProperties =
    more === false || leftOut.length > 0
      ? false
      : (values ?? { type: SCALARS.filter((type) => type !== 'integer') })
  return { schema: result, leftOut }
}

/** The schema without the types that do not fit. */
function only(schema: JsonObject, fits: (type: string) => boolean): JsonObject | undefined {
  const alternatives = maps(schema.anyOf)
    .map((one) => only(one, fits))
    .filter((one) => one !== undefined)
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
    const given = values.filter((value) => value !== null)
    const left = given.filter((value) => fitting.some((type) => isOf(value, type)))
    if (left.length > 0) made.enum = left
    else if (given.length > 0) return undefined
  }
  return withFittingDefault(made)
}

/** The default may have been of a type that was taken away. */
export function withFittingDefault(made: JsonObject): JsonObject {
  if (fittingDefault(made, made) === undefined) delete made.default
  return made
}

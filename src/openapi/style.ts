import type { JsonObject } from '../json/index.ts'
import { arrayOnly, type Kind, kindsOf, objectOnly, scalarOnly } from './narrow.ts'
import { Unfit } from './values.ts'

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

const UNDEFINED = 'no style of OpenAPI says how such a value is written there'

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

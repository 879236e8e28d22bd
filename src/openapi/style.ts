import type { JsonObject } from '../json/index.ts'
import { isIdentifier } from '../text/index.ts'
import { isMap, listOf, mapOf, maps, Unsupported } from './open-document.ts'
import { fittingDefault, isOf } from './schema.ts'
import type { DraftArg, Kind, Pair, Style, WireForm, Writable } from './tool-draft.ts'

export const UNDEFINED = 'no OpenAPI style defines how to write such a value there'

/**
 * Restricts a schema to what a style supports.
 * @param either whether an array may also be a single value, if written alike
 * @throws Unsupported if nothing is left
 */
export function writable(schema: JsonObject, { style, explode }: Style, either: boolean): Writable {
  if (style === 'json') return { schema, kind: 'json', leftOut: [] }
  if (style === 'deepObject') return { schema: withoutNull(schema), kind: 'deep', leftOut: [] }
  const kinds = kindsOf(schema)
  const single = scalarOnly(schema)
  const scalar = style.endsWith('Delimited') && !explode ? undefined : single
  const array = kinds.has('array') ? arrayOnly(schema) : undefined
  if (array && single && either && kinds.has('scalar'))
    return {
      schema: { ...describeOnly(schema), anyOf: [withoutText(single), withoutText(array)] },
      kind: 'array',
      mixed: true,
      leftOut: [],
    }
  if (array) return { schema: array, kind: 'array', leftOut: [] }
  if (scalar && kinds.has('scalar')) return { schema: scalar, kind: 'scalar', leftOut: [] }
  const object = kinds.has('object') && !style.endsWith('Delimited') ? objectOnly(schema) : undefined
  if (object) return { ...object, kind: 'object' }
  throw new Unsupported(UNDEFINED)
}

export function describeOnly({ description }: JsonObject): JsonObject {
  return description === undefined ? {} : { description }
}

function withoutText({ description: _, ...rest }: JsonObject): JsonObject {
  return rest
}

/** Separator of array items that are not exploded. */
function separator(style: string): string {
  return { spaceDelimited: '%20', pipeDelimited: '%7C', tabDelimited: '%09' }[style] ?? ','
}

/** The argument in a template. */
export function access(name: string): string {
  return isIdentifier(name) ? `.Args.${name}` : `(index .Args "${name}")`
}

/** The outermost expression of an action needs no parentheses. */
const bare = (value: string) => value.replace(/^\((.*)\)$/, '$1')
export const print: Write = (value) => `{{${bare(value)}}}`
const range = (variables: string, value: string) => `{{range ${variables}${bare(value)}}}`

/** Template expression of an argument: from the call, or fixed. */
export function sourceText({ name, fixed }: DraftArg): string {
  return fixed ? fixed.value : access(name)
}

/** Template condition for the presence of a value; undefined: always present. */
export function conditionText({ name, required, fixed }: DraftArg): string | undefined {
  if (fixed) return fixed.mayBeEmpty ? fixed.value : undefined
  return required ? undefined : `not (kindIs "invalid" ${access(name)})`
}

/** Writes a value in a template. */
type Write = (value: string) => string

/** The items of an array, joined by a text. */
export function joined(value: string, between: string, write: Write = print): string {
  return `${range('$i, $v := ', value)}{{if $i}}${between}{{end}}${write('$v')}{{end}}`
}

/** The members of an object: names and values joined, with commas between. */
function members(value: string, equals: string, write: Write = print): string {
  const pairs = `{{if $more}},{{end}}${write('$k')}${equals}${write('$v')}{{$more = true}}`
  return `{{$more := false}}${range('$k, $v := ', value)}${pairs}{{end}}`
}

/** A value in a header or path segment: RFC 6570 without operator, with `.` and with `;`. */
export function inPlace(
  arg: DraftArg,
  parameter: string,
  { kind, mixed }: Writable,
  { style, explode }: Style,
  place: 'path' | 'header',
): string {
  const value = sourceText(arg)
  // Templates do not escape values of `.Config` in paths.
  const write: Write =
    arg.fixed && place === 'path' ? (one) => `{{replace "+" "%20" (urlquery ${one})}}` : print
  if (kind === 'json') return write(`(toJSON ${value})`)
  const mark = { label: '.', matrix: ';' }[style]
  const before = style === 'matrix' ? `;${encodeURIComponent(parameter)}=` : (mark ?? '')
  if (kind === 'scalar') return before + write(value)
  if (mixed) {
    const list = inPlace(arg, parameter, { schema: {}, kind, leftOut: [] }, { style, explode }, place)
    return `{{if kindIs "slice" ${value}}}${list}{{else if not (kindIs "invalid" ${value})}}${before}${write(value)}{{end}}`
  }
  if (mark && explode)
    return kind === 'array'
      ? `${range('$v := ', value)}${before}${write('$v')}{{end}}`
      : `${range('$k, $v := ', value)}${mark}${write('$k')}=${write('$v')}{{end}}`
  const between = place === 'path' ? separator(style) : decodeURIComponent(separator(style))
  return (
    before + (kind === 'array' ? joined(value, between, write) : members(value, explode ? '=' : ',', write))
  )
}

/** A part of a query or form, as template text. */
interface Piece {
  text: string
  /** Action of its block, such as `if .Config.key`; undefined: unconditional. */
  block?: string
}

/**
 * Pairs of a query or form as a template, joined by `&`, with absent ones omitted.
 * @param start text before the first pair, if any
 */
export function pairsText(pairs: readonly Pair[], start: string, place: 'query' | 'form'): string {
  const pieces = piecesOf(pairs, place === 'form')
  const always = pieces.filter(({ block }) => block === undefined).map(({ text }) => text)
  const others = pieces.filter(({ block }) => block !== undefined)
  const inBlock = ({ block, text }: Piece, before: string, after = '') =>
    `{{${block}}}${before}${text}${after}{{end}}`
  if (always.length > 0 || start === '&') {
    const before = always.length > 0 ? start + always.join('&') : ''
    return before + others.map((piece) => inBlock(piece, '&')).join('')
  }
  if (others.length < 2) return others.map((piece) => inBlock(piece, start)).join('')
  // Only literal text is never escaped: a form would encode a separator written by an action.
  const between = `{{if $and}}&{{${start === '' ? '' : `else}}${start}{{`}end}}`
  const blocks = others.map((piece, i) =>
    inBlock(piece, i === 0 ? start : between, i < others.length - 1 ? '{{$and = true}}' : ''),
  )
  return `{{$and := false}}${blocks.join('')}`
}

function piecesOf(pairs: readonly Pair[], isForm: boolean): Piece[] {
  const inObject = pairs.filter(isMember)
  if (inObject.length === 1 && inObject[0]!.what.kind === 'scalar') return pairs.map(pieceOf)
  const others = pairs.filter((pair) => !isMember(pair)).map(pieceOf)
  if (inObject.length === 0) return others
  const pipe = `toQuery (${objectOf(inObject, isForm)})`
  const isAlways =
    (isForm && others.length === 0) ||
    inObject.some(({ arg, what }) => what.kind === 'scalar' && conditionText(arg) === undefined)
  return [isAlways ? { text: `{{${pipe}}}` } : { block: `with ${pipe}`, text: '{{.}}' }, ...others]
}

/** Written by `toQuery`, which also sends empty texts. */
function isMember({ arg: { fixed }, what: { kind } }: Pair): boolean {
  return (kind === 'scalar' || kind === 'deep') && !fixed?.mayBeEmpty
}

function objectOf(pairs: readonly Pair[], isForm: boolean): string {
  // In a query, reading all arguments would prevent the gateway from sending others itself.
  if (isForm && pairs.every(({ arg, name }) => arg.name === name && !arg.fixed))
    return `pick .Args ${pairs.map(({ name }) => JSON.stringify(name)).join(' ')}`
  return `dict ${pairs.map(({ arg, name }) => `${JSON.stringify(name)} ${sourceText(arg)}`).join(' ')}`
}

function pieceOf(pair: Pair): Piece {
  const { arg, what } = pair
  const value = sourceText(arg)
  const given = conditionText(arg)
  const text = pairText(pair)
  // A list or object may be empty.
  if (what.mixed) return { block: `if not (eq (toJSON ${value}) "null" "[]")`, text }
  if (what.kind === 'array' || what.kind === 'object') return { block: `if ${value}`, text }
  return given === undefined ? { text } : { block: `if ${given}`, text }
}

function pairText({ arg, name, what, style: { style, explode } }: Pair): string {
  const key = encodeURIComponent(name)
  const value = sourceText(arg)
  // Templates do not escape values of `.Config` in URLs.
  const write: Write = arg.fixed ? (text) => `{{urlquery ${text}}}` : print
  const one = (text: string) => `${key}=${write(text)}`
  const each = `${range('$i, $v := ', value)}{{if $i}}&{{end}}${one('$v')}{{end}}`
  switch (what.kind) {
    case 'json':
      return one(`(toJSON ${value})`)
    case 'array': {
      const list = explode ? each : `${key}=${joined(value, separator(style), write)}`
      return what.mixed ? `{{if kindIs "slice" ${value}}}${list}{{else}}${one(value)}{{end}}` : list
    }
    case 'object':
      return explode ? print(`(toQuery ${value})`) : `${key}=${members(value, ',', write)}`
    default:
      return one(value)
  }
}

const DELIMITED = ['spaceDelimited', 'pipeDelimited'] as const
const IN_PATH = ['simple', 'label', 'matrix'] as const

/** How the gateway itself writes an argument in this style; undefined: only a template can. */
export function wireForm(
  { name, fixed }: DraftArg,
  parameter: string,
  { kind, schema }: Writable,
  { style, explode }: Style,
  place: 'query' | 'path' | 'header',
): WireForm | undefined {
  if (fixed) return undefined
  const as = name === parameter || (place === 'path' && style !== 'matrix') ? {} : { as: parameter }
  const kinds = kindsOf(schema)
  if (kind === 'json')
    return isPlainObject(schema) || (place !== 'query' && !kinds.has('scalar')) ? as : undefined
  if (kind === 'deep') return kinds.size === 1 && kinds.has('scalar') ? as : { ...as, style: 'deepObject' }
  if (place === 'query') {
    if (kind === 'scalar' || (kind === 'array' && explode)) return as
    if (style === 'tabDelimited') return undefined
    const delimited = DELIMITED.find((one) => one === style)
    if (delimited) return { ...as, style: delimited }
    return { ...as, ...(kind === 'object' && { style: 'form' }), ...(!explode && { explode }) }
  }
  if (kind === 'array' && style.endsWith('Delimited')) return undefined
  const known = place === 'header' ? 'simple' : (IN_PATH.find((one) => one === style) ?? 'simple')
  if (kind === 'scalar' && known === 'simple') return as
  return { ...as, style: known, ...(explode && kind !== 'scalar' && { explode }) }
}

export function isPlainObject(schema: JsonObject): boolean {
  const kinds = kindsOf(schema)
  return kinds.size === 1 && kinds.has('object')
}

const SCALARS = ['string', 'number', 'integer', 'boolean']

/** The kinds of values that a schema of `toSchema` allows. */
export function kindsOf(schema: JsonObject): Set<Kind> {
  const types = typeList(schema).filter((type) => type !== 'null')
  const own = types.map((type): Kind => (type === 'array' || type === 'object' ? type : 'scalar'))
  const kinds = new Set([...own, ...maps(schema.anyOf).flatMap((one) => [...kindsOf(one)])])
  // An unrestricted value is a text outside JSON.
  return kinds.size > 0 ? kinds : new Set<Kind>(['scalar'])
}

function typeList({ type, enum: values }: JsonObject): string[] {
  if (type !== undefined) return (Array.isArray(type) ? type : [type]) as string[]
  return listOf(values).map((value) => typeof value)
}

/** A schema restricted to texts, numbers and booleans; undefined if nothing is left. */
function scalarOnly(schema: JsonObject): JsonObject | undefined {
  return only(schema, (type) => SCALARS.includes(type))
}

/** An array of scalars. */
function arrayOnly(schema: JsonObject): JsonObject | undefined {
  const made = only(schema, (type) => type === 'array')
  if (!made || !isMap(made.items)) return undefined
  const items = scalarOnly(made.items)
  return items && { ...made, items }
}

/** An object with scalar properties; others are omitted. */
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

/** The schema without null at any depth, as pairs cannot express it. */
function withoutNull(schema: JsonObject): JsonObject {
  const made: JsonObject = { ...schema }
  const types = typeList(schema).filter((type) => type !== 'null')
  if (Array.isArray(schema.type) && types.length > 0) made.type = types.length === 1 ? types[0]! : types
  if (Array.isArray(schema.enum)) made.enum = schema.enum.filter((value) => value !== null)
  for (const key of ['items', 'additionalProperties'])
    if (isMap(schema[key])) made[key] = withoutNull(schema[key])
  if (isMap(schema.properties))
    made.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, one]) => [name, isMap(one) ? withoutNull(one) : one]),
    )
  if (schema.anyOf !== undefined)
    made.anyOf = maps(schema.anyOf)
      .filter(({ type }) => type !== 'null')
      .map(withoutNull)
  return withFittingDefault(made)
}

/** The schema without unsuitable types. */
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

/** The default may have a removed type. */
export function withFittingDefault(made: JsonObject): JsonObject {
  if (fittingDefault(made, made) === undefined) delete made.default
  return made
}

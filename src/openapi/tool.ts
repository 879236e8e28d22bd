import type { Tool } from '../config/index.ts'
import { METHODS } from '../config/model.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { firstOf } from '../text/index.ts'
import { querySeparator } from '../tools/argument-text.ts'
import { POSITIONS } from '../tools/positions.ts'
import { toolDefinition } from '../tools/schema.ts'
import { addBody } from './body.ts'
import type { Fixing } from './fixed.ts'
import { isMap, listOf, mapOf, TooLarge, Unsupported } from './open-document.ts'
import type { Operation } from './operations.ts'
import { addParameters, cookieHeader } from './parameters.ts'
import { type Bounds, MAX_SCHEMAS, type SchemaContext } from './schema.ts'
import type { Credentials } from './security.ts'
import { access, inPlace, pairsText, print } from './style.ts'
import { type Draft, type DraftArg, newDraft, type Pair, type Writable } from './tool-draft.ts'
import { LENGTHS, plainText } from './tool-names.ts'

/** A tool as written in a configuration. */
export type WrittenTool = Pick<Tool, 'name' | 'method' | 'endpoint'> & { [key: string]: unknown }

export interface MadeTool {
  tool: WrittenTool
  /** Omissions with reasons. */
  leftOut: { what: string; reason: string }[]
  /** Values of `.Config` that it reads, without its address. */
  config: ReadonlyMap<string, string>
  /** Characters that it adds to `tools/list`. */
  size: number
}

/** Target size of one tool; its schema is made shallower until it fits. */
const MAX_SIZE = 8_000
/** Maximum size of a tool that cannot be made smaller. */
const LARGEST = 36_000
/** Descriptions are reduced before members, and members before the arguments that contain them. */
const DEPTHS = [5, 4, 3, 2, 1].map((depth) =>
  [LENGTHS.nested, 60, 0].map((description): Bounds => ({ depth, description })),
)
const TYPES_ONLY: Bounds = { depth: 0, description: 60 }
const ORDER = Object.keys(POSITIONS)

/** Parameters of creating a tool. */
interface Source extends Omit<Fixing, 'name' | 'shown' | 'query'> {
  operation: Operation
  name: string
  /** The template of its base URL. */
  url: string
  /** Name of the configuration. */
  configuration: string
}

/** Converts one operation to a tool. @throws Unsupported if it cannot be called */
export function makeTool(source: Source): MadeTool {
  const { method } = source.operation
  if (!METHODS.includes(method)) throw new Unsupported(`the method ${method} cannot be called`)
  let made: MadeTool | undefined
  for (const bounds of DEPTHS.flat()) {
    made = tried(source, bounds) ?? made
    if (made && made.size <= MAX_SIZE) return made
  }
  if (!made || made.size > LARGEST) made = tried(source, TYPES_ONLY)
  if (made && made.size <= LARGEST) return made
  throw new Unsupported('its arguments take too much room in the context of a model')
}

/** Undefined: a shallower schema is needed. */
function tried(source: Source, bounds: Bounds): MadeTool | undefined {
  try {
    return attempt(source, bounds)
  } catch (error) {
    if (error instanceof TooLarge) return undefined
    throw error
  }
}

function attempt(source: Source, bounds: Bounds): MadeTool {
  const { operation, name, url, credentials, refs, configuration } = source
  const leftOut: MadeTool['leftOut'] = []
  const leaveOut: Draft['leaveOut'] = (what, reason) => {
    if (!leftOut.some((one) => one.what === what && one.reason === reason)) leftOut.push({ what, reason })
  }
  const note: SchemaContext['note'] = (reason) => leaveOut('a part of a schema', reason)
  const query = operation.parameters.flatMap((one) => (one.in === 'query' ? [String(one.name)] : []))
  const fixing = { ...source, name: configuration, shown: operation.shown, query }
  const schemas: SchemaContext = { refs, bounds, budget: { left: MAX_SCHEMAS }, note, unsaid: new Set() }
  const draft = newDraft(schemas, fixing, leaveOut)
  for (const [header, value] of credentials.headers) draft.headers.set(header, value)
  if (credentials.missing) leaveOut('authentication', credentials.missing)
  // The body first, as its names are the least flexible.
  addBody(draft, operation)
  addParameters(draft, operation.parameters)
  const path = pathOf(draft, operation.path)
  addKeys(draft.query, credentials.query)
  addKeys(draft.cookies, credentials.cookies)
  if (schemas.unsaid.size > 0)
    leaveOut(namesText(schemas.unsaid), 'its schema is too large: any value is accepted there')
  const cookies = cookieHeader(draft)
  if (cookies) draft.headers.set('Cookie', cookies)
  const endpoint = `${url}${path}${queryOf(draft, path)}`
  const tool = write(operation, name, endpoint, draft)
  const size = JSON.stringify(toolDefinition(asTool(tool))).length + 1
  return { tool, leftOut, size, config: new Map([...credentials.config, ...draft.config]) }
}

function namesText(unsaid: ReadonlySet<string>): string {
  return `the schema of members ${firstOf([...unsaid], 5).join(', ')}`
}

/** Adds credentials beside arguments, unless their place is taken. */
function addKeys(pairs: Pair[], keys: Credentials['query']): void {
  const made = keys
    .filter(([name]) => !pairs.some((one) => one.name === name))
    .map(([name, key]): Pair => {
      const fixed = { value: `.Config.${key}`, mayBeEmpty: true }
      const arg = { name, position: undefined, required: false, schema: {}, fixed }
      return { arg, name, what: SCALAR, style: { style: 'form', explode: true } }
    })
  pairs.unshift(...made)
}

const SCALAR: Writable = { schema: {}, kind: 'scalar', leftOut: [] }

/** The path with its arguments; an undescribed parameter is a string. @throws Unsupported */
function pathOf(draft: Draft, given: string): string {
  // Some documents distinguish operations by a fragment, which is never sent.
  const path = given.replace(/#.*$/s, '')
  if (/\p{Cs}/u.test(path)) throw new Unsupported('its path is not valid Unicode')
  if (!path.startsWith('/')) throw new Unsupported('its path does not start with /')
  if (path.startsWith('//')) throw new Unsupported('its path starts with //')
  if (/\/\.{1,2}(?:[/?]|$)/.test(path)) throw new Unsupported('its path contains . or .. as a segment')
  const used = new Set<string>()
  const text = path.split(/(\{[^{}]*\})/).map((piece) => {
    if (!/^\{[^{}]*\}$/.test(piece)) return literal(piece)
    const name = piece.slice(1, -1)
    const known = draft.path.get(name) ?? undeclared(draft, name)
    draft.path.set(name, known)
    used.add(name)
    return known
  })
  for (const name of draft.path.keys())
    if (!used.has(name)) throw new Unsupported(`its path does not contain the parameter ${name}`)
  return text.join('')
}

function undeclared(draft: Draft, name: string): string {
  const given = { position: 'path', required: true, schema: { type: 'string' } } as const
  const arg = draft.add(name, 'path', given)
  if (!arg) return ''
  return arg.fixed
    ? inPlace(arg, name, SCALAR, { style: 'simple', explode: false }, 'path')
    : print(access(arg.name))
}

function literal(text: string): string {
  return text.replace(/[^\w\-.~!&'()*+,;=:@/?%]+/gu, (odd) => encodeURIComponent(odd))
}

/** The part of the query that the gateway does not append itself. */
function queryOf({ query }: Draft, path: string): string {
  const own = query.filter(({ arg }) => !arg.wire)
  return own.length === 0 ? '' : pairsText(own, querySeparator(path), 'query')
}

function write(operation: Operation, name: string, endpoint: string, draft: Draft): WrittenTool {
  const { method } = operation
  const description = describe(operation)
  const tool: WrittenTool = { name, ...(description && { description }), method, endpoint }
  if (draft.headers.size > 0) tool.headers = Object.fromEntries(draft.headers)
  // Resource identifiers first; arguments read only by templates before the body.
  const rank = ({ position }: DraftArg) => ORDER.indexOf(position ?? 'body') - (position ? 0 : 0.5)
  const sorted = [...draft.args].sort((a, b) => rank(a) - rank(b))
  const args = sorted.map((arg) => ({ ...arg, schema: described(arg) }))
  const plain = args.map(plainArg)
  if (plain.every((one) => one !== undefined)) {
    if (plain.length > 0) tool.args = plain
  } else {
    const placed = args.filter(({ position }) => position !== undefined)
    if (placed.length > 0) tool.args = placed.map(placeOnly)
    tool.inputSchema = schemaOf(args)
  }
  if (draft.requestBody !== undefined) tool.requestBody = draft.requestBody
  const annotations = annotationsOf(method)
  if (annotations) tool.annotations = annotations
  return tool
}

function described({ schema, description = '' }: DraftArg): JsonObject {
  const own = plainText(description, LENGTHS.argument)
  const { description: inner, ...rest } = schema
  const said = own || inner
  return { ...rest, ...(said && { description: said }) }
}

/** An entry of `args` beside an `inputSchema`, which says the rest: how the argument is sent. */
function placeOnly(arg: DraftArg): JsonObject {
  const { name, position, slashes, wire } = arg
  if (arg.const !== undefined) return constant(arg)
  return { name, position: position!, ...wire, ...(slashes && { slashes }) }
}

function constant({ name, position, schema, slashes, wire, const: value }: DraftArg): JsonObject {
  const type = Array.isArray(value) ? 'array' : isMap(value) ? 'object' : typeof value
  return {
    ...{ name, position: position!, ...wire },
    ...(type !== 'string' && { type }),
    ...(type === 'array' && { items: isNested(schema.items) ? (schema.items ?? {}) : {} }),
    ...(slashes && { slashes }),
    const: value!,
  }
}

function schemaOf(args: readonly DraftArg[]): JsonObject {
  const asked = args.filter((arg) => arg.const === undefined)
  const properties = Object.fromEntries(
    asked.map(({ name, required, schema: { default: preset, ...schema } }) => [
      name,
      required || preset === undefined ? schema : { ...schema, default: preset },
    ]),
  )
  const required = asked.filter((arg) => arg.required).map(({ name }) => name)
  return {
    type: 'object',
    properties,
    ...(required.length > 0 && { required }),
    additionalProperties: false,
  }
}

function describe({ summary, description, deprecated }: Operation): string {
  const [short, long] = [plainText(summary, 300), plainText(description, LENGTHS.tool)]
  const same = (text: string) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '')
  const ended = /[.!?:…]$/.test(short) || !short ? short : `${short}.`
  const whole =
    short && long && !same(long).startsWith(same(short))
      ? plainText(`${ended} ${long}`, LENGTHS.tool)
      : long || short
  return deprecated ? `Deprecated. ${whole}`.trim() : whole
}

function annotationsOf(method: string): JsonObject | undefined {
  if (method === 'GET' || method === 'HEAD' || method === 'OPTIONS') return { readOnlyHint: true }
  if (method === 'PUT' || method === 'DELETE') return { destructiveHint: true, idempotentHint: true }
  return undefined
}

/** The tool as the gateway will read it. */
function asTool(tool: WrittenTool): Tool {
  const args = ((tool.args ?? []) as Tool['args']).map((arg) => ({ ...arg, required: arg.required ?? false }))
  return { followRedirects: false, headers: {}, ...tool, args } as Tool
}

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'array', 'object'])
const OWN = new Set(['type', 'description', 'enum', 'items', 'properties'])

/** The argument in `args` syntax, if that can express its schema. */
function plainArg(arg: DraftArg): JsonObject | undefined {
  if (arg.const !== undefined) return constant(arg)
  const { name, position, required, slashes, schema, wire } = arg
  const { default: preset, ...rest } = schema
  // A default in `args` is sent; the API's own default is only described.
  if (preset !== undefined && !required) return undefined
  if (position === undefined || !TYPES.has(String(rest.type))) return undefined
  if (!Object.keys(rest).every((key) => OWN.has(key))) return undefined
  if (Array.isArray(rest.enum) && rest.type !== 'string') return undefined
  if (![rest.items, ...Object.values(mapOf(rest.properties))].every(isNested)) return undefined
  const { type, description, ...more } = rest
  return {
    name,
    position,
    ...wire,
    type: type!,
    ...(required && { required }),
    ...(slashes && { slashes }),
    ...(description !== undefined && { description }),
    ...more,
  }
}

/** Whether `args` can hold the schema of an item or property; enum texts are read by the given type. */
function isNested(schema: Json | undefined): boolean {
  if (!isMap(schema)) return schema === undefined || typeof schema === 'boolean'
  const { type, enum: values, items, properties, additionalProperties: more, anyOf } = schema
  if (Array.isArray(type) || (values !== undefined && type !== 'string')) return false
  return [items, more, ...listOf(anyOf), ...Object.values(mapOf(properties))].every(isNested)
}

import type { ErrorObject } from 'ajv'
import type { Arg, Tool } from '../config/model.ts'
import {
  isObject,
  type Json,
  type JsonObject,
  parse,
  pointerOf,
  pointerSegments,
  setOwn,
  stringify,
  valueAt,
} from '../json/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { type Comparisons, comparisons, cut, groupBy, nearest } from '../text/index.ts'
import { typeText } from './argument-text.ts'
import { CallError } from './failure.ts'
import type { Validate } from './validators.ts'

export type ReadArgs = (args: unknown) => JsonObject

/**
 * Creates the reader of a call's arguments: fills in defaults, treats `null` as omitted, undoes changes made by
 * clients, and reports every fault.
 * @param validate by the tool's input schema
 */
export function argsReader(
  tool: Tool,
  schema: JsonObject,
  validate: Validate,
  log?: Pick<Logger, 'debug'>,
): ReadArgs {
  const defaults = tool.args.filter((arg) => arg.default !== undefined)
  const constants = tool.args.flatMap(({ name, const: fixed }) =>
    fixed === undefined ? [] : [[name, fixed] as const],
  )
  const properties = isObject(schema.properties) ? Object.keys(schema.properties) : []
  const omittedByNull = tool.inputSchema ? notNullable(schema) : tool.args.map(({ name }) => name)

  return (given) => {
    if (given !== undefined && !isObject(given))
      throw new CallError(
        'arguments',
        `The arguments of ${tool.name} must be an object; got ${typeText(given as Json)}.`,
      )
    const args: JsonObject = { ...given }
    for (const name of omittedByNull) if (args[name] === null && Object.hasOwn(args, name)) delete args[name]
    for (const arg of defaults) if (!Object.hasOwn(args, arg.name)) args[arg.name] = arg.default!
    // Maximum repairs of arguments, as JSON text may contain JSON text.
    const sound = checked(args, 4)
    for (const [name, value] of constants) setOwn(sound, name, value)
    return sound
  }

  function checked(args: JsonObject, times: number): JsonObject {
    const errors = validate(args)
    if (errors.length === 0) return args
    const better = times > 0 ? mended(args, errors) : undefined
    if (!better) throw new CallError('arguments', faultText(tool, args, errors, properties))
    if (better.dropped.length)
      log?.debug(
        { tool: tool.name, arguments: better.dropped },
        'arguments that the client added were dropped',
      )
    return checked(better.args, times - 1)
  }
}

/** Optional properties whose type is not null. */
function notNullable({ properties, required }: JsonObject): string[] {
  const needed = Array.isArray(required) ? required : []
  return Object.entries(isObject(properties) ? properties : {}).flatMap(([name, one]) => {
    const types = isObject(one) && one.type !== undefined ? [one.type].flat() : ['null']
    return types.includes('null') || needed.includes(name) ? [] : [name]
  })
}

function faultText(tool: Tool, args: Json, errors: ErrorObject[], properties: string[]): string {
  const work = comparisons()
  const faults = describeErrors(errors, args, {
    name: '`arguments`',
    unknown: (name) => unknownText(name, properties, work),
    args: tool.args,
  })
  const more = faults.more > 0 ? [`- and ${faults.more} more`] : []
  return [
    `Invalid arguments for ${tool.name}; no request was sent:`,
    ...faults.shown.map((fault) => `- ${fault}`),
    ...more,
  ].join('\n')
}

function unknownText(name: string, properties: string[], work: Comparisons): string {
  const near = nearest(name, properties, work)
  const cure = near
    ? `did you mean \`${near}\`?`
    : properties.length > 0
      ? `the arguments are ${properties.map((property) => `\`${property}\``).join(', ')}`
      : 'this tool takes no arguments'
  return `\`${cut(name, 60)}\` is not an argument; ${cure}`
}

/** Name of the whole value, and the message for unknown members. */
interface Whole {
  name: string
  unknown?: (name: string) => string
  args?: Arg[]
}

/** One sentence for each of the first faults, without duplicates, and the number of the others. */
export function describeErrors(
  errors: ErrorObject[],
  value: Json,
  whole: Whole,
  most = 20,
): { shown: string[]; more: number } {
  // The sentence for `anyOf` replaces the faults of its alternatives.
  const groups = new Set(
    errors
      .filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
      .map((error) => error.schemaPath),
  )
  const faults = groups.size === 0 ? errors : errors.filter((error) => !isInside(error.schemaPath, groups))
  const shown = new Set<string>()
  let at = 0
  for (; at < faults.length && at < 2 * most && shown.size < most; at++)
    shown.add(describe(faults[at]!, value, whole))
  return { shown: [...shown], more: faults.length - at }
}

/** Whether a path continues one of the others. */
function isInside(path: string, others: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1))
    if (others.has(path.slice(0, end))) return true
  return false
}

function describe(error: ErrorObject, root: Json, whole: Whole): string {
  const { keyword, params, instancePath, message } = error
  const { unknown, args = [] } = whole
  const path = pathText(instancePath)
  const name = path === '' ? whole.name : `\`${path}\``
  const value = valueAt(root, pointerSegments(instancePath))
  const got = `got ${typeText(value)}`
  switch (keyword) {
    case 'required': {
      const missing = pathText(instancePath + pointerOf([params.missingProperty]))
      const arg = instancePath === '' ? args.find((each) => each.name === params.missingProperty) : undefined
      return `\`${missing}\` is missing${arg ? `: ${withArticle(arg.type)}${arg.description ? `, ${cut(arg.description, 200)}` : ''}` : ''}`
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const extra: string = params.additionalProperty ?? params.unevaluatedProperty
      if (instancePath === '' && unknown) return unknown(extra)
      return `\`${cut(pathText(instancePath + pointerOf([extra])), 120)}\` is not a known property`
    }
    case 'type': {
      const types = Array.isArray(params.type) ? params.type : [params.type]
      const quoted = typeof value === 'string' && !types.includes('string') && value.length < 400
      const hint = quoted && looksLike(types, value) ? ' (write it without quotes)' : ''
      return `${name} must be ${types.map(withArticle).join(' or ')}; ${got}${hint}`
    }
    case 'enum': {
      const allowed: Json[] = params.allowedValues
      const some = allowed.slice(0, 250)
      const near =
        typeof value === 'string'
          ? nearest(
              value,
              allowed.filter((each) => typeof each === 'string'),
            )
          : undefined
      return `${name} must be one of ${cut(some.map(stringify).join(', '), 500)}; ${gotShort(value)}${near ? `; did you mean ${stringify(near)}?` : ''}`
    }
    case 'anyOf':
    case 'oneOf':
      return `${name} must be ${alternatives(error)}; ${got}`
    default:
      return `${name} ${message ?? `breaks the rule ${keyword}`}; ${gotShort(value)}`
  }
}

/** The alternatives by type and required properties, as far as declared. */
function alternatives({ schema }: ErrorObject): string {
  const texts = (Array.isArray(schema) ? schema : []).map((each: Json) => {
    if (!isObject(each) || typeof each.type !== 'string') return undefined
    if (typeof each.description === 'string') return `${withArticle(each.type)} (${each.description})`
    return withArticle(each.type)
  })
  return texts.length > 0 && texts.every((text) => text !== undefined)
    ? texts.join(' or ')
    : 'one of the alternatives of the schema'
}

function looksLike(types: string[], text: string): boolean {
  try {
    const value: Json = JSON.parse(text)
    return types.some(
      (type) => typeText(value).endsWith(` ${type}`) || (type === 'number' && typeof value === 'number'),
    )
  } catch {
    return false
  }
}

function gotShort(value: Json | undefined): string {
  if (typeof value === 'string' && value.length <= 40) return `got ${JSON.stringify(value)}`
  if (typeof value === 'number' || typeof value === 'boolean') return `got ${value}`
  return `got ${typeText(value)}`
}

function withArticle(type: string): string {
  return type === 'null' ? 'null' : `${/^[aeiou]/.test(type) ? 'an' : 'a'} ${type}`
}

/** `/a/0/b` → `a[0].b`; empty for the whole value. */
function pathText(pointer: string): string {
  // A name chosen by the caller may be very long.
  const text = pointerSegments(pointer.slice(0, 1000))
    .map((segment) => (/^\d+$/.test(segment) ? `[${segment}]` : `.${segment}`))
    .join('')
  return cut(text.replace(/^\./, ''), 120)
}

/** Keys that clients add to arguments: n8n, Gemini CLI. */
const ADDED = new Set(['toolCallId', 'wait_for_previous'])
/** Keys that n8n adds together with `toolCallId`; alone they may be a mistake of the model. */
const BESIDE_CALL_ID = new Set(['tool', 'sessionId', 'action', 'chatInput'])

interface Mended {
  args: JsonObject
  /** Names of removed arguments. */
  dropped: string[]
}

/**
 * Undoes changes that clients, not models, make to arguments: unknown keys, and arrays and objects serialized where the
 * schema allows no text. Undefined: nothing to undo.
 */
function mended(args: JsonObject, errors: readonly ErrorObject[]): Mended | undefined {
  const dropped = errors.flatMap(({ instancePath, params }) => {
    const name: string | undefined = params.additionalProperty ?? params.unevaluatedProperty
    return instancePath === '' && name !== undefined && isAdded(name, args) ? [name] : []
  })
  let made: Json = args
  const copies = new Set<Json>()
  for (const [path, faults] of groupBy(errors, ({ instancePath }) => instancePath)) {
    const types = typesWanted(faults)
    if (types) made = replaced(made, pointerSegments(path), types, copies)
  }
  if (made === args && dropped.length === 0) return undefined
  const kept = Object.entries(made as JsonObject).filter(([name]) => !dropped.includes(name))
  return { args: Object.fromEntries(kept), dropped: [...new Set(dropped)] }
}

function isAdded(name: string, args: JsonObject): boolean {
  return ADDED.has(name) || (BESIDE_CALL_ID.has(name) && Object.hasOwn(args, 'toolCallId'))
}

/** The expected types of a value refused only for its type; another fault may concern an allowed text. */
function typesWanted(errors: readonly ErrorObject[]): ReadonlySet<string> | undefined {
  const faults = errors.filter(({ keyword }) => keyword !== 'anyOf' && keyword !== 'oneOf')
  if (!faults.length || faults.some(({ keyword }) => keyword !== 'type')) return undefined
  return new Set<string>(faults.flatMap(({ params }) => params.type))
}

/**
 * The value with the JSON text at a path parsed; the same value if it has none of these types.
 * @param copies objects and arrays already copied
 */
function replaced(value: Json, path: readonly string[], types: ReadonlySet<string>, copies: Set<Json>): Json {
  const [key, ...rest] = path
  if (key === undefined) return parsed(value, types)
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return value
  const before = (value as JsonObject)[key]!
  const after = replaced(before, rest, types, copies)
  if (after === before) return value
  const copy = copies.has(value) ? value : Array.isArray(value) ? [...value] : { ...(value as JsonObject) }
  copies.add(copy)
  setOwn(copy as JsonObject, key, after)
  return copy
}

function parsed(value: Json, types: ReadonlySet<string>): Json {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value
  try {
    const made = parse(value)
    return types.has(Array.isArray(made) ? 'array' : isObject(made) ? 'object' : '') ? made : value
  } catch {
    return value
  }
}

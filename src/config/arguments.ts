import { isScalar } from 'yaml'
import { type Finding, finding } from '../findings/index.ts'
import {
  ExactNumber,
  isObject,
  type Json,
  type JsonObject,
  parse,
  stringify,
  toDoubles,
} from '../json/index.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'
import { schemaErrors } from './json-schema/check.ts'
import type { Arg, Tool } from './model.ts'
import type { Locate, Path } from './types.ts'
import { sayer, typeNoun, valueNoun } from './words.ts'
import type { Nodes } from './yaml/locate.ts'

interface Context {
  file: string
  nodes: Nodes
  locate: Locate
  findings: Finding[]
  doubtful: (path: Path) => boolean
}

/** Reads `default` and `enum` of every argument by its type; what does not fit is a finding and left out. */
export function readArguments(tools: Tool[], context: Context) {
  tools.forEach((tool, i) => {
    tool.args.forEach((arg, j) => {
      const path = ['tools', i, 'args', j]
      // Without its type nothing can be said of its values.
      if (context.doubtful([...path, 'type'])) return
      readEnum(arg, path, context)
      if (arg.items) arg.items = nestedTexts(arg.items, [...path, 'items'], context)
      if (arg.properties) arg.properties = nestedProperties(arg.properties, [...path, 'properties'], context)
      readDefault(arg, [...path, 'default'], context)
    })
  })
}

function report(
  { file, locate, findings }: Context,
  code: Finding['code'],
  path: Path,
  message: string,
  hint: string,
) {
  const range = locate(path) ?? locate.key(path)
  findings.push(finding(code, file, message, { ...(range && { range }), hint }))
}

function readEnum(arg: Arg, path: Path, context: Context) {
  arg.enum = arg.enum?.flatMap((value, k) => {
    const read = readTyped(value, arg.type, [...path, 'enum', k], context)
    if (read !== undefined) return [read]
    const message = `${sayer(context.nodes)([...path, 'enum', k], value)} in \`enum\` of ${quote(arg.name)} is not ${typeNoun(arg.type)}`
    report(context, 'invalid-value', [...path, 'enum', k], message, `Write ${typeNoun(arg.type)}`)
    return []
  }) as Json[]
  if (!arg.enum) delete arg.enum
}

function readDefault(arg: Arg, path: Path, context: Context) {
  const given = arg.default
  if (given === undefined) return
  delete arg.default
  if (given === null || (given === '' && arg.type !== 'string')) return
  const value = readTyped(given, arg.type, path, context)
  const fault = defaultFault(arg, given, value, path, context)
  if (fault) {
    report(context, 'invalid-default', path, `the default of ${quote(arg.name)} ${fault.what}`, fault.hint)
    // It was meant to have a value in every call: that it may lack one is not said as well.
    arg.required = true
  } else if (value !== undefined) arg.default = value
}

/** @param value what `given` is by the argument's type */
function defaultFault(
  arg: Arg,
  given: Json,
  value: Json | undefined,
  path: Path,
  { nodes }: Context,
): { what: string; hint: string } | undefined {
  const say = sayer(nodes)
  if (value === undefined)
    return {
      what: `is ${say(path, given)}, which is not ${typeNoun(arg.type)}`,
      hint: `Write ${EXAMPLES[arg.type]}`,
    }
  if (arg.enum && !arg.enum.some((allowed) => stringify(allowed) === stringify(value))) {
    const allowed = arg.enum.map((one) => (typeof one === 'string' ? one : stringify(one)))
    const close = typeof value === 'string' ? nearest(value, allowed) : undefined
    return {
      what: `is ${say(path, value)}, which is not in its \`enum\``,
      hint: close ? `Did you mean \`${close}\`?` : `Allowed are ${quoteAll(allowed)}`,
    }
  }
  // A list or map that is written as text has no nodes of its own.
  const ofVariable = isScalar(nodes.at(path)) && say(path, given) !== valueNoun(given)
  const sayPart: Say = (inner, part) => (ofVariable ? say(path, given) : say([...path, ...inner], part))
  const misfit = nestedMisfit(arg, value, sayPart)
  return misfit
    ? { what: `does not fit: ${misfit}`, hint: 'Make it fit what `items` or `properties` say' }
    : undefined
}

const EXAMPLES: Record<Arg['type'], string> = {
  string: 'a text',
  number: 'a number such as `"1.5"`, or `""` for none',
  integer: 'a whole number such as `"20"`, or `""` for none',
  boolean: '`"true"`, `"false"`, or `""` for none',
  array: 'a list such as `"[]"`, or `""` for none',
  object: 'a map such as `"{}"`, or `""` for none',
}

/** A value as its type wants it: texts are parsed, scalars become the text that stands in the file. */
function readTyped(
  given: Json,
  type: Arg['type'],
  path: Path,
  { nodes }: Pick<Context, 'nodes'>,
): Json | undefined {
  if (type === 'string') return textOf(given, path, nodes)
  const value = typeof given === 'string' ? parsed(given) : given
  if (type === 'boolean') return typeof value === 'boolean' ? value : undefined
  if (type === 'array') return Array.isArray(value) ? value : undefined
  if (type === 'object') return isObject(value) ? value : undefined
  if (typeof value === 'bigint') return value
  if (type === 'integer') return Number.isInteger(value) ? value : undefined
  return typeof value === 'number' || value instanceof ExactNumber ? value : undefined
}

function textOf(given: Json, path: Path, nodes: Nodes): string | undefined {
  if (typeof given === 'string') return given
  if (Array.isArray(given) || isObject(given) || given === null) return undefined
  const node = nodes.at(path)
  return isScalar(node) && node.source !== undefined && !node.source.includes('${')
    ? node.source
    : String(given)
}

function parsed(text: string): Json | undefined {
  try {
    return parse(text.trim())
  } catch {
    return undefined
  }
}

/** Nested values of type `string` have texts in `enum` too, as they stand in the file. */
function nestedTexts(schema: JsonObject, path: Path, context: Context): JsonObject {
  const out: JsonObject = { ...schema }
  const allowed = schema.enum
  if (schema.type === 'string' && Array.isArray(allowed)) {
    out.enum = allowed.map((value, k) => textOf(value, [...path, 'enum', k], context.nodes) ?? value)
  }
  if (isObject(schema.items)) out.items = nestedTexts(schema.items, [...path, 'items'], context)
  if (isObject(schema.properties)) {
    out.properties = nestedProperties(schema.properties, [...path, 'properties'], context)
  }
  return out
}

function nestedProperties<T extends JsonObject>(properties: T, path: Path, context: Context): T {
  const entries = Object.entries(properties).map(([name, schema]): [string, Json] => [
    name,
    isObject(schema) ? nestedTexts(schema, [...path, name], context) : schema,
  ])
  return Object.fromEntries(entries) as T
}

type Say = (path: Path, value: unknown) => string

/** Why a list or map does not fit what is said of its parts. */
function nestedMisfit({ items, properties }: Arg, value: Json, say: Say): string | undefined {
  if (Array.isArray(value) && value.length && items) {
    return schemaErrors({ type: 'array', items: toDoubles(items) }, toDoubles(value), say)
  }
  if (isObject(value) && Object.keys(value).length && properties) {
    return schemaErrors({ type: 'object', properties: toDoubles(properties) }, toDoubles(value), say)
  }
  return undefined
}

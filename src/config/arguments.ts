import { type Finding, finding, type Report, suggest, toFinding } from '../findings/index.ts'
import {
  ExactNumber,
  isObject,
  type Json,
  type JsonObject,
  parse,
  stringify,
  toDoubles,
} from '../json/index.ts'
import { quote, quoteAll } from '../text/index.ts'
import { schemaErrors } from './json-schema/check-schema.ts'
import type { Arg, Locate, Path, Source, Tool } from './model.ts'
import { type Describe, describer, describeType, variableAt } from './schema-findings.ts'
import type { Nodes } from './yaml/places.ts'

interface Context {
  file: string
  text: string
  nodes: Nodes
  locate: Locate
  findings: Finding[]
  isRepaired: (path: Path) => boolean
}

/** Reads `default`, `const` and `enum` of every argument by its type; a value of another type is reported and left out. */
export function readArguments(tools: Tool[], context: Context) {
  tools.forEach((tool, i) => {
    tool.args.forEach((arg, j) => {
      const { default: given, const: fixed, enum: values, items, properties } = arg
      // Most arguments have none of these, and making a path takes time.
      if (given === undefined && fixed === undefined && !values && !items && !properties) return
      const path = ['tools', i, 'args', j]
      // Without a type its values cannot be checked.
      if (context.isRepaired([...path, 'type'])) return
      if (values) arg.enum = readEnum(arg, values, path, context)
      if (items) arg.items = nestedTexts(items, [...path, 'items'], context)
      if (properties) arg.properties = nestedProperties(properties, [...path, 'properties'], context)
      if (fixed !== undefined) readConst(arg, fixed, [...path, 'const'], context)
      if (given !== undefined) readDefault(arg, given, [...path, 'default'], context)
    })
  })
}

function readEnum(arg: Arg, values: readonly Json[], path: Path, context: Context): Json[] {
  return values.flatMap((value, k): Json | [] => {
    const read = readTyped(value, arg.type, [...path, 'enum', k], context)
    if (read !== undefined) return [read]
    const at = [...path, 'enum', k]
    const wanted = describeType(arg.type)
    const message = `every value in \`enum\` of ${quote(arg.name)} must be ${wanted}; got ${describer(context.nodes)(at, value)}`
    const found: Report = { code: 'invalid-value', path: at, message, hint: `Write ${wanted}` }
    context.findings.push(toFinding(found, context))
    return []
  })
}

function readConst(arg: Arg, given: Json, path: Path, context: Context) {
  const value = readTyped(given, arg.type, path, context)
  if (value !== undefined) {
    arg.const = value
    return
  }
  const got = describer(context.nodes)(path, given)
  const message = `the \`const\` of ${quote(arg.name)} must be ${describeType(arg.type)}; got ${got}`
  const hint = `Write ${describeType(arg.type)}, or another \`type\``
  context.findings.push(toFinding({ code: 'invalid-value', path, message, hint }, context))
  // The argument was meant to have a value in every call.
  delete arg.const
  arg.required = true
}

function readDefault(arg: Arg, given: Json, path: Path, context: Context) {
  if (given === null || (given === '' && arg.type !== 'string')) {
    delete arg.default
    return
  }
  const value = readTyped(given, arg.type, path, context)
  const fault = defaultFault(arg, given, value, path, context)
  if (value !== undefined && !fault) arg.default = value
  else delete arg.default
  if (fault) {
    const { what, ...advice } = fault
    const message = `the default of ${quote(arg.name)} ${what}`
    context.findings.push(toFinding({ code: 'invalid-default', path, message, ...advice }, context))
    // The argument was meant to have a value in every call, so a missing one is not reported too.
    arg.required = true
  }
}

/** @param value what `given` is by the argument's type */
function defaultFault(
  arg: Arg,
  given: Json,
  value: Json | undefined,
  path: Path,
  { nodes }: Context,
): ({ what: string } & Pick<Report, 'hint' | 'suggestion' | 'fix'>) | undefined {
  const describe = describer(nodes)
  if (value === undefined)
    return {
      what: `must be ${describeType(arg.type)}; got ${describe(path, given)}`,
      hint: `Write ${EXAMPLES[arg.type]}`,
    }
  if (arg.enum && !arg.enum.some((allowed) => stringify(allowed) === stringify(value))) {
    const allowed = arg.enum.map((one) => (typeof one === 'string' ? one : stringify(one)))
    const meant = typeof value === 'string' ? suggest(value, allowed) : {}
    return {
      what: `must be one of its \`enum\`; got ${describe(path, value)}`,
      ...(meant.suggestion === undefined ? { hint: `Allowed: ${quoteAll(allowed)}` } : meant),
    }
  }
  // An array or object that is written as a string has no nodes of its own.
  const describePart: Describe = (inner, part) =>
    variableAt(path, nodes) === undefined ? describe([...path, ...inner], part) : describe(path, given)
  const misfit = nestedMisfit(arg, value, describePart)
  return misfit
    ? { what: `does not match its schema: ${misfit}`, hint: 'Make it match `items` or `properties`' }
    : undefined
}

const EXAMPLES: Record<Arg['type'], string> = {
  string: 'a string',
  number: 'a number such as `"1.5"`, or `""` for none',
  integer: 'an integer such as `"20"`, or `""` for none',
  boolean: '`"true"`, `"false"`, or `""` for none',
  array: 'an array such as `"[]"`, or `""` for none',
  object: 'an object such as `"{}"`, or `""` for none',
}

/** A value by the type of its argument: strings are parsed, or scalars become the text of the file. */
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
  const source = nodes.at(path)?.source
  return source !== undefined && !source.includes('${') ? source : String(given)
}

function parsed(text: string): Json | undefined {
  try {
    return parse(text.trim())
  } catch {
    return undefined
  }
}

/** Nested values of type `string` have strings in `enum` too, as they are written in the file. */
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

/** Why an array or object does not match the schema of its parts. */
function nestedMisfit({ items, properties }: Arg, value: Json, describe: Describe): string | undefined {
  if (Array.isArray(value) && value.length && items) {
    return schemaErrors({ type: 'array', items: toDoubles(items) }, toDoubles(value), describe)
  }
  if (isObject(value) && Object.keys(value).length && properties) {
    return schemaErrors({ type: 'object', properties: toDoubles(properties) }, toDoubles(value), describe)
  }
  return undefined
}

/** Keys whose items are the arguments of a tool, or are most likely meant to be. */
const ARGUMENT_LISTS = ['args', 'params', 'parameters', 'arguments']

/** An argument, with or without a prefix such as `args.`, as in other formats. */
const VARIABLE = /^\$\{\s*(?:\.?(?:args|arguments|params|parameters)\.)?([\w-]+)\s*\}$/i

/** Adds a hint to findings of unset variables that are named like an argument of the tool: `${id}` is `{{.Args.id}}`. */
export function withArgumentCures(
  findings: readonly Finding[],
  value: Json,
  nodes: Nodes,
  source: Source,
): Finding[] {
  const tools = isObject(value) && Array.isArray(value.tools) ? value.tools : []
  return findings.map((found) => {
    const { code, range } = found
    if ((code !== 'env-unset' && code !== 'env-syntax') || !range) return found
    const [start, end] = [range.start.offset, range.end.offset]
    const name = variableName(source.text.slice(start, end))
    if (name === undefined) return found
    const i = tools.findIndex((_, index) => {
      const tool = nodes.at(['tools', index])
      return tool !== undefined && tool.start <= start && end <= tool.end
    })
    if (!argumentNames(tools[i]).includes(name)) return found
    const action = `{{.Args.${name}}}`
    const hint = `Write \`${action}\`: \`\${…}\` is a variable of the environment, and ${quote(name)} an argument`
    // A plain scalar that begins with a brace would be a map.
    const quoted = /["'][^"'\n]*$/.test(source.text.slice(source.text.lastIndexOf('\n', start) + 1, start))
    const fix = quoted ? { range, text: action } : undefined
    return finding('env-unset', found.file, messageOf(found, name), { range, hint, fix })
  })
}

/** An unsupported form is not an unset variable. */
function messageOf({ code, message }: Finding, name: string): string {
  return code === 'env-syntax' ? `the argument ${name} is written as a variable of the environment` : message
}

/** The name in a variable, also if written as an argument: `id` of `${args.id}`. */
export function variableName(written: string): string | undefined {
  return VARIABLE.exec(written)?.[1]
}

function argumentNames(tool: Json | undefined): string[] {
  if (!isObject(tool)) return []
  const listed = ARGUMENT_LISTS.flatMap((key) => (Array.isArray(tool[key]) ? tool[key] : []))
  const names = listed.flatMap((one) => (isObject(one) && typeof one.name === 'string' ? [one.name] : []))
  const { properties } = isObject(tool.inputSchema) ? tool.inputSchema : {}
  return [...names, ...(isObject(properties) ? Object.keys(properties) : [])]
}

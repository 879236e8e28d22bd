import type { ErrorObject } from 'ajv'
import { type Place, type Report, suggest } from '../findings/index.ts'
import { isObject, type Json, type JsonObject, pointerSegments, valueAt } from '../json/index.ts'
import { isSecretName, nearest, plural, quote, quoteAll, shorten } from '../text/index.ts'
import { type Advice, foreignTypeHint, meantValue } from './misplaced.ts'
import type { Path } from './model.ts'
import type { LoadedSchema } from './schemas.ts'
import { type SchemaNode, shapeAt, titled } from './shape.ts'
import { likelyType } from './transports.ts'
import type { Nodes } from './yaml/places.ts'

interface Context extends Place {
  value: unknown
  schema: LoadedSchema
  describe: Describe
}

/** Describes a validation error in plain words, with its exact place; undefined where `unknownKeys` or another error says it. */
export function schemaFinding(error: ErrorObject, context: Context): Report | undefined {
  const path = pointerPath(error.instancePath, context.value)
  switch (error.keyword) {
    case 'if':
    case 'additionalProperties':
      return undefined
    case 'required':
      return missingKey(error, path, context)
    case 'type':
      return wrongType(error, path, context)
    case 'enum':
      return notAllowed(error, path, context)
    default:
      return invalidValue(error, path, context)
  }
}

/** A JSON pointer as a path, with indexes of arrays as numbers. */
export function pointerPath(pointer: string, value: unknown): (string | number)[] {
  const path: (string | number)[] = []
  let at = value
  for (const segment of pointerSegments(pointer)) {
    path.push(Array.isArray(at) ? Number(segment) : segment)
    at = valueAt(at, path.slice(-1))
  }
  return path
}

/** Place of a finding about a whole object: its key, or the first key of an array item. */
function objectPlace(path: Path, { value, locate }: Context): Pick<Report, 'path' | 'isKey'> {
  if (locate.key(path)) return { path, isKey: true }
  const object = valueAt(value, path)
  const first = typeof object === 'object' && object !== null ? Object.keys(object)[0] : undefined
  return { path: first === undefined ? path : [...path, first], isKey: true }
}

function valuePlace(path: Path, context: Context): Pick<Report, 'path' | 'isKey'> {
  const value = valueAt(context.value, path)
  // A whole array or object is not a place to point at.
  return typeof value === 'object' && value !== null ? objectPlace(path, context) : { path }
}

/** Unknown keys of one object that are one mistake; the first has the place. */
export function unknownKeys(
  { keys, path, advice }: { keys: readonly string[]; path: Path; advice: Advice },
  schema: LoadedSchema,
): Report {
  const { suggestion, fix, hint } = advice
  return {
    code: 'unknown-key',
    path: [...path, keys[0]!],
    isKey: true,
    message: `unknown ${plural(keys.length, 'key')} ${keys.map(quote).join(' and ')} in ${objectNoun(path, schema)}`,
    ...(suggestion === undefined ? {} : { suggestion }),
    ...(fix && { fix }),
    hint,
  }
}

function missingKey({ params, parentSchema }: ErrorObject, path: Path, context: Context): Report {
  const key = params.missingProperty as string
  const object = valueAt(context.value, path) as JsonObject
  const { name, type } = object
  // Only conditions have no properties of their own, and they depend on the type.
  const isConditional = (parentSchema as SchemaNode).properties === undefined
  const kind = isConditional && typeof type === 'string' ? ` of type \`${type}\`` : ''
  const owner = objectNoun(path, context.schema, typeof name === 'string' ? name : '')
  return {
    code: 'missing-key',
    ...objectPlace(path, context),
    message: `${owner}${kind} requires \`${key}\``,
    hint: `Add \`${path.at(-2) === 'mcpServers' && key === 'type' ? `type: ${likelyType(object)}` : key}\``,
  }
}

/** `the settings`; `` `cors` ``; `a tool`, or with a name `` the tool `get_item` ``. */
function objectNoun(path: Path, { shape }: LoadedSchema, name = ''): string {
  const last = path.at(-1)
  if (last === undefined) return titled(shape, 'the')
  if (shapeAt(shape, path.slice(0, -1)).properties.has(String(last))) return `\`${last}\``
  const own = shapeAt(shape, path)
  return name ? `${titled(own, 'the')} ${quote(name)}` : titled(own, 'a')
}

function wrongType({ params, data, parentSchema }: ErrorObject, path: Path, context: Context): Report {
  const type = params.type as string | string[]
  // Scalars are read as strings where a string is allowed.
  const wanted = describeType(Array.isArray(type) ? 'string' : type)
  const bare = bareValue(type, data)
  return {
    code: 'wrong-type',
    ...valuePlace(path, context),
    message: `${subject(path)} must be ${wanted}; got ${context.describe(path, data)}`,
    ...(bare
      ? { hint: bare.hint, fix: { was: String(data), now: bare.text, bare: true } }
      : { hint: requiredHint(data, path) ?? typeHint(type, data, path, parentSchema as SchemaNode) }),
  }
}

/** The boolean or number that a string was meant to be. */
function bareValue(type: string | string[], data: unknown): { text: string; hint: string } | undefined {
  if (typeof data !== 'string') return undefined
  const form = type === 'boolean' ? /^(true|false)$/ : /^-?\d+(\.\d+)?$/
  if (type !== 'boolean' && type !== 'integer' && type !== 'number') return undefined
  if (form.test(data)) return { text: data, hint: 'Remove the quotes' }
  if (!/^(yes|no|on|off)$/i.test(data)) return undefined
  const text = /^(yes|on)$/i.test(data) ? 'true' : 'false'
  return { text, hint: `Write \`${text}\`` }
}

/** In nested schemas the object lists which of its properties are required. */
function requiredHint(data: unknown, path: Path): string | undefined {
  if (path.at(-1) !== 'required' || path.at(-3) !== 'properties') return undefined
  if (data === false) return 'Remove it: a property is optional unless its object lists it as required'
  const hint = `\`required: [${path.at(-2)}]\` belongs to the object, beside its \`properties\``
  // `required` of an argument says that calls must give the argument itself.
  const ofArgument = path[2] === 'args' && path.length === 7
  return ofArgument ? `${hint}; for the object of an argument write it in the tool’s \`inputSchema\`` : hint
}

function typeHint(type: string | string[], data: unknown, path: Path, schema: SchemaNode): string {
  const { examples, items } = schema
  if (data === null) return 'Give it a value, or remove the key'
  const key = [...path].reverse().find((one) => typeof one === 'string')
  const shown = exampleValue(schema)
  const inside = typeof path.at(-1) === 'number' ? '- ' : key === undefined ? '' : `${key}: `
  const such = shown === undefined ? '' : `, such as \`${inside}${flow(shown)}\``
  if (type === 'array') {
    if (typeof data !== 'object') return `Write each item on a line of its own after \`- \`${such}`
    const [first = '', member] = Object.entries(data)[0] ?? []
    // A map of named members, as other formats write it.
    if (isObject(items) && isObject(member) && !('name' in data))
      return `Write an item for each of them, with its key as the name: ${quote(`- name: ${first}`)}, and the rest below it`
    return /^-\S/.test(first) ? 'Write a space after each `-`' : 'Put `- ` before each item'
  }
  if (type === 'object') return `Write it as \`key: value\` lines${such}`
  if (type === 'boolean') return 'Write `true` or `false`'
  if (typeof data === 'object' && data !== null && path.length > 0) {
    // `{{…}}` without quotes is a key that YAML cannot hold, which leaves an empty object.
    if (Object.keys(data).length === 0) return 'Put a value that starts with a template in quotes'
    const example = examples?.length ? `, such as \`${String(examples[0])}\`` : ''
    return `Write a string${example}; a string that starts with \`{\` or \`[\` needs quotes`
  }
  return `Write ${describeType(type)}`
}

/** A value in one line of YAML. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (isObject(value as Json))
    return `{${Object.entries(value as JsonObject)
      .map(([key, one]) => `${key}: ${flow(one)}`)
      .join(', ')}}`
  const text = String(value)
  return typeof value === 'string' && !/^[\w./][\w ./:@-]*$/.test(text) ? JSON.stringify(text) : text
}

/** The example of a schema; of an object without one, its required keys, or the first with an example. */
function exampleValue({
  examples = [],
  enum: allowed = [],
  type,
  properties = {},
  required,
}: SchemaNode): unknown {
  if (examples.length || allowed.length) return examples[0] ?? allowed[0]
  if (type !== 'object') return undefined
  const entries = Object.entries(properties).map(([key, member]) => [key, exampleValue(member)] as const)
  const known = entries.filter(([, one]) => one !== undefined)
  const chosen = required ? known.filter(([key]) => required.includes(key)) : known.slice(0, 1)
  return chosen.length ? Object.fromEntries(chosen) : undefined
}

/** The allowed value that this word of other products means. */
export function sureChoice(data: unknown, allowed: readonly string[]): string | undefined {
  return allowed.find((one) => one === meantValue(data))
}

function notAllowed({ params, data }: ErrorObject, path: Path, context: Context): Report {
  const allowed = (params.allowedValues as unknown[]).map(String)
  const at = valuePlace(path, context)
  const isAuthMode = path.at(-1) === 'type' && path.at(-2) === 'auth'
  if (isAuthMode && typeof data === 'string' && !nearest(data, allowed)) {
    return {
      code: 'unsupported-auth',
      ...at,
      message: `authentication by ${quote(data)} is not supported`,
      hint: 'Use `type: jwt` with `issuers`, or `type: bearer` with `tokens`; a router is never served open when its file asks for authentication',
    }
  }
  const own =
    path.at(-1) === 'type' && typeof data === 'string'
      ? foreignTypeHint(String(path.at(-2)), data)
      : path.at(-1) === 'position' && data === 'cookie'
        ? 'Write it into `headers` of the tool: `Cookie: "name={{.Args.name}}"`'
        : undefined
  const sure = sureChoice(data, allowed)
  const meant =
    own !== undefined
      ? { hint: own }
      : sure !== undefined
        ? { suggestion: sure, fix: { was: String(data), now: sure } }
        : typeof data === 'string'
          ? suggest(data, allowed)
          : {}
  return {
    code: typeof data === 'string' ? 'invalid-value' : 'wrong-type',
    ...at,
    message: `${subject(path)} must be one of ${quoteAll(allowed)}; got ${context.describe(path, data)}`,
    ...(Object.keys(meant).length ? meant : { hint: 'Write one of the allowed values' }),
  }
}

function invalidValue(
  { keyword, params, data, parentSchema }: ErrorObject,
  path: Path,
  context: Context,
): Report {
  const schema = parentSchema as SchemaNode
  const got = () => `; got ${context.describe(path, data)}`
  const report = (fault: string, hint = exampleHint(schema)): Report => ({
    code: 'invalid-value',
    ...valuePlace(path, context),
    message: `${subject(path)} ${fault}`,
    hint,
  })
  switch (keyword) {
    case 'minLength':
      return params.limit > 1 && data !== ''
        ? report(`must have at least ${params.limit} characters`)
        : report('is empty')
    case 'maxLength':
      return report(`has more than ${params.limit} characters${got()}`, 'Shorten it')
    case 'maxItems':
      return report(`has more than ${params.limit} items`, 'Remove items')
    case 'uniqueItems':
      return report(
        `has the same item twice: items ${params.j + 1} and ${params.i + 1}`,
        'Remove one of them',
      )
    case 'minItems':
      return report('is an empty array', 'Add an item, or remove the key')
    case 'pattern':
      // A secret is never shown.
      return schema.writeOnly
        ? report(
            'contains white space, which a bearer token cannot',
            'Remove it; files often end in a line break',
          )
        : report(`must be ${formOf(schema)}${got()}`)
    case 'format':
      return report(
        `is not a valid regular expression: ${context.describe(path, data)}`,
        'Fix the expression',
      )
    default: {
      const { minimum, maximum } = schema
      const range =
        minimum !== undefined && maximum !== undefined
          ? `from ${minimum} to ${maximum}`
          : `${COMPARISONS[params.comparison as keyof typeof COMPARISONS]} ${params.limit}`
      return report(`must be ${range}${got()}`, 'Write a number in that range')
    }
  }
}

const COMPARISONS = { '>=': 'at least', '<=': 'at most', '>': 'greater than', '<': 'less than' }

/** The required form of a text, unless the schema describes it. */
function formOf({ 'x-form': form, 'x-model': model }: SchemaNode): string {
  return form ?? (model === 'duration' || model === 'size' ? `a ${model}` : 'a path that starts with `/`')
}

function exampleHint({ examples }: SchemaNode): string {
  return examples?.length ? `Write for example \`${String(examples[0])}\`` : 'Give it a value'
}

/** `` `port` ``, or for an item of an array `` item 1 of `allowedTools` ``. */
function subject(path: Path): string {
  const last = path.at(-1)
  if (last === undefined) return 'the file'
  if (typeof last === 'string') return `\`${last}\``
  const key = path.at(-2)
  return typeof key === 'string' ? `item ${last + 1} of \`${key}\`` : `item ${last + 1}`
}

const TYPES: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
}

/** The name of a type, or of several, in a sentence. */
export function describeType(type: string | readonly string[]): string {
  return [type]
    .flat()
    .map((one) => TYPES[one as string] ?? String(one))
    .join(' or ')
}

/** The name of a value in a sentence. */
export function describeValue(value: unknown): string {
  if (value === null) return 'no value'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'string') return `"${shorten(value.replace(/\s+/g, ' '), 60)}"`
  if (typeof value === 'object' && Object.getPrototypeOf(value) === Object.prototype) return 'an object'
  return String(value)
}

/** The text of the scalar at a path, if it holds an environment variable. */
export function variableAt(path: Path, nodes: Nodes): string | undefined {
  const source = nodes.at(path)?.source
  return source?.includes('${') ? source : undefined
}

/** Describes the value at a path. */
export type Describe = (path: Path, value: unknown) => string

/** As `describeValue`, but of variables only their names: their values may be secrets. */
export function describer(nodes: Nodes): Describe {
  return (path, value) => {
    const variable = variableAt(path, nodes)
    if (variable !== undefined) return `the value of ${quote(variable)}`
    const key = String(path.findLast((one) => typeof one === 'string'))
    // A secret that stands for an object with it: `credentials: t0ken`.
    const isSecret = typeof value === 'string' && /^(?=.*\d)\S{12}/.test(value) && isSecretName(key)
    return isSecret ? 'a string' : describeValue(value)
  }
}

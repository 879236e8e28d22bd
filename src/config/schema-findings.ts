import type { ErrorObject } from 'ajv'
import { type Report, suggest } from '../findings/index.ts'
import { pointerSegments, valueAt } from '../json/index.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'
import type { LoadedSchema } from './schemas.ts'
import type { SchemaNode } from './shape.ts'
import type { Locate, Path } from './types.ts'
import { noun, typeNoun } from './words.ts'

export interface Place {
  file: string
  text: string
  value: unknown
  locate: Locate
  homes: LoadedSchema['homes']
  /** What the value at a path is, in a sentence. */
  say: (path: Path, value: unknown) => string
}

/** What the validator found, in plain words and at its exact place; undefined for what only repeats another error. */
export function schemaFinding(error: ErrorObject, place: Place): Report | undefined {
  const path = pointerPath(error.instancePath, place.value)
  switch (error.keyword) {
    case 'if':
      return undefined
    case 'additionalProperties':
      return unknownKey(error, path, place)
    case 'required':
      return missingKey(error, path, place)
    case 'type':
      return wrongType(error, path, place)
    case 'enum':
      return notAllowed(error, path, place)
    default:
      return invalidValue(error, path, place)
  }
}

/** A JSON pointer as a path, with indexes of lists as numbers. */
export function pointerPath(pointer: string, value: unknown): (string | number)[] {
  const path: (string | number)[] = []
  let at = value
  for (const segment of pointerSegments(pointer)) {
    path.push(Array.isArray(at) ? Number(segment) : segment)
    at = valueAt(at, path.slice(-1))
  }
  return path
}

/** Where something is said of a whole map: its key, or the first key of an item of a list. */
function mapPlace(path: Path, { value, locate }: Place): Pick<Report, 'path' | 'isKey'> {
  if (locate.key(path)) return { path, isKey: true }
  const map = valueAt(value, path)
  const first = typeof map === 'object' && map !== null ? Object.keys(map)[0] : undefined
  return { path: first === undefined ? path : [...path, first], isKey: true }
}

/** Keys of Unla and habits from elsewhere that have another name or place here. */
const ELSEWHERE = new Map([
  [
    'allowAuthorizationPassThrough',
    'Say it with `headers: {Authorization: "{{.Request.Headers.Authorization}}"}`',
  ],
  ['target_url', '`target_url` belongs under `api` of a notifier'],
])

function unknownKey({ params, parentSchema }: ErrorObject, path: Path, place: Place): Report {
  const key = params.additionalProperty as string
  const schema = parentSchema as SchemaNode
  const here = Object.keys(schema.properties ?? {})
  const homes = place.homes.get(key)?.map(noun)
  const { suggestion, fix } = suggest(key, here)
  const hint =
    ELSEWHERE.get(key) ??
    (homes?.length
      ? `\`${key}\` belongs to ${homes.join(' or ')}`
      : `Known here: ${quoteAll(here)}; keys of your own begin with \`x-\``)
  return {
    code: 'unknown-key',
    path: [...path, key],
    isKey: true,
    message: `unknown key ${quote(key)} in ${noun(schema.title)}`,
    ...(suggestion === undefined
      ? { hint }
      : { suggestion, ...(fix && { fix }), hint: 'Keys of your own begin with `x-`' }),
  }
}

function missingKey({ params, parentSchema }: ErrorObject, path: Path, place: Place): Report {
  const key = params.missingProperty as string
  const map = valueAt(place.value, path) as Record<string, unknown>
  const title = titleOf(parentSchema as SchemaNode, path)
  const kind = typeof map.type === 'string' && !title.startsWith('`') ? ` of type \`${map.type}\`` : ''
  const name = typeof map.name === 'string' && map.name ? ` ${quote(map.name)}` : ''
  const whose = /^(a|an|the) /.test(title) && name ? title.replace(/^(a|an) /, 'the ') : title
  return {
    code: 'missing-key',
    ...mapPlace(path, place),
    message: `${whose}${name}${kind} needs \`${key}\``,
    hint: `Add \`${key}\``,
  }
}

/** Titles of what has conditions, by the first key of the path to it. */
const CONDITIONED: Record<string, string> = {
  mcpServers: 'McpServer',
  notifier: 'Notifier',
  plants: 'PlantStorage',
  storage: 'Storage',
}

/** A condition (`then`) has no title of its own. */
function titleOf(schema: SchemaNode, path: Path): string {
  if (schema.title) return noun(schema.title)
  return noun(CONDITIONED[String(path[0])])
}

function wrongType({ params, data, parentSchema }: ErrorObject, path: Path, place: Place): Report {
  const type = params.type as string | string[]
  const wanted = typeNoun(type === 'string' || Array.isArray(type) ? 'string' : type)
  const bare = bareValue(type, data)
  return {
    code: 'wrong-type',
    ...valuePlace(path, place),
    message: `${subject(path)} wants ${wanted}, but is ${place.say(path, data)}`,
    ...(bare
      ? { hint: bare.hint, fix: { was: String(data), now: bare.text, bare: true } }
      : { hint: requiredHint(data, path) ?? typeHint(type, data, path, parentSchema as SchemaNode) }),
  }
}

/** What a string stands for where a truth value or a number is wanted. */
function bareValue(type: string | string[], data: unknown): { text: string; hint: string } | undefined {
  if (typeof data !== 'string') return undefined
  const form = type === 'boolean' ? /^(true|false)$/ : /^-?\d+(\.\d+)?$/
  if (type !== 'boolean' && type !== 'integer' && type !== 'number') return undefined
  if (form.test(data)) return { text: data, hint: 'Remove the quotes' }
  if (!/^(yes|no|on|off)$/i.test(data)) return undefined
  const text = /^(yes|on)$/i.test(data) ? 'true' : 'false'
  return { text, hint: `Write \`${text}\`` }
}

/** Of nested values it is the object that says which of its properties are required. */
function requiredHint(data: unknown, path: Path): string | undefined {
  if (path.at(-1) !== 'required' || path.at(-3) !== 'properties') return undefined
  if (data === false) return 'Remove it: a property is optional unless its object says otherwise'
  const list = `\`required: [${path.at(-2)}]\` goes on the object, beside its \`properties\``
  // `required` of an argument says that calls must give the argument itself.
  const ofArgument = path[2] === 'args' && path.length === 7
  return ofArgument ? `${list}; for the object of an argument write it in the tool’s \`inputSchema\`` : list
}

function typeHint(type: string | string[], data: unknown, path: Path, schema: SchemaNode): string {
  if (data === null) return 'Give it a value, or remove the key'
  if (type === 'array')
    return typeof data === 'object'
      ? 'Put `- ` before each item'
      : 'Write each item on a line of its own after `- `'
  if (type === 'object') return 'Write it as `key: value` lines'
  const example = schema.examples as unknown[] | undefined
  if (typeof data === 'object' && data !== null && path.at(-1) !== undefined) {
    return JSON.stringify(data).includes('[object') || isTemplateMap(data)
      ? 'Put a value that begins with a template into quotes'
      : `Write a text${example?.length ? `, such as \`${String(example[0])}\`` : ''}; text that begins with \`{\` or \`[\` needs quotes`
  }
  return `Write ${typeNoun(type)}`
}

function isTemplateMap(data: object): boolean {
  return Object.keys(data).length === 0
}

/** Names that other languages have for what is meant. */
const MEANT = new Map([
  ['int', 'integer'],
  ['bool', 'boolean'],
  ['str', 'string'],
  ['text', 'string'],
  ['float', 'number'],
  ['double', 'number'],
  ['list', 'array'],
  ['map', 'object'],
  ['dict', 'object'],
  ['http', 'streamable-http'],
  ['formdata', 'form-data'],
])

/** The allowed value that another language calls so. */
export function sureChoice(data: unknown, allowed: readonly string[]): string | undefined {
  const meant = typeof data === 'string' ? MEANT.get(data.toLowerCase()) : undefined
  return allowed.find((one) => one === meant)
}

function notAllowed({ params, data }: ErrorObject, path: Path, place: Place): Report {
  const allowed = (params.allowedValues as unknown[]).map(String)
  const at = valuePlace(path, place)
  if (
    path.at(-1) === 'mode' &&
    path.at(-2) === 'auth' &&
    typeof data === 'string' &&
    !nearest(data, allowed)
  ) {
    return {
      code: 'unsupported-auth',
      ...at,
      message: `authentication by ${quote(data)} is not supported`,
      hint: 'Use `mode: bearer` with `tokens`; a router is never served open when its file asks for a login',
    }
  }
  const sure = sureChoice(data, allowed)
  const meant =
    sure !== undefined
      ? { suggestion: sure, fix: { was: String(data), now: sure } }
      : typeof data === 'string'
        ? suggest(data, allowed)
        : {}
  return {
    code: typeof data === 'string' ? 'invalid-value' : 'wrong-type',
    ...at,
    message: `${subject(path)} is ${place.say(path, data)}, allowed are ${quoteAll(allowed)}`,
    ...('suggestion' in meant ? meant : { hint: 'Write one of the allowed values' }),
  }
}

function invalidValue(
  { keyword, params, data, parentSchema }: ErrorObject,
  path: Path,
  place: Place,
): Report {
  const schema = parentSchema as SchemaNode
  const at = valuePlace(path, place)
  const hint = exampleHint(schema)
  const say = (message: string, instead = hint): Report => ({
    code: 'invalid-value',
    ...at,
    message,
    hint: instead,
  })
  if (keyword === 'minLength') {
    const isShort = params.limit > 1 && data !== ''
    return say(`${subject(path)} ${isShort ? `is shorter than ${params.limit} characters` : 'is empty'}`)
  }
  if (keyword === 'minItems')
    return say(`${subject(path)} is an empty list`, 'Add an item, or remove the key')
  // What the secret is stays untold.
  if (keyword === 'pattern' && schema.pattern?.includes('\\S'))
    return say(
      `${subject(path)} holds white space, which a bearer token cannot`,
      'Remove it; at the end it often comes along with a file',
    )
  if (keyword === 'pattern')
    return say(`${subject(path)} is ${place.say(path, data)}, but wants ${formNoun(schema)}`)
  if (keyword === 'format') {
    return say(`${subject(path)} is no regular expression: ${place.say(path, data)}`, 'Mend the expression')
  }
  if (schema.minimum !== undefined && schema.maximum !== undefined) {
    return say(
      `${subject(path)} is ${place.say(path, data)}, allowed are ${schema.minimum} to ${schema.maximum}`,
      'Write a number in that range',
    )
  }
  return say(
    `${subject(path)} must be ${params.comparison ?? ''} ${params.limit ?? ''}`.replace(/ +/g, ' ').trim(),
    'Write a number in that range',
  )
}

function formNoun({ pattern }: SchemaNode): string {
  if (pattern?.includes('ms|')) return 'a duration'
  if (pattern?.includes('iB')) return 'a size'
  return 'a path that begins with `/`'
}

function exampleHint({ examples }: SchemaNode): string {
  const example = (examples as unknown[] | undefined)?.[0]
  return example === undefined ? 'Give it a value' : `Write for example \`${String(example)}\``
}

/** `port`, or for an item of a list `an item of allowedTools`. */
function subject(path: Path): string {
  const last = path.at(-1)
  if (last === undefined) return 'the file'
  if (typeof last === 'string') return `\`${last}\``
  const key = path.at(-2)
  return typeof key === 'string' ? `item ${last + 1} of \`${key}\`` : `item ${last + 1}`
}

function valuePlace(path: Path, place: Place): Pick<Report, 'path' | 'isKey'> {
  const value = valueAt(place.value, path)
  // A whole list or map is not a place to point at.
  return typeof value === 'object' && value !== null ? mapPlace(path, place) : { path }
}

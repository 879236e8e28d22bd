import type { ErrorObject } from 'ajv'
import { type Finding, finding, type Range } from '../findings/index.ts'
import { pointerSegments, valueAt } from '../json/index.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'
import { bareFix, scalarFix } from './scalar-fix.ts'
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
export function schemaFinding(error: ErrorObject, place: Place): Finding | undefined {
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
export function mapRange(path: Path, { value, locate }: Pick<Place, 'value' | 'locate'>): Range | undefined {
  const own = locate.key(path)
  if (own) return own
  const map = valueAt(value, path)
  const first = typeof map === 'object' && map !== null ? Object.keys(map)[0] : undefined
  return (first === undefined ? undefined : locate.key([...path, first])) ?? locate(path)
}

/** Keys of Unla and habits from elsewhere that have another name or place here. */
const ELSEWHERE = new Map([
  [
    'allowAuthorizationPassThrough',
    'Say it with `headers: {Authorization: "{{.Request.Headers.Authorization}}"}`',
  ],
  ['target_url', '`target_url` belongs under `api` of a notifier'],
])

function unknownKey({ params, parentSchema }: ErrorObject, path: Path, place: Place): Finding {
  const key = params.additionalProperty as string
  const schema = parentSchema as SchemaNode
  const here = Object.keys(schema.properties ?? {})
  const close = nearest(key, here)
  const homes = place.homes.get(key)?.map(noun)
  const hint = close
    ? `Did you mean \`${close}\`? Keys of your own begin with \`x-\``
    : (ELSEWHERE.get(key) ??
      (homes?.length
        ? `\`${key}\` belongs to ${homes.join(' or ')}`
        : `Known here: ${quoteAll(here)}; keys of your own begin with \`x-\``))
  return finding('unknown-key', place.file, `unknown key ${quote(key)} in ${noun(schema.title)}`, {
    ...at(place.locate.key([...path, key]) ?? place.locate(path)),
    hint,
  })
}

function missingKey({ params, parentSchema }: ErrorObject, path: Path, place: Place): Finding {
  const key = params.missingProperty as string
  const map = valueAt(place.value, path) as Record<string, unknown>
  const title = titleOf(parentSchema as SchemaNode, path)
  const kind = typeof map.type === 'string' && !title.startsWith('`') ? ` of type \`${map.type}\`` : ''
  const name = typeof map.name === 'string' && map.name ? ` ${quote(map.name)}` : ''
  const whose = /^(a|an|the) /.test(title) && name ? title.replace(/^(a|an) /, 'the ') : title
  return finding('missing-key', place.file, `${whose}${name}${kind} needs \`${key}\``, {
    ...at(mapRange(path, place)),
    hint: `Add \`${key}\``,
  })
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

function wrongType({ params, data, parentSchema }: ErrorObject, path: Path, place: Place): Finding {
  const type = params.type as string | string[]
  const wanted = typeNoun(type === 'string' || Array.isArray(type) ? 'string' : type)
  const message = `${subject(path)} wants ${wanted}, but is ${place.say(path, data)}`
  const range = valueRange(path, place)
  const hint = requiredHint(data, path) ?? typeHint(type, data, path, parentSchema as SchemaNode)
  const truth = /^Write `(true|false)`$/.exec(hint)?.[1]
  const bare = hint === 'Remove the quotes' ? String(data) : truth
  const fix =
    bare === undefined ? {} : { ...scalarFix(place.text, range, bare), ...bareFix(place.text, range, bare) }
  return finding('wrong-type', place.file, message, {
    ...at(range),
    hint,
    ...fix,
  })
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
  const typed = type === 'boolean' || type === 'integer' || type === 'number'
  if (typed && typeof data === 'string') {
    const bare = type === 'boolean' ? /^(true|false)$/ : /^-?\d+(\.\d+)?$/
    if (bare.test(data)) return 'Remove the quotes'
    if (/^(yes|no|on|off)$/i.test(data)) return `Write \`${/^(yes|on)$/i.test(data) ? 'true' : 'false'}\``
  }
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

function notAllowed({ params, data }: ErrorObject, path: Path, place: Place): Finding {
  const allowed = (params.allowedValues as unknown[]).map(String)
  const range = at(valueRange(path, place))
  if (
    path.at(-1) === 'mode' &&
    path.at(-2) === 'auth' &&
    typeof data === 'string' &&
    !nearest(data, allowed)
  ) {
    return finding('unsupported-auth', place.file, `authentication by ${quote(data)} is not supported`, {
      ...range,
      hint: 'Use `mode: bearer` with `tokens`; a router is never served open when its file asks for a login',
    })
  }
  const sure = sureChoice(data, allowed)
  const close = sure ?? (typeof data === 'string' ? nearest(data, allowed) : undefined)
  const message = `${subject(path)} is ${place.say(path, data)}, allowed are ${quoteAll(allowed)}`
  const hint = close ? `Did you mean \`${close}\`?` : 'Write one of the allowed values'
  return finding(typeof data === 'string' ? 'invalid-value' : 'wrong-type', place.file, message, {
    ...range,
    hint,
    ...(sure !== undefined && scalarFix(place.text, range.range, sure)),
  })
}

function invalidValue(
  { keyword, params, data, parentSchema }: ErrorObject,
  path: Path,
  place: Place,
): Finding {
  const schema = parentSchema as SchemaNode
  const range = at(valueRange(path, place))
  const hint = exampleHint(schema)
  const say = (message: string, cure = hint) =>
    finding('invalid-value', place.file, message, { ...range, hint: cure })
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

function valueRange(path: Path, place: Place): Range | undefined {
  const value = valueAt(place.value, path)
  // A whole list or map is no place to point at.
  return typeof value === 'object' && value !== null ? mapRange(path, place) : place.locate(path)
}

function at(range: Range | undefined): { range?: Range } {
  return range ? { range } : {}
}

import { isObject, type Json, type JsonObject, stringify } from '../json/index.ts'
import { shorten, withoutHidden } from '../text/index.ts'

/** Maximum arguments of a signature, and characters of a type. */
const MAX_ARGUMENTS = 16
const MAX_TYPE = 60
/** Maximum characters of shown `enum` values. */
const MAX_VALUES = 50
/** A schema and the types of its definitions, each computed once. */
interface Root {
  schema: JsonObject
  types: Map<string, string>
}

/** `name(argument: type, optional?: type)`; required arguments first. */
export function signatureOf({ name, inputSchema }: JsonObject): string {
  const schema = isObject(inputSchema) ? inputSchema : {}
  const root = { schema, types: new Map<string, string>() }
  const properties = Object.entries(isObject(schema.properties) ? schema.properties : {})
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const ordered = [
    ...properties.filter(([key]) => required.has(key)),
    ...properties.filter(([key]) => !required.has(key)),
  ]
  const shown = ordered
    .slice(0, MAX_ARGUMENTS)
    .map(([key, value]) => `${shorten(key, MAX_TYPE)}${required.has(key) ? '' : '?'}: ${typeOf(value, root)}`)
  const rest = ordered.length > MAX_ARGUMENTS ? [`… ${ordered.length - MAX_ARGUMENTS} more`] : []
  return `${shorten(String(name), 256)}(${[...shown, ...rest].join(', ')})`
}

/** `name(argument: type) – first sentence`, on one line. */
export function lineOf(tool: JsonObject): string {
  const [sentence] = firstSentence(typeof tool.description === 'string' ? tool.description : '')
  const said = sentence || (typeof tool.title === 'string' ? tool.title : '')
  const line = `${signatureOf(tool)}${said && ` – ${shorten(said, 200)}`}`
  return `${withoutHidden(line.replace(/\s+/g, ' '))}${isReadOnly(tool) ? ' (read-only)' : ''}`
}

/** Whether a tool declares that it changes nothing (ToolAnnotations). */
export function isReadOnly({ annotations }: JsonObject): boolean {
  return isObject(annotations) && annotations.readOnlyHint === true
}

function typeOf(value: Json, root: Root, depth = 0): string {
  if (!isObject(value) || depth > 4) return 'any'
  const { type, enum: values, items, $ref, const: only } = value
  if (only !== undefined) return shorten(stringify(only), MAX_TYPE)
  if (Array.isArray(values) && values.length <= MAX_VALUES) {
    const all = values.map((one) => stringify(one)).join('|')
    if (all.length <= MAX_VALUES) return all
  }
  if (typeof $ref === 'string') return referred($ref, root, depth + 1)
  if (type === 'array') return `${typeOf(items ?? null, root, depth + 1)}[]`
  if (typeof type === 'string') return shorten(type, MAX_TYPE)
  const several = Array.isArray(type)
    ? type.slice(0, MAX_ARGUMENTS).map(String)
    : alternatives(value, root, depth)
  const distinct = [...new Set(several)].filter((one) => one !== 'null')
  return distinct.length > 0 ? shorten(distinct.join('|'), MAX_TYPE) : 'any'
}

function alternatives({ anyOf, oneOf }: JsonObject, root: Root, depth: number): string[] {
  const all = [anyOf, oneOf].find((one) => Array.isArray(one)) as Json[] | undefined
  return (all ?? []).slice(0, MAX_ARGUMENTS).map((one) => typeOf(one, root, depth + 1))
}

/** The type of a definition in the same schema; other references are not followed. */
function referred(reference: string, root: Root, depth: number): string {
  const [, section, name] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(reference) ?? []
  const definitions = section === undefined ? undefined : root.schema[section]
  if (!isObject(definitions) || !Object.hasOwn(definitions, name!)) return 'any'
  const key = `${depth} ${reference}`
  const known = root.types.get(key) ?? typeOf(definitions[name!] as Json, root, depth)
  root.types.set(key, known)
  return known
}

export function firstSentence(text: string): [first: string, rest: string] {
  const end = /(?:[.!?](?=\s)|[。！？]|\n)/u.exec(text.slice(0, 1_000))
  const at = end ? end.index + 1 : text.length
  return [text.slice(0, at).trim(), text.slice(at).trim()]
}

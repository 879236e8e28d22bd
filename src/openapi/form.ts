import type { Json, JsonObject } from '../json/index.ts'
import { isMap, mapOf, textOf, Unfit } from './document-values.ts'
import { flatten } from './flatten.ts'
import { toSchema } from './schema.ts'
import { asPairs, kindsOf, type Style, type Writable, writable } from './style.ts'
import type { Draft, Pair } from './tool-draft.ts'
import { isArgumentName } from './tool-names.ts'

/** The fields of a form, as one schema says them. @throws Unfit when it names none */
export function fieldsOf(
  draft: Draft,
  media: JsonObject,
): { fields: [string, JsonObject][]; required: Set<unknown> } {
  const schema = toSchema(media.schema, draft.schemas)
  const fields = Object.entries(mapOf(schema.properties)).filter((entry): entry is [string, JsonObject] =>
    isMap(entry[1]),
  )
  if (fields.length === 0) throw new Unfit('its body is a form without named fields')
  return { fields, required: new Set(Array.isArray(schema.required) ? schema.required : []) }
}

/**
 * Adds the fields of a body of the type `application/x-www-form-urlencoded`.
 * @param optional none of them is needed
 * @throws Unfit
 */
export function addForm(draft: Draft, media: JsonObject, optional: boolean): void {
  const { fields, required } = fieldsOf(draft, media)
  const encodings = mapOf(media.encoding)
  const pairs: Pair[] = []
  for (const [name, schema] of fields) {
    const needed = required.has(name)
    try {
      if (/[\p{Cc}\p{Cs}]/u.test(name)) throw new Unfit('its name contains characters that cannot be sent')
      const style = styleOf(mapOf(encodings[name]))
      const what = fieldOf(schema, style)
      for (const left of what.leftOut)
        draft.leaveOut(`${left} of ${name}`, 'no OpenAPI style defines how to write it')
      const arg = {
        name: draft.nameFor(name, 'form'),
        position: 'body' as const,
        required: needed && !optional,
        schema: what.schema,
        description: '',
      }
      pairs.push({ arg, name, what, style })
    } catch (error) {
      if (!(error instanceof Unfit)) throw error
      if (needed) throw new Unfit(`the field ${name}: ${error.message}`)
      draft.leaveOut(`the field ${name}`, error.message)
    }
  }
  if (pairs.length === 0) throw new Unfit('no field of its body can be written as a form')
  draft.args.push(...pairs.map(({ arg }) => arg))
  draft.headers.set('Content-Type', 'application/x-www-form-urlencoded')
  if (!pairs.every(isDirect))
    draft.requestBody = pairs
      .map(({ arg, name, what, style }) => asPairs(arg.name, name, what, style, arg.required))
      .join('')
}

/** Sent as the gateway sends body and query arguments by itself. */
export function isDirect({ arg, name, what, style }: Pair): boolean {
  if (arg.name !== name) return false
  if (what.kind === 'json') return isObject(what.schema)
  return what.kind === 'scalar' || (what.kind === 'array' && style.style === 'form' && style.explode)
}

function fieldOf(schema: JsonObject, style: Style): Writable {
  // Without a style an object is written as JSON.
  if (style.style === 'form' && isObject(schema)) return { schema, kind: 'json', leftOut: [] }
  return writable(schema, style, true)
}

function isObject(schema: JsonObject): boolean {
  const kinds = kindsOf(schema)
  return kinds.size === 1 && kinds.has('object')
}

function styleOf(encoding: JsonObject): Style {
  const type = textOf(encoding.contentType)
  if (type !== undefined && /\bjson$/i.test(type)) return { style: 'json', explode: false }
  const style = textOf(encoding.style) ?? 'form'
  return { style, explode: typeof encoding.explode === 'boolean' ? encoding.explode : style === 'form' }
}

/** What the gateway takes for a part: a text, or a file in two forms. */
const FILE: JsonObject[] = [
  { type: 'string', description: 'Text, or a file as a data: URI' },
  {
    type: 'object',
    description: 'A file: base64 data with its name and media type',
    properties: { filename: { type: 'string' }, contentType: { type: 'string' }, data: { type: 'string' } },
    required: ['data'],
    additionalProperties: false,
  },
]

/** Adds the fields of a body of the type `multipart/form-data`. @throws Unfit */
export function addMultipart(draft: Draft, media: JsonObject): void {
  const { fields, required } = fieldsOf(draft, media)
  const files = fileFields(media.schema, draft)
  const encodings = mapOf(media.encoding)
  let added = 0
  for (const [name, schema] of fields) {
    try {
      if (!isArgumentName(name)) throw new Unfit('its name cannot be used for an argument')
      const file = files.get(name)
      checkType(schema, textOf(mapOf(encodings[name]).contentType), file !== undefined)
      draft.args.push({
        name: nameOf(draft, name),
        position: 'form-data',
        required: required.has(name),
        schema: file ? asFile(schema, file) : joined(schema, mapOf(encodings[name])),
        description: '',
      })
      added++
    } catch (error) {
      if (!(error instanceof Unfit)) throw error
      if (required.has(name)) throw new Unfit(`the field ${name}: ${error.message}`)
      draft.leaveOut(`the field ${name}`, error.message)
    }
  }
  if (added === 0) throw new Unfit('no field of its body can be written as a form')
}

function nameOf(draft: Draft, name: string): string {
  const given = draft.nameFor(name, 'form')
  if (given !== name) throw new Unfit('another argument has the same name')
  return given
}

/** Parts are texts, JSON or files; the gateway writes no other. */
function checkType({ type }: JsonObject, contentType: string | undefined, file: boolean): void {
  if (contentType === undefined || file) return
  const wanted = contentType.split(/[;,]/)[0]!.trim().toLowerCase()
  if (type === 'object' ? !/\bjson$|\*/.test(wanted) : !/^text\/plain$|\*/.test(wanted))
    throw new Unfit(`the gateway cannot write a part of type ${wanted}`)
}

const SEPARATORS: Record<string, string> = {
  form: 'commas',
  spaceDelimited: 'spaces',
  tabDelimited: 'tabs',
  pipeDelimited: '`|`',
}

/** An array is a part for each item; one that is to be a single part is a text. */
function joined(schema: JsonObject, { style, explode }: JsonObject): JsonObject {
  const between = SEPARATORS[textOf(style) ?? 'form']
  if (schema.type !== 'array' || explode !== false || between === undefined) return schema
  const said = textOf(schema.description)?.trimEnd().replace(/\.?$/, '. ') ?? ''
  return { type: 'string', description: `${said}Several are separated by ${between}` }
}

function asFile(schema: JsonObject, kind: 'file' | 'files'): JsonObject {
  const described = schema.description === undefined ? {} : { description: schema.description }
  const one: JsonObject = { ...described, anyOf: FILE }
  return kind === 'file' ? one : { ...described, type: 'array', items: { anyOf: FILE } }
}

/** The fields that hold bytes, by their formats. */
function fileFields(schema: Json | undefined, { schemas: { refs } }: Draft): Map<string, 'file' | 'files'> {
  const files = new Map<string, 'file' | 'files'>()
  if (!isMap(schema)) return files
  for (const [name, property] of flatten(schema, refs).properties) {
    if (!isMap(property)) continue
    const { schema: one } = flatten(property, refs)
    if (isFile(one)) files.set(name, 'file')
    else if (isMap(one.items) && isFile(flatten(one.items, refs).schema)) files.set(name, 'files')
  }
  return files
}

function isFile({ type, format, contentMediaType, contentEncoding }: JsonObject): boolean {
  if (type === 'file' || format === 'binary') return true
  return (
    contentMediaType !== undefined &&
    contentEncoding === undefined &&
    (type === undefined || type === 'string')
  )
}

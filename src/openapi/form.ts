import type { JsonObject } from '../json/index.ts'
import type { Draft, Pair } from './draft.ts'
import { kindsOf } from './narrow.ts'
import { toSchema } from './schema.ts'
import { asPairs, type Style, type Writable, writable } from './style.ts'
import { isMap, mapOf, textOf, Unfit } from './values.ts'

/** The fields of a form, as one schema says them. @throws Unfit when it names none */
export function fieldsOf(
  draft: Draft,
  media: JsonObject,
): { fields: [string, JsonObject][]; required: Set<unknown> } {
  const schema = toSchema(media.schema, draft.schemas)
  const fields = Object.entries(mapOf(schema.properties)).filter((entry): entry is [string, JsonObject] =>
    isMap(entry[1]),
  )
  if (fields.length === 0) throw new Unfit('its body is a form without fields of a name')
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
      if (/[\p{Cc}\p{Cs}]/u.test(name)) throw new Unfit('its name cannot be sent')
      const style = styleOf(mapOf(encodings[name]))
      const what = fieldOf(schema, style)
      for (const left of what.leftOut)
        draft.leaveOut(`${left} of ${name}`, 'no style of OpenAPI says how it is written')
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
  if (pairs.length === 0) throw new Unfit('nothing of its body can be written as a form')
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

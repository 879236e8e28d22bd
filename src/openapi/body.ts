import type { Json, JsonObject } from '../json/index.ts'
import { literal } from '../template/index.ts'
import { isBytesType } from '../tools/answer.ts'
import { TEXT_OR_FILE } from '../tools/schema.ts'
import { isMap, mapOf, reasonOf, textOf, Unsupported } from './open-document.ts'
import type { Operation } from './operations.ts'
import { flatten, toSchema } from './schema.ts'
import {
  conditionText,
  describeOnly,
  isPlainObject,
  kindsOf,
  pairsText,
  print,
  sourceText,
  wireForm,
  withFittingDefault,
  writable,
} from './style.ts'
import type { Body } from './swagger.ts'
import {
  addPart,
  type Draft,
  type DraftArg,
  leaveOutMember,
  type Pair,
  type Style,
  type Writable,
} from './tool-draft.ts'
import { isArgumentName, LENGTHS, plainText } from './tool-names.ts'

/** The body is essential, so the operation cannot be imported without it. */
class Unwritable extends Unsupported {}

const BRINGING = new Set(['POST', 'PUT', 'PATCH'])
const WITHOUT_BODY = new Set(['GET', 'HEAD'])

/** Adds an operation's body; one that cannot be sent makes the operation unsupported, unless optional. @throws Unsupported */
export function addBody(draft: Draft, { body, method }: Operation): void {
  if (!body) return
  try {
    if (isEmpty(draft, body, method)) return
    if (WITHOUT_BODY.has(method)) throw new Unsupported(`the gateway sends no body with ${method}`)
    add(draft, body, method)
  } catch (error) {
    const reason = reasonOf(error)
    if (body.required || error instanceof Unwritable) throw error
    draft.leaveOut('the body', reason)
  }
}

/**
 * Whether it is an object without possible members. Generators describe classes of unknown members by empty
 * `properties` too: such a JSON body is sent where it is required.
 */
function isEmpty({ schemas: { refs } }: Draft, { content, required }: Body, method: string): boolean {
  const isSent = required && !WITHOUT_BODY.has(method)
  return content.every(([type, { schema }]) => {
    if (!isMap(schema)) return false
    const { schema: one, properties } = flatten(schema, refs)
    if (one.type !== 'object' || properties.size > 0 || one.anyOf || one.oneOf) return false
    const more = one.additionalProperties
    if (more !== undefined) return more === false
    return isMap(refs.follow(schema).properties) && !(isSent && formOf(type) === 'json')
  })
}

type Form = 'json' | 'form' | 'multipart' | 'text' | 'document' | 'bytes'

/** Texts in a language of their own. */
const DOCUMENT =
  /^text\/|[/+](?:xml|ya?ml)$|^application\/(?:x-)?(?:ya?ml|toml|csv|sql|graphql|ndjson|jsonl|json-seq|javascript|sparql-query|sparql-update|n-triples)$/

function formOf(type: string): Form | undefined {
  const media = type.split(';')[0]!.trim().toLowerCase()
  if (/^(?:application\/(?:json|\*)|\*\/\*|text\/json)$/.test(media) || /\+json$/.test(media)) return 'json'
  if (media === 'application/x-www-form-urlencoded') return 'form'
  if (media === 'multipart/form-data') return 'multipart'
  if (media === 'text/plain' || media === 'text/*') return 'text'
  if (DOCUMENT.test(media)) return 'document'
  return isBytesType(media) ? 'bytes' : undefined
}

const RANK: Form[] = ['json', 'form', 'multipart', 'text', 'document', 'bytes']

function add(draft: Draft, body: Body, method: string): void {
  const offered = body.content.flatMap(([type, media]) => {
    const form = formOf(type)
    return form ? [{ type, media, form, plain: /^application\/json\b/i.test(type) }] : []
  })
  const [best] = offered.sort(
    (a, b) => RANK.indexOf(a.form) - RANK.indexOf(b.form) || Number(b.plain) - Number(a.plain),
  )
  if (!best) {
    const types = body.content.map(([type]) => type.split(';')[0]).slice(0, 3)
    throw new (BRINGING.has(method) ? Unwritable : Unsupported)(`its body is ${types.join(' or ')}`)
  }
  const { form, type } = best
  // An optional body must not make its fields required.
  const optional = !body.required && method === 'DELETE'
  if (form === 'form') addForm(draft, best.media, optional)
  else if (form === 'multipart') addMultipart(draft, best.media)
  else if (form === 'document') addDocument(draft, best, body)
  else if (form === 'bytes') addBytes(draft, type, body)
  else {
    const schema = toSchema(best.media.schema, draft.schemas)
    const media = type
      .split(';')[0]!
      .trim()
      .replace(/^text\/\*$/, 'text/plain')
    if (/\+json$|^text\//i.test(media)) draft.headers.set('Content-Type', literal(media))
    if (form === 'text') addText(draft, schema, body)
    else addJson(draft, schema, body, optional)
  }
}

function addJson(draft: Draft, schema: JsonObject, body: Body, optional: boolean): void {
  const properties = mapOf(schema.properties)
  const names = Object.keys(properties)
  const apart =
    schema.type === 'object' &&
    names.length > 0 &&
    names.every(isArgumentName) &&
    (schema.additionalProperties === undefined || schema.additionalProperties === false) &&
    schema.anyOf === undefined
  if (!apart) {
    addWhole(draft, schema, body)
    return
  }
  const needed = new Set(Array.isArray(schema.required) && !optional ? schema.required : [])
  const made = Object.entries(properties).flatMap(([name, property]) => {
    if (!isMap(property)) return []
    const arg = draft.add(name, 'body', { position: 'body', required: needed.has(name), schema: property })
    return arg ? [{ name, arg }] : []
  })
  if (made.some(({ arg }) => arg.fixed)) draft.requestBody = objectText(made)
}

/** A JSON object of arguments and fixed values. */
function objectText(members: readonly { name: string; arg: DraftArg }[]): string {
  const asked = members.filter(({ arg }) => !arg.fixed).map(({ name }) => ` ${JSON.stringify(name)}`)
  const fixed = members.filter(({ arg }) => arg.fixed)
  const set = (object: string, { name, arg }: { name: string; arg: DraftArg }) =>
    `set ${object} ${JSON.stringify(name)} ${sourceText(arg)}`
  const always = fixed
    .filter(({ arg }) => conditionText(arg) === undefined)
    .reduce(
      (object, one) => `(${set(object, one)})`,
      asked.length > 0 ? `(pick .Args${asked.join('')})` : '(dict)',
    )
  const sometimes = fixed.flatMap((one) => {
    const given = conditionText(one.arg)
    return given === undefined ? [] : [`{{if ${given}}}{{$body = ${set('$body', one)}}}{{end}}`]
  })
  return sometimes.length === 0
    ? `{{toJSON ${always}}}`
    : `{{$body := ${always.slice(1, -1)}}}${sometimes.join('')}{{toJSON $body}}`
}

/** The body as one argument. */
function addWhole(draft: Draft, schema: JsonObject, { required, description }: Body): void {
  const arg = draft.add('body', 'request', { position: 'body', required, schema, description })
  if (arg) draft.requestBody = whenGiven(arg, print(`(toJSON ${sourceText(arg)})`))
}

function whenGiven(arg: DraftArg, text: string): string {
  const given = conditionText(arg)
  return given === undefined ? text : `{{if ${given}}}${text}{{end}}`
}

function addText(draft: Draft, schema: JsonObject, { required, description }: Body): void {
  if (schema.type !== undefined && schema.type !== 'string')
    throw new Unsupported('its text body has an unknown format')
  // Without a type, it may have values and alternatives other than texts.
  const { enum: values, anyOf, ...rest } = schema
  const known = schema.type === undefined ? rest : schema
  const text = withFittingDefault({ ...known, type: 'string' })
  const arg = draft.add('body', 'request', { position: 'body', required, schema: text, description })
  if (arg) draft.requestBody = print(`raw ${sourceText(arg)}`)
}

/** XML and similar as one text with an example, as a schema does not describe its syntax. */
function addDocument(draft: Draft, { type, media }: { type: string; media: JsonObject }, body: Body): void {
  const example = exampleOf(media, draft)
  const shown = example !== undefined && example.length <= 300 ? `, for example ${example}` : ''
  const arg = addTyped(draft, body, `${type.split(';')[0]!.trim()}${shown}`)
  if (!arg) return
  draft.headers.set('Content-Type', literal(type.trim()))
  draft.requestBody = whenGiven(arg, print(`raw ${sourceText(arg)}`))
}

/** Bytes as one Base64 argument, which the gateway decodes because of the Content-Type. */
function addBytes(draft: Draft, type: string, body: Body): void {
  const kind = type.split(';')[0]!.trim().toLowerCase()
  const arg = addTyped(draft, body, `${kind}, in Base64`)
  if (!arg) return
  if (arg.fixed) throw new Unsupported('a body of bytes cannot have a fixed value')
  draft.headers.set('Content-Type', literal(kind.includes('*') ? 'application/octet-stream' : kind))
}

/** The body as one text argument. @param format continues "The body as" in its description */
function addTyped(draft: Draft, { required, description }: Body, format: string): DraftArg | undefined {
  const said = plainText(description, LENGTHS.argument).replace(/(?<=[^.!?])$/, '.')
  const schema: JsonObject = {
    type: 'string',
    description: `${said && `${said} `}The body as ${format}`,
  }
  return draft.add('body', 'request', { position: 'body', required, schema })
}

function exampleOf(
  { example, examples, schema }: JsonObject,
  { schemas: { refs } }: Draft,
): string | undefined {
  const [first] = Object.values(mapOf(examples))
  const given = textOf(example) ?? textOf(refs.follow(first).value) ?? textOf(refs.follow(schema).example)
  return given?.replace(/\s+/g, ' ').trim() || undefined
}

/** The fields of a form, as one schema. @throws Unsupported if there are none */
function fieldsOf(
  draft: Draft,
  media: JsonObject,
): { fields: [string, JsonObject][]; required: Set<unknown> } {
  const schema = toSchema(media.schema, draft.schemas)
  const fields = Object.entries(mapOf(schema.properties)).filter((entry): entry is [string, JsonObject] =>
    isMap(entry[1]),
  )
  if (fields.length === 0) throw new Unsupported('its body is a form without named fields')
  return { fields, required: new Set(Array.isArray(schema.required) ? schema.required : []) }
}

/**
 * Adds the fields of an `application/x-www-form-urlencoded` body.
 * @param optional whether no field is required
 * @throws Unsupported
 */
function addForm(draft: Draft, media: JsonObject, optional: boolean): void {
  const { fields, required } = fieldsOf(draft, media)
  const encodings = mapOf(media.encoding)
  const pairs: Pair[] = []
  let isSendable = false
  for (const [name, schema] of fields) {
    const needed = required.has(name)
    addPart(draft, `the field ${name}`, needed, () => {
      if (/[\p{Cc}\p{Cs}]/u.test(name))
        throw new Unsupported('its name contains characters that cannot be sent')
      const style = styleOf(mapOf(encodings[name]))
      const what = fieldOf(schema, style)
      const place = { position: 'body', required: needed && !optional, schema: what.schema } as const
      const arg = draft.add(name, 'form', place)
      isSendable = true
      if (!arg) return
      for (const left of what.leftOut) leaveOutMember(draft, left, name)
      pairs.push({ arg, name, what, style })
    })
  }
  if (!isSendable) throw new Unsupported('no field of its body can be written as a form')
  draft.headers.set('Content-Type', 'application/x-www-form-urlencoded')
  const forms = pairs.map(({ arg, name, what, style }) => wireForm(arg, name, what, style, 'query'))
  if (forms.some((form) => form === undefined)) draft.requestBody = pairsText(pairs, '', 'form')
  else for (const [i, { arg }] of pairs.entries()) arg.wire = forms[i]
}

function fieldOf(schema: JsonObject, style: Style): Writable {
  // Without a style, objects are written as JSON.
  if (style.style === 'form' && isPlainObject(schema)) return { schema, kind: 'json', leftOut: [] }
  const items = mapOf(schema.items)
  // Objects as items too.
  if (style.style === 'form' && style.explode && schema.type === 'array' && kindsOf(items).has('object'))
    return { schema, kind: 'array', leftOut: [] }
  return writable(schema, style, true)
}

function styleOf(encoding: JsonObject): Style {
  const type = textOf(encoding.contentType)
  if (type !== undefined && /\bjson$/i.test(type)) return { style: 'json', explode: false }
  const style = textOf(encoding.style) ?? 'form'
  return { style, explode: typeof encoding.explode === 'boolean' ? encoding.explode : style === 'form' }
}

/** Adds the fields of a body of the type `multipart/form-data`. @throws Unsupported */
function addMultipart(draft: Draft, media: JsonObject): void {
  const { fields, required } = fieldsOf(draft, media)
  const files = fileFields(media.schema, draft)
  const encodings = mapOf(media.encoding)
  let isSendable = false
  for (const [name, schema] of fields)
    addPart(draft, `the field ${name}`, required.has(name), () => {
      if (!isArgumentName(name)) throw new Unsupported('its name cannot be used for an argument')
      const file = files.get(name)
      checkType(schema, textOf(mapOf(encodings[name]).contentType), file !== undefined)
      const own = file ? asFile(schema, file) : joined(schema, mapOf(encodings[name]))
      const known = new Set(draft.config.keys())
      const arg = draft.add(name, 'form', {
        position: 'form-data',
        required: required.has(name),
        schema: own,
      })
      isSendable = true
      if (!arg?.fixed) return
      // Its value is unused.
      for (const key of draft.config.keys()) if (!known.has(key)) draft.config.delete(key)
      throw new Unsupported('a part of a multipart body cannot have a fixed value')
    })
  if (!isSendable) throw new Unsupported('no field of its body can be written as a form')
}

/** Parts are texts, JSON or files; the gateway supports no other types. */
function checkType({ type }: JsonObject, contentType: string | undefined, file: boolean): void {
  if (contentType === undefined || file) return
  const wanted = contentType.split(/[;,]/)[0]!.trim().toLowerCase()
  if (type === 'object' ? !/\bjson$|\*/.test(wanted) : !/^text\/plain$|\*/.test(wanted))
    throw new Unsupported(`the gateway cannot write a part of type ${wanted}`)
}

const SEPARATORS: Record<string, string> = {
  form: 'commas',
  spaceDelimited: 'spaces',
  tabDelimited: 'tabs',
  pipeDelimited: '`|`',
}

/** An array has one part for each item; if it must be a single part, it is a text. */
function joined(schema: JsonObject, { style, explode }: JsonObject): JsonObject {
  const named = textOf(style) ?? 'form'
  const between = Object.hasOwn(SEPARATORS, named) ? SEPARATORS[named] : undefined
  if (schema.type !== 'array' || explode !== false || between === undefined) return schema
  const said = textOf(schema.description)?.trimEnd().replace(/\.?$/, '. ') ?? ''
  return { type: 'string', description: `${said}Several are separated by ${between}` }
}

function asFile(schema: JsonObject, kind: 'file' | 'files'): JsonObject {
  const described = describeOnly(schema)
  const one: JsonObject = { ...described, anyOf: TEXT_OR_FILE }
  return kind === 'file' ? one : { ...described, type: 'array', items: { anyOf: TEXT_OR_FILE } }
}

/** The fields with bytes, by format. */
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

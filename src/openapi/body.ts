import type { JsonObject } from '../json/index.ts'
import { isMap, mapOf, Unfit } from './document-values.ts'
import { flatten } from './flatten.ts'
import { addForm, addMultipart } from './form.ts'
import type { Body, Operation } from './operations.ts'
import { toSchema } from './schema.ts'
import { access, withFittingDefault } from './style.ts'
import type { Draft } from './tool-draft.ts'
import { isArgumentName } from './tool-names.ts'

/** Without its body a call that brings something would bring nothing. */
class Unwritable extends Unfit {}

const BRINGING = new Set(['POST', 'PUT', 'PATCH'])
const WITHOUT_BODY = new Set(['GET', 'HEAD'])

/** Adds the body of an operation; one that cannot be sent ends it, unless it may be left out. @throws Unfit */
export function addBody(draft: Draft, { body, method }: Operation): void {
  if (!body) return
  try {
    if (isEmpty(draft, body)) return
    if (WITHOUT_BODY.has(method)) throw new Unfit(`the gateway sends no body with ${method}`)
    add(draft, body, method)
  } catch (error) {
    if (!(error instanceof Unfit)) throw error
    if (body.required || error instanceof Unwritable) throw error
    draft.leaveOut('the body', error.message)
  }
}

/** An object that can have no members. */
function isEmpty({ schemas: { refs } }: Draft, { content }: Body): boolean {
  return content.every(([, { schema }]) => {
    if (!isMap(schema)) return false
    const { schema: one, properties } = flatten(schema, refs)
    if (one.type !== 'object' || properties.size > 0 || one.anyOf || one.oneOf) return false
    const more = one.additionalProperties
    return more === false || (more === undefined && isMap(refs.follow(schema).properties))
  })
}

type Form = 'json' | 'form' | 'multipart' | 'text'

function formOf(type: string): Form | undefined {
  const media = type.split(';')[0]!.trim().toLowerCase()
  if (/^(?:application\/(?:json|\*)|\*\/\*|text\/json)$/.test(media) || /\+json$/.test(media)) return 'json'
  if (media === 'application/x-www-form-urlencoded') return 'form'
  if (media === 'multipart/form-data') return 'multipart'
  return media === 'text/plain' ? 'text' : undefined
}

const RANK: Form[] = ['json', 'form', 'multipart', 'text']

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
    throw new (BRINGING.has(method) ? Unwritable : Unfit)(`its body is ${types.join(' or ')}`)
  }
  const { form, type } = best
  // A body that need not be there must not make its fields needed.
  const optional = !body.required && method === 'DELETE'
  if (form === 'form') addForm(draft, best.media, optional)
  else if (form === 'multipart') addMultipart(draft, best.media)
  else {
    const schema = toSchema(best.media.schema, draft.schemas)
    const media = type.split(';')[0]!.trim()
    if (/\+json$|^text\//i.test(media)) draft.headers.set('Content-Type', media)
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
  for (const [name, property] of Object.entries(properties)) {
    if (!isMap(property)) continue
    draft.args.push({
      name: draft.nameFor(name, 'body'),
      position: 'body',
      required: needed.has(name),
      schema: property,
      description: '',
    })
  }
}

/** The body as one argument. */
function addWhole(draft: Draft, schema: JsonObject, { required, description }: Body): void {
  const name = draft.nameFor('body', 'request')
  draft.args.push({ name, position: 'body', required, schema, description })
  const print = `{{toJSON ${access(name)}}}`
  draft.requestBody = required ? print : `{{if hasKey .Args "${name}"}}${print}{{end}}`
}

function addText(draft: Draft, schema: JsonObject, { required, description }: Body): void {
  if (schema.type !== undefined && schema.type !== 'string')
    throw new Unfit('its text body has an unknown format')
  const name = draft.nameFor('body', 'request')
  const text = withFittingDefault({ ...schema, type: 'string' })
  draft.args.push({ name, position: 'body', required, schema: text, description })
  draft.requestBody = `{{${access(name).replace(/^\((.*)\)$/, '$1')}}}`
}

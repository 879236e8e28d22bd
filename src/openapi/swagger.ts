import type { Json, JsonObject } from '../json/index.ts'
import { listOf, mapOf, textOf } from './open-document.ts'

export interface Body {
  required: boolean
  description: string
  content: Content
}

/** Media types with their descriptions. */
export type Content = (readonly [type: string, media: JsonObject])[]

/**
 * Swagger 2.0 in the terms of OpenAPI 3, one operation at a time.
 *
 * Ours rather than @scalar/openapi-upgrader 0.1.8, the last that runs on Node 20 (3 packages with what it needs, 3.6 MB):
 * it rewrites the whole document, so that YAML aliases are expanded (17 levels of two: 2.4 s) and a deep document ends in
 * a stack overflow; it throws on a parameter that is null, sends a file of a referenced parameter as `urlencoded`, and
 * loses the separator of arrays (`collectionFormat: tsv`).
 */

const STYLES: Record<string, string> = {
  csv: 'form',
  ssv: 'spaceDelimited',
  tsv: 'tabDelimited',
  pipes: 'pipeDelimited',
  multi: 'form',
}

/** The parameters and the body of an operation. */
export function oldOperation(
  given: readonly JsonObject[],
  operation: JsonObject,
  document: JsonObject,
): { parameters: JsonObject[]; body: Body | undefined } {
  const parameters = given
    .filter((one) => one.in !== 'body' && one.in !== 'formData')
    .map((one) => ({ ...one, schema: schemaOf(one), ...styleOf(one) }))
  const own = listOf(operation.consumes)
  const consumes = (own.length > 0 ? own : listOf(document.consumes)).filter(
    (type) => typeof type === 'string',
  )
  return { parameters, body: bodyOf(given, consumes as string[]) }
}

function bodyOf(given: readonly JsonObject[], consumes: string[]): Body | undefined {
  const body = given.find((one) => one.in === 'body')
  if (body) {
    const types = consumes.length > 0 ? consumes : ['application/json']
    return {
      required: body.required === true,
      description: textOf(body.description) ?? '',
      content: types.map((type) => [type, { schema: body.schema ?? {} }]),
    }
  }
  const fields = given.filter((one) => one.in === 'formData')
  if (fields.length === 0) return undefined
  const files = fields.some((one) => one.type === 'file')
  const urlencoded = consumes.some((type) => type.startsWith('application/x-www-form-urlencoded'))
  const multipart = files || (!urlencoded && consumes.some((type) => type.startsWith('multipart/form-data')))
  const names = (keep: (one: JsonObject) => boolean) => fields.filter(keep).map((one) => String(one.name))
  const schema: JsonObject = {
    type: 'object',
    properties: Object.fromEntries(fields.map((one) => [String(one.name), schemaOf(one)])),
    required: names((one) => one.required === true),
  }
  const encoding = Object.fromEntries(
    fields
      .filter((one) => one.type === 'array')
      .map((one): [string, Json] => [String(one.name), styleOf(one)]),
  )
  return {
    required: names((one) => one.required === true).length > 0,
    description: '',
    content: [
      [multipart ? 'multipart/form-data' : 'application/x-www-form-urlencoded', { schema, encoding }],
    ],
  }
}

export function oldContent(response: JsonObject, { produces }: JsonObject, document: JsonObject): Content {
  if (response.schema === undefined) return []
  const types = [produces, document.produces].map(listOf).find((list) => list.length > 0) ?? []
  const named = types.filter((type) => typeof type === 'string')
  const media = { schema: response.schema }
  return (named.length > 0 ? named : ['application/json']).map((type) => [type, media] as const)
}

/** The keywords of the value, which Swagger mixes with those of the parameter. */
function schemaOf(parameter: JsonObject): JsonObject {
  const {
    name: _,
    in: __,
    required: ___,
    collectionFormat: ____,
    allowEmptyValue: _____,
    ...schema
  } = parameter
  return { ...mapOf(parameter.schema), ...schema }
}

function styleOf({ in: place, type, collectionFormat }: JsonObject): JsonObject {
  const format = textOf(collectionFormat) ?? 'csv'
  if (place === 'path' || place === 'header')
    return {
      style: format === 'csv' || type !== 'array' ? 'simple' : (STYLES[format] ?? 'simple'),
      explode: false,
    }
  return { style: STYLES[format] ?? 'form', explode: type !== 'array' || format === 'multi' }
}

/** The servers given by scheme, host and base path. */
export function oldServers(document: JsonObject): Json[] {
  const host = textOf(document.host) ?? ''
  const basePath = textOf(document.basePath) ?? ''
  const path = basePath === '' || basePath.startsWith('/') ? basePath : `/${basePath}`
  if (host === '') return [{ url: path || '/' }]
  const schemes = listOf(document.schemes).filter((one) => one === 'https' || one === 'http')
  return (schemes.length > 0 ? schemes : ['https']).map((scheme) => ({ url: `${scheme}://${host}${path}` }))
}

/** The security schemes in OpenAPI 3 form. */
export function oldSchemes(document: JsonObject): JsonObject {
  const entries = Object.entries(mapOf(document.securityDefinitions)).map(([name, given]): [string, Json] => {
    const scheme = mapOf(given)
    return [name, scheme.type === 'basic' ? { ...scheme, type: 'http', scheme: 'basic' } : scheme]
  })
  return Object.fromEntries(entries)
}

import { ExactNumber, isObject, type Json, type JsonObject } from '../json/index.ts'
import { hostTitle } from '../openapi/tool-names.ts'
import { withoutSecrets } from './found-secrets.ts'
import type { ExampleBody, ExampleRequest, Parameter } from './logins.ts'
import { type Examples, grouped } from './requests.ts'
import { tracked } from './unread.ts'
import { bodyFrom, fieldsOf, requestTo } from './url-requests.ts'

/** Media types that pages load themselves. */
const OF_PAGES =
  /^(?:text\/(?:html|css|javascript)|application\/(?:javascript|x-javascript|wasm|font.*)|image\/|font\/|video\/|audio\/)/i

/**
 * The API requests in a HAR file (1.2), one for each method and path; those for pages, scripts and pictures are
 * omitted.
 * @returns `fault`: why there are none
 */
export function harExamples(root: Json): Examples | { fault: string } {
  const { value, unread } = tracked(root)
  const log = isObject(value) && isObject(value.log) ? value.log : {}
  if (!Array.isArray(log.entries)) return { fault: 'it has no `log.entries`' }
  const requests = new Map<string, ExampleRequest>()
  const skipped = new Map<string, string>()
  const leftOut: NonNullable<Examples['leftOut']> = []
  const shownBy = new Map<string, string>()
  for (const [i, entry] of log.entries.entries()) {
    const { request, response } = isObject(entry) ? entry : {}
    if (!isObject(request) || typeof request.url !== 'string') {
      skipped.set(`entry ${i + 1}`, 'it has no URL')
      continue
    }
    const shown = withoutSecrets(`${String(request.method)} ${request.url.split(/[?#]/)[0]!.slice(0, 120)}`)
    const type =
      isObject(response) && isObject(response.content) ? String(response.content.mimeType ?? '') : ''
    const made = OF_PAGES.test(type) || request.method === 'OPTIONS' ? undefined : requestOf(request)
    if (!made) skipped.set(shown, 'it is not a call of an API')
    else {
      // Operations of GraphQL have one path.
      const query = made.body?.form === 'graphql' ? ` ${made.body.query}` : ''
      const key = `${made.method} ${made.origin}${made.path}${query}`
      const known = requests.get(key)
      if (known && !isLike(known.body, made.body))
        leftOut.push({
          operation: shown,
          what: 'a body of another form',
          reason: 'an operation has one form of bodies',
        })
      requests.set(key, known ? together(known, made) : made)
      shownBy.set(String(i), shown)
    }
  }
  for (const [first, second, index = '', ...part] of unread()) {
    const operation = first === 'log' && second === 'entries' ? shownBy.get(index) : ''
    const what =
      operation === ''
        ? [first, second, index, ...part].filter((key) => key !== undefined && key !== '')
        : part
    if (operation === undefined || what.some((key) => NO_PART.test(key!))) continue
    leftOut.push({
      operation: operation || 'the recording',
      what: what.join('.'),
      reason: 'a configuration has no counterpart',
    })
  }
  const [first] = requests.values()
  return {
    title: hostTitle(first?.origin ?? ''),
    requests: [...requests.values()],
    servers: new Map(),
    leftOut,
    isRecorded: true,
    skipped: [...skipped].map(([operation, reason]) => ({ operation, reason })),
  }
}

/** Keys of HAR that are no part of a request: times, responses, sizes, and what `url` and `headers` also say. */
const NO_PART =
  /^(?:_.*|version|creator|browser|pages|pageref|comment|startedDateTime|time|timings|cache|serverIPAddress|connection|response|httpVersion|cookies|queryString|headersSize|bodySize|size|params|text)$/

/** Whether the bodies of two requests can be one. */
function isLike(one: ExampleBody | undefined, other: ExampleBody | undefined): boolean {
  return !one || !other || one.form === other.form
}

function requestOf({ method, url, headers, postData }: JsonObject): ExampleRequest | undefined {
  const body = isObject(postData) ? bodyOf(postData) : undefined
  return requestTo(String(url), {
    method: String(method).toUpperCase(),
    headers: pairs(headers),
    body,
    login: undefined,
  })
}

function bodyOf({ mimeType, text: given, params, encoding }: JsonObject): ExampleBody | undefined {
  const type = String(mimeType ?? '')
  const isBase64 = encoding === 'base64' && typeof given === 'string'
  const text = isBase64 ? Buffer.from(given, 'base64').toString() : given
  if (Array.isArray(params) && params.length > 0) {
    const fields = params.filter(isObject).map((one) => ({
      type: String(one.contentType ?? ''),
      name: String(one.name),
      value: String(one.value ?? ''),
      isFile: one.fileName !== undefined,
    }))
    return { form: /multipart/i.test(type) ? 'multipart' : 'urlencoded', fields: grouped(fields) }
  }
  if (typeof text !== 'string') return undefined
  if (/^multipart\/form-data/i.test(type)) return { form: 'multipart', fields: grouped(partsOf(text)) }
  return /x-www-form-urlencoded/i.test(type)
    ? { form: 'urlencoded', fields: fieldsOf(text) }
    : bodyFrom(text, type)
}

/** The parts of a multipart body recorded as text. */
function partsOf(text: string): { name: string; value: string; isFile: boolean }[] {
  const found = text
    .slice(0, 1024 * 1024)
    .matchAll(/^content-disposition:[^\r\n]{0,200}?[; ]name="([^"\r\n]{1,200})"(;[^\r\n]{0,400})?/gim)
  return [...found].map(([, name = '', rest = '']) => ({ name, value: '', isFile: /filename/i.test(rest) }))
}

/** Combines two requests of an operation: all parameters, and the common members of bodies. */
function together(one: ExampleRequest, other: ExampleRequest): ExampleRequest {
  const all = [...one.query, ...other.query]
  const lists = new Set(all.filter(({ isList }) => isList).map(({ name }) => name))
  const query = grouped(all).map((each) => ({ ...each, isList: lists.has(each.name) }))
  const [first, second] = [one.body, other.body]
  if (first?.form !== 'json' || second?.form !== 'json') return { ...one, query }
  return { ...one, query, body: { ...first, value: common(first.value, second.value) } }
}

/** Maximum items of an array that show their form. */
const MAX_ITEMS = 50

/** An example for two values; null, which any value fits, where they have nothing in common. */
function common(one: Json, other: Json): Json {
  if (Array.isArray(one) && Array.isArray(other)) return [...one, ...other].slice(0, MAX_ITEMS)
  if (isObject(one) && isObject(other)) {
    const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
    // Members of only one of them are optional.
    const of = (from: JsonObject, name: string) => (Object.hasOwn(from, name) ? from[name]! : null)
    return Object.fromEntries(names.map((name) => [name, common(of(one, name), of(other, name))]))
  }
  if (isNumeric(one) && isNumeric(other)) return Number.isInteger(Number(one)) ? other : one
  return typeof one === typeof other && typeof one !== 'object' ? one : null
}

function isNumeric(value: Json): boolean {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof ExactNumber
}

function pairs(value: Json | undefined): Parameter[] {
  const list = Array.isArray(value) ? value.filter(isObject) : []
  return list.map(({ name, value: text }) => ({ name: String(name), value: String(text ?? '') }))
}

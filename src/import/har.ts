import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { withoutSecrets } from './found-secrets.ts'
import { hostTitle } from './host-title.ts'
import { type ExampleBody, type ExampleRequest, type Examples, grouped, type Parameter } from './requests.ts'
import { bodyFrom, fieldsOf, requestTo } from './url-requests.ts'

/** Responses that a page loads for itself. */
const OF_PAGES =
  /^(?:text\/(?:html|css|javascript)|application\/(?:javascript|x-javascript|wasm|font.*)|image\/|font\/|video\/|audio\/)/i

/** Characters of a body in which parts are looked for. */
const MAX_PARTS = 1024 * 1024

/**
 * The requests of a HAR file (1.2) to an API: one for each method and path; those of pages, scripts and pictures are left out.
 * @returns `fault`: why there are none
 */
export function harExamples(value: Json): Examples | { fault: string } {
  const log = isObject(value) && isObject(value.log) ? value.log : {}
  if (!Array.isArray(log.entries)) return { fault: 'it has no `log.entries`' }
  const requests = new Map<string, ExampleRequest>()
  const skipped = new Map<string, string>()
  for (const entry of log.entries.filter(isObject)) {
    const { request, response } = entry
    if (!isObject(request) || typeof request.url !== 'string') continue
    const shown = withoutSecrets(`${String(request.method)} ${request.url.split(/[?#]/)[0]!.slice(0, 120)}`)
    const type =
      isObject(response) && isObject(response.content) ? String(response.content.mimeType ?? '') : ''
    const made = OF_PAGES.test(type) || request.method === 'OPTIONS' ? undefined : requestOf(request)
    if (!made) skipped.set(shown, 'it is not a call of an API')
    else {
      const key = `${made.method} ${made.origin}${made.path}`
      const known = requests.get(key)
      requests.set(key, known ? together(known, made) : made)
    }
  }
  const [first] = requests.values()
  return {
    title: hostTitle(first?.origin ?? ''),
    requests: [...requests.values()],
    servers: new Map(),
    isRecorded: true,
    skipped: [...skipped].map(([operation, reason]) => ({ operation, reason })),
  }
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

/** The names of the parts of a body that was recorded as text. */
function partsOf(text: string): { name: string; value: string; isFile: boolean }[] {
  const found = text
    .slice(0, MAX_PARTS)
    .matchAll(/^content-disposition:[^\r\n]{0,200}?[; ]name="([^"\r\n]{1,200})"(;[^\r\n]{0,400})?/gim)
  return [...found].map(([, name = '', rest = '']) => ({ name, value: '', isFile: /filename/i.test(rest) }))
}

/** Two requests of one operation: all their parameters, and the members that both bodies have. */
function together(one: ExampleRequest, other: ExampleRequest): ExampleRequest {
  const all = [...other.query, ...one.query]
  const lists = new Set(all.filter(({ isList }) => isList).map(({ name }) => name))
  const query = new Map(all.map((each) => [each.name, { ...each, isList: lists.has(each.name) }]))
  const { body } = one
  if (
    body?.form === 'json' &&
    other.body?.form === 'json' &&
    isObject(body.value) &&
    isObject(other.body.value)
  ) {
    const [first, second] = [body.value, other.body.value]
    // What only one of them has need not be there.
    const rest = Object.fromEntries(
      Object.keys(second)
        .filter((key) => !Object.hasOwn(first, key))
        .map((key) => [key, null]),
    )
    const kept = Object.fromEntries(
      Object.entries(first).map(([key, value]) => [key, Object.hasOwn(second, key) ? value : null]),
    )
    return { ...one, query: [...query.values()], body: { form: 'json', value: { ...kept, ...rest } } }
  }
  return { ...one, query: [...query.values()] }
}

function pairs(value: Json | undefined): Parameter[] {
  const list = Array.isArray(value) ? value.filter(isObject) : []
  return list.map(({ name, value: text }) => ({ name: String(name), value: String(text ?? '') }))
}

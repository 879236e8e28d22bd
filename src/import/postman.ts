import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { sourceOf } from '../openapi/security.ts'
import { plainText, titleSlug, upper } from '../openapi/tool-names.ts'
import { literal } from '../template/index.ts'
import { isSecretName } from '../text/index.ts'
import { foundSecrets, isValue } from './found-secrets.ts'
import type { ExampleBody, ExampleField, ExampleRequest, Login, Parameter } from './logins.ts'
import { type Examples, grouped, isIdentity, jsonOf } from './requests.ts'
import { tracked } from './unread.ts'
import { bodyFrom, pairsOf } from './url-requests.ts'

const VARIABLE = /\{\{([^{}]{1,100})\}\}/g

const LANGUAGES = new Map(
  Object.entries({ json: 'application/json', xml: 'application/xml', text: 'text/plain' }),
)

interface Folder {
  tags: string[]
  auth: Login | undefined
  depth: number
}

/**
 * The requests in a Postman collection (v2.0 and v2.1), with folders as tags.
 * @param name of the configuration, for names of variables
 * @returns `fault`: why there are none
 */
export function postmanExamples(root: Json, name: string | undefined): Examples | { fault: string } {
  const { value, unread } = tracked(root)
  const collection = isObject(value) && isObject(value.collection) ? value.collection : value
  if (!isObject(collection) || !Array.isArray(collection.item)) return { fault: 'it has no `item`' }
  const info = isObject(collection.info) ? collection.info : {}
  const title = plainText(String(info.name ?? ''), 100)
  const variables = new Map<string, string>()
  const values = new Map<string, string>()
  for (const { key, id, value: text, type } of maps(collection.variable)) {
    const [own, given] = [String(key ?? id), String(text ?? '')]
    const isSecret =
      type === 'secret' || (isSecretName(own) && isValue(given)) || foundSecrets(given).length > 0
    // Secrets are never written.
    variables.set(own, isSecret ? '' : given)
    values.set(own, given)
  }
  const owner = upper(name ?? (titleSlug(title) || 'api'))
  const made: Examples & { leftOut: NonNullable<Examples['leftOut']> } = {
    ...{ title, requests: [], servers: variables, skipped: [], leftOut: [] },
    secrets: new Map(
      [...values].flatMap(([key, one]) =>
        one !== '' && variables.get(key) === '' ? [[sourceOf(key, owner).variable, one]] : [],
      ),
    ),
    secretOf(text) {
      const names = [...text.matchAll(VARIABLE)].map(([, key = '']) => key.trim())
      return names.every((key) => values.get(key))
        ? text.replace(VARIABLE, (_, key: string) => values.get(key.trim())!)
        : undefined
    },
  }
  const reader = new Reader(variables, owner, made)
  reader.folder(collection.item, { tags: [], auth: loginOf(collection.auth), depth: 0 })
  for (const path of unread()) {
    const at = path.lastIndexOf('item') + 1
    const what = at === 0 ? path : path.slice(at + 1)
    if (what.length === 0 || what.some((key) => NO_PART.test(key))) continue
    const operation = path.slice(0, at + 1).filter((key) => key !== 'item')
    const [, reason = 'a configuration has no counterpart'] = UNUSED.find(([key]) => key.test(what[0]!)) ?? []
    made.leftOut.push({
      operation: (at === 0 ? [] : operation).join(' › ') || title,
      what: what.join('.'),
      reason,
    })
  }
  return made
}

/** Keys that say nothing about requests: ids, times, editor state, and parts of a URL that is also given whole. */
const NO_PART =
  /^(?:_.*|\$?schema|id|uid|version|owner|fork|createdAt|updatedAt|lastUpdatedBy|src|raw|protocol|host|port|path|hash|enabled|type|system|options)$/
/** Why other unused parts are not imported. */
const UNUSED: readonly [key: RegExp, reason: string][] = [
  [/^event$/, 'scripts are not run'],
  [/^response$/, 'saved responses are not imported'],
]

class Reader {
  constructor(
    readonly variables: ReadonlyMap<string, string>,
    readonly owner: string,
    readonly made: Examples,
  ) {}

  folder(items: readonly Json[], { tags, auth, depth }: Folder): void {
    for (const item of items.filter(isObject)) {
      const name = plainText(String(item.name ?? ''), 200)
      if (Array.isArray(item.item)) {
        const own = 'auth' in item && item.auth !== null ? loginOf(item.auth) : auth
        if (depth < 20)
          this.folder(item.item, { tags: tags.length > 0 ? tags : [name], auth: own, depth: depth + 1 })
        else this.made.skipped.push({ operation: name, reason: 'its folder is nested too deeply' })
        continue
      }
      const given = typeof item.request === 'string' ? { url: item.request } : item.request
      const request = isObject(given) ? this.request(name, given, tags, auth) : undefined
      if (request) this.made.requests.push(request)
      else this.made.skipped.push({ operation: name, reason: 'it has no URL' })
    }
  }

  request(
    name: string,
    given: JsonObject,
    tags: string[],
    auth: Login | undefined,
  ): ExampleRequest | undefined {
    const raw = typeof given.url === 'string' ? given.url : isObject(given.url) ? rawUrl(given.url) : ''
    const [, origin = '', rest = '/'] =
      /^((?:[a-z][a-z\d+.-]*:\/\/)?[^/?#]+)([\s\S]*)$/i.exec(raw.trim()) ?? []
    if (origin === '') return undefined
    const url = isObject(given.url) ? given.url : {}
    const examples = new Map<string, Parameter>()
    for (const one of maps(url.variable)) examples.set(String(one.key ?? one.id), this.parameter(one))
    const [written = '', search = ''] = rest.split('#')[0]!.split('?')
    const path = written
      .replace(/(?<=\/):([A-Za-z_]\w*)/g, '{$1}')
      .replace(VARIABLE, (_, key: string) => this.#inPath(key.trim(), examples))
    const listed = this.#pairs(url.query)
    const query = listed.length > 0 ? listed : pairsOf(new URLSearchParams(search))
    const [off, sent] = [true, false].map((isOff) =>
      maps(given.header).filter(({ disabled }) => (disabled === true) === isOff),
    ) as [JsonObject[], JsonObject[]]
    for (const { key } of off.map((one) => ({ ...one })))
      this.made.leftOut?.push({
        operation: name,
        what: `the header ${String(key)}`,
        reason: 'it is switched off',
      })
    const headers = sent.map((one) => ({
      name: String(one.key ?? ''),
      value: this.#header(String(one.value ?? '')),
    }))
    const type = headers.find((one) => /^content-type$/i.test(one.name))?.value ?? ''
    const login = 'auth' in given && given.auth !== null ? loginOf(given.auth) : auth
    return {
      name,
      description: textOf(given.description),
      tags,
      method: String(given.method ?? 'GET').toUpperCase(),
      origin: this.#origin(origin),
      path: path.startsWith('/') ? path : `/${path}`,
      query: query.filter((one) => one.name !== '' && !one.name.includes('{{')),
      headers,
      pathExamples: examples,
      body: isObject(given.body) ? this.#body(given.body, type) : undefined,
      login,
    }
  }

  /** A variable of the path: its value, such as `v1`, or an argument; one named like a secret is of the environment. */
  #inPath(key: string, examples: Map<string, Parameter>): string {
    const value = this.variables.get(key) ?? ''
    if (value !== '' && !isIdentity(value)) return value
    const name = key.replace(/\W+/g, '_')
    if (isSecretName(key)) examples.set(name, { name, value: `{{${key}}}`, isSecret: true })
    else if (value !== '') examples.set(name, { name, value })
    return `{${name}}`
  }

  parameter({ key, id, value, description }: JsonObject): Parameter {
    const text = String(value ?? '')
    return {
      name: String(key ?? id ?? ''),
      value: text.replace(VARIABLE, (_, name: string) => this.variables.get(name.trim()) ?? ''),
      description: textOf(description),
    }
  }

  /** Disabled entries are alternatives, used only if nothing else has the name. */
  #pairs(list: Json | undefined): ExampleField[] {
    const all = maps(list).map((one) => ({
      ...this.parameter(one),
      isFile: one.type === 'file',
      type: textOf(one.contentType),
      isOff: one.disabled === true,
    }))
    const sent = grouped(all.filter(({ isOff }) => !isOff))
    const names = new Set(sent.map(({ name }) => name))
    return [...sent, ...grouped(all.filter(({ isOff, name }) => isOff && !names.has(name)))]
  }

  /** Host variables come from the environment; the default scheme is https. */
  #origin(text: string): string {
    const named = text.replace(VARIABLE, (_, key: string) => `{${key.trim()}}`)
    const [, first] = /^\{([^{}]*)\}/.exec(named) ?? []
    const known = first !== undefined && (this.variables.get(first) ?? '')
    // A variable with a whole URL, or an unknown value.
    if (known === '' || (known && /^https?:\/\//i.test(known))) return named
    return /^[a-z][a-z\d+.-]*:\/\//i.test(named) ? named : `https://${named}`
  }

  /** A template that reads environment variables for those of the collection. */
  #header(text: string): string {
    const preset = (key: string) => this.variables.get(key) ?? ''
    return text
      .split(VARIABLE)
      .map((piece, i) => {
        if (i % 2 === 0) return literal(piece)
        const key = piece.trim()
        return `{{env ${JSON.stringify(sourceOf(key, this.owner).variable)} ${JSON.stringify(preset(key))}}}`
      })
      .join('')
  }

  #body(body: JsonObject, type: string): ExampleBody | undefined {
    const fields = (list: Json | undefined) => this.#pairs(list).filter((one) => one.name !== '')
    switch (body.mode) {
      case 'urlencoded':
        return { form: 'urlencoded', fields: fields(body.urlencoded) }
      case 'formdata':
        return { form: 'multipart', fields: fields(body.formdata) }
      case 'graphql': {
        const { query, variables, operationName } = isObject(body.graphql) ? body.graphql : {}
        const operation = typeof operationName === 'string' &&
          operationName !== '' && { operation: operationName }
        const values = typeof variables === 'string' ? jsonOf(this.#values(variables)) : variables
        return typeof query === 'string'
          ? { form: 'graphql', query, variables: isObject(values) ? values : {}, ...operation }
          : undefined
      }
      case 'raw': {
        const { options } = body
        const raw = isObject(options) && isObject(options.raw) ? options.raw : {}
        const media = type || (LANGUAGES.get(String(raw.language)) ?? '')
        return bodyFrom(this.#values(String(body.raw ?? '')), media)
      }
      case 'file':
        return { form: 'text', type: type || 'text/plain' }
      default:
        return undefined
    }
  }

  /** JSON with variables: quoted ones stay texts, others become their values, of any type where they have none. */
  #values(text: string): string {
    return text.replace(
      /"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|\{\{([^{}]{1,100})\}\}/g,
      (token, name: string | undefined) => {
        if (name === undefined)
          return token.replace(VARIABLE, (_, key: string) =>
            JSON.stringify(this.variables.get(key.trim()) ?? '').slice(1, -1),
          )
        const value = this.variables.get(name.trim())
        if (!value) return 'null'
        return jsonOf(value) === undefined ? JSON.stringify(value) : value
      },
    )
  }
}

function rawUrl({ raw, protocol, host, path }: JsonObject): string {
  if (typeof raw === 'string' && raw !== '') return raw
  const joined = (value: Json | undefined, by: string) =>
    Array.isArray(value)
      ? value.map((one) => (isObject(one) ? String(one.value) : String(one))).join(by)
      : typeof value === 'string'
        ? value
        : ''
  const own = joined(host, '.')
  return own === ''
    ? ''
    : `${typeof protocol === 'string' ? `${protocol}://` : ''}${own}/${joined(path, '/').replace(/^\//, '')}`
}

/** `auth` in the form of v2.0 (a map) or v2.1 (a list of pairs). */
function loginOf(auth: Json | undefined): Login | undefined {
  if (!isObject(auth)) return undefined
  const { type } = auth
  const part = auth[String(type)]
  const values: JsonObject = Array.isArray(part)
    ? Object.fromEntries(maps(part).map(({ key, value }) => [String(key), value ?? null]))
    : isObject(part)
      ? part
      : {}
  const textFor = (...keys: string[]) =>
    keys
      .map((key) => String(values[key] ?? ''))
      .join(':')
      .replace(/^:$/, '')
  if (type === 'bearer') return { type, value: textFor('token') }
  if (type === 'oauth2') return { type: 'bearer', value: textFor('accessToken') }
  if (type === 'basic') return { type, value: textFor('username', 'password') }
  if (type === 'apikey')
    return {
      type: 'apiKey',
      in: values.in === 'query' ? 'query' : 'header',
      name: String(values.key ?? 'X-Api-Key'),
      value: textFor('value'),
    }
  return type === 'noauth' || type === undefined ? undefined : { type: 'other', scheme: String(type) }
}

function maps(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function textOf(value: Json | undefined): string {
  const text = isObject(value) ? value.content : value
  return typeof text === 'string' ? text : ''
}

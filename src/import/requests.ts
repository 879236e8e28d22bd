import type { Source } from '../config/index.ts'
import { METHODS } from '../config/index.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { isObject } from '../json/index.ts'
import { type ImportOptions, type ImportResult, importOpenApi } from '../openapi/index.ts'
import { slug } from '../openapi/tool-names.ts'
import { literal } from '../template/index.ts'
import { isSecretHeader, isSecretName, isSecretParameter } from '../text/index.ts'

/** A request that somebody recorded or wrote down, as an example of an operation. */
export interface ExampleRequest {
  /** What it is called; empty: named after method and path. */
  name: string
  description: string
  tags: string[]
  method: string
  /** Scheme, host and port, or what stands for it: `{baseUrl}`. Empty: it is not known. */
  origin: string
  /** Templates in the form of OpenAPI: `/users/{id}`. */
  path: string
  query: Parameter[]
  /** Values may be templates. */
  headers: Parameter[]
  /** Of the path, by name. */
  pathExamples: ReadonlyMap<string, Parameter>
  body: ExampleBody | undefined
  login: Login | undefined
}

export interface Parameter {
  name: string
  value: string
  description?: string
}

export type ExampleBody =
  | { form: 'json'; value: Json }
  | { form: 'urlencoded' | 'multipart'; fields: (Parameter & { isFile?: boolean })[] }
  | { form: 'text'; type: string }
  | { form: 'graphql'; query: string; variables: JsonObject }

/** How it logs in; the secret itself comes from the environment. */
export type Login =
  | { type: 'bearer' | 'basic' }
  | { type: 'apiKey'; in: 'header' | 'query'; name: string }
  /** What a configuration cannot express. */
  | { type: 'other'; scheme: string }

export interface Examples {
  title: string
  requests: ExampleRequest[]
  /** Values of what stands for origins, by name. */
  servers: ReadonlyMap<string, string>
  /** What is no request of an API, and why. */
  skipped: { operation: string; reason: string }[]
}

/** More requests are no examples of one API. */
const MAX_REQUESTS = 2000
/** Headers that the gateway or a browser sets by itself. */
const OWN_HEADERS =
  /^(?::.*|accept|accept-(?:encoding|language|charset)|cache-control|connection|content-(?:length|type|encoding)|dnt|expect|host|if-.*|keep-alive|origin|postman-token|pragma|priority|proxy-.*|referer|sec-.*|te|trailer|transfer-encoding|upgrade.*|user-agent)$/i

/** Makes configurations of examples of requests, by way of a description of what they have in common. */
export function importExamples(
  { file }: Source,
  { title, requests, servers, skipped }: Examples,
  options: ImportOptions & { made: string },
): ImportResult {
  const paths: JsonObject = {}
  const schemes: JsonObject = {}
  const fixed = new Map<string, { headers: Record<string, string>; body?: string }>()
  const known = new Set<string>()
  const uncalled: Examples['skipped'] = []
  for (const request of requests.slice(0, MAX_REQUESTS)) {
    const method = request.method.toLowerCase()
    if (!METHODS.includes(request.method)) {
      const operation = `${request.method} ${request.path}`
      uncalled.push({ operation, reason: `the method ${request.method.slice(0, 40)} cannot be called` })
      continue
    }
    let path = request.path
    // A fragment is never sent.
    for (let n = 2; known.has(`${method} ${path}`); n++) path = `${request.path}#${n}`
    known.add(`${method} ${path}`)
    fixed.set(`${method.toUpperCase()} ${path}`, { headers: fixedHeaders(request), ...graphqlBody(request) })
    paths[path] = { ...(paths[path] as JsonObject), [method]: operationOf(request, servers, schemes) }
  }
  const document = { openapi: '3.0.3', info: { title }, paths, components: { securitySchemes: schemes } }
  const made = importOpenApi(
    { file, text: JSON.stringify(document) },
    { ...options, fixed: ({ shown }) => fixed.get(shown) },
  )
  if (made.fault !== undefined || made.findings) return made
  const more = requests.slice(MAX_REQUESTS).map(({ method, path }) => ({
    operation: `${method} ${path}`,
    reason: `there are more than ${MAX_REQUESTS} requests`,
  }))
  return {
    ...made,
    operations: made.operations + skipped.length + uncalled.length + more.length,
    skipped: [...skipped, ...uncalled, ...made.skipped, ...more],
  }
}

function operationOf(request: ExampleRequest, servers: Examples['servers'], schemes: JsonObject): JsonObject {
  const { name, description, tags, origin, path, query, pathExamples, body } = request
  const inPath = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, key = '']) =>
    parameter('path', pathExamples.get(key) ?? { name: key, value: '' }),
  )
  const open = query.filter((one) => !isSecretParameter(one.name))
  return {
    ...(name !== '' && { operationId: slug(name).replaceAll('-', '_'), summary: name }),
    description,
    tags,
    parameters: [...inPath, ...open.map((one) => parameter('query', one))] as Json[],
    ...(body && { requestBody: bodyOf(body) }),
    security: securityOf(request, schemes),
    ...(origin !== '' && { servers: [serverOf(origin, servers)] }),
  }
}

function parameter(place: string, { name, value, description = '' }: Parameter): JsonObject {
  return {
    in: place,
    name,
    required: place === 'path',
    description: described(description, value, name),
    schema: { type: typeOf(value) },
  }
}

/** An example says more than a name, unless it may be a secret or somebody's address. */
function described(description: string, value: string, name: string): string {
  const isOpen = !isSecretName(name) && !/[{}@]/.test(value)
  const example = value !== '' && value.length <= 60 && isOpen ? `For example ${value}` : ''
  return [description, example].filter(Boolean).join('. ')
}

function typeOf(value: string): string {
  if (/^-?(?:0|[1-9]\d{0,14})$/.test(value)) return 'integer'
  return /^(?:true|false)$/.test(value) ? 'boolean' : 'string'
}

function serverOf(origin: string, servers: Examples['servers']): JsonObject {
  const names = [...origin.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)
  // Each stands for a whole origin, for a port or for a host.
  const fallback = (name: string) =>
    origin.startsWith(`{${name}}`) ? 'http://localhost' : origin.endsWith(`:{${name}}`) ? '443' : 'localhost'
  const variables = Object.fromEntries(
    names.map((name) => [name, { default: servers.get(name) || fallback(name) }]),
  )
  return { url: origin, variables }
}

function securityOf({ login, headers, query }: ExampleRequest, schemes: JsonObject): Json[] {
  const used: JsonObject = {}
  const add = (key: string, scheme: JsonObject) => {
    schemes[key] = scheme
    used[key] = []
  }
  const addKey = (place: string, name: string) =>
    add(slug(name) || 'key', { type: 'apiKey', in: place, name })
  if (login?.type === 'bearer') add('token', { type: 'http', scheme: 'bearer' })
  else if (login?.type === 'basic') add('basic', { type: 'http', scheme: 'basic' })
  else if (login?.type === 'apiKey') addKey(login.in, login.name)
  else if (login?.type === 'other') add(slug(login.scheme) || 'other', { type: 'http', scheme: login.scheme })
  for (const { name, value } of headers) {
    if (!isSecretHeader(name) || OWN_HEADERS.test(name)) continue
    const scheme = /^authorization$/i.test(name)
      ? /^(bearer|basic)\s/i.exec(value)?.[1]?.toLowerCase()
      : undefined
    if (/^authorization$/i.test(name) && login) continue
    if (scheme === 'bearer') add('token', { type: 'http', scheme })
    else if (scheme === 'basic') add('basic', { type: 'http', scheme })
    else addKey('header', name)
  }
  for (const { name } of query) if (isSecretParameter(name)) addKey('query', name)
  return Object.keys(used).length > 0 ? [used] : []
}

function fixedHeaders({ headers }: ExampleRequest): Record<string, string> {
  const kept = headers.filter(
    ({ name }) => !OWN_HEADERS.test(name) && !isSecretHeader(name) && /^[\w!#$%&'*+.^`|~-]+$/.test(name),
  )
  return Object.fromEntries(kept.map(({ name, value }) => [name, value]))
}

function bodyOf(body: ExampleBody): JsonObject {
  switch (body.form) {
    case 'json':
      return content('application/json', schemaOf(body.value, 0))
    case 'graphql':
      return content('application/json', schemaOf(body.variables, 0))
    case 'text':
      return content(body.type, { type: 'string' })
    default: {
      const properties = Object.fromEntries(
        body.fields.map(({ name, value, description = '', isFile }) => [
          name,
          isFile
            ? { type: 'string', format: 'binary', description }
            : { type: 'string', description: described(description, value, name) },
        ]),
      )
      const type = body.form === 'multipart' ? 'multipart/form-data' : 'application/x-www-form-urlencoded'
      return content(type, { type: 'object', properties })
    }
  }
}

function content(type: string, schema: JsonObject): JsonObject {
  return { required: true, content: { [type]: { schema } } }
}

/** Deeper values say less than they cost. */
const MAX_DEPTH = 6

/** The schema of which a value is an example; what an object has, it needs. */
function schemaOf(value: Json, depth: number, name = ''): JsonObject {
  if (value === null || depth > MAX_DEPTH) return {}
  if (Array.isArray(value))
    return { type: 'array', items: value[0] === undefined ? {} : schemaOf(value[0], depth + 1, name) }
  if (isObject(value)) {
    const members = Object.entries(value).slice(0, 200)
    const required = members.filter(([, member]) => member !== null).map(([key]) => key)
    return {
      type: 'object',
      properties: Object.fromEntries(members.map(([key, member]) => [key, schemaOf(member, depth + 1, key)])),
      ...(required.length > 0 && { required }),
    }
  }
  if (typeof value === 'string') {
    const description = described('', value, name)
    return { type: 'string', ...(description !== '' && { description }) }
  }
  if (typeof value === 'boolean') return { type: 'boolean' }
  return { type: Number.isInteger(Number(value)) ? 'integer' : 'number' }
}

/** The query is the same in every call, the variables are arguments. */
function graphqlBody({ body }: ExampleRequest): { body?: string } {
  if (body?.form !== 'graphql') return {}
  const names = Object.keys(body.variables).filter((name) => /^[A-Za-z_]\w*$/.test(name))
  const variables = names.map((name) => `"${name}": {{toJSON .Args.${name}}}`).join(', ')
  const query = literal(JSON.stringify(body.query))
  return { body: `{"query": ${query}${names.length > 0 ? `, "variables": {${variables}}` : ''}}` }
}

/** `/users/42` → `/users/{userId}`: numbers and UUIDs of an example are those of its call. */
export function openPath(path: string): { path: string; examples: Map<string, Parameter> } {
  const examples = new Map<string, Parameter>()
  const segments = path.split('/')
  const opened = segments.map((segment, i) => {
    if (!/^(?:\d+|[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{24})$/i.test(segment)) return segment
    const before = (segments[i - 1] ?? '').replace(/[^A-Za-z0-9]+/g, '_').replace(/(?<=[a-z])s$/, '')
    const base = /^[A-Za-z]\w*$/.test(before) ? `${before}Id` : 'id'
    let name = base
    for (let n = 2; examples.has(name); n++) name = `${base}${n}`
    examples.set(name, { name, value: segment })
    return `{${name}}`
  })
  return { path: opened.join('/'), examples }
}

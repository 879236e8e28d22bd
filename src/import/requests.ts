import { METHODS, type Source } from '../config/index.ts'
import { isObject, type Json, type JsonObject, parse, withoutComments } from '../json/index.ts'
import { type Imported, type ImportOptions, type ImportResult, importOpenApi } from '../openapi/index.ts'
import { sourceOf } from '../openapi/security.ts'
import { isHeaderName, slug } from '../openapi/tool-names.ts'
import { literal } from '../template/index.ts'
import { isIdentifier, isSecretName } from '../text/index.ts'
import { foundSecrets } from './found-secrets.ts'
import {
  type ExampleBody,
  type ExampleField,
  type ExampleRequest,
  isSecretPair,
  isSecretQuery,
  Logins,
  type Parameter,
} from './logins.ts'

export interface Examples {
  title: string
  requests: ExampleRequest[]
  /** Values of origin variables, by name. */
  servers: ReadonlyMap<string, string>
  /** Skipped entries with reasons. */
  skipped: { operation: string; reason: string }[]
  /** Omitted parts of requests, with reasons. */
  leftOut?: { operation: string; what: string; reason: string }[]
  /** Secrets by names of environment variables, beside those of logins. */
  secrets?: ReadonlyMap<string, string>
  /** The secret that a text of a login stands for; undefined: unknown. Default: the text. */
  secretOf?: (text: string) => string | undefined
  /** Whether requests were recorded over time, so that secrets of one host may have been renewed. */
  isRecorded?: boolean
}

/** `values`: secrets of the examples, by names of the environment variables that are read instead. */
type ImportedExamples =
  | Exclude<ImportResult, { configurations: unknown }>
  | (Extract<ImportResult, { configurations: unknown }> & { values: ReadonlyMap<string, string> })

/** Maximum requests for one API. */
const MAX_REQUESTS = 2000
/** Headers that the gateway or a browser sets itself. */
const OWN_HEADERS =
  /^(?::.*|accept|accept-(?:encoding|language|charset)|cache-control|connection|content-(?:length|type|encoding)|dnt|expect|host|if-.*|keep-alive|origin|postman-token|pragma|priority|proxy-.*|referer|sec-.*|te|trailer|transfer-encoding|upgrade.*|user-agent)$/i

/** Creates configurations from examples of requests, by way of an OpenAPI description. */
export function importExamples(
  { file }: Source,
  { title, requests, servers, skipped, leftOut = [], isRecorded = false, ...known }: Examples,
  options: ImportOptions & { made: string },
): ImportedExamples {
  const paths: JsonObject = {}
  const logins = new Logins(isRecorded)
  const fixed = new Map<string, Fixed>()
  const taken = new Set<string>()
  const uncalled: Examples['skipped'] = []
  const unsent: Imported['leftOut'] = []
  const own = new Set<string>()
  for (const request of requests.slice(0, MAX_REQUESTS)) {
    const method = request.method.toLowerCase()
    if (!METHODS.includes(request.method)) {
      const operation = `${request.method} ${request.path}`
      uncalled.push({ operation, reason: `the method ${request.method.slice(0, 40)} cannot be called` })
      continue
    }
    let path = request.path
    // Fragments distinguish the operations, and are never sent.
    for (let n = 2; taken.has(`${method} ${path}`); n++) path = `${request.path}#${n}`
    taken.add(`${method} ${path}`)
    paths[path] = { ...(paths[path] as JsonObject), [method]: operationOf(request, servers, logins) }
    fixed.set(`${method.toUpperCase()} ${path}`, fixedOf(request, logins))
    for (const one of request.headers)
      if (!isOwn(one) && !/^(?::|content-type$)/i.test(one.name)) own.add(one.name.toLowerCase())
    for (const { name } of request.headers.filter((one) => isOwn(one) && !canBeSent(one)))
      unsent.push({
        operation: `${request.method} ${path}`,
        what: `the header ${JSON.stringify(name)}`,
        reason: 'it cannot be sent',
      })
  }
  if (own.size > 0)
    unsent.push({
      operation: 'all requests',
      what: `headers ${[...own].join(', ')}`,
      reason: 'the gateway or the client sets them itself',
    })
  const document = {
    openapi: '3.0.3',
    info: { title },
    paths,
    components: { securitySchemes: logins.schemes },
  }
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
    leftOut: [...leftOut, ...unsent, ...made.leftOut],
    values: new Map([...(known.secrets ?? []), ...valuesOf(logins, made.name, known.secretOf)]),
  }
}

/** The secrets of logins by names of environment variables. */
function valuesOf(
  { secrets, schemes }: Logins,
  name: string,
  secretOf: NonNullable<Examples['secretOf']> = (text) => text,
): [variable: string, value: string][] {
  return [...secrets].flatMap(([scheme, text]): [string, string][] => {
    const value = secretOf(text)
    const { variable } = sourceOf(scheme, name)
    if (value === undefined) return []
    if ((schemes[scheme] as JsonObject | undefined)?.scheme !== 'basic') return [[variable, value]]
    const colon = value.indexOf(':')
    return [
      [`${variable}_USER`, value.slice(0, colon)],
      [`${variable}_PASSWORD`, value.slice(colon + 1)],
    ]
  })
}

type Fixed = NonNullable<ReturnType<NonNullable<ImportOptions['fixed']>>>

/** The constant parts of calls. */
function fixedOf(request: ExampleRequest, logins: Logins): Fixed {
  return {
    headers: fixedHeaders(request),
    ...graphqlBody(request),
    ...(request.follows && { followRedirects: true }),
    login: (place, name) => {
      const part = partOf(request, place, name)
      return part && logins.ofPart(place, part, request.origin)
    },
  }
}

/** A part that may be a login; of path parameters only secrets. */
function partOf(
  { query, headers, pathExamples, body }: ExampleRequest,
  place: string,
  name: string,
): Parameter | undefined {
  if (place === 'path') return pathExamples.get(name)?.isSecret ? pathExamples.get(name) : undefined
  if (place === 'query') return query.find((one) => one.name === name)
  if (place === 'header') return headers.find((one) => one.name === name)
  if (body?.form === 'json' && isObject(body.value)) {
    const value = Object.hasOwn(body.value, name) ? body.value[name] : undefined
    return { name, value: typeof value === 'string' ? value : '' }
  }
  return body && 'fields' in body ? body.fields.find((one) => one.name === name) : undefined
}

function operationOf(request: ExampleRequest, servers: Examples['servers'], logins: Logins): JsonObject {
  const { name, description, tags, origin, path, query, pathExamples, body } = request
  const inPath = [...path.matchAll(/\{([^{}]*)\}/g)].map(([, key = '']) =>
    parameter('path', pathExamples.get(key) ?? { name: key, value: '' }),
  )
  const open = query.filter((one) => !isSecretQuery(one))
  return {
    ...(name !== '' && { operationId: slug(name).replaceAll('-', '_'), summary: name }),
    description,
    tags,
    parameters: [...inPath, ...open.map((one) => parameter('query', one))] as Json[],
    ...(body && { requestBody: bodyOf(body) }),
    security: logins.securityOf(request),
    ...(origin !== '' && { servers: [serverOf(origin, servers)] }),
  }
}

function parameter(place: string, { name, value, description = '', isList }: Parameter): JsonObject {
  return {
    in: place,
    name,
    required: place === 'path',
    description: described(description, value, name),
    schema: listed({ type: typeOf(value) }, isList),
  }
}

function listed(schema: JsonObject, isList = false): JsonObject {
  return isList ? { type: 'array', items: schema } : schema
}

/** Pairs by name: repeated ones become lists. */
export function grouped<P extends Parameter>(pairs: readonly P[]): P[] {
  const found = new Map<string, P>()
  for (const one of pairs) {
    const known = found.get(one.name)
    // Keeps the most general type of several values.
    const said = known && typeOf(known.value) === 'string' ? known : one
    found.set(one.name, known ? { ...said, isList: true } : one)
  }
  return [...found.values()]
}

/** An example is helpful, unless it may be a secret or personal data. */
function described(description: string, value: string, name: string): string {
  const isOpen = !isSecretName(name) && !/[{}@]/.test(value) && foundSecrets(value).length === 0
  const example = value !== '' && value.length <= 60 && isOpen ? `For example ${value}` : ''
  return [description, example].filter(Boolean).join('. ')
}

function typeOf(value: string): string {
  if (/^-?(?:0|[1-9]\d{0,14})$/.test(value)) return 'integer'
  return /^(?:true|false)$/.test(value) ? 'boolean' : 'string'
}

function serverOf(origin: string, servers: Examples['servers']): JsonObject {
  const names = [...origin.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name)
  // Each variable represents a whole origin, a port or a host.
  const fallback = (name: string) =>
    origin.startsWith(`{${name}}`) ? 'http://localhost' : origin.endsWith(`:{${name}}`) ? '443' : 'localhost'
  const variables = Object.fromEntries(
    names.map((name) => [name, { default: servers.get(name) || fallback(name) }]),
  )
  return { url: origin, variables }
}

function fixedHeaders({ headers }: ExampleRequest): Record<string, string> {
  const kept = headers.filter((one) => isOwn(one) && !isSecretPair(one) && canBeSent(one))
  return Object.fromEntries(kept.map(({ name, value }) => [name, value]))
}

function canBeSent({ name, value }: Parameter): boolean {
  return isHeaderName(name) && !/[\0-\x08\n-\x1f\x7f]/.test(value)
}

/** APIs select versions by specific media types. */
function isOwn({ name, value }: Parameter): boolean {
  return !OWN_HEADERS.test(name) || (/^accept$/i.test(name) && /\bvnd\./.test(value))
}

function bodyOf(body: ExampleBody): JsonObject {
  switch (body.form) {
    case 'json':
      return content(body.type ?? 'application/json', schemaOf(body.value, 0))
    case 'graphql':
      return content('application/json', {
        ...schemaOf(body.variables, 0),
        additionalProperties: false,
      })
    case 'text':
      return content(body.type, { type: 'string' })
    default: {
      const properties = Object.fromEntries(body.fields.map((field) => [field.name, fieldSchema(field)]))
      const type = body.form === 'multipart' ? 'multipart/form-data' : 'application/x-www-form-urlencoded'
      return content(type, { type: 'object', properties })
    }
  }
}

function fieldSchema({ name, value, description = '', isFile, isList, type = '' }: ExampleField): JsonObject {
  if (isFile) return { ...listed({ type: 'string', format: 'binary' }, isList), description }
  const json = /\bjson$/.test(type) ? jsonOf(value) : undefined
  if (isObject(json)) return { ...schemaOf(json, 0), description }
  return { ...listed({ type: 'string' }, isList), description: described(description, value, name) }
}

function content(type: string, schema: JsonObject): JsonObject {
  return { required: true, content: { [type]: { schema } } }
}

/** The schema of an example value; all members of an object are required. */
function schemaOf(value: Json, depth: number, name = ''): JsonObject {
  if (value === null || depth > 6) return {}
  if (Array.isArray(value)) {
    const items = value.slice(0, 50).map((one) => schemaOf(one, depth + 1, name))
    return { type: 'array', items: items.length === 0 ? {} : items.reduce(either) }
  }
  if (isObject(value)) {
    const members = Object.entries(value).slice(0, 200)
    const required = members.filter(([, member]) => member !== null).map(([key]) => key)
    return {
      type: 'object',
      ...(members.length > 0 && {
        properties: Object.fromEntries(
          members.map(([key, member]) => [key, schemaOf(member, depth + 1, key)]),
        ),
      }),
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

/** A schema that allows values of both; any value if they have nothing in common. */
function either(one: JsonObject, other: JsonObject): JsonObject {
  if (one.type === undefined || one.type !== other.type) {
    const isNumber = [one, other].every(({ type }) => type === 'integer' || type === 'number')
    return isNumber ? { type: 'number' } : {}
  }
  if (one.type === 'array')
    return { ...one, items: either(one.items as JsonObject, other.items as JsonObject) }
  if (one.type !== 'object') return one
  const [own, more] = [one, other].map(({ properties }) => (properties ?? {}) as Record<string, JsonObject>)
  const properties = { ...own, ...more }
  for (const name of Object.keys(own!))
    if (Object.hasOwn(more!, name)) properties[name] = either(own![name]!, more![name]!)
  const needed = (one.required ?? []) as string[]
  const required = needed.filter((name) => ((other.required ?? []) as string[]).includes(name))
  return {
    type: 'object',
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

/** The query is constant, the variables are arguments. */
function graphqlBody({ body }: ExampleRequest): { body?: string } {
  if (body?.form !== 'graphql') return {}
  const names = Object.keys(body.variables).filter(isIdentifier)
  const variables = names.map((name) => `"${name}": {{toJSON .Args.${name}}}`).join(', ')
  const fixed = ['query', 'operation'] as const
  const [query, operation] = fixed.map((key) => literal(JSON.stringify(body[key] ?? '')))
  const which = body.operation === undefined ? '' : `"operationName": ${operation}, `
  return { body: `{${which}"query": ${query}${names.length > 0 ? `, "variables": {${variables}}` : ''}}` }
}

/** Whether a segment of a path names one of many things, such as a number or UUID. */
export function isIdentity(segment: string): boolean {
  return /^(?:\d+|[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}|[\da-f]{24})$/i.test(segment)
}

/** `/users/42` → `/users/{userId}`: replaces numbers and UUIDs by parameters. */
export function openPath(path: string): { path: string; examples: Map<string, Parameter> } {
  const examples = new Map<string, Parameter>()
  const segments = path.split('/')
  const opened = segments.map((segment, i) => {
    const isSecret = foundSecrets(`https://x/${segment}`).length > 0
    if (!isSecret && !isIdentity(segment)) return segment
    if (isSecret) {
      const name = examples.has('token') ? `token${i}` : 'token'
      examples.set(name, { name, value: segment, isSecret })
      return `{${name}}`
    }
    const before = (segments[i - 1] ?? '').replace(/[^A-Za-z0-9]+/g, '_').replace(/(?<=[a-z])s$/, '')
    const base = /^[A-Za-z]\w*$/.test(before) ? `${before}Id` : 'id'
    let name = base
    for (let n = 2; examples.has(name); n++) name = `${base}${n}`
    examples.set(name, { name, value: segment })
    return `{${name}}`
  })
  return { path: opened.join('/'), examples }
}

/** JSON with comments, as people write it; undefined if invalid. */
export function jsonOf(text: string): Json | undefined {
  try {
    return parse(withoutComments(text)?.text ?? text)
  } catch {
    return undefined
  }
}

import type { Json, JsonObject } from '../json/index.ts'
import { hostTitle, slug } from '../openapi/tool-names.ts'
import { isSecretHeader, isSecretParameter } from '../text/index.ts'
import { foundSecrets } from './found-secrets.ts'

/** A recorded or written request as an example of an operation. */
export interface ExampleRequest {
  /** Empty: named after method and path. */
  name: string
  description: string
  tags: string[]
  method: string
  /** Scheme, host and port, or a variable: `{baseUrl}`. Empty: unknown. */
  origin: string
  /** OpenAPI path template: `/users/{id}`. */
  path: string
  query: Parameter[]
  /** Values may be templates. */
  headers: Parameter[]
  /** Path parameters by name. */
  pathExamples: ReadonlyMap<string, Parameter>
  body: ExampleBody | undefined
  login: Login | undefined
  /** Whether redirects are followed. */
  follows?: boolean
}

export interface Parameter {
  name: string
  value: string
  description?: string
  /** Whether it was sent several times. */
  isList?: boolean
  /** Whether a path parameter is a secret regardless of its name. */
  isSecret?: boolean
}

export type ExampleBody =
  /** `type`: a specific media type. */
  | { form: 'json'; value: Json; type?: string }
  | { form: 'urlencoded' | 'multipart'; fields: ExampleField[] }
  | { form: 'text'; type: string }
  | { form: 'graphql'; query: string; variables: JsonObject; operation?: string }

/** `type`: media type of a part other than a file. */
export type ExampleField = Parameter & { isFile?: boolean; type?: string }

/** The login; the secret itself only distinguishes logins, and comes from the environment later. */
export type Login =
  | { type: 'bearer' | 'basic'; value?: string }
  | { type: 'apiKey'; in: 'header' | 'query'; name: string; value?: string }
  /** A login that configurations cannot express. */
  | { type: 'other'; scheme: string }

/** Logins of requests as security schemes, each with its own name and variable. */
export class Logins {
  readonly schemes: JsonObject = {}
  /** Their secrets in the requests, if any. */
  readonly secrets = new Map<string, string>()
  /** Names by type, origin and secret. */
  readonly #names = new Map<string, string>()
  readonly #byValue = new Map<string, string>()
  readonly #taken = new Set<string>()
  /** Origin of the first login, whose names have no prefix. */
  #origin: string | undefined

  /** @param renewed whether secrets of one place change over time, so that they are the same login */
  constructor(readonly renewed: boolean) {}

  /** The `security` of a request. */
  securityOf({ login, headers, query, origin }: ExampleRequest): Json[] {
    const used: JsonObject = {}
    const add = (wanted: string, use: string, value: string, scheme: JsonObject) => {
      const name = this.#nameOf(wanted, use, origin, value)
      this.schemes[name] = scheme
      used[name] = []
    }
    const addKey = (place: string, { name, value }: Parameter) =>
      add(wordsOf(name), `${place} ${name.toLowerCase()}`, value, { type: 'apiKey', in: place, name })
    const addHttp = (scheme: string, value: string) =>
      add(scheme === 'bearer' ? 'token' : slug(scheme) || 'other', `http ${scheme}`, value, {
        type: 'http',
        scheme,
      })
    if (login?.type === 'apiKey') addKey(login.in, { name: login.name, value: login.value ?? '' })
    else if (login?.type === 'other') addHttp(login.scheme, '')
    else if (login) addHttp(login.type, login.value ?? '')
    for (const one of headers) {
      const isAuthorization = /^authorization$/i.test(one.name)
      if (!isSecretPair(one) || (isAuthorization && login && login.type !== 'apiKey')) continue
      const [, scheme, value = ''] = (isAuthorization && /^(bearer|basic)\s+(.*)$/is.exec(one.value)) || []
      if (scheme === undefined) addKey('header', one)
      else addHttp(scheme.toLowerCase(), value)
    }
    for (const one of query) if (isSecretQuery(one)) addKey('query', one)
    return Object.keys(used).length > 0 ? [used] : []
  }

  /** The login of a part named like one; shared with parts that have the same secret. */
  ofPart(place: string, { name, value }: Parameter, origin: string): string {
    const known = value === '' ? undefined : this.#byValue.get(value)
    return known ?? this.#nameOf(wordsOf(name), `${place} ${name}`, origin, value)
  }

  #nameOf(wanted: string, use: string, origin: string, value: string): string {
    const own = JSON.stringify([use, origin, this.renewed ? '' : value])
    const equal = value === '' ? own : JSON.stringify([use, value])
    const known = this.#names.get(own) ?? this.#names.get(equal)
    if (known !== undefined) return known
    this.#origin ??= origin
    const long = origin === this.#origin ? wanted : `${slug(hostTitle(origin)) || 'api'}-${wanted}`
    let name = this.#taken.has(wanted) ? long : wanted
    for (let n = 2; this.#taken.has(name); n++) name = `${long}-${n}`
    this.#taken.add(name)
    if (value !== '') this.secrets.set(name, value)
    this.#names.set(own, name).set(equal, name)
    if (value !== '' && use !== 'http basic' && !this.#byValue.has(value)) this.#byValue.set(value, name)
    return name
  }
}

/** `apiKey` → `api-key` */
function wordsOf(name: string): string {
  return slug(name.replace(/([a-z\d])([A-Z])/g, '$1-$2')) || 'key'
}

/** Whether a header is a login, by name or value. */
export function isSecretPair({ name, value }: Parameter): boolean {
  return isSecretHeader(name) || foundSecrets(value).length > 0
}

export function isSecretQuery({ name, value }: Parameter): boolean {
  return isSecretParameter(name) || foundSecrets(value).length > 0
}

import type { Json, JsonObject } from '../json/index.ts'
import { listOf, mapOf, type Refs, reasonOf, textOf, Unsupported } from './open-document.ts'
import { configKey, isFraming, isHeaderName, safeKey, upper } from './tool-names.ts'

/** Credentials of calls, from the environment. */
export interface Credentials {
  /** Values of `.Config` by key: templates that read `env`. */
  config: Map<string, string>
  headers: Map<string, string>
  /** Query pairs and cookies, each with its key of `.Config`. */
  query: [name: string, key: string][]
  cookies: [name: string, key: string][]
  /** The `.Config` key of the token in the `Authorization` header. */
  bearer?: string
  /** Why a required credential is not sent. */
  missing: string | undefined
}

/** The first supported alternative; one without credentials only as a last resort. */
export function credentialsOf(
  security: Json | undefined,
  schemes: JsonObject,
  name: string,
  refs: Refs,
): Credentials {
  const asked = listOf(security)
    .map(mapOf)
    .filter((one) => Object.keys(one).length > 0)
  let missing: string | undefined
  for (const alternative of asked) {
    const made = noCredentials()
    try {
      for (const scheme of Object.keys(alternative)) add(scheme, schemes, name, refs, made)
      return made
    } catch (error) {
      missing ??= reasonOf(error)
    }
  }
  return { ...noCredentials(), missing }
}

/** A token that the gateway fetches for every operation. */
export interface FetchedToken {
  scheme: string
  tokenUrl: string
  /** Where the operator logs in (RFC 6749, 4.1); absent: the gateway has credentials of its own (4.4). */
  authorizationUrl?: string
  /** Environment variables of the client. */
  clientId: string
  clientSecret: string
  scopes: string[]
}

/** The token of the only scheme that operations use, if the gateway can fetch it by itself. */
export function fetchedToken(
  operations: readonly (Json | undefined)[],
  schemes: JsonObject,
  name: string,
  refs: Refs,
): FetchedToken | undefined {
  const alternatives = operations.flatMap((security) => listOf(security).map(mapOf))
  const [scheme, ...others] = new Set(alternatives.flatMap((one) => Object.keys(one)))
  if (scheme === undefined || others.length > 0) return undefined
  const [, own] = readable(schemes, refs).find(([key]) => key === scheme) ?? []
  if (own?.type !== 'oauth2') return undefined
  // Swagger 2.0 calls the flows `application` and `accessCode`.
  const urlsOf = (old: string, flow: string) => {
    const given = own.flow === old ? own : mapOf(mapOf(own.flows)[flow])
    const urls = [given.tokenUrl, given.authorizationUrl].map(textOf)
    return urls.map((url) => (/^https:\/\/[^\s@#{}$]+$/.test(url ?? '') ? url : undefined))
  }
  const [fetched] = urlsOf('application', 'clientCredentials')
  const [byCode, authorizationUrl] = fetched === undefined ? urlsOf('accessCode', 'authorizationCode') : []
  const tokenUrl = fetched ?? (authorizationUrl === undefined ? undefined : byCode)
  if (tokenUrl === undefined) return undefined
  const scopes = alternatives.flatMap((one) =>
    listOf(one[scheme]).filter((scope) => typeof scope === 'string'),
  )
  const { variable } = sourceOf(scheme, name)
  return {
    ...{ scheme, tokenUrl, ...(authorizationUrl !== undefined && { authorizationUrl }) },
    ...{ clientId: `${variable}_CLIENT_ID`, clientSecret: `${variable}_CLIENT_SECRET` },
    scopes: [...new Set(scopes as string[])].filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)),
  }
}

/** Schemes of OAuth and OpenID Connect whose tokens the gateway sends, but does not fetch. */
export function unfetchedNotes(
  operations: readonly (Json | undefined)[],
  schemes: JsonObject,
  name: string,
  refs: Refs,
): string[] {
  const sent = new Set(
    operations.flatMap((security) => [...credentialsOf(security, schemes, name, refs).config.keys()]),
  )
  return readable(schemes, refs)
    .map(([scheme, { type }]) => ({ scheme, type, ...sourceOf(scheme, name) }))
    .filter(({ key, type }) => sent.has(key) && (type === 'oauth2' || type === 'openIdConnect'))
    .map(({ scheme, type, variable }) => {
      const kind = type === 'oauth2' ? 'OAuth' : 'OpenID Connect'
      return `${scheme}: the login by ${kind} is not imported. Calls send the token in ${variable}, which the gateway does not renew; to let it log in, write \`credentials\` of the server`
    })
}

function noCredentials(): Credentials {
  return { config: new Map(), headers: new Map(), query: [], cookies: [], missing: undefined }
}

function add(scheme: string, schemes: JsonObject, name: string, refs: Refs, made: Credentials): void {
  if (!Object.hasOwn(schemes, scheme)) throw new Unsupported(`its security scheme ${scheme} is not defined`)
  const { type, scheme: kind, in: place, name: parameter } = refs.follow(schemes[scheme])
  const { key, variable } = sourceOf(scheme, name)
  const setHeader = (as: string, value: string, config: string) => {
    if ([...made.headers.keys()].some((one) => one.toLowerCase() === as.toLowerCase()))
      throw new Unsupported('it needs two credentials in one header')
    made.headers.set(as, value)
    made.config.set(key, config)
  }
  const plain = `{{env "${variable}" ""}}`
  const http = textOf(kind)?.toLowerCase()
  if (isBearer(type, http)) {
    setHeader('Authorization', `Bearer {{.Config.${key}}}`, plain)
    made.bearer = key
  } else if (type === 'http' && http === 'basic') {
    const [user, password] = [`${variable}_USER`, `${variable}_PASSWORD`]
    const both = `{{printf "%s:%s" (env "${user}" "") (env "${password}" "") | b64enc}}`
    setHeader('Authorization', `Basic {{.Config.${key}}}`, `{{if env "${user}" ""}}${both}{{end}}`)
  } else if (type !== 'apiKey' || !isName(parameter)) {
    const shown = [type, http].filter(Boolean).join(' ') || 'unknown'
    throw new Unsupported(`authentication of type ${shown} cannot be configured`)
  } else if (place === 'header') {
    if (!isHeaderName(parameter) || isFraming(parameter))
      throw new Unsupported(`the header ${parameter} cannot be set by a configuration`)
    // The header is omitted without a value.
    setHeader(parameter, `{{with .Config.${key}}}{{.}}{{end}}`, plain)
  } else if (place === 'query') {
    made.config.set(key, plain)
    made.query.push([parameter, key])
  } else if (place === 'cookie') {
    made.config.set(key, plain)
    made.cookies.push([parameter, key])
  } else throw new Unsupported(`an API key cannot be sent in ${String(place)}`)
}

function isName(name: Json | undefined): name is string {
  return typeof name === 'string' && name !== '' && !/[\p{Cc}\p{Cs}]/u.test(name)
}

function isBearer(type: Json | undefined, http: string | undefined): boolean {
  return type === 'oauth2' || type === 'openIdConnect' || (type === 'http' && http === 'bearer')
}

export interface CredentialSource {
  /** Key of `.Config`. */
  key: string
  /** Environment variable. */
  variable: string
}

/** @param credential name in the document, such as that of a security scheme */
export function sourceOf(credential: string, name: string): CredentialSource {
  // Reserved for variables of addresses, which are never secret.
  const isAddress = /^(?:URL|SERVER(?:_.*)?)$/.test(upper(credential))
  const variable = isAddress ? upper(name, 'login', credential) : upper(name, credential)
  return { key: safeKey(configKey(credential)), variable }
}

/** The API key scheme with this name, preferably in this place. */
export function keyScheme(
  schemes: JsonObject,
  refs: Refs,
  place: string,
  parameter: string,
): string | undefined {
  const named = readable(schemes, refs).filter(
    ([, { type, name }]) => type === 'apiKey' && textOf(name)?.toLowerCase() === parameter.toLowerCase(),
  )
  const isInBody = place === 'form' || place === 'body'
  const [scheme] = named.find(([, one]) => one.in === place) ?? (isInBody ? named[0] : undefined) ?? []
  return scheme
}

/** The only scheme with a token for the `Authorization` header. */
export function bearerScheme(schemes: JsonObject, refs: Refs): string | undefined {
  const all = readable(schemes, refs).filter(([, { type, scheme }]) =>
    isBearer(type, textOf(scheme)?.toLowerCase()),
  )
  return all.length === 1 ? all[0]![0] : undefined
}

function readable(schemes: JsonObject, refs: Refs): [string, JsonObject][] {
  return Object.entries(schemes).flatMap(([scheme, given]): [string, JsonObject][] => {
    try {
      return [[scheme, refs.follow(given)]]
    } catch (error) {
      // Reported by operations that need the scheme.
      reasonOf(error)
      return []
    }
  })
}

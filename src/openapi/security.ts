import type { Json, JsonObject } from '../json/index.ts'
import { listOf, mapOf, type Refs, reasonOf, textOf, Unfit } from './open-document.ts'
import { configKey, isFraming, isHeaderName, upper } from './tool-names.ts'

/** How calls log in, with values of the environment. */
export interface Credentials {
  /** Values of `.Config` by key, templates that read `env`. */
  config: Map<string, string>
  headers: Map<string, string>
  /** Pairs of the query, each with `&` after it. */
  query: string[]
  /** Cookies, each with its key of `.Config`. */
  cookies: [name: string, key: string][]
  /** Why a credential that is asked for is not sent. */
  missing: string | undefined
}

/** The first alternative that can be sent; one without credentials only if there is no other. */
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

function noCredentials(): Credentials {
  return { config: new Map(), headers: new Map(), query: [], cookies: [], missing: undefined }
}

function add(scheme: string, schemes: JsonObject, name: string, refs: Refs, made: Credentials): void {
  if (!Object.hasOwn(schemes, scheme)) throw new Unfit(`its security scheme ${scheme} is not defined`)
  const { type, scheme: kind, in: place, name: parameter } = refs.follow(schemes[scheme])
  const key = safeKey(configKey(scheme))
  const variable = upper(name, scheme)
  const setHeader = (as: string, value: string, config: string) => {
    if ([...made.headers.keys()].some((one) => one.toLowerCase() === as.toLowerCase()))
      throw new Unfit('it needs two credentials in one header')
    made.headers.set(as, value)
    made.config.set(key, config)
  }
  const plain = `{{env "${variable}" ""}}`
  const http = textOf(kind)?.toLowerCase()
  if (type === 'oauth2' || type === 'openIdConnect' || (type === 'http' && http === 'bearer'))
    setHeader('Authorization', `Bearer {{.Config.${key}}}`, plain)
  else if (type === 'http' && http === 'basic') {
    const [user, password] = [upper(name, scheme, 'user'), upper(name, scheme, 'password')]
    const both = `{{printf "%s:%s" (env "${user}" "") (env "${password}" "") | b64enc}}`
    setHeader('Authorization', `Basic {{.Config.${key}}}`, `{{if env "${user}" ""}}${both}{{end}}`)
  } else if (type !== 'apiKey' || !isName(parameter)) {
    const shown = [type, http].filter(Boolean).join(' ') || 'unknown'
    throw new Unfit(`authentication of type ${shown} cannot be configured`)
  } else if (place === 'header') {
    if (!isHeaderName(parameter) || isFraming(parameter))
      throw new Unfit(`the header ${parameter} cannot be set by a configuration`)
    // The header is not sent where there is no value.
    setHeader(parameter, `{{with .Config.${key}}}{{.}}{{end}}`, plain)
  } else if (place === 'query') {
    made.config.set(key, plain)
    const pair = `${encodeURIComponent(parameter)}={{urlquery .Config.${key}}}&`
    made.query.push(`{{if .Config.${key}}}${pair}{{end}}`)
  } else if (place === 'cookie') {
    made.config.set(key, plain)
    made.cookies.push([parameter, key])
  } else throw new Unfit(`an API key cannot be sent in ${String(place)}`)
}

function isName(name: Json | undefined): name is string {
  return typeof name === 'string' && name !== '' && !/[\p{Cc}\p{Cs}]/u.test(name)
}

/** `url` is where the calls go. */
function safeKey(key: string): string {
  return /^url\d*$/.test(key) ? `${key}Key` : key
}

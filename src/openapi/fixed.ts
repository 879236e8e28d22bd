import type { ArgPosition } from '../config/index.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { isSecretHeader, proposal } from '../text/index.ts'
import { listOf, maps, type Refs } from './open-document.ts'
import { isOf } from './schema.ts'
import { bearerScheme, type CredentialSource, type Credentials, keyScheme, sourceOf } from './security.ts'
import { argumentName, configKey, safeKey } from './tool-names.ts'

/** A value that calls do not supply: it is fixed in `.Config`. */
export interface Fixed {
  /** Template expression: `.Config.token`, or its parsed JSON. */
  value: string
  /** Whether the environment may lack it; then nothing is sent. */
  mayBeEmpty: boolean
}

/** The value of an argument that models do not see. */
interface Constant {
  const: Json
}

/** Where an argument is sent; `request` is a whole body. */
export type Place = 'path' | 'query' | 'header' | 'cookie' | 'form' | 'body' | 'request'

/** A part of an operation that may become an argument. */
interface Part {
  /** Name in the API. */
  wanted: string
  /** Name as an argument. */
  name: string
  place: Place
  /** Undefined: only a template sends it. */
  position: ArgPosition | undefined
  required: boolean
  schema: JsonObject
}

/** The user's decisions for arguments by name. */
interface Decisions {
  /** Values: texts with `${NAME}`, or templates of `env`. */
  bind: Readonly<Record<string, string>>
  drop: readonly string[]
}

/** A decision that an operation cannot follow. */
class UsageError extends Error {}

/** Context of deciding about an operation's parts. */
export interface Fixing {
  credentials: Credentials
  schemes: JsonObject
  refs: Refs
  /** Name of the configuration. */
  name: string
  decisions: Decisions
  /** For messages: `GET /pets`. */
  shown: string
  /** Names of its query parameters. */
  query: readonly string[]
  /** Names of all arguments, including omitted ones. */
  known: Set<string>
  /** Whether argument names are given, so that those of credentials are kept. */
  isNamed: boolean
  /** The login of a part, if its name is ambiguous; undefined: by name. */
  login: ((place: Place, name: string) => string | undefined) | undefined
}

/**
 * The decision about a part: `ask` the model, `omit` it, or send a constant or a value of `.Config`.
 * @param config receives such a value
 * @throws UsageError
 */
export function decide(
  part: Part,
  fixing: Fixing,
  config: Map<string, string>,
): 'ask' | 'omit' | Constant | Fixed {
  const { bind, drop } = fixing.decisions
  const { name, wanted, required } = part
  // A name unsuitable for arguments may be given as in the API.
  const names = argumentName(wanted) === wanted ? [name] : [name, wanted]
  for (const one of names) fixing.known.add(one)
  const dropped = names.find((one) => drop.includes(one))
  if (dropped !== undefined) {
    if (!required) return 'omit'
    const cure = `give it a value with --bind ${dropped}=value`
    throw new UsageError(`--drop ${dropped}: ${fixing.shown} requires it; ${cure}`)
  }
  const bound = names.find((one) => Object.hasOwn(bind, one))
  if (bound !== undefined) return boundTo(bound, part, fixing, config)
  const login =
    part.place === 'path' || isCredential(part, fixing) ? fixing.login?.(part.place, wanted) : undefined
  if (login !== undefined) return fromVariable(sourceOf(login, fixing.name), config)
  return isCredential(part, fixing) ? fromEnvironment(part, fixing, config) : 'ask'
}

/** @throws UsageError for a name that no operation has */
export function checkNames({ bind, drop }: Decisions, known: ReadonlySet<string>): void {
  const given = [...Object.keys(bind).map((name) => ['bind', name]), ...drop.map((name) => ['drop', name])]
  for (const [option, name = ''] of given)
    if (!known.has(name)) {
      const near = proposal(name, [...known])
      throw new UsageError(
        `--${option} ${name}: no operation has an argument of this name${near === '' ? '' : `. ${near}`}`,
      )
    }
}

/** @throws UsageError for a value of the wrong type */
function boundTo(bound: string, part: Part, fixing: Fixing, config: Map<string, string>): Constant | Fixed {
  const text = fixing.decisions.bind[bound]!
  const types = typesIn(part.schema)
  const takesText = types.size === 0 || types.has('string')
  const isList = !takesText && types.has('array')
  const isTemplate = /\{\{|\$\{/.test(text)
  let json = takesText || isTemplate ? undefined : jsonOf(text)
  if (isList && !isTemplate && !Array.isArray(json)) json = [json === undefined ? text : json]
  if (!takesText && !isTemplate && (json === undefined || ![...types].some((type) => fits(json!, type))))
    throw new UsageError(
      `--bind ${bound}: ${fixing.shown} takes ${[...types].join(' or ')} there, not ${JSON.stringify(text)}`,
    )
  if (!isTemplate && part.position !== undefined) return { const: json ?? text }
  const used = new Set(Object.keys(fixing.schemes).map((scheme) => sourceOf(scheme, fixing.name).key))
  const plain = safeKey(configKey(bound)) + (isList ? 'List' : '')
  const key = used.has(plain) ? `${plain}Value` : plain
  config.set(key, isTemplate ? withEnv(text) : json === undefined ? text : JSON.stringify(json))
  const isBody = part.place === 'body' || part.place === 'request'
  const asJson = !takesText && (isBody || types.has('array') || types.has('object'))
  return { value: asJson ? `(fromJSON .Config.${key})` : `.Config.${key}`, mayBeEmpty: false }
}

/** Converts `${NAME}` and `${NAME:default}` to template actions. */
function withEnv(text: string): string {
  return text.replace(
    /\$\{([A-Za-z_]\w*)(?::([^{}]*))?\}/g,
    (_, name: string, preset?: string) =>
      `{{env "${name}"${preset === undefined ? '' : ` ${JSON.stringify(preset)}`}}}`,
  )
}

function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fits(value: Json, type: string): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value)
  return isOf(value, type)
}

/** The value types that a schema of `toSchema` allows, without null; empty: any. */
function typesIn(schema: JsonObject): Set<string> {
  const own = Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type]
  const ofValues = own.length > 0 ? [] : listOf(schema.enum).map((value) => typeof value)
  const inner = maps(schema.anyOf).flatMap((one) => [...typesIn(one)])
  return new Set([...own, ...ofValues, ...inner].map(String).filter((type) => type !== 'null'))
}

/** Names of credentials, in lower case and without separators. */
const CREDENTIALS = new Set(
  (
    'token accesstoken authtoken authenticationtoken authorizationtoken oauthtoken apitoken bearertoken privatetoken ' +
    'usertoken sessiontoken securitytoken refreshtoken idtoken jwt apikey apisecret authkey accesskey secretkey ' +
    'subscriptionkey appkey clientsecret consumersecret appsecret authorization'
  ).split(' '),
)
/** Tokens that are not secret: for pagination or idempotency. */
const OPEN_TOKEN =
  /(?:page|next|prev|previous|continu\w{0,9}|cursor|idempoten\w{0,9}|sync|delta|resume|skip|state|request|csrf|xsrf)[-_]?(?:page[-_]?)?(?:token|key)$/i
const SECRET_END = /(?:auth|authorization|token|key|secret|signature|password|credentials?)$/i
/** Names of bearer tokens sent in other places than `Authorization` (RFC 6750, 2.2 and 2.3). */
const BEARERS = new Set(
  'token accesstoken authtoken oauthtoken apitoken bearertoken usertoken sessiontoken jwt'.split(' '),
)

const folded = (name: string) =>
  name
    .toLowerCase()
    .replace(/^x[-_]/, '')
    .replace(/[-_.]/g, '')

/** Whether it belongs to a security scheme, or has the name of a credential; path parameters identify resources. */
function isCredential({ wanted, place, schema }: Part, { schemes, refs, query, isNamed }: Fixing): boolean {
  if (isNamed || place === 'path' || place === 'request') return false
  if (keyScheme(schemes, refs, place, wanted) !== undefined) return true
  const types = typesIn(schema)
  if (types.size > 0 && !types.has('string')) return false
  if (CREDENTIALS.has(folded(wanted))) return true
  if (place === 'header') return isSecretHeader(wanted) && SECRET_END.test(wanted) && !OPEN_TOKEN.test(wanted)
  if (place === 'cookie') return /sess|sid$/i.test(wanted)
  // `key` alone may be an ordinary value; together with a token it identifies the application.
  return place === 'query' && wanted === 'key' && query.some((one) => BEARERS.has(folded(one)))
}

function fromEnvironment(part: Part, fixing: Fixing, config: Map<string, string>): 'omit' | Fixed {
  const { place, required } = part
  const sent = sentKey(part, fixing.credentials)
  // Sent only once, unless required in a JSON body.
  if (sent !== undefined && !(required && place === 'body')) return 'omit'
  const source = sent === undefined ? sourceFor(part, fixing) : undefined
  return source ? fromVariable(source, config) : { value: `.Config.${sent}`, mayBeEmpty: true }
}

function fromVariable({ key, variable }: CredentialSource, config: Map<string, string>): Fixed {
  config.set(key, `{{env "${variable}" ""}}`)
  return { value: `.Config.${key}`, mayBeEmpty: true }
}

/** The key of the same credential, if a security scheme already sends it. */
function sentKey(
  { place, wanted }: Part,
  { headers, query, cookies, bearer }: Credentials,
): string | undefined {
  const same = ([name]: readonly [string, string]) => name.toLowerCase() === wanted.toLowerCase()
  if (place === 'header') {
    const header = [...headers].find(same)
    if (header) return header[0]
  }
  const key = [...query, ...cookies].find(same)?.[1]
  return key ?? (bearer !== undefined && BEARERS.has(folded(wanted)) ? bearer : undefined)
}

function sourceFor({ place, wanted }: Part, { schemes, refs, name }: Fixing): CredentialSource {
  const bearer = BEARERS.has(folded(wanted)) ? bearerScheme(schemes, refs) : undefined
  return sourceOf(keyScheme(schemes, refs, place, wanted) ?? bearer ?? wanted, name)
}

/**
 * Configurations and settings as the rest of the program sees them: checked, with defaults and `${ENV}` replaced,
 * durations in milliseconds, sizes in bytes. The types are made from the schemas, which describe every field.
 */
import { hash } from 'node:crypto'
import type { Finding, Locate, Path } from '../findings/index.ts'
import { isLoopback } from '../net/secure-url.ts'
import type { PathArg } from '../template/index.ts'
import type {
  Arg,
  Auth,
  Configuration,
  Limits,
  Plants,
  ProcessLimits,
  Router,
  Server,
  Settings as SettingsFile,
  Tenant,
  Tool,
} from './generated.ts'
import type { ListenAddress } from './listen.ts'

export type {
  Arg,
  Audit as AuditSettings,
  Auth,
  Authorize,
  AuthorizeRule,
  Breaker as BreakerSettings,
  Cluster as ClusterSettings,
  Configuration,
  Cors,
  Credentials,
  Issuer,
  Limits,
  LintConfiguration as LintConfig,
  McpServer,
  Member,
  Notifier,
  Outbound as OutboundSettings,
  Prompt,
  Proxy as ProxySettings,
  Rate as RateRule,
  Redis as RedisServer,
  RedisNotifier as RedisSettings,
  Response as ResponseShaping,
  Router,
  Server,
  ServerTls,
  Tenant as TenantSettings,
  Tool,
  ToolOverride,
} from './generated.ts'
export { DEFAULT_LIMITS } from './generated.ts'
export type { Locate, Path }

/** The tool with which clients without tasks continue an operation of a tool with `async`. */
export const RESULT_TOOL_NAME = 'get_operation_result'

/** `{{.Response.Body}}` alone: the response as it is, whatever its type. */
const PASS_THROUGH = /^\s*\{\{-?\s*\.Response\.Body\s*-?\}\}\s*$/

/** Whether a template of the tool writes the text of its results. */
export function hasTemplate({ responseBody }: Pick<Tool, 'responseBody'>): boolean {
  return responseBody !== undefined && !PASS_THROUGH.test(responseBody)
}

export type ArgPosition = Arg['position']

/** How path arguments are written in the endpoint, by argument name; the others are written as they are. */
export function pathArgsOf(args: readonly Arg[]): Record<string, PathArg> {
  const given = args.flatMap(({ name, position, slashes, style, explode, as = name }) =>
    position === 'path' && (slashes || style || explode !== undefined)
      ? [[name, { slashes, style, explode, as }] as const]
      : [],
  )
  return Object.fromEntries(given)
}

/** The name of an argument's value in the request. */
export function wireName({ name, as = name }: Pick<Arg, 'name' | 'as'>): string {
  return as
}

/** The header in which an argument is sent; undefined: in none. */
export function headerOf(arg: Pick<Arg, 'name' | 'as' | 'position'>): string | undefined {
  return arg.position === 'header' ? wireName(arg) : undefined
}

/** Limits of the process, for all clients together unless noted otherwise. */
export type ServerLimits = Omit<ProcessLimits, keyof Limits>

/** Process-level settings, after files, environment and flags are merged; paths of the settings file are absolute. */
export interface Settings extends Omit<SettingsFile, 'plants' | 'storage' | 'vault' | 'admin'> {
  admin?: { token?: string; listen?: ListenAddress }
  plants?: PlantSettings
  /** Where configurations are, for `serve` without paths and for `config`. */
  storage?: StorageSettings
  /** Where logins are. */
  vault?: VaultSettings
}

/** The secrets that encrypt logins, and a folder (absolute path) or database (URL with credentials) that keeps them. */
export interface VaultSettings {
  key: string
  previousKey?: string
  storage: { type: 'folder'; path: string } | { type: 'postgres' | 'mysql'; url: string }
}

/**
 * A folder or file (absolute paths), or a database on a server (URL with credentials). `poll`: milliseconds between
 * two looks whether it changed, 0: none; settings that were read always have it. `keep`: versions of a configuration
 * that its history holds; absent: all.
 */
export type StorageSettings =
  | { type: 'directory'; path: string; poll?: never; keep?: never }
  | { type: 'lowdb'; file: string; poll?: number; keep?: number }
  | { type: 'postgres' | 'mysql'; url: string; poll?: number; keep?: number }

/** The secrets removed from a server's answers. */
export type Redact = NonNullable<Server['redact']>

export interface PlantSettings extends Omit<Plants, 'file' | 'storage'> {
  storage: PlantStorage
}

/** Where plants are kept: a file (absolute path), or a database on a server (URL with credentials). */
export type PlantStorage =
  | { type: 'lowdb'; file: string }
  | { type: 'postgres'; url: string }
  | { type: 'mysql'; url: string }

/** The tenant of configurations that name none. */
export const DEFAULT_TENANT = 'default'

/** Methods that a tool may use, and a router's `cors` may allow. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** RFC 9110, 9.2.2 */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

/** Whether sending a request of a tool twice does no harm: the tool says so, or its method does and the tool does not object. */
export function isRepeatable(method: string, { annotations = {} }: Pick<Tool, 'annotations'>): boolean {
  const { readOnlyHint, idempotentHint } = annotations
  return (
    readOnlyHint === true || idempotentHint === true || (idempotentHint !== false && IDEMPOTENT.has(method))
  )
}

/** Whether a router asks its callers for credentials. */
export function asksForLogin({ auth }: Pick<Router, 'auth'>): boolean {
  return auth !== undefined && auth.type !== 'none'
}

/**
 * Whether a token's issuer is proven independently of the router's author: the keys are those that the issuer
 * publishes. With `jwksUrl` or an introspection endpoint, the author vouches for them.
 */
export function provesIssuers({ type, issuers }: Auth): boolean {
  return type === 'jwt' && issuers.every(({ jwksUrl }) => jwksUrl === undefined)
}

/** Whether everyone may use a router: neither `auth` nor tokens of its tenant protect it. */
export function isOpen(
  router: Router,
  { tenant }: Pick<Configuration, 'tenant'>,
  tenants: readonly Tenant[] = [],
): boolean {
  return !asksForLogin(router) && !tenants.find(({ name }) => name === tenant)?.tokens.length
}

/** The settings that decide who can reach the gateway. */
export type Listening = Pick<Settings, 'host' | 'allowUnauthenticated' | 'tls'>

/**
 * The address at which a router without authentication would be open to other machines; undefined: no other machine
 * reaches it, clients have certificates, or the settings allow it. A host name other than `localhost` counts as
 * reachable.
 */
export function exposedAt({ host, allowUnauthenticated, tls }: Listening): string | undefined {
  return isLoopback(host) || allowUnauthenticated || tls?.clientCa !== undefined ? undefined : host
}

/** The `auth` of a router whose tokens are those of authorization servers (OAuth 2.1); undefined: they are not. */
export function oauthOf({ auth }: Pick<Router, 'auth'>): OAuth | undefined {
  switch (auth?.type) {
    case undefined:
    case 'none':
    case 'bearer':
      return undefined
    case 'jwt':
    case 'introspection':
      return auth as OAuth
  }
}

export type OAuth = Auth & { type: 'jwt' | 'introspection' }

const DIGEST = /^sha256:([\da-f]{64})$/i
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/**
 * The SHA-256 digest of a token, for comparison; the file may have the digest in place of the token.
 * Undefined: malformed digest.
 */
export function tokenDigest(token: string): Buffer | undefined {
  if (!token.startsWith('sha256:')) return hash('sha256', token, 'buffer')
  const hex = DIGEST.exec(token)?.[1]
  return hex === undefined ? undefined : Buffer.from(hex, 'hex')
}

/** Time of expiry in milliseconds since 1970; NaN: `expires` is neither a date nor a time. */
export function tokenExpiry(expires: string): number {
  return TIME.test(expires) ? Date.parse(expires) : Number.NaN
}

export interface Source {
  /** Path as the user gave it; `-` for standard input. */
  file: string
  text: string
}

export type Env = Readonly<Record<string, string | undefined>>

export interface ReadConfiguration extends Source {
  /**
   * May be set although there are errors, so that later stages can look for more of them: faulty parts are then left
   * out or replaced. Serve it only when no finding is an error. Undefined when the file is not a YAML map.
   */
  configuration: Configuration | undefined
  findings: Finding[]
  locate: Locate
  /** Whether the value at a path was faulty, and was left out or replaced: checks must not judge it. */
  isRepaired: (path: Path) => boolean
}

export interface ReadConfigurationsResult {
  /** In the order of their paths. */
  configurations: ReadConfiguration[]
  /** All of them, sorted: of files, of each configuration and of all together. */
  findings: Finding[]
  /** The text of each file that was read, for `formatText`; empty for one outside of the folder that links to it. */
  sources: Map<string, string>
}

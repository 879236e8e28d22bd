import type { RoutePolicy } from '../access/steps.ts'
import type { Env, Member, Notifier, Router, Settings } from '../config/index.ts'
import type { ServerLogin } from '../credentials/oauth/server-login.ts'
import type { Vault } from '../credentials/oauth/vault.ts'
import type { ToolWords } from '../discovery/index.ts'
import type { Finding } from '../findings/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { CallerLogins } from '../mcp/fault.ts'
import type { Backend, CallLog, Pipeline } from '../mcp/index.ts'
import type { Guard, Resilience } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { UpstreamLabels } from '../telemetry/metrics.ts'
import type { Lists, ToolsBackend } from '../tools/backend.ts'
import type { CompiledTool, Prompts, Tools } from '../tools/index.ts'
import type { Skills } from '../tools/skills/index.ts'
import type { createProxy, Definition, McpProxy } from '../upstream/index.ts'
import type { ConfigurationSource } from './source.ts'

/** The words of a server's tool, by the name that clients see when the server is alone. */
export type WordsOf = (tool: string) => ToolWords

/** `WordsOf`, made lazily: most routers never need it. */
export interface ServerWords {
  of: WordsOf
  /** Groups in the overview of a router. */
  groups: () => readonly unknown[]
}

/** A server behind a prefix, and the router's entry for it. */
export interface Chosen {
  server: PreparedServer
  member: Member
}

export interface BuildOptions {
  /** Configuration files and folders, or another source of configurations. */
  paths: readonly string[] | ConfigurationSource
  settings: Settings
  env: Readonly<Record<string, string | undefined>>
  /** Reads it again for a reload, and returns the same object if nothing changed. Default: it never changes. */
  readEnv?: () => Env
  log: Logger
  version: string
  /** Logins; absent: there are none. */
  vault?: Vault | undefined
  /** Serve the valid configurations although others have errors. */
  skipInvalid?: boolean
}

/** A proxy that is served; a reload keeps it while its key stays the same. */
export interface ServedProxy {
  key: string
  proxy: McpProxy
  /** Names of the servers behind it. */
  servers: readonly string[]
}

/** State of an upstream of HTTP tools: it is reused while its key stays the same. */
export interface KeptResilience extends UpstreamLabels {
  key: string
  resilience: Resilience
}

/** The backend of a route. */
export interface RouteBackend {
  /** Absent where nothing is served. */
  backend?: Backend
  /** The backend as a proxy, if there are MCP servers behind it. */
  proxy?: ServedProxy
  /** HTTP tools that share the prefix with proxied servers. */
  local?: ToolsBackend | undefined
  /** Names of its HTTP tools, in order. */
  tools: readonly string[]
  /** One of them; absent: it has none. */
  httpTool?: (name: string) => CompiledTool | undefined
  /** Lists of its HTTP tools and prompts. */
  lists: Lists
  /** Bytes. */
  readonly maxRequestSize: number
  /** Whether one of its tools keeps the truncated rest of results. */
  readonly keepsResults: boolean
}

/** A server of a configuration, for any router of its tenant. */
export interface PreparedServer {
  name: string
  /** Bytes. */
  maxRequestSize: number
  http?: { description: string | undefined; tools: Tools; prompts: Prompts; skills: Skills }
  /** Set for a proxied MCP server. */
  definition?: Definition
  /** Whether its callers log in at it. */
  logsIn: boolean
  /** Their logins, if it shows its tools only after one. */
  logins?: CallerLogins
  /** Whether one of its tools keeps the truncated rest of results. */
  keepsResults: boolean
  /** Search data of its tools. */
  words: ServerWords
  /** `limits.resultChars` of a proxied MCP server. */
  resultChars?: number | undefined
}

/** A router with a list of servers, possibly of other configurations. */
export interface Listing {
  router: Router
  /** Makes its route from the servers found. */
  make(chosen: readonly Chosen[], context: LinkContext): Route
}

/** The current state that routes of listings depend on. */
export interface LinkContext {
  /** Absent when configurations are only checked. */
  createProxy?: typeof createProxy
  /** Currently served proxies, by key, for reuse. */
  proxies: ReadonlyMap<string, ServedProxy>
}

/** Credential required of a caller: none, a bearer token, or a login at an authorization server. */
export type Access = 'open' | 'token' | 'oauth'

/** A public JSON document. */
export interface PublicDocument {
  text: string
  /** Media type. */
  type: string
  etag?: string
  cacheControl?: string
}

/** A prefix and its backend. */
export interface Route extends Omit<RoutePolicy, keyof RouteBackend>, RouteBackend {
  /** Prefix of `/sse` and `/message`. Default: the prefix. */
  ssePrefix: string
  /** `/sse` announces a relative message URL, because `publicUrl` has a path that a proxy may strip. */
  tellsRelative?: true
  /** Log and metrics of its calls. */
  callLog: CallLog
  /** Whether callers log in at its servers. */
  logsIn?: boolean
  /** Their logins at servers that show their tools only after one. */
  logins?: readonly CallerLogins[]
  /** The way of each request through the gateway. */
  pipeline: Pipeline
  /** The configuration that defines it. */
  configuration: string
  tenant: string
  access: Access
  /** Server card; absent: the prefix is not public. */
  card?: JsonObject
  /** Public documents by path: `/.well-known/{name}{prefix}/mcp`, `{prefix}/mcp/server-card`. */
  documents?: ReadonlyMap<string, PublicDocument>
}

/** A configuration that is ready to serve. */
export interface Prepared {
  /** Its `qualifiedName`. */
  id: string
  name: string
  tenant: string
  file: string
  /** Source text; the configuration is reused while it stays the same. */
  text: string
  /** `stampOf` its inputs other than `text`; absent if there are none. */
  stamp?: string
  /** Time of creation: ISO 8601, UTC. */
  since: string
  routes: Route[]
  /** Servers that other configurations may use, by name. */
  servers: ReadonlyMap<string, PreparedServer>
  /** Its routers with lists of servers, and the servers their routes were made from; absent: it has none. */
  listings?: { all: readonly Listing[]; own: readonly Route[]; made: readonly PreparedServer[] | undefined }
  /** Its name and endpoints, which must be unique. */
  claims: readonly string[]
  /** Logins of callers that its servers need; absent: none. */
  callerLogins?: readonly ServerLogin[]
  /** Logins of the operator that its servers need; absent: none. */
  logins?: readonly ServerLogin[]
  /** Retry and breaker state of its servers of HTTP tools, by key; absent: none has any. */
  resiliences?: ReadonlyMap<string, KeptResilience>
  /** Announces its changes. */
  notifier?: Notifier
  /** Guard of the notifier's connections. */
  guard?: Guard | undefined
}

/** All routes, as an immutable value that a reload replaces in one assignment. */
export interface Table {
  /** Increases by one with each table that differs from its predecessor. */
  generation: number
  /** Time of creation: ISO 8601, UTC. */
  at: string
  /** By prefix, for `/mcp`. */
  routes: ReadonlyMap<string, Route>
  /** By `ssePrefix`, for `/sse` and `/message`. */
  sseRoutes: ReadonlyMap<string, Route>
  /** Every proxy, by key. */
  proxies: ReadonlyMap<string, ServedProxy>
  /** By `id`. */
  prepared: ReadonlyMap<string, Prepared>
}

export interface Loaded {
  findings: Finding[]
  /** Text of the files read, for code frames. */
  sources: ReadonlyMap<string, string>
}

/** Ids of configurations, or names of tools, that differ. */
export interface Changes {
  added: string[]
  changed: string[]
  removed: string[]
}

/** The result of a reload. */
export interface Reload extends Changes {
  findings: Finding[]
  generation: number
  /** The `id`s of configurations whose new version has errors; the last good version, if any, is kept in service. */
  refused: string[]
}

/** Changes that a reload would make. */
export interface Difference extends Reload {
  configurations: ConfigurationChange[]
  /** The refused ones whose current version stays in service. */
  kept: string[]
}

export interface ConfigurationChange {
  name: string
  tenant: string
  change: keyof Changes
  prefixes: PrefixChange[]
}

/** Changes at one prefix. */
export interface PrefixChange {
  prefix: string
  change: keyof Changes
  /** Names of tools; those of a proxied server are not known here. */
  tools: Changes
  /** Changed MCP servers behind it, if any. */
  servers?: string[]
}

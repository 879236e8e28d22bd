import type { RoutePolicy } from '../access/steps.ts'
import type { Env, Member, Notifier, Router, Settings } from '../config/index.ts'
import type { ToolWords } from '../discovery/index.ts'
import type { Finding } from '../findings/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Backend, CallLog } from '../mcp/index.ts'
import type { Guard, Resilience } from '../net/index.ts'
import type { Skills } from '../skills/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { UpstreamLabels } from '../telemetry/metrics.ts'
import type { Lists, ToolsBackend } from '../tools/backend.ts'
import type { Prompts, Tools } from '../tools/index.ts'
import type { createProxy, Definition, McpProxy } from '../upstream/index.ts'
import type { ConfigurationSource } from './source.ts'

/** What is said of one server's tools, by the names that its clients see where it is alone. */
export type WordsOf = (tool: string) => ToolWords

/** The same, made once it is asked for: most routers are never asked. */
export interface ServerWords {
  of: WordsOf
  /** The groups that the overview of a router names. */
  groups: () => readonly unknown[]
}

/** A server behind a prefix, and what the router says of it. */
export interface Chosen {
  server: PreparedServer
  member: Member
}

/** What a table is built of. */
export interface BuildOptions {
  /** Configuration files and folders, or another source of configurations. */
  paths: readonly string[] | ConfigurationSource
  settings: Settings
  env: Readonly<Record<string, string | undefined>>
  /** Reads it again for a reload: the same object unless something changed. Default: it never changes. */
  readEnv?: () => Env
  log: Logger
  version: string
  /** Serve the valid configurations although others have errors. */
  skipInvalid?: boolean
}

/** A proxy and what it was made of: the same key is the same proxy. */
export interface Served {
  key: string
  proxy: McpProxy
  /** Names of the servers behind it. */
  servers: readonly string[]
}

/** What is known of an upstream of HTTP tools: the same key is the same upstream. */
export interface Kept extends UpstreamLabels {
  key: string
  resilience: Resilience
}

/** What answers at a route. */
export interface Answering {
  /** Absent where nothing is served. */
  backend?: Backend
  /** The same where it is proxied MCP servers, alone or with others. */
  proxy?: Served
  /** Its HTTP tools, where they share the prefix with proxied servers. */
  local?: ToolsBackend | undefined
  /** Names of its HTTP tools, in order. */
  tools: readonly string[]
  /** Of its HTTP tools and prompts. */
  lists: Lists
  /** Bytes. */
  readonly maxRequestSize: number
  /** Whether one of its tools keeps what is cut off its results. */
  readonly keepsResults: boolean
}

/** A server of a configuration, for any router of its tenant. */
export interface PreparedServer {
  name: string
  /** Bytes. */
  maxRequestSize: number
  /** Of a server of HTTP tools. */
  http?: { description: string | undefined; tools: Tools; prompts: Prompts; skills: Skills }
  /** Of a proxied MCP server. */
  definition?: Definition
  /** Whether one of its tools keeps what is cut off its results. */
  keepsResults: boolean
  /** What searches know of its tools. */
  words: ServerWords
  /** `limits.resultChars` of a proxied MCP server. */
  resultChars?: number | undefined
}

/** A router with a list of servers, possibly of other configurations. */
export interface Listing {
  router: Router
  /** Makes its route of the servers that were found. */
  make(chosen: readonly Chosen[], context: LinkContext): Route
}

/** What the routes of listings depend on at the moment. */
export interface LinkContext {
  /** Absent where configurations are only looked at. */
  createProxy?: typeof createProxy
  /** Proxies that are served now, by key, to be kept. */
  proxies: ReadonlyMap<string, Served>
}

/** What a caller of a prefix must have: nothing, a bearer token, or a login at an authorization server. */
export type Access = 'open' | 'token' | 'oauth'

/** A JSON document that everyone may read. */
export interface PublicDocument {
  text: string
  /** Media type. */
  type: string
  etag?: string
  cacheControl?: string
}

/** One prefix and what answers there. */
export interface Route extends Omit<RoutePolicy, keyof Answering>, Answering {
  /** Below which `/sse` and `/message` are; the prefix unless the router says otherwise. */
  ssePrefix: string
  /** `/sse` tells where messages go relative to itself: `publicUrl` has a path, which a proxy may strip. */
  tellsRelative?: true
  /** Where its calls are logged and counted. */
  callLog: CallLog
  /** The configuration it comes from. */
  configuration: string
  tenant: string
  access: Access
  /** How the prefix is presented to the public; absent: it is not. */
  card?: JsonObject
  /** What everyone may read about the endpoints, by path: `/.well-known/{name}{prefix}/mcp`, `{prefix}/mcp/server-card`. */
  documents?: ReadonlyMap<string, PublicDocument>
}

/** A configuration that is ready to serve. */
export interface Prepared {
  /** Its `qualifiedName`. */
  id: string
  name: string
  tenant: string
  file: string
  /** The text it was made from: the same text is the same configuration. */
  text: string
  /** Of what it was made beside its text, as `stampOf`; absent: of nothing. */
  stamp?: string
  /** When it was made: ISO 8601, UTC. */
  since: string
  routes: Route[]
  /** What other configurations may use of it, by name. */
  servers: ReadonlyMap<string, PreparedServer>
  /** Its routers with lists of servers, and what their routes were made of; absent: it has none. */
  listings?: { all: readonly Listing[]; own: readonly Route[]; made: readonly PreparedServer[] | undefined }
  /** What only one configuration can have: its name and its endpoints. */
  claims: readonly string[]
  /** Of its servers of HTTP tools, by key; absent: none has retries or a circuit breaker. */
  resiliences?: ReadonlyMap<string, Kept>
  /** How its changes are announced. */
  notifier?: Notifier
  /** Judges where its notifier leads. */
  guard?: Guard | undefined
}

/** Everything that is served, as a value: built beside the old one and swapped in one assignment. */
export interface Table {
  /** Counts up by one for each table that differs from the one before. */
  generation: number
  /** When it was made: ISO 8601, UTC. */
  at: string
  /** By prefix, for `/mcp`. */
  routes: ReadonlyMap<string, Route>
  /** By `ssePrefix`, for `/sse` and `/message`. */
  sseRoutes: ReadonlyMap<string, Route>
  /** Every proxy, by key. */
  proxies: ReadonlyMap<string, Served>
  /** By `id`. */
  prepared: ReadonlyMap<string, Prepared>
}

export interface Loaded {
  findings: Finding[]
  /** Text of the files read, for code frames. */
  sources: ReadonlyMap<string, string>
}

/** The `id`s of configurations, or names of tools, in which two of them differ. */
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

/** What a reload would change. */
export interface Difference extends Reload {
  configurations: ConfigurationChange[]
}

export interface ConfigurationChange {
  name: string
  tenant: string
  change: keyof Changes
  prefixes: PrefixChange[]
}

/** What changes at one prefix. */
export interface PrefixChange {
  prefix: string
  change: keyof Changes
  /** Names of tools; those of a proxied server are not known here. */
  tools: Changes
  /** The MCP servers behind it, where there are any and they change. */
  servers?: string[]
}

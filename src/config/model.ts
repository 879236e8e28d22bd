import type { Json } from '../json/index.ts'

/**
 * The configuration as the rest of the program sees it: checked, defaults filled in, `${ENV}` replaced.
 * Field names and meanings are those of the configuration files; `schemas/configuration.schema.json` holds
 * their full description. Durations are milliseconds and sizes are bytes here, whatever the file said.
 */

export interface Configuration {
  name: string
  /** Default `default`. */
  tenant: string
  createdAt?: string
  updatedAt?: string
  routers: Router[]
  servers: Server[]
  tools: Tool[]
  prompts: Prompt[]
  mcpServers: McpServer[]
  notifier?: Notifier
}

export interface Router {
  /** The `name` of a Server or of an McpServer of the same configuration; or a list of McpServers. */
  server: string | string[]
  /** Begins with `/`, does not end with it. */
  prefix: string
  /** Where `/sse` and `/message` are served instead of below `prefix`. */
  ssePrefix?: string
  cors?: Cors
  auth?: RouterAuth
}

export interface Cors {
  allowOrigins: string[]
  allowMethods: string[]
  allowHeaders: string[]
  exposeHeaders: string[]
  allowCredentials: boolean
}

/** Who may use a router. `none` is the default. */
export interface RouterAuth {
  mode: 'none' | 'bearer'
  /** With `bearer`: the accepted tokens. */
  tokens: { token: string; caller: string }[]
}

export interface Server {
  name: string
  namespace?: string
  description?: string
  /** Absent: every tool of the configuration. Empty: none. */
  allowedTools?: string[]
  /** Values may be templates that read `env`; they are rendered at load. */
  config: Record<string, string>
  limits?: Partial<Limits>
}

export interface Limits {
  /** Milliseconds to connect to an upstream. Default 5,000. */
  connectTimeout: number
  /** Milliseconds for the whole upstream call. Default 30,000. */
  timeout: number
  /** Bytes of an upstream's answer. Default 10 MiB. */
  maxResponseSize: number
  /** Bytes of a client's request. Default 4 MiB. */
  maxRequestSize: number
}

export const DEFAULT_LIMITS: Limits = {
  connectTimeout: 5_000,
  timeout: 30_000,
  maxResponseSize: 10 * 1024 * 1024,
  maxRequestSize: 4 * 1024 * 1024,
}

export interface Tool {
  name: string
  title?: string
  description?: string
  /** Upper case, default `GET`. */
  method: string
  /** Template. */
  endpoint: string
  /** Values are templates. */
  headers: Record<string, string>
  args: Arg[]
  /** Template. */
  requestBody?: string
  /** Template. Absent: the upstream's body as it is. */
  responseBody?: string
  /** Template for answers with a status of 400 and above. */
  errorBody?: string
  /** JSON Schema 2020-12 that replaces the one made from `args`. */
  inputSchema?: { [key: string]: Json }
  outputSchema?: { [key: string]: Json }
  annotations?: { [key: string]: Json }
  /** Becomes `_meta` of the tool. */
  meta?: { [key: string]: Json }
  proxy?: Proxy
  followRedirects: boolean
  /** Whether a redirect may take the body to another origin. Default false. */
  redirectBody?: boolean
  limits?: Partial<Limits>
}

export type ArgPosition = 'header' | 'query' | 'path' | 'body' | 'form-data'
export type ArgType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'

export interface Arg {
  name: string
  position: ArgPosition
  required: boolean
  type: ArgType
  description?: string
  /** Parsed by `type`. Absent: no default. */
  default?: Json
  enum?: Json[]
  items?: { [key: string]: Json }
  properties?: { [key: string]: Json }
}

/** The proxy through which a tool's upstream is reached. */
export interface Proxy {
  type: 'http' | 'https' | 'socks5'
  host: string
  port: number
}

export interface Prompt {
  name: string
  title?: string
  description?: string
  arguments: { name: string; description?: string; required: boolean }[]
  /** `text` of the content is a template over `.Args`. */
  promptResponse: { role: 'user' | 'assistant'; content: { type: 'text'; text: string } }[]
}

export interface McpServer {
  type: 'stdio' | 'sse' | 'streamable-http'
  name: string
  command?: string
  args: string[]
  env: Record<string, string>
  url?: string
  headers: Record<string, string>
  /** Default `onDemand`. */
  policy: 'onStart' | 'onDemand'
  preinstalled: boolean
  /** Who shares a connection or process. Default `session`. */
  isolation: 'session' | 'credential' | 'shared'
  /** Milliseconds to start and to answer the handshake. Default 30,000. */
  startupTimeout: number
  /** Milliseconds without a message or an open stream. Default 1,800,000. */
  idleTimeout: number
  /** Default 100 for `stdio`, 100,000 else. */
  maxSessions: number
  /** By the server's own names. Absent: all. */
  allowedTools?: string[]
  blockedTools: string[]
  toolOverrides: Record<string, ToolOverride>
  limits?: Partial<Limits>
}

/** What clients are told of a proxied tool instead of what its server says. */
export interface ToolOverride {
  name?: string
  title?: string
  description?: string
  annotations?: { [key: string]: Json }
}

/** The tenant of configurations that name none. */
export const DEFAULT_TENANT = 'default'

/** Methods that a tool may use, and a router's `cors` may allow. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The names of the servers behind a router. */
export function serverNames({ server }: Pick<Router, 'server'>): string[] {
  return typeof server === 'string' ? [server] : server
}

/** How a change is told to gateways. What its `type` names is there. */
export interface Notifier {
  type: 'signal' | 'api' | 'redis'
  signal?: { signal: 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2'; pid: string }
  api?: { port?: number; target_url: string; token?: string }
  redis?: RedisSettings
}

export interface RedisSettings {
  cluster_type: 'single' | 'sentinel' | 'cluster'
  /** `host:port`, several separated by commas. */
  addr: string
  topic: string
  master_name: string
  username?: string
  password?: string
  tls: boolean
}

/** What the process takes of its clients; of all of them together unless said otherwise. */
export interface ServerLimits {
  /** Default 10,000. */
  maxConnections: number
  /** Default 5,000. */
  maxConnectionsPerAddress: number
  /** Default 100,000. */
  maxSessions: number
  /** Default 50,000. */
  maxSessionsPerPrefix: number
  /** Default 10,000. */
  maxSessionsPerCaller: number
  /** Calls under way. Default 4,000. */
  maxCallsPerPrefix: number
  /** Calls under way. Default 1,000. */
  maxCallsPerCaller: number
  /** Bytes of messages that wait in one queue. Default 16 MiB. */
  maxQueued: number
  /** Bytes that are held in all. Absent: a quarter of the heap, 1 GiB at the most. */
  maxBuffered?: number
  /** Milliseconds for the headers of a request. Default 10,000. */
  headersTimeout: number
  /** Milliseconds for a whole request. Default 60,000. */
  requestTimeout: number
  /** Milliseconds that a client may take nothing of what it is sent. Default 30,000. */
  writeTimeout: number
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  maxConnections: 10_000,
  maxConnectionsPerAddress: 5_000,
  maxSessions: 100_000,
  maxSessionsPerPrefix: 50_000,
  maxSessionsPerCaller: 10_000,
  maxCallsPerPrefix: 4_000,
  maxCallsPerCaller: 1_000,
  maxQueued: 16 * 1024 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  writeTimeout: 30_000,
}

/** Process-level settings, after files, environment and flags are merged. */
export interface Settings {
  /** Default 5235. */
  port: number
  /** Default `127.0.0.1`. */
  host: string
  /** Path of the pid file; one of the settings file is relative to that. Absent: none is written. */
  pid?: string
  /** Milliseconds. Default 600,000. */
  reload_interval: number
  /** Default false. */
  reload_switch: boolean
  /** Whether changes of files and folders are applied by themselves. Default false. */
  watch: boolean
  logger: { level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'; format?: 'json' | 'pretty' }
  limits: Limits & ServerLimits
  /** Host names accepted besides loopback names when bound to loopback; any host elsewhere when empty. */
  allowedHosts: string[]
  /** Origins accepted besides those of each router's `cors`. */
  allowedOrigins: string[]
  /** Who may use the gateway's own pages from elsewhere. */
  admin?: { token: string }
  /** Absent: tenants are names without rules. */
  tenants?: TenantSettings[]
  plants?: PlantSettings
  /** Where configurations are, for `serve` without paths and for `config`. */
  storage?: StorageSettings
  /** How gateways are told of changes; with `redis` also how this one is. */
  notifier?: Notifier
  /** Absent: this process is the only one. */
  cluster?: ClusterSettings
}

/** What makes several gateways serve as one. */
export interface ClusterSettings {
  /** At least 32 characters, the same in every replica. */
  secret: string
  /** The origin at which the other replicas reach this one: `http://10.0.0.7:5235`. */
  advertise: string
}

export interface TenantSettings {
  name: string
  /** Of all its routers; begins with `/`, does not end with it. */
  prefix: string
  /** Empty: the routers' `auth` alone decides. */
  tokens: { token: string; caller: string }[]
}

/**
 * A folder or file (absolute paths), or a database on a server (URL with credentials). `poll`: milliseconds between
 * two looks whether it changed, 0: none; settings that were read always have it, default 5,000.
 */
export type StorageSettings =
  | { type: 'directory'; path: string; poll?: never }
  | { type: 'lowdb'; file: string; poll?: number }
  | { type: 'postgres' | 'mysql'; url: string; poll?: number }

export interface PlantSettings {
  /** Default `/`: the operations are at `/plants`. */
  basePath: string
  /** Default: `lowdb` in `data/plants.json`. */
  storage: PlantStorage
  tokens: { token: string; caller: string; access: 'own' | 'all' }[]
}

/** Where plants are kept: a file (absolute path), or a database on a server (URL with credentials). */
export type PlantStorage =
  | { type: 'lowdb'; file: string }
  | { type: 'postgres'; url: string }
  | { type: 'mysql'; url: string }

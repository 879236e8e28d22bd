// Made by `npm run docs` from the schemas of `schemas/`; do not edit.
import type { JsonObject, Json } from '../json/index.ts'

/** One service that the gateway serves: its routes, its servers with their tools, and the MCP servers it stands in front of. */
export interface Configuration {
  /** Name of the configuration, unique among all that are served together. */
  name: string
  /** The tenant that the configuration belongs to. Default `default`. */
  tenant: string
  /** When the configuration was made. */
  createdAt?: string
  /** When the configuration was last changed. */
  updatedAt?: string
  /** The URL prefixes under which the servers are reached. */
  routers: Router[]
  /** Servers whose tools are HTTP calls. */
  servers: Server[]
  /** The HTTP calls that the servers offer as tools. */
  tools: Tool[]
  /** Prompts that the servers offer beside the tools. */
  prompts: Prompt[]
  /** Existing MCP servers that are proxied. */
  mcpServers: McpServer[]
  /** How others learn that the configuration changed and must be reloaded. */
  notifier?: Notifier
}

/** Binds a URL prefix to a server. */
export interface Router {
  /** The `name` of a server or of an MCP server of this configuration. */
  server: string | string[]
  /** URL path under which the server is reached: `{prefix}/mcp`, `{prefix}/sse` and `{prefix}/message`. */
  prefix: string
  /** Where `/sse` and `/message` are served instead of below `prefix`. */
  ssePrefix?: string
  /** Which web pages of other origins may use the router. */
  cors?: Cors
  /** Who may use the router. */
  auth?: Auth
}

/** Which web pages of other origins may use the router. */
export interface Cors {
  /** Origins allowed, each with scheme, host and port. */
  allowOrigins: string[]
  /** Methods allowed; case does not matter. */
  allowMethods: string[]
  /** Request headers allowed. */
  allowHeaders: string[]
  /** Response headers that pages may read. */
  exposeHeaders: string[]
  /** Answers with `Access-Control-Allow-Credentials: true`. Default `false`. */
  allowCredentials: boolean
}

/** Who may use the router. */
export interface Auth {
  /** `none`: everybody. */
  mode: 'none' | 'bearer'
  /** The accepted tokens; at least one with `mode: bearer`. */
  tokens: AuthToken[]
}

export interface AuthToken {
  /** The secret, best taken from the environment. */
  token: string
  /** The name of whoever holds the token, for the log and for sessions. */
  caller: string
}

/** A set of tools that are HTTP calls. */
export interface Server {
  /** Name of the server, to which a router's `server` refers. */
  name: string
  /** Groups servers, for people. */
  namespace?: string
  /** What the server is for; clients get it as instructions. */
  description?: string
  /** Names of the tools that the server offers, in the order in which they are listed. */
  allowedTools?: string[]
  /** Values that templates read as `.Config`; each may be a template that reads `env`. */
  config: Record<string, string>
  /** Time-outs and sizes. */
  limits?: Partial<Limits>
}

/** Time-outs and sizes. */
export interface Limits {
  /** Time to connect to an upstream: `500ms`, `5s`, `1m30s`; a plain number is seconds. Milliseconds. Default `5s`. */
  connectTimeout: number
  /** Time for the whole upstream call: `500ms`, `30s`, `2m`; a plain number is seconds. Milliseconds. Default `30s`. */
  timeout: number
  /** Size of an upstream's answer: `512KiB`, `10MiB`, `10MB`; a plain number is bytes. Bytes. Default `10MiB`. */
  maxResponseSize: number
  /** Size of a client's request: `512KiB`, `4MiB`, `4MB`; a plain number is bytes. Bytes. Default `4MiB`. */
  maxRequestSize: number
}

/** One HTTP call, offered as an MCP tool. */
export interface Tool {
  /** Name of the tool, unique in the configuration: 1 to 128 of the characters `A-Z a-z 0-9 _ - .`, since many clients refuse others. */
  name: string
  /** Name for people. */
  title?: string
  /** What the tool does and when to use it; the model reads it. */
  description?: string
  /** HTTP method toward the upstream: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS; case does not matter. Default `GET`. */
  method: string
  /** URL of the upstream. */
  endpoint: string
  /** Headers sent upstream; each value may be a template. */
  headers: Record<string, string>
  /** The arguments of the tool, from which its input schema is made. */
  args: Arg[]
  /** Template of the request body. */
  requestBody?: string
  /** Template of what the client gets, over `.Response.Data` and `.Response.Body`. */
  responseBody?: string
  /** Template of what the client gets when the upstream answers with a status of 400 or above. */
  errorBody?: string
  /** JSON Schema 2020-12 of the arguments, with `type: object`; it replaces the one made from `args`. */
  inputSchema?: JsonObject
  /** JSON Schema 2020-12 of the answer, with `type: object`; JSON answers then become structured content. */
  outputSchema?: JsonObject
  /** What clients may assume of the tool. */
  annotations?: JsonObject
  /** Becomes `_meta` of the tool. */
  meta?: JsonObject
  /** The proxy through which the upstream of a tool is reached. */
  proxy?: Proxy
  /** Follows up to 5 redirects; credentials are dropped when the origin changes. Default `false`. */
  followRedirects: boolean
  /** Sends the body to another origin too where a followed redirect keeps it, as 307 and 308 do. Default `false`. */
  redirectBody: boolean
  /** Time-outs and sizes. */
  limits?: Partial<Limits>
}

/** One argument of a tool. */
export interface Arg {
  /** Name of the argument, unique in the tool; templates read it as `.Args.<name>`. */
  name: string
  /** Where the value goes: a header of that name, the query, the path of the endpoint (by template), the JSON body, or a part of a multipart form. */
  position: 'header' | 'query' | 'path' | 'body' | 'form-data'
  /** Whether a call must give the argument. Default `false`. */
  required: boolean
  /** Type of the value. Default `string`. */
  type: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'
  /** What the argument means; the model reads it. */
  description?: string
  /** Used when a call leaves the argument out; parsed by `type`. */
  default?: Json
  /** The allowed values. */
  enum?: Json[]
  /** For `array`: what its elements are. */
  items?: JsonObject
  /** For `object`: its named properties. */
  properties?: Record<string, JsonObject>
}

/** The proxy through which the upstream of a tool is reached. */
export interface Proxy {
  /** What the proxy speaks. */
  type: 'http' | 'https' | 'socks5'
  /** Its host name or address. */
  host: string
  /** Its port. */
  port: number
}

/** A prompt that clients can offer to people. */
export interface Prompt {
  /** Name of the prompt, unique in the configuration. */
  name: string
  /** Name for people. */
  title?: string
  /** What the prompt is for. */
  description?: string
  /** The arguments of the prompt, all of them text. */
  arguments: PromptArgument[]
  /** The messages that the prompt becomes. */
  promptResponse: PromptMessage[]
}

export interface PromptArgument {
  /** Name of the argument. */
  name: string
  /** What it means. */
  description?: string
  /** Whether it must be given. Default `false`. */
  required: boolean
}

export interface PromptMessage {
  /** Who says it. */
  role: 'user' | 'assistant'
  /** What is said. */
  content: PromptContent
}

/** What is said. */
export interface PromptContent {
  /** Kind of the content. Default `text`. */
  type: 'text'
  /** The text, a template over `.Args`. */
  text: string
}

/** An existing MCP server that is proxied. */
export interface McpServer {
  /** Transport of the server. */
  type: 'stdio' | 'sse' | 'streamable-http'
  /** Name of the server, to which a router's `server` refers. */
  name: string
  /** For `stdio`: the command that starts the server. */
  command?: string
  /** For `stdio`: arguments of the command. */
  args: string[]
  /** For `stdio`: environment variables of the process; each value may be a template over `.Request`. */
  env: Record<string, string>
  /** For `sse` and `streamable-http`: address of the server, a template over `.Request`. */
  url?: string
  /** For `sse` and `streamable-http`: headers sent to the server; each value may be a template over `.Request`. */
  headers: Record<string, string>
  /** Who shares a connection or process: `session`: nobody, each client session has its own. Default `session`. */
  isolation: 'session' | 'credential' | 'shared'
  /** Time for the server to start and answer the handshake: `10s`, `1m30s`; a plain number is seconds. Milliseconds. Default `30s`. */
  startupTimeout: number
  /** Time without a message or an open stream after which a session ends, with its process or connection. Milliseconds. Default `30m`. */
  idleTimeout: number
  /** Sessions with the server at the most; for `stdio` each is a process. */
  maxSessions: number
  /** The tools that clients see, by the server's own names; others are unknown to them. */
  allowedTools?: string[]
  /** Tools that clients do not see, by the server's own names. */
  blockedTools: string[]
  /** What clients are told of a tool instead of what the server says, by the server's own names. */
  toolOverrides: Record<string, ToolOverride>
  /** Time-outs and sizes. */
  limits?: Partial<Limits>
  /** When the server is started or connected: with the gateway, or with the first call. Default `onDemand`. */
  policy: 'onStart' | 'onDemand'
  /** Starts the server once when the configuration is loaded, so that its first call finds it installed. Default `false`. */
  preinstalled: boolean
}

/** What replaces the server's words. */
export interface ToolOverride {
  /** The name under which clients see and call the tool. */
  name?: string
  /** Its title. */
  title?: string
  /** Its description. */
  description?: string
  /** Annotations, each of which replaces the server's own. */
  annotations?: JsonObject
}

/** How others learn that the configuration changed and must be reloaded. */
export interface Notifier {
  /** `signal`: a process on this machine. */
  type: 'signal' | 'api' | 'redis'
  /** For `type: signal`. */
  signal?: SignalNotifier
  /** For `type: api`. */
  api?: ApiNotifier
  /** For `type: redis`. */
  redis?: RedisNotifier
}

/** For `type: signal`. */
export interface SignalNotifier {
  /** The signal that is sent. Default `SIGHUP`. */
  signal: 'SIGHUP' | 'SIGUSR1' | 'SIGUSR2'
  /** Path of the file that holds the process id. */
  pid: string
}

/** For `type: api`. */
export interface ApiNotifier {
  /** Port of the reload call, where `target_url` names none. */
  port?: number
  /** URL of the reload call. */
  target_url: string
  /** The `admin.token` of the gateway that is called, which it wants from other machines; best taken from the environment. */
  token?: string
}

/** For `type: redis`. */
export interface RedisNotifier {
  /** Topology of the broker: one server, servers behind sentinels, or a Redis Cluster. Default `single`. */
  cluster_type: 'single' | 'sentinel' | 'cluster'
  /** Address as `host:port`; for `sentinel` those of the sentinels and for `cluster` of some nodes, separated by commas. */
  addr: string
  /** For `sentinel`: what the sentinels call the master. Default `mymaster`. */
  master_name: string
  /** User of the broker (Redis ACL). */
  username?: string
  /** Password of that user, best taken from the environment. */
  password?: string
  /** Whether the connection is encrypted; the certificate must be one that this machine trusts. Default `false`. */
  tls: boolean
  /** The channel on which reload messages are published. */
  topic: string
}

/** Which findings `plantgw validate` and `plantgw lint-templates` report, and as what: `plantgw.lint.yaml` in the working folder or beside the first path, or the file of `--lint-config`. */
export interface LintConfiguration {
  /** Severities by the code of a finding, such as `no-router`, or by a check, such as `templates`; that of a code wins. */
  severity: Record<string, 'off' | 'info' | 'warning' | 'error'>
  /** Limits of the findings. */
  limits: Partial<LintLimits>
}

/** Limits of the findings. */
export interface LintLimits {
  /** Tokens that the `tools/list` of a prefix may cost a model, counted as 4 characters each; 0 reports the cost of every prefix. Default `10000`. */
  toolListTokens: number
  /** Longest description of a tool or argument, in characters. Default `1024`. */
  descriptionLength: number
}

/** Settings of the gateway's process. */
export interface Settings {
  /** Port on which the gateway listens; 0 takes a free one. Default `5235`. */
  port: number
  /** Address on which the gateway listens; `0.0.0.0` or `::` for all. Default `127.0.0.1`. */
  host: string
  /** Path of the file that holds the process id while the gateway runs, relative to the settings file. */
  pid?: string
  /** Time between two automatic reloads: `600s`, `10m`, `1h30m`; a plain number is seconds. Milliseconds. Default `600s`. */
  reload_interval: number
  /** Whether configurations are reloaded every `reload_interval`. Default `false`. */
  reload_switch: boolean
  /** Whether changes of the files and folders that are served are applied by themselves, a moment after the last of them. Default `false`. */
  watch: boolean
  /** The log on standard error. */
  logger: Logger
  /** Time-outs and sizes where neither a tool nor its server sets others, and what the process takes of its clients. */
  limits: ProcessLimits
  /** Host names accepted besides loopback names when bound to loopback. */
  allowedHosts: string[]
  /** Origins accepted besides those of each router's `cors`. */
  allowedOrigins: string[]
  /** Who may use the gateway's own `/_reload`, `/_status` and `/metrics`. */
  admin?: Admin
  /** Who the configurations belong to. */
  tenants?: Tenant[]
  /** The plant store. */
  plants?: Plants
  /** Where configurations are kept: `plantgw serve` without paths serves them, `plantgw config` changes them. */
  storage?: Storage
  /** How others learn that the configuration changed and must be reloaded. */
  notifier?: Notifier
  /** For several gateways behind a load balancer that sends each request to any of them. */
  cluster?: Cluster
}

/** The log on standard error. */
export interface Logger {
  /** The least level that is logged. Default `info`. */
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Lines for machines or for people; without it, for people on a terminal and for machines elsewhere. */
  format?: 'json' | 'pretty'
}

/** Time-outs and sizes where neither a tool nor its server sets others, and what the process takes of its clients. */
export interface ProcessLimits {
  /** Time to connect to an upstream: `500ms`, `5s`, `1m30s`; a plain number is seconds. Milliseconds. Default `5s`. */
  connectTimeout: number
  /** Time for the whole upstream call: `500ms`, `30s`, `2m`; a plain number is seconds. Milliseconds. Default `30s`. */
  timeout: number
  /** Size of an upstream's answer: `512KiB`, `10MiB`, `10MB`; a plain number is bytes. Bytes. Default `10MiB`. */
  maxResponseSize: number
  /** Size of a client's request: `512KiB`, `4MiB`, `4MB`; a plain number is bytes. Bytes. Default `4MiB`. */
  maxRequestSize: number
  /** Open connections of clients. Default `10000`. */
  maxConnections: number
  /** Open connections from one address (IPv6: one /64). Default `5000`. */
  maxConnectionsPerAddress: number
  /** Sessions of clients. Default `100000`. */
  maxSessions: number
  /** Sessions at one prefix. Default `50000`. */
  maxSessionsPerPrefix: number
  /** Sessions of one caller at one prefix; without `auth`, of one address at all prefixes. Default `10000`. */
  maxSessionsPerCaller: number
  /** Calls under way at one prefix. Default `4000`. */
  maxCallsPerPrefix: number
  /** Calls under way of one caller at one prefix; without `auth`, of one address at all prefixes. Default `1000`. */
  maxCallsPerCaller: number
  /** Size of the messages that wait in one queue: for a client that reads slowly or has no stream open, or for a server that reads slowly. Bytes. Default `16MiB`. */
  maxQueued: number
  /** Size of all that waits in the process: requests, answers and queues. Bytes. */
  maxBuffered?: number
  /** Time for the headers of a request: `10s`, `500ms`; a plain number is seconds. Milliseconds. Default `10s`. */
  headersTimeout: number
  /** Time for a whole request to arrive: `60s`, `2m`; a plain number is seconds. Milliseconds. Default `60s`. */
  requestTimeout: number
  /** Time after which a connection ends whose client takes nothing of what it is sent: `30s`, `2m`; a plain number is seconds. Milliseconds. Default `30s`. */
  writeTimeout: number
}

/** Who may use the gateway's own `/_reload`, `/_status` and `/metrics`. */
export interface Admin {
  /** The secret, best taken from the environment; sent as `Authorization: Bearer …`. */
  token: string
}

/** A tenant: where its routers are, and who may use them. */
export interface Tenant {
  /** As configurations give it in `tenant`. */
  name: string
  /** Every router of the tenant lies at or below it, and nobody else's does. */
  prefix: string
  /** Credentials of the tenant. */
  tokens: TenantToken[]
}

export interface TenantToken {
  /** The secret, best taken from the environment; no two of the settings are equal. */
  token: string
  /** Name of the caller, to whom sessions belong. */
  caller: string
}

/** The plant store. */
export interface Plants {
  /** Path below which `/plants` is served. Default `/`. */
  basePath: string
  /** Path of the store's file, relative to the settings file. Default `data/plants.json`. */
  file: string
  /** Where the plants are kept. */
  storage?: PlantStorage
  /** Who may use the store. */
  tokens: PlantToken[]
}

/** Where the plants are kept. */
export interface PlantStorage {
  /** `lowdb`: a file, for one process. */
  type: 'lowdb' | 'postgres' | 'mysql'
  /** For `lowdb`: path of the file, relative to the settings file. Default `data/plants.json`. */
  file: string
  /** For `postgres` and `mysql`: where the database is, with credentials, which are best taken from the environment and percent-encoded. */
  url?: string
}

export interface PlantToken {
  /** The secret, best taken from the environment; no two are equal. */
  token: string
  /** Name of the caller, to whom the plants made with the token belong. */
  caller: string
  /** `own`: the caller's plants. Default `own`. */
  access: 'own' | 'all'
}

/** Where configurations are kept: `plantgw serve` without paths serves them, `plantgw config` changes them. */
export interface Storage {
  /** `directory`: a folder of YAML files, without a history. */
  type: 'directory' | 'lowdb' | 'postgres' | 'mysql'
  /** For `directory`: the folder, relative to the settings file. Default `configs`. */
  path: string
  /** For `lowdb`: path of the file, relative to the settings file. Default `data/configurations.json`. */
  file: string
  /** For `postgres` and `mysql`: where the database is, with credentials, which are best taken from the environment and percent-encoded. */
  url?: string
  /** For `lowdb`, `postgres` and `mysql`: time between two looks of `plantgw serve` whether configurations changed, which are applied then: `5s`, `500ms`; a plain number is seconds, `0s` is never. Milliseconds. Default `5s`. */
  poll: number
}

/** For several gateways behind a load balancer that sends each request to any of them. */
export interface Cluster {
  /** What all replicas share, at least 32 characters, best taken from the environment: whoever knows it can make session ids and speak as a replica. */
  secret: string
  /** Where the other replicas reach this one, past the load balancer: scheme, host and port, different for each. */
  advertise: string
}

/** What the settings come to when they say nothing of `limits`. */
export const DEFAULT_LIMITS: ProcessLimits = {
  connectTimeout: 5000,
  timeout: 30000,
  maxResponseSize: 10485760,
  maxRequestSize: 4194304,
  maxConnections: 10000,
  maxConnectionsPerAddress: 5000,
  maxSessions: 100000,
  maxSessionsPerPrefix: 50000,
  maxSessionsPerCaller: 10000,
  maxCallsPerPrefix: 4000,
  maxCallsPerCaller: 1000,
  maxQueued: 16777216,
  headersTimeout: 10000,
  requestTimeout: 60000,
  writeTimeout: 30000,
}

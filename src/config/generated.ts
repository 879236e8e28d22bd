// Made by `npm run docs` from the schemas of `schemas/`; do not edit.
import type { JsonObject, Json } from '../json/index.ts'

/** One service: its routers, its servers with their tools, and the MCP servers that the gateway proxies for it. */
export interface Configuration {
  /** Name of the configuration, unique among all that are served together; where the settings list `tenants`, among those of its tenant. */
  name: string
  /** The tenant that the configuration belongs to. Default `default`. */
  tenant: string
  /** Time at which the configuration was created, as Unla writes it. */
  createdAt?: string
  /** Time of the last change of the configuration, as Unla writes it. */
  updatedAt?: string
  /** URL path of the one server of the file, which then needs neither `routers` nor a `name`: clients connect to `{prefix}/mcp`. */
  prefix?: string
  /** The URL prefixes and the servers behind them. */
  routers: Router[]
  /** Servers whose tools are HTTP calls. */
  servers: Server[]
  /** The HTTP calls that the servers offer as tools. */
  tools: Tool[]
  /** Prompts that the servers offer in addition to the tools. */
  prompts: Prompt[]
  /** A folder of [Agent Skills](https://agentskills.io) that the servers offer in addition to the tools: each folder in it that holds a `SKILL.md`. */
  skills?: string
  /** Existing MCP servers that are proxied. */
  mcpServers: McpServer[]
  /** How gateways are notified that a configuration changed, so that they reload it. */
  notifier?: Notifier
}

/** Binds a URL prefix to a server. */
export interface Router {
  /** The `name` of a server or of an MCP server of this configuration. */
  server: string | Member[]
  /** How the tools and prompts of an array of servers are named. Default `prefixed`. */
  names: 'prefixed' | 'plain'
  /** URL path of the server: clients connect to `{prefix}/mcp`, or to `{prefix}/sse` and `{prefix}/message`. */
  prefix: string
  /** The path below which `/sse` and `/message` are served, instead of `prefix`. */
  ssePrefix?: string
  /** The web pages of other origins that may use the router. */
  cors?: Cors
  /** The callers that may use the router. */
  auth?: Auth
  /** Rules for what each caller may use. */
  authorize?: Authorize
  /** Whether a person has to approve the calls of tools that may destroy something: those without `readOnlyHint: true` and without `destructiveHint: false` in their `annotations`. Default `none`. */
  approval: 'none' | 'elicitation'
  /** How the router lists its tools. */
  discovery: Discovery
  /** How the prefix is presented to the public: `{prefix}/mcp/server-card` answers everyone with it (SEP-2127), and `plantgw publish` makes the entry of a registry of it. */
  card?: Card
  /** How many requests the router takes, in addition to `rate` of the settings. */
  rate?: Rate[]
}

/** One of the servers behind a prefix, and what clients of the router see of it. */
export interface Member {
  /** Name of a server of this configuration, or `configuration/server`; `*` stands for any characters. */
  server: string
  /** The tools that clients see and can call, by the names that the server itself shows. */
  allowedTools?: string[]
  /** The tools that clients cannot see or call, by the names that the server itself shows. */
  blockedTools: string[]
  /** Replacements for what clients see of a tool, by the name that the server itself shows. */
  toolOverrides: Record<string, ToolOverride>
}

/** Replacements for what the server declares about a tool. */
export interface ToolOverride {
  /** The name under which clients see and call the tool. */
  name?: string
  /** Title of the tool. */
  title?: string
  /** Description of the tool. */
  description?: string
  /** Annotations; each replaces the server's own. */
  annotations?: JsonObject
  /** Group of the tool; searches can be narrowed to it. */
  group?: string
  /** Further words by which the tool is found, such as those of its users. */
  keywords?: string[]
  /** Parts of successful JSON responses of a tool, or of the JSON in the results of an MCP server's tool, that clients get. */
  response?: Response
}

/** Parts of successful JSON responses of a tool, or of the JSON in the results of an MCP server's tool, that clients get. */
export interface Response {
  /** The members to keep: paths with commas between them. */
  select?: string
  /** Paths to leave out, in the notation of `select`. */
  drop: string[]
  /** Maximum number of items of each list, at every depth. */
  maxItems?: number
  /** Maximum number of characters of the text. */
  maxChars?: number
  /** How the text is written. Default `json`. */
  format: 'json' | 'csv' | 'markdown'
  /** Gives the tool an optional argument `fields`, with which the model names the members that it needs: paths as in `select`, without names, of what `select` and `drop` leave. Default `false`. */
  fields: boolean
  /** `handle` keeps what `maxItems` or `maxChars` cut off for ten minutes: clients read it with the tool `read_result`, which the endpoint then has, or as a resource. */
  more?: 'handle'
  /** Reads several pages of a list, and makes one response of them. */
  pages?: Pages
}

/** Reads several pages of a list, and makes one response of them. */
export interface Pages {
  /** Where the next page is: `link` for the `Link` header (RFC 8288), the path of a URL in the response, `parameter: path` for a value in the response that the next request has as a query parameter (`[]` in the path is the last item), or `parameter: +1` for the number of the page. */
  next: string
  /** Path of the list in the response. */
  items?: string
  /** Maximum number of pages of one call. Default `10`. */
  max: number
}

/** The web pages of other origins that may use the router. */
export interface Cors {
  /** Allowed origins, each with scheme, host and port. */
  allowOrigins: string[]
  /** Allowed methods; case does not matter. */
  allowMethods: string[]
  /** Allowed request headers. */
  allowHeaders: string[]
  /** Response headers that web pages may read. */
  exposeHeaders: string[]
  /** Adds `Access-Control-Allow-Credentials: true` to responses. Default `false`. */
  allowCredentials: boolean
}

/** The callers that may use the router. */
export interface Auth {
  /** `none`: everyone. */
  type: 'none' | 'bearer' | 'jwt' | 'introspection'
  /** The accepted tokens; at least one with `type: bearer`. */
  tokens: AuthToken[]
  /** The authorization servers whose tokens are accepted, with `type: jwt`; the one that is asked, with `type: introspection`. */
  issuers: Issuer[]
  /** Accepted values of the `aud` claim; one is enough. */
  audience?: string | string[]
  /** Scopes that a token must have, all of them. */
  scopes: string[]
  /** The claim that names the caller in the log. Default `sub`. */
  caller: string
  /** Time for which a token that the authorization server has called active is not asked about again, with `type: introspection`: a revoked token is accepted that much longer. Milliseconds. Default `30s`. */
  cacheTtl: number
}

export interface AuthToken {
  /** The name of the caller that has the token, for the log and for sessions. */
  caller: string
  /** The secret, or its SHA-256 digest as `sha256:` and 64 hexadecimal digits. */
  token: string
  /** The date (00:00 UTC) or time, in ISO 8601, from which the token is refused. */
  expires?: string
  /** Scopes that the token has, for the rules of `authorize`. */
  scopes?: string[]
}

/** An authorization server. */
export interface Issuer {
  /** Its issuer identifier: the `iss` claim of its tokens, compared character by character. */
  issuer: string
  /** URL of its public keys. */
  jwksUrl?: string
  /** Accepted signature algorithms. */
  algorithms?: ('RS256' | 'RS384' | 'RS512' | 'PS256' | 'PS384' | 'PS512' | 'ES256' | 'ES384' | 'ES512' | 'EdDSA' | 'Ed25519')[]
  /** URL that is asked about tokens. */
  introspectionUrl?: string
  /** Client identifier of the gateway, for introspection (HTTP Basic). */
  clientId?: string
  /** Client secret of the gateway, for introspection. */
  clientSecret?: string
}

/** Rules for what each caller may use. */
export interface Authorize {
  /** Whether callers may use what no rule names. Default `deny`. */
  default: 'allow' | 'deny'
  /** The rules, at most 100. */
  rules: AuthorizeRule[]
}

/** Allows callers that meet all of `scopes`, `claims` and `callers` to use what `tools`, `prompts` and `resources` name. */
export interface AuthorizeRule {
  /** Names of tools as clients see them; `*` stands for any characters. */
  tools?: string[]
  /** Names of prompts as clients see them; `*` stands for any characters. */
  prompts?: string[]
  /** URIs and URI templates of resources; `*` stands for any characters except `/`, `**` for any characters, and `*` alone for every resource. */
  resources?: string[]
  /** Scopes that the token must have, all of them. */
  scopes?: string[]
  /** Claims that the token must have, each with one of these values. */
  claims?: Record<string, string[]>
  /** Names of callers as the log shows them: `caller` of a token, or the claim that `auth.caller` names. */
  callers?: string[]
}

/** How the router lists its tools. */
export interface Discovery {
  /** Content of `tools/list`. Default `list`. */
  type: 'list' | 'search' | 'auto'
  /** The length of the list of all tools, in tokens (estimated: 4 characters each), above which `type: auto` switches to `search`. Default `8000`. */
  above: number
  /** Tools that the list also shows in search mode, by the names that clients see; `*` stands for any characters. */
  pin: string[]
}

/** How the prefix is presented to the public: `{prefix}/mcp/server-card` answers everyone with it (SEP-2127), and `plantgw publish` makes the entry of a registry of it. */
export interface Card {
  /** The name of the server: a domain of yours from its end, a slash, and a name. */
  name: string
  /** The version of what is presented. */
  version: string
  /** Purpose of the server, in at most 100 characters. */
  description: string
  /** A name for people. */
  title?: string
  /** A page about the server. */
  websiteUrl?: string
}

/** How many requests may come in a time. */
export interface Rate {
  /** Calls that count together. */
  per: 'caller' | 'address' | 'session' | 'tenant'
  /** The names of the tools whose calls are counted, as clients see them; `*` stands for any characters. */
  tools?: string[]
  /** How many requests may come in one `window`. */
  limit: number
  /** The time in which `limit` requests may come: `1s`, `1m`, `1h`; a plain number is seconds. Milliseconds. */
  window: number
  /** How many requests may come at once after a pause. */
  burst?: number
}

/** A set of tools that are HTTP calls. */
export interface Server {
  /** Name of the server; a router names it in `server`. */
  name: string
  /** A group of servers, for people; the gateway does not use it. */
  namespace?: string
  /** Purpose of the server; clients get it as `instructions`. */
  description?: string
  /** Names of the tools that the server offers, in the order of `tools/list`. */
  allowedTools?: string[]
  /** The address below which the API is: an `endpoint` that begins with `/` is appended to it. */
  baseUrl?: string
  /** Headers of the requests of all its tools to the host of `baseUrl`. */
  headers?: Record<string, string>
  /** Values that templates read as `.Config`; each may be a template that reads `env`. */
  config: Record<string, string>
  /** Credentials that requests to the server carry, of the gateway or of the caller. */
  credentials?: Credentials
  /** Which secrets are replaced by `***` in answers of the server. */
  redact?: 'off' | 'own' | 'patterns'
  /** How TLS is spoken with the server. */
  tls?: ServerTls
  /** The proxy through which a server is asked, with a tunnel also for http. */
  proxy?: Proxy
  /** Time-outs and sizes. */
  limits?: Partial<Limits>
  /** Sends a request again that got no answer (no connection, or one that was closed before the answer), or 429, 502, 503 or 504. */
  retry?: Retry
  /** Stops calling an origin (scheme, host and port) that keeps failing: calls fail at once until one of them, after a pause, shows that it works again. */
  breaker?: Breaker
}

/** Credentials that requests to the server carry, of the gateway or of the caller. */
export interface Credentials {
  /** `static`: `value` as the header `header`. */
  type: 'static' | 'clientCredentials' | 'tokenExchange' | 'oauth'
  /** For `static`: name of the header. Default `Authorization`. */
  header: string
  /** For `static`: value of the header, as it is sent. */
  value?: string
  /** For `oauth`: whose login it is. */
  for?: 'gateway' | 'caller'
  /** The authorization server, whose metadata says where its endpoints are (RFC 8414, OpenID Connect Discovery). */
  issuer?: string
  /** URL of the token endpoint of the authorization server. */
  tokenUrl?: string
  /** For `oauth`: URL of the page at which a person logs in, beside `tokenUrl`, for an authorization server without metadata. */
  authorizationUrl?: string
  /** Client identifier of the gateway at the authorization server. */
  clientId?: string
  /** Client secret of the gateway at the authorization server. */
  clientSecret?: string
  /** How `clientId` and `clientSecret` are sent (RFC 6749, 2.3.1). */
  clientAuthentication?: 'basic' | 'post'
  /** Scopes that the token is to have. */
  scopes: string[]
  /** URI of the server, or several, for which the token is to be good (RFC 8707). */
  resource?: string | string[]
  /** Name of the server at the authorization server, or several, for which the token is to be good (RFC 8693, 2.1). */
  audience?: string | string[]
}

/** How TLS is spoken with the server. */
export interface ServerTls {
  /** Authorities that may sign the certificate of the server; no others are trusted then. */
  ca?: string
  /** The certificate that the server is shown, followed by those of the authorities between it and the root. */
  cert?: string
  /** The private key of `cert`, without a passphrase. */
  key?: string
  /** Host name that is asked for (SNI), and for which the certificate of the server must be. */
  serverName?: string
}

/** The proxy through which a server is asked, with a tunnel also for http. */
export interface Proxy {
  /** Protocol of the proxy. */
  type: 'http' | 'https' | 'socks5'
  /** Host name or address of the proxy. */
  host: string
  /** Port of the proxy. */
  port: number
  /** User at the proxy. */
  username?: string
  /** Password of that user. */
  password?: string
}

/** Time-outs and sizes. */
export interface Limits {
  /** Time to connect to an upstream: `500ms`, `5s`, `1m30s`; a plain number is seconds. Milliseconds. Default `5s`. */
  connectTimeout: number
  /** Time for the whole upstream call: `500ms`, `30s`, `2m`; a plain number is seconds. Milliseconds. Default `30s`. */
  timeout: number
  /** Maximum size of one response of an API, or of one message of an MCP server, decoded: `512KiB`, `10MiB`, `10MB`; a plain number is bytes. Bytes. Default `10MiB`. */
  maxResponseSize: number
  /** Maximum size of a client's request: `512KiB`, `4MiB`, `4MB`; a plain number is bytes. Bytes. Default `4MiB`. */
  maxRequestSize: number
  /** Maximum number of characters of the text of a result. Default `100000`. */
  resultChars: number
}

/** Sends a request again that got no answer (no connection, or one that was closed before the answer), or 429, 502, 503 or 504. */
export interface Retry {
  /** How often a request is sent at most, the first time included. Default `3`. */
  attempts: number
}

/** Stops calling an origin (scheme, host and port) that keeps failing: calls fail at once until one of them, after a pause, shows that it works again. */
export interface Breaker {
  /** How many requests in a row must fail before the origin is no longer called. Default `5`. */
  failures: number
}

/** One HTTP call, offered as an MCP tool. */
export interface Tool {
  /** Name of the tool, unique in the configuration: 1 to 128 of the characters `A-Z a-z 0-9 _ - .`, because many clients refuse other names. */
  name: string
  /** Name that clients show to people. */
  title?: string
  /** Description of what the tool does and when to use it, for the model. */
  description?: string
  /** HTTP method of the request to the upstream: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS; case does not matter. Default `GET`. */
  method: string
  /** URL of the upstream, or a path below the `baseUrl` of the server. */
  endpoint: string
  /** Headers of the request to the upstream; each value may be a template. */
  headers: Record<string, string>
  /** The arguments of the tool, from which its input schema is made. */
  args: Arg[]
  /** Template of the request body. */
  requestBody?: string
  /** Template of the text that the client gets, over `.Response.Data` and `.Response.Body`. */
  responseBody?: string
  /** Template of the text that the client gets when the response has a status of 400 or above. */
  errorBody?: string
  /** JSON Schema 2020-12 of the arguments, with `type: object`; it replaces the schema made from `args`. */
  inputSchema?: JsonObject
  /** JSON Schema 2020-12 of the response, with `type: object`; a JSON response then becomes structured content. */
  outputSchema?: JsonObject
  /** Hints for clients about the behavior of the tool. */
  annotations?: JsonObject
  /** `_meta` of the tool in `tools/list`. */
  meta?: JsonObject
  /** The proxy through which a server is asked, with a tunnel also for http. */
  proxy?: Proxy
  /** Follows up to 5 redirects; credentials are not sent to another origin. Default `false`. */
  followRedirects: boolean
  /** Time-outs and sizes. */
  limits?: Partial<Limits>
  /** Sends a request again that got no answer (no connection, or one that was closed before the answer), or 429, 502, 503 or 504. */
  retry?: Retry
  /** For an API that accepts a request, continues after its response, and is polled for the result. */
  async?: Async
  /** Group of the tool; searches can be narrowed to it. */
  group?: string
  /** Further words by which the tool is found, such as those of its users. */
  keywords?: string[]
  /** Parts of successful JSON responses of a tool, or of the JSON in the results of an MCP server's tool, that clients get. */
  response?: Response
}

/** One argument of a tool. */
export interface Arg {
  /** Name of the argument, unique in the tool; templates read it as `.Args.<name>`. */
  name: string
  /** Where the value is sent: in a header of that name, in the query, in the path of the endpoint (where its template names the argument), in the body, or as a part of a multipart form. */
  position: 'header' | 'query' | 'path' | 'body' | 'form-data'
  /** Name of the value in the request, where it differs from `name`: of the header, the query parameter, the member of the JSON body, or the part of the form. */
  as?: string
  /** How an array or object is written, by the names of OpenAPI. */
  style?: 'form' | 'simple' | 'label' | 'matrix' | 'spaceDelimited' | 'pipeDelimited' | 'deepObject'
  /** Whether each item of an array, or member of an object, is written by itself, as in OpenAPI. */
  explode?: boolean
  /** Treatment of `/` and `\` in an argument of position `path`. */
  slashes?: 'encode' | 'keep'
  /** Whether a call must give the argument. Default `false`. */
  required: boolean
  /** Type of the value. Default `string`. */
  type: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object'
  /** Meaning of the argument, for the model. */
  description?: string
  /** The value if a call omits the argument, parsed by `type`. */
  default?: Json
  /** The value of every call, parsed by `type`. */
  const?: Json
  /** The allowed values. */
  enum?: Json[]
  /** For `array`: the schema of its elements. */
  items?: JsonObject
  /** For `object`: the schemas of its properties, by name. */
  properties?: Record<string, JsonObject>
}

/** For an API that accepts a request, continues after its response, and is polled for the result. */
export interface Async {
  /** The status of a response that begins an operation. Default `202`. */
  accepted: number
  /** Template of the URL that is polled, rendered once with the response that began the operation. */
  poll?: string
  /** Time between two polls: `500ms`, `5s`. Milliseconds. Default `5s`. */
  interval: number
  /** Template over the response to a poll that writes `true` once the operation is over. */
  done?: string
  /** Template over the response to a poll that writes `true` if the operation has failed. */
  failed?: string
  /** The request that cancels the operation. */
  cancel?: Cancellation
  /** How long a task, or the handle that a client without tasks gets, is good for: `10m`, `24h`. Milliseconds. Default `1h`. */
  ttl: number
}

/** The request that cancels the operation. */
export interface Cancellation {
  /** Its method. Default `DELETE`. */
  method: 'DELETE' | 'POST' | 'PUT' | 'PATCH'
  /** Template of its URL, rendered as `poll` is. */
  endpoint?: string
}

/** A prompt that clients can offer to people. */
export interface Prompt {
  /** Name of the prompt, unique in the configuration. */
  name: string
  /** Name that clients show to people. */
  title?: string
  /** Purpose of the prompt. */
  description?: string
  /** The arguments of the prompt; their values are strings. */
  arguments: PromptArgument[]
  /** The messages that the client gets for the prompt. */
  promptResponse: PromptMessage[]
}

export interface PromptArgument {
  /** Name of the argument. */
  name: string
  /** Meaning of the argument. */
  description?: string
  /** Whether the argument is required. Default `false`. */
  required: boolean
}

export interface PromptMessage {
  /** Role of the author of the message. */
  role: 'user' | 'assistant'
  /** Content of the message. */
  content: PromptContent
}

/** Content of the message. */
export interface PromptContent {
  /** Type of the content. Default `text`. */
  type: 'text'
  /** The text, a template over `.Args`. */
  text: string
}

/** An existing MCP server that is proxied. */
export interface McpServer {
  /** Transport of the server. */
  type: 'stdio' | 'sse' | 'streamable-http'
  /** Name of the server; a router names it in `server`. */
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
  /** Which client sessions share a connection or process. Default `session`. */
  isolation: 'session' | 'credential' | 'shared'
  /** Time for the server to start and answer the handshake: `10s`, `1m30s`; a plain number is seconds. Milliseconds. Default `30s`. */
  startupTimeout: number
  /** Time without a message or an open stream after which the gateway ends a session, with its process or connection. Milliseconds. Default `30m`. */
  idleTimeout: number
  /** Whether the tools, prompts and instructions that the server declares are compared with those that `plantgw pin` wrote to `plantgw.lock`, at every list. Default `off`. */
  pin: 'off' | 'warn' | 'block'
  /** Maximum number of sessions with the server; for `stdio` each session is a process. */
  maxSessions: number
  /** When the gateway starts the server or connects to it: when the configuration is loaded, or at the first call. Default `onDemand`. */
  policy: 'onStart' | 'onDemand'
  /** Starts the server once when the configuration is loaded, so that it is installed before the first call, and ends it. Default `false`. */
  preinstalled: boolean
  /** The tools that clients see and can call, by the names that the server itself shows. */
  allowedTools?: string[]
  /** The tools that clients cannot see or call, by the names that the server itself shows. */
  blockedTools: string[]
  /** Replacements for what clients see of a tool, by the name that the server itself shows. */
  toolOverrides: Record<string, ToolOverride>
  /** Credentials that requests to the server carry, of the gateway or of the caller. */
  credentials?: Credentials
  /** Which secrets are replaced by `***` in answers of the server. */
  redact?: 'off' | 'own' | 'patterns'
  /** How TLS is spoken with the server. */
  tls?: ServerTls
  /** The proxy through which a server is asked, with a tunnel also for http. */
  proxy?: Proxy
  /** Time-outs and sizes. */
  limits?: Partial<Limits>
  /** Sends a request again that got no answer (no connection, or one that was closed before the answer), or 429, 502, 503 or 504. */
  retry?: Retry
  /** Stops calling an origin (scheme, host and port) that keeps failing: calls fail at once until one of them, after a pause, shows that it works again. */
  breaker?: Breaker
}

/** How gateways are notified that a configuration changed, so that they reload it. */
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
  /** Path of the file that contains the process id. */
  pid: string
}

/** For `type: api`. */
export interface ApiNotifier {
  /** Port of the reload call, if `target_url` does not name one. */
  port?: number
  /** URL of the reload call, or `unix:` and the path of the socket that `admin.listen` names. */
  target_url: string
  /** The `admin.token` of the gateway that is called. */
  token?: string
}

/** For `type: redis`. */
export interface RedisNotifier {
  /** The channel on which reload messages are published. */
  topic: string
  /** Topology: one server, servers behind sentinels, or a Redis Cluster. Default `single`. */
  cluster_type: 'single' | 'sentinel' | 'cluster'
  /** Address as `host:port`; for `sentinel` the addresses of the sentinels, for `cluster` those of some nodes, separated by commas. */
  addr: string
  /** For `sentinel`: the name of the master in the sentinels. Default `mymaster`. */
  master_name: string
  /** User of the server (Redis ACL). */
  username?: string
  /** Password of that user. */
  password?: string
  /** Whether the connection is encrypted; this machine must trust the certificate of the server. Default `false`. */
  tls: boolean
}

/** The lint configuration sets which findings `plantgw validate` and `plantgw lint-templates` report, and with which severity. */
export interface LintConfiguration {
  /** Severities by the code of a finding, such as `no-router`, or by a check, such as `templates`; a code takes precedence over its check. */
  severity: Record<string, 'off' | 'info' | 'warning' | 'error'>
  /** Limits beyond which some findings are reported. */
  limits: Partial<LintLimits>
}

/** Limits beyond which some findings are reported. */
export interface LintLimits {
  /** Maximum number of tokens that the `tools/list` of a prefix may cost a model, estimated as 4 characters each; 0 reports the cost of every prefix. Default `10000`. */
  toolListTokens: number
  /** Maximum length of the description of a tool or argument, in characters. Default `1024`. */
  descriptionLength: number
}

/** Settings of the gateway's process. */
export interface Settings {
  /** Port on which the gateway listens; 0 selects a free port. Default `5235`. */
  port: number
  /** Address on which the gateway listens; `0.0.0.0` or `::` for all addresses. Default `127.0.0.1`. */
  host: string
  /** Whether the gateway serves routers without authentication while it listens beyond this machine: everyone who reaches its address can call their tools. Default `false`. */
  allowUnauthenticated: boolean
  /** Has the main listener speak TLS, 1.2 at least. */
  tls?: Tls
  /** URL at which clients reach the gateway, with the path below which a proxy serves it, if any. */
  publicUrl?: string
  /** Path of the file that contains the process id while the gateway runs, relative to the settings file. */
  pid?: string
  /** Number of processes that serve as one gateway at one address, 1 to 99, to use as many CPU cores. Default `1`. */
  workers: string
  /** Time between two automatic reloads: `600s`, `10m`, `1h30m`; a plain number is seconds. Milliseconds. Default `600s`. */
  reload_interval: number
  /** Whether the gateway reloads configurations every `reload_interval`. Default `false`. */
  reload_switch: boolean
  /** Whether the gateway applies changes of the served files and folders automatically, a moment after the last change. Default `false`. */
  watch: boolean
  /** The log on standard error. */
  logger: Logger
  /** Time-outs and sizes for tools, unless a tool or its server sets others, and limits of the process for its clients. */
  limits: ProcessLimits
  /** How the gateway ends when it receives SIGTERM. */
  drain: Drain
  /** Folders of secret files, as Docker and Kubernetes mount them, relative to the settings file. */
  secrets: string[]
  /** Host names that the gateway accepts in requests, in addition to that of `publicUrl`. */
  allowedHosts: string[]
  /** Origins that the gateway accepts in addition to those of each router's `cors`. */
  allowedOrigins: string[]
  /** Addresses and networks of reverse proxies whose `X-Forwarded-For` and `X-Forwarded-Prefix` the gateway believes. */
  trustedProxies: string[]
  /** The addresses that the gateway connects to for tools, MCP servers over HTTP and authorization servers, judged at each connection and each redirect. */
  outbound: Outbound
  /** The gateway's own pages `/_reload`, `/_diff`, `/_status` and `/metrics`: where they are, and who may use them. */
  admin?: Admin
  /** The pages below `/_console`, beside the other pages of `admin`: prefixes, tools, the last calls, MCP servers and configurations. */
  console?: Console
  /** The tenants that configurations belong to. */
  tenants?: Tenant[]
  /** The plant store. */
  plants?: Plants
  /** The store of the configurations: `plantgw serve` without paths serves them, `plantgw config` changes them. */
  storage?: Storage
  /** Where the gateway keeps logins of `credentials` with `type: oauth`, encrypted. */
  vault?: Vault
  /** How gateways are notified that a configuration changed, so that they reload it. */
  notifier?: Notifier
  /** For several gateways behind a load balancer that sends each request to any of them. */
  cluster?: Cluster
  /** A Redis server in which replicas count together what `rate` limits. */
  redis?: Redis
  /** The audit log: one line of JSON for each call, refusal, failed login, session, reload and change. */
  audit?: Audit
  /** Traces and histograms by OpenTelemetry. */
  telemetry?: Telemetry
  /** Which secrets are replaced by `***` in answers of servers that have no `redact`: `own` are those with which the gateway itself asks the server, `patterns` also what has the form of a token, a JSON Web Token, a private key or a password in a URL, `off` none. Default `own`. */
  redact: 'off' | 'own' | 'patterns'
  /** How many requests the gateway takes, in addition to what its routers say with `rate`. */
  rate: Rate[]
}

/** Has the main listener speak TLS, 1.2 at least. */
export interface Tls {
  /** The certificate, followed by those of the authorities between it and the root. */
  cert: string
  /** The private key, without a passphrase. */
  key: string
  /** Authorities of client certificates. */
  clientCa?: string
}

/** The log on standard error. */
export interface Logger {
  /** The lowest level that is logged. Default `info`. */
  level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Format of the lines, for machines or for people. */
  format?: 'json' | 'pretty'
}

/** Time-outs and sizes for tools, unless a tool or its server sets others, and limits of the process for its clients. */
export interface ProcessLimits {
  /** Maximum number of open connections of clients; one address (IPv6: one /64) may have half of them. Default `10000`. */
  maxConnections: number
  /** Maximum number of sessions of clients. Default `100000`. */
  maxSessions: number
  /** Maximum number of calls under way at one prefix. Default `4000`. */
  maxCallsPerPrefix: number
  /** Maximum number of wrong credentials from one address (IPv6: one /64) within a minute. Default `30`. */
  maxFailedLogins: number
  /** Time that one turn of the event loop may last, and so a request may wait before the gateway reads it: `250ms`, `2s`; a plain number is seconds. Milliseconds. Default `250ms`. */
  maxEventLoopDelay: number
  /** Time for a whole request to arrive: `60s`, `2m`; a plain number is seconds. Milliseconds. Default `60s`. */
  requestTimeout: number
  /** Time after which the gateway closes a connection whose client does not read the data sent to it: `30s`, `2m`; a plain number is seconds. Milliseconds. Default `30s`. */
  writeTimeout: number
  /** Time to connect to an upstream: `500ms`, `5s`, `1m30s`; a plain number is seconds. Milliseconds. Default `5s`. */
  connectTimeout: number
  /** Time for the whole upstream call: `500ms`, `30s`, `2m`; a plain number is seconds. Milliseconds. Default `30s`. */
  timeout: number
  /** Maximum size of one response of an API, or of one message of an MCP server, decoded: `512KiB`, `10MiB`, `10MB`; a plain number is bytes. Bytes. Default `10MiB`. */
  maxResponseSize: number
  /** Maximum size of a client's request: `512KiB`, `4MiB`, `4MB`; a plain number is bytes. Bytes. Default `4MiB`. */
  maxRequestSize: number
  /** Maximum number of characters of the text of a result. Default `100000`. */
  resultChars: number
}

/** How the gateway ends when it receives SIGTERM. */
export interface Drain {
  /** Time in which the gateway still accepts connections and answers requests, while `/_ready` responds 503, every response closes its connection and event streams have ended, so that load balancers and clients turn to another replica. Milliseconds. Default `5s`. */
  grace: number
  /** Time after `grace` in which calls under way may end; what is left is cut off. Milliseconds. */
  timeout?: number
}

/** The addresses that the gateway connects to for tools, MCP servers over HTTP and authorization servers, judged at each connection and each redirect. */
export interface Outbound {
  /** Classes of addresses that are denied to hosts written in configurations: `own` (where this gateway listens), `metadata` (metadata services of clouds), `linkLocal`, `loopback`, `private`, `multicast`, `reserved`. */
  deny: ('own' | 'metadata' | 'linkLocal' | 'loopback' | 'private' | 'multicast' | 'reserved')[]
  /** Hosts that are allowed whatever their addresses are: names or addresses as in URLs, `*.example.com` for every name below `example.com`. */
  allowHosts: string[]
  /** Addresses and networks that are allowed, whatever their class is, except for `own`. */
  allowCidrs: string[]
  /** The only ports that are allowed, apart from those of `allowHosts`. */
  ports?: number[]
}

/** The gateway's own pages `/_reload`, `/_diff`, `/_status` and `/metrics`: where they are, and who may use them. */
export interface Admin {
  /** A listener of their own, over plain HTTP: `address:port`, with an IPv6 address in brackets, or `unix:` and a path, relative to the settings file; the socket is for the gateway's user only. */
  listen?: string
  /** The secret, sent as `Authorization: Bearer …`. */
  token?: string
}

/** The pages below `/_console`, beside the other pages of `admin`: prefixes, tools, the last calls, MCP servers and configurations. */
export interface Console {
  /** Whether tools can be called from the console. */
  calls?: boolean
  /** Whether the last calls are shown with their arguments, requests and answers, at most 16 MiB of them. Default `false`. */
  contents: boolean
  /** Whether configurations can be edited in the console. */
  edit?: boolean
}

/** A tenant: the prefix of its routers, the callers that may use them, and what the authors of its configurations may do. */
export interface Tenant {
  /** Name of the tenant, as in `tenant` of configurations. */
  name: string
  /** Prefix at or below which are all routers of the tenant, and no routers of other tenants. */
  prefix: string
  /** Credentials of the tenant. */
  tokens: TenantToken[]
  /** Environment variables that configurations of the tenant may read, by `${NAME}` and `env`. */
  env: string[]
  /** Whether configurations of the tenant may start MCP servers as processes (`type: stdio`), with one of `commands`. Default `false`. */
  stdio: boolean
  /** The only values of `command` that these processes may have. */
  commands: TenantCommand[]
  /** Whether configurations of the tenant may have a `notifier`, which names a host or a process of its own. Default `false`. */
  notifier: boolean
  /** The addresses that the gateway connects to for configurations of the tenant. */
  outbound?: TenantOutbound
  /** Time-outs and sizes for configurations of the tenant, and the most that these may set for their servers and tools. */
  limits?: Partial<Limits>
  /** `redact` of the tenant's servers that have none. */
  redact?: 'off' | 'own' | 'patterns'
  /** Upper bound for the routers of the tenant: both this and `authorize` of the router must allow a call. */
  authorize?: Authorize
}

export interface TenantToken {
  /** Name of the caller that owns the sessions. */
  caller: string
  /** The secret, or its SHA-256 digest as `sha256:` and 64 hexadecimal digits. */
  token: string
  /** The date (00:00 UTC) or time, in ISO 8601, from which the token is refused. */
  expires?: string
  /** Scopes that the token has, for the rules of `authorize`. */
  scopes?: string[]
}

/** A command that the tenant may run. */
export interface TenantCommand {
  /** The value of `command`, exactly as configurations write it. */
  command: string
  /** Environment variables that configurations may set for the process. */
  env: string[]
}

/** The addresses that the gateway connects to for configurations of the tenant. */
export interface TenantOutbound {
  /** Hosts that are allowed whatever their addresses are: names or addresses as in URLs, `*.example.com` for every name below `example.com`. */
  allowHosts: string[]
  /** Addresses and networks that are allowed, whatever their class is, except for `own`. */
  allowCidrs: string[]
  /** The only ports that are allowed, apart from those of `allowHosts`. */
  ports?: number[]
}

/** The plant store. */
export interface Plants {
  /** Path below which `/plants` is served. Default `/`. */
  basePath: string
  /** Path of the store's file, relative to the settings file; a short form of `storage: {type: lowdb, file: …}`. Default `data/plants.json`. */
  file: string
  /** The storage of the plants. */
  storage?: PlantStorage
  /** Tokens of the callers that may use the store. */
  tokens: PlantToken[]
}

/** The storage of the plants. */
export interface PlantStorage {
  /** `lowdb`: a file, for one process. */
  type: 'lowdb' | 'postgres' | 'mysql'
  /** For `lowdb`: path of the file, relative to the settings file. Default `data/plants.json`. */
  file: string
  /** For `postgres` and `mysql`: URL of the database, with credentials. */
  url?: string
}

export interface PlantToken {
  /** The secret, different from every other token of the store. */
  token: string
  /** Name of the caller that owns the plants created with the token. */
  caller: string
  /** `own`: the caller's plants. Default `own`. */
  access: 'own' | 'all'
}

/** The store of the configurations: `plantgw serve` without paths serves them, `plantgw config` changes them. */
export interface Storage {
  /** `directory`: a folder of YAML files, without a history. */
  type: 'directory' | 'lowdb' | 'postgres' | 'mysql'
  /** For `directory`: the folder, relative to the settings file. Default `configs`. */
  path: string
  /** For `lowdb`: path of the file, relative to the settings file. Default `data/configurations.json`. */
  file: string
  /** For `postgres` and `mysql`: URL of the database, with credentials. */
  url?: string
  /** For `lowdb`, `postgres` and `mysql`: interval at which `plantgw serve` checks for changed configurations and applies them: `5s`, `500ms`; a plain number is seconds. Milliseconds. Default `5s`. */
  poll: number
  /** For `lowdb`, `postgres` and `mysql`: how many versions of each configuration the history keeps, the current one included. */
  keep?: number
}

/** Where the gateway keeps logins of `credentials` with `type: oauth`, encrypted. */
export interface Vault {
  /** The secret from which the key of the encryption is derived, of at least 32 characters; the same for every replica. */
  key: string
  /** The secret before `key`, while it is being changed: logins that were encrypted with it can be read. */
  previousKey?: string
  /** Folder of the encrypted logins, relative to the settings file. Default `data/logins`. */
  folder: string
}

/** For several gateways behind a load balancer that sends each request to any of them. */
export interface Cluster {
  /** The secret that all replicas share, of at least 32 characters. */
  secret: string
  /** A second secret, while the secret is being changed: sessions and requests of other replicas that were made with it are accepted, new ones are made with `secret`. */
  acceptedSecret?: string
  /** URL at which the other replicas reach this one, not through the load balancer: scheme, host and port, different for each replica. */
  advertise: string
}

/** A Redis server in which replicas count together what `rate` limits. */
export interface Redis {
  /** Topology: one server, servers behind sentinels, or a Redis Cluster. Default `single`. */
  cluster_type: 'single' | 'sentinel' | 'cluster'
  /** Address as `host:port`; for `sentinel` the addresses of the sentinels, for `cluster` those of some nodes, separated by commas. */
  addr: string
  /** For `sentinel`: the name of the master in the sentinels. Default `mymaster`. */
  master_name: string
  /** User of the server (Redis ACL). */
  username?: string
  /** Password of that user. */
  password?: string
  /** Whether the connection is encrypted; this machine must trust the certificate of the server. Default `false`. */
  tls: boolean
}

/** The audit log: one line of JSON for each call, refusal, failed login, session, reload and change. */
export interface Audit {
  /** Where the lines are written. */
  to: 'file' | 'stdout' | 'stderr'
  /** For `file`: the file, relative to the settings file; its folder must exist. */
  path?: string
  /** How the line of a call shows the arguments of a tool or prompt: not at all (`none`), or by their names, their HMAC-SHA256, or their values. Default `none`. */
  args: 'none' | 'names' | 'hash' | 'full'
  /** For `args: hash`: the key of the HMAC, of at least 32 characters. */
  secret?: string
  /** Behaviour while the log cannot be written: the gateway serves (`open`), and drops and counts lines beyond 8 MiB; or it refuses all requests to routers with 503 (`closed`). Default `open`. */
  fail: 'open' | 'closed'
}

/** Traces and histograms by OpenTelemetry. */
export interface Telemetry {
  /** Where spans and metrics are sent by the OpenTelemetry protocol (OTLP over HTTP). */
  otlp: Otlp
}

/** Where spans and metrics are sent by the OpenTelemetry protocol (OTLP over HTTP). */
export interface Otlp {
  /** The base URL of a collector; spans go to `/v1/traces` and metrics to `/v1/metrics` below it. */
  endpoint?: string
  /** Headers of each request, such as a credential; take its value from the environment. */
  headers?: Record<string, string>
  /** Signals to send. */
  signals: ('traces' | 'metrics')[]
  /** The part of the traces that begin here which is recorded, from 0 to 1; a request with a trace context is recorded if its caller records it. */
  sampling?: number
}

/** What the settings come to when they say nothing of `limits`. */
export const DEFAULT_LIMITS: ProcessLimits = {
  maxConnections: 10000,
  maxSessions: 100000,
  maxCallsPerPrefix: 4000,
  maxFailedLogins: 30,
  maxEventLoopDelay: 250,
  requestTimeout: 60000,
  writeTimeout: 30000,
  connectTimeout: 5000,
  timeout: 30000,
  maxResponseSize: 10485760,
  maxRequestSize: 4194304,
  resultChars: 100000,
}

import type { Identity } from '../access/identity.ts'
import type { Hold } from '../access/memory.ts'
import type { Limits } from '../config/model.ts'
import type { UsedVariable } from '../config/secret-files.ts'
import type { CredentialsOf } from '../credentials/credential.ts'
import type { Report, Severity } from '../findings/finding.ts'
import type { Json, JsonObject } from '../json/index.ts'
import type {
  CancelSignal,
  Connection,
  Guards,
  HttpAnswer,
  HttpClient,
  HttpRequest,
  Resilience,
} from '../net/index.ts'
import type { Keep } from '../shaping/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Span } from '../telemetry/trace.ts'
import type { Memo, Secrets } from '../template/index.ts'
import type { Failure } from './failure.ts'
import type { OnRedacted } from './mask.ts'
import type { Operation } from './operation.ts'

/** Something wrong with what a tool or prompt says; the caller adds file and range. */
export interface Problem extends Report {
  severity: Severity
  /** The template itself fails, of which the checks of templates report more. */
  ofTemplate?: boolean
}

/** What MCP's `tools/list` shows of a tool. */
export interface ToolDefinition {
  name: string
  title?: string
  description?: string
  /** JSON Schema 2020-12 of type object. */
  inputSchema: JsonObject
  /** Of type object always: a schema of another type is wrapped as the property `result`. */
  outputSchema?: JsonObject
  annotations?: JsonObject
  execution?: JsonObject
  _meta?: JsonObject
}

export interface Tools {
  /** In the order of `allowedTools`, else of `tools`. */
  names: readonly string[]
  /** Of those that begin operations. */
  slow: readonly string[]
  /** JSON of the list as clients see it, once it was made. */
  listed?: string | undefined
  /** As clients see them. */
  list(): readonly ToolDefinition[]
  /** Compiled at the first use: most tools of many configurations are never called. */
  get(name: string): CompiledTool | undefined
}

/** A request of a tool. */
export interface UpstreamRequest extends HttpRequest {
  /** Names and values in turn. */
  headers: string[]
}

export interface CompiledTool {
  definition: ToolDefinition
  /** Calls the upstream. Never rejects; every failure is a result with `isError`. */
  call(args: unknown, call: CallContext): Promise<CallOutcome>
  /** What `call` would send, without sending it; or why nothing would be sent, for the author of the tool. */
  request(args: unknown, call: CallContext): Promise<RequestPlan>
  /** What `call` would come to if the upstream gave this answer; nothing is sent. */
  respond(args: unknown, call: CallContext, answer: HttpAnswer): Promise<CallOutcome>
  /** What goes on with operations that calls began; absent: none does. */
  operations?: Operations | undefined
}

/** Goes on with operations of a tool. */
export interface Operations {
  /** Milliseconds between two polls. */
  interval: number
  /** Milliseconds that an operation is known. */
  ttl: number
  /** Milliseconds that a call may take. */
  timeout: number
  /** Asks once. Never rejects. */
  poll(operation: Operation, call: CallContext): Promise<Polled>
  /** Asks to end it. Never rejects. Absent: the API cannot. */
  cancel?(operation: Operation, call: CallContext): Promise<CallOutcome>
}

/** How far an operation is. `after`: milliseconds that the API asks to wait for before it is asked again; default 0. */
export type Polled = { running: true; after?: number } | CallOutcome

export type RequestPlan =
  | { request: UpstreamRequest; error?: undefined }
  | { request?: undefined; error: string }

/** The MCP request that a call came with. */
export interface CallContext {
  /** Names in lower case; repeated ones joined as Node joins them. */
  headers: Readonly<Record<string, string | undefined>>
  query?: () => Readonly<Record<string, string>>
  path?: string
  /** Absent: nobody knows who calls. */
  identity?: Identity | undefined
  /** The whole JSON-RPC message. */
  body: Json
  /** Aborts the upstream call. */
  signal: CancelSignal
  /** Where traces are recorded. */
  span?: Span | undefined
  /** Tells the client how far the call is; absent: it did not ask. @param done of what has no known end */
  progress?: ((done: number, message: string) => void) | undefined
  /** Keeps what is cut off the result; absent: nothing is kept. */
  keep?: Keep | undefined
  /** Has the bytes of the upstream's answer; absent: they are not counted. */
  hold?: Hold
}

export type Content =
  | { type: 'text'; text: string }
  | { type: 'image' | 'audio'; data: string; mimeType: string }
  | { type: 'resource'; resource: { uri: string; mimeType: string; blob: string } }

/** MCP's CallToolResult. May hold exact numbers: write it with `stringify` of `src/json`. */
export interface ToolResult {
  content: Content[]
  structuredContent?: JsonObject
  isError?: true
  _meta?: JsonObject
}

export interface CallOutcome {
  result: ToolResult
  /** Milliseconds that the API asks to wait for before the operation is polled; default 0. */
  after?: number
  upstreamStatus?: number
  /** Pages of the upstream's list that the result is made of, where there are several. */
  pages?: number
  /** Characters that the result lacks of the upstream's answer, as it was shaped or too long. */
  savedChars?: number
  failure?: Failure
  /** What has begun and goes on; the result says no more than that. */
  operation?: Operation
  /** For the log: what failed in terms of the configuration, where the result says it in the caller's. */
  detail?: string
}

export interface CompileContext {
  /** What `env` of templates reads. */
  env: Readonly<Record<string, string | undefined>>
  /** Of the process; those of the server and the tool go before them. */
  limits: Limits
  http: HttpClient
  /** What judges its connections. Absent: every address is good, or nothing is sent. */
  guards?: Guards | undefined
  /** Of the server. */
  connection?: Connection | undefined
  /** Of the server; absent: requests are sent once, whatever failed before. */
  resilience?: Resilience | undefined
  /** What requests of servers are sent with. Absent: nothing is sent. */
  credentialsOf?: CredentialsOf
  /** Hears of secrets that were taken out of answers of the server. */
  onRedacted?: OnRedacted | undefined
  /** Hears of arguments that clients add to calls. Absent: nobody does. */
  log?: Pick<Logger, 'debug'>
  /** Templates that the same run has compiled. */
  memo?: Memo
  /** What the file reads of the environment. Default: what templates of the tool read. */
  variables?: () => readonly UsedVariable[]
  /** What the templates of tools do not show, for requests that are not sent. Default: nothing. */
  secrets?: Secrets
}

/** What MCP's `prompts/list` shows of a prompt. */
export interface PromptDefinition {
  name: string
  title?: string
  description?: string
  arguments: { name: string; description?: string; required: boolean }[]
}

export interface Prompts {
  list: PromptDefinition[]
  /** `args` as they came; `error` is for JSON-RPC -32602: an unknown prompt, a missing or faulty argument. */
  get(name: string, args: unknown): Promise<PromptAnswer>
}

export type PromptAnswer = { result: PromptResult; error?: undefined } | { result?: undefined; error: string }

/** MCP's GetPromptResult. */
export interface PromptResult {
  description?: string
  messages: { role: 'user' | 'assistant'; content: { type: 'text'; text: string } }[]
}

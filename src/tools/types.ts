import type { Identity } from '../access/identity.ts'
import type { MemoryReservation } from '../access/memory.ts'
import type { Limits } from '../config/model.ts'
import type { UsedVariable } from '../config/secret-files.ts'
import type { CredentialsOf } from '../credentials/credential.ts'
import type { Severity } from '../findings/codes.ts'
import type { Report } from '../findings/finding.ts'
import type { Json, JsonObject } from '../json/index.ts'
import type { Keep } from '../json/shaping/index.ts'
import type { Call } from '../mcp/call.ts'
import type { CallEnd } from '../mcp/context.ts'
import type { LoginNeed } from '../mcp/fault.ts'
import type { RpcError } from '../mcp/protocol.ts'
import type {
  CancelSignal,
  Connection,
  Guards,
  HttpAnswer,
  HttpClient,
  HttpRequest,
  Resilience,
} from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { Span } from '../telemetry/trace.ts'
import type { Memo, Secrets } from '../template/index.ts'
import type { Failure, TemplatePlace } from './failure.ts'
import type { Mask, OnRedacted } from './mask.ts'

/** `result` is the JSON text of an object without `resultType` and `_meta`; the latter is `meta`. */
export type MethodAnswer =
  | {
      result: string
      resultType?: 'task'
      meta?: JsonObject
      end?: CallEnd | undefined
      cacheScope?: 'public' | 'private'
    }
  | { error: RpcError }

/** Answers one request; a rejection is a bug and becomes an internal error. */
export type Method = (params: JsonObject, call: Call) => Promise<MethodAnswer>

/** A problem of a tool or prompt; the caller adds file and range. */
export interface Problem extends Report {
  severity: Severity
  /** Whether the template itself is faulty, which template checks report in detail. */
  ofTemplate?: boolean
}

/** A tool as listed by MCP's `tools/list`. */
export interface ToolDefinition {
  name: string
  title?: string
  description?: string
  /** JSON Schema 2020-12 of type object. */
  inputSchema: JsonObject
  /** Always an object: other types are wrapped as the property `result`. */
  outputSchema?: JsonObject
  annotations?: JsonObject
  execution?: JsonObject
  _meta?: JsonObject
}

export interface Tools {
  /** In the order of `allowedTools`, or else of `tools`. */
  names: readonly string[]
  /** Names of tools that begin operations. */
  slow: readonly string[]
  /** JSON text of the list for clients, once serialized. */
  listed?: string | undefined
  /** Definitions for clients. */
  list(): readonly ToolDefinition[]
  /** Compiled on first use, as most tools are never called. */
  get(name: string): CompiledTool | undefined
}

export interface UpstreamRequest extends HttpRequest {
  /** Alternating names and values. */
  headers: string[]
}

export interface CompiledTool {
  definition: ToolDefinition
  /** Calls the upstream. Never rejects; every failure is a result with `isError`. */
  call(args: unknown, call: CallContext): Promise<CallOutcome>
  /** The request that `call` would send, or why it would send none, for the author of the tool. */
  request(args: unknown, call: CallContext): Promise<RequestPlan>
  /** The outcome of `call` if the upstream gave this answer; sends nothing. */
  respond(args: unknown, call: CallContext, answer: HttpAnswer): Promise<CallOutcome>
  /** Continues operations; absent: the tool starts none. */
  operations?: Operations | undefined
}

/** A running operation: JSON with all data that any process needs to continue it. */
export interface Operation extends JsonObject {
  /** Origin of the call that began it; headers and credentials of the tool are sent only there. */
  origin: string
  poll: string
  /** Absolute URL; null: the poll URL. */
  cancel: string | null
  /** Arguments needed for polling and results. */
  args: JsonObject
}

/** Continues a tool's operations. */
export interface Operations {
  /** Milliseconds between two polls. */
  interval: number
  /** Milliseconds after which an operation expires. */
  ttl: number
  /** Timeout of a call in milliseconds. */
  timeout: number
  /** Polls once. Never rejects. */
  poll(operation: Operation, call: CallContext): Promise<Polled>
  /** Requests cancellation. Never rejects. Absent: unsupported by the API. */
  cancel?(operation: Operation, call: CallContext): Promise<CallOutcome>
}

/** State of an operation. `after`: milliseconds that the API asks to wait before the next poll; default 0. */
export type Polled = { running: true; after?: number } | CallOutcome

export type RequestPlan =
  | { request: UpstreamRequest; mask: Mask; error?: undefined }
  | {
      request?: undefined
      error: string
      /** Whether the arguments of the caller are wrong. */
      ofArguments: boolean
      /** The template that failed, if one did. */
      place?: TemplatePlace | undefined
    }

/** The MCP request of a call. */
export interface CallContext {
  /** Names in lower case; repeated headers joined as by Node. */
  headers: Readonly<Record<string, string | undefined>>
  query?: () => Readonly<Record<string, string>>
  path?: string
  /** Absent: anonymous. */
  identity?: Identity | undefined
  /** The whole JSON-RPC message. */
  body: Json
  /** Aborts the upstream call. */
  signal: CancelSignal
  /** Parent span, if traces are recorded. */
  span?: Span | undefined
  /** Reports progress to the client; absent: not requested. @param done steps, of an unknown total */
  progress?: ((done: number, message: string) => void) | undefined
  /** Keeps the cut-off part of the result; absent: disabled. */
  keep?: Keep | undefined
  /** Reservation for the upstream's answer; absent: not counted. */
  reservation?: MemoryReservation
  /** Called with each request that is sent; absent: they are not recorded. */
  onExchange?: Call['onExchange']
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
  /** Milliseconds that the API asks to wait before polling; default 0. */
  after?: number
  upstreamStatus?: number
  /** Number of upstream pages combined in the result, if more than one. */
  pages?: number
  /** Characters removed from the upstream's answer by shaping or truncation. */
  savedChars?: number
  failure?: Failure
  /** The login that the call lacked. */
  login?: LoginNeed
  /** A running operation; the result only says so. */
  operation?: Operation
  /** For the log: the failure in terms of the configuration, if the result states it in terms of the caller. */
  detail?: string
}

export interface CompileContext {
  /** Environment for `env` in templates. */
  env: Readonly<Record<string, string | undefined>>
  /** Limits of the process; those of the server and the tool take precedence. */
  limits: Limits
  http: HttpClient
  /** Checks outbound connections; absent: every address is allowed, or nothing is sent. */
  guards?: Guards | undefined
  /** Connection settings of the server. */
  connection?: Connection | undefined
  /** Retries and circuit breaker of the server; absent: none. */
  resilience?: Resilience | undefined
  /** Credentials of servers; absent: none are sent. */
  credentialsOf?: CredentialsOf
  /** Called when secrets were masked in answers of the server. */
  onRedacted?: OnRedacted | undefined
  /** Logs arguments added by clients; absent: not logged. */
  log?: Pick<Logger, 'debug'>
  /** Templates already compiled in this run. */
  memo?: Memo
  /** Environment variables read by the file. Default: those read by templates of the tool. */
  variables?: () => readonly UsedVariable[]
  /** Values hidden in requests that are only shown. Default: none. */
  secrets?: Secrets
}

/** A prompt as listed by MCP's `prompts/list`. */
export interface PromptDefinition {
  name: string
  title?: string
  description?: string
  arguments: { name: string; description?: string; required: boolean }[]
}

export interface Prompts {
  list: PromptDefinition[]
  /** `args` as received; `error` is for JSON-RPC -32602: an unknown prompt, or a missing or invalid argument. */
  get(name: string, args: unknown): Promise<PromptAnswer>
}

export type PromptAnswer = { result: PromptResult; error?: undefined } | { result?: undefined; error: string }

/** MCP's GetPromptResult. */
export interface PromptResult {
  description?: string
  messages: { role: 'user' | 'assistant'; content: { type: 'text'; text: string } }[]
}

import type { Implementation, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js'
import type { Hold } from '../access/memory.ts'
import type { Ticket } from '../cluster/index.ts'
import type { Json, JsonObject } from '../json/index.ts'
import type { CancelSignal } from './cancel.ts'
import type { Hub, Session } from './hub.ts'
import type { RpcError } from './jsonrpc.ts'
import type { Revision } from './revisions.ts'

/** What stands behind a prefix, as the codec sees it. It never changes: a reload makes another one. */
export interface Service {
  /** `serverInfo`. */
  readonly info: Implementation
  readonly instructions?: string
  readonly capabilities: ServerCapabilities
  /**
   * What answers each method. `initialize`, `ping`, `server/discover` and `subscriptions/listen` are the
   * codec's own.
   */
  readonly methods: ReadonlyMap<string, Method>
  /** The arguments of a tool that a stateless client mirrors into `Mcp-Param-*` headers. */
  paramHeaders(tool: string): readonly ParamHeader[]
  /** Who may keep the lists: `private` when callers are told apart. */
  readonly cacheScope: 'public' | 'private'
}

/** A prefix and who is calling. */
export interface Door {
  prefix: string
  hub: Hub
  /** Known once there is authentication; sessions are bound to it. */
  caller: string | undefined
  /** Whether sessions of proxied servers are known here, instead of those of services. */
  proxied?: boolean
  /**
   * Takes up a session that another replica opened, or decides whether what was taken up can go on; undefined: only
   * that replica can serve it. Default: what sessions with services need.
   */
  revive?(ticket: Ticket, local: Session | undefined): Session | undefined
}

/** What a prefix needs to answer. */
export interface Endpoint extends Door {
  service: Service
}

/** Answers one request; a rejection is a bug and becomes an internal error. */
export type Method = (params: JsonObject, call: Call) => Answer | Promise<Answer>

/** `result` is the JSON text of an object that has neither `resultType` nor `_meta`. */
export type Answer = { result: string } | { error: RpcError }

/** What a method may know of the request it answers. */
export interface Call {
  readonly revision: Revision
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  query(): Readonly<Record<string, string>>
  /** The whole JSON-RPC request. */
  readonly message: Json
  /** Aborted when the client cancels the request. */
  readonly signal: CancelSignal
  /** Names the request in the log and in `X-Request-Id`. */
  readonly requestId: string
  /** Holds the bytes of what the answer is made of. */
  readonly hold: Hold
}

/** An `x-mcp-header` of an input schema (2026-07-28, Custom Headers from Tool Parameters). */
export interface ParamHeader {
  /** Keys from the arguments object to the value. */
  path: readonly string[]
  /** The header's name in lower case, `mcp-param-…`. */
  header: string
}

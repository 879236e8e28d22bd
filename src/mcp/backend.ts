import type { HttpResponse } from '../access/http-response.ts'
import type { Ticket } from '../cluster/index.ts'
import type { Accounted, Accounting, Call } from './call.ts'
import type { Fault } from './fault.ts'
import type { Exchange } from './http.ts'
import type { Hub } from './hub.ts'
import type { Message, Request } from './protocol.ts'
import type { Messages } from './receive.ts'
import type { Session } from './session.ts'

/** What stands behind a prefix. A reload that changes it makes another one. */
export interface Backend {
  /** Every caller sees the same tools, but for what rules hide, and they never change. */
  readonly listsAlike?: boolean
  /** Tells requests apart whose callers may see different tools, beside who calls; absent: nothing does. */
  viewerOf?(exchange: Exchange): string | undefined
  /** Makes what serves a new session; its `initialize` follows. */
  open(session: Session, exchange: Exchange): BackendSession | Fault
  /** Goes on with a session that another replica opened; undefined: only that replica can serve it. */
  resume(session: Session, exchange: Exchange, ticket: Ticket): BackendSession | undefined
  /**
   * Goes on with a session of the backend that was served before the reload, of which nothing more is asked than what it
   * has under way; undefined: the client has to initialize again.
   */
  adopt(session: Session, exchange: Exchange): Adopted | Promise<Adopted>
  /**
   * What answers a request that stands alone (2026-07-28), or its whole answer, for which the backend has accounted.
   * @param text of the request as it came
   */
  alone(exchange: Exchange, request: Request, text: string, endpoint: Endpoint): Alone | Promise<Alone>
}

export type Adopted = BackendSession | Fault | undefined
export type Alone = StatelessServer | HttpResponse | Fault

/** A backend's side of one client's session. */
export interface BackendSession {
  readonly backend: Backend
  /** Whether two requests under way need different ids, as answers come with the client's own. */
  readonly needsUniqueIds: boolean
  /** Milliseconds of silence after which a call times out; undefined: the backend sees to it. */
  readonly timeout: number | undefined
  /** Passes whole HTTP requests of clients on, in place of their messages. */
  readonly passThrough?: PassThrough | undefined
  /** Answers `initialize`, and sets the session's revision. */
  initialize(session: Session, request: Request, text: string, exchange: Exchange): Opened | Promise<Opened>
  /** Takes a request, which it answers through the call; a rejection becomes an internal error. */
  request(call: Call): Promise<unknown> | undefined
  /** Takes a notification or response of the client. */
  notify(message: Message, text: string): void
  /** Hears that a call of this backend session is over. */
  onSettled?(): void
  /** Whether a caller may use the session that has it; absent: whoever is known by the session's caller. */
  admits?(exchange: Exchange): boolean
  /** What other replicas need to go on with the session; undefined: only this process can. */
  ticket(): ({ kind: Ticket['kind'] } & Partial<Ticket>) | undefined
  /** Whether it is in use beyond the calls of its client. */
  busy(): boolean
  /**
   * Ends when nothing is under way, and resolves then; absent: it has nothing but calls.
   * @param limit milliseconds after which it ends anyway. Default 30,000
   */
  drain?(limit?: number): Promise<void>
  /** Ends requests under way that the session does not know as calls with a fault. */
  cut?(fault: Fault): void
  /** Ends at once. @param forGood whether the client ended the session, rather than this process */
  close(forGood: boolean): void
}

/** The answer to `initialize`; the session is kept when `ok`. */
export interface Opened {
  ok: boolean
  /** The JSON-RPC response. */
  text: string
  /** Of HTTP; default 200. */
  status?: number
  headers?: Record<string, string>
  /** What serves the session from now on; absent: what answered. */
  served?: BackendSession
}

/**
 * The fast path to a server that speaks the client's own revision over the client's own transport: bytes go through as
 * they are, which costs a fifth of reading and writing messages.
 */
export interface PassThrough {
  /** @param call accounts for the requests, where there are any; it is recorded by whoever passes them */
  post(
    exchange: Exchange,
    messages: Messages,
    call: (Pick<Accounted, 'record'> & Partial<Pick<Accounted, 'request'>>) | undefined,
  ): Promise<HttpResponse>
  get(exchange: Exchange): Promise<HttpResponse>
}

/** Answers requests that stand alone (2026-07-28). */
export interface StatelessServer {
  /** The revisions that it serves, for the error that refuses another one. */
  versions(): readonly string[] | Promise<readonly string[]>
  /** The arguments of a tool that clients mirror into `Mcp-Param-*` headers. */
  paramHeaders(tool: string, call: Call): readonly ParamHeader[] | Promise<readonly ParamHeader[]>
  /** Takes a request, which it answers through the call; a rejection becomes an internal error. */
  request(call: Call): Promise<unknown> | undefined
}

/** A prefix, what stands behind it, and who is calling. */
export interface Endpoint {
  prefix: string
  hub: Hub
  /** Known where there is authentication; sessions are bound to it. */
  caller: string | undefined
  backend: Backend
  account: Accounting
}

/** An `x-mcp-header` of an input schema (2026-07-28, Custom Headers from Tool Parameters). */
export interface ParamHeader {
  /** Keys from the arguments object to the value. */
  path: readonly string[]
  /** The header's name in lower case, `mcp-param-…`. */
  header: string
}

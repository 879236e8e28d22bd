import type { HttpResponse } from '../access/http-response.ts'
import type { Ticket } from '../cluster/index.ts'
import type { Call, CallLog, LoggedRequest } from './call.ts'
import type { RequestContext } from './context.ts'
import type { Fault } from './fault.ts'
import type { ParamHeader } from './mirror.ts'
import type { Message, Messages, Request } from './protocol.ts'
import type { Session } from './session.ts'
import type { SessionRegistry } from './session-registry.ts'

/** The service behind a prefix. A reload that changes it creates a new one. */
export interface Backend {
  /** Every caller sees the same tools, apart from those hidden by rules, and the list never changes. */
  readonly listsAlike?: boolean
  /**
   * Key of callers that may see different tools, in addition to the caller's identity; absent: only the identity
   * matters.
   */
  viewerOf?(context: RequestContext): string | undefined
  /** Creates the backend side of a new session, before `initialize` is passed to it. */
  open(session: Session, context: RequestContext): BackendSession | Fault
  /** Resumes a session opened by another replica; undefined: only that replica can serve it. */
  resume(session: Session, context: RequestContext, ticket: Ticket): BackendSession | undefined
  /**
   * Takes over a session that the previous version of the prefix served, which only finishes its calls; undefined: the
   * client must initialize again.
   */
  migrate(session: Session, context: RequestContext): Migrated | Promise<Migrated>
  /**
   * The server for a stateless request (2026-07-28), or a complete answer that the backend has already logged.
   * @param text of the request as received
   */
  stateless(
    context: RequestContext,
    request: Request,
    text: string,
    endpoint: Endpoint,
  ): Promise<StatelessFound>
}

export type Migrated = BackendSession | Fault | undefined
export type StatelessFound = StatelessServer | HttpResponse | Fault

/** The backend side of a client's session. */
export interface BackendSession {
  readonly backend: Backend
  /** Whether concurrent requests must have different ids, because the client's ids are passed on. */
  readonly needsUniqueIds: boolean
  /** Milliseconds without a message after which a call times out; undefined: the backend handles timeouts. */
  readonly timeout: number | undefined
  /** Relays whole HTTP requests instead of single messages. */
  readonly passThrough?: PassThrough | undefined
  /** Answers `initialize`, and sets the session's revision. */
  initialize(
    session: Session,
    request: Request,
    text: string,
    context: RequestContext,
  ): Opened | Promise<Opened>
  /** Handles a request and answers through the call; a rejection becomes an internal error. */
  request(call: Call): Promise<unknown> | undefined
  /** Takes a notification or response of the client. */
  notify(message: Message, text: string): void
  /** Called when a call of this backend session has ended. */
  onSettled?(): void
  /** Whether a caller may use the session; absent: any caller whose identity matches the session's. */
  admits?(context: RequestContext): boolean
  /** Data with which other replicas can resume the session; undefined: only this process can. */
  ticket(): ({ kind: Ticket['kind'] } & Partial<Ticket>) | undefined
  /** Whether it is in use apart from the client's calls. */
  busy(): boolean
  /**
   * Closes once it is idle, then resolves; absent: it has nothing to wait for except calls.
   * @param limit milliseconds after which it closes anyway. Default 30,000
   */
  drain?(limit?: number): Promise<void>
  /** Ends with a fault all running requests that the session does not track as calls. */
  cut?(fault: Fault): void
  /**
   * Closes at once. @param forGood true if the client ended the session, false if only this process stops serving it
   */
  close(forGood: boolean): void
}

/** The answer to `initialize`; the session is kept if `ok`. */
export interface Opened {
  ok: boolean
  /** The JSON-RPC response. */
  text: string
  /** HTTP status. Default 200. */
  status?: number
  headers?: Record<string, string>
  /** The backend session that serves from now on; absent: the one that answered. */
  served?: BackendSession
}

/** Relays bytes unchanged between a client and a server of the same revision and transport. */
export interface PassThrough {
  /** @param call logs the requests in `messages`, if there are any; the implementation records it */
  post(
    context: RequestContext,
    messages: Messages,
    call: (Pick<LoggedRequest, 'record'> & Partial<Pick<LoggedRequest, 'request'>>) | undefined,
  ): Promise<HttpResponse>
  get(context: RequestContext): Promise<HttpResponse>
}

/** Answers stateless requests (2026-07-28). */
export interface StatelessServer {
  /** The supported revisions, listed in the error for unsupported ones. */
  versions(): readonly string[] | Promise<readonly string[]>
  /** Arguments of a tool that clients mirror into `Mcp-Param-*` headers. */
  paramHeaders(tool: string, call: Call): Promise<readonly ParamHeader[]>
  /** Handles a request and answers through the call; a rejection becomes an internal error. */
  request(call: Call): Promise<unknown> | undefined
}

/** A prefix, its backend, and the caller of the current request. */
export interface Endpoint {
  prefix: string
  registry: SessionRegistry
  /** Identity, if the route authenticates callers; sessions are bound to it. */
  caller: string | undefined
  backend: Backend
  callLog: CallLog
}

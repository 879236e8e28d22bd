import type { HttpResponse } from '../access/http-response.ts'
import type { Ticket } from '../cluster/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Answer } from './answer.ts'
import type { Call } from './call.ts'
import type { CallEnd, RequestContext } from './context.ts'
import type { Fault } from './fault.ts'
import type { Listing } from './listing.ts'
import type { ParamHeader } from './middleware/mirror.ts'
import type { ListKind, Message, Request, SessionRevision } from './protocol.ts'

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
  open(session: ClientSession, context: RequestContext): BackendSession | Fault
  /** Resumes a session opened by another replica; undefined: only that replica can serve it. */
  resume(session: ClientSession, context: RequestContext, ticket: Ticket): BackendSession | undefined
  /**
   * Creates the backend side of a session that the previous backend served; that one only finishes its calls. Undefined:
   * the client must initialize again.
   */
  migrate(session: ClientSession, context: RequestContext): Promise<Migrated>
  /**
   * Finds the server for a stateless request (2026-07-28). An `HttpResponse`: the request is already answered and logged.
   * @param text of the request as received
   */
  stateless(context: RequestContext, request: Request, text: string): Promise<StatelessFound>
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
  /** Answers `initialize`, and sets the session's revision. */
  initialize(session: ClientSession, request: Request, context: RequestContext): Promise<Opened>
  /** Answers a request; a rejection becomes an internal error. */
  request(call: Call): Promise<Answer>
  /** Takes a notification or response of the client. */
  notify(message: Message): void
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
  /**
   * Called when the client opens its GET stream. Returns the response of the replica that has the server's stream;
   * undefined: this replica has it, or the server has none.
   */
  openStream?(context: RequestContext): Promise<HttpResponse | undefined>
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
  /** How it failed, for the log. */
  end?: CallEnd
  /** HTTP status. Default 200. */
  status?: Answer['status']
  headers?: Answer['headers']
}

/** Answers stateless requests (2026-07-28). */
export interface StatelessServer {
  /** Arguments of a tool that clients mirror into `Mcp-Param-*` headers. */
  paramHeaders(tool: string, call: Call): Promise<readonly ParamHeader[]>
  /** Answers a request; a rejection becomes an internal error. */
  request(call: Call): Promise<Answer>
}

/** An open stream or answer that needs keep-alive comments. */
export interface KeptStream {
  write(comment: string): void
  close?(): void
  /** Ends it at shutdown, if it would not end by itself. */
  drain?(): void
  /** Fails the call. */
  abortWith?(fault: Fault): void
}

/** A client's session, as backends see it. */
export interface ClientSession {
  readonly caller: string | undefined
  readonly quotaKey: string
  /** The replica that opened it, if it was resumed from its id; absent: this process. */
  readonly owner: string | undefined
  /** Whether answers are sent on its stream: SSE (2024-11-05) and stdio. */
  readonly onStream: boolean
  readonly lastUsed: number
  readonly listing: Listing | undefined
  /** Whether the client supports elicitation by form. */
  readonly elicits: boolean
  /** The client's info and capabilities; undefined: not initialized, or known only to another replica. */
  readonly clientParams: { capabilities: JsonObject; clientInfo: JsonObject } | undefined
  readonly backendSession: BackendSession
  readonly streams: readonly unknown[]
  /** Negotiated by `initialize`. */
  revision: SessionRevision
  /** Lists declared as changeable to the client; undefined: unknown. */
  changeableLists: ReadonlySet<ListKind> | undefined
  /** Sends the client a request or notification of its server. */
  deliver(message: Message, from: BackendSession): void
  /** Drops the questions of a server that lost its state. */
  forgetQuestions(from: BackendSession): void
  /** Whether calls of a backend session are running. */
  hasCalls(of: BackendSession): boolean
  /** Ends it everywhere. */
  end(): void
}

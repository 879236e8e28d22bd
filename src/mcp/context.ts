import type { HttpResponse, ResponseHeaders } from '../access/http-response.ts'
import type { Identity } from '../access/identity.ts'
import type { Permissions } from '../access/permissions.ts'
import type { Meter } from '../access/rate.ts'
import type { Peer, RequestLease } from '../access/request-lease.ts'
import type { RoutePolicy } from '../access/steps.ts'
import type { Ticket, WaitingState } from '../cluster/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Ended } from '../telemetry/outcome.ts'
import type { Fault, LoginNeed } from './fault.ts'
import type { KeptResults } from './middleware/kept-results.ts'
import type { Request, RequestId } from './protocol.ts'
import type { RecordedCall } from './recorded-call.ts'
import type { UnservedSpans } from './unserved.ts'

export type RequestHeaders = Readonly<Record<string, string | undefined>>

/** One HTTP request, or one line of standard input, as the codec sees it. */
export interface RequestContext {
  /** The transport is lines: no mirrored headers, and no relayed HTTP bodies. */
  readonly isLine?: true
  readonly method: string
  readonly route: Pick<RoutePolicy, 'approval' | 'discovery' | 'maxRequestSize'>
  /** Names in lower case. */
  readonly headers: RequestHeaders
  query(): Readonly<Record<string, string>>
  /** Headers of every answer: CORS, request id. */
  readonly replyHeaders: ResponseHeaders
  readonly requestId: string
  /** Identity, if the route authenticates callers; sessions are bound to it. */
  readonly caller?: string | undefined
  /** Name for the log, if different from `caller`. */
  readonly callerName?: string | undefined
  /** The caller's verified claims. */
  readonly identity?: Identity | undefined
  /** The tools, prompts and resources that the caller may use; absent: all. */
  readonly permissions?: Permissions | undefined
  /** Listing mode requested by the URL; absent: the route's. */
  readonly listing?: 'list' | 'search' | undefined
  /** IP address of the client, if known. */
  readonly address?: string | undefined
  /** Whether the client disconnected before the complete answer. */
  isGone(): boolean
  /** Closes the connection, because a started answer cannot be completed. */
  cut(): void
  /** Calls `listener` if the client disconnects before the complete answer; the result unregisters it. */
  onGone(listener: () => void): () => void
  body(): Promise<Body>
  /** Resources that the request holds. */
  readonly lease: RequestLease
  /** Rate limiter for its messages, if the route has rates. */
  readonly meter?: Meter | undefined
  /** Identifies an anonymous client between its requests. */
  readonly peer: Peer
  /** Absent if the gateway is one process. */
  readonly replicas?: Replicas | undefined
  /** Store of cut-off results; absent: disabled. */
  readonly results?: KeptResults | undefined
  /** Receives the call with its contents, if the console made the request. */
  readonly onRecorded?: ((call: RecordedCall) => void) | undefined
  /** Absent: no traces are recorded. */
  readonly unserved?: UnservedSpans | undefined
}

export type Body = { text: string } | { failure: 'too-large' | 'not-utf8' | 'aborted' | 'no-room' }

/** The other replicas of the gateway, for one request; values it creates are bound to its caller. */
export interface Replicas {
  /** The session id for the client. */
  issue(ticket: Omit<Ticket, 'owner' | 'process' | 'opened'>): string
  read(id: string): Ticket | undefined
  /** Creates a `requestState` that names this replica. */
  seal(state: string): string
  unseal(state: string): WaitingState | undefined
  isOwn(owner: string): boolean
  /** Name of this replica in event ids: 8 characters of Base64url. */
  mark(): string
  /** The address of the replica with this mark; undefined: unknown, or must not be asked. */
  addressOf(mark: string): string | undefined
  /** Whether another replica forwarded the request. */
  readonly isPassed: boolean
  /** Announces this replica to the one that opened a session; the request should wait for the result. */
  meet(ticket: Ticket): Promise<void>
  /**
   * Sends this request to all other replicas and ignores their answers. @param but address of a replica that already
   * has it
   */
  tell(body?: string, but?: string): Promise<void>
  /**
   * Forwards this request to another replica; undefined if it is unreachable, or the request was already forwarded.
   * @param body of a POST, as received
   * @param id of its request, for errors
   */
  forward(owner: string, body?: string, id?: RequestId | null): Promise<HttpResponse | undefined>
  /** Whether this request, if forwarded by a replica, may be forwarded again to `owner`. */
  mayReach(owner: string): boolean
  /**
   * Sends another replica a stateless request (2026-07-28) for the same caller, outside of any session.
   * @returns its result; undefined: the replica is unreachable or returned an error
   */
  ask(
    owner: string,
    request: Pick<Request, 'method' | 'params'>,
    signal: AbortSignal,
  ): Promise<JsonObject | Fault | undefined>
  /** Whether workers share single-instance servers, and the request was not forwarded by one. */
  readonly sharesServers: boolean
  /**
   * The answer of the worker that owns a single-instance server; undefined: this worker owns it, or there are no
   * workers.
   * @param key of the single-instance server
   */
  fromOwner(key: string, body: string, id: RequestId): Promise<HttpResponse | undefined> | undefined
}

export interface CallEnd extends Ended {
  /** Why the call has no result: a kind or a sentence, for the log. */
  failure?: string | undefined
  /** Details for the author of the tool, logged only; never contains values. */
  detail?: string | undefined
  /** HTTP status of the upstream. */
  upstreamStatus?: number | undefined
  /** Tool name, only for the gateway's own tools: arbitrary names would create unlimited metrics. */
  tool?: string | undefined
  /** Number of upstream pages combined in the result, if more than one. */
  pages?: number | undefined
  /** Characters removed from the upstream's answer by shaping or truncation. */
  savedChars?: number | undefined
  /**
   * Reason for refusal: no `authorize` rule allows the call, a matching rule requires more scopes, or the call was not
   * approved, or the caller has not logged in at a server.
   */
  denied?: 'rule' | 'scope' | 'approval' | 'login'
  /** The login that the call lacked. */
  login?: LoginNeed | undefined
}

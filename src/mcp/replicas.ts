import type { HttpResponse } from '../access/http-response.ts'
import type { Ticket, WaitingState } from '../cluster/index.ts'
import { type JsonObject, stringify } from '../json/index.ts'
import type { BackendSession, Endpoint } from './backend.ts'
import { listingOf } from './discover.ts'
import type { Fault } from './fault.ts'
import { type Exchange, rpcError } from './http.ts'
import {
  INVALID_REQUEST,
  isSessionRevision,
  type Message,
  type Notification,
  type Request,
  type RequestId,
  type Response as RpcResponse,
  requestIdOf,
} from './protocol.ts'
import type { Messages } from './receive.ts'
import type { Session } from './session.ts'

/** The other replicas of the gateway, as one request sees them: what it makes is worth nothing to other callers. */
export interface Replicas {
  /** The id that the client gets for a session. */
  issue(ticket: Omit<Ticket, 'owner' | 'process' | 'opened'>): string
  read(id: string): Ticket | undefined
  /** A `requestState` that names this replica. */
  seal(state: string): string
  unseal(state: string): WaitingState | undefined
  isOwn(owner: string): boolean
  /** Names this replica in the ids of events: 8 characters of Base64url. */
  mark(): string
  /** The address of the other replica that a mark names; undefined: it is not known, or may not be asked. */
  marked(mark: string): string | undefined
  /** Whether another replica has passed the request on. */
  readonly isPassed: boolean
  /** Makes this replica known to the one that opened a session; what the request should wait for. */
  meet(ticket: Ticket): Promise<void> | undefined
  /** Has the other replicas take this request, too; they answer nobody. @param but the address of one that has it */
  tell(body?: string, but?: string): Promise<void>
  /**
   * The answer of another replica to this request; undefined when that one is gone, or none is asked, as the
   * request has come from a replica already.
   * @param body of a POST, as it came
   * @param id of its request, for errors
   */
  forward(owner: string, body?: string, id?: RequestId | null): Promise<HttpResponse | undefined>
  /** Whether this request, if it came from a replica, may lead to another one. */
  mayReach(owner: string): boolean
  /**
   * Sends another replica a stateless request (2026-07-28) for the caller of this one, outside of any session.
   * @returns its result; undefined: the replica is gone, or has answered with an error
   */
  ask(
    owner: string,
    request: Pick<Request, 'method' | 'params'>,
    signal: AbortSignal,
  ): Promise<JsonObject | Fault | undefined>
  /** Whether there are workers among which what is there once has a place, and none has passed the request on. */
  readonly hasPlaces: boolean
  /**
   * The answer of the worker that has what is there once for all workers; undefined: that is this one, or there are none.
   * @param key of what is there once
   */
  inPlace(key: string, body: string, id: RequestId): Promise<HttpResponse | undefined> | undefined
}

/** Seconds for which a session is taken up where it is not known; where it is in use it goes on. */
const LIFE = 7 * 24 * 3600

/**
 * The id that a client gets for a session, with what other replicas have to know of it.
 * @param carried undefined: only this process can go on with the session
 */
export function idOf(
  { replicas }: Exchange,
  { id, revision, elicits }: Session,
  carried: ReturnType<BackendSession['ticket']>,
): string {
  const ticket = { ...(carried ?? { kind: 'held' }), id, revision, ...(elicits && { elicits }) }
  return replicas ? replicas.issue(ticket) : id
}

/** The session that a client names; the replica that has it; undefined when there is none for this client. */
export type Located =
  /** `met`: a request waits until the replica that opened the session knows of its part here. */
  | { session: Session; met?: Promise<void> | undefined }
  | { elsewhere(body?: string, id?: RequestId | null): Promise<HttpResponse | undefined> }
  | undefined

/** Finds what a client's id stands for. */
export function locate(exchange: Exchange, endpoint: Endpoint, named: string): Located {
  const { hub, prefix, caller } = endpoint
  const { replicas } = exchange
  if (!replicas) {
    const session = hub.session(named, prefix, caller)
    return session && { session }
  }
  const ticket = replicas.read(named)
  if (!ticket) return undefined
  const local = hub.session(ticket.id, prefix, caller)
  // What was opened here needs no ticket.
  if (local && local.owner === undefined) return { session: local }
  // A replica that has no part of the session is told of its end.
  const isEnd = exchange.method === 'DELETE'
  if (!local && replicas.isPassed && (isEnd || ticket.kind !== 'held') && !replicas.isOwn(ticket.owner)) {
    if (isEnd) hub.forbid(ticket.id)
    return undefined
  }
  const fresh = local !== undefined || Date.now() / 1000 - ticket.opened < LIFE
  const session = fresh ? resume(exchange, endpoint, ticket, local) : undefined
  if (session) return { session, met: replicas.isPassed ? undefined : replicas.meet(ticket) }
  return { elsewhere: (body, id) => replicas.forward(ticket.owner, body, id) }
}

/** The session that a client names, if it is known here. */
export function localSession({ replicas }: Exchange, endpoint: Endpoint, named: string): Session | undefined {
  const { hub, prefix, caller } = endpoint
  const id = replicas ? replicas.read(named)?.id : named
  return id === undefined ? undefined : hub.session(id, prefix, caller)
}

/** The id, within the gateway, of the session that a client names; undefined: no replica has opened it for this caller. */
export function sessionIdOf(
  { replicas }: Pick<Exchange, 'replicas'>,
  { hub, prefix, caller }: Pick<Endpoint, 'hub' | 'prefix' | 'caller'>,
  named: string,
): string | undefined {
  return replicas ? replicas.read(named)?.id : hub.session(named, prefix, caller)?.id
}

/** Goes on with a session that another replica opened, where the backend can. */
function resume(
  exchange: Exchange,
  { hub, prefix, caller, backend, account }: Endpoint,
  ticket: Ticket,
  local: Session | undefined,
): Session | undefined {
  if (local?.served.backend === backend) return local
  const { kind, id, revision, owner } = ticket
  if (kind === 'held' || !isSessionRevision(revision)) return undefined
  const { sharer } = exchange.stay
  const mark = exchange.replicas?.mark()
  const facts = { id, prefix, caller, sharer, revision, owner, onStream: false, mark }
  const session = local ?? hub.takeUp(facts, account)
  if (session && !local) session.listing = listingOf(exchange)
  const served = session && backend.resume(session, exchange, ticket)
  if (session && !served && !local) hub.endSession(session)
  if (!session || !served) return undefined
  session.elicits = ticket.elicits === true
  session.serveBy(served)
  return session
}

/** Takes what a client sends to the replica that it is for: what is no request and is not known here. */
export function passOn(
  exchange: Exchange,
  session: Session,
  { messages, batch, text }: Messages,
): Promise<unknown> | undefined {
  if (!batch) return passOne(exchange, session, messages[0] as Message, text)
  // Its requests are carried out here.
  const passed = messages.flatMap((one) =>
    'raw' in one ? (passOne(exchange, session, one, stringify(one.raw)) ?? []) : [],
  )
  return passed.length ? Promise.all(passed) : undefined
}

function passOne(
  exchange: Exchange,
  session: Session,
  message: Message,
  body: string,
): Promise<void> | undefined {
  if (message.kind === 'notification' && message.method === 'notifications/cancelled')
    return passCancellation(exchange, session, message, body)
  return message.kind === 'response' ? passAnswer(exchange, session, message, body) : undefined
}

/** Takes an answer to the replica that has asked, which its id names. */
function passAnswer(
  { replicas }: Exchange,
  session: Session,
  { id }: RpcResponse,
  body: string,
): Promise<void> | undefined {
  if (!replicas || replicas.isPassed || typeof id !== 'string' || session.hasAsked(id)) return undefined
  const { owner } = replicas.unseal(id) ?? {}
  return owner === undefined || replicas.isOwn(owner)
    ? undefined
    : replicas.forward(owner, body).then(() => undefined)
}

/** Takes a cancellation to the other replicas, if the call is not under way here. */
async function passCancellation(
  exchange: Exchange,
  { owner, calls, served }: Session,
  cancelled: Notification,
  body: string,
): Promise<void> {
  const { replicas } = exchange
  // The server of bytes that pass knows of the call, whichever replica it came through; without a ticket, no other one has it.
  if (!replicas || replicas.isPassed || served.passThrough || !served.ticket()) return
  if (calls.has(requestIdOf(cancelled))) return
  await Promise.all([owner !== undefined && replicas.forward(owner, body), replicas.tell(body, owner)])
}

/** Has the other replicas end a session; whether the one that opened it did. */
export async function endElsewhere(exchange: Exchange, { owner }: Session): Promise<boolean> {
  const { replicas } = exchange
  if (!replicas) return false
  // Only the replica that opened it tells the server.
  if (replicas.isPassed) return owner !== undefined
  const [answer] = await Promise.all([
    owner === undefined ? undefined : replicas.forward(owner),
    replicas.tell(undefined, owner),
  ])
  return answer?.ok === true
}

/** The answer for a session that is not there, upon which the client initializes again. */
export function unknownSession(exchange: Exchange, id: RequestId | null = null): HttpResponse {
  const message = 'The session is unknown or has ended: send initialize again without a session id'
  return rpcError(exchange, 404, { code: INVALID_REQUEST, message }, id)
}

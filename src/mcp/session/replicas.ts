import type { HttpResponse } from '../../access/http-response.ts'
import type { Ticket } from '../../cluster/index.ts'
import type { BackendSession } from '../backend.ts'
import type { Replicas, RequestContext } from '../context.ts'
import type { Endpoint } from '../endpoint.ts'
import { rpcError } from '../http.ts'
import { listingOf } from '../listing.ts'
import {
  INVALID_REQUEST,
  isSessionRevision,
  type Message,
  type Messages,
  type Notification,
  type RequestId,
  type Response as RpcResponse,
  requestIdOf,
  textOf,
} from '../protocol.ts'
import type { Session } from './session.ts'

/** Seconds for which an unknown session can be resumed; sessions in use do not expire. */
const LIFE = 7 * 24 * 3600

/**
 * The session id for a client, with the data that other replicas need to resume it.
 * @param carried undefined: only this process can serve the session
 */
export function idOf(
  { replicas }: RequestContext,
  { id, revision, elicits }: Session,
  carried: ReturnType<BackendSession['ticket']>,
): string {
  const ticket = { ...(carried ?? { kind: 'held' }), id, revision, ...(elicits && { elicits }) }
  return replicas ? replicas.issue(ticket) : id
}

/**
 * The session that a client names, or access to the replica that has it; undefined: this client has no such session.
 */
export type Located =
  /** `met`: the request waits until the replica that opened the session knows that it is served here too. */
  | { session: Session; met?: Promise<void> | undefined }
  | { elsewhere(body?: string, id?: RequestId | null): Promise<HttpResponse | undefined> }
  | undefined

/** Finds the session or replica of a client's session id. */
export function locate(context: RequestContext, endpoint: Endpoint, named: string): Located {
  const { registry, prefix } = endpoint
  const { replicas, caller } = context
  if (!replicas) {
    const session = registry.session(named, prefix, caller)
    return session && { session }
  }
  const ticket = replicas.read(named)
  if (!ticket) return undefined
  const local = registry.session(ticket.id, prefix, caller)
  // Sessions opened here need no ticket.
  if (local && local.owner === undefined) return { session: local }
  // On DELETE, a replica without the session only stores its id, so that the session is not resumed here.
  const isEnd = context.method === 'DELETE'
  if (!local && replicas.isPassed && (isEnd || ticket.kind !== 'held') && !replicas.isOwn(ticket.owner)) {
    if (isEnd) registry.forbid(ticket.id)
    return undefined
  }
  const fresh = local !== undefined || Date.now() / 1000 - ticket.opened < LIFE
  const session = fresh ? resume(context, endpoint, ticket, local) : undefined
  if (session) return { session, met: replicas.isPassed ? undefined : replicas.meet(ticket) }
  return { elsewhere: (body, id) => replicas.forward(ticket.owner, body, id) }
}

/** The session that a client names, if known here. */
export function localSession(
  { replicas, caller }: RequestContext,
  { registry, prefix }: Endpoint,
  named: string,
): Session | undefined {
  const id = replicas ? replicas.read(named)?.id : named
  return id === undefined ? undefined : registry.session(id, prefix, caller)
}

/**
 * The gateway's internal id of the session that a client names; undefined: not opened for this caller by any replica.
 */
export function sessionIdOf(
  { replicas, caller }: Pick<RequestContext, 'replicas' | 'caller'>,
  { registry, prefix }: Pick<Endpoint, 'registry' | 'prefix'>,
  named: string,
): string | undefined {
  return replicas ? replicas.read(named)?.id : registry.session(named, prefix, caller)?.id
}

/** Resumes a session opened by another replica, if the backend can. */
function resume(
  context: RequestContext,
  { registry, prefix, backend, callLog }: Endpoint,
  ticket: Ticket,
  local: Session | undefined,
): Session | undefined {
  if (local?.backendSession.backend === backend) return local
  const { kind, id, revision, owner } = ticket
  if (kind === 'held' || !isSessionRevision(revision)) return undefined
  const { caller, lease, replicas } = context
  const { quotaKey } = lease
  const mark = replicas?.mark()
  const facts = { id, prefix, caller, quotaKey, revision, owner, onStream: false, mark }
  const session = local ?? registry.resume(facts, callLog)
  if (session && !local) session.listing = listingOf(context)
  const served = session && backend.resume(session, context, ticket)
  if (session && !served && !local) registry.endSession(session)
  if (!session || !served) return undefined
  session.elicits = ticket.elicits === true
  session.serveBy(served)
  return session
}

/**
 * The state behind a sealed handle, if this replica keeps it, or else the answer of the replica that does; undefined: it
 * is unknown.
 * @param text of the request as received
 */
export async function stateOf(
  replicas: Replicas,
  handle: string,
  text: string,
  id: RequestId,
): Promise<string | HttpResponse | undefined> {
  const { owner, state } = replicas.unseal(handle) ?? {}
  return owner === undefined || replicas.isOwn(owner) ? state : replicas.forward(owner, text, id)
}

/** Forwards a client's cancellations and responses to the replica that they belong to, unless they belong here. */
export async function passOn(
  context: RequestContext,
  session: Session,
  { messages }: Messages,
): Promise<void> {
  await Promise.all(messages.map((message) => passOne(context, session, message)))
}

/** Requests are served here. */
async function passOne(context: RequestContext, session: Session, message: Message): Promise<void> {
  if (message.kind === 'notification' && message.method === 'notifications/cancelled')
    await passCancellation(context, session, message)
  else if (message.kind === 'response') await passAnswer(context, session, message)
}

/** Forwards an answer to the replica named by the question's id. */
async function passAnswer(
  { replicas }: RequestContext,
  session: Session,
  message: RpcResponse,
): Promise<void> {
  const { id } = message
  if (!replicas || replicas.isPassed || typeof id !== 'string' || session.hasAsked(id)) return
  const { owner } = replicas.unseal(id) ?? {}
  if (owner !== undefined && !replicas.isOwn(owner)) await replicas.forward(owner, textOf(message))
}

/** Forwards a cancellation to the other replicas, unless the call is running here. */
async function passCancellation(
  context: RequestContext,
  { owner, calls, backendSession }: Session,
  cancelled: Notification,
): Promise<void> {
  const { replicas } = context
  // Without a ticket no other replica can have it.
  if (!replicas || replicas.isPassed || !backendSession.ticket()) return
  if (calls.has(requestIdOf(cancelled))) return
  const body = textOf(cancelled)
  await Promise.all([owner !== undefined && replicas.forward(owner, body), replicas.tell(body, owner)])
}

/** Ends a session on all other replicas. Returns whether the replica that opened it ended it. */
export async function endElsewhere(context: RequestContext, { owner }: Session): Promise<boolean> {
  const { replicas } = context
  if (!replicas) return false
  // Only the replica that opened it notifies the server.
  if (replicas.isPassed) return owner !== undefined
  const [answer] = await Promise.all([
    owner === undefined ? undefined : replicas.forward(owner),
    replicas.tell(undefined, owner),
  ])
  return answer?.ok === true
}

/** The answer for an unknown session, after which the client initializes again. */
export function unknownSession(id: RequestId | null = null): HttpResponse {
  const message = 'The session is unknown or has ended: send initialize again without a session id'
  return rpcError(404, { code: INVALID_REQUEST, message }, id)
}

import type { Ticket, WaitingState } from '../cluster/index.ts'
import { type Exchange, rpcError } from './http.ts'
import type { Hub, Session } from './hub.ts'
import { INVALID_REQUEST, type Message, type RequestId } from './jsonrpc.ts'
import { isSessionRevision } from './revisions.ts'
import type { Door } from './service.ts'

/** The other replicas of the gateway, as one request sees them: what it makes is worth nothing to other callers. */
export interface Replicas {
  /** The id that the client gets for a session. */
  issue(ticket: Omit<Ticket, 'owner' | 'opened'>): string
  read(id: string): Ticket | undefined
  /** A `requestState` that names this replica. */
  seal(state: string): string
  unseal(state: string): WaitingState | undefined
  isOwn(owner: string): boolean
  /**
   * The answer of another replica to this request; undefined when that one is gone, or none is asked, as the
   * request has come from a replica already.
   * @param body of a POST, as it came
   * @param id of its request, for errors
   */
  forward(owner: string, body?: string, id?: RequestId | null): Promise<Response | undefined>
}

/** Seconds for which a session is taken up where it is not known; where it is in use it goes on. */
const LIFE = 7 * 24 * 3600

/** The id that a client gets for a session, with what other replicas have to know of it. */
export function idOf(
  { replicas }: Exchange,
  { id, revision }: Session,
  carried: { kind: Ticket['kind'] } & Partial<Ticket>,
): string {
  return replicas ? replicas.issue({ ...carried, id, revision }) : id
}

/** The session that a client names; the replica that has it; undefined when there is none for this client. */
export type Located =
  | { session: Session }
  | { elsewhere(body?: string, id?: RequestId | null): Promise<Response | undefined> }
  | undefined

/** Finds what a client's id stands for. */
export function locate(exchange: Exchange, door: Door, named: string): Located {
  const { hub, prefix, caller } = door
  const { replicas } = exchange
  if (!replicas) {
    const session = hub.session(named, prefix, caller)
    return session && { session }
  }
  const ticket = replicas.read(named)
  if (!ticket) return undefined
  const local = hub.session(ticket.id, prefix, caller)
  const fresh = local !== undefined || Date.now() / 1000 - ticket.opened < LIFE
  const { revive = (ticket, local) => reviveSession(exchange, door, ticket, local) } = door
  // What was opened here needs no ticket.
  const session = local && local.owner === undefined ? local : fresh ? revive(ticket, local) : undefined
  return session ? { session } : { elsewhere: (body, id) => replicas.forward(ticket.owner, body, id) }
}

/** A session with a service has nothing to remember, so it can be taken up anywhere. */
function reviveSession(
  { stay: { sharer } }: Exchange,
  { hub, prefix, caller }: Door,
  { kind, id, revision, owner }: Ticket,
  local: Session | undefined,
): Session | undefined {
  if (local || kind !== 'session' || !isSessionRevision(revision)) return local
  return hub.takeUp({ id, prefix, caller, sharer, revision, owner })
}

/**
 * Takes a cancellation to the replica that opened the session, if the call is not under way here. Of the others
 * nobody knows; there it ends by its own time-out, as a cancellation may come too late anyhow.
 */
export async function passCancellation(
  exchange: Exchange,
  { owner, calls }: Session,
  message: Message | undefined,
  body: string,
): Promise<void> {
  if (owner === undefined || message?.kind !== 'notification') return
  if (message.method !== 'notifications/cancelled' || calls.has(message.params.requestId as RequestId)) return
  await exchange.replicas?.forward(owner, body)
}

/** Ends a session because its client says so, with the replica that opened it. */
export async function leave(exchange: Exchange, hub: Hub, session: Session): Promise<Response> {
  const { owner, attached } = session
  const answer = owner === undefined ? undefined : await exchange.replicas?.forward(owner)
  if (!answer?.ok) attached?.leave?.()
  hub.endSession(session, exchange.replicas !== undefined)
  return new Response(null, { status: 204, headers: exchange.replyHeaders })
}

/** The answer for a session that is not there, which makes the client start anew. */
export function unknownSession(exchange: Exchange, id: RequestId | null = null): Response {
  const message = 'The session is unknown or has ended: send initialize again without a session id'
  return rpcError(exchange, 404, { code: INVALID_REQUEST, message }, id)
}

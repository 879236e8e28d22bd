import type { Ticket } from '../../cluster/index.ts'
import {
  type Door,
  type Exchange,
  Fault,
  isSessionRevision,
  type Session,
  type SessionRevision,
} from '../../mcp/index.ts'
import type { Backend, ProxySession } from './front.ts'

export interface ReviverParts {
  /** Who serves sessions now. */
  owner: object
  /** Whether messages of sessions of a revision pass as bytes to a server that any replica reaches. */
  passes(revision: SessionRevision): boolean
  /** What the server's templates come to for a caller. */
  keyOf(exchange: Exchange): string | undefined
  attach(door: Door, session: Session, exchange: Exchange, sse: boolean, ticket: Ticket): ProxySession | Fault
}

/** Takes up sessions that other replicas have opened with a streamable HTTP server. */
export function reviverOf(door: Door, { owner, passes, keyOf, attach }: ReviverParts): Backend['revive'] {
  const { hub, prefix, caller } = door
  return (ticket, exchange, local) => {
    const former = local?.attached as ProxySession | undefined
    if (former?.owner === owner) return local
    const { kind, id, owner: from, revision, key } = ticket
    // A session goes on at the server where it was opened, and nowhere else.
    if (kind !== 'upstream' || keyOf(exchange) !== key) return undefined
    if (!isSessionRevision(revision) || !passes(revision)) return undefined
    const session =
      local ?? hub.takeUp({ id, prefix, caller, sharer: exchange.stay.sharer, revision, owner: from })
    const made = session && attach(door, session, exchange, false, ticket)
    if (!made || made instanceof Fault) return undefined
    // Calls under way end where they began.
    if (former) made.former = former
    session.attached = made
    return session
  }
}

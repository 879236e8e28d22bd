import { type Door, type Exchange, Fault, type Message, type Session } from '../../mcp/index.ts'
import type { Backend, ProxySession } from './front.ts'

/**
 * Sessions outlive the definition of their server: the first request after a reload opens the new server's session
 * with the client's own handshake, while calls under way end on the old one.
 */

const taking = new WeakMap<Session, Promise<Taken>>()

/** Undefined: the session can't go on, and the client has to begin anew. */
type Taken = ProxySession | Fault | undefined

/** What serves a session's requests now. */
export function present(
  session: Session,
  exchange: Exchange,
  door: Door,
  backend: Backend,
): Taken | Promise<Taken> {
  const now = session.attached as ProxySession
  if (now.owner === backend.owner) return now
  let taken = taking.get(session)
  if (!taken) {
    taken = takeOver(now, session, exchange, door, backend).finally(() => taking.delete(session))
    taking.set(session, taken)
  }
  return taken
}

async function takeOver(
  former: ProxySession,
  session: Session,
  exchange: Exchange,
  { hub }: Door,
  backend: Backend,
): Promise<Taken> {
  const { handshake } = former
  if (!handshake) return undefined
  const made = backend.attach(session, exchange, former.sse)
  if (made instanceof Fault) return made
  const { revision } = session
  const opened = await made.adopt(handshake, former.restore())
  if (opened.ok && session.revision === revision) {
    made.former = former
    session.attached = made
    return made
  }
  made.release()
  session.revision = revision
  if (!opened.ok)
    return new Fault('lost', 'The server was replaced, and the new one did not take the session')
  // The client knows one revision only of this session.
  hub.endSession(session)
  return undefined
}

/** Who is owed a message that is no request: what a replaced server asked, or still has under way, is its own. */
export function recipient(now: ProxySession, messages: readonly Message[]): ProxySession {
  const { former } = now
  return former?.busy() && messages.some((message) => former.awaits(message)) ? former : now
}

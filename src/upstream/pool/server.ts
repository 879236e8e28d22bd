import { Fault, type Session } from '../../mcp/index.ts'
import type { Restored } from '../backend/session-state.ts'
import type { Stateless, StatelessCall } from '../backend/stateless.ts'
import { createModern, type Modern } from '../bridge/modern.ts'
import { createEras, type Era, type Eras } from '../bridge/probe.ts'
import { createToModern } from '../bridge/to-modern.ts'
import { createToSession, type ToSession } from '../bridge/to-session.ts'
import type { Definition, Resolved } from '../definition.ts'
import type { Link, LinkEvents } from '../rpc/link.ts'
import { createUpstream, type Upstream, type UpstreamContext } from '../upstream.ts'
import { makeRoom, type Occupant } from './evict.ts'

/** A proxied server with what bridges it to clients of every revision. */
export interface Member {
  readonly upstream: Upstream
  readonly eras: Eras
  /** A session for a client, bridged when the server has no sessions. */
  link(
    resolved: Resolved,
    session: Pick<Session, 'caller' | 'sharer'>,
    events: LinkEvents,
    restore: Restore,
  ): Link
  /** The server for requests that stand alone, bridged when it has sessions. */
  stateless(resolved: Resolved): Promise<Stateless | Fault>
  /** The same for a server of which it is known. */
  bridge(era: Era): Stateless
  /** What a server with sessions answers to `initialize`. */
  handshake: ToSession['handshake']
  /** Ends connections that nobody has used for so many milliseconds. */
  sweep(idle: number): void
  close(): Promise<void>
}

export type Restore = () => Restored[]

export function createMember(
  definition: Definition,
  context: UpstreamContext & { version: string },
  occupants: () => Occupant[],
): Member {
  const upstream = createUpstream(definition, context, (sharer) =>
    makeRoom([...occupants(), ...toSession.seats.occupants()], sharer),
  )
  const modern: Modern = createModern(upstream, context.version, context.log)
  const eras = createEras(upstream, modern)
  const toSession: ToSession = createToSession(upstream)
  /** Whether the server has refused a handshake that servers with sessions take. */
  let modernOnly = false

  const shared = definition.server.isolation !== 'session'
  const bridge = (era: Era) => (era === 'modern' ? modern : toSession)
  async function choose({ resolved }: StatelessCall): Promise<Stateless> {
    const era = await eras.of(resolved)
    return era === 'modern' ? modern : toSession
  }

  return {
    upstream,
    eras,
    link(resolved, { caller, sharer }, events, restore) {
      const { name } = upstream
      if (shared) {
        // One session of the server for many clients is what clients without sessions have, so they go that way.
        const server = {
          ...toSession,
          request: async (call: StatelessCall) => (await choose(call)).request(call),
        }
        return createToModern({ server, resolved, caller: undefined, sharer, name }, events)
      }
      const options = { server: modern, resolved, caller, sharer, name }
      const open = () =>
        modernOnly ? createToModern(options, events) : upstream.link(resolved, events, restore, sharer)
      let current = open()
      return {
        async start(request, text) {
          const answer = await current.start(request, text)
          const refused =
            answer instanceof Fault ? answer.kind !== 'busy' : answer.response.raw.error !== undefined
          if (!refused || modernOnly || (await eras.of(resolved)) !== 'modern') return answer
          // A server of 2026-07-28 alone refuses every handshake.
          modernOnly = true
          current.close()
          current = open()
          return current.start(request, text)
        },
        send: (message, text) => current.send(message, text),
        close: () => current.close(),
      }
    },
    async stateless(resolved) {
      const era = await eras.of(resolved)
      return typeof era === 'string' ? bridge(era) : era
    },
    bridge,
    handshake: toSession.handshake,
    sweep(idle) {
      modern.sweep(idle)
      toSession.seats.sweep(idle)
    },
    async close() {
      modern.close()
      toSession.close()
      await upstream.close()
    },
  }
}

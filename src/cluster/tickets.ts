import { randomBytes } from 'node:crypto'
import { createSeal, type SealOptions } from './seal.ts'

/**
 * The data of a session in its id. `session`: HTTP tools, for which replicas keep no state.
 * `upstream`: a session of a streamable HTTP server, which any replica can continue. `held`: one replica holds
 * the session's state.
 */
export interface Ticket {
  readonly kind: 'session' | 'upstream' | 'held'
  /** Names the session within the gateway. */
  readonly id: string
  /** The address of the replica that opened it. */
  readonly owner: string
  /** Tells the process of that replica from others that had or will have its address. */
  readonly process: string
  /** Seconds since the epoch. */
  readonly opened: number
  readonly revision: string
  /** With `upstream`: a digest of the server's rendered templates. */
  readonly key?: string
  /** With `upstream`: the server's own session id, if it gave one. */
  readonly upstream?: string
  /** Whether the client can ask a person. */
  readonly elicits?: boolean
}

/** A call that waits for its client's input. */
export interface WaitingState {
  owner: string
  /** The replica's own `requestState`. */
  state: string
}

/** The prefix and caller of a token; it is invalid for any other. */
interface Bound {
  prefix: string
  caller: string | undefined
}

/** Makes and reads what clients carry from one replica to another. */
export interface Tickets {
  issue(ticket: Omit<Ticket, 'owner' | 'process' | 'opened'>, bound: Bound): string
  read(token: string, bound: Bound): Ticket | undefined
  seal(state: string, bound: Bound): string
  unseal(token: string, bound: Bound): WaitingState | undefined
}

const PROCESS = randomBytes(6).toString('base64url')

/**
 * @param self the address of this replica; with workers, also what names the run of their gateway
 * @param now milliseconds since the epoch
 */
export function createTickets(
  options: SealOptions,
  self: string | { owner: string; process: string },
  now: () => number = Date.now,
): Tickets {
  const { owner, process: own } = typeof self === 'string' ? { owner: self, process: PROCESS } : self
  const sessions = createSeal(options, 'session id')
  const states = createSeal(options, 'request state')
  return {
    issue({ kind, id, revision, key, upstream, elicits }, bound) {
      const opened = Math.floor(now() / 1000)
      return sessions.close(
        JSON.stringify([kind, id, owner, opened, revision, key, upstream, own, elicits]),
        textOf(bound),
      )
    },
    read(token, bound) {
      const text = sessions.open(token, textOf(bound))
      if (text === undefined) return undefined
      const [kind, id, owner, opened, revision, key, upstream, process, elicits] = JSON.parse(text)
      // An absent field of an array is null in JSON.
      return {
        kind,
        id,
        owner,
        process,
        opened,
        revision,
        ...(key && { key }),
        ...(upstream && { upstream }),
        ...(elicits && { elicits }),
      }
    },
    seal: (state, bound) => states.close(JSON.stringify([owner, state]), textOf(bound)),
    unseal(token, bound) {
      const text = states.open(token, textOf(bound))
      if (text === undefined) return undefined
      const [owner, state] = JSON.parse(text)
      return { owner, state }
    },
  }
}

function textOf({ prefix, caller }: Bound): string {
  return JSON.stringify([prefix, caller ?? null])
}

import { createHash } from 'node:crypto'
import type { Peer } from '../../access/request-lease.ts'
import { stringify } from '../../json/index.ts'
import { withSortedKeys } from '../../mcp/protocol.ts'
import type { Logger } from '../../telemetry/log.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import type { UpstreamCall } from '../rpc/stateless-upstream.ts'
import type { Upstream } from '../upstream.ts'
import { type Hello, helloForAll, PooledSession } from './session.ts'

/** The owner of a session, which other callers cannot use. */
export interface SessionOwner extends Hello {
  resolved: Resolved
  caller: string | undefined
  /** Name chosen by the client with `Plantgw-Session`. */
  name: string | undefined
  /** Identifies an anonymous client; undefined: the gateway itself. */
  peer: Peer | undefined
  /** Quota key; undefined: the gateway itself. */
  quotaKey: string | undefined
}

interface Entry {
  session: PooledSession
  key: string
  /** Template values; anonymous sessions with equal values form a group. */
  strangers?: string
  /** The anonymous client that alone may use it. */
  peer?: Peer
  quotaKey: string | undefined
}

/** Replaces the client in the key of the group's session for lists. */
const LISTS = 1
const STRANGERS =
  'each connection without auth opens its own session with this server; add auth or the header Plantgw-Session to share one'
/** Milliseconds in which changes of a list are announced together, as every session of a group reports them. */
const TOGETHER = 1_000
/** Maximum idle sessions of one quota key, as a client may use a new name each time. */
const MAX_KEPT = 32
/** The same for sessions of no quota key. */
const MAX_KEPT_FOR_ALL = 8

/** Sessions that the gateway holds for stateless callers, one for each owner. */
export class SessionPool {
  readonly #entries = new Set<Entry>()
  readonly #upstream: Upstream
  readonly #log: Logger
  /** Whether the log already mentions anonymous clients. */
  #told = false
  #closed = false
  /** Changes announced in the last `TOGETHER` ms, by values and method; `again`: changed since. */
  readonly #announced = new Map<string, { again: boolean }>()

  constructor(upstream: Upstream, log: Logger) {
    this.#upstream = upstream
    this.#log = log
  }

  /**
   * The session of an owner, opened if necessary.
   * @param lists whether it is used only for lists and subscriptions, which leave no state
   */
  session(owner: SessionOwner, lists: boolean): PooledSession {
    const { resolved, caller, name, quotaKey } = owner
    const isolated = this.#upstream.definition.server.isolation === 'session'
    const stranger = isolated && caller === undefined && name === undefined ? owner.peer : undefined
    if (stranger) return this.#forStranger(owner, stranger, lists).session
    const key = keyOf([resolved.key, isolated ? [caller ?? null, name ?? null] : null])
    return (this.#find(key) ?? this.#open({ ...owner, ...helloForAll(owner) }, { key, quotaKey })).session
  }

  /** Ends sessions unused for `idle` milliseconds. */
  sweep(idle: number): void {
    const since = performance.now() - idle
    for (const entry of [...this.#entries])
      if (entry.session.used <= since && entry.session.idle) this.#drop(entry)
  }

  /** All sessions, as candidates to be ended for a new one. */
  occupants(): Occupant[] {
    return [...this.#entries].map((entry) => ({
      quotaKey: entry.quotaKey,
      used: entry.session.used,
      idle: entry.session.idle,
      end: () => this.#drop(entry),
    }))
  }

  close(): void {
    this.#closed = true
    for (const entry of [...this.#entries]) this.#drop(entry)
  }

  /** An anonymous client has its session to itself, so its own capabilities are forwarded. */
  #forStranger(owner: SessionOwner, peer: Peer, lists: boolean): Entry {
    const { resolved, quotaKey } = owner
    const hello = withSortedKeys(owner.capabilities)
    const keyFor = (whose: unknown) => keyOf([resolved.key, whose, hello])
    const key = keyFor(peer.key)
    const own = this.#find(key)
    if (own) return own
    const strangers = resolved.key
    const forLists = keyFor(LISTS)
    // The list session is shared, because it never runs calls and so holds no client's data.
    if (lists)
      return this.#find(forLists) ?? this.#open(owner, { key: forLists, strangers, quotaKey: undefined })
    if (!this.#told) this.#log.info({ server: this.#upstream.name }, STRANGERS)
    this.#told = true
    const entry = this.#open(owner, { key, strangers, peer, quotaKey })
    // The same function each time, which a lasting connection keeps once.
    peer.onGone(this.#dropLeft)
    // Another client will probably follow, and a start may take seconds.
    const prepare = () => {
      if (!this.#closed) this.#upstream.prepare(resolved)
    }
    entry.session.use(prepare).catch(unexpected('a child for the next session'))
    return entry
  }

  #find(key: string): Entry | undefined {
    return [...this.#entries].find((entry) => entry.key === key)
  }

  #open({ resolved, ...hello }: Hello & { resolved: Resolved }, given: Omit<Entry, 'session'>): Entry {
    const events = {
      closed: () => this.#entries.delete(entry),
      left: () => this.#dropIfLeft(entry),
      listChanged: (method: string) => this.#announce(entry, method),
    }
    const { capabilities, clientInfo } = hello
    const session = new PooledSession(this.#upstream, resolved, { capabilities, clientInfo }, events, {
      quotaKey: given.quotaKey,
      user: given.key,
    })
    const entry: Entry = { ...given, session }
    this.#entries.add(entry)
    this.#trim(entry)
    return entry
  }

  #drop(entry: Entry): void {
    this.#entries.delete(entry)
    entry.session.close()
  }

  /** Ends the longest unused sessions of the newcomer's quota key beyond its maximum. */
  #trim(newcomer: Entry): void {
    const { quotaKey } = newcomer
    const idle = [...this.#entries].filter(
      (entry) => entry.quotaKey === quotaKey && entry.session.idle && entry !== newcomer,
    )
    const most = quotaKey === undefined ? MAX_KEPT_FOR_ALL : MAX_KEPT
    idle.sort((a, b) => a.session.used - b.session.used)
    for (const entry of idle.slice(0, Math.max(0, idle.length - most))) this.#drop(entry)
  }

  /** Anonymous clients subscribe in another session than they call in; a list change reveals nothing about them. */
  #announce({ strangers, session }: Entry, method: string): void {
    if (strangers === undefined) return
    const key = stringify([strangers, method])
    const last = this.#announced.get(key)
    if (last) last.again = true
    else this.#say(key, strangers, method, session)
  }

  #say(key: string, strangers: string, method: string, but?: PooledSession): void {
    this.listChanged(strangers, method, but)
    this.#upstream.onListChanged?.(strangers, method)
    const said = { again: false }
    this.#announced.set(key, said)
    setTimeout(() => {
      this.#announced.delete(key)
      if (said.again && !this.#closed) this.#say(key, strangers, method)
    }, TOGETHER).unref()
  }

  /** Announces a list change to the whole group. @param but the session that reported it */
  listChanged(strangers: string, method: string, but?: PooledSession): void {
    for (const { session, strangers: same } of this.#entries)
      if (session !== but && same === strangers)
        for (const listener of session.listeners) listener(method, {})
  }

  readonly #dropLeft = () => {
    for (const entry of [...this.#entries]) this.#dropIfLeft(entry)
  }

  /** Drops an idle session whose client has disconnected. */
  #dropIfLeft(entry: Entry): void {
    if (entry.peer?.gone && entry.session.idle && this.#entries.has(entry)) this.#drop(entry)
  }
}

/** @param parts template values, owner and capabilities */
function keyOf(parts: unknown[]): string {
  return createHash('sha256').update(stringify(parts)).digest('base64url')
}

/** A session with a server, which may be ended for a new one. */
export interface Occupant {
  /** Quota key; undefined: shared. */
  quotaKey: string | undefined
  /** Time of the last use, by `performance.now()`. */
  used: number
  idle: boolean
  end(): void
}

/** Milliseconds without use after which a session may be ended for another caller's. */
const GIVES_WAY = 60_000

/**
 * Ends the longest unused idle session: one of the newcomer's own, or of a caller with more sessions than the newcomer.
 * Sessions in use are never ended.
 * @param all sessions, including the newcomer's
 * @returns false if none could be ended
 */
export function makeRoom(
  all: readonly Occupant[],
  newcomer: string | undefined,
  now = performance.now(),
): boolean {
  const counts = new Map<string | undefined, number>()
  for (const { quotaKey } of all) counts.set(quotaKey, (counts.get(quotaKey) ?? 0) + 1)
  const own = (counts.get(newcomer) ?? 1) - 1
  const gives = ({ quotaKey, used, idle }: Occupant) =>
    idle &&
    (quotaKey === undefined ||
      quotaKey === newcomer ||
      (used <= now - GIVES_WAY && (counts.get(quotaKey) ?? 0) > own))
  const oldest = all.filter(gives).sort((a, b) => a.used - b.used)[0]
  oldest?.end()
  return oldest !== undefined
}

/** The header by which a 2026-07-28 client names its session of a session-based server. */
export const SESSION_NAME = 'plantgw-session'
/** Names are safe to use unescaped in logs and file names. */
const NAME = /^[\w.~-]{1,128}$/
/** Minimum characters of a name that only its secrecy protects: 128 bits in Base64. */
const UNGUESSABLE = 22

/** The fault in a session name, as a sentence; undefined if it is valid or absent. */
export function faultOfName({
  headers,
  caller,
}: Pick<UpstreamCall, 'headers' | 'caller'>): string | undefined {
  const name = headers[SESSION_NAME]
  if (name === undefined) return undefined
  if (!NAME.test(name))
    return 'the Plantgw-Session header must have 1 to 128 characters: letters, digits, and any of - . _ ~'
  if (caller === undefined && name.length < UNGUESSABLE)
    return `the Plantgw-Session header must be unguessable, with at least ${UNGUESSABLE} characters, because the caller is not authenticated`
  return undefined
}

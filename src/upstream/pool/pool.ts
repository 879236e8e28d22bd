import { createHash } from 'node:crypto'
import type { Peer } from '../../access/stay.ts'
import { stringify } from '../../json/index.ts'
import { canonical } from '../../mcp/protocol.ts'
import type { Logger } from '../../telemetry/log.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import type { Upstream } from '../upstream.ts'
import { type Hello, helloForAll, PooledSession } from './session.ts'

/** For whom a session is, so that nobody gets another's. */
export interface SessionOwner extends Hello {
  resolved: Resolved
  caller: string | undefined
  /** Which of the sessions of the caller, who has named it. */
  name: string | undefined
  /** Who calls where neither is known; undefined: the gateway's own user. */
  peer: Peer | undefined
  /** Whose share of the limits it is; undefined: the gateway's own user. */
  sharer: string | undefined
}

interface Entry {
  session: PooledSession
  key: string
  /** The templates' values, where callers are not known: what belongs together although it is not shared. */
  strangers?: string
  /** The only one that may use it, who can go. */
  peer?: Peer
  sharer: string | undefined
}

/** In place of a caller: the session that answers lists to everyone who is not known. */
const LISTS = 1
const STRANGERS =
  'a client without auth and without the header Plantgw-Session has a session of this server for each of its connections'
/** Changes of a list within so many milliseconds are announced together, as every session reports each change. */
const TOGETHER = 1_000
/** Idle sessions that one share may keep: a caller who uses another name each time has one for each. */
const MAX_KEPT = 32
/** The same of those that are kept for whoever comes. */
const MAX_KEPT_FOR_ALL = 8

/** Sessions that the gateway holds for callers without sessions: one for each. */
export class SessionPool {
  readonly #entries = new Set<Entry>()
  readonly #upstream: Upstream
  readonly #log: Logger
  /** Whether the log says that there are strangers. */
  #told = false
  #closed = false
  /** What was announced in the last `TOGETHER` ms, by values and method; `again`: it has changed since. */
  readonly #announced = new Map<string, { again: boolean }>()

  constructor(upstream: Upstream, log: Logger) {
    this.#upstream = upstream
    this.#log = log
  }

  /**
   * The session of an owner, which is opened when there is none.
   * @param lists whether it is for lists and subscriptions, and for nothing that could leave a trace in it
   */
  session(owner: SessionOwner, lists: boolean): PooledSession {
    const { resolved, caller, name, sharer } = owner
    const isolated = this.#upstream.definition.server.isolation === 'session'
    const stranger = isolated && caller === undefined && name === undefined ? owner.peer : undefined
    if (stranger) return this.#forStranger(owner, stranger, lists).session
    const key = keyOf([resolved.key, isolated ? [caller ?? null, name ?? null] : null])
    return (this.#find(key) ?? this.#open({ ...owner, ...helloForAll(owner) }, { key, sharer })).session
  }

  /** Ends sessions that nobody has used for so many milliseconds. */
  sweep(idle: number): void {
    const since = performance.now() - idle
    for (const entry of [...this.#entries])
      if (entry.session.used <= since && entry.session.idle) this.#drop(entry)
  }

  /** All sessions, of which one may have to make room. */
  occupants(): Occupant[] {
    return [...this.#entries].map((entry) => ({
      sharer: entry.sharer,
      used: entry.session.used,
      idle: entry.session.idle,
      end: () => this.#drop(entry),
    }))
  }

  close(): void {
    this.#closed = true
    for (const entry of [...this.#entries]) this.#drop(entry)
  }

  /**
   * Of a client of which nothing is known its capabilities are, since no other client uses its session: the server is
   * told these, and no more.
   */
  #forStranger(owner: SessionOwner, peer: Peer, lists: boolean): Entry {
    const { resolved, sharer } = owner
    const hello = canonical(owner.capabilities)
    const keyFor = (whose: unknown) => keyOf([resolved.key, whose, hello])
    const key = keyFor(peer.key)
    const own = this.#find(key)
    if (own) return own
    const strangers = resolved.key
    const forLists = keyFor(LISTS)
    // In the session that answers lists nobody ever calls anything, so there is nothing of anybody in it.
    if (lists)
      return this.#find(forLists) ?? this.#open(owner, { key: forLists, strangers, sharer: undefined })
    if (!this.#told) this.#log.info({ server: this.#upstream.name }, STRANGERS)
    this.#told = true
    const entry = this.#open(owner, { key, strangers, peer, sharer })
    peer.onGone(() => this.#dropIfLeft(entry))
    // The next one comes soon, and a start may take seconds.
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
    const session = new PooledSession(
      this.#upstream,
      resolved,
      { capabilities, clientInfo },
      events,
      given.sharer,
    )
    const entry: Entry = { ...given, session }
    this.#entries.add(entry)
    this.#trim(entry)
    return entry
  }

  #drop(entry: Entry): void {
    this.#entries.delete(entry)
    entry.session.close()
  }

  /** Ends the idle sessions of the newcomer's share beyond what it may keep, the longest unused first. */
  #trim(newcomer: Entry): void {
    const { sharer } = newcomer
    const idle = [...this.#entries].filter(
      (entry) => entry.sharer === sharer && entry.session.idle && entry !== newcomer,
    )
    const most = sharer === undefined ? MAX_KEPT_FOR_ALL : MAX_KEPT
    idle.sort((a, b) => a.session.used - b.session.used)
    for (const entry of idle.slice(0, Math.max(0, idle.length - most))) this.#drop(entry)
  }

  /** Unknown callers subscribe in another session than they call in; that a list changed reveals nothing else. */
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

  /** A list changed for all unknown callers with the same values. @param but the session that has heard of it */
  listChanged(strangers: string, method: string, but?: PooledSession): void {
    for (const { session, strangers: same } of this.#entries)
      if (session !== but && same === strangers)
        for (const listener of session.listeners) listener(method, {})
  }

  /** Nobody comes back for the session of a peer that has gone. */
  #dropIfLeft(entry: Entry): void {
    if (entry.peer?.gone && entry.session.idle && this.#entries.has(entry)) this.#drop(entry)
  }
}

/** @param parts the templates' values, whose it is, and more */
function keyOf(parts: unknown[]): string {
  return createHash('sha256').update(stringify(parts)).digest('base64url')
}

/** A session with a server, which may have to make room for another one. */
export interface Occupant {
  /** Whose share of the limits it is; undefined: it is kept for whoever comes. */
  sharer: string | undefined
  /** When it was last used, of `performance.now()`. */
  used: number
  idle: boolean
  end(): void
}

/** Milliseconds for which a session was not used that makes room for somebody else. */
const GIVES_WAY = 60_000

/**
 * Ends the idle session that was not used for the longest time: one of the newcomer's own, or of somebody who has more
 * than the newcomer, so that nobody can crowd others out. What is in use is never ended.
 * @param all with the newcomer's, which is in use
 * @returns false when there is none
 */
export function makeRoom(
  all: readonly Occupant[],
  newcomer: string | undefined,
  now = performance.now(),
): boolean {
  const counts = new Map<string | undefined, number>()
  for (const { sharer } of all) counts.set(sharer, (counts.get(sharer) ?? 0) + 1)
  const own = (counts.get(newcomer) ?? 1) - 1
  const gives = ({ sharer, used, idle }: Occupant) =>
    idle &&
    (sharer === undefined ||
      sharer === newcomer ||
      (used <= now - GIVES_WAY && (counts.get(sharer) ?? 0) > own))
  const oldest = all.filter(gives).sort((a, b) => a.used - b.used)[0]
  oldest?.end()
  return oldest !== undefined
}

import { createHash } from 'node:crypto'
import type { Peer } from '../../access/stay.ts'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import { Fault } from '../../mcp/index.ts'
import { canonical } from '../../mcp/meta.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import type { Resolved } from '../definition.ts'
import type { Upstream } from '../upstream.ts'
import { type Hello, PooledSession } from './session.ts'

/** For whom a session is, so that nobody gets another's. */
export interface SessionOwner extends Hello {
  resolved: Resolved
  caller: string | undefined
  /** Who calls where no caller is known; undefined: the gateway's own user. */
  peer: Peer | undefined
  /** Whose share of the limits it is; undefined: the gateway's own user. */
  sharer: string | undefined
}

/**
 * How a call uses a session. `open`: beside others. `alone`: without other calls, since the server may ask or
 * send what names no call. `plain`: lists and the like, during which a server does neither.
 */
export type Use = 'open' | 'alone' | 'plain'

export interface Lease {
  session: PooledSession
  release(): void
}

interface Entry {
  session: PooledSession
  key: string
  /** The templates' values, where callers are not known: what belongs together although it is not shared. */
  strangers: string | undefined
  /** The only one that may use it, who can go. */
  peer: Peer | undefined
  sharer: string | undefined
  alone: boolean
  open: number
  /** Leases, also those that do not count as open. */
  leases: number
  used: number
}

/** In place of a caller: the session that answers lists to everyone who is not known, and one that waits for the next. */
const LISTS = 1
const SPARE = 2
/** Idle sessions that one share may keep: who calls with other capabilities each time has one for each. */
const MAX_KEPT = 32
/** The same of those that are kept for whoever comes. */
const MAX_KEPT_FOR_ALL = 8
/** Milliseconds that an unused session is kept for the next call. */
const KEEP = 300_000

/** Sessions that the gateway holds for callers without sessions of their own; used again by the same owner. */
export class SessionPool {
  readonly #entries = new Set<Entry>()
  readonly #upstream: Upstream
  #closed = false

  constructor(upstream: Upstream) {
    this.#upstream = upstream
  }

  lease(owner: SessionOwner, use: Use): Lease {
    const entry = this.#find(owner, use)
    entry.used = Date.now()
    entry.leases++
    if (use === 'alone') entry.alone = true
    if (use !== 'plain') entry.open++
    let released = false
    const release = () => {
      if (released) return
      released = true
      entry.used = Date.now()
      if (use === 'alone') entry.alone = false
      if (use !== 'plain') entry.open--
      entry.leases--
      this.#dropIfLeft(entry)
    }
    return { session: entry.session, release }
  }

  /** Ends sessions that nobody has used for so many milliseconds. */
  sweep(idle: number): void {
    const since = Date.now() - Math.min(idle, KEEP)
    for (const entry of [...this.#entries])
      if (entry.used <= since && !entry.open && !entry.session.size()) this.#drop(entry)
  }

  /** All sessions, of which one may have to make room. */
  occupants(): Occupant[] {
    return [...this.#entries].map((entry) => ({
      sharer: entry.sharer,
      used: entry.used,
      idle: isIdle(entry),
      end: () => this.#drop(entry),
    }))
  }

  close(): void {
    this.#closed = true
    for (const entry of [...this.#entries]) this.#drop(entry)
  }

  /** The session for an owner, which is opened when there is none. */
  #find(owner: SessionOwner, use: Use): Entry {
    const { caller, sharer } = owner
    const isolated = this.#upstream.definition.server.isolation === 'session'
    const peer = isolated && caller === undefined ? owner.peer : undefined
    const key = keyFor(owner, isolated ? (caller ?? peer?.key ?? null) : null)
    const found = this.#fitting(key, use)
    if (found) return found
    if (!peer) return this.#open(owner, { key, strangers: undefined, peer: undefined, sharer })
    const strangers = owner.resolved.key
    if (use !== 'plain') return this.#takeIn(owner, key, peer)
    // In the session that answers lists nobody ever calls anything, so there is nothing of anybody in it.
    const lists = keyFor(owner, [LISTS])
    const shared = { key: lists, strangers, peer: undefined, sharer: undefined }
    return this.#fitting(lists, use) ?? this.#open(owner, shared)
  }

  #fitting(key: string, use: Use): Entry | undefined {
    return [...this.#entries].find((entry) => {
      if (entry.key !== key) return false
      return use === 'plain' || (!entry.alone && (use === 'open' || entry.open === 0))
    })
  }

  /** The session of a stranger: the spare one, or one that begins now. */
  #takeIn(owner: SessionOwner, key: string, peer: Peer): Entry {
    const { sharer, clientInfo } = owner
    const spare = {
      key: keyFor(owner, [SPARE, stringify(clientInfo)]),
      strangers: owner.resolved.key,
      peer: undefined,
      sharer: undefined,
    }
    const findSpare = () => [...this.#entries].find((each) => each.key === spare.key)
    const entry = findSpare() ?? this.#open(owner, { ...spare, key, peer, sharer })
    Object.assign(entry, { key, peer, sharer })
    peer.onGone(() => this.#dropIfLeft(entry))
    const keepSpare = (ready: JsonObject | Fault) => {
      const full = this.#upstream.size() >= this.#upstream.definition.server.maxSessions
      if (!(ready instanceof Fault) && !full && !findSpare() && !this.#closed) this.#open(owner, spare)
    }
    entry.session.ready.then(keepSpare).catch(unexpected('a spare session'))
    return entry
  }

  #open(owner: SessionOwner, given: Pick<Entry, 'key' | 'strangers' | 'peer' | 'sharer'>): Entry {
    const { resolved, capabilities, clientInfo } = owner
    const events = {
      closed: () => this.#entries.delete(entry),
      listChanged: (method: string) => this.#announce(entry, method),
    }
    const hello = { capabilities, clientInfo }
    const session = new PooledSession(this.#upstream, resolved, hello, events, given.sharer)
    const entry: Entry = { ...given, session, alone: false, open: 0, leases: 0, used: Date.now() }
    this.#entries.add(entry)
    this.#trim(given.sharer)
    return entry
  }

  #drop(entry: Entry): void {
    this.#entries.delete(entry)
    entry.session.close()
  }

  /** Ends the idle sessions of one share beyond what it may keep, the longest unused first. */
  #trim(sharer: string | undefined): void {
    const now = Date.now()
    const idle = [...this.#entries].filter(
      (entry) => entry.sharer === sharer && isIdle(entry) && entry.used < now,
    )
    const most = sharer === undefined ? MAX_KEPT_FOR_ALL : MAX_KEPT
    idle.sort((a, b) => a.used - b.used)
    for (const entry of idle.slice(0, Math.max(0, idle.length - most))) this.#drop(entry)
  }

  /** Unknown callers subscribe in another session than they call in; that a list changed reveals nothing else. */
  #announce({ strangers, session }: Entry, method: string): void {
    if (strangers === undefined) return
    for (const other of this.#entries)
      if (other.session !== session && other.strangers === strangers)
        for (const listener of other.session.listeners) listener(method, {})
  }

  /** Nobody comes back for the session of a peer that has gone. */
  #dropIfLeft(entry: Entry): void {
    if (entry.peer?.gone && isIdle(entry) && this.#entries.has(entry)) this.#drop(entry)
  }
}

function isIdle({ leases, session }: Entry): boolean {
  return !leases && !session.size()
}

/** @param whose a caller, or what stands for one */
function keyFor({ resolved, capabilities }: SessionOwner, whose: Json): string {
  const text = stringify([resolved.key, whose, canonical(capabilities)])
  return createHash('sha256').update(text).digest('base64url')
}

/** A session with a server, which may have to make room for another one. */
export interface Occupant {
  /** Whose share of the limits it is; undefined: it is kept for whoever comes. */
  sharer: string | undefined
  /** Milliseconds since the epoch of its last use. */
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
export function makeRoom(all: readonly Occupant[], newcomer: string | undefined, now = Date.now()): boolean {
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

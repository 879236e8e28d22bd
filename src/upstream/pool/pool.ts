import { createHash } from 'node:crypto'
import type { Peer } from '../../access/stay.ts'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import { Fault } from '../../mcp/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { canonical } from '../bridge/meta.ts'
import type { Resolved } from '../definition.ts'
import type { Upstream } from '../upstream.ts'
import type { Occupant } from './evict.ts'
import { openSeat, type Seat } from './session.ts'

/** For whom a session is, so that nobody gets what is another's. */
export interface Party {
  resolved: Resolved
  caller: string | undefined
  /** Who calls where no caller is known; undefined: the gateway's own user. */
  peer: Peer | undefined
  /** Whose share of the limits it is; undefined: the gateway's own user. */
  sharer: string | undefined
  capabilities: JsonObject
  clientInfo: JsonObject
}

/**
 * How a call uses a session. `open`: beside others. `alone`: without other calls, since the server may ask or
 * say things that name no call. `plain`: lists and the like, during which a server neither asks nor tells.
 */
export type Use = 'open' | 'alone' | 'plain'

export interface Held {
  seat: Seat
  release(): void
}

/** Sessions that the gateway holds for callers without sessions of their own; used again by the same party. */
export interface Seats {
  hold(party: Party, use: Use): Held
  /** Ends those that nobody has used for so many milliseconds. */
  sweep(idle: number): void
  /** All of them, of which one may have to make room. */
  occupants(): Occupant[]
  close(): void
}

interface Entry {
  seat: Seat
  key: string
  /** The templates' values, where callers are not known: what belongs together although it is not shared. */
  strangers: string | undefined
  alone: boolean
  open: number
  /** Who holds it, also those that do not count as open. */
  holders: number
  sharer: string | undefined
  /** The only one that may use it, who can go. */
  peer: Peer | undefined
  used: number
}

/** In place of a caller: the session that answers lists to everyone who is not known, and one that waits for the next. */
const LISTS = 1
const SPARE = 2
/** Idle sessions that one share may keep: who calls with other capabilities each time has one for each. */
const MAX_KEPT = 32
/** The same of those that are kept for whoever comes. */
const MAX_KEPT_FOR_ALL = 8
/** Milliseconds that a session is kept for the next call, at the most. */
const KEEP = 300_000

export function createSeats(upstream: Upstream): Seats {
  const entries = new Set<Entry>()
  const { isolation, maxSessions } = upstream.definition.server
  let closed = false

  function fits(entry: Entry, key: string, use: Use): boolean {
    if (entry.key !== key) return false
    if (use === 'plain') return true
    return !entry.alone && (use === 'open' || entry.open === 0)
  }

  function drop(entry: Entry): void {
    entries.delete(entry)
    entry.seat.close()
  }

  /** Ends the idle sessions of one share beyond what it may keep, the longest unused first. */
  function trim(sharer: string | undefined): void {
    const idle = [...entries].filter(
      (entry) => entry.sharer === sharer && !entry.holders && !entry.seat.size() && entry.used < Date.now(),
    )
    const most = sharer === undefined ? MAX_KEPT_FOR_ALL : MAX_KEPT
    idle.sort((a, b) => a.used - b.used)
    for (const entry of idle.slice(0, Math.max(0, idle.length - most))) drop(entry)
  }

  /** Who calls without being known subscribes in another session than it calls: that a list changed says nothing else. */
  function announce({ strangers, seat }: Entry, method: string): void {
    if (strangers === undefined) return
    for (const other of entries)
      if (other.seat !== seat && other.strangers === strangers)
        for (const listener of other.seat.listeners) listener(method, {})
  }

  /** Nobody comes back for what was a peer's that has gone. */
  function dropIfLeft(entry: Entry): void {
    if (entry.peer?.gone && !entry.holders && !entry.seat.size() && entries.has(entry)) drop(entry)
  }

  return {
    hold({ resolved, caller, peer: from, sharer, capabilities, clientInfo }, use) {
      const peer = isolation === 'session' && caller === undefined ? from : undefined
      const keyFor = (whose: Json) => {
        const text = stringify([resolved.key, whose, canonical(capabilities)])
        return createHash('sha256').update(text).digest('base64url')
      }
      const make = (key: string, only: Peer | undefined, of = only && sharer): Entry => {
        const seat = openSeat(
          upstream,
          resolved,
          capabilities,
          clientInfo,
          () => entries.delete(made),
          (method) => announce(made, method),
          of,
        )
        const strangers = peer && resolved.key
        const made: Entry = {
          ...{ key, seat, strangers, peer: only, sharer: of },
          ...{ alone: false, open: 0, holders: 0, used: Date.now() },
        }
        entries.add(made)
        trim(of)
        return made
      }
      /** The session of a stranger, which was ready for the next one, or begins now. */
      const takeIn = (key: string, only: Peer): Entry => {
        const spareKey = keyFor([SPARE, stringify(clientInfo)])
        const taken = [...entries].find((each) => each.key === spareKey) ?? make(key, only)
        Object.assign(taken, { key, peer: only, sharer })
        only.onGone(() => dropIfLeft(taken))
        const keepSpare = (ready: JsonObject | Fault) => {
          const full = upstream.size() >= maxSessions || [...entries].some((each) => each.key === spareKey)
          if (!(ready instanceof Fault) && !full && !closed) make(spareKey, undefined)
        }
        taken.seat.ready.then(keepSpare).catch(unexpected('a spare session'))
        return taken
      }
      const find = (key: string) => [...entries].find((each) => fits(each, key, use))
      const key = keyFor(isolation === 'session' ? (caller ?? peer?.key ?? null) : null)
      let entry = find(key)
      // In the session that answers lists nobody ever calls anything, so there is nothing of anybody in it.
      if (!entry && peer && use === 'plain') entry = find(keyFor([LISTS])) ?? make(keyFor([LISTS]), undefined)
      else if (!entry) entry = peer ? takeIn(key, peer) : make(key, undefined, sharer)
      const held = entry
      held.used = Date.now()
      held.holders++
      if (use === 'alone') held.alone = true
      if (use !== 'plain') held.open++
      let released = false
      return {
        seat: held.seat,
        release() {
          if (released) return
          released = true
          held.used = Date.now()
          if (use === 'alone') held.alone = false
          if (use !== 'plain') held.open--
          held.holders--
          dropIfLeft(held)
        },
      }
    },
    sweep(idle) {
      const since = Date.now() - Math.min(idle, KEEP)
      for (const entry of [...entries])
        if (entry.used <= since && !entry.open && !entry.seat.size()) drop(entry)
    },
    occupants: () =>
      [...entries].map((entry) => ({
        sharer: entry.sharer,
        used: entry.used,
        idle: !entry.holders && !entry.seat.size(),
        end: () => drop(entry),
      })),
    close() {
      closed = true
      for (const entry of [...entries]) drop(entry)
    },
  }
}

import { createHash } from 'node:crypto'
import type { JsonObject } from '../json/index.ts'
import { stringify } from '../json/index.ts'
import type { Resolved } from './definition.ts'
import { canonical } from './meta.ts'
import { openSeat, type Seat } from './seat.ts'
import type { Upstream } from './upstream.ts'

/** For whom a session is, so that nobody gets what is another's. */
export interface Party {
  resolved: Resolved
  caller: string | undefined
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
  /** Ends the longest unused one. */
  makeRoom(): boolean
  close(): void
}

interface Entry {
  seat: Seat
  key: string
  alone: boolean
  open: number
  used: number
}

/** Milliseconds that a session is kept for the next call, at the most. */
const KEEP = 300_000

export function createSeats(upstream: Upstream): Seats {
  const entries = new Set<Entry>()
  const { isolation } = upstream.definition.server

  function fits(entry: Entry, key: string, use: Use): boolean {
    if (entry.key !== key) return false
    if (use === 'plain') return true
    return !entry.alone && (use === 'open' || entry.open === 0)
  }

  function drop(entry: Entry): void {
    entries.delete(entry)
    entry.seat.close()
  }

  return {
    hold({ resolved, caller, capabilities, clientInfo }, use) {
      const whose = isolation === 'session' ? (caller ?? null) : null
      const text = stringify([resolved.key, whose, canonical(capabilities)])
      const key = createHash('sha256').update(text).digest('base64url')
      let entry = [...entries].find((each) => fits(each, key, use))
      if (!entry) {
        const made: Entry = {
          key,
          alone: false,
          open: 0,
          used: Date.now(),
          seat: openSeat(upstream, resolved, capabilities, clientInfo, () => entries.delete(made)),
        }
        entry = made
        entries.add(made)
      }
      const held = entry
      held.used = Date.now()
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
        },
      }
    },
    sweep(idle) {
      const since = Date.now() - Math.min(idle, KEEP)
      for (const entry of [...entries])
        if (entry.used <= since && !entry.open && !entry.seat.size()) drop(entry)
    },
    makeRoom() {
      const unused = [...entries].filter(({ open, seat }) => !open && !seat.size())
      const oldest = unused.sort((a, b) => a.used - b.used)[0]
      if (oldest) drop(oldest)
      return oldest !== undefined
    },
    close() {
      for (const entry of [...entries]) drop(entry)
    },
  }
}

import type { Attached, Session } from '../../mcp/index.ts'
import type { Occupant } from '../pool/evict.ts'

/** The sessions of clients with one proxy. */
export interface Sessions {
  add(made: Attached, session: Session, end: () => void): void
  remove(made: Attached): void
  size(): number
  /** Looks for what is idle from now on. */
  watch(): void
  /** All of them, of which one may have to make room. */
  occupants(): Occupant[]
  /** Ends each session when no call of it is under way, or after a while. */
  drain(): Promise<void>
  /** Ends all at once. */
  close(): void
}

/** Milliseconds between looks for what is idle, at the most. */
const SWEEP = 15_000

export function createSessions(idleTimeout: number, onSweep: (idle: number) => void): Sessions {
  const all = new Map<Attached, { session: Session; end: () => void }>()
  let sweeper: NodeJS.Timeout | undefined

  function isUsed(made: Attached, session: Session): boolean {
    return made.busy() || session.streams.length > 0
  }
  function sweep(): void {
    const since = Date.now() - idleTimeout
    for (const [made, { session, end }] of [...all])
      if (session.lastUsed <= since && !isUsed(made, session)) end()
    onSweep(idleTimeout)
  }
  function watch(): void {
    sweeper ??= setInterval(sweep, Math.max(10, Math.min(SWEEP, idleTimeout / 2))).unref()
  }
  function close(): void {
    clearInterval(sweeper)
    for (const { end } of [...all.values()]) end()
  }

  return {
    add(made, session, end) {
      all.set(made, { session, end })
      watch()
    },
    remove(made) {
      all.delete(made)
    },
    size: () => all.size,
    watch,
    occupants: () =>
      [...all].map(([made, { session, end }]) => ({
        sharer: session.sharer,
        used: session.lastUsed,
        idle: !isUsed(made, session),
        end,
      })),
    async drain() {
      await Promise.all([...all.keys()].map((made) => made.drain()))
    },
    close,
  }
}

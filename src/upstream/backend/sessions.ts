import type { Session } from '../../mcp/index.ts'
import type { Occupant } from '../pool/pool.ts'
import type { ProxySession } from './session.ts'

/** Milliseconds between looks for idle sessions, at most. */
const SWEEP = 15_000

/** The sessions of clients with one backend. */
export class Sessions {
  private readonly all = new Map<ProxySession, Session>()
  private sweeper: NodeJS.Timeout | undefined

  constructor(
    private readonly idleTimeout: number,
    private readonly onSweep: (idle: number) => void,
  ) {}

  get size(): number {
    return this.all.size
  }

  add(made: ProxySession, session: Session): void {
    this.all.set(made, session)
    this.watch()
  }

  remove(made: ProxySession): void {
    this.all.delete(made)
  }

  /** Looks for idle sessions from now on. */
  watch(): void {
    const period = Math.max(10, Math.min(SWEEP, this.idleTimeout / 2))
    this.sweeper ??= setInterval(() => this.sweep(), period).unref()
  }

  /** All of them, of which one may have to make room. */
  occupants(): Occupant[] {
    return [...this.all].map(([made, session]) => ({
      sharer: session.sharer,
      used: session.lastUsed,
      idle: !isUsed(made, session),
      end: () => session.end(),
    }))
  }

  /** Ends each session when no call of it is under way, or after a while. */
  async drain(): Promise<void> {
    await Promise.all([...this.all.keys()].map((made) => made.drain()))
  }

  /** Ends all at once. */
  close(): void {
    clearInterval(this.sweeper)
    for (const [made, session] of [...this.all]) {
      if (session.served === made) session.end()
      else made.close(false)
    }
  }

  private sweep(): void {
    const since = Date.now() - this.idleTimeout
    for (const [made, session] of [...this.all])
      if (session.lastUsed <= since && !isUsed(made, session)) session.end()
    this.onSweep(this.idleTimeout)
  }
}

function isUsed(made: ProxySession, session: Session): boolean {
  return made.inUse() || session.streams.length > 0
}

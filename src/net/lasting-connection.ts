import { unexpected } from '../telemetry/unexpected.ts'
import { retryPause } from './breaker.ts'

/** Milliseconds between probes of a connection. */
const PROBE = 30_000
/** Maximum milliseconds between attempts to connect. A connection that breaks sooner counts as a failed attempt. */
const LONGEST_PAUSE = 15_000

interface LastingOptions<Connection> {
  /** Name in reports of internal errors. */
  name: string
  /**
   * @param attempt number of failures since the last connection that lasted
   * @param signal aborts when the attempt or the connection is abandoned: then close all resources
   * @param lose reports a broken connection
   */
  connect(attempt: number, signal: AbortSignal, lose: (error: Error) => void): Promise<Connection>
  /** Tests the connection; a rejection means that it is lost. Absent: no tests. */
  probe?(connection: Connection): Promise<unknown>
  /** Must not throw. @param wasLost whether `onDown` was called before */
  onUp(wasLost: boolean): void
  /** Called once for each outage. Must not throw. */
  onDown(error: Error): void
}

/** A connection that reconnects after each loss, with growing pauses. */
export interface LastingConnection<Connection> {
  /** The connection; undefined while it is lost or not yet open. */
  current(): Connection | undefined
  close(): void
}

export function lastingConnection<Connection>(
  options: LastingOptions<Connection>,
): LastingConnection<Connection> {
  const { name, connect, probe, onUp, onDown } = options
  let current: Connection | undefined
  let attempts = 0
  let isLost = false
  let timer: NodeJS.Timeout | undefined
  let giveUp = new AbortController()

  async function attempt(): Promise<void> {
    const own = new AbortController()
    giveUp = own
    let since: number | undefined
    const lose = (error: Error) => {
      if (own.signal.aborted) return
      own.abort()
      current = undefined
      if (since !== undefined && performance.now() - since > LONGEST_PAUSE) attempts = 0
      if (!isLost) onDown(error)
      isLost = true
      timer = setTimeout(begin, retryPause(attempts++, LONGEST_PAUSE))
    }
    let made: Connection
    try {
      made = await connect(attempts, own.signal, lose)
    } catch (error) {
      return lose(error as Error)
    }
    if (own.signal.aborted) return
    since = performance.now()
    current = made
    const probing = probe && setInterval(() => probe(made).catch(lose), PROBE)
    own.signal.addEventListener('abort', () => clearInterval(probing))
    onUp(isLost)
    isLost = false
  }

  function begin(): void {
    attempt().catch(unexpected(name))
  }

  begin()
  return {
    current: () => current,
    close() {
      clearTimeout(timer)
      giveUp.abort()
      current = undefined
    },
  }
}

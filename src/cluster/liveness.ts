import { unexpected } from '../telemetry/unexpected.ts'

/** Asks a replica for a sign of life. @returns whether there was one */
export type Ask = () => Promise<boolean>

/**
 * Detects replicas that have stopped answering, without a limit on the duration of calls: the kernel of a frozen
 * process still accepts connections.
 */
export interface Liveness {
  /** The replica has sent something. */
  heard(owner: string): void
  /**
   * While a call waits for a replica, asks the replica whenever it is silent. The result ends the watch.
   * @param onLost called once, with the time of the last byte; it ends the watch
   */
  watch(owner: string, ask: Ask, onLost: (since: number) => void): () => void
}

/** Milliseconds without a byte before a replica is asked. */
const SILENCE = 2_000
/** Asked twice, as this process itself may have been blocked. */
const TRIES = 2

interface Watched {
  /** Time of the last byte, or of the start of the wait, by `now`. */
  heard: number
  waiting: Set<{ ask: Ask; onLost: (since: number) => void }>
  timer: NodeJS.Timeout | undefined
}

/** @param silence milliseconds without a byte after which a replica is asked; default 2 s */
export function createLiveness(now: () => number, silence = SILENCE): Liveness {
  const all = new Map<string, Watched>()

  function wait(owner: string, watched: Watched): void {
    watched.timer = setTimeout(() => {
      check(owner, watched).catch(unexpected('a look at a replica'))
    }, silence)
    watched.timer.unref()
  }

  async function check(owner: string, watched: Watched): Promise<void> {
    const { heard, waiting } = watched
    const quiet = now() - heard >= silence
    if (quiet && !(await answers(watched))) {
      all.delete(owner)
      for (const { onLost } of waiting) onLost(heard)
    } else if (waiting.size) wait(owner, watched)
  }

  async function answers(watched: Watched): Promise<boolean> {
    const { heard } = watched
    for (let tries = 0; tries < TRIES; tries++) {
      const [first] = watched.waiting
      if (!first || (await first.ask())) return true
      if (watched.heard !== heard) return true
    }
    return watched.waiting.size === 0
  }

  return {
    heard(owner) {
      const watched = all.get(owner)
      if (watched) watched.heard = now()
    },
    watch(owner, ask, onLost) {
      const watched = all.get(owner) ?? { heard: now(), waiting: new Set(), timer: undefined }
      const one = { ask, onLost }
      watched.waiting.add(one)
      if (!all.has(owner)) {
        all.set(owner, watched)
        wait(owner, watched)
      }
      return () => {
        watched.waiting.delete(one)
        if (watched.waiting.size || all.get(owner) !== watched) return
        clearTimeout(watched.timer)
        all.delete(owner)
      }
    },
  }
}

import {
  type AnswerHeaders,
  Cancellation,
  type CancelSignal,
  type HttpClient,
  NetFault,
  type NetFaultKind,
} from '../net/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { isSameSecret, RecentMap } from '../text/index.ts'
import { HOP_HEADER, type Hops, PROOF_HEADER } from './hop.ts'

/** Maximum known replicas, as addresses change; the least recently used is forgotten. */
export const MAX_REPLICAS = 64
/** Milliseconds without a response after which a replica counts as gone. */
const GONE_AFTER = 30_000
/** Milliseconds to wait for a sign of life. */
const SIGN = 4_000
/** Faults of a replica that does not answer; one that refuses or resets a connection has a running kernel. */
const MUTE = new Set<NetFaultKind>(['timeout', 'connect-timeout', 'unreachable'])

/** Target and headers of a probe of a replica. */
export interface Question {
  target: string
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/** Conclusion about an unreachable replica: it has ended, or it may still run. */
type Unreached = { gone: string } | { fault: string; lost: false }

/** Knowledge of other replicas, from how they answer. */
interface Contacts {
  /** The replica has sent something. */
  heard(owner: string): void
  /** Whether the replica took a request and did not answer. */
  isMute(owner: string): boolean
  /** @param reason a sentence */
  unreached(owner: string, reason: string): Unreached
  /** Sends a HEAD for a request's target, which is cheap for a replica. @throws NetFault */
  head(owner: string, question: Question, headers?: Record<string, string>): Promise<Head>
  lives(owner: string, question: Question): Promise<boolean>
  /** Waits for an answer until `end`, while the client waits and the replica gives signs of life. */
  wait(owner: string, request: Question & { signal: CancelSignal }): Wait
}

interface Silence {
  since: number
  /** A request was taken and not answered. */
  mute: boolean
}

/** The answer to a HEAD. */
interface Head {
  status: number
  headers: AnswerHeaders
  /** Whether a replica proved that it sent the answer. */
  proven: boolean
}

class Wait extends Cancellation {
  /** The replica has stopped answering. */
  lost = false
  end: () => void = () => {}
}

export function createContacts(
  hops: Hops,
  client: HttpClient,
  now: () => number,
  silence: number | undefined,
): Contacts {
  const liveness = createLiveness(now, silence)
  const silent = new RecentMap<string, Silence>(MAX_REPLICAS)
  /** Replicas that are being asked for a sign of life. */
  const asking = new Map<string, Promise<boolean>>()

  function silenceOf(owner: string, since: number): Silence {
    const known = silent.get(owner) ?? { since, mute: false }
    silent.set(owner, known)
    return known
  }

  async function head(owner: string, { target, headers: { host } }: Question, more = {}): Promise<Head> {
    const { header, proof } = hops.sign(owner, 'HEAD', target)
    const sent = { ...(host !== undefined && { host: String(host) }), [HOP_HEADER]: header, ...more }
    const request = { origin: owner, path: target, method: 'HEAD', headers: sent }
    const { status, headers } = await client.fetch(request, { timeout: SIGN, maxSize: 0 })
    return { status, headers, proven: isSameSecret(String(headers[PROOF_HEADER] ?? ''), proof) }
  }

  /** Any answer is a sign of life, except a proxy's answer for a silent replica. */
  async function ask(owner: string, question: Question): Promise<boolean> {
    try {
      const { status, proven } = await head(owner, question)
      return proven || status < 500
    } catch (error) {
      return !(error instanceof NetFault && MUTE.has(error.kind))
    }
  }

  /** Shared by all concurrent callers. */
  function lives(owner: string, question: Question): Promise<boolean> {
    const asked =
      asking.get(owner) ??
      ask(owner, question).finally(() => {
        asking.delete(owner)
      })
    asking.set(owner, asked)
    return asked
  }

  return {
    heard(owner) {
      silent.delete(owner)
      liveness.heard(owner)
    },
    isMute: (owner) => silent.get(owner)?.mute === true,
    unreached(owner, reason) {
      if (now() - silenceOf(owner, now()).since < GONE_AFTER) return { fault: reason, lost: false }
      return { gone: `${reason} for more than ${GONE_AFTER / 1000} s` }
    },
    head,
    lives,
    wait(owner, request) {
      const wait = new Wait()
      const { signal } = request
      const onLost = (since: number) => {
        silenceOf(owner, since).mute = true
        wait.lost = true
        wait.abort()
      }
      const unwatch = liveness.watch(owner, () => lives(owner, request), onLost)
      signal.addEventListener('abort', wait.abort)
      wait.end = () => {
        unwatch()
        signal.removeEventListener('abort', wait.abort)
      }
      if (signal.aborted) wait.abort()
      return wait
    },
  }
}

/** Asks a replica for a sign of life. @returns whether there was one */
type Ask = () => Promise<boolean>

/**
 * Detects replicas that have stopped answering, without a limit on the duration of calls: the kernel of a frozen
 * process still accepts connections.
 */
interface Liveness {
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
function createLiveness(now: () => number, silence = SILENCE): Liveness {
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

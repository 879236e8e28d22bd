import {
  type AnswerHeaders,
  Cancellation,
  type CancelSignal,
  type HttpClient,
  NetFault,
  type NetFaultKind,
} from '../net/index.ts'
import { HOP_HEADER, type Hops, PROOF_HEADER, same } from './hop.ts'
import { createLiveness } from './liveness.ts'

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
export type Unreached = { gone: string } | { fault: string; lost: false }

/** Knowledge of other replicas, from how they answer. */
export interface Contacts {
  /** The replica has sent something. */
  heard(owner: string): void
  /** Whether the replica took a request and did not answer. */
  isMute(owner: string): boolean
  /** @param reason a sentence */
  unreached(owner: string, reason: string): Unreached
  /** Sends a HEAD for a request's target, which is cheap for a replica. @throws NetFault */
  head(owner: string, question: Question, headers?: Record<string, string>): Promise<Head>
  /** Asks the replica for a sign of life. */
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
export interface Head {
  status: number
  headers: AnswerHeaders
  /** Whether a replica proved that it sent the answer. */
  proven: boolean
}

export class Wait extends Cancellation {
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
  const silent = new Map<string, Silence>()
  /** Replicas that are being asked for a sign of life. */
  const asking = new Map<string, Promise<boolean>>()

  function silenceOf(owner: string, since: number): Silence {
    const known = silent.get(owner) ?? { since, mute: false }
    silent.set(owner, known)
    if (silent.size > MAX_REPLICAS) silent.delete(silent.keys().next().value as string)
    return known
  }

  async function head(owner: string, { target, headers: { host } }: Question, more = {}): Promise<Head> {
    const { header, proof } = hops.sign('HEAD', target)
    const sent = { ...(host !== undefined && { host: String(host) }), [HOP_HEADER]: header, ...more }
    const request = { origin: owner, path: target, method: 'HEAD', headers: sent }
    const { status, headers } = await client.fetch(request, { timeout: SIGN, maxSize: 0 })
    return { status, headers, proven: same(String(headers[PROOF_HEADER] ?? ''), proof) }
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

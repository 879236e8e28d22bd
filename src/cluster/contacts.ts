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

/** Addresses change as replicas come and go; the longest unused one is forgotten. */
export const MAX_REPLICAS = 64
/** Milliseconds without a response after which a replica counts as gone. */
const GONE_AFTER = 30_000
/** Milliseconds that a replica has for a sign of life. */
const SIGN = 4_000
/** What the network or a proxy says of a replica that does not answer; one that refuses or hangs up has a kernel at work. */
const MUTE = new Set<NetFaultKind>(['timeout', 'connect-timeout', 'unreachable'])

/** What a replica may be asked by: the target and the headers of a request. */
export interface Question {
  target: string
  headers: Readonly<Record<string, string | string[] | undefined>>
}

/** What a replica that was not reached is taken for: to have ended, or not. */
export type Unreached = { gone: string } | { fault: string; lost: false }

/** What is known of the other replicas by how they answer. */
export interface Contacts {
  /** The replica has sent something. */
  heard(owner: string): void
  /** Whether the replica took a request and did not answer. */
  isMute(owner: string): boolean
  /** @param reason a sentence */
  unreached(owner: string, reason: string): Unreached
  /** Sends a HEAD of what a request is for, which costs a replica nothing. @throws NetFault */
  head(owner: string, question: Question, headers?: Record<string, string>): Promise<Head>
  /** Asks the replica for a sign of life. */
  lives(owner: string, question: Question): Promise<boolean>
  /** Waits for an answer to a request until `end`, as long as its client does and the replica gives signs of life. */
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
  /** Whether a replica gave it. */
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

  /** Any answer is a sign of life, but for that of a proxy whose replica does not answer. */
  async function ask(owner: string, question: Question): Promise<boolean> {
    try {
      const { status, proven } = await head(owner, question)
      return proven || status < 500
    } catch (error) {
      return !(error instanceof NetFault && MUTE.has(error.kind))
    }
  }

  /** The same for everyone who asks at the same time. */
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

import type { AnswerHeaders } from '../net/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { RecentMap, within } from '../text/index.ts'
import { MAX_REPLICAS, type Question } from './contacts.ts'
import { createSeal, type SealOptions } from './seal.ts'
import type { Ticket } from './tickets.ts'

/** Sealed address of a replica that introduces itself. */
export const FROM_HEADER = 'plantgw-hop-from'
/** Sealed addresses that the other replica knows. */
export const MEMBERS_HEADER = 'plantgw-hop-members'

/**
 * The other replicas that may have a part of a session. A replica that continues a session introduces itself to the
 * replica that opened it and to all replicas known there, so that no list in the settings is needed.
 */
export interface Members {
  /**
   * Makes this replica and the session's opener know each other, once for each process of either.
   * @param question called if they do not yet
   * @returns a promise that a request should wait for, briefly
   */
  meet(ticket: Pick<Ticket, 'owner' | 'process'>, question: () => Question): Promise<void>
  /**
   * Records a replica that introduces itself; undefined: it is not one.
   * @returns the replicas known here, and a promise that the answer waits for
   */
  greet(from: string): { members: string; told: Promise<void> } | undefined
  /** Adds a replica that another worker has met. */
  learn(address: string): void
  /** The addresses of the others. */
  others(): string[]
  /** The replica has ended. */
  forget(address: string): void
}

export interface MembersOptions {
  seal: SealOptions
  /** Address of this replica. */
  address: string
  /** Sends a HEAD with these headers; the headers of a proven answer. */
  head(owner: string, question: Question, headers: Record<string, string>): Promise<AnswerHeaders | undefined>
  /** Tells the other workers of a replica that this one did not know. */
  onMet?: ((address: string) => Promise<void>) | undefined
  now?: () => number
}

interface Meeting {
  process: string | undefined
  began: number
  done: boolean
  pending: Promise<void> | undefined
}

/** Milliseconds for which a request waits for its replica to be known. */
const MOMENT = 2_000
/** Milliseconds before a silent replica is tried again. */
const AGAIN = 30_000

export function createMembers(options: MembersOptions): Members {
  const { seal, address, head, onMet, now = performance.now.bind(performance) } = options
  const froms = createSeal(seal, 'member')
  const lists = createSeal(seal, 'members')
  const known = new Set<string>()
  const meetings = new RecentMap<string, Meeting>(MAX_REPLICAS)

  function learn(other: string): void {
    if (other === address) return
    known.delete(other)
    known.add(other)
    if (known.size > MAX_REPLICAS) known.delete(known.values().next().value as string)
  }

  async function met(other: string): Promise<void> {
    const isNew = other !== address && !known.has(other)
    learn(other)
    if (isNew) await onMet?.(other)
  }

  function introduce(owner: string, process: string | undefined, question: Question): Promise<void> {
    const meeting: Meeting = { process, began: now(), done: false, pending: undefined }
    meetings.set(owner, meeting)
    const talked = talk(owner, question)
      .then((done) => {
        meeting.done = done
      })
      .catch(unexpected('an introduction'))
    const pending = within(MOMENT, talked).then(() => {
      meeting.pending = undefined
    })
    meeting.pending = pending
    return pending
  }

  async function talk(owner: string, question: Question): Promise<boolean> {
    const headers = await head(owner, question, { [FROM_HEADER]: froms.close(address, owner) })
    if (!headers) return false
    await met(owner)
    const list = lists.open(String(headers[MEMBERS_HEADER] ?? ''), address)
    const told: string[] = list === undefined ? [] : JSON.parse(list)
    const unknown = told.filter((other) => other !== address && !known.has(other))
    await Promise.all(unknown.map(met))
    await Promise.all(unknown.map((other) => introduce(other, undefined, question)))
    return true
  }

  return {
    async meet({ owner, process }, question) {
      if (owner === address) return
      const before = meetings.get(owner)
      const isMet = before?.process === process && (before.done || now() - before.began < AGAIN)
      await (isMet ? before.pending : introduce(owner, process, question()))
    },
    greet(from) {
      const other = froms.open(from, address)
      if (other === undefined) return undefined
      const told = met(other)
      return { members: lists.close(JSON.stringify([...known]), other), told }
    },
    learn,
    others: () => [...known],
    forget(other) {
      known.delete(other)
      meetings.delete(other)
    },
  }
}

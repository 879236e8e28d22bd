import { randomUUID } from 'node:crypto'
import { Quota } from '../access/quota.ts'
import type { LimitName } from '../access/refusals.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../config/model.ts'
import { type JsonObject, stringify } from '../json/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { InFlight } from './in-flight.ts'
import { notificationText, type RequestId, resultText } from './jsonrpc.ts'
import type { SessionRevision } from './revisions.ts'
import type { EventStream } from './stream.ts'

/** A client's session of a revision with a handshake. */
export interface Session {
  readonly id: string
  /** The prefix it was opened at; it is unknown elsewhere. */
  readonly prefix: string
  /** Who opened it; it is unknown to others. */
  readonly caller: string | undefined
  /** Whose share of the limits it is part of. */
  readonly sharer: string
  /** The replica that opened it, where it is one that is taken up by its id; absent: this process did. */
  readonly owner?: string
  /** Set by `initialize`. */
  revision: SessionRevision
  /** Milliseconds since the epoch of the last request. */
  lastUsed: number
  /** GET streams, the newest last; messages that answer no request go to the newest. */
  streams: EventStream[]
  /** Calls under way, by request id. */
  readonly calls: InFlight<RequestId, CallUnderWay>
  /** What a proxied server has for this session; it ends with it. */
  attached?: Attached
}

export interface CallUnderWay {
  cancel(): void
  /** Resolves when the call has ended, however. */
  ended: Promise<unknown>
}

/** What is held for a session beyond the wire. */
export interface Attached {
  /** Who serves the session: what takes its place at a reload gets no new requests of it. */
  readonly owner: object
  /** Whether the session is in use although it has no stream. */
  busy(): boolean
  /** Ends at once. */
  end(): void
  /** Tells the server that the client ended the session; absent where `end` does. */
  leave?(): void
  /** Ends the session when no call is under way, or after a while; resolves then. */
  drain(): Promise<void>
}

/** A `subscriptions/listen` stream of a stateless client. */
export interface Listener {
  readonly prefix: string
  readonly id: RequestId
  readonly kinds: ReadonlySet<ListKind>
  readonly stream: Pick<EventStream, 'send' | 'close'>
}

/** The lists that may change while the gateway runs. */
export type ListKind = 'tools' | 'prompts' | 'resources'

/** Something that must not fall silent. */
export interface Kept {
  write(comment: string): void
  close?(): void
  /** Ends what is no call, and so would be waited for in vain. */
  drain?(): void
}

type Known = Pick<Session, 'id' | 'prefix' | 'caller' | 'sharer' | 'revision' | 'owner'>

/** What outlives a reload: sessions and open streams. Closed at exit. */
export interface Hub {
  /** Opens a session, or gives the limit that is reached. */
  openSession(
    prefix: string,
    caller: string | undefined,
    revision: SessionRevision,
    sharer: string,
  ): Session | LimitName
  /** Takes up a session that another replica opened; undefined when its client has ended it here, or there is no room. */
  takeUp(session: Known): Session | undefined
  /** The session, unless it is unknown at this prefix or to this caller. */
  session(id: string, prefix: string, caller: string | undefined): Session | undefined
  /** @param forGood whether its id may not be taken up again */
  endSession(session: Session, forGood?: boolean): void
  /** Keeps a stream, or the answer to a POST, alive with comments until `drop`; streams are closed at the end. */
  keep(stream: Kept): void
  drop(stream: Kept): void
  listen(listener: Listener): void
  unlisten(listener: Listener): void
  /** Tells every client of a prefix that a list changed. */
  listChanged(prefix: string, kind: ListKind): void
  /** Ends every subscription of a prefix; its client subscribes anew. */
  endListeners(prefix: string): void
  /** Ends every subscription of a prefix that is served no more, and each session when its calls have ended. */
  endPrefix(prefix: string): void
  counts(): { sessions: number; streams: number }
  sessionsByPrefix(): Map<string, number>
  /** Closes subscriptions at once, and the streams of each session when its calls have ended. */
  drain(): Promise<void>
  close(): void
}

export interface HubOptions
  extends Partial<Pick<ServerLimits, 'maxSessions' | 'maxSessionsPerPrefix' | 'maxSessionsPerCaller'>> {
  /** Milliseconds without a request or stream after which a session ends. Default one hour. */
  idleTimeout?: number
  /** Milliseconds without use after which a session makes room for another one of its caller. Default 60,000. */
  givesWay?: number
  /** Milliseconds between keep-alive comments. Default 15,000. */
  keepAlive?: number
}

/** Milliseconds for which a session was not used that makes room for another one of the same caller. */
const GIVES_WAY = 60_000
const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

export function createHub(options: HubOptions = {}): Hub {
  const { idleTimeout = 3_600_000, givesWay = GIVES_WAY, keepAlive = 15_000 } = options
  const { maxSessions, maxSessionsPerPrefix, maxSessionsPerCaller } = { ...DEFAULT_LIMITS, ...options }
  const quota = new Quota({
    total: ['maxSessions', maxSessions],
    prefix: ['maxSessionsPerPrefix', maxSessionsPerPrefix],
    caller: ['maxSessionsPerCaller', maxSessionsPerCaller],
  })
  /** In the order of their last use. */
  const sessions = new Map<string, Session>()
  /** Those of one sharer at one prefix, in the order of their last use. */
  const shares = new Map<string, Map<string, Session>>()
  /** Ids of sessions that their clients ended, the newest last. */
  const ended = new Set<string>()
  const streams = new InFlight<Kept, true>()
  const listeners = new Set<Listener>()
  let draining = false

  const beat = setInterval(() => {
    for (const stream of streams.keys()) stream.write(': keep-alive\n\n')
    const oldest = Date.now() - idleTimeout
    for (const session of sessions.values()) {
      if (session.lastUsed > oldest) break
      if (isUsed(session)) touch(session)
      else endSession(session)
    }
  }, keepAlive)
  beat.unref()

  function touch(session: Session): void {
    const now = Date.now()
    // To the second is order enough, and spares a busy session the move.
    if (now - session.lastUsed < 1000) return
    session.lastUsed = now
    for (const order of [sessions, shares.get(shareOf(session))]) {
      order?.delete(session.id)
      order?.set(session.id, session)
    }
  }

  function add(known: Known): Session | LimitName {
    const { prefix, sharer } = known
    if (quota.exceeded(prefix, sharer)) makeRoom(shareOf(known))
    const limit = quota.take(prefix, sharer)
    if (limit) return limit
    const session: Session = { ...known, lastUsed: Date.now(), streams: [], calls: new InFlight() }
    sessions.set(session.id, session)
    const share = shares.get(shareOf(session)) ?? new Map()
    shares.set(shareOf(session), share.set(session.id, session))
    return session
  }

  /** Ends the session of a share that nobody has used for the longest time; what is in use is never ended. */
  function makeRoom(share: string): boolean {
    for (const session of shares.get(share)?.values() ?? []) {
      if (session.lastUsed > Date.now() - givesWay) return false
      if (isUsed(session)) touch(session)
      else {
        endSession(session)
        return true
      }
    }
    return false
  }

  function endSession(session: Session, forGood = false): void {
    if (forGood) ended.add(session.id)
    if (ended.size > maxSessions) ended.delete(ended.values().next().value as string)
    if (!sessions.delete(session.id)) return
    const share = shares.get(shareOf(session))
    share?.delete(session.id)
    if (share?.size === 0) shares.delete(shareOf(session))
    quota.give(session.prefix, session.sharer)
    for (const call of session.calls.values()) call.cancel()
    for (const stream of [...session.streams]) stream.close()
    session.attached?.end()
  }

  /** Calls under way end by themselves, those of a proxied server within a time of its own. */
  async function settled({ calls, attached }: Session): Promise<void> {
    await Promise.allSettled(calls.values().map(({ ended }) => ended))
    await attached?.drain()
  }

  function endListener(listener: Listener): void {
    listeners.delete(listener)
    const result = { resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: listener.id } }
    listener.stream.send(resultText(listener.id, stringify(result)))
    listener.stream.close()
  }

  function endListeners(prefix: string): void {
    for (const listener of [...listeners]) if (listener.prefix === prefix) endListener(listener)
  }

  return {
    openSession: (prefix, caller, revision, sharer) =>
      add({ id: randomUUID(), prefix, caller, revision, sharer }),
    takeUp(known) {
      const session = ended.has(known.id) ? undefined : add(known)
      return typeof session === 'string' ? undefined : session
    },
    session(id, prefix, caller) {
      const session = sessions.get(id)
      if (session?.prefix !== prefix || session.caller !== caller) return undefined
      touch(session)
      return session
    },
    endSession,
    keep: (stream) => streams.set(stream, true),
    drop: (stream) => void streams.delete(stream),
    listen(listener) {
      listeners.add(listener)
      // Who was told of the end subscribes anew at once, where its connection is still there.
      if (draining) endListener(listener)
    },
    unlisten: (listener) => listeners.delete(listener),
    listChanged(prefix, kind) {
      const method = `notifications/${kind}/list_changed`
      const plain = notificationText(method)
      for (const session of sessions.values())
        if (session.prefix === prefix) session.streams.at(-1)?.send(plain)
      for (const { prefix: at, kinds, id, stream } of listeners)
        if (at === prefix && kinds.has(kind)) stream.send(taggedNotification(method, id))
    },
    endListeners,
    endPrefix(prefix) {
      endListeners(prefix)
      for (const session of [...sessions.values()]) {
        if (session.prefix !== prefix) continue
        if (session.calls.size || session.attached?.busy())
          settled(session)
            .finally(() => endSession(session))
            .catch(unexpected('the end of a session'))
        else endSession(session)
      }
    },
    counts: () => ({ sessions: sessions.size, streams: streams.size }),
    sessionsByPrefix() {
      const counts = new Map<string, number>()
      for (const { prefix } of sessions.values()) counts.set(prefix, (counts.get(prefix) ?? 0) + 1)
      return counts
    },
    async drain() {
      draining = true
      for (const listener of [...listeners]) endListener(listener)
      for (const stream of streams.keys()) stream.drain?.()
      const ends = [...sessions.values()].map(async (session) => {
        await settled(session)
        for (const stream of [...session.streams]) stream.close()
      })
      await Promise.all(ends)
    },
    close() {
      clearInterval(beat)
      for (const listener of [...listeners]) endListener(listener)
      for (const session of [...sessions.values()]) endSession(session)
      for (const stream of streams.keys()) stream.close?.()
    },
  }
}

function isUsed({ streams, calls, attached }: Session): boolean {
  return streams.length > 0 || calls.size > 0 || attached?.busy() === true
}

function shareOf({ prefix, sharer }: Pick<Session, 'prefix' | 'sharer'>): string {
  return `${prefix} ${sharer}`
}

/** A notification of a `subscriptions/listen` stream (2026-07-28, Subscriptions). */
export function taggedNotification(method: string, id: RequestId, params?: JsonObject): string {
  return notificationText(method, { _meta: { [SUBSCRIPTION_ID]: id }, ...params })
}

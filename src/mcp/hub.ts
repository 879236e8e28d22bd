import { randomUUID } from 'node:crypto'
import { type JsonObject, stringify } from '../json/index.ts'
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
  /** Set by `initialize`. */
  revision: SessionRevision
  /** Milliseconds since the epoch of the last request. */
  lastUsed: number
  /** GET streams, the newest last; messages that answer no request go to the newest. */
  streams: EventStream[]
  /** Calls under way, by request id. */
  readonly calls: Map<RequestId, CallUnderWay>
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
  /** Ends the session when no call is under way, or after a while; resolves then. */
  drain(): Promise<void>
}

/** A `subscriptions/listen` stream of a stateless client. */
export interface Listener {
  readonly prefix: string
  readonly id: RequestId
  readonly kinds: ReadonlySet<ListKind>
  readonly stream: EventStream
}

/** The lists that may change while the gateway runs. */
export type ListKind = 'tools' | 'prompts'

/** Something that must not fall silent. */
export interface Kept {
  write(comment: string): void
  close?(): void
}

/** What outlives a reload: sessions and open streams. Closed at exit. */
export interface Hub {
  openSession(prefix: string, caller: string | undefined, revision: SessionRevision): Session
  /** The session, unless it is unknown at this prefix or to this caller. */
  session(id: string, prefix: string, caller: string | undefined): Session | undefined
  endSession(session: Session): void
  /** Keeps a stream, or the answer to a POST, alive with comments until `drop`; streams are closed at the end. */
  keep(stream: Kept): void
  drop(stream: Kept): void
  listen(listener: Listener): void
  unlisten(listener: Listener): void
  /** Tells every client of a prefix that a list changed. */
  listChanged(prefix: string, kind: ListKind): void
  /** Ends every session and stream of a prefix that is served no more. */
  endPrefix(prefix: string): void
  counts(): { sessions: number; streams: number }
  /** Closes subscriptions at once, and the streams of each session when its calls have ended. */
  drain(): Promise<void>
  close(): void
}

export interface HubOptions {
  /** Milliseconds without a request or stream after which a session ends. Default one hour. */
  idleTimeout?: number
  /** Sessions held at the most; the longest unused one makes room. Default 100,000. */
  maxSessions?: number
  /** Milliseconds between keep-alive comments. Default 15,000. */
  keepAlive?: number
}

const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId'

export function createHub(options: HubOptions = {}): Hub {
  const { idleTimeout = 3_600_000, maxSessions = 100_000, keepAlive = 15_000 } = options
  /** In the order of their last use. */
  const sessions = new Map<string, Session>()
  const streams = new Set<Kept>()
  const listeners = new Set<Listener>()

  const beat = setInterval(() => {
    for (const stream of streams) stream.write(': keep-alive\n\n')
    const oldest = Date.now() - idleTimeout
    for (const session of sessions.values()) {
      if (session.lastUsed > oldest) break
      if (session.streams.length || session.calls.size || session.attached?.busy()) touch(session)
      else endSession(session)
    }
  }, keepAlive)
  beat.unref()

  function touch(session: Session): void {
    const now = Date.now()
    // To the second is order enough, and spares a busy session the move.
    if (now - session.lastUsed < 1000) return
    session.lastUsed = now
    sessions.delete(session.id)
    sessions.set(session.id, session)
  }

  function endSession(session: Session): void {
    if (!sessions.delete(session.id)) return
    for (const call of session.calls.values()) call.cancel()
    for (const stream of [...session.streams]) stream.close()
    session.attached?.end()
  }

  function endListener(listener: Listener): void {
    listeners.delete(listener)
    const result = { resultType: 'complete', _meta: { [SUBSCRIPTION_ID]: listener.id } }
    listener.stream.send(resultText(listener.id, stringify(result)))
    listener.stream.close()
  }

  return {
    openSession(prefix, caller, revision) {
      const id = randomUUID()
      const session: Session = {
        id,
        prefix,
        caller,
        revision,
        lastUsed: Date.now(),
        streams: [],
        calls: new Map(),
      }
      sessions.set(id, session)
      if (sessions.size > maxSessions) endSession(sessions.values().next().value as Session)
      return session
    },
    session(id, prefix, caller) {
      const session = sessions.get(id)
      if (session?.prefix !== prefix || session.caller !== caller) return undefined
      touch(session)
      return session
    },
    endSession,
    keep: (stream) => streams.add(stream),
    drop: (stream) => streams.delete(stream),
    listen: (listener) => listeners.add(listener),
    unlisten: (listener) => listeners.delete(listener),
    listChanged(prefix, kind) {
      const method = `notifications/${kind}/list_changed`
      const plain = notificationText(method)
      for (const session of sessions.values())
        if (session.prefix === prefix) session.streams.at(-1)?.send(plain)
      for (const { prefix: at, kinds, id, stream } of listeners)
        if (at === prefix && kinds.has(kind)) stream.send(taggedNotification(method, id))
    },
    endPrefix(prefix) {
      for (const session of [...sessions.values()]) if (session.prefix === prefix) endSession(session)
      for (const listener of [...listeners]) if (listener.prefix === prefix) endListener(listener)
    },
    counts: () => ({ sessions: sessions.size, streams: streams.size }),
    async drain() {
      for (const listener of [...listeners]) endListener(listener)
      const ends = [...sessions.values()].map(async (session) => {
        await Promise.allSettled([...session.calls.values()].map(({ ended }) => ended))
        await session.attached?.drain()
        for (const stream of [...session.streams]) stream.close()
      })
      await Promise.all(ends)
    },
    close() {
      clearInterval(beat)
      for (const listener of [...listeners]) endListener(listener)
      for (const session of [...sessions.values()]) endSession(session)
      for (const stream of [...streams]) stream.close?.()
    },
  }
}

/** A notification of a `subscriptions/listen` stream (2026-07-28, Subscriptions). */
export function taggedNotification(method: string, id: RequestId, params?: JsonObject): string {
  return notificationText(method, { _meta: { [SUBSCRIPTION_ID]: id }, ...params })
}

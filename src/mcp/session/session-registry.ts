import { randomUUID } from 'node:crypto'
import { type Quota, sessionQuota } from '../../access/quota.ts'
import type { LimitName } from '../../access/refusals.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../../config/model.ts'
import { stringify } from '../../json/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { groupBy } from '../../text/index.ts'
import type { KeptStream } from '../backend.ts'
import type { CallLog } from '../call-log.ts'
import type { Fault } from '../fault.ts'
import { InFlight } from '../in-flight.ts'
import { KeptResults } from '../middleware/kept-results.ts'
import { type ListKind, notificationText, type Request, SUBSCRIPTION_ID } from '../protocol.ts'
import { type ParkedCall, PendingInput } from './pending-input.ts'
import { Session, type SessionFacts } from './session.ts'

/** A `subscriptions/listen` stream of a stateless client. */
export interface Listener {
  readonly prefix: string
  readonly request: Pick<Request, 'id'>
  /** Generation of the registry when the request came. */
  readonly generation: number
  readonly kinds: ReadonlySet<ListKind> | undefined
  /** Sends a notification. */
  message(text: string): void
  /** Ends the stream with the result of its request. */
  finish(result: string): void
}

/** The sessions of one prefix. */
export interface PrefixSessions {
  count: number
  /** Revisions that their clients speak. */
  revisions: string[]
}

export interface SessionRegistryOptions extends Partial<Pick<ServerLimits, 'maxSessions'>> {
  /** Milliseconds without a request or stream after which a session ends. Default one hour. */
  idleTimeout?: number
  /** Milliseconds without use after which a session may be ended for a new one of the same caller. Default 60,000. */
  givesWay?: number
  /** Milliseconds between keep-alive comments. Default 15,000. */
  keepAlive?: number
  /** Milliseconds a person has to approve a call. Default 300,000. */
  answerTime?: number
  /** Whether sessions opened by other processes are counted only there. Default false. */
  countsOwnOnly?: boolean
}

/** Milliseconds between checks for slow calls. */
const BEAT = 1_000

/** Sessions and open streams, which outlive reloads. Closed at exit. */
export class SessionRegistry {
  private readonly idleTimeout: number
  private readonly givesWay: number
  private readonly maxSessions: number
  private readonly answerTime: number | undefined
  /** Stateless calls that wait for approval. */
  readonly approvals: PendingInput<ParkedCall>
  /** Cut-off parts of results. */
  readonly results = new KeptResults()
  private readonly quota: Quota
  private readonly countsOwnOnly: boolean
  /** In order of last use. */
  private readonly sessions = new Map<string, Session>()
  /** Sessions by prefix and quota key, each in order of last use. */
  private readonly shares = new Map<string, Map<string, Session>>()
  /** Ids of sessions ended by their clients, oldest first. */
  private readonly ended = new Set<string>()
  /** The value says whether the stream is counted here. */
  private readonly streams = new InFlight<KeptStream, boolean>()
  private readonly listeners = new Set<Listener>()
  private readonly timers: readonly NodeJS.Timeout[]
  private draining = false
  /** Incremented by each reload that replaces a backend; a subscription of an older generation ends. */
  generation = 0

  constructor(options: SessionRegistryOptions = {}) {
    const { idleTimeout = 3_600_000, givesWay = 60_000, keepAlive = 15_000, answerTime } = options
    this.answerTime = answerTime
    this.approvals = new PendingInput(answerTime)
    const { maxSessions } = { ...DEFAULT_LIMITS, ...options }
    this.idleTimeout = idleTimeout
    this.givesWay = givesWay
    this.maxSessions = maxSessions
    this.countsOwnOnly = options.countsOwnOnly ?? false
    this.quota = sessionQuota(maxSessions)
    // Two timers for all calls, as one for each call would be expensive.
    this.timers = [setInterval(() => this.tick(), keepAlive), setInterval(() => this.beat(), BEAT)]
    for (const timer of this.timers) timer.unref()
  }

  /** Opens a session, or returns the exceeded limit. */
  openSession(facts: Omit<SessionFacts, 'id'>, callLog: CallLog): Session | LimitName {
    const { prefix, quotaKey } = facts
    if (this.quota.exceeded(prefix, quotaKey)) this.makeRoom(shareOf(facts))
    return this.quota.take(prefix, quotaKey) ?? this.add({ id: randomUUID(), ...facts }, callLog)
  }

  /** Resumes a session opened by another replica; undefined if its client ended it here, or a limit is reached. */
  resume(facts: SessionFacts, callLog: CallLog): Session | undefined {
    if (this.ended.has(facts.id)) return undefined
    if (this.countsOwnOnly) return this.add(facts, callLog)
    const { prefix, quotaKey } = facts
    if (this.quota.exceeded(prefix, quotaKey)) this.makeRoom(shareOf(facts))
    return this.quota.take(prefix, quotaKey) ? undefined : this.add(facts, callLog)
  }

  /** The session, unless it is unknown at this prefix or to this caller. */
  session(id: string, prefix: string, caller: string | undefined): Session | undefined {
    const session = this.sessions.get(id)
    if (session?.prefix !== prefix || session.caller !== caller) return undefined
    this.touch(session)
    return session
  }

  /**
   * @param forGood whether the client ended it
   * @param remember whether the id must not be resumed
   */
  endSession(session: Session, forGood = false, remember = false): void {
    if (remember) this.forbid(session.id)
    if (!this.sessions.delete(session.id)) return
    const share = this.shares.get(shareOf(session))
    share?.delete(session.id)
    if (share?.size === 0) this.shares.delete(shareOf(session))
    if (this.isCounted(session)) this.quota.give(session.prefix, session.quotaKey)
    session.close(forGood)
  }

  /** Prevents a session that its client ended elsewhere from being resumed here. */
  forbid(id: string): void {
    this.ended.add(id)
    if (this.ended.size > this.maxSessions) this.ended.delete(this.ended.values().next().value as string)
  }

  /**
   * Keeps a stream, or the answer to a POST, alive with comments until `drop`; streams are closed at exit.
   * @param isCounted false if another process of this gateway counts it
   */
  keep(stream: KeptStream, isCounted = true): void {
    this.streams.set(stream, isCounted)
  }

  drop(stream: KeptStream): void {
    this.streams.delete(stream)
  }

  listen(listener: Listener): void {
    this.listeners.add(listener)
    // A reload may have replaced the backend before this subscription was registered: the client subscribes again.
    if (this.draining || listener.generation !== this.generation) this.endListener(listener)
  }

  unlisten(listener: Listener): void {
    this.listeners.delete(listener)
  }

  /** Prefixes with clients that may need `list_changed`. */
  heard(): ReadonlySet<string> {
    return new Set([...this.sessions.values(), ...this.listeners].map(({ prefix }) => prefix))
  }

  /** Notifies every client of a prefix that a list changed. */
  listChanged(prefix: string, kind: ListKind): void {
    const method = `notifications/${kind}/list_changed`
    const plain = notificationText(method)
    for (const session of this.sessions.values()) if (session.prefix === prefix) session.announce(kind, plain)
    for (const listener of this.listeners)
      if (listener.prefix === prefix && listener.kinds?.has(kind))
        listener.message(notificationText(method, { _meta: { [SUBSCRIPTION_ID]: listener.request.id } }))
  }

  /** Ends every subscription of a prefix; clients subscribe again. */
  endListeners(prefix: string): void {
    this.generation++
    for (const listener of [...this.listeners]) if (listener.prefix === prefix) this.endListener(listener)
  }

  /** Ends all subscriptions of a removed prefix at once, and its sessions when their calls have ended. */
  endPrefix(prefix: string): void {
    this.endListeners(prefix)
    for (const session of [...this.sessions.values()]) {
      if (session.prefix !== prefix) continue
      const { backendSession } = session
      // If the prefix is served again in the meantime, the session continues there.
      const end = () => session.backendSession === backendSession && this.endSession(session)
      if (session.isBusy()) session.drain().finally(end).catch(unexpected('the end of a session'))
      else this.endSession(session)
    }
  }

  /** Sessions and streams counted by this process. */
  counts(): { sessions: number; streams: number } {
    return {
      sessions: [...this.sessions.values()].filter((one) => this.isCounted(one)).length,
      streams: this.streams.values().filter((isCounted) => isCounted).length,
    }
  }

  sessionsByPrefix(): Map<string, PrefixSessions> {
    const counted = [...this.sessions.values()].filter((one) => this.isCounted(one))
    const byPrefix = groupBy(counted, ({ prefix }) => prefix)
    return new Map(
      [...byPrefix].map(([prefix, own]) => {
        const revisions = new Set(own.map(({ revision }) => revision))
        return [prefix, { count: own.length, revisions: [...revisions] }]
      }),
    )
  }

  /** Closes subscriptions, and the streams of idle sessions; clients may open them again. */
  endStreams(): void {
    for (const listener of [...this.listeners]) this.endListener(listener)
    for (const stream of this.streams.keys()) stream.drain?.()
    for (const session of this.sessions.values())
      if (!session.isBusy()) for (const stream of [...session.streams]) stream.close()
  }

  /**
   * Closes current and later subscriptions at once, and a session's streams when its calls have ended.
   * @param limit milliseconds after which sessions with proxied servers end with their calls. Default 30,000
   */
  async drain(limit?: number): Promise<void> {
    this.draining = true
    this.endStreams()
    const ends = [...this.sessions.values()].map(async (session) => {
      await session.drain(limit)
      for (const stream of [...session.streams]) stream.close()
    })
    await Promise.all(ends)
  }

  /** Ends every running call with a fault. */
  cut(fault: Fault): void {
    for (const { calls } of this.sessions.values()) for (const call of calls.values()) call.abortWith(fault)
    for (const kept of this.streams.keys()) kept.abortWith?.(fault)
  }

  close(): void {
    for (const timer of this.timers) clearInterval(timer)
    this.approvals.close()
    this.results.close()
    for (const listener of [...this.listeners]) this.endListener(listener)
    for (const session of [...this.sessions.values()]) this.endSession(session)
    for (const stream of this.streams.keys()) stream.close?.()
  }

  /** Sessions resumed from another worker are counted there. */
  private isCounted({ owner }: Session): boolean {
    return !this.countsOwnOnly || owner === undefined
  }

  private beat(): void {
    for (const { calls } of this.sessions.values())
      if (calls.size) for (const call of calls.values()) call.beat()
  }

  /** Sends keep-alive comments, and ends idle sessions. */
  private tick(): void {
    const comment = ': keep-alive\n\n'
    for (const stream of this.streams.keys()) stream.write(comment)
    const oldest = performance.now() - this.idleTimeout
    for (const session of this.sessions.values()) {
      session.expire()
      if (session.calls.size) for (const call of session.calls.values()) call.write(comment)
      if (session.lastUsed > oldest) continue
      if (session.isUsed()) this.touch(session)
      else this.endSession(session)
    }
  }

  private touch(session: Session): void {
    const now = performance.now()
    // Sessions stay in order of last use to the second, so a busy session is rarely moved.
    if (now - session.lastUsed < 1000) return
    session.lastUsed = now
    for (const order of [this.sessions, this.shares.get(shareOf(session))]) {
      order?.delete(session.id)
      order?.set(session.id, session)
    }
  }

  private add(facts: SessionFacts, callLog: CallLog): Session {
    const session: Session = new Session(facts, callLog, () => this.endSession(session), this.answerTime)
    this.sessions.set(session.id, session)
    const share = this.shares.get(shareOf(session)) ?? new Map()
    this.shares.set(shareOf(session), share.set(session.id, session))
    return session
  }

  /** Ends the session that was idle for the longest time; sessions in use are kept. */
  private makeRoom(share: string): void {
    for (const session of this.shares.get(share)?.values() ?? []) {
      if (session.lastUsed > performance.now() - this.givesWay) return
      if (!this.isCounted(session)) continue
      if (session.isUsed()) this.touch(session)
      else {
        this.endSession(session)
        return
      }
    }
  }

  private endListener(listener: Listener): void {
    this.listeners.delete(listener)
    const _meta = { [SUBSCRIPTION_ID]: listener.request.id }
    listener.finish(stringify({ resultType: 'complete', _meta }))
  }
}

function shareOf({ prefix, quotaKey }: Pick<Session, 'prefix' | 'quotaKey'>): string {
  return `${prefix} ${quotaKey}`
}

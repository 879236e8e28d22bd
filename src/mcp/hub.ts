import { randomUUID } from 'node:crypto'
import { Quota, type QuotaLimits, type Reached } from '../access/quota.ts'
import type { LimitName } from '../access/refusals.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../config/model.ts'
import { stringify } from '../json/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { type Accounting, InFlight } from './call.ts'
import type { Fault } from './fault.ts'
import { KeptResults } from './kept-results.ts'
import { type ListKind, notificationText, type Request, SUBSCRIPTION_ID } from './protocol.ts'
import { Session, type SessionFacts } from './session.ts'
import { Approvals } from './stateless-approval.ts'

/** A `subscriptions/listen` stream of a stateless client. */
export interface Listener {
  readonly prefix: string
  readonly request: Pick<Request, 'id'>
  /** That of the hub when the request came. */
  readonly generation: number
  readonly kinds: ReadonlySet<ListKind> | undefined
  /** Sends a notification. */
  message(text: string): void
  /** Ends the stream with the result of its request. */
  finish(result: string): void
}

/** Something that must not fall silent. */
export interface Kept {
  write(comment: string): void
  close?(): void
  /** Ends what is not a call, and so would be waited for in vain. */
  drain?(): void
  /** Ends the call that it is with a fault. */
  give?(fault: Fault): void
}

export interface HubOptions
  extends Partial<Pick<ServerLimits, 'maxSessions' | 'maxSessionsPerPrefix' | 'maxSessionsPerCaller'>> {
  /** Milliseconds without a request or stream after which a session ends. Default one hour. */
  idleTimeout?: number
  /** Milliseconds without use after which a session makes room for another one of its caller. Default 60,000. */
  givesWay?: number
  /** Milliseconds between keep-alive comments. Default 15,000. */
  keepAlive?: number
  /** Milliseconds that a person has to approve a call. Default 300,000. */
  answerTime?: number
  /**
   * Makes the count of sessions, where several processes have the limits together. Those that another process opened are
   * counted there.
   * @param makeRoom ends a session of a share that nobody has used for a while
   */
  sharedQuota?: (limits: QuotaLimits, makeRoom: (prefix: string, sharer: string) => void) => Quota
}

/** Milliseconds between two looks for slow calls. */
const BEAT = 1_000

/** What outlives a reload: sessions and open streams. Closed at exit. */
export class Hub {
  private readonly idleTimeout: number
  private readonly givesWay: number
  private readonly maxSessions: number
  private readonly answerTime: number | undefined
  /** Calls that stand alone and wait for a person. */
  readonly approvals: Approvals
  /** What was cut off results. */
  readonly results = new KeptResults()
  private readonly quota: Quota
  /** Whether sessions that others opened are counted by them. */
  private readonly sharesQuota: boolean
  /** In the order of their last use. */
  private readonly sessions = new Map<string, Session>()
  /** Those of one sharer at one prefix, in the order of their last use. */
  private readonly shares = new Map<string, Map<string, Session>>()
  /** Ids of sessions that their clients ended, the newest last. */
  private readonly ended = new Set<string>()
  /** Each with whether it is counted. */
  private readonly streams = new InFlight<Kept, boolean>()
  private readonly listeners = new Set<Listener>()
  private readonly timers: readonly NodeJS.Timeout[]
  private draining = false
  /** How often subscriptions were ended because what they subscribe to was replaced. */
  generation = 0

  constructor(options: HubOptions = {}) {
    const { idleTimeout = 3_600_000, givesWay = 60_000, keepAlive = 15_000, answerTime } = options
    this.answerTime = answerTime
    this.approvals = new Approvals(answerTime)
    const { maxSessions, maxSessionsPerPrefix, maxSessionsPerCaller } = {
      ...DEFAULT_LIMITS,
      ...options,
    }
    this.idleTimeout = idleTimeout
    this.givesWay = givesWay
    this.maxSessions = maxSessions
    const limits: QuotaLimits = {
      total: ['maxSessions', maxSessions],
      prefix: ['maxSessionsPerPrefix', maxSessionsPerPrefix],
      caller: ['maxSessionsPerCaller', maxSessionsPerCaller],
    }
    const { sharedQuota } = options
    this.sharesQuota = sharedQuota !== undefined
    this.quota =
      sharedQuota?.(limits, (prefix, sharer) => this.makeRoom(shareOf({ prefix, sharer }))) ??
      new Quota(limits)
    // A timer for each call would cost each call.
    this.timers = [setInterval(() => this.tick(), keepAlive), setInterval(() => this.beat(), BEAT)]
    for (const timer of this.timers) timer.unref()
  }

  /** Opens a session, or gives the limit that is reached. */
  openSession(
    facts: Omit<SessionFacts, 'id'>,
    account: Accounting,
  ): Session | LimitName | Promise<Session | LimitName> {
    const { prefix, sharer } = facts
    const whole = { id: randomUUID(), ...facts }
    if (this.quota.exceeded(prefix, sharer)) this.makeRoom(shareOf(facts))
    const taken = (limit: Reached) => limit ?? this.add(whole, account)
    const limit = this.quota.take(prefix, sharer)
    return limit instanceof Promise ? limit.then(taken) : taken(limit)
  }

  /** Takes up a session that another replica opened; undefined when its client has ended it here, or there is no room. */
  takeUp(facts: SessionFacts, account: Accounting): Session | undefined {
    if (this.ended.has(facts.id)) return undefined
    if (this.sharesQuota) return this.add(facts, account)
    const { prefix, sharer } = facts
    if (this.quota.exceeded(prefix, sharer)) this.makeRoom(shareOf(facts))
    return this.quota.take(prefix, sharer) ? undefined : this.add(facts, account)
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
   * @param remember whether its id may not be taken up again
   */
  endSession(session: Session, forGood = false, remember = false): void {
    if (remember) this.forbid(session.id)
    if (!this.sessions.delete(session.id)) return
    const share = this.shares.get(shareOf(session))
    share?.delete(session.id)
    if (share?.size === 0) this.shares.delete(shareOf(session))
    if (this.isCounted(session)) this.quota.give(session.prefix, session.sharer)
    session.close(forGood)
  }

  /** Keeps a session that its client has ended elsewhere from being taken up here. */
  forbid(id: string): void {
    this.ended.add(id)
    if (this.ended.size > this.maxSessions) this.ended.delete(this.ended.values().next().value as string)
  }

  /**
   * Keeps a stream, or the answer to a POST, alive with comments until `drop`; streams are closed at the end.
   * @param isCounted false where another process of this gateway counts it
   */
  keep(stream: Kept, isCounted = true): void {
    this.streams.set(stream, isCounted)
  }

  drop(stream: Kept): void {
    this.streams.delete(stream)
  }

  listen(listener: Listener): void {
    this.listeners.add(listener)
    // A client that was told of the end subscribes again at once, where its connection is still there. Of one that was
    // not open yet, what it subscribes to may be gone.
    if (this.draining || listener.generation !== this.generation) this.endListener(listener)
  }

  unlisten(listener: Listener): void {
    this.listeners.delete(listener)
  }

  /** The prefixes that have clients to be told of changes. */
  heard(): ReadonlySet<string> {
    return new Set([...this.sessions.values(), ...this.listeners].map(({ prefix }) => prefix))
  }

  /** Tells every client of a prefix that a list changed. */
  listChanged(prefix: string, kind: ListKind): void {
    const method = `notifications/${kind}/list_changed`
    const plain = notificationText(method)
    for (const session of this.sessions.values()) if (session.prefix === prefix) session.announce(kind, plain)
    for (const listener of this.listeners)
      if (listener.prefix === prefix && listener.kinds?.has(kind))
        listener.message(notificationText(method, { _meta: { [SUBSCRIPTION_ID]: listener.request.id } }))
  }

  /** Ends every subscription of a prefix; its client subscribes again. */
  endListeners(prefix: string): void {
    this.generation++
    for (const listener of [...this.listeners]) if (listener.prefix === prefix) this.endListener(listener)
  }

  /** Ends every subscription of a prefix that is served no more, and each session when its calls have ended. */
  endPrefix(prefix: string): void {
    this.endListeners(prefix)
    for (const session of [...this.sessions.values()]) {
      if (session.prefix !== prefix) continue
      const { served } = session
      // Where the prefix is served again meanwhile, the session goes on there.
      const end = () => session.served === served && this.endSession(session)
      if (session.isBusy()) session.drain().finally(end).catch(unexpected('the end of a session'))
      else this.endSession(session)
    }
  }

  /** What several processes of the gateway know of, one of them counts. */
  counts(): { sessions: number; streams: number } {
    const byPrefix = [...this.sessionsByPrefix().values()]
    return {
      sessions: byPrefix.reduce((sum, count) => sum + count, 0),
      streams: this.streams.values().filter((isCounted) => isCounted).length,
    }
  }

  sessionsByPrefix(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const session of this.sessions.values())
      if (this.isCounted(session)) counts.set(session.prefix, (counts.get(session.prefix) ?? 0) + 1)
    return counts
  }

  /** Closes subscriptions, and the streams of sessions without calls; clients may open them anew. */
  endStreams(): void {
    for (const listener of [...this.listeners]) this.endListener(listener)
    for (const stream of this.streams.keys()) stream.drain?.()
    for (const session of this.sessions.values())
      if (!session.isBusy()) for (const stream of [...session.streams]) stream.close()
  }

  /**
   * Closes subscriptions at once, also later ones, and the streams of each session when its calls have ended.
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

  /** Ends every call under way with a fault. */
  cut(fault: Fault): void {
    for (const { calls, served, former } of this.sessions.values()) {
      for (const call of calls.values()) call.give(fault)
      served?.cut?.(fault)
      former?.cut?.(fault)
    }
    for (const kept of this.streams.keys()) kept.give?.(fault)
  }

  close(): void {
    for (const timer of this.timers) clearInterval(timer)
    this.approvals.close()
    this.results.close()
    for (const listener of [...this.listeners]) this.endListener(listener)
    for (const session of [...this.sessions.values()]) this.endSession(session)
    for (const stream of this.streams.keys()) stream.close?.()
  }

  /** One that a worker has taken up from another is counted there. */
  private isCounted({ owner }: Session): boolean {
    return !this.sharesQuota || owner === undefined
  }

  private beat(): void {
    for (const { calls } of this.sessions.values())
      if (calls.size) for (const call of calls.values()) call.beat()
  }

  /** Keeps connections alive, and ends sessions that nobody uses. */
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
    // To the second is order enough, and spares a busy session the move.
    if (now - session.lastUsed < 1000) return
    session.lastUsed = now
    for (const order of [this.sessions, this.shares.get(shareOf(session))]) {
      order?.delete(session.id)
      order?.set(session.id, session)
    }
  }

  private add(facts: SessionFacts, account: Accounting): Session {
    const session: Session = new Session(facts, account, () => this.endSession(session), this.answerTime)
    this.sessions.set(session.id, session)
    const share = this.shares.get(shareOf(session)) ?? new Map()
    this.shares.set(shareOf(session), share.set(session.id, session))
    return session
  }

  /** Ends the session of a share that nobody has used for the longest time; what is in use is never ended. */
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

function shareOf({ prefix, sharer }: Pick<Session, 'prefix' | 'sharer'>): string {
  return `${prefix} ${sharer}`
}

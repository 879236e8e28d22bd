import { randomUUID } from 'node:crypto'
import type { HttpResponse } from '../access/http-response.ts'
import { type MemoryReservation, memory } from '../access/memory.ts'
import { isObject, type JsonObject, stringify } from '../json/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { pause } from '../text/index.ts'
import { mayNeedApproval, OwnReply, silent } from './approval.ts'
import type { BackendSession } from './backend.ts'
import { Call, type CallLog, endSpan, InFlight, LoggedRequest } from './call.ts'
import type { RequestContext } from './context.ts'
import { discover, isDiscovered, type Listing } from './discover.ts'
import { dispatch, failing } from './dispatch.ts'
import { Fault } from './fault.ts'
import { type AnswerForm, accepted } from './http.ts'
import { sessionSource } from './list-source.ts'
import { forgetTools } from './listed-tools.ts'
import { ANSWER_TIME } from './pending-input.ts'
import { refuses } from './permit.ts'
import {
  errorText,
  INTERNAL_ERROR,
  INVALID_REQUEST,
  isStray,
  type ListKind,
  type Message,
  type Messages,
  messageOf,
  metaOf,
  notificationText,
  ownRequest,
  progressTokenOf,
  type Request,
  type RequestId,
  rememberToken,
  requestIdOf,
  type SessionRevision,
} from './protocol.ts'
import { MAX_QUESTIONS } from './questions.ts'
import { refusedBatch } from './refused.ts'
import { EventLog } from './resumption.ts'
import { isApproved } from './session-approval.ts'
import {
  BatchReply,
  type ClientStream,
  PostReply,
  type Reply,
  type Resumable,
  StreamReply,
} from './stream.ts'

/** Facts known before a backend serves the session. */
export interface SessionFacts {
  readonly id: string
  /** The prefix where it was opened; it is unknown elsewhere. */
  readonly prefix: string
  /** The caller who opened it; it is unknown to others. */
  readonly caller: string | undefined
  /** Quota key for its limits. */
  readonly quotaKey: string
  readonly revision: SessionRevision
  /** The replica that opened it, if it was resumed from its id; absent: this process. */
  readonly owner?: string
  /** Whether answers are sent on its stream: SSE (2024-11-05) and stdio. */
  readonly onStream: boolean
  /** Mark of this replica for event ids; absent: there is only one. */
  readonly mark?: string | undefined
}

/** A progress token that no message has. */
const NONE = Symbol('none')
const ENDED = new Fault('cancelled', 'The session has ended')

/**
 * A client's session-based session: running calls, streams, and messages that wait for a stream. It outlives reloads,
 * which replace its backend.
 */
export class Session implements Resumable {
  readonly id: string
  readonly prefix: string
  readonly caller: string | undefined
  readonly quotaKey: string
  readonly owner: string | undefined
  readonly onStream: boolean
  /** Negotiated by `initialize`. */
  revision: SessionRevision
  /** Time of the last request, by `performance.now()`. */
  lastUsed = performance.now()
  /** GET streams, newest last; server-initiated messages go to the newest. */
  streams: ClientStream[] = []
  /** Running calls, by request id. */
  readonly calls = new InFlight<RequestId, SessionCall>()
  /** Lists declared as changeable to the client; undefined: unknown. */
  lists: ReadonlySet<ListKind> | undefined
  /** The backend that serves it. */
  served!: BackendSession
  /** The backend before a reload, while it is still busy. */
  former: BackendSession | undefined
  /** The replacement of the backend, while in progress. */
  changing: Promise<BackendSession | Fault | undefined> | undefined
  private taskTokens: Set<unknown> | undefined
  /** Requests that the client has not answered. */
  private asked: Map<RequestId, Asked> | undefined
  /** Whether the client supports elicitation by form. */
  elicits = false
  /** The client's info and capabilities; undefined: not initialized, or known only to another replica. */
  hello: { capabilities: JsonObject; clientInfo: JsonObject } | undefined
  /** The client cannot answer any more. */
  private isSilent = false
  /** Tool listing mode; undefined: all tools. */
  listing: Listing | undefined
  /** No call may start any more. */
  isEnded = false
  private onClosed: (() => void) | undefined
  /** When it was opened, by `performance.now()`; undefined: another replica opened and counts it. */
  private since: number | undefined
  private waiting: Waiting | undefined
  private kept: EventLog | undefined
  private readonly mark: string | undefined

  /** @param end ends the session everywhere */
  constructor(
    { id, prefix, caller, quotaKey, owner, onStream, revision, mark }: SessionFacts,
    private readonly callLog: CallLog,
    readonly end: () => void,
    /** Milliseconds in which a person may answer. */
    private readonly answerTime = ANSWER_TIME,
  ) {
    this.id = id
    this.prefix = prefix
    this.caller = caller
    this.quotaKey = quotaKey
    this.owner = owner
    this.onStream = onStream
    this.revision = revision
    this.mark = mark
  }

  /** The latest events of its streams. */
  get log(): EventLog {
    this.kept ??= new EventLog(this.quotaKey, this.mark)
    return this.kept
  }

  get primes(): boolean {
    return this.revision === '2025-11-25'
  }

  /** Drops expired events. */
  expire(): void {
    this.kept?.expire()
  }

  isUsed(): boolean {
    return this.streams.length > 0 || this.isBusy()
  }

  isBusy(): boolean {
    return this.calls.size > 0 || this.served?.busy() === true || this.former?.busy() === true
  }

  /** Called when the client has received its session id. */
  opened(context: RequestContext): void {
    if (this.isEnded) return
    this.since = performance.now()
    this.onClosed = this.callLog.auditSink?.session(this.id, this.callLog, context)
  }

  /** Replaces the backend; running calls end on the previous one. */
  serveBy(served: BackendSession): void {
    const before = this.served as BackendSession | undefined
    if (before && before !== served && (before.busy() || this.hasCalls(before))) this.former = before
    this.served = served
  }

  /** Handles the messages of one POST. */
  post(
    context: RequestContext,
    messages: Messages,
    form: AnswerForm,
    callLog: CallLog,
  ): HttpResponse | Promise<HttpResponse> {
    const to = this.recipient(messages, context)
    const [only] = messages.messages
    if (to.passThrough) {
      const refused = messages.batch && refusedBatch(context, messages)
      if (refused) return refused
      const logged = (request: Request) =>
        new LoggedRequest(request, context, this.revision, callLog, this.id)
      if (!messages.batch)
        return to.passThrough.post(context, messages, only?.kind === 'request' ? logged(only) : undefined)
      const requests = messages.messages.filter((message) => message.kind === 'request')
      return to.passThrough.post(context, messages, together(requests.map(logged)))
    }
    if (!messages.batch && only && (only.kind === 'notification' || only.kind === 'response')) {
      this.notify(only, messages.text)
      return accepted(context)
    }
    const reply = new PostReply(context, form, this)
    return this.take(context, messages, reply, callLog, to) ? reply.response : accepted(context)
  }

  /** Handles messages of a transport that answers on the stream. */
  receive(context: RequestContext, messages: Messages, callLog: CallLog): void {
    const [stream] = this.streams
    if (stream)
      this.take(context, messages, new StreamReply(stream), callLog, this.recipient(messages, context))
  }

  /** Passes messages to the backend; false if no answer is due. */
  private take(
    context: RequestContext,
    { messages, batch, text }: Messages,
    given: Reply,
    callLog: CallLog,
    to: BackendSession,
  ): boolean {
    const owed = messages.filter(({ kind }) => kind !== 'notification' && kind !== 'response').length
    const reply = batch && owed > 0 ? new BatchReply(given, owed, context.lease) : given
    const steps: (() => void)[] = []
    for (const message of messages) {
      // The backend must receive exactly what was checked.
      const own = batch || isJudged(context) || this.listing ? textOf(message) : text
      if (message.kind === 'request') {
        const call = new SessionCall(context, message, own, reply, callLog, this, to)
        if (this.enter(call)) steps.push(() => this.begin(call))
      } else if (message.kind === 'invalid')
        reply.answer(errorText(message.id, { code: message.code, message: message.reason }))
      else if (message.kind === 'refused') reply.answer(errorText(message.id, message.error))
      else steps.push(() => this.notify(message, own))
    }
    if (batch) oneByOne(steps).catch(unexpected('a batch'))
    else for (const step of steps) step()
    return owed > 0
  }

  /** Registers a call as running; false: it is refused. */
  private enter(call: SessionCall): boolean {
    const { id } = call.request
    if (call.served.needsUniqueIds && this.calls.has(id)) {
      call.reject({ code: INVALID_REQUEST, message: 'A request with this id is under way' })
      return false
    }
    this.calls.set(id, call)
    return true
  }

  private begin(call: SessionCall): void {
    // It was cancelled, or the session ended, while earlier messages of the batch were handled.
    if (call.over) return
    const { listing } = this
    if (listing && isDiscovered(call, listing)) {
      const judge = (isForBackend: boolean) => isForBackend && this.judge(call)
      discover(call, listing, sessionSource(this, call)).then(judge).catch(failing(call))
    } else this.judge(call)
  }

  private judge(call: SessionCall): void {
    if (refuses(call)) return
    if (mayNeedApproval(call)) this.dispatchApproved(call).catch(failing(call))
    else this.dispatch(call)
  }

  private async dispatchApproved(call: SessionCall): Promise<void> {
    if (await isApproved(this, call)) this.dispatch(call)
  }

  private dispatch(call: SessionCall): void {
    call.start()
    dispatch(call, call.served)
  }

  /**
   * Asks the client something for a call; undefined: the call ended first. The id tells other replicas where to forward
   * the answer.
   */
  ask(
    call: SessionCall,
    method: string,
    params: JsonObject,
  ): Promise<JsonObject | 'timeout' | 'busy' | undefined> {
    this.asked ??= new Map()
    if (this.isSilent) return Promise.resolve(undefined)
    if (this.asked.size >= MAX_QUESTIONS) return Promise.resolve('busy')
    const { asked } = this
    const name = `plantgw-${randomUUID()}`
    const id = call.context.replicas?.seal(name) ?? name
    return new Promise((resolve) => {
      const settle = (answer: JsonObject | 'timeout' | undefined) => {
        clearTimeout(timer)
        asked.delete(id)
        resolve(answer)
        if (isObject(answer) || this.isEnded) return
        const reason = answer === 'timeout' ? 'No answer in time' : 'The call is over'
        const text = notificationText('notifications/cancelled', { requestId: id, reason })
        if (call.canStream()) call.message(text)
        else this.streams.at(-1)?.send(text)
      }
      const timer = setTimeout(settle, this.answerTime, 'timeout')
      asked.set(id, { from: call.served, call, settle })
      const text = stringify({ jsonrpc: '2.0', id, method, params })
      if (call.canStream()) call.message(text)
      else this.send(text, false)
    })
  }

  /** The client cannot answer any more: ends current questions, and later ones at once. */
  silence(): void {
    this.isSilent = true
    for (const [id, { from, settle }] of [...(this.asked ?? [])]) {
      this.asked?.delete(id)
      if (settle) settle(undefined)
      else from.notify(...unanswered(id, NO_CLIENT))
    }
  }

  /** Whether this replica sent the client a request with this id. */
  hasAsked(id: RequestId): boolean {
    return this.asked?.has(id) === true
  }

  /** The response to one of the gateway's own requests, as the client would see it. */
  inquire(call: SessionCall, method: string, params: JsonObject): Promise<JsonObject | Fault> {
    const request = ownRequest(method, params)
    const { id, raw } = request
    const reply = new OwnReply()
    const callLog = silent(this.callLog)
    const own = new SessionCall(call.context, request, stringify(raw), reply, callLog, this, call.served)
    this.calls.set(id, own)
    this.dispatch(own)
    return reply.response
  }

  /** The backend for a POST: cancellations and responses may belong to the one before a reload. */
  private recipient({ messages }: Messages, context: RequestContext): BackendSession {
    const { former, served } = this
    if (!former) return served
    if (!former.busy() && !this.hasCalls(former)) {
      this.former = undefined
      return served
    }
    // Pass-through checks no single requests, so a batch with one goes to the current backend.
    if (isJudged(context) && messages.some(({ kind }) => kind === 'request')) return served
    const isFormers = (message: Message) => message.kind !== 'request' && this.addressee(message) === former
    return messages.some(isFormers) ? former : served
  }

  /** The backend that a notification or response belongs to. */
  private addressee(message: Message): BackendSession {
    const { former, served } = this
    let found: BackendSession | undefined
    if (message.kind === 'response' && message.id !== null) found = this.asked?.get(message.id)?.from
    else if (message.kind === 'notification') {
      if (message.method === 'notifications/cancelled') found = this.calls.get(requestIdOf(message))?.served
      else if (
        former &&
        message.params.progressToken !== undefined &&
        message.method === 'notifications/progress'
      )
        found = this.hasQuestions(former) ? former : undefined
    }
    if (found) return found
    // The calls of a pass-through backend are not tracked, so assume that the message belongs to it.
    return former?.passThrough && former.busy() ? former : served
  }

  /** Handles a notification or response of the client. */
  private notify(message: Message, text: string): void {
    const to = this.addressee(message)
    if (message.kind === 'response' && message.id !== null) {
      const question = this.asked?.get(message.id)
      this.asked?.delete(message.id)
      if (question?.settle) {
        question.settle(message.raw)
        return
      }
    }
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') {
      const call = this.calls.get(requestIdOf(message))
      call?.cancel()
      // The server never received the call.
      if (call && !call.isStarted) return
    }
    to.notify(message, text)
  }

  private hasQuestions(of: BackendSession): boolean {
    for (const { from } of this.asked?.values() ?? []) if (from === of) return true
    return false
  }

  /** Whether calls of a backend session are running. */
  hasCalls(of: BackendSession): boolean {
    return this.calls.values().some(({ served }) => served === of)
  }

  /** Handles a request or notification of a server. */
  deliver(message: Message, text: string, from: BackendSession): void {
    if (message.kind === 'notification' && message.method === 'notifications/tools/list_changed')
      forgetTools(from, this.id)
    if (isStray(message, this.tokensOf(from))) {
      const { tenant, prefix, log } = this.callLog
      log.debug({ tenant, prefix }, 'dropped progress that names no call under way')
      return
    }
    const call = this.callOf(message, from)
    if (message.kind === 'request') {
      this.asked ??= new Map()
      if (this.isSilent || this.asked.size >= MAX_QUESTIONS) {
        from.notify(...unanswered(message.id, this.isSilent ? NO_CLIENT : TOO_MANY))
        return
      }
      this.asked.set(message.id, { from, call })
    } else if (message.kind === 'notification' && message.method === 'notifications/cancelled')
      this.asked?.delete(requestIdOf(message))
    call?.refresh()
    // Progress after the answer is useless, so it is kept with the answer for the resumed stream.
    const isProgress = message.kind === 'notification' && message.method === 'notifications/progress'
    const isKept = isProgress && !this.streams.length && call?.canResume() === true
    if (call && (isKept || call.canStream())) call.message(text)
    else this.send(text, message.kind === 'notification' && message.method.endsWith('/list_changed'))
  }

  /**
   * Sends a server-initiated message on the newest stream, else on any open response, else queues it.
   * @param once whether one queued message suffices for all equal ones
   */
  private send(text: string, once: boolean): void {
    const stream = this.streams.at(-1)
    const other = stream ? undefined : this.calls.values().findLast((call) => call.canStream())
    if (stream) stream.send(text)
    else if (other) other.message(text)
    else this.wait(text, once && (this.waiting?.size ?? 0) >= FEW_WAITING)
  }

  /** Notifies the client that a list changed, or queues one notification until it opens a stream. */
  announce(list: ListKind, text: string): void {
    if (this.lists && !this.lists.has(list)) return
    const stream = this.streams.at(-1)
    if (stream) stream.send(text)
    else this.wait(text, true)
  }

  private wait(text: string, once: boolean): void {
    if (this.isEnded || (once && this.waiting?.includes(text))) return
    this.waiting ??= new Waiting(this.quotaKey, () => this.onDropped())
    this.waiting.push(text)
  }

  private onDropped(): void {
    const { tenant, prefix, log } = this.callLog
    log.warn({ tenant, prefix }, 'messages for a client without an open stream were lost (maxQueued)')
  }

  /** Makes a stream the target of server-initiated messages. */
  open(stream: ClientStream): void {
    // A client may reconnect before its disconnection is noticed.
    this.streams = [...this.streams.filter((other) => other !== stream), stream]
    this.catchUp(stream)
  }

  /** Sends the queued messages. */
  catchUp(stream: ClientStream): void {
    for (const text of this.waiting?.take() ?? []) stream.send(text)
  }

  /**
   * Tokens of expected progress: of running calls, and of tasks, which continue after the answer (2025-11-25, Tasks).
   */
  private tokensOf(from: BackendSession): unknown[] {
    const calls = this.calls.values().filter(({ served, isStarted }) => served === from && isStarted)
    return [...calls.map(({ token }) => token), ...(this.taskTokens ?? [])]
  }

  /** The call that a server's message belongs to. */
  private callOf(message: Message, from: BackendSession): SessionCall | undefined {
    const calls = this.calls.values().filter(({ served, isStarted }) => served === from && isStarted)
    if (message.kind === 'notification') {
      if (message.method === 'notifications/progress') {
        const progressToken = progressTokenOf(message.params)
        const found = calls.find(({ token }) => token === progressToken)
        if (found) return found
      }
      const question = this.asked?.get(requestIdOf(message))
      if (message.method === 'notifications/cancelled' && question) return question.call
    }
    return calls.length === 1 ? calls[0] : undefined
  }

  /** Whether a reachable client was asked something for a call: the server's silence is then no timeout. */
  isAsked(call: SessionCall): boolean {
    return (
      this.isReachable(call) && [...(this.asked?.values() ?? [])].some((question) => question.call === call)
    )
  }

  /** Whether a message for a call reaches the client at once. */
  isReachable(call: SessionCall): boolean {
    return call.canStream() || this.streams.length > 0
  }

  /** Called when a call has ended. */
  settled(call: SessionCall): void {
    if (this.calls.get(call.request.id) === call) this.calls.delete(call.request.id)
    if (call.token !== NONE && isObject(call.request.params.task)) {
      this.taskTokens ??= new Set()
      rememberToken(this.taskTokens, call.token)
    }
    if (this.asked?.size)
      for (const [id, question] of this.asked)
        if (question.call === call) {
          this.asked.delete(id)
          question.settle?.(undefined)
        }
    call.served.onSettled?.()
  }

  /** Fails calls of a backend session: these, or all. */
  fail(from: BackendSession, fault: Fault, ids?: Iterable<RequestId>): void {
    for (const id of ids ?? this.calls.keys()) {
      const call = this.calls.get(id)
      if (call?.served === from) call.fail(fault)
    }
  }

  /** Fails the calls of a server that lost its state, these or all, and drops its questions. */
  lose(from: BackendSession, fault: Fault, ids?: Iterable<RequestId>): void {
    for (const [id, { from: who, settle }] of this.asked ?? [])
      if (who === from && !settle) this.asked?.delete(id)
    this.fail(from, fault, ids)
  }

  /** Resolves when no call is running, or the backend has ended its calls. */
  async drain(limit?: number): Promise<void> {
    const { served, former } = this
    const calls = served.drain ? [] : this.calls.values().map((call) => call.ended())
    await Promise.all([...calls, served.drain?.(limit), former?.drain?.(limit)])
  }

  /** Ends calls, streams and backend sessions. @param forGood whether the client ended the session */
  close(forGood: boolean): void {
    this.isEnded = true
    for (const call of this.calls.values()) call.abortWith(ENDED)
    for (const stream of [...this.streams]) stream.close()
    this.waiting?.take()
    this.kept?.close()
    this.former?.close(forGood)
    this.served?.close(forGood)
    this.onClosed?.()
    if (this.since === undefined) return
    const { tenant, prefix, onSession } = this.callLog
    onSession?.({ tenant, prefix, revision: this.revision, ms: performance.now() - this.since })
    this.since = undefined
  }
}

/** A request that the client has not answered. */
interface Asked {
  from: BackendSession
  call: SessionCall | undefined
  /** Receives the response to one of the gateway's own questions; undefined: there will be no response. */
  settle?(response: JsonObject | undefined): void
}

/** Whether single requests are checked, so that exactly the checked messages must be sent. */
function isJudged({ permissions, approval }: RequestContext): boolean {
  return permissions !== undefined || approval !== undefined
}

/** Handles the messages of a batch in order, yielding to other work in between. */
async function oneByOne(steps: readonly (() => void)[]): Promise<void> {
  for (const [i, step] of steps.entries()) {
    if (i > 0) await pause()
    step()
  }
}

/** Records the same result for all requests of a relayed batch, as their single results are unknown. */
function together(calls: readonly LoggedRequest[]): Pick<LoggedRequest, 'record'> {
  return {
    record(end) {
      for (const call of calls) call.record(end)
    },
  }
}

/** A request of a session. It continues when its client disconnects. */
export class SessionCall extends Call {
  readonly token: unknown
  private readonly release: () => void
  private timer: NodeJS.Timeout | undefined
  private isSlow = false
  /** Whether it was passed to the server. */
  isStarted = false
  private onEnded: (() => void) | undefined

  constructor(
    context: RequestContext,
    request: Request,
    text: string,
    reply: Reply,
    callLog: CallLog,
    private readonly session: Session,
    readonly served: BackendSession,
  ) {
    super(context, request, text, session.revision, reply, callLog, session.id)
    this.token = progressTokenOf(metaOf(request.params)) ?? NONE
    this.release = context.lease.extend()
  }

  /** Starts the timeout. */
  start(): void {
    const { timeout } = this.served
    this.isStarted = true
    if (timeout !== undefined) this.timer = setTimeout(() => this.expire(), timeout)
  }

  canStream(): boolean {
    return !this.over && this.reply.canStream()
  }

  /** Whether a message before the answer is kept for a reconnecting client. */
  canResume(): boolean {
    return !this.over && this.reply.canResume()
  }

  /** Called every second by the registry: from the second time on, the client gets an event id to resume with. */
  beat(): void {
    if (this.isSlow) this.reply.prime()
    this.isSlow = true
  }

  /** Sends a keep-alive comment. */
  write(comment: string): void {
    this.reply.write(comment)
  }

  /** Restarts the timeout after a sign of life. */
  refresh(): void {
    this.timer?.refresh()
  }

  /** Resolves when the call has ended in any way. */
  ended(): Promise<void> {
    return new Promise((resolve) => {
      const before = this.onEnded
      this.onEnded = () => {
        before?.()
        resolve()
      }
    })
  }

  /** Refuses a request that was not registered as running. */
  reject(error: { code: number; message: string }): void {
    this.over = true
    this.release()
    this.reply.answer(errorText(this.request.id, error))
    const { span } = this.request
    if (span) endSpan(span, { outcome: 'refused', code: error.code })
  }

  private expire(): void {
    if (this.session.isAsked(this)) {
      this.timer?.refresh()
      return
    }
    const { id } = this.request
    const params = { requestId: id, reason: 'timed out' }
    const method = 'notifications/cancelled'
    const raw = messageOf(method, params)
    const cancelled: Message = { kind: 'notification', method, params, raw }
    const seconds = (this.served.timeout ?? 0) / 1000
    this.served.notify(cancelled, stringify(raw))
    this.abortWith(new Fault('timeout', `No response from the server for ${seconds} s; the call timed out`))
  }

  protected override end(): void {
    super.end()
    clearTimeout(this.timer)
    this.release()
    this.session.settled(this)
    this.onEnded?.()
  }
}

/** The JSON text of a message of a batch. */
export function textOf(message: Message): string {
  return stringify('raw' in message ? message.raw : null)
}

const TOO_MANY = 'Too many requests wait for the client'
const NO_CLIENT = 'The client has gone'

/** The answer to a server whose question did not reach the client. */
function unanswered(id: RequestId, why: string): [message: Message, text: string] {
  const error = { code: INTERNAL_ERROR, message: why }
  return [{ kind: 'response', id, raw: { jsonrpc: '2.0', id, error } }, errorText(id, error)]
}

/** Maximum queued messages; beyond, or without memory, the oldest are dropped. */
const MAX_WAITING = 256

/** From this queue length on, equal list notifications are queued only once. */
const FEW_WAITING = 16

/** Messages queued until their client opens a stream. */
export class Waiting {
  private readonly reservation: MemoryReservation
  private texts: string[] = []
  private dropped = false

  /**
   * @param quotaKey charged for the memory
   * @param onDropped called once, when the first message is dropped
   */
  constructor(
    quotaKey: string,
    private readonly onDropped: () => void,
  ) {
    this.reservation = memory.queue(quotaKey)
  }

  get size(): number {
    return this.texts.length
  }

  push(text: string): void {
    while (this.texts.length >= MAX_WAITING) this.drop()
    while (!this.reservation.add(text.length)) {
      if (!this.texts.length) {
        this.drop()
        return
      }
      this.drop()
    }
    this.texts.push(text)
  }

  includes(text: string): boolean {
    return this.texts.includes(text)
  }

  /** Removes and returns all messages, oldest first. */
  take(): string[] {
    const taken = this.texts
    this.texts = []
    this.reservation.free()
    return taken
  }

  private drop(): void {
    this.reservation.free(this.texts.shift()?.length)
    if (!this.dropped) this.onDropped()
    this.dropped = true
  }
}

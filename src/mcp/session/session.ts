import type { HttpResponse } from '../../access/http-response.ts'
import { isObject, type JsonObject } from '../../json/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { pause } from '../../text/index.ts'
import type { BackendSession, ClientSession } from '../backend.ts'
import type { Pipeline } from '../call.ts'
import type { CallLog } from '../call-log.ts'
import { declares } from '../client-capabilities.ts'
import type { RequestContext } from '../context.ts'
import { Fault } from '../fault.ts'
import { type AnswerForm, accepted } from '../http.ts'
import { InFlight } from '../in-flight.ts'
import type { Listing } from '../listing.ts'
import { forgetTools } from '../middleware/listed-tools.ts'
import { VISITS } from '../middleware/logins.ts'
import { handle } from '../pipeline.ts'
import {
  asChecked,
  errorText,
  has,
  INVALID_REQUEST,
  isStray,
  type ListKind,
  type Message,
  type Messages,
  progressTokenOf,
  type RequestId,
  rememberToken,
  requestIdOf,
  type SessionRevision,
  textOf,
} from '../protocol.ts'
import { ANSWER_TIME } from './pending-input.ts'
import { type OwnAnswer, Questions } from './questions.ts'
import { EventLog } from './resumption.ts'
import { type CallSession, NO_TOKEN, SessionCall } from './session-call.ts'
import {
  BatchReply,
  type ClientStream,
  PostReply,
  type Reply,
  type Resumable,
  StreamReply,
} from './stream.ts'
import { Waiting } from './waiting.ts'

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

const ENDED = new Fault('cancelled', 'The session has ended')

/** From this queue length on, equal list notifications are queued only once. */
const FEW_WAITING = 16

/** How the requests of a session are logged and handled now. */
export interface SessionRoute {
  readonly callLog: CallLog
  readonly pipeline: Pipeline
}

/**
 * A client's session-based session: running calls, streams, and messages that wait for a stream. It outlives reloads,
 * which replace its backend.
 */
export class Session implements Resumable, ClientSession, CallSession {
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
  changeableLists: ReadonlySet<ListKind> | undefined
  /** The backend that serves it. */
  backendSession!: BackendSession
  /** The backend before a reload, while it is still busy. */
  previous: BackendSession | undefined
  /** The replacement of the backend, while in progress. */
  changing: Promise<BackendSession | Fault | undefined> | undefined
  private taskTokens: Set<unknown> | undefined
  private readonly questions: Questions
  /** Whether the client supports elicitation by form. */
  elicits = false
  /** Whether the client sends its user to pages. */
  get visits(): boolean {
    return this.clientParams !== undefined && declares(this.clientParams.capabilities, VISITS)
  }
  /** The client's info and capabilities; undefined: not initialized, or known only to another replica. */
  clientParams: { capabilities: JsonObject; clientInfo: JsonObject } | undefined
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
    answerTime = ANSWER_TIME,
  ) {
    this.questions = new Questions(answerTime, (call, text, isQueued) =>
      this.tell(call as SessionCall, text, isQueued),
    )
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

  get takesEmptyEvents(): boolean {
    return has('emptyEvents', this.revision)
  }

  /** Drops expired events. */
  expire(): void {
    this.kept?.expire()
  }

  isUsed(): boolean {
    return this.streams.length > 0 || this.isBusy()
  }

  isBusy(): boolean {
    return this.calls.size > 0 || this.backendSession?.busy() === true || this.previous?.busy() === true
  }

  /** Called when the client has received its session id. */
  opened(context: RequestContext): void {
    if (this.isEnded) return
    this.since = performance.now()
    this.onClosed = this.callLog.auditSink?.session(this.id, this.callLog, context)
  }

  /** Replaces the backend; running calls end on the previous one. */
  serveBy(served: BackendSession): void {
    const before = this.backendSession as BackendSession | undefined
    if (before && before !== served && (before.busy() || this.hasCalls(before))) this.previous = before
    this.backendSession = served
  }

  /** Handles the messages of one POST. */
  async post(
    context: RequestContext,
    messages: Messages,
    form: AnswerForm,
    endpoint: SessionRoute,
  ): Promise<HttpResponse> {
    const to = this.recipient(messages)
    const [only] = messages.messages
    if (!messages.batch && only && (only.kind === 'notification' || only.kind === 'response')) {
      this.notify(only)
      return accepted()
    }
    const reply = new PostReply(context, form, this)
    return this.take(context, messages, reply, endpoint, to) ? reply.response : accepted()
  }

  /** Handles messages of a transport that answers on the stream. */
  receive(context: RequestContext, messages: Messages, endpoint: SessionRoute): void {
    const [stream] = this.streams
    if (stream) this.take(context, messages, new StreamReply(stream), endpoint, this.recipient(messages))
  }

  /** Handles messages; false if no answer is due. */
  private take(
    context: RequestContext,
    { messages, batch }: Messages,
    given: Reply,
    { callLog, pipeline }: SessionRoute,
    to: BackendSession,
  ): boolean {
    const owed = messages.filter(({ kind }) => kind !== 'notification' && kind !== 'response').length
    const reply = batch && owed > 0 ? new BatchReply(given, owed, context.lease) : given
    const steps: (() => void)[] = []
    const isChecked = isJudged(context) || this.listing !== undefined
    for (const message of isChecked ? messages.map(asChecked) : messages) {
      if (message.kind === 'request') {
        if (to.needsUniqueIds && this.calls.has(message.id)) {
          const error = { code: INVALID_REQUEST, message: 'A request with this id is under way' }
          context.unserved?.refuses(message, error.code)
          reply.answer(errorText(message.id, error))
          continue
        }
        const parts = { context, request: message, callLog, pipeline }
        const call = new SessionCall(parts, reply, this, to)
        this.calls.set(message.id, call)
        steps.push(() => this.begin(call))
      } else if (message.kind === 'invalid')
        reply.answer(errorText(message.id, { code: message.code, message: message.reason }))
      else if (message.kind === 'refused') reply.answer(errorText(message.id, message.error))
      else steps.push(() => this.notify(message))
    }
    if (batch) oneByOne(steps).catch(unexpected('a batch'))
    else for (const step of steps) step()
    return owed > 0
  }

  private begin(call: SessionCall): void {
    call.done = this.answer(call).catch(unexpected(call.request.method))
  }

  private async answer(call: SessionCall): Promise<void> {
    const { text, status, headers } = await handle(call)
    call.close()
    this.settled(call)
    if (text === undefined) call.reply.end()
    else call.reply.answer(text, status, headers)
  }

  /** Asks the client something for a call; undefined: the call ended first. */
  ask(call: SessionCall, method: string, params: JsonObject): Promise<OwnAnswer> {
    return this.questions.ask(call, call.backendSession, method, params)
  }

  /** The client cannot answer any more: ends current questions, and later ones at once. */
  silence(): void {
    this.questions.silence()
  }

  /** Whether this replica sent the client a request with this id. */
  hasAsked(id: RequestId): boolean {
    return this.questions.get(id) !== undefined
  }

  /** Sends a message about a call. @param isQueued whether it waits until the client can be reached */
  private tell(call: SessionCall, text: string, isQueued: boolean): void {
    if (this.isEnded) return
    if (call.canStream()) call.message(text)
    else if (isQueued) this.send(text, false)
    else this.streams.at(-1)?.send(text)
  }

  /** The backend for a POST: cancellations and responses may belong to the one before a reload. */
  private recipient({ messages }: Messages): BackendSession {
    const { previous, backendSession } = this
    if (!previous) return backendSession
    if (!previous.busy() && !this.hasCalls(previous)) {
      this.previous = undefined
      return backendSession
    }
    const isOfPrevious = (message: Message) =>
      message.kind !== 'request' && this.addressee(message) === previous
    return messages.some(isOfPrevious) ? previous : backendSession
  }

  /** The backend that a notification or response belongs to. */
  private addressee(message: Message): BackendSession {
    const { previous, backendSession } = this
    let found: BackendSession | undefined
    if (message.kind === 'response' && message.id !== null) found = this.questions.get(message.id)?.from
    else if (message.kind === 'notification') {
      if (message.method === 'notifications/cancelled')
        found = this.calls.get(requestIdOf(message))?.backendSession
      else if (
        previous &&
        message.params.progressToken !== undefined &&
        message.method === 'notifications/progress'
      )
        found = this.questions.some(({ from }) => from === previous) ? previous : undefined
    }
    return found ?? backendSession
  }

  /** Handles a notification or response of the client. */
  private notify(message: Message): void {
    const to = this.addressee(message)
    if (message.kind === 'response' && message.id !== null) {
      const question = this.questions.take(message.id)
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
    to.notify(message)
  }

  /** Whether calls of a backend session are running. */
  hasCalls(of: BackendSession): boolean {
    return this.calls.values().some(({ backendSession }) => backendSession === of)
  }

  /** Handles a request or notification of a server. */
  deliver(message: Message, from: BackendSession): void {
    if (message.kind === 'notification' && message.method === 'notifications/tools/list_changed')
      forgetTools(from, this.id)
    if (isStray(message, this.tokensOf(from))) {
      const { tenant, prefix, log } = this.callLog
      log.debug({ tenant, prefix }, 'dropped progress that names no call under way')
      return
    }
    const call = this.callOf(message, from)
    if (message.kind === 'request') {
      if (!this.questions.add(message.id, { from, call })) return
    } else if (message.kind === 'notification' && message.method === 'notifications/cancelled')
      this.questions.take(requestIdOf(message) as RequestId)
    call?.refresh()
    const text = textOf(message)
    // Without a stream, progress is kept beside the answer, so that a client that resumes gets it first.
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

  message(text: string): void {
    if (!this.isEnded) this.send(text, true)
  }

  /** Notifies the client that a list changed, or queues one notification until it opens a stream. */
  announce(list: ListKind, text: string): void {
    if (this.changeableLists && !this.changeableLists.has(list)) return
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
    const calls = this.callsOf(from)
    return [...calls.map(({ token }) => token), ...(this.taskTokens ?? [])]
  }

  /** Calls that wait for a server's answer. */
  private callsOf(from: BackendSession): SessionCall[] {
    return this.calls
      .values()
      .filter((call) => call.backendSession === from && call.isStarted && !call.isOver)
  }

  /** The call that a server's message belongs to. */
  private callOf(message: Message, from: BackendSession): SessionCall | undefined {
    const calls = this.callsOf(from)
    if (message.kind === 'notification') {
      if (message.method === 'notifications/progress') {
        const progressToken = progressTokenOf(message.params)
        const found = calls.find(({ token }) => token === progressToken)
        if (found) return found
      }
      const question = this.questions.get(requestIdOf(message) as RequestId)
      if (message.method === 'notifications/cancelled' && question) return question.call as SessionCall
    }
    return calls.length === 1 ? calls[0] : undefined
  }

  /** Whether a reachable client still owes an answer about a call, whose timeout then starts again. */
  isAsked(call: SessionCall): boolean {
    return this.isReachable(call) && this.questions.some((question) => question.call === call)
  }

  /** Whether a message for a call reaches the client at once. */
  isReachable(call: SessionCall): boolean {
    return call.canStream() || this.streams.length > 0
  }

  private settled(call: SessionCall): void {
    if (this.calls.get(call.request.id) === call) this.calls.delete(call.request.id)
    if (call.token !== NO_TOKEN && isObject(call.request.params.task)) {
      this.taskTokens ??= new Set()
      rememberToken(this.taskTokens, call.token)
    }
    this.questions.drop(call)
    call.backendSession.onSettled?.()
  }

  /** Drops the questions of a server that lost its state. */
  forgetQuestions(from: BackendSession): void {
    this.questions.forget(from)
  }

  /** Resolves when no call is running, or the backend has ended its calls. */
  async drain(limit?: number): Promise<void> {
    const { backendSession, previous } = this
    const calls = backendSession.drain ? [] : this.calls.values().map((call) => call.done)
    await Promise.all([...calls, backendSession.drain?.(limit), previous?.drain?.(limit)])
  }

  /** Ends calls, streams and backend sessions. @param forGood whether the client ended the session */
  close(forGood: boolean): void {
    this.isEnded = true
    for (const call of this.calls.values()) call.abortWith(ENDED)
    for (const stream of [...this.streams]) stream.close()
    this.waiting?.take()
    this.kept?.close()
    this.previous?.close(forGood)
    this.backendSession?.close(forGood)
    this.onClosed?.()
    if (this.since === undefined) return
    const { tenant, prefix, onSession } = this.callLog
    onSession?.({ tenant, prefix, revision: this.revision, ms: performance.now() - this.since })
    this.since = undefined
  }
}

/** Whether single requests are checked, so that exactly the checked messages must be sent. */
function isJudged({ permissions, route }: RequestContext): boolean {
  return permissions !== undefined || route.approval !== undefined
}

/** Handles the messages of a batch in order, yielding to other work in between. */
async function oneByOne(steps: readonly (() => void)[]): Promise<void> {
  for (const [i, step] of steps.entries()) {
    if (i > 0) await pause()
    step()
  }
}

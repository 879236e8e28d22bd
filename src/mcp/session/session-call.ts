import type { JsonObject } from '../../json/index.ts'
import { inOneGo } from '../../telemetry/loop-delay.ts'
import type { Answer } from '../answer.ts'
import type { BackendSession } from '../backend.ts'
import { Call, type CallParts, type ElicitationOutcome, type Viewer } from '../call.ts'
import { Fault } from '../fault.ts'
import type { Listing } from '../listing.ts'
import { ELICIT, outcomeOfAnswer } from '../middleware/approval.ts'
import { visitRequired } from '../middleware/logins.ts'
import { OwnCall } from '../own-call.ts'
import {
  has,
  metaOf,
  ownNotification,
  ownRequest,
  progressTokenOf,
  type SessionRevision,
} from '../protocol.ts'
import { MAX_QUESTIONS, type OwnAnswer } from './questions.ts'
import type { Reply } from './stream.ts'

/** A progress token that no message has. */
export const NO_TOKEN = Symbol('none')

/** A session, as its calls see it. */
export interface CallSession {
  readonly id: string
  readonly revision: SessionRevision
  readonly listing: Listing | undefined
  readonly elicits: boolean
  /** Whether the client sends its user to pages (elicitation in URL mode). */
  readonly visits: boolean
  /** Whether a message for a call reaches the client at once. */
  isReachable(call: SessionCall): boolean
  /** Whether a reachable client still owes an answer about a call, whose timeout then starts again. */
  isAsked(call: SessionCall): boolean
  ask(call: SessionCall, method: string, params: JsonObject): Promise<OwnAnswer>
  /** Sends the client a message of the gateway, or keeps it until the client opens a stream. */
  message(text: string): void
}

/** A request of a session. It continues when its client disconnects. */
export class SessionCall extends Call {
  readonly token: unknown
  /** Whether it was passed to the server. */
  isStarted = false
  /** Resolves when it was answered or has ended without an answer. */
  done: Promise<void> = Promise.resolve()
  private readonly release: () => void
  private timer: NodeJS.Timeout | undefined
  private isSlow = false

  constructor(
    parts: Omit<CallParts, 'revision' | 'sessionId'>,
    readonly reply: Reply,
    private readonly session: CallSession,
    readonly backendSession: BackendSession,
  ) {
    super({ ...parts, revision: session.revision, sessionId: session.id })
    this.token = progressTokenOf(metaOf(parts.request.params)) ?? NO_TOKEN
    this.release = parts.context.lease.extend()
  }

  get listing(): Listing | undefined {
    return this.context.route.discovery && this.session.listing
  }

  get viewer(): Viewer {
    return {
      of: this.backendSession,
      among: this.backendSession.backend,
      key: this.session.id,
      kind: 'session',
    }
  }

  serve(): Promise<Answer> {
    const { timeout } = this.backendSession
    this.isStarted = true
    // After a login it is served again.
    clearTimeout(this.timer)
    // A person's answer before it does not count.
    if (timeout !== undefined) this.timer = setTimeout(() => this.expire(timeout), timeout)
    return inOneGo(this.request.method, this.callLog.prefix, () => this.backendSession.request(this))
  }

  /** Whether a message before the answer reaches the client. */
  canStream(): boolean {
    return !this.isOver && this.reply.canStream()
  }

  /** Whether a message before the answer is kept for a reconnecting client. */
  canResume(): boolean {
    return !this.isOver && this.reply.canResume()
  }

  message(text: string): void {
    if (!this.isOver) this.reply.message(text)
  }

  override messageLater(text: string): void {
    this.session.message(text)
  }

  /** Called every second by the registry: from the second time on, the client gets an event id to resume with. */
  beat(): void {
    if (this.isSlow) this.reply.sendEventId()
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

  async ask(params: JsonObject): Promise<ElicitationOutcome> {
    const { session } = this
    // Earlier revisions have no elicitation, whatever the client declares.
    if (!session.elicits || !has('elicitation', session.revision)) return { outcome: 'unavailable' }
    return session.isReachable(this)
      ? this.elicit(params)
      : unavailable('the client accepts no text/event-stream, on which it could be asked')
  }

  override async visit(params: JsonObject): Promise<ElicitationOutcome | Answer> {
    const { session } = this
    if (!has('urlElicitation', session.revision)) return { outcome: 'unavailable' }
    return session.visits && session.isReachable(this) ? this.elicit(params) : visitRequired(this, params)
  }

  private async elicit(params: JsonObject): Promise<ElicitationOutcome> {
    const answer = await this.session.ask(this, ELICIT, params)
    if (answer === 'busy')
      return unavailable(`${MAX_QUESTIONS} questions wait for the client already: answer those first`)
    if (answer === 'timeout') return { outcome: 'timeout' }
    if (answer && 'error' in answer)
      return unavailable('the client answered the question with an error: use one that can ask')
    return { outcome: outcomeOfAnswer(answer?.result) }
  }

  inquire(method: string, params: JsonObject): Promise<JsonObject | Fault> {
    const request = ownRequest(method, params)
    return new OwnCall(this, request, this.backendSession).response()
  }

  /** Releases what it holds, before it is answered. */
  close(): void {
    this.isOver = true
    clearTimeout(this.timer)
    this.release()
  }

  private expire(timeout: number): void {
    if (this.session.isAsked(this)) {
      this.timer?.refresh()
      return
    }
    const params = { requestId: this.request.id, reason: 'timed out' }
    const method = 'notifications/cancelled'
    this.backendSession.notify(ownNotification(method, params))
    const seconds = timeout / 1000
    this.abortWith(new Fault('timeout', `No response from the server for ${seconds} s; the call timed out`))
  }
}

function unavailable(why: string): ElicitationOutcome {
  return { outcome: 'unavailable', why }
}

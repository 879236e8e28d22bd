import type { JsonObject } from '../json/index.ts'
import { Cancellation } from '../net/index.ts'
import { type Answer, CANCELLED, faultAnswer } from './answer.ts'
import { type ApprovalOutcome, type CallLog, LoggedRequest } from './call-log.ts'
import type { RequestContext } from './context.ts'
import type { Fault } from './fault.ts'
import type { Listing } from './listing.ts'
import type { ParamHeader } from './middleware/mirror.ts'
import type { ListKind, Request, Revision } from './protocol.ts'

/** Handles a call, or passes it on with `next`, and may change the answer. */
export type Middleware = (call: Call, next: () => Promise<Answer>) => Promise<Answer>

/** The middleware of a route. */
export interface Pipeline {
  /** For requests of clients. */
  readonly clientRequests: Middleware
  /** For the gateway's own requests on behalf of a client: limits the answer to what the caller may see. */
  readonly ownRequests: Middleware
}

export interface CallParts {
  readonly context: RequestContext
  readonly request: Request
  readonly revision: Revision
  readonly callLog: CallLog
  readonly pipeline: Pipeline
  /** Id of the session that the request belongs to. */
  readonly sessionId?: string | undefined
}

/** A person's answer to a question, or why there is none. */
export type ElicitationOutcome = { outcome: ApprovalOutcome; why?: string }

/** Identifies, for the cache, the lists that a call may read. */
export interface Viewer {
  /** Object that provides the lists; what is cached of them is freed with it. */
  readonly of: object
  /** Scope in which equal lists are shared. */
  readonly among: object & { readonly listsAlike?: boolean }
  /** Key of viewers that may see different lists. */
  readonly key: string
  readonly kind: 'session' | 'stateless'
}

/** One request of one client, of any transport and revision. Middleware and backends see no more of it. */
export abstract class Call extends LoggedRequest {
  readonly pipeline: Pipeline
  /** Aborted when the answer is no longer needed. */
  readonly signal = new Cancellation()
  /**
   * Set as soon as the server's answer is known, or the call has ended: later messages of the server belong to other
   * calls.
   */
  isOver = false
  /** Resolves with the answer that ends the call early: it was cancelled, timed out, or lost its session. */
  readonly interrupted: Promise<Answer>
  private interrupt!: (answer: Answer) => void

  constructor({ context, request, revision, callLog, pipeline, sessionId }: CallParts) {
    super(request, context, revision, callLog, sessionId)
    this.pipeline = pipeline
    this.interrupted = new Promise((resolve) => {
      this.interrupt = resolve
    })
  }

  /** Passes it to its server. */
  abstract serve(): Promise<Answer>
  /** Sends a message before the answer, if the client accepts one. */
  abstract message(text: string): void
  /** Sends a message about the call after the answer, if the client has a stream for it. */
  messageLater(_text: string): void {}
  /** Asks the client's user; returns an answer instead if the client repeats the call to answer. */
  abstract ask(params: JsonObject): Promise<ElicitationOutcome | Answer>
  /** Sends one of the gateway's own requests for this call; returns the response as the client would see it. */
  abstract inquire(method: string, params: JsonObject): Promise<JsonObject | Fault>
  /** Sends the client's user to a page; returns an answer instead if the client repeats the call afterwards. */
  async visit(_params: JsonObject): Promise<ElicitationOutcome | Answer> {
    return { outcome: 'unavailable' }
  }
  abstract readonly viewer: Viewer
  /** How the client lists tools; undefined: all. */
  abstract readonly listing: Listing | undefined
  /** Arguments that the client mirrors into headers. */
  async paramHeaders(): Promise<readonly ParamHeader[]> {
    return []
  }
  /** The answer to an approved call: if the server asks for more input, the approval holds for the client's retry. */
  keepApproval(answer: Answer): Answer {
    return answer
  }
  /** Called when the backend acknowledges a subscription; `kinds` are the lists among its subjects. */
  subscribed(_kinds: ReadonlySet<ListKind>): void {}

  /** Ends it without an answer (2025-11-25, Cancellation). */
  cancel(): void {
    this.endWith(CANCELLED)
  }

  /** Ends it with a fault. */
  abortWith(fault: Fault): void {
    this.endWith(faultAnswer(this, fault))
  }

  /** Ends it before its server answers. */
  protected endWith(answer: Answer): void {
    this.isOver = true
    this.interrupt(answer)
    this.signal.abort()
  }
}

import type { CancelSignal } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { CallRecord, SessionRecord } from '../telemetry/metrics.ts'
import { errorTypeOf, type Outcome, statusCodeOf } from '../telemetry/outcome.ts'
import type { Span, Tracer } from '../telemetry/trace.ts'
import type { CallEnd, RequestContext } from './context.ts'
import { explained } from './explained.ts'
import { type Fault, httpStatusOf, outcomeOf } from './fault.ts'
import { permitted } from './permit.ts'
import {
  errorText,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  type ListKind,
  type Request,
  type Revision,
  type RpcError,
  resultText,
} from './protocol.ts'
import { serverSpan } from './spans.ts'
import type { Reply } from './stream.ts'

/**
 * Result of the question. `asked`: a 2026-07-28 client got the question and will repeat the call with the answer.
 * `unavailable`: the client cannot ask.
 */
export type ApprovalOutcome = 'asked' | 'accepted' | 'declined' | 'cancelled' | 'timeout' | 'unavailable'

/** Where the calls of one prefix are logged and counted. */
export interface CallLog {
  readonly tenant: string
  readonly prefix: string
  readonly log: Logger
  /** Called with every finished request. */
  readonly onCall?: ((record: CallRecord) => void) | undefined
  /** Called with every finished session. */
  readonly onSession?: ((record: SessionRecord) => void) | undefined
  /** Called when an approval request times out after the call was answered with the question. */
  readonly onUnanswered?: ((of: Pick<CallLog, 'tenant' | 'prefix'>) => void) | undefined
  /** Audit log, if configured. */
  readonly auditSink?: AuditSink | undefined
  /** Trace recorder, if configured. */
  readonly tracer?: Tracer | undefined
}

/** Records client activity in the audit log. */
export interface AuditSink {
  call(call: LoggedRequest, end: CallEnd, ms: number): void
  /**
   * A person is asked to approve a call; call the result if the answer times out. Keeps no reference to the request.
   */
  asked(call: LoggedRequest): () => void
  /** A client opened a session; call the result when it ends. */
  session(id: string, callLog: CallLog, context: RequestContext): () => void
}

/** Clients choose names, so only this many characters are logged. */
const MAX_NAME = 200
const OK: CallEnd = { outcome: 'ok' }

/** How a call that got a fault instead of an answer ended. */
export function endOfFault(fault: Fault): CallEnd {
  return { outcome: outcomeOf(fault), failure: fault.message, code: INTERNAL_ERROR }
}

/**
 * Logs and counts finished requests for all backends. Tool calls are logged at `info`, other methods at `debug`,
 * failures at `warn`, except cancellations.
 */
export class LoggedRequest {
  private readonly started = performance.now()
  /** Result of asking for approval; undefined: not required. */
  approval: ApprovalOutcome | undefined
  readonly request: Request

  constructor(
    request: Request,
    readonly context: RequestContext,
    readonly revision: Revision,
    readonly callLog: CallLog,
    /** Id of the session the request belongs to. */
    readonly sessionId?: string,
  ) {
    const { tracer } = callLog
    this.request = tracer
      ? withSpan(request, serverSpan(tracer, { request, context, revision, callLog, sessionId }))
      : request
  }

  /** @param status of the HTTP response, if the request was refused with one */
  record(end: CallEnd, status?: number): void {
    const { tenant, prefix, log, onCall, auditSink } = this.callLog
    const { method, params, span } = this.request
    const { outcome, tool, code, savedChars, pages } = end
    const { revision, approval } = this
    const ms = performance.now() - this.started
    onCall?.({ tenant, prefix, method, revision, ms, outcome, tool, code, savedChars, pages, approval })
    auditSink?.call(this, end, ms)
    if (span) endSpan(span, end, status)
    const isTool = method === 'tools/call'
    const level = levelOf(outcome, isTool)
    if (!log.isLevelEnabled(level)) return
    const { outcome: _, tool: __, denied: ___, code: ____, ...why } = end
    const name = typeof params.name === 'string' ? params.name.slice(0, MAX_NAME) : undefined
    const { caller, callerName = caller, address, requestId } = this.context
    const line = {
      tenant,
      prefix,
      // The caller's name from the configuration or token claims, never the credential itself.
      ...(callerName !== undefined ? { caller: callerName } : { address }),
      ...(isTool ? { tool: name } : { method }),
      revision,
      ms: Math.round(ms * 10) / 10,
      requestId,
      ...(span && { trace_id: span.traceId, span_id: span.spanId }),
      ...(outcome !== 'ok' && { outcome }),
      ...(approval !== undefined && { approval }),
      ...why,
    }
    const what = isTool ? 'tool call' : 'request'
    if (outcome === 'ok') log[level](line, what)
    else log[level](line, outcome === 'cancelled' ? `${what} cancelled` : `${what} failed`)
  }
}

function withSpan({ kind, id, method, params, raw, via }: Request, span: Span): Request {
  return { kind, id, method, params, raw, via, span }
}

/** Ends the span of a request, with the same facts as the log line. */
export function endSpan(span: Span, end: CallEnd, status?: number): void {
  const code = statusCodeOf(end)
  const type = errorTypeOf(end)
  const error = type === undefined ? undefined : { type, message: end.failure || undefined }
  const attributes: Record<string, string | number> = {}
  if (code !== undefined) attributes['rpc.response.status_code'] = code
  if (status !== undefined) attributes['http.response.status_code'] = status
  span.end(attributes, error)
}

function levelOf(outcome: Outcome, isTool: boolean): 'debug' | 'info' | 'warn' {
  if (outcome === 'ok') return isTool ? 'info' : 'debug'
  if (outcome === 'cancelled') return 'info'
  // Clients probe for optional methods, so such errors are not warnings.
  return outcome === 'tool_error' && !isTool ? 'debug' : 'warn'
}

/** A request handled by a backend. It ends exactly once: answered, failed or cancelled. */
export class Call extends LoggedRequest implements CancelSignal {
  /** Whether the client cancelled or no longer waits for the answer. */
  aborted = false
  over = false
  /** Whether the answer is already filtered to what the caller may use. */
  isPermitted = false
  /** Signature of the called tool, added to errors about its arguments. */
  signature: string | undefined
  private listeners: (() => void)[] | undefined

  /** @param text of the request as received, or its part of a batch */
  constructor(
    context: RequestContext,
    request: Request,
    readonly text: string,
    revision: Revision,
    protected readonly reply: Reply,
    callLog: CallLog,
    sessionId?: string,
  ) {
    super(request, context, revision, callLog, sessionId)
  }

  /** Sends a message before the answer, if the client accepts one. */
  message(text: string): void {
    if (!this.over) this.reply.message(text)
  }

  /** Sends a complete JSON-RPC response. @param status of HTTP, if nothing was sent before */
  answer(text: string, end: CallEnd = OK, status?: number, headers?: Record<string, string>): void {
    if (this.over) return
    this.end()
    const shown = permitted(this, this.explained(text, end))
    this.reply.answer(this.context.results?.shown(this, shown) ?? shown, status, headers)
    this.record(end, status)
  }

  private explained(text: string, { failure, code }: CallEnd): string {
    const refusesArguments = failure === 'arguments' || code === INVALID_PARAMS
    return this.signature !== undefined && refusesArguments ? explained(text, this.signature) : text
  }

  /** Answers with a result given as JSON text. */
  result(json: string, end?: CallEnd): void {
    this.answer(resultText(this.request.id, json), end)
  }

  error(
    error: RpcError,
    end: CallEnd = { outcome: 'refused', failure: error.message },
    status?: number,
    headers?: Record<string, string>,
  ): void {
    this.answer(errorText(this.request.id, error), { ...end, code: error.code }, status, headers)
  }

  /** Answers with a fault. */
  fail(fault: Fault, status: number = httpStatusOf(fault)): void {
    const { message, challenge } = fault
    const text = errorText(this.request.id, { code: INTERNAL_ERROR, message })
    const headers = challenge === undefined ? undefined : { 'www-authenticate': challenge }
    this.answer(text, endOfFault(fault), status, headers)
  }

  /** Fails the call, and aborts the backend's work. */
  abortWith(fault: Fault): void {
    this.fail(fault)
    this.abort()
  }

  /** Ends without an answer (2025-11-25, Cancellation). */
  cancel(): void {
    if (this.over) return
    this.end()
    this.reply.end()
    this.abort()
    this.record({ outcome: 'cancelled' })
  }

  /** Notifies the backend that the answer is no longer needed. */
  protected abort(): void {
    this.aborted = true
    const { listeners = [] } = this
    this.listeners = undefined
    for (const listener of listeners) listener()
  }

  /** Called when the backend acknowledges a subscription; `kinds` are the lists among its subjects. */
  subscribed(_kinds: ReadonlySet<ListKind>): void {}

  /** Releases the gateway's resources for the call. */
  protected end(): void {
    this.over = true
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.listeners ??= []
    this.listeners.push(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const index = this.listeners?.indexOf(listener) ?? -1
    if (index >= 0) this.listeners?.splice(index, 1)
  }
}

/** Entries deleted before the map is rebuilt: a `Map` with a long history of deletions retains finished calls. */
const DELETIONS = 64

/** Entries of running calls, by key: a `Map` for short-lived entries. */
export class InFlight<K, V> {
  #map = new Map<K, V>()
  #deleted = 0

  get size(): number {
    return this.#map.size
  }

  has(key: K): boolean {
    return this.#map.has(key)
  }

  get(key: K): V | undefined {
    return this.#map.get(key)
  }

  set(key: K, value: V): void {
    this.#map.set(key, value)
  }

  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false
    if (++this.#deleted > DELETIONS + this.#map.size) {
      this.#map = new Map(this.#map)
      this.#deleted = 0
    }
    return true
  }

  /** Current keys, oldest first. */
  keys(): K[] {
    return [...this.#map.keys()]
  }

  /** Current values, oldest first. */
  values(): V[] {
    return [...this.#map.values()]
  }
}

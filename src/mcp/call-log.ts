import type { Logger } from '../telemetry/log.ts'
import type { CallRecord, SessionRecord } from '../telemetry/metrics.ts'
import { errorTypeOf, type Outcome, statusCodeOf } from '../telemetry/outcome.ts'
import type { Span, Tracer } from '../telemetry/trace.ts'
import { shorten } from '../text/index.ts'
import type { Answer } from './answer.ts'
import type { CallEnd, RequestContext } from './context.ts'
import type { Request, Revision } from './protocol.ts'
import type { Exchange } from './recorded-call.ts'
import { serverSpan } from './spans.ts'

/**
 * How the request for approval ended. `asked`: a 2026-07-28 client got the question and will repeat the call with the answer.
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
  /** Remembers calls for the console; absent: none. */
  readonly recorder?: CallRecorder | undefined
  /** Trace recorder, if configured. */
  readonly tracer?: Tracer | undefined
}

/** Call log of the gateway's own requests: they are logged, but not counted or audited. */
export function silent({ tenant, prefix, log }: CallLog): CallLog {
  return { tenant, prefix, log }
}

/** Remembers calls for people who look at them. */
export interface CallRecorder {
  /** @returns called with the answer */
  begin(call: LoggedRequest): (answer: Pick<Answer, 'text' | 'end'>) => void
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

/**
 * Logs and counts finished requests for all backends. Tool calls are logged at `info`, other methods at `debug`,
 * failures at `warn`, except cancellations.
 */
export class LoggedRequest {
  private readonly started = performance.now()
  /** Result of asking for approval; undefined: not required. */
  approval: ApprovalOutcome | undefined
  readonly request: Request
  /** Set if what is sent for the call is recorded. */
  onExchange: ((exchange: Exchange) => void) | undefined

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
    const name = typeof params.name === 'string' ? shorten(params.name, 200) : undefined
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

function withSpan({ kind, id, method, params, raw, received, via }: Request, span: Span): Request {
  return { kind, id, method, params, raw, received, via, span }
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

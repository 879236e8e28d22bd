import type { CancelSignal } from '../net/index.ts'
import type { Logger } from '../telemetry/log.ts'
import type { CallRecord, SessionRecord } from '../telemetry/metrics.ts'
import { type Ended, errorTypeOf, type Outcome, statusCodeOf } from '../telemetry/outcome.ts'
import type { Span, Tracer } from '../telemetry/trace.ts'
import type { ApprovalOutcome } from './approval.ts'
import { explained } from './explained.ts'
import { type Fault, httpStatusOf, outcomeOf } from './fault.ts'
import type { Exchange } from './http.ts'
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

/** Where the calls of one prefix are logged and counted. */
export interface Accounting {
  readonly tenant: string
  readonly prefix: string
  readonly log: Logger
  /** Receives every request that is over. */
  readonly onCall?: ((record: CallRecord) => void) | undefined
  /** Receives every session that is over. */
  readonly onSession?: ((record: SessionRecord) => void) | undefined
  /** Is told of every call that nobody has approved or refused in time, after it was answered with the question. */
  readonly onUnanswered?: ((of: Pick<Accounting, 'tenant' | 'prefix'>) => void) | undefined
  /** Writes the audit log; absent: there is none. */
  readonly witness?: Witness | undefined
  /** Records traces; absent: none are. */
  readonly tracer?: Tracer | undefined
}

/** Is told what clients did. */
export interface Witness {
  call(call: Accounted, end: CallEnd, ms: number): void
  /** A person is asked to approve a call; what is returned tells that nobody answered. It keeps nothing of the request. */
  asked(call: Accounted): () => void
  /** A client has a session; what is returned tells that it ended. */
  session(id: string, account: Accounting, exchange: Exchange): () => void
}

/** How a call ended. */
export interface CallEnd extends Ended {
  /** Why the call has no result: a kind or a sentence, for the log. */
  failure?: string | undefined
  /** More for the author of a tool, for the log; never a value. */
  detail?: string | undefined
  /** HTTP status of the upstream. */
  upstreamStatus?: number | undefined
  /** Name of the tool, where the tools are the gateway's own: other names would be metrics without number. */
  tool?: string | undefined
  /** Pages of the upstream's list that the result is made of, where there are several. */
  pages?: number | undefined
  /** Characters that the result lacks of the upstream's answer, as it was shaped or too long. */
  savedChars?: number | undefined
  /** Why it was refused: no rule of `authorize` allows it, one that does wants scopes, or nobody approved it. */
  denied?: 'rule' | 'scope' | 'approval'
}

/** Characters of a name that are logged: clients choose it. */
const MAX_NAME = 200
const OK: CallEnd = { outcome: 'ok' }

/** How a call ended that has no answer. */
export function endOfFault(fault: Fault): CallEnd {
  return { outcome: outcomeOf(fault), failure: fault.message, code: INTERNAL_ERROR }
}

/**
 * Counts and logs a request that is over: the one place for every backend. Tools are logged at `info`, other methods at
 * `debug`, calls without a result at `warn`, except those that the client cancelled.
 */
export class Accounted {
  private readonly started = performance.now()
  /** What came of asking a person for approval; undefined: nobody was to be asked. */
  approval: ApprovalOutcome | undefined
  readonly request: Request

  constructor(
    request: Request,
    readonly exchange: Exchange,
    readonly revision: Revision,
    readonly account: Accounting,
    /** The session it is part of. */
    readonly sessionId?: string,
  ) {
    const { tracer } = account
    this.request = tracer
      ? withSpan(request, serverSpan(tracer, { request, exchange, revision, account, sessionId }))
      : request
  }

  /** @param status of the HTTP response that refuses it, where one does */
  record(end: CallEnd, status?: number): void {
    const { tenant, prefix, log, onCall, witness } = this.account
    const { method, params, span } = this.request
    const { outcome, tool, code, savedChars, pages } = end
    const { revision, approval } = this
    const ms = performance.now() - this.started
    onCall?.({ tenant, prefix, method, revision, ms, outcome, tool, code, savedChars, pages, approval })
    witness?.call(this, end, ms)
    if (span) endSpan(span, end, status)
    const isTool = method === 'tools/call'
    const level = levelOf(outcome, isTool)
    // Most lines are not printed, and need not be made.
    if (!log.isLevelEnabled(level)) return
    const { outcome: _, tool: __, denied: ___, code: ____, ...why } = end
    const name = typeof params.name === 'string' ? params.name.slice(0, MAX_NAME) : undefined
    const { caller, callerName = caller, address, requestId } = this.exchange
    const line = {
      tenant,
      prefix,
      // Who calls: by the name that a credential has in the configuration or says, never by the credential.
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

/** One literal, as a spread took 2 µs a call. */
function withSpan({ kind, id, method, params, raw, via }: Request, span: Span): Request {
  return { kind, id, method, params, raw, via, span }
}

/** Ends the span of a request, which says as little as the log. */
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
  // Clients try methods that a server need not have.
  return outcome === 'tool_error' && !isTool ? 'debug' : 'warn'
}

/** A request that a backend handles. It ends once: with an answer, a fault, or because it is cancelled. */
export class Call extends Accounted implements CancelSignal {
  /** Whether the client cancelled the call, or nobody waits for it any more. */
  aborted = false
  over = false
  /** Whether the answer shows only what the caller may use already. */
  isPermitted = false
  /** Of the tool that is called, where arguments that are refused are explained by it. */
  signature: string | undefined
  private listeners: (() => void)[] | undefined

  /** @param text of the request as the client sent it, or of its part of a batch */
  constructor(
    exchange: Exchange,
    request: Request,
    readonly text: string,
    revision: Revision,
    protected readonly reply: Reply,
    account: Accounting,
    sessionId?: string,
  ) {
    super(request, exchange, revision, account, sessionId)
  }

  /** Sends a message before the answer, where the client takes it. */
  message(text: string): void {
    if (!this.over) this.reply.message(text)
  }

  /** Sends the whole JSON-RPC response. @param status of HTTP, where nothing was sent before */
  answer(text: string, end: CallEnd = OK, status?: number, headers?: Record<string, string>): void {
    if (this.over) return
    this.end()
    const shown = permitted(this, this.explained(text, end))
    this.reply.answer(this.exchange.results?.shown(this, shown) ?? shown, status, headers)
    this.record(end, status)
  }

  private explained(text: string, { failure, code }: CallEnd): string {
    const refusesArguments = failure === 'arguments' || code === INVALID_PARAMS
    return this.signature !== undefined && refusesArguments ? explained(text, this.signature) : text
  }

  /** Answers with a result that is JSON text. */
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

  /** Answers that there is no answer. */
  fail(fault: Fault, status: number = httpStatusOf(fault)): void {
    const { message, challenge } = fault
    const text = errorText(this.request.id, { code: INTERNAL_ERROR, message })
    const headers = challenge === undefined ? undefined : { 'www-authenticate': challenge }
    this.answer(text, endOfFault(fault), status, headers)
  }

  /** Ends with a fault, and tells the backend that nobody waits. */
  give(fault: Fault): void {
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

  /** Tells the backend that nobody waits for the answer. */
  protected abort(): void {
    this.aborted = true
    const { listeners = [] } = this
    this.listeners = undefined
    for (const listener of listeners) listener()
  }

  /** The call is a subscription that the backend has acknowledged, to changes of these lists among others. */
  subscribed(_kinds: ReadonlySet<ListKind>): void {}

  /** Frees what the call has of the gateway. */
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

/**
 * V8 links the tables that a `Map` outgrows, be it by deletions, and one that got old keeps alive whatever came
 * after it: a fifth of a busy gateway's CPU went into collecting calls that were long over. After as many
 * deletions a map is begun anew.
 */
const DELETIONS = 64

/** What is under way, by key: a `Map` for entries that come and go with each call. */
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

  /** The keys of this moment, the oldest first. */
  keys(): K[] {
    return [...this.#map.keys()]
  }

  /** The values of this moment, the oldest first. */
  values(): V[] {
    return [...this.#map.values()]
  }
}

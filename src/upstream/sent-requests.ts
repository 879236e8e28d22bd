import type { Transport } from '../config/transports.ts'
import { type JsonObject, stringify } from '../json/index.ts'
import {
  type CallEnd,
  type Exchange,
  endSpan,
  Fault,
  isObject,
  isSessionRevision,
  isStatelessRevision,
  outcomeOf,
  type Request,
  type RequestHeaders,
  spanFacts,
  tracedParams,
  withParams,
} from '../mcp/index.ts'
import type { ServerLabels, UpstreamCallRecord, UpstreamSessionRecord } from '../telemetry/metrics.ts'
import { type Attributes, addressOf, type Span, type TraceContext } from '../telemetry/trace.ts'
import type { Resolved } from './definition.ts'

/** Counters of requests to MCP servers, and their labels. */
export interface Measures extends Omit<ServerLabels, 'server' | 'transport'> {
  onUpstreamCall?: ((record: UpstreamCallRecord) => void) | undefined
  onUpstreamSession?: ((record: UpstreamSessionRecord) => void) | undefined
}

type Begun = Pick<Request, 'id' | 'method' | 'params'> & { span?: Span | undefined }

/** Counts and traces requests to an MCP server, and sessions with it. */
export class Operations {
  readonly attributes: Attributes
  private readonly of: ServerLabels

  /** @param origin of an HTTP server, if the same for all requests */
  constructor(
    server: string,
    private readonly measures: Measures,
    network: Transport['network'],
    origin: string | undefined,
  ) {
    const { tenant, prefix } = measures
    this.of = { tenant, prefix, server, transport: network }
    this.attributes = {
      'network.transport': network,
      ...(network === 'tcp' && { 'network.protocol.name': 'http' }),
      ...(origin && addressOf(origin)),
      'plantgw.tenant': tenant,
      'plantgw.prefix': prefix,
      'plantgw.server': server,
    }
  }

  /** Begins a request. */
  begin(request: Begun): Operation {
    return new Operation(request, this)
  }

  /** Begins a session; call the result when it ends. */
  session(version: unknown): () => void {
    const since = performance.now()
    const revision = isSessionRevision(version) || isStatelessRevision(version) ? String(version) : '_OTHER'
    return () => this.measures.onUpstreamSession?.({ of: this.of, revision, ms: performance.now() - since })
  }

  over(method: string, end: CallEnd, since: number): void {
    const { outcome, code, unanswered } = end
    this.measures.onUpstreamCall?.({
      of: this.of,
      method,
      ms: performance.now() - since,
      outcome,
      ...(code !== undefined && { code }),
      ...(unanswered && { unanswered }),
    })
  }
}

/** A running request to an MCP server. */
export class Operation {
  private readonly since = performance.now()
  private readonly method: string
  private readonly span: Span | undefined
  private isOver = false

  constructor(
    request: Begun,
    private readonly all: Operations,
  ) {
    this.method = request.method
    const { span } = request
    if (!span) return
    this.span = span.client(spanFacts(request, all.attributes))
  }

  /** Trace context to send; undefined: the client's own is kept. */
  get trace(): TraceContext | undefined {
    return this.span?.context
  }

  /** The request with the trace context. */
  traced(request: Request): Request {
    const { trace } = this
    return trace ? withParams(request, tracedParams(request.params, trace)) : request
  }

  /** Ends the request with the server's answer or a fault. */
  settled(answer: JsonObject | Fault): void {
    if (this.isOver) return
    this.isOver = true
    const end = answer instanceof Fault ? unanswered(answer) : endOf(answer)
    this.all.over(this.method, end, this.since)
    if (this.span) endSpan(this.span, end)
  }
}

function unanswered(fault: Fault): CallEnd {
  return { outcome: outcomeOf(fault), failure: fault.message, unanswered: true }
}

/** Characters of a message that are recorded. */
const RECORDED = 64 * 1024

/** A message and its answer, for people who look at the call. @param server undefined: one of several. @param begin by `performance.now()` */
export function exchangeOf(
  server: Pick<Resolved, 'origin'> | undefined,
  { raw: sent }: Pick<Request, 'raw'>,
  answer: JsonObject | Fault | undefined,
  begin: number,
): Exchange {
  const received = answer instanceof Fault ? answer.message : answer && stringify(answer)
  return {
    to: server ? server.origin || 'standard input of the server' : 'one of the servers',
    sent: stringify(sent).slice(0, RECORDED),
    received: received?.slice(0, RECORDED),
    ms: performance.now() - begin,
  }
}

/** Headers with the trace context replaced. */
export function tracedHeaders(
  headers: Readonly<Record<string, string>> = {},
  trace: TraceContext | undefined,
): Record<string, string> {
  if (!trace) return headers
  const { tracestate: _, ...rest } = headers
  return { ...rest, ...trace }
}

/** The caller's trace context is forwarded with the call. */
const TRACE = ['traceparent', 'tracestate', 'baggage']

/** The trace context among a client's headers. */
export function traceIn(headers: RequestHeaders): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of TRACE) if (headers[name] !== undefined) found[name] = headers[name]
  return found
}

/** Maximum characters of a server's error in the log. */
const MAX_FAILURE = 200
const OK: CallEnd = { outcome: 'ok' }

/** The outcome of a response. */
export function endOf({ result, error }: JsonObject): CallEnd {
  if (isObject(error)) {
    const { code } = error
    const failure = String(error.message).slice(0, MAX_FAILURE)
    return { outcome: 'tool_error', failure, ...(typeof code === 'number' && { code }) }
  }
  return isObject(result) && result.isError === true ? { outcome: 'tool_error' } : OK
}

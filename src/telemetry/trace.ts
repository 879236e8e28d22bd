/** Texts and integers that are not negative. */
export type Attributes = Readonly<Record<string, string | number>>

/** W3C Trace Context, as headers and `_meta` have it (SEP-414). */
export interface TraceContext {
  traceparent: string
  tracestate?: string
}

/** The error of a request. */
export interface SpanError {
  /** `error.type` */
  type: string
  message?: string | undefined
}

/** Facts known at the start of a request. */
export interface SpanStart {
  name: string
  attributes: Attributes
  /** When it began, of `performance.now()`; default: now. */
  began?: number
  /** Whether the spans of others come first where many wait; default: it counts as they do. */
  isMinor?: boolean
}

/** The time of one request, and what it belongs to. It ends once. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly context: TraceContext
  /** Begins the span of a request that is sent for this one. */
  client(start: SpanStart): Span
  /** @param attributes that were not known before; default: none */
  end(attributes?: Attributes, error?: SpanError): void
}

/** Makes spans. Absent where no traces are recorded. */
export interface Tracer {
  /** Begins the span of a request of a client. @param link another context that the request came in */
  server(start: SpanStart, parent?: TraceContext, link?: TraceContext): Span
}

/** Span attributes for the server of a request. */
export function addressOf(origin: string): Attributes {
  const { hostname, port, protocol } = new URL(origin)
  return {
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
  }
}

/** Version, trace, span and flags; versions after 00 may have more. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-|$)/
const LENGTH = 55
/** Characters that a vendor passes on at least (W3C Trace Context, 3.3.1.5); more are left out. */
const MAX_STATE = 512

/** The trace context in headers or `_meta`; undefined: absent or invalid. */
export function readContext({ traceparent, tracestate }: Record<string, unknown>): TraceContext | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_STATE) return undefined
  const [, version, end] = TRACEPARENT.exec(traceparent) ?? []
  if (version === undefined || (version === '00' && end !== '')) return undefined
  const has = typeof tracestate === 'string' && tracestate.length <= MAX_STATE && tracestate !== ''
  return { traceparent: traceparent.slice(0, LENGTH), ...(has && { tracestate }) }
}

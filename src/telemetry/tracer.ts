import {
  createTraceState,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { Attributes, Span, SpanError, SpanStart, TraceContext, Tracer } from './trace.ts'

/**
 * Makes spans by the SDK.
 * @param minor makes those with `isMinor`
 */
export function tracerOf(major: SdkTracer, minor: SdkTracer): Tracer {
  return {
    server(start, parent, link) {
      const now = performance.now()
      const made: Made = { tracer: start.isMinor ? minor : major, offset: Date.now() - now }
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, contextOf(parent)) : ROOT_CONTEXT
      const links = link ? [{ context: contextOf(link) }] : []
      return new TracedSpan(made, started(made, start, { kind: SpanKind.SERVER, links }, context))
    },
  }
}

/** Data shared by the spans of one request. */
interface Made {
  tracer: SdkTracer
  /** Between the clock that the machine sets and the one that only goes forward: no child begins before its parent. */
  offset: number
}

function started(
  { tracer, offset }: Made,
  { name, attributes, began = performance.now() }: SpanStart,
  options: Parameters<SdkTracer['startSpan']>[1],
  context: Parameters<SdkTracer['startSpan']>[2],
): SdkSpan {
  const startTime = offset + began
  return tracer.startSpan(name, { ...options, startTime, attributes }, context)
}

class TracedSpan implements Span {
  readonly traceId: string
  readonly spanId: string

  constructor(
    private readonly made: Made,
    private readonly span: SdkSpan,
  ) {
    const { traceId, spanId } = span.spanContext()
    this.traceId = traceId
    this.spanId = spanId
  }

  get context(): TraceContext {
    const { traceId, spanId, traceFlags, traceState } = this.span.spanContext()
    const traceparent = `00-${traceId}-${spanId}-0${traceFlags}`
    const tracestate = traceState?.serialize()
    return tracestate ? { traceparent, tracestate } : { traceparent }
  }

  client(start: SpanStart): Span {
    const context = trace.setSpan(ROOT_CONTEXT, this.span)
    return new TracedSpan(this.made, started(this.made, start, { kind: SpanKind.CLIENT }, context))
  }

  end(attributes: Attributes = {}, error?: SpanError): void {
    const { span, made } = this
    span.setAttributes(attributes)
    if (error) {
      span.setAttribute('error.type', error.type)
      span.setStatus({ code: SpanStatusCode.ERROR, ...(error.message && { message: error.message }) })
    }
    span.end(made.offset + performance.now())
  }
}

/** @param context one that `readContext` has found to be valid */
function contextOf({ traceparent, tracestate }: TraceContext): SpanContext {
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16) & 1,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  }
}

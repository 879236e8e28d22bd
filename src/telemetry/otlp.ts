import { ProtobufWriter } from './protobuf.ts'
import type { Attributes, SpanTemplate } from './trace.ts'

/**
 * Writes spans as OTLP sends them (opentelemetry-proto, collector/trace/v1 and trace/v1). The SDK keeps objects until a
 * batch is full, and writes what all of them have in common for each again: that took as long as a fifth of a call.
 */

/** A span that has ended. */
export interface EndedSpan {
  /** In hexadecimal, as are those of spans. */
  traceId: string
  spanId: string
  parentId: string | undefined
  /** The parent is a span of somebody else. */
  isParentRemote: boolean
  tracestate: string | undefined
  kind: SpanKind
  template: SpanTemplate
  own: Attributes
  /** Those that were not known at the start. */
  late: Attributes
  /** Milliseconds since 1970, with fractions. */
  start: number
  finish: number
  /** Absent: it did not fail. */
  error: { message?: string | undefined } | undefined
  link: SpanLink | undefined
}

export interface SpanLink {
  traceId: string
  spanId: string
  tracestate: string | undefined
  isSampled: boolean
}

/** Of the enum `SpanKind`. */
export type SpanKind = typeof SERVER | typeof CLIENT
export const SERVER = 2
export const CLIENT = 3

/** What the spans of a gateway have in common. */
export interface SpanSource {
  resource: Attributes
  scope: { name: string; version: string }
}

/** Gathers spans for a request to a collector. */
export interface SpanWriter {
  add(span: EndedSpan): void
  /** The body of a request with the spans since the last one. */
  take(): Uint8Array
}

/** `SpanFlags`: the lowest is that of W3C; whether the other end is remote is known of each. */
const flags = (isSampled: boolean, isRemote: boolean) => (isSampled ? 0x101 : 0x100) | (isRemote ? 0x200 : 0)
/** Of the enum `StatusCode`. */
const ERROR = 2

const nanoseconds = (ms: number) => Math.round(ms * 1e6)

/** Keeps what is made of a template. */
function kept<Made>(make: (template: SpanTemplate) => Made): (template: SpanTemplate) => Made {
  const known = new WeakMap<SpanTemplate, Made>()
  return (template) => {
    let made = known.get(template)
    if (made === undefined) {
      made = make(template)
      known.set(template, made)
    }
    return made
  }
}

/** Writes `ExportTraceServiceRequest` as protobuf. */
export class ProtobufSpans implements SpanWriter {
  private readonly resource: Uint8Array
  private readonly scope: Uint8Array
  private readonly shared = kept(({ name, attributes }) => {
    this.around.text(5, name)
    writeAttributes(this.around, 9, attributes)
    return Buffer.from(this.around.take())
  })
  private readonly spans = new ProtobufWriter()
  private readonly around = new ProtobufWriter()

  constructor({ resource, scope }: SpanSource) {
    const { around } = this
    writeAttributes(around, 1, resource)
    this.resource = Buffer.from(around.take())
    around.text(1, scope.name)
    around.text(2, scope.version)
    this.scope = Buffer.from(around.take())
  }

  add(span: EndedSpan): void {
    const { spans } = this
    const { tracestate, parentId, link, error } = span
    const start = spans.open(2)
    spans.hex(1, span.traceId)
    spans.hex(2, span.spanId)
    if (tracestate !== undefined) spans.text(3, tracestate)
    if (parentId !== undefined) spans.hex(4, parentId)
    spans.integer(6, span.kind)
    spans.fixed64(7, nanoseconds(span.start))
    spans.fixed64(8, nanoseconds(span.finish))
    spans.put(this.shared(span.template))
    writeAttributes(spans, 9, span.own)
    writeAttributes(spans, 9, span.late)
    if (link) writeLink(spans, 13, link)
    if (error) {
      const status = spans.open(15)
      if (error.message !== undefined) spans.text(2, error.message)
      spans.integer(3, ERROR)
      spans.close(status)
    }
    spans.fixed32(16, flags(true, span.isParentRemote))
    spans.close(start)
  }

  take(): Uint8Array {
    const { around, resource, scope } = this
    const spans = this.spans.take()
    around.head(1, scope.length)
    around.put(scope)
    const inScope = Buffer.from(around.take())
    around.head(1, resource.length)
    around.put(resource)
    around.head(2, inScope.length + spans.length)
    const inResource = Buffer.from(around.take())
    around.head(1, inResource.length + inScope.length + spans.length)
    return Buffer.concat([around.take(), inResource, inScope, spans])
  }
}

/** A `KeyValue` for each. */
function writeAttributes(writer: ProtobufWriter, field: number, attributes: Attributes): void {
  for (const key in attributes) {
    const value = attributes[key] as string | number
    const pair = writer.open(field)
    writer.text(1, key)
    const any = writer.open(2)
    if (typeof value === 'number') writer.integer(3, value)
    else writer.text(1, value)
    writer.close(any)
    writer.close(pair)
  }
}

function writeLink(writer: ProtobufWriter, field: number, link: SpanLink): void {
  const start = writer.open(field)
  writer.hex(1, link.traceId)
  writer.hex(2, link.spanId)
  if (link.tracestate !== undefined) writer.text(3, link.tracestate)
  writer.fixed32(6, flags(link.isSampled, true))
  writer.close(start)
}

/** Writes `ExportTraceServiceRequest` as JSON. */
export class JsonSpans implements SpanWriter {
  private readonly shared = kept(({ attributes }) => jsonAttributes(attributes))
  private readonly head: string
  private spans: string[] = []

  constructor({ resource, scope }: SpanSource) {
    this.head = `{"resourceSpans":[{"resource":{"attributes":[${jsonAttributes(resource)}]},"scopeSpans":[{"scope":${JSON.stringify(scope)},"spans":[`
  }

  add(span: EndedSpan): void {
    const { traceId, spanId, tracestate: traceState, parentId: parentSpanId, kind, link, error } = span
    const attributes = [this.shared(span.template), jsonAttributes(span.own), jsonAttributes(span.late)]
    const rest = {
      traceId,
      spanId,
      traceState,
      parentSpanId,
      name: span.template.name,
      kind,
      startTimeUnixNano: String(nanoseconds(span.start)),
      endTimeUnixNano: String(nanoseconds(span.finish)),
      links: link && [jsonLink(link)],
      status: error ? { code: ERROR, message: error.message } : {},
      flags: flags(true, span.isParentRemote),
    }
    this.spans.push(`{"attributes":[${attributes.filter(Boolean).join()}],${JSON.stringify(rest).slice(1)}`)
  }

  take(): Uint8Array {
    const text = `${this.head}${this.spans.join()}]}]}]}`
    this.spans = []
    return Buffer.from(text)
  }
}

/** The members of an array. */
function jsonAttributes(attributes: Attributes): string {
  const of = (value: unknown) => (typeof value === 'number' ? { intValue: value } : { stringValue: value })
  return Object.entries(attributes)
    .map(([key, value]) => JSON.stringify({ key, value: of(value) }))
    .join()
}

function jsonLink({ traceId, spanId, tracestate, isSampled }: SpanLink): object {
  return { traceId, spanId, traceState: tracestate, flags: flags(isSampled, true) }
}

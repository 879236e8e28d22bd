import { randomBytes } from 'node:crypto'
import { createTraceState } from '@opentelemetry/api'
import { CLIENT, type EndedSpan, SERVER, type SpanKind, type SpanLink, type SpanWriter } from './otlp.ts'
import type { Attributes, Span, SpanError, SpanStart, SpanTemplate, TraceContext, Tracer } from './trace.ts'
import { unexpected } from './unexpected.ts'

/** Sends bodies of requests one at a time. */
export interface SpanSender {
  /** @param done is called once, whatever came of it */
  send(body: Uint8Array, done: () => void): void
  /** Ends once nothing is under way. */
  close(): Promise<void>
}

/** Whether a trace is sent. @param ofParent what the context of the request says; undefined: it has none */
export type Sampler = (traceId: string, ofParent: boolean | undefined) => boolean

export interface SpanParts {
  writer: SpanWriter
  sender: SpanSender
  sampler: Sampler
  /** Milliseconds for which spans are gathered, unless there are many. */
  delay: number
}

/** Spans of a request to the collector, unless more wait when it can be sent. */
const BATCH = 512
/** Spans that wait at the most; further ones are dropped. */
const MAX_WAITING = 4096

const NONE: Attributes = Object.freeze({})

/** Makes spans, and sends those of traces that are sampled. It holds a timer and a connection: close it. */
export class Spans implements Tracer {
  private readonly ids = new Ids()
  private waiting = 0
  private timer: NodeJS.Timeout | undefined
  private sending: Promise<void> | undefined

  constructor(private readonly parts: SpanParts) {}

  server(start: SpanStart, parent?: TraceContext, link?: TraceContext): Span {
    const from = parent && contextOf(parent)
    const traceId = from ? from.traceId : this.ids.take(32)
    const span = new RecordedSpan(this, SERVER, start, traceId, this.parts.sampler(traceId, from?.isSampled))
    span.parentId = from?.spanId
    span.isParentRemote = from !== undefined
    span.tracestate = from?.tracestate
    span.link = link && contextOf(link)
    return span
  }

  newSpanId(): string {
    return this.ids.take(16)
  }

  /** @param isMinor whether it gives way to others: those that strangers can cause leave room for those of calls */
  add(span: EndedSpan, isMinor: boolean): void {
    if (this.waiting >= (isMinor ? BATCH : MAX_WAITING)) return
    this.parts.writer.add(span)
    this.waiting++
    if (!this.sending) this.plan()
  }

  async close(): Promise<void> {
    await this.sending
    this.flush()
    await this.sending
    clearTimeout(this.timer)
    await this.parts.sender.close()
  }

  private plan(): void {
    if (this.waiting >= BATCH) this.flush()
    else if (this.waiting) this.timer ??= setTimeout(() => this.flush(), this.parts.delay).unref()
  }

  private flush(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (!this.waiting) return
    this.waiting = 0
    const { writer, sender } = this.parts
    this.sending = new Promise<void>((done) => sender.send(writer.take(), done))
      .finally(() => {
        this.sending = undefined
        this.plan()
      })
      .catch(unexpected('sending spans'))
  }
}

/** Of a request that came, or that is sent; written down when it ends. */
class RecordedSpan implements Span, EndedSpan {
  readonly spanId: string
  parentId: string | undefined = undefined
  isParentRemote = false
  tracestate: string | undefined = undefined
  readonly template: SpanTemplate
  readonly own: Attributes
  late: Attributes = NONE
  /** Between the clock that the machine sets and the one that only goes forward, which all spans of a request use. */
  private readonly offset: number
  readonly start: number
  finish = 0
  private readonly isMinor: boolean
  error: SpanError | undefined = undefined
  link: SpanLink | undefined = undefined

  constructor(
    private readonly spans: Spans,
    readonly kind: SpanKind,
    { template, own = NONE, began, isMinor = false }: SpanStart,
    readonly traceId: string,
    private readonly isSampled: boolean,
    offset?: number,
  ) {
    this.spanId = spans.newSpanId()
    this.template = template
    this.own = own
    const now = performance.now()
    this.offset = offset ?? Date.now() - now
    this.start = this.offset + (began ?? now)
    this.isMinor = isMinor
  }

  get context(): TraceContext {
    const { tracestate } = this
    const traceparent = `00-${this.traceId}-${this.spanId}-${this.isSampled ? '01' : '00'}`
    return tracestate === undefined ? { traceparent } : { traceparent, tracestate }
  }

  client(start: SpanStart): Span {
    const { spans, traceId, isSampled, offset } = this
    const span = new RecordedSpan(spans, CLIENT, start, traceId, isSampled, offset)
    span.parentId = this.spanId
    span.tracestate = this.tracestate
    return span
  }

  end(attributes: Attributes = NONE, error?: SpanError): void {
    if (!this.isSampled) return
    this.late = error ? { ...attributes, 'error.type': error.type } : attributes
    this.error = error
    this.finish = this.offset + performance.now()
    this.spans.add(this, this.isMinor)
  }
}

/** @param context one that `readContext` has found to be valid */
function contextOf({ traceparent, tracestate }: TraceContext): SpanLink {
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    isSampled: (Number.parseInt(traceparent.slice(53, 55), 16) & 1) === 1,
    tracestate: tracestate === undefined ? undefined : createTraceState(tracestate).serialize() || undefined,
  }
}

/** Random digits, made many at once. */
class Ids {
  private digits = ''
  private at = 0

  take(length: number): string {
    if (this.at + length > this.digits.length) {
      this.digits = randomBytes(4096).toString('hex')
      this.at = 0
    }
    this.at += length
    return this.digits.slice(this.at - length, this.at)
  }
}

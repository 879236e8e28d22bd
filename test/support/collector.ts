import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from './listening.ts'
import { type Fields, fieldsOf } from './protobuf.ts'
import type { Loose } from './wire.ts'

/** A span as OTLP/JSON has it, with attributes by their names. */
export interface CollectedSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  /** 2: SERVER, 3: CLIENT. */
  kind: number
  /** In decimal. */
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Record<string, string | number>
  links: { traceId: string; spanId: string }[]
  /** 2: ERROR. */
  status: { code?: number; message?: string }
  /** Of its resource. */
  resource: Record<string, string | number>
}

export interface CollectedHistogram {
  name: string
  unit: string
  points: { attributes: Record<string, string | number>; count: number; bounds: number[]; counts: number[] }[]
}

export interface Collector {
  url: string
  /** Of each request. */
  requests: { path: string; headers: IncomingHttpHeaders; bytes: Buffer }[]
  spans: CollectedSpan[]
  /** The newest of each name. */
  histograms: Map<string, CollectedHistogram>
  /** Waits until something that was sent makes it true. */
  until(what: string, seen: () => boolean): Promise<void>
  /** Waits for spans of a trace. */
  trace(traceId: string, count: number): Promise<CollectedSpan[]>
}

/** A receiver of OTLP over HTTP; it reads JSON, and spans by protobuf. */
export async function collector(t: Pick<TestContext, 'after'>): Promise<Collector> {
  const requests: Collector['requests'] = []
  const spans: CollectedSpan[] = []
  const histograms: Collector['histograms'] = new Map()
  const waiting = new Set<() => void>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const bytes = Buffer.concat(chunks)
    requests.push({ path: request.url ?? '', headers: request.headers, bytes })
    if (request.headers['content-type'] === 'application/json') {
      const sent: Loose = JSON.parse(bytes.toString())
      for (const each of sent.resourceSpans ?? []) spans.push(...spansOf(each))
      for (const each of sent.resourceMetrics ?? [])
        for (const made of histogramsOf(each)) histograms.set(made.name, made)
    } else if (request.url === '/v1/traces') spans.push(...binarySpansOf(fieldsOf(bytes)))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    for (const each of waiting) each()
  })
  const port = await listening(t, server)
  const until: Collector['until'] = (what, seen) =>
    new Promise((resolve, reject) => {
      const deadline = setTimeout(() => {
        waiting.delete(look)
        reject(new Error(`${what} did not come; spans: ${spans.map(({ name }) => name).join(', ')}`))
      }, 60_000)
      const look = () => {
        if (!seen()) return
        waiting.delete(look)
        clearTimeout(deadline)
        resolve()
      }
      waiting.add(look)
      look()
    })
  const ofTrace = (traceId: string) => spans.filter((span) => span.traceId === traceId)
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    spans,
    histograms,
    until,
    async trace(traceId, count) {
      await until(`${count} spans of ${traceId}`, () => ofTrace(traceId).length >= count)
      return ofTrace(traceId)
    },
  }
}

function attributesOf(list: Loose[] = []): Record<string, string | number> {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue ?? value.doubleValue)]),
  )
}

function spansOf({ resource, scopeSpans }: Loose): CollectedSpan[] {
  const of = attributesOf(resource.attributes)
  return scopeSpans.flatMap(({ spans }: Loose) =>
    spans.map(({ attributes, links = [], ...span }: Loose) => ({
      ...span,
      links,
      attributes: attributesOf(attributes),
      resource: of,
    })),
  )
}

/** Of `ExportTraceServiceRequest` (opentelemetry-proto, trace/v1/trace.proto). */
function binarySpansOf(request: Fields): CollectedSpan[] {
  return request.messages(1).flatMap((resourceSpans) => {
    const resource = binaryAttributesOf(resourceSpans.messages(1)[0]!, 1)
    const spans = resourceSpans.messages(2).flatMap((scopeSpans) => scopeSpans.messages(2))
    return spans.map((span) => {
      const [status] = span.messages(15)
      return {
        traceId: span.hex(1)!,
        spanId: span.hex(2)!,
        ...(span.hex(4) !== undefined && { parentSpanId: span.hex(4)! }),
        name: span.text(5)!,
        kind: Number(span.number(6)),
        startTimeUnixNano: String(span.number(7)),
        endTimeUnixNano: String(span.number(8)),
        attributes: binaryAttributesOf(span, 9),
        links: span.messages(13).map((link) => ({ traceId: link.hex(1)!, spanId: link.hex(2)! })),
        status: status ? { code: Number(status.number(3)), message: status.text(2) ?? '' } : {},
        resource,
      }
    })
  })
}

function binaryAttributesOf(of: Fields, field: number): Record<string, string | number> {
  return Object.fromEntries(
    of.messages(field).map((pair) => {
      const [value] = pair.messages(2)
      return [pair.text(1)!, value!.text(1) ?? Number(value!.number(3))]
    }),
  )
}

function histogramsOf({ scopeMetrics }: Loose): CollectedHistogram[] {
  return scopeMetrics.flatMap(({ metrics }: Loose) =>
    metrics.map(({ name, unit, histogram }: Loose) => ({
      name,
      unit,
      points: histogram.dataPoints.map((point: Loose) => ({
        attributes: attributesOf(point.attributes),
        count: Number(point.count),
        bounds: point.explicitBounds,
        counts: point.bucketCounts.map(Number),
      })),
    })),
  )
}

import {
  createTraceState,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type Tracer as SdkTracer,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  ValueType,
} from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'
import type { MetricData, MetricProducer } from '@opentelemetry/sdk-metrics'
import type { Sampler } from '@opentelemetry/sdk-trace'
import { withoutEndSlashes } from '../text/index.ts'
import { requirePackages } from '../text/packages.ts'
import { BUCKETS } from './durations.ts'
import type { Logger } from './log.ts'
import type { Counts } from './metrics.ts'
import { seldom } from './seldom.ts'
import type { Attributes, Span, SpanError, SpanStart, TraceContext, Tracer } from './trace.ts'
import { unexpected } from './unexpected.ts'

/** Sends spans and metrics by OTLP. Loaded only where the settings ask for it, as are the packages of the SDK. */

/** `telemetry` of the settings. */
export interface OtlpSettings {
  otlp: {
    endpoint?: string
    headers?: Record<string, string>
    signals: readonly ('traces' | 'metrics')[]
    sampling?: number
  }
}

export interface OtlpParts {
  log: Logger
  version: string
  env: Readonly<Record<string, string | undefined>>
  /** Histograms of the gateway. */
  durations(): Promise<readonly Counts[]>
}

export interface OpenTelemetry {
  /** Absent: spans are not sent. */
  tracer?: Tracer
  /** Sends what waits, if that does not take long. */
  close(): Promise<void>
}

const SCOPE = 'plantgw'
/** Milliseconds between two lines of the log about a collector that does not take what it is sent. */
const EVERY = 300_000
/** Maximum queued spans; further ones are dropped. */
const MAX_WAITING = 4096
/** Limit for spans that unauthenticated clients can cause, which leaves room for spans of calls. */
const MAX_MINOR = 512

const sdk = {
  resources: () => import('@opentelemetry/resources'),
  traces: () => import('@opentelemetry/sdk-trace'),
  spans: {
    'http/json': () => import('@opentelemetry/exporter-trace-otlp-http'),
    'http/protobuf': () => import('@opentelemetry/exporter-trace-otlp-proto'),
  },
  metrics: () => import('@opentelemetry/sdk-metrics'),
  measures: {
    'http/json': () => import('@opentelemetry/exporter-metrics-otlp-http'),
    'http/protobuf': () => import('@opentelemetry/exporter-metrics-otlp-proto'),
  },
}

/** @throws Error that says what to install, or which variable of the environment cannot be served */
export async function openTelemetry(settings: OtlpSettings, parts: OtlpParts): Promise<OpenTelemetry> {
  const { env, version, durations } = parts
  if (env.OTEL_SDK_DISABLED === 'true') return { close: async () => {} }
  const { otlp } = settings
  const protocol = protocolOf(env)
  requirePackages(`OTLP over ${protocol}`)
  const resource = await resourceOf(version)
  const lost = reportLost(parts.log)
  const closing: (() => Promise<void>)[] = []
  let tracer: Tracer | undefined
  if (otlp.signals.includes('traces')) {
    const { OTLPTraceExporter } = await sdk.spans[protocol]()
    const { BatchSpanProcessor, TracerProvider } = await sdk.traces()
    const sampler = await samplerOf(otlp.sampling, env)
    const [major, minor] = [MAX_WAITING, MAX_MINOR].map((maxQueueSize) => {
      const exporter = reported(new OTLPTraceExporter(addressOf(otlp, 'v1/traces')), lost)
      const delay = numberOf(env, 'OTEL_BSP_SCHEDULE_DELAY', 'scheduledDelayMillis')
      const spanProcessors = [new BatchSpanProcessor({ exporter, maxQueueSize, ...delay })]
      const provider = new TracerProvider({ resource, sampler, spanProcessors })
      closing.push(() => provider.shutdown())
      return provider.getTracer(SCOPE, version)
    })
    tracer = tracerOf(major!, minor!)
  }
  if (otlp.signals.includes('metrics')) {
    const { OTLPMetricExporter } = await sdk.measures[protocol]()
    const { MeterProvider, PeriodicExportingMetricReader } = await sdk.metrics()
    const exporter = reported(new OTLPMetricExporter(addressOf(otlp, 'v1/metrics')), lost)
    const reader = new PeriodicExportingMetricReader({
      exporter,
      metricProducers: [await producerOf(durations, resource, version)],
      ...numberOf(env, 'OTEL_METRIC_EXPORT_INTERVAL', 'exportIntervalMillis'),
    })
    const provider = new MeterProvider({ resource, readers: [reader] })
    closing.push(() => provider.shutdown())
  }
  return { ...(tracer && { tracer }), close: () => closed(closing, lost) }
}

function protocolOf({ OTEL_EXPORTER_OTLP_PROTOCOL: given }: OtlpParts['env']) {
  const protocol = given || 'http/protobuf'
  if (protocol === 'http/json' || protocol === 'http/protobuf') return protocol
  throw new Error(
    `OTEL_EXPORTER_OTLP_PROTOCOL is ${JSON.stringify(protocol)}: write http/protobuf or http/json`,
  )
}

function addressOf({ endpoint, headers }: OtlpSettings['otlp'], path: string) {
  return {
    ...(endpoint !== undefined && { url: `${withoutEndSlashes(endpoint)}/${path}` }),
    ...(headers && { headers }),
  }
}

function numberOf<Option extends string>(env: OtlpParts['env'], name: string, option: Option) {
  const value = Number(env[name] || Number.NaN)
  return value > 0 ? ({ [option]: value } as Record<Option, number>) : {}
}

async function resourceOf(version: string): Promise<Resource> {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await sdk.resources()
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'plantgw', 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }))
}

/** The sampler of the setting, else of the variables in the OpenTelemetry specification. */
async function samplerOf(sampling: number | undefined, env: OtlpParts['env']): Promise<Sampler> {
  const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } =
    await sdk.traces()
  const ratio = sampling ?? Number(env.OTEL_TRACES_SAMPLER_ARG || 1)
  const samplers: Record<string, Sampler> = {
    always_on: new AlwaysOnSampler(),
    always_off: new AlwaysOffSampler(),
    traceidratio: new TraceIdRatioBasedSampler(ratio),
  }
  const name =
    sampling === undefined ? env.OTEL_TRACES_SAMPLER || 'parentbased_always_on' : 'parentbased_traceidratio'
  const root = samplers[name.replace('parentbased_', '')]
  if (!root)
    throw new Error(`OTEL_TRACES_SAMPLER is ${JSON.stringify(name)}: write one of ${Object.keys(samplers)}`)
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

/** A collector that is down is spoken of once in a while, however much is not sent. */
function reportLost(log: Logger): (error: Error | undefined) => void {
  const say = seldom(EVERY, ({ reason }: { reason: string }, left) =>
    log.warn({ reason, ...left }, 'spans or metrics could not be sent to the OTLP endpoint'),
  )
  return (error) => say('', { reason: (error?.message || error?.name || 'unknown').slice(0, 200) })
}

/** @param result its code is 0 where the items were taken */
type Done = (result: { code: number; error?: Error }) => void

interface Exporter<Items> {
  export(items: Items, done: Done): void
}

/** Reports what an exporter could not send. */
function reported<Items, Kind extends Exporter<Items>>(
  exporter: Kind,
  lost: (error: Error | undefined) => void,
): Kind {
  const send = exporter.export.bind(exporter)
  exporter.export = (items, done) =>
    send(items, (result) => {
      if (result.code !== 0) lost(result.error)
      done(result)
    })
  return exporter
}

async function closed(
  closing: readonly (() => Promise<void>)[],
  lost: (error: Error) => void,
): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      lost(new Error(`it did not take within 2 s what waited at the end`))
      resolve()
    }, 2_000)
  })
  // Failed exports were reported already.
  const sent = Promise.allSettled(closing.map((close) => close())).then(() => {})
  await Promise.race([sent, late]).catch(unexpected('the end of telemetry'))
  clearTimeout(timer)
}

/** Gives the SDK what `/metrics` shows too: nothing is counted twice. */
async function producerOf(
  durations: OtlpParts['durations'],
  resource: Resource,
  version: string,
): Promise<MetricProducer> {
  const { AggregationTemporality, DataPointType } = await sdk.metrics()
  const hrTime = (ms: number): [number, number] => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]
  const startTime = hrTime(Date.now())
  const metricOf = ({ name, help, cells }: Counts, endTime: [number, number]): MetricData => ({
    descriptor: { name, description: help, unit: 's', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: cells.map(({ attributes, counts, sum }) => ({
      startTime,
      endTime,
      attributes,
      value: {
        buckets: { boundaries: BUCKETS, counts },
        sum,
        count: counts.reduce((total, count) => total + count, 0),
      },
    })),
  })
  return {
    async collect() {
      const all = await durations()
      const now = hrTime(Date.now())
      const metrics = all.filter(({ cells }) => cells.length).map((each) => metricOf(each, now))
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: SCOPE, version }, metrics }] },
        errors: [],
      }
    },
  }
}

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

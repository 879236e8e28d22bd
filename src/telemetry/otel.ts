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
import { requirePackages } from '../durable/packages.ts'
import { BUCKETS, type Durations } from './durations.ts'
import type { Logger } from './log.ts'
import { seldom } from './seldom.ts'
import type { Attributes, Span, SpanError, TraceContext, Tracer } from './trace.ts'
import { unexpected } from './unexpected.ts'

/** Sends spans and metrics by OTLP. Loaded only where the settings ask for it, as are the packages of the SDK. */

/** `telemetry` of the settings. */
export interface OtlpSettings {
  serviceName?: string
  otlp: {
    endpoint?: string
    protocol?: 'http/protobuf' | 'http/json'
    headers?: Record<string, string>
    signals: readonly ('traces' | 'metrics')[]
    sampling?: number
  }
}

export interface OtlpParts {
  log: Logger
  version: string
  env: Readonly<Record<string, string | undefined>>
  durations: readonly Durations[]
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
/** Milliseconds for what waits at the end. */
const PATIENCE = 2_000
/** Spans that wait at the most; further ones are dropped. */
const MAX_QUEUE = 4096

const sdk = {
  resources: () => import('@opentelemetry/resources'),
  trace: () => import('@opentelemetry/sdk-trace'),
  metrics: () => import('@opentelemetry/sdk-metrics'),
  traces: {
    'http/json': () => import('@opentelemetry/exporter-trace-otlp-http'),
    'http/protobuf': () => import('@opentelemetry/exporter-trace-otlp-proto'),
  },
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
  const protocol = protocolOf(otlp.protocol, env)
  requirePackages(`OTLP over ${protocol}`)
  const resource = await resourceOf(settings, version)
  const lost = reportLost(parts.log)
  const closing: (() => Promise<void>)[] = []
  let tracer: Tracer | undefined
  if (otlp.signals.includes('traces')) {
    const { OTLPTraceExporter } = await sdk.traces[protocol]()
    const { BatchSpanProcessor, TracerProvider, ...samplers } = await sdk.trace()
    const exporter = reported(new OTLPTraceExporter(addressOf(otlp, 'v1/traces')), lost)
    const processor = new BatchSpanProcessor({
      exporter,
      maxQueueSize: MAX_QUEUE,
      ...numberOf(env, 'OTEL_BSP_SCHEDULE_DELAY', 'scheduledDelayMillis'),
    })
    const sampler = samplerOf(samplers, otlp.sampling, env)
    const provider = new TracerProvider({ resource, sampler, spanProcessors: [processor] })
    tracer = tracerOf(provider.getTracer(SCOPE, version))
    closing.push(() => provider.shutdown())
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

function protocolOf(given: OtlpSettings['otlp']['protocol'], env: OtlpParts['env']) {
  const protocol = given ?? (env.OTEL_EXPORTER_OTLP_PROTOCOL || 'http/protobuf')
  if (protocol === 'http/json' || protocol === 'http/protobuf') return protocol
  throw new Error(
    `OTEL_EXPORTER_OTLP_PROTOCOL is ${JSON.stringify(protocol)}: write http/protobuf or http/json, or set telemetry.otlp.protocol`,
  )
}

function addressOf({ endpoint, headers }: OtlpSettings['otlp'], path: string) {
  return {
    ...(endpoint !== undefined && { url: `${endpoint.replace(/(?<!\/)\/*$/, '')}/${path}` }),
    ...(headers && { headers }),
  }
}

function numberOf<Option extends string>(env: OtlpParts['env'], name: string, option: Option) {
  const value = Number(env[name] || Number.NaN)
  return value > 0 ? ({ [option]: value } as Record<Option, number>) : {}
}

async function resourceOf({ serviceName }: OtlpSettings, version: string): Promise<Resource> {
  const { defaultResource, detectResources, envDetector, resourceFromAttributes } = await sdk.resources()
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': 'plantgw', 'service.version': version }))
    .merge(detectResources({ detectors: [envDetector] }))
    .merge(resourceFromAttributes(serviceName === undefined ? {} : { 'service.name': serviceName }))
}

type Samplers = Pick<
  typeof import('@opentelemetry/sdk-trace'),
  'AlwaysOffSampler' | 'AlwaysOnSampler' | 'ParentBasedSampler' | 'TraceIdRatioBasedSampler'
>

/** By the setting, else by the variables of the specification of OpenTelemetry. */
function samplerOf(sdk: Samplers, sampling: number | undefined, env: OtlpParts['env']): Sampler {
  const { AlwaysOffSampler, AlwaysOnSampler, ParentBasedSampler, TraceIdRatioBasedSampler } = sdk
  const given = env.OTEL_TRACES_SAMPLER_ARG
  const root: Record<string, () => Sampler> = {
    always_on: () => new AlwaysOnSampler(),
    always_off: () => new AlwaysOffSampler(),
    traceidratio: () => {
      const part = sampling ?? (given ? Number(given) : 1)
      return part === 1 ? new AlwaysOnSampler() : new TraceIdRatioBasedSampler(part)
    },
  }
  const name =
    sampling === undefined ? env.OTEL_TRACES_SAMPLER || 'parentbased_always_on' : 'parentbased_traceidratio'
  const make = root[name.replace('parentbased_', '')]
  if (!make)
    throw new Error(`OTEL_TRACES_SAMPLER is ${JSON.stringify(name)}: write one of ${Object.keys(root)}`)
  return name.startsWith('parentbased_') ? new ParentBasedSampler({ root: make() }) : make()
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
      lost(new Error(`it did not take within ${PATIENCE / 1000} s what waited at the end`))
      resolve()
    }, PATIENCE)
  })
  // What could not be sent was reported.
  const sent = Promise.allSettled(closing.map((close) => close())).then(() => {})
  await Promise.race([sent, late]).catch(unexpected('the end of telemetry'))
  clearTimeout(timer)
}

function tracerOf(sdk: SdkTracer): Tracer {
  return {
    server(name, attributes, parent, link) {
      const from = parent && spanContext(parent)
      const context = from ? trace.setSpanContext(ROOT_CONTEXT, from) : ROOT_CONTEXT
      const links = link ? [{ context: spanContext(link) }] : []
      return new TracedSpan(sdk, sdk.startSpan(name, { kind: SpanKind.SERVER, attributes, links }, context))
    },
  }
}

function spanContext({ traceparent, tracestate }: TraceContext): SpanContext {
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16) & 1,
    isRemote: true,
    ...(tracestate !== undefined && { traceState: createTraceState(tracestate) }),
  }
}

/** What nobody may ask for is made when it is asked for. */
class TracedSpan implements Span {
  constructor(
    private readonly sdk: SdkTracer,
    private readonly span: SdkSpan,
  ) {}

  get traceId(): string {
    return this.span.spanContext().traceId
  }

  get spanId(): string {
    return this.span.spanContext().spanId
  }

  get context(): TraceContext {
    const { traceId, spanId, traceFlags, traceState } = this.span.spanContext()
    const traceparent = `00-${traceId}-${spanId}-0${traceFlags & 1}`
    const tracestate = traceState?.serialize()
    return tracestate ? { traceparent, tracestate } : { traceparent }
  }

  client(name: string, attributes: Attributes): Span {
    const { sdk, span } = this
    const within = trace.setSpan(ROOT_CONTEXT, span)
    return new TracedSpan(sdk, sdk.startSpan(name, { kind: SpanKind.CLIENT, attributes }, within))
  }

  end(attributes: Attributes, error?: SpanError): void {
    const { span } = this
    if (span.isRecording()) {
      span.setAttributes(attributes)
      if (error) {
        const { type, message } = error
        span.setAttribute('error.type', type)
        span.setStatus({ code: SpanStatusCode.ERROR, ...(message !== undefined && { message }) })
      }
    }
    span.end()
  }
}

/** Gives the SDK what `/metrics` shows too: nothing is counted twice. */
async function producerOf(
  durations: readonly Durations[],
  resource: Resource,
  version: string,
): Promise<MetricProducer> {
  const { AggregationTemporality, DataPointType } = await sdk.metrics()
  const hrTime = (ms: number): [number, number] => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]
  const startTime = hrTime(Date.now())
  const metricOf = ({ name, help, cells }: Durations, endTime: [number, number]): MetricData => ({
    descriptor: { name, description: help, unit: 's', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: cells.map(({ attributes, counts, sum }) => ({
      startTime,
      endTime,
      attributes,
      value: {
        buckets: { boundaries: BUCKETS, counts: [...counts] },
        sum,
        count: counts.reduce((total, count) => total + count, 0),
      },
    })),
  })
  return {
    async collect() {
      const now = hrTime(Date.now())
      const metrics = durations.filter(({ cells }) => cells.length).map((each) => metricOf(each, now))
      return {
        resourceMetrics: { resource, scopeMetrics: [{ scope: { name: SCOPE, version }, metrics }] },
        errors: [],
      }
    },
  }
}

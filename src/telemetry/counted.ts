import { AggregatorRegistry, type MetricObject, type MetricValue, type Registry } from 'prom-client'

/** Metrics of one process, as plain data for the process that sums them. */
export interface Counted {
  /** Metrics of each registry, in the gateway's order. */
  registries: Metric[][]
}

/** As prom-client gives it; an aggregator that it has by itself is not in its type. */
type Metric = Omit<MetricObject, 'aggregator'> & {
  values?: readonly MetricValue<string>[]
  aggregator?: string
}

/** Metrics that keep the parent's value; prom-client drops them when it aggregates. */
const OF_THE_FIRST = new Set(['process_start_time_seconds'])

export async function countedIn(registries: readonly Registry[]): Promise<Counted> {
  const all = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()))
  return { registries: all.map((metrics) => metrics.map(firstOnly)) }
}

function firstOnly(metric: Metric): Metric {
  return OF_THE_FIRST.has(metric.name) ? { ...metric, aggregator: 'first' } : metric
}

/** Counters and histograms are added; a gauge says itself what it is over all processes. */
export function summed(all: readonly Counted[]): Registry[] {
  return (all[0]?.registries ?? []).map((_, i) => {
    const metrics = all.map(({ registries }) => registries[i] ?? [])
    return AggregatorRegistry.aggregate(metrics as MetricObject[][]) as unknown as Registry
  })
}

/** The metrics that remain of an ended process. */
export function withoutGauges({ registries }: Counted): Counted {
  return { registries: registries.map((metrics) => metrics.filter(isCounter)) }
}

/** The type is a word where it was read as JSON, and a number in prom-client's own types. */
function isCounter({ type }: Metric): boolean {
  return String(type) === 'counter' || String(type) === 'histogram'
}

/** The sum of the metrics of two ended processes. */
export function folded(one: Counted | undefined, other: Counted): Counted {
  return one ? { registries: summed([one, other]).map(metricsIn) } : other
}

/** Aggregated metrics keep their values beside `get`, which is removed. */
function metricsIn(registry: Registry): Metric[] {
  return (registry.getMetricsAsArray() as unknown as (Metric & { get: unknown })[]).map(
    ({ get: _, ...metric }) => metric,
  )
}

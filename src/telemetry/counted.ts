import { AggregatorRegistry, type MetricObject, type MetricValue, type Registry } from 'prom-client'

/** What one process has counted, as plain data for the process that adds it up. */
export interface Counted {
  /** Of each registry, in the order of the gateway. */
  registries: Metric[][]
}

/** As prom-client gives it; an aggregator that it has by itself is not in its type. */
type Metric = Omit<MetricObject, 'aggregator'> & {
  values?: readonly MetricValue<string>[]
  aggregator?: string
}

/** Of the process that asks it stays; prom-client leaves it out where there are several. */
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

/** What stays of a process that has ended. */
export function withoutGauges({ registries }: Counted): Counted {
  return { registries: registries.map((metrics) => metrics.filter(isCounter)) }
}

/** The type is a word where it was read as JSON, and a number in prom-client's own types. */
function isCounter({ type }: Metric): boolean {
  return String(type) === 'counter' || String(type) === 'histogram'
}

/** What two processes have counted that have ended, as one. */
export function folded(one: Counted | undefined, other: Counted): Counted {
  return one ? { registries: summed([one, other]).map(metricsIn) } : other
}

/** What was added up keeps its values beside the function that gives them. */
function metricsIn(registry: Registry): Metric[] {
  return (registry.getMetricsAsArray() as unknown as (Metric & { get: unknown })[]).map(
    ({ get: _, ...metric }) => metric,
  )
}

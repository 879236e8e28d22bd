import { AggregatorRegistry, type MetricObject, type MetricValue, type Registry } from 'prom-client'
import { type Cell, Durations } from './durations.ts'

/** What one process has counted, as plain data for the process that adds it up. */
export interface Counted {
  /** Of each histogram of the semantic conventions, in the order of the gateway. */
  durations: Cell[][]
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

export async function countedIn(
  durations: readonly Durations[],
  registries: readonly Registry[],
): Promise<Counted> {
  const all = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()))
  return {
    durations: durations.map(({ cells }) => cells),
    registries: all.map((metrics) => metrics.map(firstOnly)),
  }
}

function firstOnly(metric: Metric): Metric {
  return OF_THE_FIRST.has(metric.name) ? { ...metric, aggregator: 'first' } : metric
}

/** Counters and histograms are added; a gauge says itself what it is over all processes. */
export function summed(
  durations: readonly Durations[],
  all: readonly Counted[],
): { durations: Durations[]; registries: Registry[] } {
  const [first] = all
  return {
    durations: durations.map(({ name, help, attributes }, i) => {
      const sum = new Durations(name, help, attributes)
      for (const one of all) sum.add(one.durations[i] ?? [])
      return sum
    }),
    registries: (first?.registries ?? []).map((_, i) => {
      const metrics = all.map(({ registries }) => registries[i] ?? [])
      return AggregatorRegistry.aggregate(metrics as MetricObject[][]) as unknown as Registry
    }),
  }
}

/** What stays of a process that has ended. */
export function withoutGauges({ durations, registries }: Counted): Counted {
  return { durations, registries: registries.map((metrics) => metrics.filter(isCounter)) }
}

/** The type is a word where it was read as JSON, and a number in prom-client's own types. */
function isCounter({ type }: Metric): boolean {
  return String(type) === 'counter' || String(type) === 'histogram'
}

/** What two processes have counted that have ended, as one. */
export function folded(one: Counted | undefined, other: Counted): Counted {
  if (!one) return other
  const histograms = other.durations.map((cells, i) => {
    const all = [...(one.durations[i] ?? []), ...cells]
    const names = new Set(all.flatMap(({ attributes }) => Object.keys(attributes)))
    return new Durations('', '', [...names])
  })
  const { durations, registries } = summed(histograms, [one, other])
  return {
    durations: durations.map(({ cells }) => cells),
    registries: registries.map((registry) => metricsIn(registry)),
  }
}

/** What was added up keeps its values beside the function that gives them. */
function metricsIn(registry: Registry): Metric[] {
  return (registry.getMetricsAsArray() as unknown as (Metric & { get: unknown })[]).map(
    ({ get: _, ...metric }) => metric,
  )
}

import { Histogram, type MetricValue, type Registry } from 'prom-client'

/** Seconds, as the semantic conventions of MCP want them. */
export const BUCKETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** Requests or sessions with the same attributes. */
interface Cell {
  attributes: Record<string, string>
  /** How many were as quick as each bucket and not as quick as the one before; the last one holds the rest. */
  counts: number[]
  sum: number
}

/** A histogram of OpenTelemetry, which Prometheus reads too. */
export class Durations {
  /** Name of the metric in Prometheus. */
  readonly metricName: string
  private readonly metric: Histogram
  private readonly labels: readonly string[]

  /** @param name of OpenTelemetry, with dots, as are the names of the attributes */
  constructor(
    readonly name: string,
    readonly help: string,
    private readonly attributes: readonly string[],
    registers: Registry[],
  ) {
    this.labels = attributes.map(underscored)
    this.metricName = `${underscored(name)}_seconds`
    this.metric = new Histogram({
      name: this.metricName,
      help,
      labelNames: this.labels,
      buckets: BUCKETS,
      registers,
    })
  }

  /** @param values of the attributes, in their order; undefined: none */
  observe(values: readonly (string | undefined)[], seconds: number): void {
    const labels: Record<string, string> = {}
    for (const [i, value] of values.entries()) if (value !== undefined) labels[this.labels[i]!] = value
    this.metric.observe(labels, seconds)
  }

  /** @param values of the metric, or of its sum over several processes, as prom-client gives them */
  cells(values: readonly (MetricValue<string> & { metricName?: string })[]): Cell[] {
    const cells = new Map<string, Cell>()
    for (const { metricName = '', labels, value } of values) {
      const { le, ...own } = labels
      const key = JSON.stringify(own)
      const cell = cells.get(key) ?? { attributes: this.attributesOf(own), counts: [], sum: 0 }
      cells.set(key, cell)
      if (metricName.endsWith('_sum')) cell.sum = value
      // prom-client counts in each bucket what was quicker, too.
      else if (le !== undefined)
        cell.counts.push(value - cell.counts.reduce((total, count) => total + count, 0))
    }
    return [...cells.values()]
  }

  private attributesOf(labels: MetricValue<string>['labels']): Record<string, string> {
    const pairs = Object.entries(labels).map(([label, value]) => [
      this.attributes[this.labels.indexOf(label)],
      String(value),
    ])
    return Object.fromEntries(pairs)
  }
}

/** A name of OpenTelemetry as Prometheus writes it. */
function underscored(name: string): string {
  return name.replaceAll('.', '_')
}

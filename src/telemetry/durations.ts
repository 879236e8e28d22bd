import type { Metric } from 'prom-client'
import type { Outcome } from './outcome.ts'

/** Seconds. */
const BUCKETS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30]

/** Calls of one method at one prefix that came to one outcome. */
interface Cell {
  labels: { tenant: string; prefix: string; method: string; outcome: Outcome }
  /** How many were as quick as each bucket and not as quick as the one before; the last one holds the rest. */
  counts: number[]
  sum: number
}

/**
 * A histogram in prom-client's form that finds its cell by words: prom-client's own joins all labels into a string for
 * each observation, which takes 0.7 µs beside 0.02 µs here, 1.5 % of a proxied call.
 */
export class Durations {
  private readonly tenants = new Map<string, Map<string, Map<string, Partial<Record<Outcome, Cell>>>>>()

  constructor(
    private readonly name: string,
    private readonly help: string,
  ) {}

  /** For `Registry.registerMetric`. */
  get metric(): Metric {
    const { name, help } = this
    const get = async () => ({ name, help, type: 'histogram', aggregator: 'sum', values: this.values() })
    return { name, get } as unknown as Metric
  }

  observe(tenant: string, prefix: string, method: string, outcome: Outcome, seconds: number): void {
    const prefixes = this.tenants.get(tenant) ?? set(this.tenants, tenant, new Map())
    const methods = prefixes.get(prefix) ?? set(prefixes, prefix, new Map())
    const outcomes = methods.get(method) ?? set(methods, method, {})
    outcomes[outcome] ??= {
      labels: { tenant, prefix, method, outcome },
      counts: new Array(BUCKETS.length + 1).fill(0),
      sum: 0,
    }
    const cell = outcomes[outcome]
    let i = 0
    while (i < BUCKETS.length && seconds > BUCKETS[i]!) i++
    cell.counts[i]!++
    cell.sum += seconds
  }

  private *cells(): Iterable<Cell> {
    for (const prefixes of this.tenants.values())
      for (const methods of prefixes.values())
        for (const outcomes of methods.values()) yield* Object.values(outcomes)
  }

  private values() {
    const { name } = this
    return [...this.cells()].flatMap(({ labels, counts, sum }) => {
      let count = 0
      const buckets = [...BUCKETS, '+Inf'].map((le, i) => {
        count += counts[i]!
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count }
      })
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: count },
      ]
    })
  }
}

function set<Value>(map: Map<string, Value>, key: string, value: Value): Value {
  map.set(key, value)
  return value
}

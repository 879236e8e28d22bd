import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Outcome } from './outcome.ts'
import { unexpectedCount } from './unexpected.ts'

/** A call that is over, as metrics count it. */
export interface CallRecord {
  tenant: string
  prefix: string
  /** Of MCP. */
  method: string
  /** Only where the tools are the gateway's own: names that others choose would be metrics without number. */
  tool?: string
  ms: number
  outcome: Outcome
}

/** What came of a reload: `refused` when a configuration was. */
export type ReloadOutcome = 'applied' | 'unchanged' | 'refused' | 'failed'

/** A value of the moment, read when metrics are asked for. */
export interface Sample {
  labels: Record<string, string>
  value: number
}

export interface GaugeDefinition {
  name: string
  help: string
  read(): readonly Sample[]
}

export interface Metrics {
  call(record: CallRecord): void
  reload(triggers: readonly string[], outcome: ReloadOutcome): void
  /** A request that was sent to the replica that holds its session. */
  forwarded(prefix: string, outcome: 'ok' | 'gone' | 'failed'): void
  /** All of it in the text format of Prometheus 0.0.4. */
  text(): Promise<string>
  contentType: string
}

/** Methods that are told apart; any other is `other`, as clients may send what they like. */
const METHODS = new Set([
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
])

/**
 * Metrics of one gateway, and of the process it is in. Names begin with `plantgw_`, `process_` and `nodejs_`.
 * @param refusals by the limit of the settings, since the process began
 */
export function createMetrics(
  gauges: readonly GaugeDefinition[],
  refusals: () => ReadonlyMap<string, number>,
): Metrics {
  const registry = new Registry()
  const registers = [registry]
  // An observation costs 1 µs, of a call that costs 80.
  const durations = new Histogram({
    name: 'plantgw_call_duration_seconds',
    help: 'Time of calls that ended, by prefix and method of MCP',
    labelNames: ['tenant', 'prefix', 'method', 'outcome'] as const,
    buckets: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30],
    registers,
  })
  const toolCalls = new Counter({
    name: 'plantgw_tool_calls_total',
    help: 'Calls of HTTP tools that ended',
    labelNames: ['tenant', 'prefix', 'tool', 'outcome'] as const,
    registers,
  })
  const reloads = new Counter({
    name: 'plantgw_reloads_total',
    help: 'Reloads, by what asked for them and what came of them',
    labelNames: ['trigger', 'outcome'] as const,
    registers,
  })
  const forwards = new Counter({
    name: 'plantgw_forwarded_requests_total',
    help: 'Requests sent to the replica that holds their session',
    labelNames: ['prefix', 'outcome'] as const,
    registers,
  })
  new Counter({
    name: 'plantgw_internal_errors_total',
    help: "Faults of the gateway's own, each of which is an error in the log",
    registers,
    collect() {
      this.reset()
      this.inc(unexpectedCount())
    },
  })
  new Counter({
    name: 'plantgw_refused_total',
    help: 'What was refused or ended because of a limit of the settings, in this process',
    labelNames: ['limit'] as const,
    registers,
    collect() {
      this.reset()
      for (const [limit, count] of refusals()) this.inc({ limit }, count)
    },
  })
  for (const { name, help, read } of gauges) {
    new Gauge({
      name,
      help,
      labelNames: LABELS,
      registers,
      collect() {
        this.reset()
        for (const { labels, value } of read()) this.set(labels, value)
      },
    })
  }
  return {
    call({ tenant, prefix, method, tool, ms, outcome }) {
      const known = METHODS.has(method) ? method : 'other'
      durations.observe({ tenant, prefix, method: known, outcome }, ms / 1000)
      if (tool !== undefined) toolCalls.inc({ tenant, prefix, tool, outcome })
    },
    reload(triggers, outcome) {
      for (const trigger of triggers) reloads.inc({ trigger, outcome })
    },
    forwarded: (prefix, outcome) => forwards.inc({ prefix, outcome }),
    async text() {
      const parts = await Promise.all([registry.metrics(), metricsOfProcess().metrics()])
      return parts.join('\n')
    },
    contentType: registry.contentType,
  }
}

let ofProcess: Registry | undefined

function metricsOfProcess(): Registry {
  if (!ofProcess) {
    ofProcess = new Registry()
    collectDefaultMetrics({ register: ofProcess })
  }
  return ofProcess
}

/** Labels that a gauge may have. */
const LABELS = ['tenant', 'prefix', 'configuration', 'version', 'state'] as const

// Makes the Grafana dashboard of the metric catalogue; `npm run docs` writes it, and a test compares it with what is committed.
import { SessionRegistry } from '../../src/mcp/index.ts'
import { gaugesOf } from '../../src/server/gauges.ts'
import { createMetrics, type MetricDefinition } from '../../src/telemetry/metrics.ts'

interface Target {
  expr: string
  legendFormat: string
}

interface Panel {
  title: string
  description: string
  unit: string
  targets: Target[]
}

const RATE = '[$__rate_interval]'
/** What the variables of the dashboard choose. */
const CHOSEN = ['tenant', 'prefix']
/** Rows by the beginnings of names, in their order; the first that fits takes a metric. */
const ROWS: readonly [title: string, ...beginnings: string[]][] = [
  ['Calls of clients', 'mcp_server_', 'plantgw_tool_calls', 'plantgw_approvals'],
  ['MCP servers and upstreams', 'mcp_client_', 'plantgw_upstream_'],
  ['Refused', 'plantgw_refused', 'plantgw_rate_', 'plantgw_outbound_'],
  ['Gateway', ''],
]
/** Of prom-client, for the process. */
const PROCESS: readonly Panel[] = [
  panel('process_cpu_seconds_total', 'CPU', 'percentunit', `rate(process_cpu_seconds_total${RATE})`),
  panel('process_resident_memory_bytes', 'Memory', 'bytes', 'process_resident_memory_bytes'),
  panel('nodejs_eventloop_lag_p99_seconds', 'Event loop lag, p99', 's', 'nodejs_eventloop_lag_p99_seconds'),
]

function panel(description: string, title: string, unit: string, expr: string): Panel {
  return { title, description, unit, targets: [{ expr, legendFormat: '__auto' }] }
}

/** The catalogue of a gateway that serves nothing. */
function catalogue(): readonly MetricDefinition[] {
  const none = (): never => {
    throw new Error('the values of metrics are not read here')
  }
  const readiness = { unready: none, lastGood: 0 }
  return createMetrics(gaugesOf({ live: none, registry: new SessionRegistry(), readiness }), () => new Map())
    .catalogue
}

const legend = (labels: readonly string[]) =>
  labels.length ? labels.map((label) => `{{${label}}}`).join(' ') : '__auto'

function selector(labels: readonly string[]): string {
  const chosen = CHOSEN.filter((label) => labels.includes(label)).map((label) => `${label}=~"$${label}"`)
  return chosen.length ? `{${chosen.join(',')}}` : ''
}

function panelsOf({ name, help, type, labels }: MetricDefinition): Panel[] {
  const chosen = selector(labels)
  const description = `${name}: ${help}`
  if (type === 'counter') {
    const by = labels.length ? ` by (${labels.join(', ')})` : ''
    const expr = `sum${by} (rate(${name}${chosen}${RATE}))`
    return [{ title: help, description, unit: 'ops', targets: [{ expr, legendFormat: legend(labels) }] }]
  }
  // Many a gauge has labels on some of its values only.
  if (type === 'gauge') return [panel(description, help, unitOf(name), name)]
  const told = ['mcp_method_name', 'server', 'outcome', 'prefix'].filter((label) => labels.includes(label))
  const count = `sum by (${told.join(', ')}) (rate(${name}_count${chosen}${RATE}))`
  const quantiles = [0.5, 0.95, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (le) (rate(${name}_bucket${chosen}${RATE})))`,
    legendFormat: `p${quantile * 100}`,
  }))
  const failed = `sum by (error_type) (rate(${name}_count{${[...chosen.slice(1, -1).split(','), 'error_type!=""'].join(',')}}${RATE}))`
  // How often the gateway itself measures says nothing.
  const isCounted = labels.length > 0
  return [
    ...(isCounted
      ? [
          {
            title: `${help}: rate`,
            description,
            unit: 'ops',
            targets: [{ expr: count, legendFormat: legend(told) }],
          },
        ]
      : []),
    ...(labels.includes('error_type')
      ? [
          {
            title: `${help}: errors`,
            description,
            unit: 'ops',
            targets: [{ expr: failed, legendFormat: '{{error_type}}' }],
          },
        ]
      : []),
    { title: `${help}: quantiles`, description, unit: 's', targets: quantiles },
  ]
}

function unitOf(name: string): string {
  if (name.endsWith('_bytes')) return 'bytes'
  return name.endsWith('_timestamp_seconds') ? 'dateTimeFromNow' : 'none'
}

const DATASOURCE = { type: 'prometheus', uid: '$' + '{datasource}' }
const [WIDTH, HEIGHT] = [8, 8]

function drawn({ title, description, unit, targets }: Panel, id: number, x: number, y: number) {
  return {
    id,
    type: 'timeseries',
    title,
    description,
    datasource: DATASOURCE,
    gridPos: { h: HEIGHT, w: WIDTH, x, y },
    fieldConfig: {
      defaults: { unit, custom: { fillOpacity: 10 } },
      overrides: [],
    },
    options: {
      legend: { displayMode: 'list', placement: 'bottom' },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
    targets: targets.map(({ expr, legendFormat }, i) => ({
      refId: String.fromCharCode(65 + i),
      datasource: DATASOURCE,
      expr: unit === 'dateTimeFromNow' ? `${expr} * 1000` : expr,
      legendFormat,
    })),
  }
}

function variable(label: string) {
  const query = `label_values(mcp_server_operation_duration_seconds_count, ${label})`
  return {
    name: label,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query, refId: label },
    definition: query,
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
  }
}

/** The dashboard as Grafana imports it. */
export function dashboard() {
  const metrics = catalogue()
  const rowOf = (name: string) => ROWS.find(([, ...begins]) => begins.some((each) => name.startsWith(each)))
  const rows = ROWS.map((row) => {
    const own = metrics.filter(({ name }) => rowOf(name) === row)
    return [row[0], own.flatMap(panelsOf)] as const
  })
  const panels: object[] = []
  let y = 0
  for (const [title, own] of [...rows, ['Process', PROCESS] as const]) {
    panels.push({ id: panels.length + 1, type: 'row', title, gridPos: { h: 1, w: 24, x: 0, y }, panels: [] })
    y++
    for (const [i, each] of own.entries()) {
      const column = i % (24 / WIDTH)
      panels.push(drawn(each, panels.length + 1, column * WIDTH, y))
      if (column === 24 / WIDTH - 1 || i === own.length - 1) y += HEIGHT
    }
  }
  return {
    uid: 'plantgw',
    title: 'plantgw',
    tags: ['mcp'],
    schemaVersion: 41,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', label: 'data source', type: 'datasource', query: 'prometheus' },
        ...CHOSEN.map(variable),
      ],
    },
    panels,
  }
}

export function dashboardFile(): string {
  return `${JSON.stringify(dashboard(), null, 2)}\n`
}

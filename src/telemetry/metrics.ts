import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { pause } from '../text/index.ts'
import { type Counted, countedIn, summed } from './counted.ts'
import { Durations } from './durations.ts'
import { type Ended, errorTypeOf, statusCodeOf } from './outcome.ts'
import { unexpectedCount } from './unexpected.ts'

/** A call that is over, as metrics count it. */
export interface CallRecord extends Ended {
  tenant: string
  prefix: string
  /** MCP method. */
  method: string
  /** Protocol revision. */
  revision: string
  /** Only where the tools are the gateway's own: names that others choose would be metrics without number. */
  tool?: string | undefined
  ms: number
  /** Characters that the result lacks of the upstream's answer, as it was shaped or too long. */
  savedChars?: number | undefined
  /** Pages of an upstream's list that the result is made of, where there are several. */
  pages?: number | undefined
  /** An `ApprovalOutcome`; absent: no approval was needed. */
  approval?: string | undefined
}

/** A session of a client that is over. */
export interface SessionRecord {
  tenant: string
  prefix: string
  revision: string
  ms: number
}

/** A proxied server. */
export interface ServerLabels {
  tenant: string
  prefix: string
  server: string
  /** `network.transport` of OpenTelemetry. */
  transport: string
}

/** A request to a proxied server that is over. */
export interface UpstreamCallRecord extends Ended {
  of: ServerLabels
  /** MCP method. */
  method: string
  ms: number
}

/** A session with a proxied server that is over. */
export interface UpstreamSessionRecord {
  of: ServerLabels
  revision: string
  ms: number
}

/** An event stream of an MCP server that ended, or is open again. */
export interface StreamRecord {
  tenant: string
  prefix: string
  outcome: 'lost' | 'regained'
}

/** A server of HTTP tools. */
export interface UpstreamLabels {
  tenant: string
  server: string
}

/** Secrets of one kind that were taken out of an answer. */
export interface RedactionRecord extends UpstreamLabels {
  /** A `RedactedKind`. */
  kind: string
  count: number
}

/** Result of a reload: `refused` if a configuration was refused. */
export type ReloadOutcome = 'applied' | 'unchanged' | 'refused' | 'failed'

/** A value of the moment, read when metrics are asked for. */
export interface Sample {
  labels: Record<string, string>
  value: number
}

export interface GaugeDefinition {
  name: string
  help: string
  /** How values of several processes combine. Default: `first`, the value of the parent process. */
  over?: 'sum' | 'max' | 'first'
  read(): readonly Sample[] | Promise<readonly Sample[]>
}

/** Counts of a histogram. */
export type Counts = Pick<Durations, 'name' | 'help'> & { cells: ReturnType<Durations['cells']> }

/** Describes a metric of the gateway for dashboards. */
export interface MetricDefinition {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  /** Label names; for gauges, the possible ones. */
  labels: readonly string[]
}

export type Metrics = ReturnType<typeof createMetrics>

/** Methods that are told apart; any other is `_OTHER`, as clients may send what they like. */
const METHODS = new Set([
  'initialize',
  'ping',
  'server/discover',
  'subscriptions/listen',
  'tools/call',
  'tools/list',
  'prompts/get',
  'prompts/list',
  'resources/read',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
  'skills/list',
  'skills/get',
  'completion/complete',
  'logging/setLevel',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
])

const methodOf = (method: string) => (METHODS.has(method) ? method : '_OTHER')

const TOOL_NAME = 'gen_ai.tool.name'

/** The histograms of the semantic conventions of MCP, with what tells calls of one gateway apart. */
function mcpMetrics(registers: Registry[]) {
  const histogram = (name: string, help: string, attributes: readonly string[]) =>
    new Durations(name, help, attributes, registers)

  const of = ['tenant', 'prefix']
  const server = [...of, 'server', 'network.transport']
  const how = ['outcome', 'error.type', 'rpc.response.status_code']
  const version = 'mcp.protocol.version'
  const calls = histogram('mcp.server.operation.duration', 'Time of requests of clients', [
    ...of,
    'mcp.method.name',
    TOOL_NAME,
    version,
    ...how,
  ])
  const sessions = histogram('mcp.server.session.duration', 'Time of sessions of clients', [...of, version])
  const upstreamCalls = histogram('mcp.client.operation.duration', 'Time of requests to MCP servers', [
    ...server,
    'mcp.method.name',
    ...how,
  ])
  const upstreamSessions = histogram('mcp.client.session.duration', 'Time of sessions with MCP servers', [
    ...server,
    version,
  ])
  const loop = histogram('plantgw.event_loop.delay', 'How late the event loop was', [])
  const ended = (end: Ended) => [end.outcome, errorTypeOf(end), statusCodeOf(end)]
  const serverOf = ({ tenant, prefix, server, transport }: ServerLabels) => [
    tenant,
    prefix,
    server,
    transport,
  ]
  return {
    durations: [calls, sessions, upstreamCalls, upstreamSessions, loop],
    loopDelay: (seconds: number) => loop.observe([], seconds),
    call(record: CallRecord) {
      const { tenant, prefix, method, tool, revision, ms } = record
      calls.observe([tenant, prefix, methodOf(method), tool, revision, ...ended(record)], ms / 1000)
    },
    session: ({ tenant, prefix, revision, ms }: SessionRecord) =>
      sessions.observe([tenant, prefix, revision], ms / 1000),
    upstreamCall(record: UpstreamCallRecord) {
      const { of, method, ms } = record
      upstreamCalls.observe([...serverOf(of), methodOf(method), ...ended(record)], ms / 1000)
    },
    upstreamSession: ({ of, revision, ms }: UpstreamSessionRecord) =>
      upstreamSessions.observe([...serverOf(of), revision], ms / 1000),
  }
}

const CALL = ['tenant', 'prefix', 'tool'] as const

/** Name, help and labels of each counter. */
const COUNTERS = {
  toolCalls: ['plantgw_tool_calls_total', 'Calls of HTTP tools that ended', [...CALL, 'outcome']],
  savedChars: [
    'plantgw_result_saved_chars_total',
    'Characters of answers that clients did not get, as `response` or a limit left them out',
    CALL,
  ],
  furtherPages: [
    'plantgw_further_pages_total',
    'Pages of lists that calls requested behind the first one',
    CALL,
  ],
  approvals: [
    'plantgw_approvals_total',
    'Calls for which a person was to be asked, by what came of it',
    ['tenant', 'prefix', 'outcome'],
  ],
  streams: [
    'plantgw_upstream_streams_total',
    'Event streams of MCP servers that were lost, and that were regained',
    ['tenant', 'prefix', 'outcome'],
  ],
  retries: [
    'plantgw_upstream_retries_total',
    'Requests to upstreams that failed and were repeated, or could not be, by what came of it',
    ['tenant', 'server', 'outcome'],
  ],
  redactions: [
    'plantgw_redacted_secrets_total',
    'Secrets that were taken out of answers of upstreams, by what they are',
    ['tenant', 'server', 'kind'],
  ],
  reloads: [
    'plantgw_reloads_total',
    'Reloads, by what asked for them and what came of them',
    ['trigger', 'outcome'],
  ],
  forwards: [
    'plantgw_forwarded_requests_total',
    'Requests sent to the replica that holds their session',
    ['prefix', 'outcome'],
  ],
  refusedCredentials: [
    'plantgw_refused_credentials_total',
    'Requests whose credentials were missing or unknown, by prefix',
    ['prefix', 'reason'],
  ],
  outbound: [
    'plantgw_outbound_refused_total',
    'Connections that were not made because `outbound` denies their addresses',
    ['tenant', 'class'],
  ],
  rates: [
    'plantgw_rate_refused_total',
    'Requests beyond a `rate`, by prefix and by what it counts apart',
    ['prefix', 'per'],
  ],
  foreignSecrets: [
    'plantgw_foreign_session_ids_total',
    'Session ids that were made with another `cluster.secret`',
    [],
  ],
  auditDropped: [
    'plantgw_audit_dropped_total',
    'Lines of the audit log that were dropped, as it could not be written',
    [],
  ],
} as const

type Counters = {
  readonly [Key in keyof typeof COUNTERS]: Counter<(typeof COUNTERS)[Key][2][number]>
}

function countersOf(registers: Registry[]): Counters {
  const made = Object.entries(COUNTERS).map(([key, [name, help, labelNames]]) => [
    key,
    new Counter({ name, help, labelNames, registers }),
  ])
  return Object.fromEntries(made)
}

/**
 * Metrics of one gateway, and of the process it is in. Names begin with `mcp_`, `plantgw_`, `process_` and `nodejs_`.
 * @param refusals by the limit of the settings, since the process began
 * @param others what other processes of the gateway have counted; absent: none
 */
export function createMetrics(
  gauges: readonly GaugeDefinition[],
  refusals: () => ReadonlyMap<string, number>,
  others?: () => Promise<readonly Counted[]>,
) {
  const registry = new Registry()
  const registers = [registry]
  const mcp = mcpMetrics(registers)
  const counters = countersOf(registers)
  countElsewhere(registers, refusals)
  for (const gauge of gauges) addGauge(gauge, registers)
  const counted = () => countedIn([registry, metricsOfProcess()])
  const registries = async () =>
    others ? summed([await counted(), ...(await others())]) : [registry, metricsOfProcess()]
  return {
    /** How late the event loop was at a look, in seconds. */
    loopDelay: mcp.loopDelay,
    session: mcp.session,
    upstreamCall: mcp.upstreamCall,
    upstreamSession: mcp.upstreamSession,
    /** Metrics of the gateway, without those of the process. */
    catalogue: catalogueOf(registry),
    call(record: CallRecord) {
      mcp.call(record)
      const { tenant, prefix, tool = '', outcome, savedChars, pages, approval } = record
      const labels = { tenant, prefix, tool }
      if (tool !== '') counters.toolCalls.inc({ ...labels, outcome })
      if (savedChars !== undefined) counters.savedChars.inc(labels, savedChars)
      if (pages !== undefined) counters.furtherPages.inc(labels, pages - 1)
      if (approval !== undefined) counters.approvals.inc({ tenant, prefix, outcome: approval })
    },
    /** A question about a call that got no answer: `asked` was counted before. */
    unanswered: ({ tenant, prefix }: { tenant: string; prefix: string }) =>
      counters.approvals.inc({ tenant, prefix, outcome: 'timeout' }),
    /** A request to an upstream that failed and may be repeated. @param outcome of `RetryOutcome` */
    retry: (of: UpstreamLabels, outcome: string) => counters.retries.inc({ ...of, outcome }),
    redacted: ({ count, ...labels }: RedactionRecord) => counters.redactions.inc({ ...labels }, count),
    stream: ({ tenant, prefix, outcome }: StreamRecord) => counters.streams.inc({ tenant, prefix, outcome }),
    reload(triggers: readonly string[], outcome: ReloadOutcome) {
      for (const trigger of triggers) counters.reloads.inc({ trigger, outcome })
    },
    /** A request that was sent to the replica that holds its session. */
    forwarded: (prefix: string, outcome: 'ok' | 'gone' | 'failed') =>
      counters.forwards.inc({ prefix, outcome }),
    /**
     * A request without credentials that are known.
     * @param prefix or a path of the gateway's own
     * @param reason of `DenialReason`
     */
    refusedCredentials: (prefix: string, reason: string) =>
      counters.refusedCredentials.inc({ prefix: prefix || '/', reason }),
    /** A connection that was not made, for its address. @param denied the class of the address */
    outboundRefused: (tenant: string, denied: string) => counters.outbound.inc({ tenant, class: denied }),
    /** A request beyond a rate. @param per of the rule */
    refusedRate: (prefix: string, per: string) => counters.rates.inc({ prefix: prefix || '/', per }),
    /** A line of the audit log for which there was no room. */
    auditDropped: () => counters.auditDropped.inc(),
    /** A session id that was made with another secret of the cluster. */
    foreignSecret: () => counters.foreignSecrets.inc(),
    /** The histograms, with what others have counted: of the semantic conventions of MCP, and of the event loop. */
    durations: async () => countsOf(mcp.durations, await registries()),
    /** All of it in the text format of Prometheus 0.0.4, with what others have counted. */
    text: async () => (await Promise.all((await registries()).map(textsOf))).flat().join('\n'),
    /** All of it as data, for the process that adds it up. */
    counted,
    contentType: registry.contentType as string,
  }
}

async function countsOf(all: readonly Durations[], registries: readonly Registry[]): Promise<Counts[]> {
  return Promise.all(
    all.map(async (each) => {
      const metric = registries[0]?.getSingleMetric(each.metricName)
      return { name: each.name, help: each.help, cells: each.cells((await metric?.get())?.values ?? []) }
    }),
  )
}

/** Counters of what is counted without metrics. */
function countElsewhere(registers: Registry[], refusals: () => ReadonlyMap<string, number>): void {
  new Counter({
    name: 'plantgw_internal_errors_total',
    help: 'Internal errors of the gateway, each logged as an error',
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
}

/** One metric after another, as calls should not wait for all of them. */
async function textsOf(registry: Registry): Promise<string[]> {
  const texts: string[] = []
  for (const { name } of registry.getMetricsAsArray()) {
    texts.push(`${await registry.getSingleMetricAsString(name)}\n`)
    await pause()
  }
  return texts
}

function catalogueOf(registry: Registry): MetricDefinition[] {
  return registry.getMetricsAsArray().map((metric) => {
    const {
      name,
      help,
      labelNames = [],
    } = metric as unknown as Omit<MetricDefinition, 'type'> & {
      labelNames?: string[]
    }
    const type = metric instanceof Counter ? 'counter' : metric instanceof Histogram ? 'histogram' : 'gauge'
    return { name, help, type, labels: labelNames }
  })
}

function addGauge({ name, help, read, over = 'first' }: GaugeDefinition, registers: Registry[]): void {
  new Gauge({
    name,
    help,
    labelNames: LABELS,
    registers,
    aggregator: over,
    async collect() {
      const samples = await read()
      this.reset()
      for (const { labels, value } of samples) this.set(labels, value)
    },
  })
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
const LABELS = ['tenant', 'prefix', 'configuration', 'server', 'version', 'state', 'store', 'broker'] as const

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

export interface Metrics {
  /** Metrics of the gateway, without those of the process. */
  catalogue: readonly MetricDefinition[]
  /** The histograms, with what others have counted: of the semantic conventions of MCP, and of the event loop. */
  durations(): Promise<readonly Counts[]>
  /** How late the event loop was at a look. */
  loopDelay(seconds: number): void
  call(record: CallRecord): void
  session(record: SessionRecord): void
  /** A question about a call that got no answer: `asked` was counted before. */
  unanswered(of: { tenant: string; prefix: string }): void
  upstreamCall(record: UpstreamCallRecord): void
  upstreamSession(record: UpstreamSessionRecord): void
  stream(record: StreamRecord): void
  /** A request to an upstream that failed and may be repeated. @param outcome of `RetryOutcome` */
  retry(of: UpstreamLabels, outcome: string): void
  redacted(record: RedactionRecord): void
  reload(triggers: readonly string[], outcome: ReloadOutcome): void
  /** A request that was sent to the replica that holds its session. */
  forwarded(prefix: string, outcome: 'ok' | 'gone' | 'failed'): void
  /** A request without credentials that are known. @param prefix or a path of the gateway's own */
  /** @param reason of `DenialReason` */
  refusedCredentials(prefix: string, reason: string): void
  /** A connection that was not made, for its address. @param denied the class of the address */
  outboundRefused(tenant: string, denied: string): void
  /** A request beyond a rate. @param per of the rule */
  refusedRate(prefix: string, per: string): void
  /** A line of the audit log for which there was no room. */
  auditDropped(): void
  /** A session id that was made with another secret of the cluster. */
  foreignSecret(): void
  /** All of it in the text format of Prometheus 0.0.4, with what others have counted. */
  text(): Promise<string>
  /** All of it as data, for the process that adds it up. */
  counted(): Promise<Counted>
  contentType: string
}

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

/**
 * Metrics of one gateway, and of the process it is in. Names begin with `mcp_`, `plantgw_`, `process_` and `nodejs_`.
 * @param refusals by the limit of the settings, since the process began
 * @param others what other processes of the gateway have counted; absent: there is none
 */
export function createMetrics(
  gauges: readonly GaugeDefinition[],
  refusals: () => ReadonlyMap<string, number>,
  others?: () => Promise<readonly Counted[]>,
): Metrics {
  const registry = new Registry()
  const registers = [registry]
  const mcp = mcpMetrics(registers)
  const counter = countersOf(registers)
  const countCall = toolCounters(counter)
  const approvals = counter(
    'plantgw_approvals_total',
    'Calls for which a person was to be asked, by what came of it',
    ['tenant', 'prefix', 'outcome'],
  )
  const { streams, retries, redactions } = upstreamCounters(counter)
  const reloads = counter('plantgw_reloads_total', 'Reloads, by what asked for them and what came of them', [
    'trigger',
    'outcome',
  ])
  const forwards = counter(
    'plantgw_forwarded_requests_total',
    'Requests sent to the replica that holds their session',
    ['prefix', 'outcome'],
  )
  const refused = counter(
    'plantgw_refused_credentials_total',
    'Requests whose credentials were missing or unknown, by prefix',
    ['prefix', 'reason'],
  )
  const outbound = counter(
    'plantgw_outbound_refused_total',
    'Connections that were not made because `outbound` denies their addresses',
    ['tenant', 'class'],
  )
  const rates = counter(
    'plantgw_rate_refused_total',
    'Requests beyond a `rate`, by prefix and by what it counts apart',
    ['prefix', 'per'],
  )
  const { foreign, dropped } = unlabelled(counter)
  countElsewhere(registers, refusals)
  for (const gauge of gauges) addGauge(gauge, registers)
  const counted = () => countedIn([registry, metricsOfProcess()])
  const registries = async () =>
    others ? summed([await counted(), ...(await others())]) : [registry, metricsOfProcess()]
  return {
    ...mcp,
    catalogue: catalogueOf(registry),
    call(record) {
      mcp.call(record)
      countCall(record)
      const { tenant, prefix, approval } = record
      if (approval !== undefined) approvals.inc({ tenant, prefix, outcome: approval })
    },
    unanswered: ({ tenant, prefix }) => approvals.inc({ tenant, prefix, outcome: 'timeout' }),
    retry: (of, outcome) => retries.inc({ ...of, outcome }),
    redacted: ({ count, ...labels }) => redactions.inc({ ...labels }, count),
    stream: ({ tenant, prefix, outcome }) => streams.inc({ tenant, prefix, outcome }),
    reload(triggers, outcome) {
      for (const trigger of triggers) reloads.inc({ trigger, outcome })
    },
    forwarded: (prefix, outcome) => forwards.inc({ prefix, outcome }),
    refusedCredentials: (prefix, reason) => refused.inc({ prefix: prefix || '/', reason }),
    outboundRefused: (tenant, denied) => outbound.inc({ tenant, class: denied }),
    refusedRate: (prefix, per) => rates.inc({ prefix: prefix || '/', per }),
    auditDropped: () => dropped.inc(),
    foreignSecret: () => foreign.inc(),
    durations: async () => countsOf(mcp.durations, await registries()),
    text: async () => (await Promise.all((await registries()).map(textsOf))).flat().join('\n'),
    counted,
    contentType: registry.contentType,
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

function toolCounters(counter: ReturnType<typeof countersOf>) {
  const of = ['tenant', 'prefix', 'tool']
  const calls = counter('plantgw_tool_calls_total', 'Calls of HTTP tools that ended', [...of, 'outcome'])
  const saved = counter(
    'plantgw_result_saved_chars_total',
    'Characters of answers that clients did not get, as `response` or a limit left them out',
    of,
  )
  const pages = counter(
    'plantgw_further_pages_total',
    'Pages of lists that calls requested behind the first one',
    of,
  )
  return ({ tenant, prefix, tool = '', outcome, savedChars, pages: read }: CallRecord) => {
    if (tool !== '') calls.inc({ tenant, prefix, tool, outcome })
    if (savedChars !== undefined) saved.inc({ tenant, prefix, tool }, savedChars)
    if (read !== undefined) pages.inc({ tenant, prefix, tool }, read - 1)
  }
}

function unlabelled(counter: ReturnType<typeof countersOf>) {
  return {
    foreign: counter(
      'plantgw_foreign_session_ids_total',
      'Session ids that were made with another `cluster.secret`',
      [],
    ),
    dropped: counter(
      'plantgw_audit_dropped_total',
      'Lines of the audit log that were dropped, as it could not be written',
      [],
    ),
  }
}

function countersOf(registers: Registry[]) {
  return <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers })
}

function upstreamCounters(counter: ReturnType<typeof countersOf>) {
  const streams = counter(
    'plantgw_upstream_streams_total',
    'Event streams of MCP servers that were lost, and that were regained',
    ['tenant', 'prefix', 'outcome'],
  )
  const retries = counter(
    'plantgw_upstream_retries_total',
    'Requests to upstreams that failed and were repeated, or could not be, by what came of it',
    ['tenant', 'server', 'outcome'],
  )
  const redactions = counter(
    'plantgw_redacted_secrets_total',
    'Secrets that were taken out of answers of upstreams, by what they are',
    ['tenant', 'server', 'kind'],
  )
  return { streams, retries, redactions }
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

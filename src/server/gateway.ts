import type { Hono } from 'hono'
import { type AdminPrincipal, createAdminAccess } from '../access/admin.ts'
import { countedLogins, FailedLogins, type Logins } from '../access/failed-logins.ts'
import { createHostGuard, type HostGuard } from '../access/host.ts'
import { defaultMaxBuffered, memory } from '../access/memory.ts'
import { outerPrefixReader } from '../access/outer-prefix.ts'
import { Overload } from '../access/overload.ts'
import { Quota } from '../access/quota.ts'
import { Rates } from '../access/rate.ts'
import { refusals } from '../access/refusals.ts'
import { partsOf } from '../access/share.ts'
import { redisBuckets } from '../access/shared-buckets.ts'
import { clientAddressReader, networkMatcher } from '../access/trusted-proxies.ts'
import { EMPTY_TABLE } from '../build/table.ts'
import type { Difference, Loaded, Reload, Route, Table } from '../build/types.ts'
import { type Cluster, createCluster } from '../cluster/index.ts'
import type { ListenAddress, PlantSettings, ServerLimits, Settings } from '../config/index.ts'
import { hasErrors } from '../findings/index.ts'
import { headersOf, SessionRegistry, type StdioConnection } from '../mcp/index.ts'
import type { OwnAddresses } from '../net/index.ts'
import { isPlantsPath, type JudgeLogin, openPlants } from '../plants/index.ts'
import type { Counted } from '../telemetry/counted.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import type { OpenTelemetry } from '../telemetry/otel.ts'
import { type AdminRoutesParts, createAdminRoutes, probesOnly } from './admin-routes.ts'
import { type AppParts, createApp } from './app.ts'
import { type Audit, openAudit } from './audit.ts'
import { connectStdio } from './connect-stdio.ts'
import { gaugesOf, type Readiness } from './gauges.ts'
import { clientAddress, otherEndOf } from './http-context.ts'
import { type LiveOptions, LiveTable, type Made } from './live.ts'
import { reportOutboundRefusal } from './outbound-refusal.ts'
import { reportRefusedCredentials } from './refused-credentials.ts'
import { reportRefusedRates } from './refused-rates.ts'
import { createReloads, type OnReload, type Reloads } from './reloads.ts'
import { foreignSecrets } from './replicas.ts'
import type { Elsewhere, ServingStatus, Shared, Workers } from './shared-parts.ts'
import { servingStatus, statusSteps } from './status.ts'
import { resilienceFactory } from './upstream-faults.ts'

export interface GatewayOptions extends LiveOptions {
  /** Of a worker: state shared with the others. */
  shared?: Shared
  /** If workers serve what this process reads. */
  workers?: Workers
}

/** A running gateway. It holds connections and processes, so close it. */
export interface Gateway {
  readonly app: Hono
  /** The app of `admin.listen`, with only the admin routes. Absent: `app` has them. */
  adminApp?: Hono
  registry: SessionRegistry
  table(): Table
  /**
   * Starts MCP servers with `policy: onStart` or `preinstalled`; call it once the gateway listens, as starting may take
   * long. Failures are logged; reloads start new servers by themselves.
   */
  startServers(): void
  /** Why `/_ready` fails; undefined if ready. */
  unready(): string | undefined
  /** Makes `/_ready` fail and ends event streams; requests are still answered. */
  beginDrain(): void
  /** Addresses where this gateway listens, to which tools must not connect. Add each address. */
  ownAddresses: OwnAddresses
  /** Requests reloads; concurrent requests are combined. */
  reloads: Reloads
  /** Reads all configurations or one again, and swaps the table. Reloads never overlap. */
  reload(name?: string): Promise<Reload>
  /** Reads the configurations and reports what a reload would change, without changing or starting anything. */
  diff(): Promise<Difference>
  /** Reads the configurations again, to be served later; absent: all, else only these names. */
  prepare(names?: ReadonlySet<string>): Promise<Made>
  counted(): Promise<Counted>
  serving(): ServingStatus
  /** Serves a route on standard input and output; `send` receives the lines for the client. */
  connect(route: Route, send: (line: string) => void): StdioConnection
  /** Records event loop lag, in seconds. */
  onLoopDelay(seconds: number): void
  /** Ends streams and sessions, and closes upstream connections and the plant store. */
  close(): Promise<void>
}

/**
 * Reads the configurations and creates a gateway.
 * @returns the gateway; undefined if there are errors and `skipInvalid` is off
 * @throws PlantsError if the plant store cannot be opened
 */
export async function createGateway(
  given: GatewayOptions,
): Promise<Loaded & { gateway: Gateway | undefined }> {
  const options = withLiveParts(given)
  const { settings, log, shared, workers } = options
  const limits = partsOf(settings.limits, shared?.share)
  const registry = new SessionRegistry({ ...limits, countsOwnOnly: shared !== undefined })
  const readiness: Readiness = { unready: () => undefined, lastGood: 0 }
  const gauges = gaugesOf({ live: () => live, registry, readiness, ...options })
  const metrics = createMetrics(gauges, refusals, workers?.counted)
  const telemetry = await openTelemetry(options, metrics)
  const redis = settings.redis && !workers ? redisBuckets(settings.redis, log) : undefined
  const audit: Audit | undefined =
    settings.audit &&
    (await openAudit(settings.audit, {
      log,
      onDropped: () => metrics.auditDropped(),
      tenantOf: (prefix) => live.table.routes.get(prefix)?.tenant,
    }))
  const live: LiveTable = new LiveTable(options, registry, {
    onCall: metrics.call,
    onSession: metrics.session,
    onUnanswered: metrics.unanswered,
    onUpstreamCall: metrics.upstreamCall,
    onUpstreamSession: metrics.upstreamSession,
    tracer: telemetry?.tracer,
    onStream: (record) => metrics.stream(record),
    onRedacted: both(metrics.redacted, audit?.onRedacted),
    onOutboundRefusal: (refusal) => onRefusal(refusal),
    rates: new Rates(settings.rate, redis, undefined, shared?.share),
    createResilience: resilienceFactory(options.log, () => metrics),
    ...(audit && { auditSink: audit.auditSink, onPinChange: audit.onPinChange }),
  })
  const onRefusal = both(reportOutboundRefusal(log, metrics), audit?.onOutboundRefusal)
  const loaded = await live.load()
  if (!hasErrors(loaded.findings)) readiness.lastGood = Date.now()
  if (hasErrors(loaded.findings) && !options.skipInvalid) {
    registry.close()
    redis?.close()
    await live.close()
    await audit?.close()
    await telemetry?.close()
    return { ...loaded, gateway: undefined }
  }
  // With workers, the parent logs the start.
  if (!shared) audit?.onStart(loaded)
  limitMemory(limits)
  const gateway = await serve({ ...options, limits }, live, registry, { metrics, audit }, readiness)
  const { close } = gateway
  gateway.close = async () => {
    await close()
    redis?.close()
    // Closing still produces lines.
    await Promise.all([audit?.close(), telemetry?.close()])
  }
  return { ...loaded, gateway }
}

/** Options for the table that concern workers. */
function withLiveParts(options: GatewayOptions): GatewayOptions {
  const { workers, shared } = options
  return {
    ...options,
    ...(workers && { handOn: workers.handOn }),
    ...(shared && { sealSecrets: shared.sealSecrets, otherWorkers: shared.otherWorkers }),
  }
}

/** Loaded on demand, as the SDK loads slowly and is an optional package. */
async function openTelemetry(
  { settings, log, version, env }: GatewayOptions,
  { durations }: Metrics,
): Promise<OpenTelemetry | undefined> {
  if (!settings.telemetry) return undefined
  const { openTelemetry } = await import('../telemetry/otel.ts')
  return openTelemetry(settings.telemetry, { log, version, env, durations })
}

/** Receivers of events. */
interface Observers {
  metrics: Metrics
  audit: Audit | undefined
}

async function serve(
  { settings, limits, log, version, shared, workers }: GatewayOptions & { limits: ServerLimits },
  live: LiveTable,
  registry: SessionRegistry,
  observers: Observers,
  readiness: Readiness,
): Promise<Gateway> {
  const { metrics } = observers
  const startedAt = new Date().toISOString()
  const { admin, tenants } = settings
  const credentials = loginsOf(limits, log, observers)
  const proxies = proxiesOf(settings)
  // With workers, the parent has the plant store.
  const plants = shared ? undefined : await plantsOf(settings, log, judgePlants(credentials.logins, proxies))
  if (plants) readiness.plantsAvailable = plants.available
  const reloads = createReloads(reloader(live, readiness), log, onReloadOf(observers))
  let draining = false
  readiness.unready = () =>
    draining ? 'the gateway is shutting down' : unserved(live, plants?.available(), workers)
  const guardOf = (bind: string) => createHostGuard({ bind, ...settings })
  const guard = guardOf(settings.host)
  const cluster = clusterOf(settings, foreignSecrets(log, metrics), shared)
  const pages = {
    ...credentials,
    ...proxies,
    access: createAdminAccess(admin, tenants),
    reloads,
    diff: () => live.diff(),
    unready: readiness.unready,
    metrics,
    status: async (principal: AdminPrincipal) => {
      const parts = { live, registry, version, startedAt, settings, workers: await workers?.statuses() }
      return statusSteps({ ...parts, history: reloads.history() }, principal)
    },
    served: () => [...live.table.prepared.values()],
  }
  const adminRoutes = createAdminRoutes({ ...pages, bind: settings, guard })
  const adminApp = admin?.listen && adminAppOf(admin.listen, { registry, log, guardOf, pages })
  const common = commonParts(live, registry, { limits, log }, observers)
  const app = createApp({
    ...common,
    overload: new Overload(settings.limits.maxEventLoopDelay),
    guard,
    log,
    adminRoutes: adminApp ? probesOnly(adminRoutes) : adminRoutes,
    ...proxies,
    ...credentials,
    clientCertificates: settings.tls?.clientCa !== undefined,
    onForward: metrics.forwarded,
    ...(cluster && { cluster }),
    ...(shared && { elsewhere: probesHere(shared, readiness) }),
    ...(plants && settings.plants && { plants: appOfPlants(plants.app, settings.plants) }),
  })
  return {
    app,
    ...(adminApp && { adminApp }),
    registry,
    table: () => live.table,
    startServers: () => live.start(),
    unready: readiness.unready,
    ownAddresses: live.outbound.own,
    beginDrain() {
      draining = true
      registry.endStreams()
    },
    reloads,
    reload: (name?: string) => reloads.request('call', name),
    diff: () => live.diff(),
    ...asWorker(live, registry, metrics),
    connect: (route: Route, send: (line: string) => void) => connectStdio(common, route, send),
    onLoopDelay: metrics.loopDelay,
    async close() {
      await reloads.close()
      registry.close()
      await live.close()
      await cluster?.close()
      await plants?.close()
    },
  }
}

/** Why nothing is served; undefined if something is. */
function unserved(live: LiveTable, hasPlants = false, workers?: Workers): string | undefined {
  if (workers?.isServing() === false) return 'no worker serves'
  if (!live.isRead) return 'the store of the configurations could not be read yet'
  return live.table.routes.size || hasPlants ? undefined : 'no prefix is served'
}

async function plantsOf({ plants }: Settings, log: GatewayOptions['log'], judgeLogin: JudgeLogin) {
  return plants && openPlants(plants, log, judgeLogin)
}

function clusterOf(
  { cluster, limits }: Settings,
  onForeign: (mark: string) => void,
  shared: Shared | undefined,
): Cluster | undefined {
  if (shared) return shared.cluster(onForeign)
  return cluster && createCluster(cluster, { ...limits, onForeign })
}

/** What the parent requests from a worker, and a worker from the parent. */
function asWorker(
  live: LiveTable,
  registry: SessionRegistry,
  metrics: Metrics,
): Pick<Gateway, 'prepare' | 'counted' | 'serving'> {
  return {
    prepare: (names) => live.prepare(names),
    counted: metrics.counted,
    serving: () => servingStatus(live, registry),
  }
}

/** Workers answer /_health, and /_ready when ready; otherwise the parent answers, which knows the reason. */
function probesHere({ elsewhere }: Shared, { unready }: Readiness): Elsewhere {
  return (c) => {
    const { path } = c.req
    const isWell = path === '/_health' || (path === '/_ready' && unready() === undefined)
    return isWell ? undefined : elsewhere(c)
  }
}

/** Parts common to HTTP and stdio clients. */
function commonParts(
  live: LiveTable,
  registry: SessionRegistry,
  { limits, log }: { limits: ServerLimits; log: GatewayOptions['log'] },
  { metrics, audit }: Observers,
) {
  return {
    table: () => live.table,
    registry,
    calls: callQuota(limits),
    audit: audit?.step,
    onRateRefused: both(reportRefusedRates(log, metrics), audit?.onRateRefused),
  }
}

function limitMemory({ maxBuffered = defaultMaxBuffered(), maxQueued }: ServerLimits): void {
  memory.limit = maxBuffered
  memory.queueLimit = maxQueued
}

/** Handling of wrong credentials, on routes and admin routes. */
function loginsOf(
  { maxFailedLogins }: ServerLimits,
  log: GatewayOptions['log'],
  { metrics, audit }: Observers,
) {
  return {
    logins: countedLogins(new FailedLogins(maxFailedLogins)),
    onRefusedCredentials: both(reportRefusedCredentials(log, metrics), audit?.onRefusedCredentials),
  }
}

/** Wrong tokens of the plant store count like those of routes. */
function judgePlants(logins: Logins, { proxies }: Pick<AppParts, 'proxies'>): JudgeLogin {
  return (c, caller) => {
    const address = clientAddress(otherEndOf(c), headersOf(c), proxies)
    return caller === undefined ? logins.failed(address) : logins.succeeded(address, `/plants ${caller}`)
  }
}

function reloader(live: LiveTable, readiness: Readiness) {
  return async (names?: ReadonlySet<string>): Promise<Reload> => {
    const result = await live.reload(names)
    if (!hasErrors(result.findings)) readiness.lastGood = Date.now()
    return result
  }
}

function appOfPlants(app: Hono, { basePath }: PlantSettings): NonNullable<AppParts['plants']> {
  return { app, owns: isPlantsPath(basePath) }
}

function onReloadOf({ metrics, audit }: Observers): OnReload {
  return (triggers, outcome, made) => {
    metrics.reload(triggers, outcome)
    audit?.onReload(triggers, outcome, made)
  }
}

function both<Event>(first: (event: Event) => void, second?: (event: Event) => void): (event: Event) => void {
  if (!second) return first
  return (event) => {
    first(event)
    second(event)
  }
}

function callQuota({ maxCallsPerPrefix, maxCallsPerCaller }: ServerLimits): Quota {
  return new Quota({
    prefix: ['maxCallsPerPrefix', maxCallsPerPrefix],
    caller: ['maxCallsPerCaller', maxCallsPerCaller],
  })
}

interface AdminAppParts {
  registry: SessionRegistry
  log: GatewayOptions['log']
  guardOf: (bind: string) => HostGuard
  pages: Omit<AdminRoutesParts, 'bind' | 'guard'>
}

/** The app for the admin routes on their own listener. */
function adminAppOf(bind: ListenAddress, { registry, log, guardOf, pages }: AdminAppParts): Hono {
  // Web pages cannot reach a socket; clients of sockets use `localhost`.
  const guard = guardOf(bind.path === undefined ? bind.host : 'localhost')
  return createApp({
    table: () => EMPTY_TABLE,
    registry,
    log,
    guard,
    adminRoutes: createAdminRoutes({ ...pages, bind, guard }),
  })
}

function proxiesOf({ trustedProxies }: Settings): Pick<AppParts, 'proxies'> {
  if (!trustedProxies.length) return {}
  const trusts = networkMatcher(trustedProxies)
  return { proxies: { prefix: outerPrefixReader(trusts), client: clientAddressReader(trusts) } }
}

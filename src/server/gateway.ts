import type { Hono } from 'hono'
import { createAdminAccess } from '../access/admin.ts'
import { FailedLogins } from '../access/failed-logins.ts'
import { createHostGuard, type HostGuard } from '../access/host.ts'
import { Overload } from '../access/overload.ts'
import { callQuota } from '../access/quota.ts'
import { partsOf, Rates } from '../access/rate.ts'
import { refusals } from '../access/refusals.ts'
import { redisBuckets } from '../access/shared-buckets.ts'
import { clientAddressReader, networkMatcher, outerPrefixReader } from '../access/trusted-proxies.ts'
import { EMPTY_TABLE } from '../build/table.ts'
import type { Difference, Loaded, Reload, Route, Table } from '../build/types.ts'
import { type Cluster, createCluster } from '../cluster/index.ts'
import { clientBase, isLocal, type ListenAddress, type ServerLimits, type Settings } from '../config/index.ts'
import { openVault, type Vault } from '../credentials/oauth/vault.ts'
import { hasErrors } from '../findings/index.ts'
import { headersOf, SessionRegistry, type StdioConnection } from '../mcp/index.ts'
import type { OwnAddresses } from '../net/index.ts'
import { type JudgeLogin, openPlants } from '../plants/index.ts'
import type { ConfigurationStore } from '../store/index.ts'
import type { Counted } from '../telemetry/counted.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import type { OpenTelemetry } from '../telemetry/otel.ts'
import { inTurns } from '../text/index.ts'
import { type AdminRoutesParts, createAdminRoutes, probesOnly } from './admin-routes.ts'
import { type AppParts, createApp } from './app.ts'
import { type Audit, openAudit } from './audit.ts'
import { createTexts } from './configuration-texts.ts'
import { ConsoleLogins } from './console/access.ts'
import { type Console, createConsole } from './console/console.ts'
import { ownSource } from './console/source.ts'
import { gaugesOf, type Readiness } from './gauges.ts'
import { clientAddress, otherEndOf } from './http-context.ts'
import { type LiveOptions, LiveTable, type PreparedReload } from './live.ts'
import { createLoginPages } from './login-pages.ts'
import { Recorder } from './recorder.ts'
import { createReloads, type OnReload, type Reloads } from './reloads.ts'
import { foreignSecrets } from './replicas.ts'
import {
  reportOutboundRefusal,
  reportRefusedCredentials,
  reportRefusedRates,
  resilienceFactory,
} from './reported-refusals.ts'
import { type StatusParts, servingStatus, statusSteps } from './status.ts'
import { connectStdio } from './stdio-context.ts'
import type { Elsewhere, ServingStatus, Shared, Workers } from './workers.ts'

export interface GatewayOptions extends LiveOptions {
  /** In a worker: state shared with the others. */
  shared?: Shared
  /** If workers serve what this process reads. */
  workers?: Workers
  /** The store that `paths` reads, for the console. */
  store?: ConfigurationStore | undefined
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
  console: Pick<Console, 'logins' | 'source'>
  /** Requests reloads; concurrent requests are combined. */
  reloads: Reloads
  /** Reads all configurations or one again, and swaps the table. Reloads never overlap. */
  reload(name?: string): Promise<Reload>
  /** Reads the configurations and reports what a reload would change, without changing or starting anything. */
  diff(): Promise<Difference>
  /** Reads the configurations again, to be served later; absent: all, else only these names. */
  prepare(names?: ReadonlySet<string>): Promise<PreparedReload>
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
  const held: Held = {}
  try {
    return await openGateway(given, held)
  } catch (error) {
    await letGo(held)
    throw error
  }
}

/** The parts that a gateway closes, in this order: closing still produces lines of the audit log, and spans. */
const HELD = [
  'reloads',
  'registry',
  'live',
  'cluster',
  'plants',
  'redis',
  'vault',
  'audit',
  'telemetry',
] as const

type Held = Partial<Record<(typeof HELD)[number], { close(): unknown } | undefined>>

async function letGo(held: Held): Promise<void> {
  for (const name of HELD) await held[name]?.close()
}

/** @param held gets each part that is open, also before a fault */
async function openGateway(
  given: GatewayOptions,
  held: Held,
): Promise<Loaded & { gateway: Gateway | undefined }> {
  const { vault: vaultSettings } = given.settings
  const vault = vaultSettings && (await openVault(vaultSettings))
  held.vault = vault
  if (vault && !given.shared) tidy(vault, vaultSettings?.previousKey !== undefined, given.log)
  const options = { ...withLiveParts(given), vault }
  const { settings, log, shared, workers } = options
  const limits = partsOf(settings.limits, shared?.share)
  const registry = new SessionRegistry({ ...limits, countsOwnOnly: shared !== undefined })
  held.registry = registry
  const readiness: Readiness = { unready: () => undefined, lastGood: 0 }
  const gauges = gaugesOf({ live: () => live, registry, readiness, ...options })
  const metrics = createMetrics(gauges, refusals, workers?.counted)
  const telemetry = await openTelemetry(options, metrics)
  held.telemetry = telemetry
  const redis = settings.redis && !workers ? redisBuckets(settings.redis, log) : undefined
  held.redis = redis
  const audit: Audit | undefined =
    settings.audit &&
    (await openAudit(settings.audit, {
      log,
      onDropped: () => metrics.auditDropped(),
      tenantOf: (prefix) => live.table.routes.get(prefix)?.tenant,
    }))
  held.audit = audit
  const recorder = workers
    ? undefined
    : new Recorder(settings.console?.contents ?? false, shared?.share.workers)
  const live: LiveTable = new LiveTable(options, registry, {
    onCall: metrics.call,
    onSession: metrics.session,
    onUnanswered: metrics.unanswered,
    onUpstreamCall: metrics.upstreamCall,
    onUpstreamSession: metrics.upstreamSession,
    recorder,
    tracer: telemetry?.tracer,
    onStream: (record) => metrics.stream(record),
    onRedacted: both(metrics.redacted, audit?.onRedacted),
    onOutboundRefusal: (refusal) => onRefusal(refusal),
    rates: new Rates(settings.rate, redis, undefined, shared?.share),
    createResilience: resilienceFactory(options.log, () => metrics),
    ...(audit && { auditSink: audit.auditSink, onPinChange: audit.onPinChange, onLogin: audit.onLogin }),
  })
  held.live = live
  const onRefusal = both(reportOutboundRefusal(log, metrics), audit?.onOutboundRefusal)
  const loaded = await live.load()
  if (!hasErrors(loaded.findings)) readiness.lastGood = Date.now()
  if (hasErrors(loaded.findings) && !options.skipInvalid) {
    await letGo(held)
    return { ...loaded, gateway: undefined }
  }
  // With workers, the parent logs the start.
  if (!shared) audit?.onStart(loaded)
  const parts = { ...options, limits, held }
  const gateway = await serve(parts, live, registry, { metrics, audit, recorder }, readiness)
  return { ...loaded, gateway }
}

/** Removes unused pages, and encrypts logins with a new key, while the gateway serves. */
function tidy(vault: Vault, hasNewKey: boolean, log: GatewayOptions['log']): void {
  if (!hasNewKey) {
    vault
      .removeExpired(Date.now())
      .catch(({ message: reason }: Error) => log.warn({ reason }, 'the vault could not be read'))
    return
  }
  vault
    .reseal()
    .then(({ sealed: logins, unreadable }) => {
      if (unreadable)
        log.warn({ logins: unreadable }, 'neither `vault.key` nor `previousKey` opens some logins')
      log.info({ logins }, 'logins are encrypted with `vault.key`; `previousKey` can be removed')
    })
    .catch(({ message: reason }: Error) =>
      log.warn({ reason }, 'not every login could be encrypted with `vault.key`'),
    )
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
  recorder: Recorder | undefined
}

async function serve(
  options: GatewayOptions & { limits: ServerLimits; held: Held },
  live: LiveTable,
  registry: SessionRegistry,
  observers: Observers,
  readiness: Readiness,
): Promise<Gateway> {
  const { settings, limits, held, log, version, shared, workers, vault } = options
  const { metrics } = observers
  const credentials = loginsOf(limits, log, observers)
  const proxies = proxiesOf(settings)
  // With workers, the parent has the plant store.
  const plants = shared ? undefined : await plantsOf(settings, log, judgePlants(credentials.logins, proxies))
  if (plants) readiness.plantsAvailable = plants.available
  held.plants = plants
  const reloads = createReloads(reloader(live, readiness), log, onReloadOf(observers))
  let draining = false
  readiness.unready = () =>
    draining ? 'the gateway is shutting down' : unserved(live, plants?.available(), workers)
  const guardOf = (bind: string) => createHostGuard({ bind, ...settings })
  const guard = guardOf(settings.host)
  const cluster = clusterOf(settings, foreignSecrets(log, metrics), shared)
  Object.assign(held, { reloads, cluster })
  const status = statusOf(live, registry, { version, settings, workers, reloads })
  const sources = { live, readiness, status, app: (): Hono => served, cluster, reloads }
  const console = consoleOf(options, { ...sources, ...observers })
  const pages = {
    ...credentials,
    ...proxies,
    access: createAdminAccess(settings.admin, settings.tenants),
    reloads,
    diff: () => live.diff(),
    unready: readiness.unready,
    metrics,
    status,
    console,
    served: () => [...live.table.prepared.values()],
  }
  const adminRoutes = createAdminRoutes({ ...pages, bind: settings, guard })
  const adminApp = adminAppOf(settings.admin?.listen, { registry, log, guardOf, pages })
  const common = commonParts(live, registry, { limits, log }, observers)
  const served = createApp({
    ...common,
    overload: new Overload(settings.limits.maxEventLoopDelay),
    guard,
    log,
    adminRoutes: adminApp ? probesOnly(adminRoutes) : adminRoutes,
    ...proxies,
    ...credentials,
    publicUrl: settings.publicUrl,
    loginPages: loginPagesOf(settings, vault, live, log),
    clientCertificates: settings.tls?.clientCa !== undefined,
    onForward: metrics.forwarded,
    ...(cluster && { cluster }),
    ...(shared && { elsewhere: probesHere(shared, readiness) }),
    ...(plants && { plants }),
  })
  return {
    app: served,
    ...(adminApp && { adminApp }),
    registry,
    table: () => live.table,
    startServers: () => live.start(),
    unready: readiness.unready,
    ownAddresses: live.outbound.own,
    console,
    beginDrain() {
      draining = true
      registry.endStreams()
      console.endStreams()
    },
    reloads,
    reload: (name?: string) => reloads.request('call', name),
    diff: () => live.diff(),
    ...asWorker(live, registry, metrics),
    connect: (route: Route, send: (line: string) => void) => connectStdio(common, route, send),
    onLoopDelay: metrics.loopDelay,
    close: () => letGo(held),
  }
}

function loginPagesOf(
  { publicUrl }: Settings,
  vault: Vault | undefined,
  live: LiveTable,
  log: GatewayOptions['log'],
): AppParts['loginPages'] {
  const logins = () => [...live.table.prepared.values()].flatMap(({ callerLogins = [] }) => callerLogins)
  return vault && publicUrl !== undefined
    ? createLoginPages({ vault, publicUrl, log, now: Date.now, logins })
    : undefined
}

interface ConsoleSources {
  recorder: Recorder | undefined
  app: () => Hono
  cluster: Cluster | undefined
  live: LiveTable
  readiness: Readiness
  status: AdminRoutesParts['status']
  reloads: Reloads
  audit: Audit | undefined
}

function consoleOf(
  { settings, paths, store, workers }: GatewayOptions,
  { live, readiness, status, recorder, app, cluster, reloads, audit }: ConsoleSources,
): Console {
  const { proxies } = proxiesOf(settings)
  const table = () => live.table
  const source = recorder ? ownSource(recorder, { app, base: clientBase(settings), table }) : workers!.calls
  return createConsole({
    table,
    status: async (principal) => inTurns(await status(principal)),
    unready: () => readiness.unready(),
    findings: () => live.findings,
    replicas: () => cluster?.reach(undefined).others() ?? [],
    source,
    calls: settings.console?.calls ?? isLocal(settings),
    logins: new ConsoleLogins(),
    texts: createTexts({ paths: typeof paths === 'function' ? [] : paths, store, settings, live }),
    reload: () => reloads.request('console'),
    onEdit: (edit) => audit?.onEdit(edit),
    addressOf: (c) => clientAddress(otherEndOf(c), headersOf(c), proxies),
  })
}

/** Makes the status of now. */
function statusOf(
  live: LiveTable,
  registry: SessionRegistry,
  {
    workers,
    reloads,
    ...facts
  }: Pick<StatusParts, 'version' | 'settings'> & {
    workers: Workers | undefined
    reloads: Reloads
  },
): AdminRoutesParts['status'] {
  const startedAt = new Date().toISOString()
  return async (principal) => {
    const [statuses, logins] = await Promise.all([workers?.statuses(), live.logins()])
    const parts = {
      ...facts,
      startedAt,
      live,
      registry,
      logins,
      workers: statuses,
      history: reloads.history(),
    }
    return statusSteps(parts, principal)
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

/** Requests of the parent to a worker, and of a worker to the parent. */
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
  return async (c) => {
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
    calls: callQuota(limits.maxCallsPerPrefix),
    audit: audit?.step,
    onRateRefused: both(reportRefusedRates(log, metrics), audit?.onRateRefused),
  }
}

/** Handling of wrong credentials, on routes and admin routes. */
function loginsOf(
  { maxFailedLogins }: ServerLimits,
  log: GatewayOptions['log'],
  { metrics, audit }: Observers,
) {
  return {
    logins: new FailedLogins(maxFailedLogins),
    onRefusedCredentials: both(reportRefusedCredentials(log, metrics), audit?.onRefusedCredentials),
  }
}

/** Wrong tokens of the plant store count like those of routes. */
function judgePlants(logins: FailedLogins, { proxies }: Pick<AppParts, 'proxies'>): JudgeLogin {
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

interface AdminAppParts {
  registry: SessionRegistry
  log: GatewayOptions['log']
  guardOf: (bind: string) => HostGuard
  pages: Omit<AdminRoutesParts, 'bind' | 'guard'>
}

/** The app for the admin routes on their own listener. */
function adminAppOf(
  bind: ListenAddress | undefined,
  { registry, log, guardOf, pages }: AdminAppParts,
): Hono | undefined {
  if (!bind) return undefined
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

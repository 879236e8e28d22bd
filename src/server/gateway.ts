import type { Hono } from 'hono'
import { createAdminAccess } from '../access/admin.ts'
import { createHostGuard } from '../access/host.ts'
import { defaultMaxBuffered, memory } from '../access/memory.ts'
import { Quota } from '../access/quota.ts'
import { refusals } from '../access/refusals.ts'
import { assemble, everything } from '../build/assemble.ts'
import { type ConfigurationChange, differenceOf } from '../build/difference.ts'
import type { PrepareContext } from '../build/prepare.ts'
import { startProxies, without } from '../build/proxies.ts'
import { rulesOf } from '../build/rules.ts'
import { type ConfigurationSource, fromPaths } from '../build/source.ts'
import { buildTable, changed, EMPTY_TABLE, type Table } from '../build/table.ts'
import type { BuildOptions, Loaded } from '../build/types.ts'
import { createCluster } from '../cluster/index.ts'
import { hasErrors } from '../findings/index.ts'
import { createHub, type Hub } from '../mcp/index.ts'
import { isPlantsPath, openPlants } from '../plants/index.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { createPools } from '../tools/index.ts'
import { createProxy, type McpProxy } from '../upstream/index.ts'
import { createApp } from './app.ts'
import { gaugesOf } from './gauges.ts'
import { createOwnPages } from './own-pages.ts'
import { createReloads, type Reloads } from './reloads.ts'
import { statusOf } from './status.ts'

export interface GatewayOptions extends BuildOptions {
  /** Hears of every table that is swapped in. */
  onTable?: (table: Table) => void
}

/** What a reload came to. */
export interface Reload extends Loaded {
  generation: number
  added: string[]
  changed: string[]
  removed: string[]
  /** Configurations whose new version has errors; the last good one is served on, where there is one. */
  refused: string[]
}

/** What a reload would come to. */
export interface Difference extends Reload {
  configurations: ConfigurationChange[]
}

/** A running gateway; whoever made it closes it. */
export interface Gateway {
  app: Hono
  hub: Hub
  table(): Table
  /** Asks for reloads; those that come in a burst are folded. */
  reloads: Reloads
  /** Reads the configurations again, or one of them, and swaps the table. Never overlaps another reload. */
  reload(name?: string): Promise<Reload>
  /** Reads the configurations and tells what a reload would change; nothing is changed or started. */
  diff(): Promise<Difference>
  /** Ends streams and sessions, closes upstream connections and the plant store. */
  close(): Promise<void>
}

/**
 * Reads the configurations and makes a gateway of them.
 * @returns the gateway; undefined when there are errors and `skipInvalid` is off
 * @throws PlantsError when the plant store cannot be opened
 */
export async function createGateway(
  options: GatewayOptions,
): Promise<Loaded & { gateway: Gateway | undefined }> {
  const { settings, env, log, version } = options
  const pools = createPools()
  const context = (): PrepareContext => ({
    env,
    limits: settings.limits,
    pools,
    log,
    version,
    onCall: metrics.call,
    createProxy,
    ...(settings.tenants && { tenants: settings.tenants }),
    proxies: table.proxies,
  })
  const rules = rulesOf(settings)
  const source = typeof options.paths === 'function' ? options.paths : fromPaths(options.paths)
  let table = EMPTY_TABLE
  let versions: ReadonlyMap<string, string> = new Map()
  let refusedNow: ReadonlySet<string> = new Set()
  const startedAt = new Date().toISOString()
  const metrics = createMetrics(
    gaugesOf(
      () => table,
      () => hub,
      () => refusedNow,
    ),
    refusals,
  )

  async function load(only?: ReadonlySet<string>, strict = false): Promise<Reload> {
    const reading = await source(env, rules)
    const before = table
    const made = await assemble(reading, before.prepared, context(), only)
    const started = await startProxies(made.prepared, before)
    const { prepared } = started
    const changes = compare(before.prepared, prepared)
    if (changes.added.length + changes.changed.length + changes.removed.length)
      table = buildTable(before.generation + 1, prepared, before)
    const told = strict ? everything(reading, made.findings) : made.findings
    const findings = [...told, ...started.findings]
    const refused = [...made.refused, ...started.refused]
    versions = versionsOf(reading, prepared, versions)
    // Of those that were not read again it stays so.
    refusedNow = new Set([...refused, ...[...refusedNow].filter((name) => only && !only.has(name))])
    return { ...changes, generation: table.generation, refused, findings, sources: reading.sources }
  }

  /** Reads the configurations again and swaps the table; what these names stand for may change, or all. */
  async function reload(names?: ReadonlySet<string>): Promise<Reload> {
    const before = table
    const result = await load(names)
    if (table === before) return result
    tellClients(hub, before, table)
    options.onTable?.(table)
    for (const { proxy } of without(before.proxies, table.proxies)) {
      const closed = proxy.retire().finally(() => closing.delete(proxy))
      closing.set(proxy, closed)
    }
    return result
  }

  async function diff(): Promise<Difference> {
    const reading = await source(env, rules)
    const before = table
    // What only looks makes nothing that would have to be closed.
    const { createProxy: _, ...looking } = context()
    const { prepared, findings, refused } = await assemble(reading, before.prepared, looking)
    const changes = compare(before.prepared, prepared)
    const configurations = differenceOf(before.prepared, prepared, changes)
    const { generation } = before
    return { ...changes, generation, refused, findings, sources: reading.sources, configurations }
  }

  const first = await load(undefined, !options.skipInvalid)
  /** Those that are replaced, until their calls have ended. */
  const closing = new Map<McpProxy, Promise<void>>()
  if (hasErrors(first.findings) && !options.skipInvalid) {
    await Promise.all([...table.proxies.values()].map(({ proxy }) => proxy.close()))
    await pools.close()
    return { ...first, gateway: undefined }
  }
  const onError = (error: Error) => log.error({ err: error }, 'the plant store could not be written')
  const plants = settings.plants && (await openPlants(settings.plants, { onError }))
  const { limits } = settings
  memory.limit = limits.maxBuffered ?? defaultMaxBuffered()
  memory.queueLimit = limits.maxQueued
  const calls = new Quota({
    prefix: ['maxCallsPerPrefix', limits.maxCallsPerPrefix],
    caller: ['maxCallsPerCaller', limits.maxCallsPerCaller],
  })
  const hub = createHub(limits)
  const guard = createHostGuard({ bind: settings.host, ...settings })
  const reloads = createReloads(reload, log, ({ triggers, refused, ...changes }) => {
    const { added, changed, removed } = changes
    const any = added.length + changed.length + removed.length > 0
    metrics.reload(triggers, refused.length ? 'refused' : any ? 'applied' : 'unchanged')
  })
  const ownPages = createOwnPages({
    access: createAdminAccess(settings.admin, settings.tenants),
    guard,
    reloads,
    diff,
    metrics,
    status: (overseer) =>
      statusOf(
        { table, hub, history: reloads.history(), versions, refused: refusedNow, version, startedAt },
        overseer,
      ),
  })
  const cluster = settings.cluster && createCluster(settings.cluster, settings.limits)
  const app = createApp({
    table: () => table,
    hub,
    calls,
    guard,
    log,
    ownPages,
    ...(cluster && { cluster, onForward: metrics.forwarded }),
    ...(plants &&
      settings.plants && { plants: { app: plants.app, owns: isPlantsPath(settings.plants.basePath) } }),
  })

  const gateway: Gateway = {
    app,
    hub,
    table: () => table,
    reloads,
    reload: (name) => reloads.request('call', name),
    diff,
    async close() {
      await reloads.stop()
      hub.close()
      const proxies = [...table.proxies.values()].map(({ proxy }) => proxy)
      await Promise.all([...proxies, ...closing.keys()].map((proxy) => proxy.close()))
      await Promise.all(closing.values())
      await pools.close()
      await cluster?.close()
      await plants?.close()
    },
  }
  return { ...first, gateway }
}

function compare(before: Table['prepared'], after: Table['prepared']) {
  const added: string[] = []
  const edited: string[] = []
  for (const [name] of changed(after, before)) (before.has(name) ? edited : added).push(name)
  const removed = changed(before, after).flatMap(([name]) => (after.has(name) ? [] : [name]))
  return { added, changed: edited, removed }
}

/** Of what is served, by name: the newest version may have been refused, or passed over. */
function versionsOf(
  { configurations, versions }: Awaited<ReturnType<ConfigurationSource>>,
  prepared: Table['prepared'],
  before: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  if (!versions) return before
  const found = new Map([...before].filter(([name]) => prepared.has(name)))
  for (const { configuration, text } of configurations) {
    const name = configuration?.name
    const version = name !== undefined && prepared.get(name)?.text === text ? versions.get(name) : undefined
    if (name !== undefined && version !== undefined) found.set(name, version)
  }
  return found
}

const KINDS = ['tools', 'prompts', 'resources'] as const

/** Sessions outlive a reload: they hear which of their lists changed, and end where nothing is served now. */
function tellClients(hub: Hub, before: Table, after: Table): void {
  const routes = changed(before.prepared, after.prepared).flatMap(([, old]) => old.routes)
  for (const old of routes) {
    const { prefix } = old
    const route = after.routes.get(prefix)
    if (!route) hub.endPrefix(prefix)
    else if (route.proxy || old.proxy) {
      // Sessions of a proxy go on with the next one; those of a service know no proxy.
      if (old.service && route.proxy) hub.endPrefix(prefix)
      else if (old.proxy !== route.proxy) {
        for (const kind of KINDS) hub.listChanged(prefix, kind)
        // What was subscribed to is the old server's.
        hub.endListeners(prefix)
      }
    } else if (route !== old) {
      if (route.lists.tools !== old.lists.tools) hub.listChanged(prefix, 'tools')
      if (route.lists.prompts !== old.lists.prompts) hub.listChanged(prefix, 'prompts')
    }
  }
}

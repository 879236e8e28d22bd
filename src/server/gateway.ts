import type { Hono } from 'hono'
import { createAdminAccess } from '../access/admin.ts'
import { createHostGuard } from '../access/host.ts'
import { defaultMaxBuffered, memory } from '../access/memory.ts'
import { Quota } from '../access/quota.ts'
import { refusals } from '../access/refusals.ts'
import type { Difference, Loaded, Reload, Table } from '../build/types.ts'
import { createCluster } from '../cluster/index.ts'
import { hasErrors } from '../findings/index.ts'
import { Hub } from '../mcp/index.ts'
import { isPlantsPath, openPlants } from '../plants/index.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { createApp } from './app.ts'
import { gaugesOf } from './gauges.ts'
import { type LiveOptions, LiveTable } from './live.ts'
import { createOwnPages } from './own-pages.ts'
import { createReloads, type Reloads } from './reloads.ts'
import { statusOf } from './status.ts'

export type GatewayOptions = LiveOptions

/** A running gateway. It holds connections and processes: close it. */
export interface Gateway {
  app: Hono
  hub: Hub
  table(): Table
  /** Asks for reloads; those that come in a burst are folded. */
  reloads: Reloads
  /** Reads the configurations again, or one of them, and swaps the table. Never overlaps another reload. */
  reload(name?: string): Promise<Reload>
  /** Reads the configurations and reports what a reload would change; nothing is changed or started. */
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
  const hub = new Hub(options.settings.limits)
  const live = new LiveTable(options, hub, (call) => metrics.call(call))
  const metrics = createMetrics(gaugesOf(live, hub), refusals)
  const loaded = await live.load()
  if (hasErrors(loaded.findings) && !options.skipInvalid) {
    hub.close()
    await live.close()
    return { ...loaded, gateway: undefined }
  }
  return { ...loaded, gateway: await serve(options, live, hub, metrics) }
}

async function serve(
  { settings, log, version }: GatewayOptions,
  live: LiveTable,
  hub: Hub,
  metrics: Metrics,
): Promise<Gateway> {
  const startedAt = new Date().toISOString()
  const { limits, admin, tenants } = settings
  const onError = (error: Error) => log.error({ err: error }, 'cannot write the plant store')
  const plants = settings.plants && (await openPlants(settings.plants, { onError }))
  memory.limit = limits.maxBuffered ?? defaultMaxBuffered()
  memory.queueLimit = limits.maxQueued
  const reloads = createReloads((names) => live.reload(names), log, metrics.reload)
  const guard = createHostGuard({ bind: settings.host, ...settings })
  const cluster = settings.cluster && createCluster(settings.cluster, limits)
  const ownPages = createOwnPages({
    access: createAdminAccess(admin, tenants),
    guard,
    reloads,
    diff: () => live.diff(),
    metrics,
    status: (overseer) => statusOf({ live, hub, history: reloads.history(), version, startedAt }, overseer),
  })
  const app = createApp({
    table: () => live.table,
    hub,
    calls: new Quota({
      prefix: ['maxCallsPerPrefix', limits.maxCallsPerPrefix],
      caller: ['maxCallsPerCaller', limits.maxCallsPerCaller],
    }),
    guard,
    log,
    ownPages,
    ...(cluster && { cluster, onForward: metrics.forwarded }),
    ...(plants &&
      settings.plants && { plants: { app: plants.app, owns: isPlantsPath(settings.plants.basePath) } }),
  })
  return {
    app,
    hub,
    table: () => live.table,
    reloads,
    reload: (name) => reloads.request('call', name),
    diff: () => live.diff(),
    async close() {
      await reloads.close()
      hub.close()
      await live.close()
      await cluster?.close()
      await plants?.close()
    },
  }
}

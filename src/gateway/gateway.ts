import type { Hono } from 'hono'
import { createHostGuard } from '../access/rebinding.ts'
import type { Settings } from '../config/index.ts'
import { type Finding, hasErrors } from '../findings/index.ts'
import { createHub, type Hub } from '../mcp/index.ts'
import { isPlantsPath, openPlants } from '../plants/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { createPools } from '../tools/index.ts'
import { createApp } from './app.ts'
import { assemble } from './assemble.ts'
import type { PrepareContext } from './prepare.ts'
import { proxiesOf, startProxies, without } from './proxies.ts'
import { type ConfigurationSource, fromPaths } from './source.ts'
import { buildTable, EMPTY_TABLE, type Table } from './table.ts'

export interface GatewayOptions {
  /** Configuration files and folders, or what else reads configurations. */
  paths: readonly string[] | ConfigurationSource
  settings: Settings
  env: Readonly<Record<string, string | undefined>>
  log: Logger
  version: string
  /** Serve the sound configurations although others have errors. */
  skipInvalid?: boolean
}

export interface Loaded {
  findings: Finding[]
  /** Text of the files read, for code frames. */
  sources: ReadonlyMap<string, string>
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

/** A running gateway; whoever made it closes it. */
export interface Gateway {
  app: Hono
  hub: Hub
  table(): Table
  /** Reads the configurations again and swaps the table. Never throws, never overlaps another reload. */
  reload(): Promise<Reload>
  /** Ends streams and sessions, closes upstream connections and the plant store. */
  close(): Promise<void>
}

/** Paths that the gateway keeps for itself. */
export function reservedPaths({ plants }: Pick<Settings, 'plants'>): string[] {
  const own = ['/_reload', '/_status']
  return plants ? [...own, `${plants.basePath.replace(/\/+$/, '')}/plants`] : own
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
    proxies: proxiesOf(table),
  })
  const source = typeof options.paths === 'function' ? options.paths : fromPaths(options.paths)
  let table = EMPTY_TABLE

  async function load(): Promise<Reload> {
    const reading = await source(env, { reserved: reservedPaths(settings) })
    const { prepared, findings, refused } = assemble(reading, table.prepared, context())
    const before = table
    findings.push(...(await startProxies(prepared, proxiesOf(before))))
    const changes = compare(before.prepared, prepared)
    if (changes.added.length + changes.changed.length + changes.removed.length)
      table = buildTable(before.generation + 1, prepared)
    return { ...changes, generation: table.generation, refused, findings, sources: reading.sources }
  }

  const first = await load()
  const closing = new Set<Promise<void>>()
  if (hasErrors(first.findings) && !options.skipInvalid) {
    await Promise.all([...proxiesOf(table).values()].map(({ proxy }) => proxy.close()))
    await pools.close()
    return { ...first, gateway: undefined }
  }
  const onError = (error: Error) => log.error({ err: error }, 'the plant store could not be written')
  const plants = settings.plants && (await openPlants(settings.plants, { onError }))
  const hub = createHub()
  const guard = createHostGuard({ bind: settings.host, ...settings })
  const app = createApp({
    table: () => table,
    hub,
    guard,
    log,
    ...(plants &&
      settings.plants && { plants: { app: plants.app, owns: isPlantsPath(settings.plants.basePath) } }),
  })

  let last: Promise<unknown> = Promise.resolve()
  const gateway: Gateway = {
    app,
    hub,
    table: () => table,
    reload() {
      const next = last.then(async () => {
        const before = table
        const reload = await load()
        tellClients(hub, before, table)
        for (const { proxy } of without(proxiesOf(before), proxiesOf(table))) {
          const closed = proxy.retire().finally(() => closing.delete(closed))
          closing.add(closed)
        }
        return reload
      })
      last = next.catch(() => {})
      return next
    },
    async close() {
      hub.close()
      await Promise.all([...proxiesOf(table).values()].map(({ proxy }) => proxy.close()))
      await Promise.all(closing)
      await pools.close()
      await plants?.close()
    },
  }
  return { ...first, gateway }
}

function compare(before: Table['prepared'], after: Table['prepared']) {
  const names = [...after.keys()]
  return {
    added: names.filter((name) => !before.has(name)),
    changed: names.filter((name) => before.has(name) && before.get(name) !== after.get(name)),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  }
}

const KINDS = ['tools', 'prompts'] as const

/** Sessions outlive a reload: they hear which of their lists changed, and end where nothing is served now. */
function tellClients(hub: Hub, before: Table, after: Table): void {
  for (const [prefix, old] of before.routes) {
    const route = after.routes.get(prefix)
    if (!route) hub.endPrefix(prefix)
    else if (route.proxy || old.proxy) {
      // Sessions of a proxy go on with the next one; those of a service know no proxy.
      if (old.service && route.proxy) hub.endPrefix(prefix)
      else if (old.proxy !== route.proxy) for (const kind of KINDS) hub.listChanged(prefix, kind)
    } else if (route !== old) {
      if (route.lists.tools !== old.lists.tools) hub.listChanged(prefix, 'tools')
      if (route.lists.prompts !== old.lists.prompts) hub.listChanged(prefix, 'prompts')
    }
  }
}

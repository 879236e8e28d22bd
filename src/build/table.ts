import type { RoutePolicy } from '../access/steps.ts'
import type { Service } from '../mcp/index.ts'
import type { McpProxy } from '../upstream/index.ts'
import type { Prepared } from './prepare.ts'
import type { Lists } from './service.ts'

/** A proxy and what it was made of: the same key is the same proxy. */
export interface Served {
  key: string
  proxy: McpProxy
  /** Names of the servers behind it. */
  servers: readonly string[]
}

/** One prefix and what answers there. */
export interface Route extends RoutePolicy {
  /** Below which `/sse` and `/message` are; the prefix unless the router says otherwise. */
  ssePrefix: string
  /** What answers there: HTTP tools, or proxied MCP servers. */
  service?: Service
  proxy?: Served
  /** Names of its tools, in order. */
  tools: readonly string[]
  lists: Lists
  /** The configuration it comes from. */
  configuration: string
  tenant: string
  /** JSON documents about the prefix that everyone may read, by name: `/.well-known/{name}{prefix}/mcp`. */
  documents?: ReadonlyMap<string, string>
}

/** Everything that is served, as a value: built beside the old one and swapped in one assignment. */
export interface Table {
  /** Counts up by one for each table that differs from the one before. */
  generation: number
  /** When it was made: ISO 8601, UTC. */
  at: string
  /** By prefix, for `/mcp`. */
  routes: ReadonlyMap<string, Route>
  /** By `ssePrefix`, for `/sse` and `/message`. */
  sseRoutes: ReadonlyMap<string, Route>
  /** Every proxy, by key. */
  proxies: ReadonlyMap<string, Served>
  /** By configuration name. */
  prepared: ReadonlyMap<string, Prepared>
}

export const EMPTY_TABLE: Table = {
  generation: 0,
  at: new Date(0).toISOString(),
  routes: new Map(),
  sseRoutes: new Map(),
  proxies: new Map(),
  prepared: new Map(),
}

/**
 * A table of these configurations; their prefixes differ, as `checkTogether` has seen to.
 * @param before what stays as it is there is taken from it
 */
export function buildTable(
  generation: number,
  prepared: ReadonlyMap<string, Prepared>,
  before: Table = EMPTY_TABLE,
): Table {
  const routes = new Map(before.routes)
  const sseRoutes = new Map(before.sseRoutes)
  const proxies = new Map(before.proxies)
  for (const [, old] of changed(before.prepared, prepared))
    for (const { prefix, ssePrefix, proxy } of old.routes) {
      routes.delete(prefix)
      sseRoutes.delete(ssePrefix)
      if (proxy) proxies.delete(proxy.key)
    }
  for (const [, made] of changed(prepared, before.prepared))
    for (const route of made.routes) {
      routes.set(route.prefix, route)
      sseRoutes.set(route.ssePrefix, route)
      if (route.proxy) proxies.set(route.proxy.key, route.proxy)
    }
  return { generation, at: new Date().toISOString(), routes, sseRoutes, proxies, prepared }
}

/** Those of `one` that are not the same in `other`, by name. */
export function changed(
  one: ReadonlyMap<string, Prepared>,
  other: ReadonlyMap<string, Prepared>,
): [name: string, prepared: Prepared][] {
  const found: [string, Prepared][] = []
  if (one !== other)
    for (const [name, prepared] of one) if (other.get(name) !== prepared) found.push([name, prepared])
  return found
}

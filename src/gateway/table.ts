import type { CorsPolicy } from '../access/cors.ts'
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
export interface Route {
  prefix: string
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
  cors?: CorsPolicy
  /** The caller by an `Authorization` header; undefined refuses it. Absent: everyone may call. */
  authenticate?: (authorization: string | undefined) => { caller: string } | undefined
  /** Bytes of a request's body at the most. */
  maxRequestSize: number
}

/** Everything that is served, as a value: built beside the old one and swapped in one assignment. */
export interface Table {
  /** Counts up by one for each table that differs from the one before. */
  generation: number
  /** By prefix, for `/mcp`. */
  routes: ReadonlyMap<string, Route>
  /** By `ssePrefix`, for `/sse` and `/message`. */
  sseRoutes: ReadonlyMap<string, Route>
  /** By configuration name. */
  prepared: ReadonlyMap<string, Prepared>
}

export const EMPTY_TABLE: Table = {
  generation: 0,
  routes: new Map(),
  sseRoutes: new Map(),
  prepared: new Map(),
}

/** A table of these configurations; their prefixes differ, as `checkTogether` has seen to. */
export function buildTable(generation: number, prepared: ReadonlyMap<string, Prepared>): Table {
  const routes = new Map<string, Route>()
  const sseRoutes = new Map<string, Route>()
  for (const { routes: own } of prepared.values())
    for (const route of own) {
      routes.set(route.prefix, route)
      sseRoutes.set(route.ssePrefix, route)
    }
  return { generation, routes, sseRoutes, prepared }
}

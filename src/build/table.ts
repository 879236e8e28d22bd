import { changed, revised } from './revision.ts'
import type { Changes, ConfigurationChange, PrefixChange, Prepared, Route, Served, Table } from './types.ts'

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
  const routes: [string, Route | undefined][] = []
  const sseRoutes: typeof routes = []
  const proxies: [string, Served | undefined][] = []
  for (const [, old] of changed(before.prepared, prepared))
    for (const { prefix, ssePrefix, proxy } of old.routes) {
      routes.push([prefix, undefined])
      sseRoutes.push([ssePrefix, undefined])
      if (proxy) proxies.push([proxy.key, undefined])
    }
  for (const [, made] of changed(prepared, before.prepared))
    for (const route of made.routes) {
      routes.push([route.prefix, route])
      sseRoutes.push([route.ssePrefix, route])
      if (route.proxy) proxies.push([route.proxy.key, route.proxy])
    }
  return {
    generation,
    at: new Date().toISOString(),
    routes: revised(before.routes, routes),
    sseRoutes: revised(before.sseRoutes, sseRoutes),
    proxies: revised(before.proxies, proxies),
    prepared,
  }
}

/** Names in which two tables of configurations, or two lists of tools, differ. */
export function changesOf<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): Changes {
  const changes: Changes = { added: [], changed: [], removed: [] }
  for (const [name] of changed(after, before)) changes[before.has(name) ? 'changed' : 'added'].push(name)
  for (const [name] of changed(before, after)) if (!after.has(name)) changes.removed.push(name)
  return changes
}

/** The same, with what changes at each prefix. */
export function differenceOf(
  before: Table['prepared'],
  after: Table['prepared'],
  changes: Changes,
): ConfigurationChange[] {
  return (['added', 'changed', 'removed'] as const).flatMap((change) =>
    changes[change].map((id) => {
      const [old, fresh] = [before.get(id), after.get(id)]
      const { name, tenant } = (fresh ?? old)!
      return { name, tenant, change, prefixes: prefixesOf(old, fresh) }
    }),
  )
}

function prefixesOf(old: Prepared | undefined, fresh: Prepared | undefined): PrefixChange[] {
  const [before, after] = [byPrefix(old), byPrefix(fresh)]
  return [...new Set([...after.keys(), ...before.keys()])].flatMap((prefix): PrefixChange[] => {
    const [from, to] = [before.get(prefix), after.get(prefix)]
    const change = !from ? 'added' : !to ? 'removed' : 'changed'
    const tools = changesOf(listed(from), listed(to))
    const servers = from?.proxy?.key === to?.proxy?.key ? undefined : (to ?? from)?.proxy?.servers
    const same = change === 'changed' && !servers && !Object.values(tools).some((names) => names.length)
    return same ? [] : [{ prefix: prefix || '/', change, tools, ...(servers && { servers: [...servers] }) }]
  })
}

function byPrefix(prepared: Prepared | undefined): Map<string, Route> {
  return new Map(prepared?.routes.map((route) => [route.prefix, route]))
}

/** Each tool as clients see it. */
function listed(route: Route | undefined): Map<string, string> {
  const list = JSON.parse(route?.lists.tools ?? '[]') as { name: string }[]
  return new Map(list.map((tool) => [tool.name, JSON.stringify(tool)]))
}

import type { Changes, ConfigurationChange, PrefixChange, Prepared, Route, Table } from './types.ts'

export const EMPTY_TABLE: Table = {
  generation: 0,
  at: new Date(0).toISOString(),
  routes: new Map(),
  sseRoutes: new Map(),
  proxies: new Map(),
  prepared: new Map(),
}

/** A table of these configurations; their prefixes differ, as `checkTogether` has seen to. */
export function buildTable(generation: number, prepared: ReadonlyMap<string, Prepared>): Table {
  const routes = [...prepared.values()].flatMap((one) => one.routes)
  const served = routes.flatMap(({ proxy }) => proxy ?? [])
  return {
    generation,
    at: new Date().toISOString(),
    routes: new Map(routes.map((route) => [route.prefix, route])),
    sseRoutes: new Map(routes.map((route) => [route.ssePrefix, route])),
    proxies: new Map(served.map((one) => [one.key, one])),
    prepared,
  }
}

/** Entries of `one` that are not the same in `other`. */
export function changed<V>(one: ReadonlyMap<string, V>, other: ReadonlyMap<string, V>): [key: string, V][] {
  return [...one].filter(([key, value]) => other.get(key) !== value)
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

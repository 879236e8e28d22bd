import type { Prepared } from './prepare.ts'
import type { Route, Table } from './table.ts'

/** What changes at one prefix. */
export interface PrefixChange {
  prefix: string
  change: 'added' | 'changed' | 'removed'
  /** Names of tools; of a proxied server they are not known here. */
  tools: { added: string[]; changed: string[]; removed: string[] }
  /** The MCP servers behind it, where there are any and they change. */
  servers?: string[]
}

export interface ConfigurationChange {
  name: string
  tenant: string
  change: 'added' | 'changed' | 'removed'
  prefixes: PrefixChange[]
}

/** What lies between two tables, by configuration. */
export function differenceOf(
  before: Table['prepared'],
  after: Table['prepared'],
  changes: Record<ConfigurationChange['change'], readonly string[]>,
): ConfigurationChange[] {
  return (['added', 'changed', 'removed'] as const).flatMap((change) =>
    changes[change].map((name) => {
      const [old, fresh] = [before.get(name), after.get(name)]
      return { name, tenant: (fresh ?? old)!.tenant, change, prefixes: prefixesOf(old, fresh) }
    }),
  )
}

function prefixesOf(old: Prepared | undefined, fresh: Prepared | undefined): PrefixChange[] {
  const [before, after] = [byPrefix(old), byPrefix(fresh)]
  return [...new Set([...after.keys(), ...before.keys()])].flatMap((prefix): PrefixChange[] => {
    const [from, to] = [before.get(prefix), after.get(prefix)]
    const change = !from ? 'added' : !to ? 'removed' : 'changed'
    const tools = toolsOf(from, to)
    const servers = from?.proxy?.key === to?.proxy?.key ? undefined : (to ?? from)?.proxy?.servers
    const same = change === 'changed' && !servers && !Object.values(tools).some((names) => names.length)
    return same ? [] : [{ prefix: prefix || '/', change, tools, ...(servers && { servers: [...servers] }) }]
  })
}

function byPrefix(prepared: Prepared | undefined): Map<string, Route> {
  return new Map(prepared?.routes.map((route) => [route.prefix, route]))
}

function toolsOf(from: Route | undefined, to: Route | undefined): PrefixChange['tools'] {
  const [before, after] = [listed(from), listed(to)]
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    changed: [...after].flatMap(([name, text]) =>
      before.has(name) && before.get(name) !== text ? [name] : [],
    ),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  }
}

/** Each tool as clients see it. */
function listed(route: Route | undefined): Map<string, string> {
  const list = JSON.parse(route?.lists.tools ?? '[]') as { name: string }[]
  return new Map(list.map((tool) => [tool.name, JSON.stringify(tool)]))
}

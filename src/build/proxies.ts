import type { Configuration, Limits, Router } from '../config/index.ts'
import { type Finding, finding } from '../findings/index.ts'
import type { Problem } from '../tools/index.ts'
import { compileDefinition } from '../upstream/definition.ts'
import type { McpProxy } from '../upstream/index.ts'
import { claimsOf } from './assemble.ts'
import type { PrepareContext, Prepared } from './prepare.ts'
import { changed, type Served, type Table } from './table.ts'

/**
 * The proxy of a router that names MCP servers; undefined when it names none. One that is served with the same
 * definition is served on, with its sessions and processes. Nothing is started here.
 */
export function proxyOf(
  configuration: Configuration,
  names: readonly string[],
  router: Router,
  context: PrepareContext,
): { served: Served; problems: Problem[]; limits: Partial<Limits> | undefined } | undefined {
  const { mcpServers, tenant } = configuration
  const compiled = names.flatMap((name) => {
    const i = mcpServers.findIndex((server) => server.name === name)
    return i < 0 ? [] : [compileDefinition(mcpServers[i]!, ['mcpServers', i], context.env)]
  })
  if (!compiled.length) return undefined
  const problems = compiled.flatMap((each) => each.problems)
  const definitions = compiled.map(({ definition }) => definition)
  const servers = definitions.map(({ server }) => server)
  const limits = servers.length === 1 ? servers[0]!.limits : undefined
  const { prefix } = router
  // Templates read the environment when they are compiled, so what `env` gives is part of it.
  const key = JSON.stringify([
    configuration.name,
    tenant,
    prefix,
    typeof router.server,
    servers,
    context.limits,
    definitions.map(({ varies, resolve }) => (varies ? '' : resolve({ headers: {}, query: () => ({}) }))),
  ])
  const served = context.proxies.get(key) ?? {
    key,
    servers: servers.map(({ name }) => name),
    proxy:
      context.createProxy?.(definitions, {
        ...context,
        prefix,
        tenant,
        named: typeof router.server !== 'string',
      }) ?? NOBODY,
  }
  return { served, problems, limits }
}

function nobody(): never {
  throw new Error('these configurations are only looked at')
}

/** Stands where nothing is served: loading what proxies takes longer than checking most configurations. */
const NOBODY: McpProxy = {
  serveMcp: nobody,
  serveSse: nobody,
  serveMessage: nobody,
  status: nobody,
  start: async () => [],
  retire: async () => {},
  close: async () => {},
}

/** Those of `after` that `before` does not have. */
export function without(after: ReadonlyMap<string, Served>, before: ReadonlyMap<string, Served>): Served[] {
  return [...after.values()].filter(({ key }) => !before.has(key))
}

/**
 * Starts what is new as its policy says; a server that does not start is a finding. Where a configuration has a version
 * that is served that one is served on, as long as nobody else took its prefixes.
 * @returns what is to be served then
 */
export async function startProxies(
  prepared: ReadonlyMap<string, Prepared>,
  before: Table,
): Promise<{ prepared: ReadonlyMap<string, Prepared>; findings: Finding[]; refused: string[] }> {
  const findings: Finding[] = []
  const refused = new Map<string, Prepared>()
  const starting = [...changed(prepared, before.prepared)].map(async ([, fresh]) => {
    const made = fresh.routes.flatMap(({ proxy }) => (proxy && !before.proxies.has(proxy.key) ? [proxy] : []))
    const faults = (await Promise.all(made.map(({ proxy }) => proxy.start()))).flat()
    if (faults.length === 0) return
    const old = before.prepared.get(fresh.name)
    const kept = old !== undefined && !isTaken(old, prepared)
    const severity = kept ? 'error' : 'warning'
    for (const fault of faults) findings.push(finding('upstream-start', fresh.file, fault, { severity }))
    if (!kept) return
    refused.set(fresh.name, old)
    await Promise.all(made.map(({ proxy }) => proxy.close()))
  })
  await Promise.all(starting)
  const served = refused.size ? new Map([...prepared, ...refused]) : prepared
  return { prepared: served, findings, refused: [...refused.keys()] }
}

/** Whether another configuration now has a prefix of this one. */
function isTaken(old: Prepared, prepared: ReadonlyMap<string, Prepared>): boolean {
  const wanted = new Set(claimsOf(old))
  return [...prepared.values()].some(
    (one) => one.name !== old.name && claimsOf(one).some((each) => wanted.has(each)),
  )
}

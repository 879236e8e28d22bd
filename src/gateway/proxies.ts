import type { Configuration, Limits, Router } from '../config/index.ts'
import { type Finding, finding } from '../findings/index.ts'
import type { Problem } from '../tools/index.ts'
import { compileDefinition, createProxy } from '../upstream/index.ts'
import type { PrepareContext, Prepared } from './prepare.ts'
import type { Served, Table } from './table.ts'

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
    proxy: createProxy(definitions, { ...context, prefix, tenant, named: typeof router.server !== 'string' }),
  }
  return { served, problems, limits }
}

/** Every proxy of a table, by key. */
export function proxiesOf({ routes }: Pick<Table, 'routes'>): Map<string, Served> {
  const found = new Map<string, Served>()
  for (const { proxy } of routes.values()) if (proxy) found.set(proxy.key, proxy)
  return found
}

/** Those of `after` that `before` does not have. */
export function without(after: ReadonlyMap<string, Served>, before: ReadonlyMap<string, Served>): Served[] {
  return [...after.values()].filter(({ key }) => !before.has(key))
}

/** Starts what is new as its policy says; a server that does not start is a finding. */
export async function startProxies(
  prepared: ReadonlyMap<string, Prepared>,
  known: ReadonlyMap<string, Served>,
): Promise<Finding[]> {
  const starting = [...prepared.values()].flatMap(({ file, routes }) =>
    routes.flatMap(({ proxy }) =>
      proxy && !known.has(proxy.key)
        ? [
            proxy.proxy
              .start()
              .then((faults) => faults.map((fault) => finding('upstream-start', file, fault))),
          ]
        : [],
    ),
  )
  return (await Promise.all(starting)).flat()
}

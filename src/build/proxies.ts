import type { Configuration, Limits, Router } from '../config/index.ts'
import type { Problem } from '../tools/index.ts'
import { compileDefinition } from '../upstream/definition.ts'
import type { McpProxy } from '../upstream/index.ts'
import type { PrepareContext } from './prepare.ts'
import type { Served } from './types.ts'

/**
 * The proxy of a router that names MCP servers; undefined when it names none. One that is served with the same
 * definition is kept, with its sessions and processes. Nothing is started here.
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
  open: nobody,
  resume: nobody,
  adopt: nobody,
  alone: nobody,
  status: nobody,
  start: async () => [],
  retire: async () => {},
  close: async () => {},
}

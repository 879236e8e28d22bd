import type { McpServer, Path } from '../config/index.ts'
import { Fault } from '../mcp/index.ts'
import { compileDefinition } from '../upstream/index.ts'
import { checkHttp, checkReach, checkStdio } from './mcp.ts'
import { checkOrigin, chooseProbe } from './origin.ts'
import { probesOf, type ToolProbe } from './tools.ts'
import { callTargets } from './trial-calls.ts'
import { type CheckEndpointsOptions, DEFAULTS, type Read, type Target, type User, userOf } from './types.ts'

/** Everything there is to check: one target for each origin, for each MCP server, and for each tool to be called. */
export async function targetsOf(reads: readonly Read[], options: CheckEndpointsOptions): Promise<Target[]> {
  return [
    ...(await originTargets(reads, options)),
    ...reads.flatMap((read) => mcpTargets(read, options)),
    ...callTargets(reads, options),
  ]
}

async function originTargets(reads: readonly Read[], options: CheckEndpointsOptions): Promise<Target[]> {
  const { timeout = DEFAULTS.timeout, env } = options
  const groups = new Map<string, { probes: ToolProbe[]; users: User[] }>()
  const skipped: Target[] = []
  for (const read of reads) {
    const { probes, unasked } = await probesOf(read, env)
    for (const probe of probes) {
      const { origin, tool, index } = probe
      const key = JSON.stringify([origin, tool.proxy])
      const group = groups.get(key) ?? { probes: [], users: [] }
      group.probes.push(probe)
      const user = userOf(read, tool.name, ['tools', index, 'endpoint'])
      if (!group.users.some((one) => one.file === user.file && one.name === user.name)) group.users.push(user)
      groups.set(key, group)
    }
    for (const { tool, index, why } of unasked)
      skipped.push(skip('http', tool.endpoint, userOf(read, tool.name, ['tools', index, 'endpoint']), why))
  }
  const origins = [...groups.values()].map(({ probes, users }): Target => {
    const probe = chooseProbe(probes)
    const { origin, tool } = probe
    const by = tool.proxy ? ` by the proxy ${tool.proxy.host}:${tool.proxy.port}` : ''
    const run = (signal: AbortSignal) => checkOrigin(probe, { steps: [], timeout, signal })
    return { type: 'http', endpoint: origin + by, users, timeout, run }
  })
  return [...origins, ...skipped]
}

/** A target of which nothing is asked, with the reason. */
function skip(type: Target['type'], endpoint: string, user: User, detail: string): Target {
  const run: Target['run'] = async () => [{ name: 'HTTP', status: 'skipped', detail }]
  return { type, endpoint, users: [user], timeout: 1000, run }
}

function mcpTargets(read: Read, options: CheckEndpointsOptions): Target[] {
  const { timeout = DEFAULTS.timeout, env } = options
  return read.configuration.mcpServers.flatMap((server, i): Target[] => {
    const { type, name } = server
    const path: Path = ['mcpServers', i, type === 'stdio' ? 'command' : 'url']
    if (read.doubtful(path)) return []
    const user = userOf(read, name, path)
    const { definition, problems } = compileDefinition(server, ['mcpServers', i], env)
    if (problems.length > 0)
      return [skip(type, shownAddress(server), user, 'its definition has errors: run plantgw validate')]
    const resolved = definition.resolve({ headers: {}, query: () => ({}) })
    if (type === 'stdio') {
      const limit = options.timeout ?? server.startupTimeout
      const run = (signal: AbortSignal) => checkStdio(server, options, { steps: [], timeout: limit, signal })
      return [{ type, endpoint: shownAddress(server), users: [user], timeout: limit, run }]
    }
    if (resolved instanceof Fault) {
      const why = 'its address depends on the request of a caller'
      const origin = /^https?:\/\/[^/?#{]+(?=[/?#])/i.exec(server.url ?? '')?.[0]
      if (origin === undefined || !URL.canParse(origin)) return [skip(type, shownAddress(server), user, why)]
      const run = (signal: AbortSignal) => checkReach(origin, why, { steps: [], timeout, signal })
      return [{ type, endpoint: origin, users: [user], timeout, run }]
    }
    const { varies } = definition
    const run = (signal: AbortSignal) =>
      checkHttp(server, resolved, varies, options, { steps: [], timeout, signal })
    return [{ type, endpoint: resolved.origin, users: [user], timeout, run }]
  })
}

/** Without arguments and queries, which may hold secrets. */
function shownAddress({ type, command = '', url = '' }: McpServer): string {
  return type === 'stdio' ? command : url.replace(/[?#].*$/s, '')
}

import { sampleArgs } from '../checks/samples.ts'
import type { McpServer, Path } from '../config/index.ts'
import { variablesUsed } from '../config/secret-files.ts'
import { wholeEndpoint } from '../config/short-form.ts'
import { envOfTenant } from '../config/tenant-env.ts'
import { TRANSPORTS } from '../config/transports.ts'
import { credentialsFor } from '../credentials/credential.ts'
import { Fault } from '../mcp/index.ts'
import { type Connection, guardsOfCommands, HttpClient } from '../net/index.ts'
import { connectionOf } from '../tools/connection.ts'
import { type CompiledTool, compileTools } from '../tools/index.ts'
import { compileDefinition } from '../upstream/index.ts'
import { checkHttp, checkReach, checkStdio } from './mcp.ts'
import { checkOrigin } from './origin.ts'
import { probeOf, type ToolProbe, toolUses } from './tools.ts'
import {
  type CheckEndpointsOptions,
  DEFAULTS,
  failed,
  type Read,
  type Step,
  type Target,
  type User,
  userOf,
} from './types.ts'

/** All targets: one for each origin, each MCP server, and each tool to call. */
export async function targetsOf(reads: readonly Read[], options: CheckEndpointsOptions): Promise<Target[]> {
  const own = reads.map((read) => {
    const env = envOfTenant(options.env, read.configuration.tenant, options.tenants)
    return [read, { ...options, env }] as const
  })
  return [
    ...(await originTargets(own, options)),
    ...own.flatMap(([read, options]) => mcpTargets(read, options)),
    ...own.flatMap(([read, options]) => callTargets(read, options)),
  ]
}

/** A configuration, with the variables that it may read. */
type OwnRead = readonly [Read, Pick<CheckEndpointsOptions, 'env'>]

async function originTargets(reads: readonly OwnRead[], options: CheckEndpointsOptions): Promise<Target[]> {
  const { timeout = DEFAULTS.timeout, log, vault } = options
  const groups = new Map<string, { probes: ToolProbe[]; users: User[] }>()
  const skipped: Target[] = []
  const uses = reads.flatMap(([read, { env }]) =>
    toolUses(read)
      .filter((_, index) => !read.isRepaired(['tools', index, 'endpoint']))
      .map((use) => ({ use, env })),
  )
  for (const { use, env } of uses)
    for (const server of use.servers) {
      const { tool, user } = use
      const probe = await probeOf(use, server, env)
      if (typeof probe === 'string') {
        skipped.push(skip('http', wholeEndpoint(tool, server), user, probe))
        continue
      }
      const key = JSON.stringify([probe.origin, probe.connection.proxy, probe.connection.tls?.key])
      const group = groups.get(key) ?? { probes: [], users: [] }
      group.probes.push(probe)
      if (!group.users.some((one) => one.file === user.file && one.name === user.name)) group.users.push(user)
      groups.set(key, group)
    }
  const origins = [...groups.values()].map(({ probes, users }): Target => {
    const { origin, connection } = probes[0]!
    const run: Target['run'] = async (one) => {
      const http = new HttpClient()
      try {
        await checkOrigin(probes, one, credentialsFor({ http, guards: guardsOfCommands(), log, vault }))
      } finally {
        await http.drain()
      }
    }
    return { type: 'http', endpoint: origin + proxyText(connection), users, timeout, run }
  })
  return [...origins, ...skipped]
}

function proxyText({ proxy }: Connection): string {
  return proxy ? ` by the proxy ${proxy.host}:${proxy.port}` : ''
}

/** A skipped target, with the reason. */
function skip(type: Target['type'], endpoint: string, user: User, detail: string): Target {
  const run: Target['run'] = async ({ steps }) => {
    steps.push({ name: 'HTTP', status: 'skipped', detail })
  }
  return { type, endpoint, users: [user], timeout: 1000, run }
}

function mcpTargets(read: Read, options: CheckEndpointsOptions): Target[] {
  const { timeout = DEFAULTS.timeout, env, log, vault } = options
  return read.configuration.mcpServers.flatMap((server, i): Target[] => {
    const { type, name } = server
    const { address } = TRANSPORTS[type]
    const path: Path = ['mcpServers', i, address]
    if (read.isRepaired(path)) return []
    const user = userOf(read, name, path)
    const http = new HttpClient()
    const credentials = credentialsFor({ http, guards: guardsOfCommands(), log, vault })(
      server,
      read.configuration,
    )
    const at = ['mcpServers', i]
    const { connection, problems: ofTls } = connectionOf(server, at, true)
    const { definition, problems } = compileDefinition(
      server,
      at,
      env,
      credentials,
      connection,
      variablesUsed(read.text, env),
    )
    if ([...ofTls, ...problems].some(({ severity }) => severity === 'error'))
      return [skip(type, shownAddress(server), user, 'its definition has errors: run plantgw validate')]
    const resolved = definition.resolve({ headers: {}, query: () => ({}) })
    const target = (endpoint: string, run: Target['run'], limit = timeout): Target[] => [
      { type, endpoint, users: [user], timeout: limit, run },
    ]
    if (address !== 'url') {
      const limit = options.timeout ?? server.startupTimeout
      return target(shownAddress(server), (run) => checkStdio(definition, resolved, options, run), limit)
    }
    if (!(resolved instanceof Fault))
      return target(resolved.origin + proxyText(connection), async (run) => {
        try {
          await checkHttp(definition, resolved, options, run)
        } finally {
          await http.drain()
        }
      })
    const why = definition.perCaller
      ? 'it is called with a token of each caller'
      : 'its address depends on the request of a caller'
    const origin = /^https?:\/\/[^/?#{]+(?=[/?#])/i.exec(server.url ?? '')?.[0]
    if (origin === undefined || !URL.canParse(origin)) return [skip(type, shownAddress(server), user, why)]
    return target(origin + proxyText(connection), (run) => checkReach(origin, why, run, connection))
  })
}

/** Without arguments and queries, which may contain secrets. */
function shownAddress(server: McpServer): string {
  const { address } = TRANSPORTS[server.type]
  const text = server[address] ?? ''
  return address === 'url' ? text.replace(/[?#].*$/s, '') : text
}

/** The tools in `--call`; each is really called once, at the first server that offers it. */
function callTargets(read: Read, options: CheckEndpointsOptions): Target[] {
  const { call = [], env, limits, log, vault, timeout = DEFAULTS.timeout } = options
  return toolUses(read).flatMap(({ tool, user, args, servers }): Target[] => {
    if (!call.includes(tool.name)) return []
    const only = { ...servers[0], allowedTools: [tool.name] }
    const all = { ...read.configuration, servers: [only] }
    const given = sampleArgs(args, true)
    const run: Target['run'] = async ({ steps, signal }) => {
      const http = new HttpClient()
      try {
        const context = {
          env,
          variables: () => variablesUsed(read.text, env),
          limits: { ...limits, timeout, connectTimeout: timeout },
          http,
          guards: guardsOfCommands(),
          connection: connectionOf(only, [], true).connection,
          credentialsOf: credentialsFor({ http, guards: guardsOfCommands(), log, vault }),
        }
        const made = compileTools(all, only, context).tools.get(tool.name)
        steps.push(
          made
            ? await callOnce(made, given, signal)
            : { name: 'call', status: 'skipped', detail: 'it has errors: run plantgw validate' },
        )
      } finally {
        await http.drain()
      }
    }
    // The call's own timeout has a better message.
    return [{ type: 'call', endpoint: tool.name, users: [user], timeout: timeout + 1000, run }]
  })
}

async function callOnce(
  tool: CompiledTool,
  args: Parameters<CompiledTool['call']>[0],
  signal: AbortSignal,
): Promise<Step> {
  const { name } = tool.definition
  const params = { name, arguments: args } as never
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
  const outcome = await tool.call(args, { headers: {}, path: '/', body, signal })
  const { upstreamStatus, failure, detail, result } = outcome
  const status = upstreamStatus === undefined ? '' : `answered ${upstreamStatus}`
  if (!failure) return { name: 'call', status: 'ok', detail: status || 'answered' }
  const [first] = result.content
  // The upstream's answer is not needed, and may be long.
  const said = status || detail || (first?.type === 'text' ? first.text.slice(0, 300) : failure)
  return failed(
    'call',
    failure === 'connect' || failure === 'timeout' ? 'endpoint-unreachable' : 'endpoint-answer',
    `called with sample arguments, the tool \`${name}\` failed: ${said.replace(/\.$/, '')}`,
    'Run `plantgw render` to see the request, and `plantgw call` to call it with other arguments',
  )
}

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { createHostGuard } from '../../src/access/host.ts'
import { buildTable } from '../../src/build/table.ts'
import type { Route } from '../../src/build/types.ts'
import { readConfiguration } from '../../src/checks/index.ts'
import { DEFAULT_LIMITS } from '../../src/config/model.ts'
import { variablesUsed } from '../../src/config/secret-files.ts'
import { pipelineOf, SessionRegistry } from '../../src/mcp/index.ts'
import { createApp } from '../../src/server/app.ts'
import { createLog } from '../../src/telemetry/log.ts'
import type { CallRecord, StreamRecord } from '../../src/telemetry/metrics.ts'
import { compileDefinition, createProxy, type McpProxy } from '../../src/upstream/index.ts'
import type { Loose } from '../support/wire.ts'

export * from '../support/client.ts'
export { META } from '../support/wire.ts'

export interface Proxied {
  url: string
  proxy: McpProxy
  registry: SessionRegistry
  /** Lines that were logged, parsed. */
  logged: Loose[]
  /** What became of event streams of servers. */
  streams: StreamRecord[]
  /** Calls as metrics count them. */
  calls: CallRecord[]
  close(): Promise<void>
}

/** Serves MCP servers, as entries of a configuration file give them, behind `/p` over real HTTP. */
export async function proxied(
  t: TestContext,
  servers: object[],
  options: { list?: boolean; env?: Record<string, string>; authenticate?: Route['authenticate'] } = {},
): Promise<Proxied> {
  const names = servers.map((_, i) => `s${i + 1}`)
  const value = {
    name: 'test',
    routers: [{ server: options.list ? names : 's1', prefix: '/p' }],
    mcpServers: servers.map((server, i) => ({ name: names[i], ...server })),
  }
  const env = options.env ?? (process.env as Record<string, string>)
  const read = readConfiguration({ file: 'a.yaml', text: JSON.stringify(value) }, env)
  if (!read.configuration) throw new Error(JSON.stringify(read.findings))
  const used = variablesUsed(read.text, env)
  const definitions = read.configuration.mcpServers.map((server, i) => {
    const { definition, problems } = compileDefinition(
      server,
      ['mcpServers', i],
      env,
      undefined,
      undefined,
      used,
    )
    if (problems.length) throw new Error(JSON.stringify(problems))
    return definition
  })
  const logged: Loose[] = []
  const streams: StreamRecord[] = []
  const calls: CallRecord[] = []
  const to = { write: (line: string) => void logged.push(JSON.parse(line)) }
  const log = await createLog({ level: 'debug', format: 'json', to })
  const context = { env, limits: DEFAULT_LIMITS, log, prefix: '/p', tenant: 'default', version: '1' }
  const onStream = (record: StreamRecord) => void streams.push(record)
  const together = { names: 'prefixed' as const, selections: [], local: undefined }
  const proxy = createProxy(definitions, { ...context, onStream, ...(options.list && { together }) })
  const registry = new SessionRegistry()
  const route: Route = {
    prefix: '/p',
    ssePrefix: '/p',
    access: 'open',
    backend: proxy,
    proxy: { key: 'p', proxy, servers: names },
    callLog: { tenant: 'default', prefix: '/p', log, onCall: (record) => void calls.push(record) },
    pipeline: pipelineOf({}),
    tools: [],
    lists: { tools: '[]', prompts: '[]' },
    configuration: 'test',
    keepsResults: false,
    tenant: 'default',
    maxRequestSize: DEFAULT_LIMITS.maxRequestSize,
    ...(options.authenticate && { authenticate: options.authenticate }),
  }
  const table = buildTable(
    1,
    new Map([
      [
        'test',
        {
          id: 'test',
          name: 'test',
          tenant: 'default',
          file: 'a.yaml',
          text: '',
          since: '',
          claims: [],
          servers: new Map(),
          routes: [route],
        },
      ],
    ]),
  )
  const guard = createHostGuard({ bind: '127.0.0.1', allowedHosts: [], allowedOrigins: [] })
  const app = createApp({ table: () => table, registry, guard, log })
  const server = createServer(getRequestListener(app.fetch)).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= (async () => {
      registry.close()
      await proxy.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })()
    return closed
  }
  t.after(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/p/mcp`,
    proxy,
    registry,
    logged,
    streams,
    calls,
    close,
  }
}

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
import { SessionRegistry } from '../../src/mcp/index.ts'
import { createApp } from '../../src/server/app.ts'
import { createLog } from '../../src/telemetry/log.ts'
import type { CallRecord, StreamRecord } from '../../src/telemetry/metrics.ts'
import { compileDefinition, createProxy, type McpProxy } from '../../src/upstream/index.ts'
import { ACCEPT, type Loose } from '../support/wire.ts'

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

let ids = 0

/** POSTs a message; the response is not read. */
export function send(
  url: string,
  message: object,
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: ACCEPT, ...headers },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    ...(signal && { signal }),
  })
}

/** All messages of an answer, whether it is JSON or a stream. */
export async function messages(response: Response): Promise<Loose[]> {
  const text = await response.text()
  if (!response.headers.get('content-type')?.startsWith('text/event-stream'))
    return text ? [JSON.parse(text)] : []
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => JSON.parse(data as string))
}

export interface Client {
  headers: Record<string, string>
  /** Sends a request and gives all messages of its answer. */
  all(method: string, params?: object): Promise<Loose[]>
  /** Sends a request and gives its answer. */
  request(method: string, params?: object): Promise<Loose>
  /** Calls a tool: its text, or the message of the error. */
  call(name: string, args?: object): Promise<string>
}

function client(all: Client['all'], headers: Record<string, string>): Client {
  const request: Client['request'] = async (method, params) => (await all(method, params)).at(-1)
  return {
    headers,
    all,
    request,
    async call(name, args = {}) {
      const { result, error } = await request('tools/call', { name, arguments: args })
      return error ? `error: ${error.message}` : result.content.map((each: Loose) => each.text).join()
    },
  }
}

/** Opens a session, of 2025-11-25 unless said otherwise. */
export async function open(
  url: string,
  given: Record<string, string> = {},
  capabilities: object = {},
  protocolVersion = '2025-11-25',
): Promise<Client & { initialized: Loose; status: number }> {
  const clientInfo = { name: 'test', version: '1' }
  const params = { protocolVersion, capabilities, clientInfo }
  const response = await send(url, { id: ++ids, method: 'initialize', params }, given)
  const session = response.headers.get('mcp-session-id')
  const headers = {
    ...given,
    ...(session && { 'mcp-session-id': session }),
    'mcp-protocol-version': protocolVersion,
  }
  const initialized = (await messages(response)).at(-1)
  if (session) await (await send(url, { method: 'notifications/initialized' }, headers)).text()
  return { ...inSession(url, headers), initialized, status: response.status }
}

/** A client that has a session already. @param headers of its requests, with the id of the session */
export function inSession(url: string, headers: Record<string, string>): Client {
  return client(
    async (method, params = {}) => messages(await send(url, { id: ++ids, method, params }, headers)),
    headers,
  )
}

/** Opens a session over SSE, the transport of 2024-11-05. @param url of `{prefix}/mcp` */
export async function openSse(
  t: TestContext,
  url: string,
): Promise<Client & { close: () => Promise<unknown> }> {
  const response = await fetch(url.replace(/mcp(?=\?|$)/, 'sse'))
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.after(() => reader.cancel().catch(() => {}))
  let text = ''
  async function next(): Promise<string> {
    for (let end = text.indexOf('\n\n'); end < 0; end = text.indexOf('\n\n')) {
      const piece = await reader.read()
      if (piece.done) throw new Error('the stream has ended')
      text += piece.value
    }
    const [event, ...rest] = text.split('\n\n')
    text = rest.join('\n\n')
    return /^data: (.*)$/m.exec(event!)?.[1] ?? next()
  }
  const address = new URL(await next(), url).href
  const all: Client['all'] = async (method, params = {}) => {
    const id = ++ids
    await (await send(address, { id, method, params })).text()
    const heard: Loose[] = []
    while (heard.at(-1)?.id !== id) heard.push(JSON.parse(await next()))
    return heard
  }
  const clientInfo = { name: 'test', version: '1' }
  await all('initialize', { protocolVersion: '2024-11-05', capabilities: {}, clientInfo })
  await (await send(address, { method: 'notifications/initialized' })).text()
  return { ...client(all, {}), close: () => reader.cancel() }
}

/** Clients of each kind. */
export const CLIENTS: Record<string, (t: TestContext, url: string) => Promise<Client>> = {
  session: (_, url) => open(url),
  modern: async (_, url) => modern(url),
  sse: openSse,
}

export const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** POSTs a request of 2026-07-28. */
export function modernSend(
  url: string,
  method: string,
  params: Loose = {},
  headers: Record<string, string> = {},
  signal?: AbortSignal,
) {
  const name = params.name ?? params.uri
  const own = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name && { 'mcp-name': name }),
  }
  const message = { id: ++ids, method, params: { ...params, _meta: { ...META, ...params._meta } } }
  return send(url, message, { ...own, ...headers }, signal)
}

/** A client of 2026-07-28. */
export function modern(url: string, headers: Record<string, string> = {}): Client {
  return client(async (method, params) => messages(await modernSend(url, method, params, headers)), headers)
}

/** Whether a process is there; a zombie is. */
export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Waits, without a guess at how long it takes, until something holds; what has not come in a minute does not come. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`still not so after a minute: ${holds}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import { freePort, plantgw, type Running, type RunOptions, temporaryFolder } from './process.ts'
import { ACCEPT, type Loose } from './wire.ts'

export interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

export interface Sent {
  path: string
  method?: string
  headers?: Record<string, string | string[]> | string[]
  body?: string | Buffer
  /** Milliseconds after which the client goes away. Default 60 s. */
  timeout?: number
}

export interface Served extends Gateway {
  /** One request as it is written here; a client that went away, or was cut off, has status 0. */
  send(sent: Sent): Promise<Answer>
  /** A JSON-RPC message as any text. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Opens a session at `{prefix}/mcp`; the headers that its requests carry. */
  open(prefix: string, revision?: string): Promise<Record<string, string>>
}

/** The keys of an entry of `mcpServers` in a configuration file, without `name`. */
export type Upstream = { type: 'stdio' | 'sse' | 'streamable-http' } & Record<string, unknown>

export interface Gateway extends Running {
  /** Of the configurations. */
  folder: string
  port: number
  /** Of the process, without a path. */
  origin: string
  /** Where a prefix is reached, by its name. */
  url(name: string, endpoint?: 'mcp' | 'sse'): string
}

export interface GatewayOptions extends Pick<RunOptions, 'env' | 'node' | 'program' | 'group'> {
  /** Each behind the prefix of its name. */
  upstreams?: Record<string, Upstream>
  /** Other configuration files by name. */
  files?: Record<string, string>
  /** Where configurations are already. */
  folder?: string
  /** Pins. */
  lock?: object
  /** Of a file in the folder above. */
  settings?: object
  args?: readonly string[]
  port?: number
  /** Runs while it starts. */
  meanwhile?: (running: Running) => Promise<void>
  /** What it prints when it serves; default: the overview. */
  until?: RegExp
}

/** Writes a file for each MCP server, which is behind the prefix of its name, and other files by name. */
export function writeConfigurations(
  folder: string,
  upstreams: Record<string, Upstream>,
  files: Record<string, string>,
): void {
  for (const [name, upstream] of Object.entries(upstreams)) {
    const routers = [{ server: name, prefix: `/${name}` }]
    const text = stringify({ name, routers, mcpServers: [{ name, ...upstream }] })
    writeFileSync(join(folder, `${name}.yaml`), text)
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.yaml`), text)
}

/** Settings with which a gateway on a slow machine does not refuse requests as overloaded. */
function unhurried(settings: object & { limits?: object }): object {
  return { ...settings, limits: { maxEventLoopDelay: '1m', ...settings.limits } }
}

/** Serves configurations with the built binary. */
export async function serveFiles(t: Pick<TestContext, 'after'>, options: GatewayOptions): Promise<Gateway> {
  const {
    upstreams = {},
    files = {},
    lock,
    settings,
    args = [],
    meanwhile,
    until = /plantgw serves/,
  } = options
  const above = temporaryFolder(t)
  const { folder = join(above, 'configs'), port = await freePort(), ...more } = options
  mkdirSync(folder, { recursive: true })
  writeConfigurations(folder, upstreams, files)
  if (lock) writeFileSync(join(folder, 'plantgw.lock'), JSON.stringify(lock))
  const file = join(above, 'plantgw.yaml')
  if (settings) writeFileSync(file, stringify(unhurried(settings)))
  const given = settings ? ['--settings', file] : []
  const flags = ['serve', folder, '--port', String(port), '--log-format', 'json', ...given, ...args]
  const running = plantgw(t, flags, more)
  await meanwhile?.(running)
  await running.until(until)
  const origin = `http://127.0.0.1:${port}`
  return {
    ...running,
    folder,
    port,
    origin,
    url: (name, endpoint = 'mcp') => `${origin}/${name}/${endpoint}`,
  }
}

type ServedOptions = Pick<GatewayOptions, 'env' | 'lock' | 'settings' | 'program'>

/** Serves configurations with the built binary, over real sockets. */
export async function served(
  t: TestContext,
  configurations: readonly Loose[],
  options: ServedOptions = {},
): Promise<Served> {
  const files = Object.fromEntries(configurations.map((each) => [each.name, JSON.stringify(each)]))
  const gateway = await serveFiles(t, { ...options, files })
  const { port } = gateway
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())

  const send = ({ path, method = 'POST', headers = {}, body, timeout = 60_000 }: Sent) =>
    new Promise<Answer>((resolve) => {
      const gone = () => resolve({ status: 0, headers: {}, text: '' })
      const sent = request({ host: '127.0.0.1', port, agent, path, method, headers, timeout }, (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        )
        response.on('close', gone)
      })
      sent.on('error', gone)
      sent.on('timeout', () => sent.destroy())
      sent.end(body)
    })
  const post: Served['post'] = (path, body, headers = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const all = {
      'content-type': 'application/json',
      accept: ACCEPT,
      'content-length': String(Buffer.byteLength(text)),
      ...headers,
    }
    return send({ path, headers: all, body: text })
  }
  return {
    ...gateway,
    send,
    post,
    async open(prefix, revision = '2025-11-25') {
      const params = {
        protocolVersion: revision,
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      }
      const answer = await post(`${prefix}/mcp`, { jsonrpc: '2.0', id: 'open', method: 'initialize', params })
      const session = answer.headers['mcp-session-id']
      if (typeof session !== 'string')
        throw new Error(`no session at ${prefix}: ${answer.status} ${answer.text}`)
      const headers = { 'mcp-session-id': session, 'mcp-protocol-version': revision }
      await post(`${prefix}/mcp`, { jsonrpc: '2.0', method: 'notifications/initialized' }, headers)
      return headers
    },
  }
}

/** Headers of a request of 2026-07-28. */
export function modernHeaders(method: string, name?: string): Record<string, string> {
  return {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(name !== undefined && { 'mcp-name': name }),
  }
}

export const MODERN_META =
  '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'

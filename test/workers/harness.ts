import { writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { parse, stringify } from 'yaml'
import type { Upstream } from '../fixtures/gateway.ts'
import { freePort, plantgw, type Running, temporaryFolder } from '../support/process.ts'

export interface Worker {
  worker: number
  pid: number
  connections: number
  sessions: number
}

export interface Gateway extends Running {
  folder: string
  port: number
  origin: string
  url(name: string, endpoint?: 'mcp' | 'sse'): string
  workers(): Promise<Worker[]>
  metrics(): Promise<string>
}

export interface Options {
  /** Each behind the prefix of its name. */
  upstreams?: Record<string, Upstream>
  /** Other configuration files by name. */
  files?: Record<string, string>
  settings?: object
  count?: number
  port?: number
  env?: Record<string, string>
  /** Options of Node itself. */
  node?: readonly string[]
  /** Has it lead a process group. */
  group?: boolean
  /** Runs while it starts. */
  meanwhile?: (running: Running) => Promise<void>
  /** What it prints when it serves; default: the overview. */
  until?: RegExp
}

/** A gateway of the built binary with several workers, of which the whole log is read. */
export async function serveWorkers(t: TestContext, options: Options): Promise<Gateway> {
  const { upstreams = {}, files = {}, settings = {}, count = 3, env = {}, node = [], group = false } = options
  const folder = temporaryFolder(t)
  for (const [name, upstream] of Object.entries(upstreams)) {
    const routers = [{ server: name, prefix: `/${name}` }]
    const text = stringify({ name, routers, mcpServers: [{ name, ...upstream }] })
    writeFileSync(join(folder, `${name}.yaml`), text)
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.yaml`), text)
  const file = join(temporaryFolder(t), 'plantgw.yaml')
  writeFileSync(file, stringify(settings))
  const port = options.port ?? (await freePort())
  const log = ['--log-format', 'json', '--log-level', 'debug']
  const args = [
    'serve',
    folder,
    '--settings',
    file,
    '--port',
    String(port),
    '--workers',
    String(count),
    ...log,
  ]
  const running = plantgw(t, args, { env, node, group })
  await options.meanwhile?.(running)
  await running.until(options.until ?? /plantgw serves/)
  const origin = `http://127.0.0.1:${port}`
  return {
    ...running,
    folder,
    port,
    origin,
    url: (name, endpoint = 'mcp') => `${origin}/${name}/${endpoint}`,
    workers: async () => ((await (await fetch(`${origin}/_status`)).json()) as { workers: Worker[] }).workers,
    metrics: async () => (await fetch(`${origin}/metrics`)).text(),
  }
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

export const ACCEPT = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** Sends a message on a connection of its own, which the gateway gives to the worker that has the fewest. */
export function post(url: string, message: object, headers: Record<string, string> = {}): Promise<Answer> {
  return ask(url, 'POST', { ...ACCEPT, ...headers }, JSON.stringify({ jsonrpc: '2.0', ...message }))
}

export function ask(
  url: string,
  method: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      answer.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

const HELLO = { capabilities: {}, clientInfo: { name: 'test', version: '1' } }

/** Opens a session, and gives the headers that its requests have. */
export async function openSession(
  url: string,
  headers: Record<string, string> = {},
  protocolVersion = '2025-11-25',
) {
  const params = { ...HELLO, protocolVersion }
  const answer = await post(url, { id: 'hello', method: 'initialize', params }, headers)
  const id = String(answer.headers['mcp-session-id'])
  return { answer, headers: { ...headers, 'mcp-session-id': id, 'mcp-protocol-version': protocolVersion } }
}

/** The names of the one tool behind the prefix `/tools` that its workers answer with. */
export async function servedNames({ url }: Gateway): Promise<string[]> {
  const all = Array.from({ length: 6 }, async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
    const list = { id: 'list', method: 'tools/list', params: { _meta: meta } }
    const { text } = await post(url('tools'), list, headers)
    return /"tools":\[\{"name":"(\w+)"/.exec(text)?.[1] ?? text
  })
  return [...new Set(await Promise.all(all))]
}

/** The text of a configuration with another name of its one tool. */
export function renamed(text: string, name: string): string {
  const all = parse(text)
  all.tools[0].name = name
  return stringify(all)
}

/** Asks until it is so. */
export async function eventually<Value>(ask: () => Promise<Value | undefined | false>): Promise<Value> {
  for (;;) {
    const value = await ask()
    if (value) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

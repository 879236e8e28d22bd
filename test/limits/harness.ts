import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { stringify } from 'yaml'
import { listening } from '../support/listening.ts'
import { freePort, plantgw, type Running, temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'
import { ACCEPT } from '../support/wire.ts'

export const MIB = 1024 * 1024
/** Of the tests here: they wait for what has no other end than a deadline of the gateway's. */
export const LONG = { timeout: 120_000 }

export interface Attacked extends Running {
  port: number
  origin: string
  /** MiB of resident memory, now. */
  rss(): number
  /** Ends the sampling; MiB of resident memory every 250 ms. */
  curve(): { peak: number; last: number; samples: number[] }
}

/** Serves configurations with the built binary at a heap of 256 MiB. */
export async function serveSmall(
  t: TestContext,
  configurations: object[],
  settings: object = {},
): Promise<Attacked> {
  const folder = temporaryFolder(t)
  for (const [i, configuration] of configurations.entries())
    writeFileSync(join(folder, `c${i}.yaml`), stringify({ name: `c${i}`, ...configuration }))
  const file = join(temporaryFolder(t), 'plantgw.yaml')
  writeFileSync(file, stringify(settings))
  const port = await freePort()
  const args = ['serve', folder, '--settings', file, '--port', String(port), '--log-format', 'json']
  const env = { NODE_OPTIONS: '--max-old-space-size=256' }
  const running = plantgw(t, [...args, '--log-level', 'warn'], { env })
  await running.until(/plantgw serves/)
  const rss = () => {
    try {
      const pages = Number(readFileSync(`/proc/${running.child.pid}/statm`, 'utf8').split(' ')[1])
      return Math.round((pages * 4096) / MIB)
    } catch {
      return 0
    }
  }
  const samples: number[] = []
  const sampler = setInterval(() => samples.push(rss()), 250)
  const stop = () => clearInterval(sampler)
  t.after(() => {
    stop()
    t.diagnostic(`RSS in MiB every 250 ms: ${samples.join(' ')}; peak ${Math.max(...samples)}`)
  })
  return {
    ...running,
    port,
    origin: `http://127.0.0.1:${port}`,
    rss,
    curve() {
      stop()
      samples.push(rss())
      const curve = { peak: Math.max(...samples), last: samples.at(-1) ?? 0, samples }
      return curve
    },
  }
}

/** Serves HTTP on loopback until the test ends. */
export async function serveHttp(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  const port = await listening(t, server)
  return `http://127.0.0.1:${port}`
}

/** Results are as long as answers. */
export const WHOLE = { resultChars: 100_000_000 }

/** A configuration with one HTTP tool, `call`. */
export function httpTool(prefix: string, endpoint: string, more: object = {}) {
  return {
    routers: [{ server: 'api', prefix }],
    servers: [{ name: 'api', allowedTools: ['call'] }],
    tools: [
      { name: 'call', method: 'GET', endpoint, responseBody: '{{.Response.Body}}', limits: WHOLE, ...more },
    ],
  }
}

/** A configuration with one proxied server. */
export function proxied(prefix: string, server: object) {
  return { routers: [{ server: 'mcp', prefix }], mcpServers: [{ name: 'mcp', ...server }] }
}

/** A program over stdio: lines of JSON-RPC go through `answer`, which is source text of `(message, send) => …`. */
export function script(t: TestContext, answer: string): object {
  const file = join(temporaryFolder(t), 'server.mjs')
  writeFileSync(
    file,
    `import { createInterface } from 'node:readline'
const send = (message) =>
  new Promise((resolve) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n', resolve))
const answer = ${answer}
createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  const { id, method, params } = message
  if (method === 'initialize')
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } })
  else if (method === 'tools/list') send({ id, result: { tools: [{ name: 'x', inputSchema: { type: 'object' } }] } })
  else answer(message, send)
})
`,
  )
  return { type: 'stdio', command: process.execPath, args: [file] }
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: ACCEPT }

export function rpc(method: string, params: object = {}, id: unknown = 1) {
  return { jsonrpc: '2.0', id, method, params }
}

export const INITIALIZE = rpc('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})

/** POSTs a message on a connection of its own. */
export function post(url: string, message: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const body = typeof message === 'string' ? message : JSON.stringify(message)
  return fetch(url, { method: 'POST', headers: { ...JSON_HEADERS, connection: 'close', ...headers }, body })
}

/** Opens a session; the headers that name it. */
export async function open(url: string, headers: Record<string, string> = {}) {
  const response = await post(url, INITIALIZE, headers)
  await response.text()
  const id = response.headers.get('mcp-session-id')
  if (!id) throw new Error(`no session: ${response.status}`)
  return { ...headers, 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
}

/** The status of a session's `ping`. */
export async function ping(url: string, session: Record<string, string>): Promise<number> {
  const response = await post(url, rpc('ping'), session)
  await response.text()
  return response.status
}

/** A request as bytes. */
export function raw(path: string, body: unknown, headers: Record<string, string> = {}, method = 'POST') {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const all = { host: 'localhost', ...JSON_HEADERS, 'content-length': String(text.length), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${text}`
}

/** Opens a connection that reads nothing, and sends; whoever closes it is no fault. */
export async function silent(t: TestContext, port: number, text = ''): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  t.after(() => socket.destroy())
  socket.pause()
  await once(socket, 'connect')
  if (text) socket.write(text)
  return socket
}

/** Everything that comes on a connection until the other end closes it. */
export async function answerOf(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.setEncoding('latin1')
  let all = ''
  socket.on('data', (chunk) => {
    all += chunk
  })
  socket.write(text)
  await once(socket, 'close')
  return all
}

/** Reads the events of a stream in the background; their data as it has come so far. */
export async function listen(t: TestContext, url: string, headers: Record<string, string> = {}) {
  const abort = new AbortController()
  t.after(() => abort.abort())
  const response = await fetch(url, {
    headers: { accept: 'text/event-stream', ...headers },
    signal: abort.signal,
  })
  const data: string[] = []
  const read = async () => {
    let rest = ''
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) if (line.startsWith('data: ')) data.push(line.slice(6))
    }
  }
  const ended = read().catch(() => {})
  return { response, data, ended, abort: () => abort.abort() }
}

/** Opens the SSE transport; where messages go. */
export async function openSse(t: TestContext, origin: string, prefix: string) {
  const stream = await listen(t, `${origin}${prefix}/sse`)
  await until(() => stream.data.length > 0)
  return { ...stream, messages: `${origin}${stream.data[0]}` }
}

import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { freePort, plantgw, type Running, temporaryFolder } from './process.ts'
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

export interface Served extends Running {
  port: number
  /** Of the configurations. */
  folder: string
  /** One request as it is written here; a client that went away, or was cut off, has status 0. */
  send(sent: Sent): Promise<Answer>
  /** A JSON-RPC message as any text. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** Opens a session at `{prefix}/mcp`; the headers that its requests carry. */
  open(prefix: string, revision?: string): Promise<Record<string, string>>
}

interface ServedOptions {
  env?: Record<string, string>
  settings?: object
  lock?: object
  /** The program of Node; by default that of the test. */
  program?: string
}

/** Serves configurations with the built binary, over real sockets. */
export async function served(
  t: TestContext,
  configurations: readonly Loose[],
  { env = {}, settings, lock, program }: ServedOptions = {},
): Promise<Served> {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  for (const each of configurations)
    writeFileSync(join(folder, 'configs', `${each.name}.yaml`), JSON.stringify(each))
  if (lock) writeFileSync(join(folder, 'configs', 'plantgw.lock'), JSON.stringify(lock))
  if (settings) writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify(settings))
  const port = await freePort()
  const args = ['serve', join(folder, 'configs'), '--port', String(port), '--log-format', 'json']
  if (settings) args.push('--settings', join(folder, 'plantgw.yaml'))
  const running = plantgw(t, args, { env, ...(program && { program }) })
  await running.until(/plantgw serves/)
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
    ...running,
    port,
    folder: join(folder, 'configs'),
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

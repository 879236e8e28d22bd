import { type IncomingHttpHeaders, request } from 'node:http'
import type { TestContext } from 'node:test'
import { parse, stringify } from 'yaml'
import {
  type GatewayOptions,
  modernHeaders,
  type Gateway as OneGateway,
  serveFiles,
} from '../support/served.ts'
import { META } from '../support/wire.ts'

export interface Worker {
  worker: number
  pid: number
  connections: number
  sessions: number
}

export interface Gateway extends OneGateway {
  workers(): Promise<Worker[]>
  metrics(): Promise<string>
}

export interface Options extends GatewayOptions {
  count?: number
}

/** A gateway of the built binary with several workers, of which the whole log is read. */
export async function serveWorkers(t: TestContext, { count = 3, ...options }: Options): Promise<Gateway> {
  const args = ['--log-level', 'debug', '--workers', String(count)]
  const gateway = await serveFiles(t, { settings: {}, ...options, args })
  const { origin } = gateway
  return {
    ...gateway,
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
    const list = { id: 'list', method: 'tools/list', params: { _meta: META } }
    const { text } = await post(url('tools'), list, modernHeaders('tools/list'))
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

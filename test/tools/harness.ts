import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after } from 'node:test'
import {
  type Arg,
  type Configuration,
  DEFAULT_LIMITS,
  type Limits,
  type Server,
  type Tool,
} from '../../src/config/model.ts'
import type { CredentialsOf } from '../../src/credentials/credential.ts'
import type { Json } from '../../src/json/index.ts'
import { HttpClient, type Resilience } from '../../src/net/index.ts'
import { type CallContext, type CallOutcome, compileTools } from '../../src/tools/index.ts'

/** What an upstream of a test received. */
export interface Received {
  method: string
  url: string
  /** Names and values in turn, as they came. */
  rawHeaders: string[]
  headers: IncomingMessage['headers']
  body: Buffer
}

export interface Upstream {
  origin: string
  received: Received[]
  /** The newest request. */
  last(): Received
  connections(): number
}

type Answerer = (response: ServerResponse, received: Received) => unknown

/** An HTTP server on a free port, closed after the test file; the default answer is `{"ok":true}`. */
export async function upstream(
  answer: Answerer = (response) => json(response, { ok: true }),
): Promise<Upstream> {
  const received: Received[] = []
  let connections = 0
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '', rawHeaders, headers } = request
      received.push({ method, url, rawHeaders, headers, body: Buffer.concat(chunks) })
      answer(response, received.at(-1)!)
    })
  }
  const server = createServer(listener)
  server.on('connection', () => {
    connections++
  })
  const origin = await listen(server)
  return { origin, received, last: () => received.at(-1)!, connections: () => connections }
}

/** Listens on a free port of the loopback and stops after the test file. */
export async function listen(server: import('node:net').Server): Promise<string> {
  const sockets = new Set<import('node:net').Socket>()
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

export function json(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
}

export function arg(name: string, position: Arg['position'], rest: Partial<Arg> = {}): Arg {
  return { name, position, required: false, type: 'string', ...rest }
}

type Parts = Partial<Tool> & { endpoint: string }

export function makeTool(parts: Parts): Tool {
  return { name: 'tool', method: 'GET', headers: {}, args: [], followRedirects: false, ...parts }
}

export interface Setup {
  server?: Partial<Server>
  limits?: Partial<Limits>
  env?: Record<string, string>
  http?: HttpClient
  resilience?: Resilience
  credentialsOf?: CredentialsOf
}

const shared = new HttpClient()
after(() => shared.drain())

/** Compiles tools as the only ones of a configuration. */
export function compileAll(tools: Tool[], setup: Setup = {}) {
  const server: Server = { name: 'server', config: {}, redact: 'own', ...setup.server }
  const configuration: Configuration = {
    name: 'test',
    tenant: 'default',
    routers: [],
    servers: [server],
    tools,
    prompts: [],
    mcpServers: [],
  }
  const limits = { ...DEFAULT_LIMITS, ...setup.limits }
  const { env = {}, http = shared, resilience, credentialsOf } = setup
  const context = { env, limits, http, resilience, ...(credentialsOf && { credentialsOf }) }
  return compileTools(configuration, server, context)
}

/** Compiles one tool that must be sound; returns its call. */
export function callable(parts: Parts, setup: Setup = {}) {
  const { tools, problems } = compileAll([makeTool(parts)], setup)
  if (problems.some(({ severity }) => severity === 'error'))
    throw new Error(problems.map(({ message }) => message).join('\n'))
  const tool = tools.get(parts.name ?? 'tool')!
  return (args: unknown = {}, call: Partial<CallContext> = {}): Promise<CallOutcome> =>
    tool.call(args, { headers: {}, body: null as Json, signal: new AbortController().signal, ...call })
}

/** The text of a result's first content. */
export function text({ result }: CallOutcome): string {
  const [first] = result.content
  if (first?.type !== 'text') throw new Error(`not a text: ${JSON.stringify(first)}`)
  return first.text
}

import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { listening } from './listening.ts'
import type { Loose } from './wire.ts'

/** What a server writes for a call, line by line; `id` is the call's own, as JSON. */
export type Script = (id: string) => string[]

export interface Scripted {
  /** Entries of `mcpServers`, without a name; the tool `say` plays the script that its argument `key` names. */
  servers: Record<'stdio' | 'stdio-modern' | 'streamable' | 'streamable-modern' | 'sse', object>
  /** The origin of an HTTP API, which answers `/say/<key>` with the script's lines as one body, else `{"ok":true}`. */
  api: string
  scripts: Map<string, Script>
  /** Media type of what the API says. */
  type: string
}

const DISCOVERED = {
  resultType: 'complete',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
  _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1' } },
}
const TOOLS = ['say', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } }))
/** The child pipes between its standard streams and the test's process, where the scripts are. */
const RELAY =
  "const s=require('net').connect(process.argv[1],'127.0.0.1');process.stdin.pipe(s);s.pipe(process.stdout);s.on('error',()=>process.exit())"

/** MCP servers over every transport and of both eras, and an HTTP API, that write whatever a test wants. */
export async function scripted(t: TestContext): Promise<Scripted> {
  const scripts = new Map<string, Script>()

  function linesFor(text: string, modern: boolean): string[] {
    let value: Loose
    try {
      value = JSON.parse(text)
    } catch {
      return []
    }
    return [value].flat().flatMap((message) => linesOf(message, modern))
  }
  function linesOf({ id, method, params }: Loose, modern: boolean): string[] {
    if (id === undefined || method === undefined) return []
    const reply = (body: object) => [JSON.stringify({ jsonrpc: '2.0', id, ...body })]
    const result = (given: object) =>
      reply({
        result: modern ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...given } : given,
      })
    if (method === 'tools/call') {
      const script = scripts.get(params?.arguments?.key)
      return script ? script(JSON.stringify(id)) : result({ content: [{ type: 'text', text: 'said' }] })
    }
    if (method === 'tools/list') return result({ tools: TOOLS })
    if (modern && method === 'server/discover') return result(DISCOVERED)
    if (!modern && method === 'initialize')
      return result({
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'scripted', version: '1' },
      })
    if (!modern && method === 'ping') return result({})
    return reply({ error: { code: -32601, message: 'no such method' } })
  }

  const relay = (modern: boolean) => (socket: Socket) => {
    let rest = ''
    socket.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) for (const answer of linesFor(line, modern)) socket.write(`${answer}\n`)
    })
    socket.on('error', () => {})
  }
  const stdio = async (modern: boolean) => {
    const port = await listening(t, createServer(relay(modern)))
    return { type: 'stdio', command: process.execPath, args: ['-e', RELAY, String(port)] }
  }
  const streamable = async (modern: boolean) => {
    const server = createHttpServer(async (request, response) => {
      if (request.method !== 'POST') return response.writeHead(405).end()
      const lines = linesFor(await readText(request), modern)
      const session = modern ? {} : { 'mcp-session-id': 'of-scripted' }
      if (lines.length === 0) return response.writeHead(202).end()
      if (lines.length === 1)
        return response.writeHead(200, { 'content-type': 'application/json', ...session }).end(lines[0])
      response.writeHead(200, { 'content-type': 'text/event-stream', ...session })
      return response.end(lines.map((line) => `data: ${line}\n\n`).join(''))
    })
    return { type: 'streamable-http', url: `http://127.0.0.1:${await listening(t, server)}/mcp` }
  }
  const sse = async () => {
    const streams = new Map<string, ServerResponse>()
    let count = 0
    const server = createHttpServer(async (request, response) => {
      const { pathname, searchParams } = new URL(request.url!, 'http://localhost')
      if (pathname === '/sse') {
        const id = String(++count)
        streams.set(id, response.writeHead(200, { 'content-type': 'text/event-stream' }))
        return response.write(`event: endpoint\ndata: /message?session=${id}\n\n`)
      }
      const lines = linesFor(await readText(request), false)
      response.writeHead(202).end()
      const stream = streams.get(searchParams.get('session') ?? '')
      return lines.map((line) => stream?.write(`event: message\ndata: ${line}\n\n`))
    })
    return { type: 'sse', url: `http://127.0.0.1:${await listening(t, server)}/sse` }
  }
  const made: Scripted = {
    servers: {
      stdio: await stdio(false),
      'stdio-modern': await stdio(true),
      streamable: await streamable(false),
      'streamable-modern': await streamable(true),
      sse: await sse(),
    },
    api: '',
    scripts,
    type: 'application/json',
  }
  const api = createHttpServer(async (request, response) => {
    await readText(request)
    const key = /^\/say\/([^/?]*)/.exec(request.url ?? '')?.[1]
    const lines = key === undefined ? undefined : scripts.get(decodeURIComponent(key))?.('1')
    response.writeHead(200, { 'content-type': made.type }).end(lines?.join('\n') ?? '{"ok":true}')
  })
  made.api = `http://127.0.0.1:${await listening(t, api)}`
  return made
}

import { createServer, type ServerResponse } from 'node:http'
import { createInterface } from 'node:readline'

/**
 * The least MCP server of both generations: a tool whose answer is made beforehand. `node mcp.ts stdio` or,
 * with PORT, over streamable HTTP. TOOLS is how many it lists. The argument `size` asks for that many bytes instead; over
 * HTTP they are streamed as an event.
 */
const TEXT = JSON.stringify({ id: 42, name: 'Fern', tags: ['shade', 'wet'], note: 'x'.repeat(120) })
const INFO = { name: 'bench', version: '1' }
const TOOL = { name: 'get_item', inputSchema: { type: 'object' } }
const TOOLS = Array.from({ length: Number(process.env.TOOLS ?? 1) }, (_, i) =>
  i ? { ...TOOL, name: `get_item_${i}`, description: `Get item ${i} of the list` } : TOOL,
)
const PART = 65_536

function answer(message: {
  id?: unknown
  method?: string
  params?: { _meta?: object; protocolVersion?: string; arguments?: { size?: number } }
}) {
  const { id, method, params } = message
  if (id === undefined) return undefined
  const modern = params?._meta && 'io.modelcontextprotocol/protocolVersion' in params._meta
  const cache = { ttlMs: 0, cacheScope: 'private' }
  const more = modern ? { resultType: 'complete' } : {}
  const capabilities = { tools: {} }
  const result = (value: object) => JSON.stringify({ jsonrpc: '2.0', id, result: { ...value, ...more } })
  if (method === 'initialize')
    return result({ protocolVersion: params?.protocolVersion, capabilities, serverInfo: INFO })
  if (method === 'server/discover')
    return result({ supportedVersions: ['2026-07-28', '2025-11-25'], capabilities, ...cache })
  if (method === 'tools/list') return result({ tools: TOOLS, ...(modern && cache) })
  const size = params?.arguments?.size
  return result({ content: [{ type: 'text', text: size ? 'x'.repeat(size) : TEXT }] })
}

/** Writes as fast as it is read. */
function stream(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const bytes = Buffer.from(`event: message\ndata: ${text}\n\n`)
  let at = 0
  const write = () => {
    while (at < bytes.length) {
      const isTaken = response.write(bytes.subarray(at, at + PART))
      at += PART
      if (!isTaken) return response.once('drain', write)
    }
    return response.end()
  }
  write()
}

if (process.argv[2] === 'stdio')
  createInterface({ input: process.stdin }).on('line', (line) => {
    const text = answer(JSON.parse(line))
    if (text) process.stdout.write(`${text}\n`)
  })
else {
  let sessions = 0
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text) => {
      body += text
    })
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      const message = JSON.parse(body)
      const text = answer(message)
      if (!text) return response.writeHead(202).end()
      const session = message.method === 'initialize' ? { 'mcp-session-id': `s${++sessions}` } : {}
      if (message.params?.arguments?.size) return stream(response, text)
      const length = Buffer.byteLength(text)
      return response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': length, ...session })
        .end(text)
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'))
}

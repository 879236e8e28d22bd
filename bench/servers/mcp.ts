import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

/**
 * The least MCP server of both generations: one tool whose answer is made beforehand. `node mcp.ts stdio` or,
 * with PORT, over streamable HTTP.
 */
const TEXT = JSON.stringify({ id: 42, name: 'Fern', tags: ['shade', 'wet'], note: 'x'.repeat(120) })
const INFO = { name: 'bench', version: '1' }
const TOOL = { name: 'get_item', inputSchema: { type: 'object' } }

function answer(message: {
  id?: unknown
  method?: string
  params?: { _meta?: object; protocolVersion?: string }
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
  if (method === 'tools/list') return result({ tools: [TOOL], ...(modern && cache) })
  return result({ content: [{ type: 'text', text: TEXT }] })
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
      const length = Buffer.byteLength(text)
      return response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': length, ...session })
        .end(text)
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'))
}

import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { Pool } from 'undici'
import { z } from 'zod'

/** The same tool written by hand with the 1.x SDK, a session each, answers as JSON. */
const pool = new Pool(process.env.UPSTREAM as string)
const sessions = new Map<string, StreamableHTTPServerTransport>()

async function open(): Promise<StreamableHTTPServerTransport> {
  const server = new McpServer({ name: 'bench', version: '1.0.0' })
  const inputSchema = { id: z.number(), tag: z.string() }
  server.registerTool('get_item', { description: 'Get an item', inputSchema }, async ({ id, tag }) => {
    const path = `/items/${encodeURIComponent(id)}?tag=${encodeURIComponent(tag)}`
    const { body } = await pool.request({ method: 'GET', path, headers: { authorization: 'Bearer x' } })
    return { content: [{ type: 'text', text: await body.text() }] }
  })
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  })
  await server.connect(transport)
  return transport
}

const server = createServer(async (request, response) => {
  const session = sessions.get(String(request.headers['mcp-session-id']))
  await (session ?? (await open())).handleRequest(request, response)
})
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'))

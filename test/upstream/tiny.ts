import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

/** A streamable HTTP server of 2025-11-25 with one tool, `who`, that says its name; it can be down. */
export async function tiny(t: TestContext, name: string) {
  const state = { down: false, seen: [] as string[] }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (state.down) return response.writeHead(503).end()
    const { id, method }: Loose = text ? JSON.parse(text) : {}
    state.seen.push(method ?? request.method)
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (id === undefined) return response.writeHead(202).end()
    const content = [{ type: 'text', text: name }]
    const result =
      method === 'initialize'
        ? { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name, version: '1' } }
        : method === 'tools/list'
          ? { tools: [{ name: 'who', inputSchema: { type: 'object' } }] }
          : { content }
    const headers = { 'content-type': 'application/json', 'mcp-session-id': `of-${name}` }
    return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  const port = await listening(t, server)
  return Object.assign(state, { url: `http://127.0.0.1:${port}/mcp` })
}

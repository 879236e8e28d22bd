import { createServer, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

/** A streamable HTTP server that can be made to forget its sessions, or to fail, and tells what came in. */
export async function forgetful(
  t: TestContext,
  refuse: (response: ServerResponse, id: unknown) => void = (response) => response.writeHead(404).end(),
) {
  const seen: string[] = []
  let sessions = 0
  const known = new Set<string>()
  let failing = false
  let refusing = false
  const tools = [
    { name: 'safe', inputSchema: { type: 'object' }, annotations: { idempotentHint: true } },
    { name: 'unsafe', inputSchema: { type: 'object' } },
  ]
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const message: Loose = text ? JSON.parse(text) : {}
      const { id, method } = message
      const answer = (result: object, headers = {}) =>
        response
          .writeHead(200, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
      if (method === 'initialize') {
        const opened = `s${++sessions}`
        known.add(opened)
        seen.push(`${method} ${opened}`)
        const result = {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'f', version: '1' },
        }
        return answer(result, { 'mcp-session-id': opened })
      }
      if (failing && id !== undefined) return response.writeHead(500).end()
      if (refusing && method === 'tools/call') seen.push('refused')
      const session = String(request.headers['mcp-session-id'])
      if (!known.has(session) || (refusing && method === 'tools/call')) return refuse(response, id)
      seen.push(`${request.method === 'POST' ? (method ?? 'response') : request.method} ${session}`)
      if (id === undefined) return response.writeHead(202).end()
      return answer(
        method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: `done in ${session}` }] },
      )
    })
  })
  const port = await listening(t, server)
  const url = `http://127.0.0.1:${port}/mcp`
  return {
    url,
    seen,
    forget: () => {
      known.clear()
    },
    fail: (whether: boolean) => {
      failing = whether
    },
    refuseCalls: (whether: boolean) => {
      refusing = whether
    },
  }
}

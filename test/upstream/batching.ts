import { createServer } from 'node:http'
import type { TestContext } from 'node:test'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

/**
 * A streamable HTTP server of 2025-03-26, which takes batches, with the tools `a`, `b` and `secret`. A call with the
 * argument `wait` is answered once `release` was called.
 */
export async function batching(
  t: TestContext,
  tools: readonly object[] = ['a', 'b', 'secret'].map((name) => ({ name })),
) {
  const called: string[] = []
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const answer = ({ id, method, params }: Loose): Loose[] => {
    if (id === undefined) return []
    if (method === 'tools/call') called.push(params.name)
    const result =
      method === 'initialize'
        ? {
            protocolVersion: '2025-03-26',
            capabilities: { tools: {} },
            serverInfo: { name: 'b', version: '1' },
          }
        : method === 'tools/list'
          ? { tools }
          : { content: `called ${params?.name}` }
    return [{ jsonrpc: '2.0', id, result }]
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.writeHead(405).end()
    const message: Loose = JSON.parse(text)
    const answers = [message].flat().flatMap(answer)
    if (message.params?.arguments?.wait) await released
    if (!answers.length) return response.writeHead(202).end()
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 'one' }
    const body = Array.isArray(message) ? answers : answers[0]
    return response.writeHead(200, headers).end(JSON.stringify(body))
  })
  const port = await listening(t, server)
  return { called, release, url: `http://127.0.0.1:${port}/mcp` }
}

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { namedCaller } from '../../src/access/bearer.ts'
import { listening } from '../support/listening.ts'
import { until } from '../support/until.ts'
import { messages, modern, modernSend, proxied } from './harness.ts'

/** A streamable HTTP server of 2025-11-25 whose calls end when a test says so. */
async function slow(t: TestContext) {
  const calls: (() => void)[] = []
  const server = createServer(async (request, response) => {
    const text = await readText(request)
    const { id, method } = text ? JSON.parse(text) : {}
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (id === undefined) return response.writeHead(202).end()
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'slow', version: '1' },
      },
      'tools/list': { tools: [] },
      'tools/call': { content: [] },
    }
    const error = { code: -32601, message: 'Method not found' }
    const answer = { jsonrpc: '2.0', id, ...(results[method] ? { result: results[method] } : { error }) }
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 's' }
    const end = () => response.writeHead(200, headers).end(JSON.stringify(answer))
    return method === 'tools/call' ? calls.push(end) : end()
  })
  const port = await listening(t, server)
  return { calls, url: `http://127.0.0.1:${port}/mcp` }
}

test('calls that wait longer than limits.timeout in sum get their turn', { timeout: 60_000 }, async (t) => {
  const { url: at, calls } = await slow(t)
  const server = { type: 'streamable-http', url: at, limits: { timeout: '10s' } }
  const { url } = await proxied(t, [server], { authenticate: async () => namedCaller('me') })
  const call = async () => {
    // As it may be asked something, it waits for those before it.
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { roots: {} } }
    const response = await modernSend(url, 'tools/call', { name: 'a', arguments: {}, _meta })
    return (await messages(response)).at(-1)
  }
  const first = call()
  await until(() => calls.length === 1)
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const others = [call(), call(), call()]
  await modern(url).request('tools/list')
  calls[0]!()
  assert.ok((await first).result)
  for (let i = 1; i <= others.length; i++) {
    await until(() => calls.length > i)
    t.mock.timers.tick(9_000)
    calls[i]!()
  }
  for (const answer of await Promise.all(others)) assert.ok(answer.result, JSON.stringify(answer))
})

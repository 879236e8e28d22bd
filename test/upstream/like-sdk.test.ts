import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import {
  Client as Modern,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'
import { proxied } from './harness.ts'

const WHO = { name: 'recorded', version: '1' }
const CAPABILITIES = { tools: {}, resources: { subscribe: true }, prompts: {}, logging: {} }
const SESSIONS: Loose = {
  initialize: { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, serverInfo: WHO },
}
const ALONE: Loose = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: CAPABILITIES, serverInfo: WHO },
}
const LISTS: Loose = {
  'tools/list': { tools: [{ name: 'hi', inputSchema: { type: 'object' } }] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'prompts/list': { prompts: [] },
  'prompts/get': { messages: [] },
  'resources/read': { contents: [] },
  'tools/call': { content: [] },
}

/** A server that keeps the text of each message. */
async function recording(t: TestContext, own: Loose) {
  const texts: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.writeHead(405).end()
    texts.push(text)
    const { id, method } = JSON.parse(text)
    if (id === undefined) return response.writeHead(202).end()
    const known = own[method] ?? LISTS[method] ?? (method === 'initialize' ? undefined : {})
    const common = own === ALONE && { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
    const told = known ? { result: { ...common, ...known } } : { error: { code: -32601, message: 'unknown' } }
    const headers = { 'content-type': 'application/json', ...(own === SESSIONS && { 'mcp-session-id': 's' }) }
    return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, ...told }))
  })
  const port = await listening(t, server)
  return { texts, url: `http://127.0.0.1:${port}/mcp` }
}

/** Uses a server with an official client, each method once. */
async function used(url: string, modern: boolean, tool: string): Promise<void> {
  const client = modern
    ? new Modern(WHO, { versionNegotiation: { mode: 'auto' } })
    : new Client(WHO, { capabilities: {} })
  const to = new URL(url)
  await client.connect((modern ? new ModernTransport(to) : new StreamableHTTPClientTransport(to)) as never)
  await client.listTools()
  await client.listResources()
  await client.listResourceTemplates()
  await client.listPrompts()
  await client.callTool({ name: tool, arguments: {} })
  await client.readResource({ uri: 'x://1' })
  if (!modern) {
    await (client as Client).ping()
    await (client as Client).setLoggingLevel('info')
    await (client as Client).subscribeResource({ uri: 'x://1' })
  }
  await client.close()
}

/** The members of a message, and what its id is; the order is of the revisions with sessions, as 2026-07-28 has several. */
function formOf(text: string): string {
  const message = JSON.parse(text)
  const { id, method, params } = message
  const modern = params?._meta?.['io.modelcontextprotocol/protocolVersion'] !== undefined
  const keys = (of: object) => (modern ? Object.keys(of).sort() : Object.keys(of))
  const isNumbered = typeof id === 'number' || method === 'server/discover'
  return JSON.stringify([method, keys(message), isNumbered, params && keys(params)])
}

const recorded = new Set<string>()

test('the official clients are recorded', async (t) => {
  for (const [own, modern] of [
    [SESSIONS, false],
    [SESSIONS, true],
    [ALONE, true],
  ] as const) {
    const { texts, url } = await recording(t, own)
    await used(url, modern, 'hi')
    for (const text of texts) recorded.add(formOf(text))
  }
  assert.ok(recorded.size > 15)
})

for (const modern of [false, true])
  for (const list of [false, true])
    for (const own of [SESSIONS, ALONE])
      test(`what the gateway sends is what an official client sends: client of ${modern ? 2026 : 2025}, server of ${own === ALONE ? 2026 : 2025}${list ? ' in a list' : ''}`, async (t) => {
        const { texts, url } = await recording(t, own)
        const gateway = await proxied(t, [{ type: 'streamable-http', url }], { list })
        await used(gateway.url, modern, list ? 's1__hi' : 'hi')
        const methods = texts.map((text) => JSON.parse(text).method)
        for (const method of ['tools/list', 'tools/call']) assert.ok(methods.includes(method), method)
        assert.deepEqual(
          // An official client subscribes over 2026-07-28 only where its user asks for it.
          texts.filter((text) => !recorded.has(formOf(text)) && !text.includes('subscriptions/listen')),
          [],
        )
      })

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listening } from '../support/listening.ts'
import { temporaryFolder } from '../support/process.ts'
import { ALONE, initialize, talk } from '../support/talk.ts'

const LIMIT = { timeout: 20_000 }

/** An MCP server of 2025-06-18 that answers nothing until the test says how. */
async function held(t: TestContext) {
  let release!: (status: number) => void
  const released = new Promise<number>((resolve) => (release = resolve))
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'late', version: '1' },
    },
    'tools/list': { tools: [{ name: 'knock', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'Come in' }] },
  }
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const parts = await request.toArray()
    const { id, method } = JSON.parse(Buffer.concat(parts).toString() || '{}')
    const status = await released
    if (status !== 200) return response.writeHead(status).end()
    const result = results[method]
    const error = { code: -32601, message: 'Method not found' }
    response.writeHead(status === 200 && id === undefined ? 202 : status, {
      'content-type': 'application/json',
    })
    response.end(
      id === undefined
        ? undefined
        : JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }),
    )
  })
  return { url: `http://127.0.0.1:${await listening(t, server)}/mcp`, release }
}

const tools = {
  name: 'web',
  routers: [{ prefix: '/web', server: 'web' }],
  servers: [{ name: 'web' }],
  tools: [{ name: 'now', description: 'A tool.', method: 'GET', endpoint: 'http://127.0.0.1:9/now' }],
}
const proxied = (name: string, url: string) => ({
  name,
  routers: [{ prefix: `/${name}`, server: name }],
  mcpServers: [{ name, type: 'streamable-http', url }],
})

function folderOf(t: TestContext, ...configurations: { name: string }[]): string {
  const folder = temporaryFolder(t)
  for (const one of configurations) writeFileSync(join(folder, `${one.name}.json`), JSON.stringify(one))
  return folder
}

const names = ({ result }: { result: { tools: { name: string }[] } }) => result.tools.map(({ name }) => name)
const isChange = ({ method }: { method?: string }) => method === 'notifications/tools/list_changed'

test('a server that has not started holds up no handshake or list, and joins later', LIMIT, async (t) => {
  const { url, release } = await held(t)
  const it = talk(t, [folderOf(t, tools, proxied('late', url))])
  const { result } = await initialize(it)
  assert.equal(result.protocolVersion, '2025-11-25')
  assert.deepEqual(result.capabilities.tools, { listChanged: true })
  assert.deepEqual(result.capabilities.resources, { listChanged: true, subscribe: true })
  assert.deepEqual(names(await it.ask(1, 'tools/list')), ['web__now'])
  // A call of it waits for it alone.
  it.send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'late__knock', arguments: {} } })
  assert.ok((await it.ask(3, 'ping')).result)
  release(200)
  await it.next(isChange)
  assert.match(JSON.stringify(await it.next(({ id }) => id === 2)), /Come in/)
  assert.deepEqual(names(await it.ask(4, 'tools/list')), ['web__now', 'late__knock'])
})

test('the same in 2026-07-28', LIMIT, async (t) => {
  const { url, release } = await held(t)
  const it = talk(t, [folderOf(t, tools, proxied('late', url))])
  it.send({
    jsonrpc: '2.0',
    id: 'sub',
    method: 'subscriptions/listen',
    params: { ...ALONE, notifications: { toolsListChanged: true } },
  })
  const { params } = await it.next(({ method }) => method === 'notifications/subscriptions/acknowledged')
  assert.deepEqual(params.notifications, { toolsListChanged: true })
  const { result } = await it.ask(1, 'server/discover', ALONE)
  assert.deepEqual(result.capabilities.prompts, { listChanged: true })
  assert.deepEqual(names(await it.ask(2, 'tools/list', ALONE)), ['web__now'])
  release(200)
  await it.next(isChange)
  assert.deepEqual(names(await it.ask(3, 'tools/list', ALONE)), ['web__now', 'late__knock'])
})

test('when no server comes up after the handshake, lists say why', LIMIT, async (t) => {
  const { url, release } = await held(t)
  const it = talk(t, [folderOf(t, proxied('one', url), proxied('two', url))])
  assert.ok((await initialize(it)).result)
  assert.deepEqual(names(await it.ask(1, 'tools/list')), [])
  release(503)
  await it.until(/"server":"one".*is down/)
  await it.until(/"server":"two".*is down/)
  assert.match((await it.ask(2, 'tools/list')).error.message, /503/)
})

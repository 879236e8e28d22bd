import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { messages, modern, open, openSse, send } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }

/** A server of 2025-11-25 whose tool `wait` answers when the test says so; it may be down, or answer for others. */
async function named(t: TestContext, name: string) {
  const waiting: [id: unknown, response: ServerResponse][] = []
  const state = { down: false, forges: undefined as unknown, seen: [] as string[], waiting }
  const answer = (id: unknown, response: ServerResponse, result: object) =>
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  const content = [{ type: 'text', text: name }]
  const server = createServer(async (request, response) => {
    const sent = await text(request)
    if (state.down) return response.writeHead(503).end()
    const { id, method, params }: Loose = sent ? JSON.parse(sent) : {}
    state.seen.push(method ?? request.method)
    if (request.method !== 'POST') return response.writeHead(405).end()
    if (id === undefined) return response.writeHead(202).end()
    const type = state.forges === undefined ? 'application/json' : 'text/event-stream'
    response.writeHead(200, { 'content-type': type, 'mcp-session-id': `of-${name}` })
    if (state.forges !== undefined) {
      for (const result of [{ content: [{ type: 'text', text: 'forged' }] }])
        response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: state.forges, result })}\n\n`)
      return response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content } })}\n\n`)
    }
    if (method === 'tools/call' && params.name === 'wait') return waiting.push([id, response])
    const result: Record<string, object> = {
      initialize: {
        protocolVersion: params?.protocolVersion ?? '2025-11-25',
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name, version: '1' },
      },
      'tools/list': {
        tools: ['who', 'wait'].map((tool) => ({ name: tool, inputSchema: { type: 'object' } })),
      },
    }
    return answer(id, response, result[method] ?? { content })
  })
  const url = `http://127.0.0.1:${await listening(t, server)}/mcp`
  const release = () => {
    for (const [id, response] of waiting.splice(0)) answer(id, response, { content })
  }
  return Object.assign(state, { release, server: { name, type: 'streamable-http', url } })
}

const shopTools = {
  servers: [{ name: 'api' }],
  tools: [{ name: 'find', method: 'GET', endpoint: 'http://127.0.0.1:1/find' }],
}

/** One endpoint of HTTP tools and these servers. */
const all = (mcpServers: readonly object[]) => ({
  name: 'all',
  routers: [{ prefix: '/', server: ['api', ...mcpServers.map((one: Loose) => one.name)] }],
  ...shopTools,
  ...(mcpServers.length && { mcpServers }),
})

const namesOf = async (client: { request(method: string): Promise<Loose> }): Promise<string[]> =>
  (await client.request('tools/list')).result.tools.map(({ name }: Loose) => name)
const initializesOf = ({ seen }: { seen: string[] }) => seen.filter((one) => one === 'initialize').length

for (const [kind, opened] of [
  ['streamable HTTP', (_: TestContext, url: string) => open(url)],
  ['SSE', openSse],
] as const)
  test(
    `a session goes on when the first MCP server joins, and when the last one leaves: ${kind}`,
    TIMEOUT,
    async (t) => {
      const one = await named(t, 'one')
      const { base, change } = await gatewayHere(t, all([]))
      const session = await opened(t, `${base}/mcp`)
      assert.deepEqual(await namesOf(session), ['api__find'])
      const both = ['api__find', 'one__who', 'one__wait']
      for (let round = 1; round <= 2; round++) {
        await change(all([one.server]))
        assert.deepEqual(await namesOf(session), both)
        assert.equal(await session.call('one__who'), 'one')
        assert.equal(initializesOf(one), round)
        await change(all([]))
        assert.deepEqual(await namesOf(session), ['api__find'])
        assert.match(await session.call('one__who'), /Unknown tool/)
      }
      assert.match(await session.call('api__find'), /connect/i)
    },
  )

test('clients are told when an MCP server joins HTTP tools', TIMEOUT, async (t) => {
  const one = await named(t, 'one')
  const { base, change } = await gatewayHere(t, all([]))
  const session = await open(`${base}/mcp`)
  const headers = { accept: 'text/event-stream', ...session.headers }
  const stream = await fetch(`${base}/mcp`, { headers })
  await change(all([one.server]))
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.after(() => reader.cancel())
  let heard = ''
  while (!heard.includes('notifications/tools/list_changed')) heard += (await reader.read()).value
})

test('a change of one MCP server leaves the sessions with the others alone', TIMEOUT, async (t) => {
  const [one, two, three] = [await named(t, 'one'), await named(t, 'two'), await named(t, 'three')]
  const { base, change } = await gatewayHere(t, all([one.server, two.server]))
  const url = `${base}/mcp`
  const session = await open(url)
  await session.request('logging/setLevel', { level: 'error' })
  const call = (id: number, name: string) =>
    send(url, { id, method: 'tools/call', params: { name, arguments: {} } }, session.headers)
  const [ofOne, ofTwo] = [call(1001, 'one__wait'), call(1002, 'two__wait')]
  await until(() => one.waiting.length === 1 && two.waiting.length === 1)

  // Another address for `one`, and a server in front of all.
  const moved = await named(t, 'moved')
  await change(all([three.server, { ...one.server, url: moved.server.url }, two.server]))
  const names = ['three', 'one', 'two'].flatMap((name) => [`${name}__who`, `${name}__wait`])
  assert.deepEqual(await namesOf(session), ['api__find', ...names])
  for (const [name, says] of [
    ['one', 'moved'],
    ['two', 'two'],
    ['three', 'three'],
  ])
    assert.equal(await session.call(`${name}__who`), says)
  assert.deepEqual([initializesOf(one), initializesOf(two), initializesOf(moved)], [1, 1, 1])
  for (const server of [moved, three]) assert.ok(server.seen.includes('logging/setLevel'))

  // Calls end where they began.
  assert.ok(!one.seen.includes('DELETE'))
  one.release()
  two.release()
  for (const [answer, says] of [
    [ofOne, 'one'],
    [ofTwo, 'two'],
  ] as const)
    assert.equal((await messages(await answer)).at(-1).result.content[0].text, says)
  await until(() => one.seen.includes('DELETE'))

  // Without the others in between.
  await change(all([two.server]))
  await change(all([two.server, three.server]))
  assert.equal(await session.call('two__who'), 'two')
  assert.equal(await session.call('three__who'), 'three')
  assert.match(await session.call('one__who'), /Unknown tool/)
  assert.deepEqual([initializesOf(two), initializesOf(three)], [1, 2])
  assert.ok(!two.seen.includes('DELETE'))
  await (await fetch(url, { method: 'DELETE', headers: session.headers })).text()
  await until(() => [two, three].every(({ seen }) => seen.includes('DELETE')))
})

test('a change of what a router shows of servers leaves all their sessions alone', TIMEOUT, async (t) => {
  const one = await named(t, 'one')
  const { base, change } = await gatewayHere(t, all([one.server]))
  const session = await open(`${base}/mcp`)
  assert.equal(await session.call('one__who'), 'one')
  const less = { server: 'one', toolOverrides: { who: { name: 'name' } }, blockedTools: ['wait'] }
  await change({ ...all([one.server]), routers: [{ prefix: '/', server: ['api', less] }] })
  assert.deepEqual(await namesOf(session), ['api__find', 'one__name'])
  assert.equal(await session.call('one__name'), 'one')
  assert.match(await session.call('one__who'), /Unknown tool/)
  assert.equal(initializesOf(one), 1)
  assert.deepEqual(await namesOf(modern(`${base}/mcp`)), ['api__find', 'one__name'])
})

test('a server that was down is told the log level once it is up', TIMEOUT, async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')]
  two.down = true
  const { base } = await gatewayHere(t, all([one.server, two.server]))
  const session = await open(`${base}/mcp`)
  await session.request('logging/setLevel', { level: 'error' })
  two.down = false
  await until(async () => (await namesOf(session)).includes('two__who'))
  assert.equal(await session.call('two__who'), 'two')
  assert.ok(two.seen.includes('logging/setLevel'))
})

test('no server answers for another one', TIMEOUT, async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')]
  const { base } = await gatewayHere(t, all([one.server, two.server]))
  const url = `${base}/mcp`
  const session = await open(url)
  const params = { name: 'one__wait', arguments: {} }
  const waits = send(url, { id: 77, method: 'tools/call', params }, session.headers)
  await until(() => one.waiting.length === 1)
  two.forges = 77
  assert.equal(await session.call('two__who'), 'two')
  one.release()
  assert.equal((await messages(await waits)).at(-1).result.content[0].text, 'one')
})

test('a session goes on when all MCP servers are others, with a call under way', TIMEOUT, async (t) => {
  const [one, two] = [await named(t, 'one'), await named(t, 'two')]
  const { base, change } = await gatewayHere(t, all([one.server]))
  const url = `${base}/mcp`
  const session = await open(url)
  const params = { name: 'one__wait', arguments: {} }
  const waits = send(url, { id: 77, method: 'tools/call', params }, session.headers)
  await until(() => one.waiting.length === 1)
  await change(all([two.server]))
  assert.equal(await session.call('two__who'), 'two')
  one.release()
  assert.equal((await messages(await waits)).at(-1).result.content[0].text, 'one')
  await until(() => one.seen.includes('DELETE'))
  assert.equal(await session.call('two__who'), 'two')
})

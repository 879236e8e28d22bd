import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'
import { modern, open } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }

/** A server of 2025-11-25 that lists and answers what a test wants. */
async function server(t: TestContext, name: string, answers: Record<string, (params: Loose) => unknown>) {
  const seen: [method: string, params: Loose][] = []
  const http = createServer(async (request, response) => {
    const sent = await text(request)
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params = {} }: Loose = JSON.parse(sent)
    if (id === undefined) return response.writeHead(202).end()
    seen.push([method, params])
    const hello = {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {}, resources: {}, prompts: {} },
      serverInfo: { name, version: '1' },
    }
    const content = [{ type: 'text', text: `${name} ${params.name}` }]
    const result = method === 'initialize' ? hello : (answers[method]?.(params) ?? { content })
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `of-${name}` })
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  const url = `http://127.0.0.1:${await listening(t, http)}/mcp`
  return { seen, entry: { name, type: 'streamable-http', url } }
}

async function together(t: TestContext, mcpServers: readonly object[], router: object = {}) {
  const names = mcpServers.map((one: Loose) => one.name)
  const tools = [{ name: 'find', endpoint: 'http://127.0.0.1:1/' }]
  const { base } = await gatewayHere(t, {
    name: 'all',
    routers: [{ prefix: '/', server: ['api', ...names], ...router }],
    servers: [{ name: 'api' }],
    tools,
    mcpServers,
  })
  return `${base}/mcp`
}

const tool = (name: unknown) => ({ name, inputSchema: { type: 'object' } })
const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('names that servers choose hide and take nothing of others', TIMEOUT, async (t) => {
  const strange = [
    '__proto__',
    'constructor',
    'toString',
    '',
    'a b',
    'b__who',
    '\u202eevil',
    'x'.repeat(5000),
  ]
  const odd = [null, 7, {}, [], 'text', { name: 7 }, { name: null }, { inputSchema: {} }]
  const a = await server(t, 'a', {
    'tools/list': () => ({ tools: [...strange.map(tool), ...odd, tool('who'), tool('who')] }),
    'resources/list': () => ({ resources: [{ uri: '__proto__', name: 'p' }, { name: 'none' }, null, 3] }),
  })
  const b = await server(t, 'a__b', {
    'tools/list': () => ({ tools: [tool('who'), tool('get_operation_result')] }),
  })
  for (const names of ['prefixed', 'plain']) {
    const url = await together(t, [a.entry, b.entry], { names })
    for (const client of [await open(url), modern(url)]) {
      const { tools } = (await client.request('tools/list')).result
      const shown = tools.map(({ name }: Loose) => name)
      const hidden = new Set(shown)
      assert.equal(hidden.size, shown.length, `each once: ${shown.join(' ').slice(0, 300)}`)
      if (names === 'plain') continue
      // Of two that begin alike, the longer name of a server counts.
      assert.equal(await client.call('a__b__who'), 'a__b who')
      assert.equal(await client.call('a____proto__'), 'a __proto__')
      assert.equal(await client.call('a__who'), 'a who')
      const { result } = await client.request('resources/list')
      assert.ok(result.resources.every((one: Loose) => typeof one === 'object'))
      assert.ok((await client.request('resources/read', { uri: '__proto__' })).result)
    }
  }
})

test('a forged cursor is an error, and asks no server twice', TIMEOUT, async (t) => {
  const a = await server(t, 'a', {
    'tools/list': ({ cursor }) =>
      cursor === undefined ? { tools: [tool('one')], nextCursor: 'more' } : { tools: [tool('two')] },
  })
  const b = await server(t, 'b', { 'tools/list': () => ({ tools: [tool('one')] }) })
  const url = await together(t, [a.entry, b.entry])
  for (const client of [await open(url), modern(url)]) {
    const first = (await client.request('tools/list')).result
    const names = (result: Loose) => result.tools.map(({ name }: Loose) => name)
    assert.deepEqual(names(first), ['api__find', 'a__one', 'b__one'])
    const second = (await client.request('tools/list', { cursor: first.nextCursor })).result
    assert.deepEqual([names(second), second.nextCursor], [['a__two'], undefined])
    const asked = a.seen.length + b.seen.length
    const forged = [
      '',
      'x',
      '\u0000',
      cursorOf([]),
      cursorOf({}),
      cursorOf([['c', 'more']]),
      cursorOf([
        ['a', 'more'],
        ['a', 'more'],
      ]),
      cursorOf([['a', 7]]),
      cursorOf([[0, 'more']]),
      cursorOf([['__proto__', 'x']]),
      cursorOf(Array(10_000).fill(['a', 'more'])),
      cursorOf('['.repeat(10_000)),
    ]
    for (const cursor of forged)
      assert.equal((await client.request('tools/list', { cursor })).error?.code, -32602, cursor.slice(0, 80))
    const after = [...a.seen, ...b.seen].slice(asked).filter(([method]) => method === 'tools/list')
    assert.deepEqual(after, [])
  }
})

test('a server whose list never ends, or is very long, keeps nobody from the others', TIMEOUT, async (t) => {
  let pages = 0
  const endless = await server(t, 'endless', {
    'tools/list': () => ({ tools: [tool(`t${++pages}`)], nextCursor: `c${pages}` }),
  })
  const many = Array.from({ length: 5_000 }, (_, i) => tool(`tool_${i}`))
  const long = await server(t, 'long', { 'tools/list': () => ({ tools: many }) })
  const url = await together(t, [endless.entry, long.entry], { names: 'plain' })
  const session = await open(url)
  assert.equal(await session.call('tool_4999'), 'long tool_4999')
  assert.match(await session.call('none'), /Unknown tool/)
  assert.ok(pages <= 250, `${pages} pages`)
  assert.equal((await session.request('tools/list')).result.tools.length, 5_002)
  const searching = modern(`${url}?discovery=search`)
  assert.match(await searching.call('search_tools', { query: 'tool 4998' }), /tool_4998/)
  const indirect = { name: 'call_tool', arguments: { name: 'call_tool', arguments: {} } }
  assert.match(await searching.call('call_tool', indirect), /call_tool/)
  assert.match(await searching.call('call_tool', { name: 'tool_4997', arguments: '{}' }), /long tool_4997/)
  assert.match(await searching.call('call_tool', { name: 'tol_4997', arguments: {} }), /Did you mean tool_/)
})

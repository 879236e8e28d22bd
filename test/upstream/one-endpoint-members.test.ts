import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'
import { CLIENTS, type Client, modern, open } from './harness.ts'

// Members of one endpoint that hang, have lists of several pages, or the same names and URIs as others.

const TIMEOUT = { timeout: 60_000 }

type Answers = Record<string, (params: Loose) => object>

/** A server of 2025-11-25 over streamable HTTP. Its answers are results, or have an `error`. */
async function member(t: TestContext, name: string, answers: Answers) {
  const seen: string[] = []
  const state = { hangs: false, hanging: [] as ServerResponse[], seen }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params = {} }: Loose = JSON.parse(text)
    seen.push(method)
    if (id === undefined) return response.writeHead(202).end()
    if (state.hangs) return state.hanging.push(response)
    const capabilities = { tools: {}, resources: { subscribe: true } }
    const hello = { protocolVersion: '2025-11-25', capabilities, serverInfo: { name, version: '1' } }
    const content = [{ type: 'text', text: `${name} ${params.name}` }]
    const own = method === 'initialize' ? hello : (answers[method]?.(params) ?? { content })
    const answer = 'error' in own ? own : { result: own }
    const headers = { 'content-type': 'application/json', 'mcp-session-id': `of-${name}` }
    return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
  const url = `http://127.0.0.1:${await listening(t, server)}/mcp`
  return Object.assign(state, { entry: { name, type: 'streamable-http', url } })
}

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })
const NOT_FOUND = { error: { code: -32002, message: 'Resource not found' } }
const NO_METHOD = { error: { code: -32601, message: 'Method not found' } }

/** Tools in pages, which their numbers lead to. */
function paged(...pages: string[][]): Answers {
  return {
    'server/discover': () => NO_METHOD,
    'tools/list': ({ cursor = 0 }) => ({
      tools: pages[Number(cursor)]!.map(tool),
      ...(pages[Number(cursor) + 1] && { nextCursor: String(Number(cursor) + 1) }),
    }),
  }
}

async function together(t: TestContext, entries: { name: string }[], router: object = {}) {
  const routers = [{ server: entries.map(({ name }) => name), prefix: '/p', ...router }]
  const { base } = await gatewayHere(t, { name: 'p', routers, mcpServers: entries })
  return `${base}/p/mcp`
}

async function listed(client: Client): Promise<string[]> {
  const names: string[] = []
  let params = {}
  for (;;) {
    const { result } = await client.request('tools/list', params)
    names.push(...result.tools.map(({ name }: Loose) => name))
    if (result.nextCursor === undefined) return names
    params = { cursor: result.nextCursor }
  }
}

test('calls of one server do not ask another one, which may hang', TIMEOUT, async (t) => {
  const hung = await member(t, 'hung', {})
  hung.hangs = true
  const well = await member(t, 'well', paged(['who']))
  const client = modern(await together(t, [hung.entry, well.entry]))
  assert.equal(await client.call('well__who'), 'well who')
  assert.deepEqual(hung.seen, [])
})

test(
  'lists wait once for a server that hangs, and have its tools again when it answers',
  TIMEOUT,
  async (t) => {
    const hung = await member(t, 'hung', paged(['late']))
    hung.hangs = true
    const entry = { ...hung.entry, limits: { timeout: '4s' } }
    const well = await member(t, 'well', paged(['who']))
    const url = await together(t, [entry, well.entry])
    const client = modern(url)
    assert.deepEqual(await listed(client), ['well__who'])
    // From now on the others are listed while the server still has time to answer.
    const isWaiting = () => hung.hanging.at(-1)?.closed === false
    assert.deepEqual(await listed(client), ['well__who'])
    assert.ok(isWaiting())
    const session = await open(url)
    assert.ok(isWaiting())
    assert.deepEqual(await listed(session), ['well__who'])
    hung.hangs = false
    for (const one of [client, session]) {
      let names: string[]
      do names = await listed(one)
      while (names.length < 2)
      assert.deepEqual(names, ['hung__late', 'well__who'])
    }
  },
)

for (const [era, connect] of Object.entries(CLIENTS))
  test(
    `of equal names in lists of several pages the one that is listed is called: ${era}`,
    TIMEOUT,
    async (t) => {
      const one = await member(t, 'one', paged(['a'], ['b', 'both']))
      const two = await member(t, 'two', paged(['both', 'c'], ['d']))
      const url = await together(t, [one.entry, two.entry], { names: 'plain' })
      const client = await connect(t, url)
      const expected = { b: 'one b', both: 'two both', d: 'two d', none: 'error: Unknown tool: none' }
      const callAll = async () => {
        for (const [name, text] of Object.entries(expected)) assert.equal(await client.call(name), text)
      }
      // By name alone, as listed, and while somebody else has read a first page.
      await callAll()
      assert.deepEqual(await listed(client), ['a', 'both', 'c', 'b', 'd'])
      await callAll()
      await (await connect(t, url)).request('tools/list')
      await callAll()
    },
  )

for (const [era, connect] of Object.entries(CLIENTS)) {
  test(
    `an error of the server that has a resource is not hidden by others that do not: ${era}`,
    TIMEOUT,
    async (t) => {
      const fails = { error: { code: -32603, message: 'The disk is full' } }
      const answers = (own: object): Answers => ({ ...paged([]), 'resources/read': () => own })
      const one = await member(t, 'one', answers(NO_METHOD))
      const two = await member(t, 'two', answers(fails))
      const three = await member(t, 'three', answers(NOT_FOUND))
      const client = await connect(t, await together(t, [one.entry, two.entry, three.entry]))
      const { error } = await client.request('resources/read', { uri: 'plant://7' })
      assert.equal(error.message, 'The disk is full')
    },
  )
}

test('a server that takes any subscription does not take the resource of another', TIMEOUT, async (t) => {
  const answers = (read: () => object): Answers => ({
    ...paged([]),
    'resources/read': read,
    'resources/subscribe': () => ({}),
  })
  const contents = [{ uri: 'plant://7', text: 'green' }]
  const one = await member(
    t,
    'one',
    answers(() => NOT_FOUND),
  )
  const two = await member(
    t,
    'two',
    answers(() => ({ contents })),
  )
  const client = await open(await together(t, [one.entry, two.entry]))
  assert.deepEqual((await client.request('resources/subscribe', { uri: 'plant://7' })).result, {})
  assert.deepEqual((await client.request('resources/read', { uri: 'plant://7' })).result, { contents })
  assert.ok(two.seen.includes('resources/subscribe'))
})

for (const [era, connect] of Object.entries(CLIENTS))
  test(`a server that a caller cannot use hides its own tools only: ${era}`, TIMEOUT, async (t) => {
    const ofHost = {
      name: 'host',
      type: 'streamable-http',
      url: 'http://127.0.0.1:1/{{.Request.Headers.Where}}',
    }
    const well = await member(t, 'well', paged(['who']))
    const client = await connect(t, await together(t, [ofHost, well.entry]))
    assert.deepEqual(await listed(client), ['well__who'])
    assert.equal(await client.call('well__who'), 'well who')
    assert.match(await client.call('host__who'), /^error: The server host: url could not be made/)
    const alone = await together(t, [ofHost])
    await assert.rejects(connect(t, alone).then(listed))
  })

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'
import { CLIENTS, type Client } from './harness.ts'

// While a server is down, nothing that it has shown is asked of another one.

const URI = 'bank://accounts/7'

/** A server that has one of each, under the names that the other one uses, too. It may be down. */
async function member(t: TestContext, name: string) {
  const state = { down: false, tools: ['pay'], seen: [] as string[] }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (state.down) return response.destroy()
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params }: Loose = JSON.parse(text)
    if (id === undefined) return response.writeHead(202).end()
    state.seen.push(method)
    const capabilities = { tools: {}, prompts: {}, resources: {} }
    const content = { type: 'text', text: name }
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities,
        serverInfo: { name, version: '1' },
      },
      'tools/list': { tools: state.tools.map((tool) => ({ name: tool, inputSchema: { type: 'object' } })) },
      'tools/call': { content: [content] },
      'prompts/list': { prompts: [{ name: 'ask' }] },
      'prompts/get': { messages: [{ role: 'user', content }] },
      'resources/list': { resources: [{ uri: URI, name }] },
      'resources/read': { contents: [{ uri: params?.uri, text: name }] },
    }
    const result = results[method]
    const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `of-${name}` })
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
  const url = `http://127.0.0.1:${await listening(t, server)}/mcp`
  return Object.assign(state, { entry: { name, type: 'streamable-http', url } })
}

async function together(t: TestContext, router: object) {
  const [bank, other] = [await member(t, 'bank'), await member(t, 'other')]
  const { base } = await gatewayHere(t, {
    name: 'p',
    routers: [{ server: ['bank', 'other'], prefix: '/p', ...router }],
    mcpServers: [bank.entry, other.entry],
  })
  return { bank, other, url: `${base}/p/mcp` }
}

const USES: Record<string, [method: string, params: object]> = {
  tool: ['tools/call', { name: 'pay', arguments: {} }],
  prompt: ['prompts/get', { name: 'ask' }],
  resource: ['resources/read', { uri: URI }],
  'unlisted resource': ['resources/read', { uri: 'bank://accounts/8' }],
}
const LISTS = ['tools/list', 'prompts/list', 'resources/list']
const textOf = (message: Loose) => JSON.stringify(message)

async function listAll(client: Client): Promise<void> {
  for (const method of LISTS) await client.request(method)
}

for (const names of ['plain', 'prefixed'])
  test(`no other server gets calls of one that is down: ${names}`, async (t) => {
    const { bank, other, url } = await together(t, { names })
    const kinds = Object.keys(USES).filter((kind) => names === 'plain' || /resource/.test(kind))
    const clients: Record<string, Client> = {}
    for (const [era, connect] of Object.entries(CLIENTS)) clients[era] = await connect(t, url)
    await listAll(clients.session!)
    const use = async (client: Client, kind: string) => client.request(...USES[kind]!)
    for (const client of Object.values(clients))
      for (const kind of kinds) assert.match(textOf(await use(client, kind)), /"bank"/)
    bank.down = true
    const opened = await CLIENTS.session!(t, url)
    for (const [era, client] of Object.entries({ ...clients, opened })) {
      await listAll(client)
      for (const kind of kinds) {
        const { error } = await use(client, kind)
        assert.match(String(error?.message), /bank/, `${era} ${kind}`)
      }
    }
    const reached = other.seen.filter((method) =>
      ['tools/call', 'prompts/get', 'resources/read'].includes(method),
    )
    assert.deepEqual(reached, [])
  })

test('a name is free for another server once its owner lists it no more', async (t) => {
  const { bank, other, url } = await together(t, { names: 'plain' })
  for (const connect of [CLIENTS.session!, CLIENTS.modern!]) {
    const client = await connect(t, url)
    await listAll(client)
    assert.equal(await client.call('pay'), 'bank')
    bank.tools = []
    await listAll(client)
    assert.equal(await client.call('pay'), 'other')
    // It stays there, until that server has it no more.
    bank.tools = ['pay']
    await listAll(client)
    assert.equal(await client.call('pay'), 'other')
    other.tools = []
    await listAll(client)
    assert.equal(await client.call('pay'), 'bank')
    other.tools = ['pay']
  }
})

test('a server that starts late has its place before those that come after it', async (t) => {
  const { bank, url } = await together(t, { names: 'plain' })
  bank.down = true
  const client = await CLIENTS.modern!(t, url)
  assert.equal(await client.call('pay'), 'other')
  bank.down = false
  let listed: Loose
  do {
    await listAll(client)
    listed = await client.call('pay')
  } while (listed !== 'bank')
})

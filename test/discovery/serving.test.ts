import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { gatewayHere } from '../support/gateway.ts'
import { ACCEPTS, askingPost } from '../support/person.ts'
import { rest } from '../support/rest.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { CLIENTS, META, messages, modern, modernSend, open, send } from '../upstream/harness.ts'
import { httpShop, mcpShop, type Shop } from './shop.ts'

const TIMEOUT = { timeout: 60_000 }
const FOUR = ['search_tools', 'describe_tools', 'call_read_tool', 'call_tool']
const ALL = ['list_orders', 'get_order', 'delete_order', 'create_refund', 'ship_parcel']
const TOKENS = {
  type: 'bearer',
  tokens: ['ann', 'bob'].map((caller) => ({ token: `${caller}-token`, caller })),
}
const ANN = { authorization: 'Bearer ann-token' }
const BOB = { authorization: 'Bearer bob-token' }

const configured = ({ router, rest }: Shop, more: object = {}) => ({
  name: 'test',
  routers: [{ prefix: '/p', discovery: { type: 'search' }, ...router, ...more }],
  ...rest,
})

async function serving(t: TestContext, shop: Shop, more: object = {}) {
  const gateway = await gatewayHere(t, configured(shop, more))
  return { ...gateway, url: `${gateway.base}/p/mcp` }
}

const namesOf = ({ result }: Loose) => result.tools.map(({ name }: Loose) => name)
/** Of calls of tools. */
const lines = (logged: Loose[]) => logged.filter(({ msg }) => /^tool call/.test(msg))

const SHOPS: Record<string, (t: TestContext) => Promise<Shop>> = {
  'HTTP tools': httpShop,
  'a server with sessions': (t) => mcpShop(t, 'session'),
  'a stateless server': (t) => mcpShop(t, 'stateless'),
}

for (const [i, [title, made]] of Object.entries(SHOPS).entries())
  describe(title, TIMEOUT, () => {
    // In the gate each shop has one kind of client.
    for (const [kind, connect] of Object.entries(CLIENTS).filter((_, n) => rest || n === i))
      test(`a client (${kind}) lists, searches, describes and calls`, async (t) => {
        const shop = await made(t)
        const { url, logged } = await serving(t, shop, { discovery: { type: 'search', pin: ['get_*'] } })
        const client = await connect(t, url)
        const list = await client.request('tools/list')
        assert.deepEqual(namesOf(list), ['get_order', ...FOUR])
        assert.match(list.result.tools[1].description, /5 tools\. Groups: orders \(3\), desk \(2\)$/)
        assert.equal(
          await client.call('search_tools', { queries: ['give money back', 'refund payment'], limit: 1 }),
          'create_refund(id: string, note?: string) – Gives money of a payment back.\n1 of 5; groups: desk (1)',
        )
        assert.match(
          await client.call('search_tools', { query: 'list orders', group: 'orders' }),
          /^list_orders\(.*\) – Lists the orders of a customer\. \(read-only\)\n(?:.+\n)*\d of 3 in orders; groups: orders \(\d\)$/,
        )
        assert.match(
          await client.call('search_tools', { query: 'x', group: 'ordes' }),
          /no group ordes\. Did you mean orders\?/,
        )
        const described = await client.call('describe_tools', { names: ['delete_order', 'delet_order'] })
        const [definition, unknown] = described.split('\n') as [string, string]
        assert.equal(JSON.parse(definition).annotations.destructiveHint, true)
        assert.match(unknown, /^Unknown tool: delet_order\. Did you mean delete_order\?/)

        assert.match(
          await client.call('call_read_tool', { name: 'list_orders', arguments: { id: '1' } }),
          /list_orders/,
        )
        assert.match(
          await client.call('call_tool', { name: 'delete_order', arguments: '{"id": "2"}' }),
          /delete_order/,
        )
        assert.match(await client.call('create_refund', { id: '3' }), /create_refund/)
        assert.deepEqual(
          shop.called.map(([name, args]) => [name, args]),
          [
            ['list_orders', { id: '1' }],
            ['delete_order', { id: '2' }],
            ['create_refund', { id: '3' }],
          ],
        )
        assert.deepEqual(
          lines(logged).map(({ tool }) => tool),
          [
            ...Array(3).fill('search_tools'),
            'describe_tools',
            'list_orders',
            'delete_order',
            'create_refund',
          ],
        )
      })

    test('what cannot be called is refused with a reason, and is not sent', async (t) => {
      const shop = await made(t)
      const { url } = await serving(t, shop)
      for (const connect of Object.values(CLIENTS)) {
        const client = await connect(t, url)
        for (const [name, args, reason] of [
          [
            'call_read_tool',
            { name: 'delete_order', arguments: { id: '1' } },
            /delete_order is not read-only/,
          ],
          ['call_read_tool', { name: 'create_refund', arguments: { id: '1' } }, /Call it with call_tool/],
          [
            'call_tool',
            { name: 'call_tool', arguments: { name: 'get_order' } },
            /cannot call call_tool: give it the name of the tool/,
          ],
          ['call_tool', { name: 'search_tools', arguments: {} }, /call search_tools itself/],
          [
            'call_tool',
            { name: 'get_ordr', arguments: {} },
            /Unknown tool: get_ordr\. Did you mean get_order\?/,
          ],
          ['call_tool', { arguments: {} }, /needs the `name` of a tool/],
          ['call_tool', { name: 5 }, /needs the `name` of a tool/],
          ['call_tool', { name: 'get_order', id: '1' }, /not `id`: put the arguments of get_order into/],
          ['call_tool', { name: 'get_order', arguments: '{"id":' }, /must be an object, or its JSON text/],
          ['call_tool', { name: 'get_order', arguments: ['1'] }, /must be an object, or its JSON text/],
          ['search_tools', {}, /1 to 5 `queries`/],
          ['search_tools', { queries: ['a', 'b', 'c', 'd', 'e', 'f'] }, /1 to 5 `queries`/],
          ['search_tools', { query: 'a', limit: 0 }, /`limit`/],
          ['describe_tools', { names: [] }, /1 to 10 names/],
          ['describe_tools', { names: ['nothing_like_it'] }, /Unknown tool/],
        ] as const) {
          const { result } = await client.request('tools/call', { name, arguments: args })
          assert.equal(result.isError, true, JSON.stringify(args))
          assert.match(result.content[0].text, reason)
        }
      }
      assert.deepEqual(shop.called, [])
    })

    test('arguments that are refused are explained by the signature of the tool', async (t) => {
      const shop = await made(t)
      const { url } = await serving(t, shop)
      for (const connect of Object.values(CLIENTS)) {
        const client = await connect(t, url)
        assert.match(
          await client.call('call_tool', { name: 'delete_order', arguments: { note: 'x' } }),
          /missing[\s\S]*Signature: delete_order\(id: string, note\?: string\)/,
        )
        assert.doesNotMatch(await client.call('delete_order', { note: 'x' }), /Signature/)
      }
    })

    test('rules hold in the list, in searches, descriptions and calls', async (t) => {
      const shop = await made(t)
      const { url, logged } = await serving(t, shop, {
        auth: TOKENS,
        discovery: { type: 'search', pin: ['*'] },
        authorize: {
          default: 'deny',
          rules: [
            { callers: ['ann'], tools: ['*'] },
            { callers: ['bob'], tools: ['get_*', 'list_*'] },
          ],
        },
      })
      for (const clientOf of [
        open,
        async (to: string, headers: Record<string, string>) => modern(to, headers),
      ]) {
        const [ann, bob] = [await clientOf(url, ANN), await clientOf(url, BOB)]
        assert.deepEqual(namesOf(await ann.request('tools/list')), [...ALL, ...FOUR])
        const list = await bob.request('tools/list')
        assert.deepEqual(namesOf(list), ['list_orders', 'get_order', ...FOUR])
        if (list.result.resultType) assert.equal(list.result.cacheScope, 'private')
        assert.match(list.result.tools[2].description, /2 tools\./)
        assert.match(await ann.call('search_tools', { query: 'refund' }), /^create_refund/)
        assert.match(await bob.call('search_tools', { query: 'delete order refund', limit: 20 }), /of 2;/)
        assert.doesNotMatch(await bob.call('search_tools', { query: 'delete order refund' }), /refund|delete/)
        assert.match(await ann.call('describe_tools', { names: ['delete_order'] }), /Deletes/)
        // What it may not call is as unknown as what is not there.
        const hidden = await bob.call('describe_tools', { names: ['delete_order'] })
        assert.match(hidden, /^Unknown tool: delete_order\. Did you mean (?:get|list)_orders?\?/)
        assert.equal(await bob.call('call_tool', { name: 'delete_order', arguments: { id: '1' } }), hidden)
        assert.equal(
          await bob
            .call('call_tool', { name: 'belete_order', arguments: { id: '1' } })
            .then((said) => said.replace('belete', 'delete')),
          hidden,
        )
        assert.match(await bob.call('delete_order', { id: '1' }), /error: Unknown tool: delete_order/)
        assert.match(await bob.call('call_tool', { name: 'get_order', arguments: { id: '1' } }), /get_order/)
      }
      assert.ok(shop.called.every(([name]) => name === 'get_order'))
      assert.equal(lines(logged).filter(({ tool }) => tool === 'get_order').length, 2)
    })

    test('a person approves what is called through `call_tool`, by its real name', async (t) => {
      const shop = await made(t)
      const { url } = await serving(t, shop, { approval: 'elicitation' })
      const params = { name: 'call_tool', arguments: { name: 'delete_order', arguments: { id: '7' } } }
      const { headers } = await open(url, {}, { elicitation: { form: {} } })
      const heard = await askingPost(url, { id: 9, method: 'tools/call', params }, headers, ACCEPTS)
      assert.match(heard[0].params.message, /tool: "delete_order"[\s\S]*argument "id": "7"/)
      assert.match(heard[1].result.content[0].text, /delete_order/)
      const asks = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
      const alone = async (more: object = {}) =>
        (await messages(await modernSend(url, 'tools/call', { ...params, _meta: asks, ...more }))).at(-1)
      const { requestState, inputRequests } = (await alone()).result
      assert.match(inputRequests.approval.params.message, /tool: "delete_order"/)
      const inputResponses = { approval: { action: 'accept' } }
      assert.match((await alone({ requestState, inputResponses })).result.content[0].text, /delete_order/)
      assert.equal(shop.called.length, 2)
      // What destroys nothing is not asked about, nor are the tools that find others.
      const client = modern(url)
      assert.match(
        await client.call('call_tool', { name: 'ship_parcel', arguments: { id: '1' } }),
        /ship_parcel/,
      )
      assert.match(await client.call('search_tools', { query: 'parcel' }), /^ship_parcel/)
    })

    test('rates count the tool that is called', async (t) => {
      const shop = await made(t)
      const rate = [{ per: 'caller', tools: ['delete_*'], limit: 1, window: '1h' }]
      const { url } = await serving(t, shop, { rate })
      const client = modern(url)
      const call = (name: string) =>
        client.request('tools/call', { name: 'call_tool', arguments: { name, arguments: { id: '1' } } })
      assert.ok((await call('delete_order')).result)
      assert.match((await call('delete_order')).error.message, /^Too many requests/)
      assert.ok((await call('get_order')).result)
    })

    test('the URL says how tools are listed, and sessions keep it', async (t) => {
      const shop = await made(t)
      const { url } = await serving(t, shop, { discovery: {} })
      for (const connect of Object.values(CLIENTS)) {
        const plain = await connect(t, url)
        assert.match(
          await plain.call('call_tool', { name: 'get_order', arguments: { id: '1' } }),
          /error|rror/,
        )
        const searching = await connect(t, `${url}?discovery=search`)
        assert.deepEqual(namesOf(await searching.request('tools/list')), FOUR)
        assert.match(
          await searching.call('call_tool', { name: 'get_order', arguments: { id: '1' } }),
          /get_order/,
        )
        const listing = await connect(t, `${url}?discovery=list`)
        assert.ok(!namesOf(await listing.request('tools/list')).includes('search_tools'))
      }
      const { headers } = await open(`${url}?discovery=search`)
      const [list] = await messages(await send(url, { id: 1, method: 'tools/list' }, headers))
      assert.deepEqual(namesOf(list), FOUR)
      for (const path of ['mcp', 'sse']) {
        const method = path === 'sse' ? 'GET' : 'POST'
        const refused = await fetch(`${url.replace(/mcp$/, path)}?discovery=of%20tools`, { method })
        assert.equal(refused.status, 400)
        assert.match(
          ((await refused.json()) as Loose).error.message,
          /discovery=of tools is unknown: use discovery=search or/,
        )
      }
    })

    test('`auto` searches where the list is longer than `above`', async (t) => {
      const shop = await made(t)
      const { url, change } = await serving(t, shop, { discovery: { type: 'auto', above: 10 } })
      for (const connect of Object.values(CLIENTS))
        assert.deepEqual(namesOf(await (await connect(t, url)).request('tools/list')), FOUR)
      await change(configured(shop, { discovery: { type: 'auto', above: 10_000 } }))
      for (const connect of Object.values(CLIENTS)) {
        const shown = namesOf(await (await connect(t, url)).request('tools/list'))
        assert.ok(shown.includes('list_orders') && !shown.includes('search_tools'))
      }
    })
  })

describe('messages', TIMEOUT, () => {
  test('headers name the tool that the client called, and the real one upstream', async (t) => {
    const shop = await mcpShop(t, 'stateless')
    const { url } = await serving(t, shop)
    const params = { name: 'call_tool', arguments: { name: 'get_order', arguments: { id: '1' } } }
    const wrong = await modernSend(url, 'tools/call', params, { 'mcp-name': 'get_order' })
    assert.equal(wrong.status, 400)
    assert.equal(((await wrong.json()) as Loose).error.code, -32020)
    const [right] = await messages(await modernSend(url, 'tools/call', params))
    assert.deepEqual(right.result.structuredContent, { done: 'get_order' })
    assert.deepEqual(
      shop.called.map(([name, args]) => [name, args]),
      [['get_order', { id: '1' }]],
    )
  })

  test('`_meta` passes to the tool that is called', async (t) => {
    const shop = await mcpShop(t, 'session')
    const { url } = await serving(t, shop)
    const client = await open(url)
    const params = {
      name: 'call_tool',
      arguments: { name: 'get_order', arguments: { id: '1' } },
      _meta: { 'x.example/a': 1 },
    }
    await client.request('tools/call', params)
    assert.equal(shop.called[0]![2]['x.example/a'], 1)
  })

  test('a batch calls several tools', async (t) => {
    const shop = await httpShop(t)
    const { url } = await serving(t, shop)
    const { headers } = await open(url, {}, {}, '2025-03-26')
    const call = (id: number, name: string, args: object) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: args },
    })
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: JSON.stringify([
        call(1, 'call_tool', { name: 'delete_order', arguments: { id: '1' } }),
        call(2, 'search_tools', { query: 'parcel' }),
        call(3, 'call_read_tool', { name: 'delete_order', arguments: { id: '1' } }),
      ]),
    })
    const answers: Loose[] = (await messages(response)).flat()
    const text = (id: number) => answers.find((one) => one.id === id).result.content[0].text
    assert.match(text(1), /delete_order/)
    assert.match(text(2), /^ship_parcel/)
    assert.match(text(3), /not read-only/)
    assert.equal(shop.called.length, 1)
  })

  test('a server that has such names itself shows none of them', async (t) => {
    const own = { name: 'call_tool', description: 'Its own.' }
    const shop = await mcpShop(t, 'session', [own])
    const { url } = await serving(t, shop, { discovery: { type: 'auto' } })
    const client = await open(url)
    assert.deepEqual(namesOf(await client.request('tools/list')).sort(), [...ALL].sort())
    const plain = await open(`${url}?discovery=list`)
    assert.match(await plain.call('call_tool', { id: '1' }), /done call_tool/)
  })

  test('lists are read once for as long as they hold, and say what the server says', async (t) => {
    const shop = await mcpShop(t, 'stateless')
    const { url } = await serving(t, shop, { auth: TOKENS })
    const client = modern(url, ANN)
    for (let i = 0; i < 3; i++) await client.call('search_tools', { query: 'refund' })
    // What is public is read once for all callers.
    await modern(url, BOB).call('search_tools', { query: 'refund' })
    const { result } = await client.request('tools/list')
    assert.equal(shop.lists, 2)
    assert.deepEqual([result.cacheScope, result.resultType], ['public', 'complete'])
    assert.ok(result.ttlMs > 0 && result.ttlMs <= 3_600_000, String(result.ttlMs))
    assert.equal(result.nextCursor, undefined)
    const { error } = await client.request('tools/list', { cursor: 'rest' })
    assert.equal(error.code, -32602)
  })

  test('a reload that forbids a tool hides it from searches at once', async (t) => {
    const shop = await mcpShop(t, 'stateless')
    const auth = { auth: TOKENS, authorize: { default: 'deny', rules: [{ callers: ['ann'], tools: ['*'] }] } }
    const { url, change } = await serving(t, shop, auth)
    const client = modern(url, ANN)
    assert.match(await client.call('search_tools', { query: 'refund' }), /^create_refund/)
    const rules = [{ callers: ['ann'], tools: ['get_*'] }]
    await change(configured(shop, { ...auth, authorize: { default: 'deny', rules } }))
    assert.doesNotMatch(await client.call('search_tools', { query: 'refund' }), /create_refund/)
    assert.match(await client.call('describe_tools', { names: ['create_refund'] }), /^Unknown tool/)
  })

  for (const era of ['session', 'stateless'] as const)
    test(`what a server lists for one token is not found with another (${era})`, async (t) => {
      const shop = await mcpShop(t, era)
      shop.rest.mcpServers[0].headers = { Authorization: '{{index .Request.Headers "X-Upstream"}}' }
      const tokens = [{ token: 'app-token', caller: 'app' }]
      const { url } = await serving(t, shop, {
        auth: { type: 'bearer', tokens },
        discovery: { type: 'search', pin: ['secret*'] },
      })
      const [one, two] = ['one', 'two'].map((token) => ({
        authorization: 'Bearer app-token',
        'x-upstream': `Bearer ${token}`,
      })) as [Loose, Loose]
      for (const clientOf of [
        open,
        async (to: string, headers: Record<string, string>) => modern(to, headers),
      ])
        for (const [headers, own, other] of [
          [one, 'secret_of_one', 'secret_of_two'],
          [two, 'secret_of_two', 'secret_of_one'],
        ] as const) {
          const client = await clientOf(url, headers)
          assert.deepEqual(namesOf(await client.request('tools/list')), [own, ...FOUR])
          const found = await client.call('search_tools', { query: 'secret' })
          assert.ok(found.includes(own) && !found.includes(other), found)
          assert.match(await client.call('describe_tools', { names: [other] }), /^Unknown tool/)
          assert.match(
            await client.call('call_tool', { name: other, arguments: { id: '1' } }),
            /^Unknown tool/,
          )
        }
    })

  test('clients hear of a reload that changes how tools are shown', async (t) => {
    const shop = await httpShop(t)
    const { url, change } = await serving(t, shop)
    const listening = await modernSend(url, 'subscriptions/listen', {
      _meta: META,
      notifications: { toolsListChanged: true },
    })
    const reader = listening.body!.pipeThrough(new TextDecoderStream()).getReader()
    t.after(() => reader.cancel().catch(() => {}))
    let heard = ''
    const until = async (wanted: RegExp) => {
      while (!wanted.test(heard)) heard += (await reader.read()).value ?? ''
    }
    await until(/acknowledged/)
    await change(configured(shop, { discovery: { type: 'search', pin: ['get_order'] } }))
    await until(/tools\/list_changed/)
    assert.deepEqual(namesOf(await modern(url).request('tools/list')), ['get_order', ...FOUR])
  })
})

describe('what a call needs besides its answer', TIMEOUT, () => {
  const indirect = (name: string, args: object = {}) => ({
    name: 'call_tool',
    arguments: { name, arguments: args },
  })
  const everything: Record<string, (t: TestContext) => Promise<object>> = {
    'stdio, with sessions': async () => ({ type: 'stdio', ...everythingStdio('session') }),
    'stdio, 2026-07-28': async () => ({ type: 'stdio', ...everythingStdio('modern') }),
    'streamable HTTP, 2026-07-28': async (t) => ({
      type: 'streamable-http',
      url: await startEverything(t, 'http', 'modern'),
    }),
  }
  for (const [title, server] of Object.entries(everything))
    test(title, async (t) => {
      const shop = { router: { server: 'e' }, rest: { mcpServers: [{ name: 'e', ...(await server(t)) }] } }
      const { url, logged } = await serving(t, { called: [], lists: 0, ...shop })
      const session = await open(url, {}, { elicitation: { form: {} } })
      const alone = modern(url)
      for (const client of [session, alone]) {
        const params = { ...indirect('test_tool_with_progress'), _meta: { progressToken: 'p' } }
        const heard = await client.all('tools/call', params)
        const progress = heard.filter(({ method }) => method === 'notifications/progress')
        assert.deepEqual(
          progress.map(({ params: { progressToken, progress } }) => [progressToken, progress]),
          [0, 50, 100].map((done) => ['p', done]),
        )
        const given = { ...indirect('test_structured_content', { value: 5 }), _meta: { 'x.example/a': 1 } }
        const { result } = await client.request('tools/call', given)
        assert.equal(result.structuredContent.value, 5)
        assert.equal(result.structuredContent.meta['x.example/a'], 1)
        // An argument that travels in a header, too, does so upstream.
        assert.equal(
          (await client.request('tools/call', indirect('test_x_mcp_header', { region: 'eu' }))).result
            .content[0].text,
          'region eu',
        )
      }

      const asking = indirect('test_elicitation', { message: 'Who?' })
      const content = { username: 'ann', email: 'a@example.com' }
      const heard = await askingPost(
        url,
        { id: 'ask', method: 'tools/call', params: asking },
        session.headers,
        () => ({ action: 'accept', content }),
      )
      assert.equal(heard[0].params.message, 'Who?')
      assert.match(heard.at(-1).result.content[0].text, /ann/)
      const asks = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } } }
      const question = await alone.request('tools/call', { ...asking, _meta: asks })
      const { requestState, inputRequests } = question.result
      const [key] = Object.keys(inputRequests) as [string]
      const inputResponses = { [key]: { action: 'accept', content } }
      const retried = { ...asking, _meta: asks, inputResponses, ...(requestState && { requestState }) }
      assert.match((await alone.request('tools/call', retried)).result.content[0].text, /ann/)

      const waiting = {
        id: 'w',
        method: 'tools/call',
        params: { ...indirect('test_until_cancelled'), _meta: { progressToken: 'w' } },
      }
      const answer = await send(url, waiting, session.headers)
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
      let said = ''
      while (!said.includes('notifications/progress')) said += (await reader.read()).value
      await send(url, { method: 'notifications/cancelled', params: { requestId: 'w' } }, session.headers)
      while (!(await reader.read()).done);
      const isCancelled = (line: Loose) =>
        line.msg === 'tool call cancelled' && line.tool === 'test_until_cancelled'
      await until(() => logged.some(isCancelled))
    })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { faultyStdio, startFaulty } from '../fixtures/faulty/start.ts'
import { ACCEPT, type Loose } from '../support/wire.ts'
import { batching } from './batching.ts'
import { modern, modernSend, open, proxied } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }
const FILTER = {
  allowedTools: ['test_simple_text', 'test_image_content', 'test_error_handling'],
  blockedTools: ['test_image_content'],
  toolOverrides: {
    test_simple_text: {
      name: 'greet',
      description: 'Greets.',
      annotations: { readOnlyHint: true },
      group: 'people',
      keywords: ['hello'],
    },
  },
}

for (const [transport, type] of [
  ['http', 'streamable-http'],
  ['stdio', 'stdio'],
] as const)
  test(
    `tools of a server over ${transport} are hidden and renamed in both generations`,
    TIMEOUT,
    async (t) => {
      const at =
        transport === 'stdio' ? everythingStdio('dual') : { url: await startEverything(t, 'http', 'dual') }
      const { url } = await proxied(t, [{ type, ...at, ...FILTER }])
      for (const client of [await open(url), modern(url)]) {
        const { tools } = (await client.request('tools/list')).result
        assert.deepEqual(tools.map(({ name }: Loose) => name).sort(), ['greet', 'test_error_handling'])
        const greet = tools.find(({ name }: Loose) => name === 'greet')
        assert.equal(greet.description, 'Greets.')
        assert.equal(greet.annotations.readOnlyHint, true)
        assert.ok(!('keywords' in greet) && !('group' in greet))
        assert.match(await client.call('greet'), /simple text/)
        for (const hidden of ['test_simple_text', 'test_image_content', 'test_audio_content'])
          assert.equal(await client.call(hidden), `error: Unknown tool: ${hidden}`)
      }
    },
  )

for (const [kind, server] of [
  ['a session that is shared', { ...everythingStdio('dual'), isolation: 'shared' }],
  ['the same values', { ...everythingStdio('session'), isolation: 'credential' }],
  ['a server of 2026-07-28 alone over stdio', everythingStdio('modern')],
] as const)
  test(`a renamed tool can be called where messages are bridged: ${kind}`, TIMEOUT, async (t) => {
    const { url } = await proxied(t, [{ type: 'stdio', ...server, ...FILTER }])
    const client = await open(url)
    assert.match(await client.call('greet'), /simple text/)
    assert.equal(await client.call('test_simple_text'), 'error: Unknown tool: test_simple_text')
  })

test('a batch shows and calls no hidden tool, and renamed ones by their new names', TIMEOUT, async (t) => {
  const server = await batching(t)
  const filter = { allowedTools: ['a', 'b'], toolOverrides: { b: { name: 'bee' } } }
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url, ...filter }])
  const client = await open(url, {}, {}, '2025-03-26')
  const call = (id: number, name: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: {} },
  })
  const batch = [
    call(1, 'a'),
    call(2, 'secret'),
    call(3, 'bee'),
    { jsonrpc: '2.0', id: 4, method: 'tools/list' },
  ]
  const headers = { 'content-type': 'application/json', accept: ACCEPT, ...client.headers }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(batch) })
  const answers: Loose[] = ((await response.json()) as Loose[]).sort((one, other) => one.id - other.id)
  // The server declares none, which clients do not take.
  const inputSchema = { type: 'object' }
  assert.deepEqual(
    answers.map(({ error, result }) => error?.message ?? result.content ?? result.tools),
    [
      'called a',
      'Unknown tool: secret',
      'called b',
      [
        { name: 'a', inputSchema },
        { name: 'bee', inputSchema },
      ],
    ],
  )
  assert.deepEqual(server.called, ['a', 'b'])
})

test('what a batch lists is read, and all of its answers arrive', TIMEOUT, async (t) => {
  const server = await batching(t, [
    { name: 'a', description: 'Says\u200b hi', inputSchema: { type: 'object' } },
  ])
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url }])
  const client = await open(url, {}, {}, '2025-03-26')
  const list = { jsonrpc: '2.0', method: 'tools/list' }
  const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'a', arguments: {} } }
  const headers = { 'content-type': 'application/json', accept: ACCEPT, ...client.headers }
  for (const batch of [
    [
      { ...list, id: 1 },
      { ...call, id: 2 },
    ],
    [
      { ...call, id: 1 },
      { ...list, id: 2 },
    ],
  ]) {
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(batch) })
    const answers = (await response.json()) as Loose[]
    assert.deepEqual(
      answers.map(({ id }) => id),
      batch.map(({ id }) => id),
    )
    const { tools } = answers.find(({ result }) => result.tools).result
    assert.deepEqual(tools, [{ name: 'a', description: 'Says hi', inputSchema: { type: 'object' } }])
    assert.ok(answers.some(({ result }) => result.content === 'called a'))
  }
  const alone = await fetch(url, { method: 'POST', headers, body: JSON.stringify([{ ...list, id: 7 }]) })
  assert.deepEqual(((await alone.json()) as Loose[]).length, 1)
})

test('a member of a batch that is not a message gets an error of its own', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [{ type: 'stdio', ...everythingStdio('session') }])
  const client = await open(url, {}, {}, '2025-03-26')
  const headers = { 'content-type': 'application/json', accept: ACCEPT, ...client.headers }
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify([list, 1, { id: 'x' }]) })
  const answers = (await response.json()) as Loose[]
  const seen = new Map(answers.map(({ id, error }) => [id, error?.code]))
  assert.deepEqual(Object.fromEntries(seen), { 1: undefined, null: -32600, x: -32600 })
})

test('a renamed tool is not called where the header names another one', TIMEOUT, async (t) => {
  const url = await startEverything(t, 'http', 'modern')
  const proxy = await proxied(t, [{ type: 'streamable-http', url, ...FILTER }])
  const params = { name: 'greet', arguments: {} }
  const response = await modernSend(proxy.url, 'tools/call', params, { 'mcp-name': 'test_error_handling' })
  assert.equal(response.status, 400)
  assert.equal(((await response.json()) as Loose).error.code, -32020)
})

test(
  'several servers: names tell the server, lists are one, and one that is down hides its own',
  TIMEOUT,
  async (t) => {
    const servers = [
      { type: 'stdio', ...everythingStdio('dual') },
      { type: 'streamable-http', url: await startEverything(t, 'http', 'session') },
      { type: 'stdio', command: 'no-such-command-here' },
    ]
    const { url, logged } = await proxied(t, servers, { list: true })
    for (const client of [await open(url), modern(url)]) {
      const { tools } = (await client.request('tools/list')).result
      const names: string[] = tools.map(({ name }: Loose) => name)
      assert.ok(names.includes('s1__test_simple_text') && names.includes('s2__test_simple_text'))
      assert.ok(names.every((name) => /^s[12]__/.test(name)))
      assert.match(await client.call('s1__test_simple_text'), /simple text/)
      assert.match(await client.call('s2__test_simple_text'), /simple text/)
      assert.equal(await client.call('s4__test_simple_text'), 'error: Unknown tool: s4__test_simple_text')
      const { prompts } = (await client.request('prompts/list')).result
      const prompt = prompts.find(({ name }: Loose) => name === 's2__test_simple_prompt')
      assert.ok(prompt)
      assert.ok((await client.request('prompts/get', { name: prompt.name })).result.messages.length)
      const { resources } = (await client.request('resources/list')).result
      const uris: string[] = resources.map(({ uri }: Loose) => uri)
      assert.equal(new Set(uris).size, uris.length)
      const { contents } = (await client.request('resources/read', { uri: uris[0] })).result
      assert.equal(contents[0].uri, uris[0])
    }
    assert.ok(logged.some(({ msg, server }) => /is down/.test(msg) && server === 's3'))
    assert.ok(logged.some(({ msg }) => /two servers have this resource/.test(msg)))
  },
)

/** A stdio server of 2025-11-25 with two tasks, each on a page of its own. */
const tasksStdio = (name: string) => ({
  type: 'stdio',
  command: process.execPath,
  args: [
    '-e',
    `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line)
      if (id === undefined) return
      const task = (n) => ({ taskId: '${name}' + n, status: 'working' })
      const results = {
        initialize: { protocolVersion: '2025-11-25', capabilities: { tasks: { list: {} } }, serverInfo: { name: '${name}', version: '1' } },
        'tasks/list': params?.cursor ? { tasks: [task(2)] } : { tasks: [task(1)], nextCursor: 'next' },
      }
      const result = results[method]
      const error = { code: -32601, message: 'Method not found' }
      console.log(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
    })`,
  ],
})

test('several servers: tasks/list is the list of all', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [tasksStdio('a'), tasksStdio('b')], { list: true })
  const client = await open(url)
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const { tasks, nextCursor } = (await client.request('tasks/list', cursor ? { cursor } : {})).result
    ids.push(...tasks.map(({ taskId }: Loose) => taskId))
    cursor = nextCursor
  } while (cursor)
  assert.deepEqual(ids, ['s1__a1', 's2__b1', 's1__a2', 's2__b2'])
  const { supportedVersions } = (await modern(url).request('server/discover')).result
  assert.deepEqual(supportedVersions, ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])
})

test('several servers: discovery, subscriptions and ends of one server', TIMEOUT, async (t) => {
  const servers = [
    { type: 'stdio', ...faultyStdio('session') },
    { type: 'stdio', ...everythingStdio('dual') },
  ]
  const { url } = await proxied(t, servers, { list: true })
  const found = (await modern(url).request('server/discover')).result
  assert.ok(found.capabilities.tools && found.capabilities.prompts)
  const leave = new AbortController()
  const listening = await modernSend(
    url,
    'subscriptions/listen',
    { notifications: { toolsListChanged: true } },
    {},
    leave.signal,
  )
  const first = new TextDecoder().decode((await listening.body!.getReader().read()).value)
  assert.match(first, /notifications\/subscriptions\/acknowledged/)
  leave.abort()
  const client = await open(url)
  assert.match(await client.call('s1__die'), /was ended by SIGKILL/)
  assert.match(await client.call('s2__test_simple_text'), /simple text/)
  assert.match(await client.call('s1__echo', { a: 1 }), /"a":1/)
})

test('several servers: a call for one that is being tried again is answered', TIMEOUT, async (t) => {
  const silent = {
    command: process.execPath,
    args: ['-e', 'process.stdin.resume()'],
    startupTimeout: '300ms',
  }
  const servers = [
    { type: 'stdio', ...faultyStdio('session') },
    { type: 'stdio', ...silent },
  ]
  const { url } = await proxied(t, servers, { list: true })
  const client = await open(url)
  // A list tries the silent one once more, in the background.
  await client.request('tools/list')
  assert.match(
    await client.call('s2__any'),
    /No response from the server s2 for 0.3 s; the handshake timed out/,
  )
  assert.match(await client.call('s1__echo', { a: 1 }), /"a":1/)
})

test('a single server in a list is named as well', TIMEOUT, async (t) => {
  const faulty = await startFaulty(t, 'http')
  const { url } = await proxied(t, [{ type: 'streamable-http', url: faulty.url }], { list: true })
  assert.equal(await (await open(url)).call('s1__echo', { a: 1 }), '{"a":1}')
})

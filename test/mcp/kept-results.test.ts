import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../src/access/memory.ts'
import type { Json } from '../../src/json/index.ts'
import { jsonIn, partOf } from '../../src/json/shaping/index.ts'
import { KeptResults } from '../../src/mcp/index.ts'
import { startEverything } from '../fixtures/everything/start.ts'
import { gatewayHere } from '../support/gateway.ts'
import type { Loose } from '../support/wire.ts'
import { json, upstream } from '../tools/harness.ts'
import { answering } from '../upstream/answering.ts'
import { CLIENTS, type Client, modern, open } from '../upstream/harness.ts'

const TIMEOUT = { timeout: 60_000 }
const ROWS = Array.from({ length: 60 }, (_, id) => ({ id, title: `plant ${id}`, tags: ['green', `t${id}`] }))
const WHOLE = JSON.stringify(ROWS)
const NOTHING = 'Nothing in the result contains the text of `grep`.'
const GONE = 'No result with this `id` exists, or it has expired. Call the tool that returned it again.'

const api = await upstream((response, { url }) =>
  url === '/begin'
    ? response.writeHead(202).end()
    : url === '/text'
      ? response.writeHead(200, { 'content-type': 'text/plain' }).end(LINES)
      : json(response, url === '/object' ? { rows: ROWS } : ROWS),
)
const LINES = Array.from({ length: 100 }, (_, i) => `line ${i} with words`).join('\n')

const configuration = (more: object = {}, router: object = {}) => ({
  name: 'kept',
  routers: [{ server: 'kept', prefix: '/kept', ...router }],
  servers: [{ name: 'kept' }],
  tools: [
    {
      name: 'rows',
      description: 'Lists rows',
      endpoint: `${api.origin}/rows`,
      response: { maxChars: 500, more: 'handle' },
    },
    {
      name: 'first',
      description: 'Lists the first rows',
      endpoint: `${api.origin}/rows`,
      response: { maxItems: 2, select: '[].{id, title}', format: 'csv', more: 'handle' },
    },
    {
      name: 'text',
      description: 'A text',
      endpoint: `${api.origin}/text`,
      response: { maxChars: 500, more: 'handle' },
    },
    {
      name: 'other',
      description: 'Keeps nothing',
      endpoint: `${api.origin}/rows`,
      response: { maxChars: 500 },
    },
  ],
  ...more,
})

interface Cut {
  id: string
  link: Loose
  texts: string[]
}

async function cutBy(client: Client, name: string): Promise<Cut> {
  const { result } = await client.request('tools/call', { name, arguments: {} })
  const texts = result.content.flatMap((one: Loose) => one.text ?? [])
  const link = result.content.find((one: Loose) => one.type === 'resource_link')
  const [, id = ''] = /call `read_result` with `id`: "([^"]+)"\.$/.exec(texts.at(-1)!) ?? []
  return { id, link, texts }
}

async function read(client: Client, args: object): Promise<{ texts: string[]; isError?: boolean }> {
  const { result } = await client.request('tools/call', { name: 'read_result', arguments: args })
  return { texts: result.content.map((one: Loose) => one.text), isError: result.isError }
}

for (const [era, connect] of Object.entries(CLIENTS))
  test(`what is cut off a result can be read: a client of ${era}`, TIMEOUT, async (t) => {
    const { base, logged } = await gatewayHere(t, configuration())
    const client = await connect(t, `${base}/kept/mcp`)
    const { tools } = (await client.request('tools/list')).result
    assert.deepEqual(
      tools.map((tool: Loose) => tool.name),
      ['rows', 'first', 'text', 'other', 'read_result'],
    )
    const rows = await cutBy(client, 'rows')
    assert.match(rows.texts[1]!, /^Shortened: the list has the first \d+ of 60 items\. For the rest, call/)
    assert.deepEqual(await read(client, { id: rows.id }), { texts: [WHOLE], isError: undefined })
    assert.deepEqual((await read(client, { id: rows.id, offset: 10, limit: 20 })).texts, [
      WHOLE.slice(10, 30),
      `Characters 10 to 30 of ${WHOLE.length}. For the rest, call again with \`offset\`: 30.`,
    ])
    const titles = JSON.stringify(ROWS.map(({ title }) => ({ title })))
    assert.deepEqual((await read(client, { id: rows.id, path: '[].title' })).texts, [titles])
    assert.deepEqual((await read(client, { id: rows.id, path: '[].id', grep: '"id":59' })).texts, [
      '[{"id":59}]',
    ])
    assert.deepEqual((await read(client, { id: rows.id, grep: 'PLANT 7' })).texts, [
      JSON.stringify([ROWS[7]]),
    ])
    assert.deepEqual((await read(client, { id: rows.id, grep: '(a+)+$' })).texts, [NOTHING])

    // As it was before `maxItems`, and JSON.
    const first = await cutBy(client, 'first')
    assert.equal(first.texts[0], 'id,title\n0,plant 0\n1,plant 1')
    const selected = JSON.stringify(ROWS.map(({ id, title }) => ({ id, title })))
    assert.deepEqual((await read(client, { id: first.id })).texts, [selected])

    const text = await cutBy(client, 'text')
    assert.deepEqual((await read(client, { id: text.id, grep: 'line 42' })).texts, ['line 42 with words'])
    assert.deepEqual(await read(client, { id: text.id, grep: '.*' }), {
      texts: [NOTHING],
      isError: undefined,
    })
    assert.match((await read(client, { id: text.id, path: 'a' })).texts[0]!, /`path` is for JSON/)

    for (const { link, id, mimeType, whole } of [
      { ...rows, mimeType: 'application/json', whole: WHOLE },
      { ...text, mimeType: 'text/plain', whole: LINES },
    ]) {
      // Results of 2024-11-05 know no links.
      const uri = `plantgw-result:///${id}`
      if (era !== 'sse') assert.deepEqual([link.uri, link.mimeType], [uri, mimeType])
      const { result } = await client.request('resources/read', { uri })
      assert.deepEqual(result.contents, [{ uri, mimeType, text: whole }])
    }
    assert.ok(logged.some(({ tool, msg }) => tool === 'read_result' && msg === 'tool call'))
    const { texts, link } = await cutBy(client, 'other')
    assert.equal(link, undefined)
    assert.match(texts[1]!, /For the rest, call again with arguments that ask for less/)
  })

test('arguments that are wrong are named', async (t) => {
  const { base } = await gatewayHere(t, configuration())
  const client = await open(`${base}/kept/mcp`)
  const { id } = await cutBy(client, 'rows')
  for (const [args, said] of [
    [{ offset: -1 }, /`offset` must be/],
    [{ offset: 1.5 }, /`offset` must be/],
    [{ limit: 0 }, /`limit` must be/],
    [{ limit: 1e6 }, /`limit` must be/],
    [{ grep: '' }, /`grep` must be/],
    [{ grep: ['a'] }, /`grep` must be/],
    [{ path: 'a.' }, /`path` ends where a name is expected/],
    [{ path: 'a'.repeat(3_000) }, /`path` must be/],
    [{ pattern: 'a' }, /`pattern` is not an argument of read_result/],
  ] as const) {
    const { texts, isError } = await read(client, { id, ...args })
    assert.equal(isError, true)
    assert.match(texts[0]!, said)
  }
  assert.deepEqual((await read(client, { id, offset: 1e9 })).texts, [
    '',
    `Characters ${WHOLE.length} to ${WHOLE.length} of ${WHOLE.length}.`,
  ])
})

test('results of others, of other prefixes and forged ones are not there, and rules of tools do not hide what is one’s own', async (t) => {
  const tokens = ['ann', 'bob'].map((caller) => ({ token: `a-long-token-of-${caller}`, caller }))
  const auth = { type: 'bearer', tokens }
  const authorize = { default: 'deny', rules: [{ tools: ['rows'] }] }
  const routers = ['/kept', '/twin'].map((prefix) => ({ server: 'kept', prefix, auth, authorize }))
  const { base } = await gatewayHere(t, configuration({ routers }))
  const as = (name: string) => ({ authorization: `Bearer a-long-token-of-${name}` })
  const ann = await open(`${base}/kept/mcp`, as('ann'))
  const { tools } = (await ann.request('tools/list')).result
  assert.deepEqual(
    tools.map((tool: Loose) => tool.name),
    ['rows', 'read_result'],
  )
  const { id } = await cutBy(ann, 'rows')
  assert.deepEqual((await read(ann, { id })).texts, [WHOLE])
  assert.deepEqual((await read(modern(`${base}/kept/mcp`, as('ann')), { id })).texts, [WHOLE])
  const others = [
    await open(`${base}/kept/mcp`, as('bob')),
    modern(`${base}/kept/mcp`, as('bob')),
    await open(`${base}/twin/mcp`, as('ann')),
  ]
  const gone = { texts: [GONE], isError: true }
  for (const other of others) assert.deepEqual(await read(other, { id }), gone)
  for (const forged of ['', 'x', `${id}x`, id.slice(0, -1), '__proto__', 'constructor'])
    assert.deepEqual(await read(ann, { id: forged }), gone)
  assert.deepEqual(await read(ann, {}), gone)
  const uri = `plantgw-result:///${id}`
  for (const [client, code] of [
    [others[0]!, -32002],
    [others[1]!, -32602],
  ] as const) {
    const { error } = await client.request('resources/read', { uri })
    assert.deepEqual(error, { code, message: 'Resource not found', data: { uri } })
  }
  // A resource of another kind is a matter of the rules.
  assert.equal(
    (await ann.request('resources/read', { uri: 'file:///a' })).error.message,
    'Resource not found',
  )
})

for (const era of ['session', 'modern', 'sse'] as const)
  test(`the same for tools of an MCP server of ${era}`, TIMEOUT, async (t) => {
    const { server } = await answering(t, era, (out: Loose, { id }: Loose) => {
      const result = {
        resultType: 'complete',
        content: [{ type: 'text', text: WHOLE }],
        structuredContent: { rows: ROWS },
      }
      const text = JSON.stringify({ jsonrpc: '2.0', id, result })
      if (era === 'sse') out.write(`event: message\ndata: ${text}\n\n`)
      else out.writeHead(200, { 'content-type': 'application/json' }).end(text)
    })
    const { base } = await gatewayHere(t, {
      name: 'p',
      routers: [{ server: 'p', prefix: '/p' }],
      mcpServers: [
        { name: 'p', ...server, toolOverrides: { find: { response: { maxChars: 500, more: 'handle' } } } },
      ],
    })
    for (const connect of Object.values(CLIENTS)) {
      const client = await connect(t, `${base}/p/mcp`)
      const { id } = await cutBy(client, 'find')
      const { texts } = await read(client, { id, grep: 'plant 33' })
      assert.ok([JSON.stringify([ROWS[33]]), JSON.stringify({ rows: [ROWS[33]] })].includes(texts[0]!))
    }
  })

for (const names of ['prefixed', 'plain'])
  test(`the same for all members of a list whose results the router shapes: ${names}`, TIMEOUT, async (t) => {
    const answer = (out: Loose, { id }: Loose) => {
      const result = { resultType: 'complete', content: [{ type: 'text', text: WHOLE }] }
      out
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
    const find = [{ name: 'find', inputSchema: { type: 'object' } }]
    const slow = {
      name: 'slow',
      endpoint: `${api.origin}/begin`,
      method: 'POST',
      async: { poll: `${api.origin}/rows`, interval: '10ms', done: 'true' },
    }
    const shop = {
      name: 'shop',
      servers: [{ name: 'own' }],
      tools: [{ name: 'all', endpoint: `${api.origin}/rows` }, slow, ...configuration().tools],
    }
    const far = await Promise.all(
      (['session', 'modern'] as const).map(async (name) => {
        const { server } = await answering(t, name, answer, undefined, find)
        return { name, ...server }
      }),
    )
    const shaped = (name?: string) => ({ name, response: { maxChars: 500, more: 'handle' } })
    const server = [
      { server: 'shop/own', toolOverrides: { all: shaped('bare'), slow: shaped() } },
      { server: 'far/session', toolOverrides: { find: shaped('find_old') } },
      { server: 'far/modern', toolOverrides: { find: shaped('find_new') } },
    ]
    const { base, logged } = await gatewayHere(
      t,
      { name: 'all', routers: [{ prefix: '/all', names, server }] },
      undefined,
      {},
      [shop, { name: 'far', mcpServers: far }],
    )
    const own = ['own__bare', 'own__rows', 'own__slow', 'session__find_old', 'modern__find_new']
    const tools = names === 'plain' ? own.map((name) => name.split('__')[1]!) : own
    for (const connect of Object.values(CLIENTS)) {
      const client = await connect(t, `${base}/all/mcp`)
      for (const tool of tools) {
        logged.length = 0
        const { id } = await cutBy(client, tool)
        assert.deepEqual((await read(client, { id, grep: 'plant 33' })).texts, [JSON.stringify([ROWS[33]])])
        const line = logged.find((one) => one.msg === 'tool call' && one.tool === tool)
        assert.ok(line?.savedChars > 1_000, JSON.stringify(line))
      }
    }
  })

test(
  'lists of an MCP server have the tool once, and other tools are called as before',
  TIMEOUT,
  async (t) => {
    const everything = await startEverything(t, 'http', 'session')
    const { base } = await gatewayHere(t, {
      name: 'p',
      routers: [{ server: 'p', prefix: '/p' }],
      mcpServers: [
        {
          name: 'p',
          type: 'streamable-http',
          url: everything,
          toolOverrides: { test_streaming_elicitation: { response: { maxChars: 500, more: 'handle' } } },
        },
      ],
    })
    for (const connect of Object.values(CLIENTS)) {
      const client = await connect(t, `${base}/p/mcp`)
      const names: string[] = []
      for (let cursor: string | undefined, first = true; first || cursor; first = false) {
        const { result }: Loose = await client.request('tools/list', cursor ? { cursor } : {})
        names.push(...result.tools.map((tool: Loose) => tool.name))
        cursor = result.nextCursor
      }
      assert.equal(names.filter((name) => name === 'read_result').length, 1)
      assert.ok(names.includes('test_streaming_elicitation') && names.length > 2)
      assert.match(await client.call('test_streaming_elicitation'), /No request came/)
    }
  },
)

test('what is kept is bounded, in number, in memory and in time', () => {
  const owner = (caller: string) => ({ prefix: '/p', caller, quotaKey: caller })
  // Results that earlier tests have read may still be there, and give way.
  const used = memory.used
  const kept = new KeptResults()
  const handles = Array.from(
    { length: 101 },
    (_, i) => kept.keep({ text: `${i}`, isJson: false }, owner('a'))!,
  )
  assert.equal(kept.find(handles[0]!, owner('a')), undefined)
  assert.equal(kept.find(handles[1]!, owner('a'))?.text, '1')
  assert.equal(kept.find(handles[1]!, owner('b')), undefined)
  assert.equal(kept.keep({ text: 'x'.repeat(33 * 1024 * 1024), isJson: false }, owner('b')), undefined)
  const big = [1, 2, 3].map(
    () => kept.keep({ text: 'x'.repeat(12 * 1024 * 1024), isJson: false }, owner('c'))!,
  )
  assert.deepEqual(
    big.map((handle) => kept.find(handle, owner('c')) !== undefined),
    [false, true, true],
  )
  // Others need the memory.
  const reservation = memory.reserve('d')
  const limit = memory.limit
  memory.limit = 64 * 1024 * 1024
  assert.ok(reservation.add(30 * 1024 * 1024))
  assert.deepEqual(
    big.map((handle) => kept.find(handle, owner('c')) !== undefined),
    [false, false, true],
  )
  reservation.free()
  memory.limit = limit
  kept.close()
  assert.ok(memory.used <= used, `${memory.used} of ${used}`)
  const brief = new KeptResults(0)
  assert.equal(brief.find(brief.keep({ text: 'a', isJson: false }, owner('a'))!, owner('a')), undefined)
  brief.close()
  assert.ok(memory.used <= used, `${memory.used} of ${used}`)
})

test('a result that is too large to be kept leaves the others, and one in place of the last ends in time', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const owner = { prefix: '/p', caller: 'a', quotaKey: 'kept-alone' }
  const used = memory.used
  const kept = new KeptResults(1_000)
  const text = (size: number) => ({ text: 'x'.repeat(size), isJson: false })
  const first = kept.keep(text(20 * 1024 * 1024), owner)!
  assert.equal(kept.keep(text(33 * 1024 * 1024), owner), undefined)
  assert.ok(kept.find(first, owner))
  const second = kept.keep(text(20 * 1024 * 1024), owner)!
  assert.deepEqual(
    [kept.find(first, owner), kept.find(second, owner)?.text.length],
    [undefined, 20 * 1024 * 1024],
  )
  const timers = t.mock.method(performance, 'now', () => Number.MAX_SAFE_INTEGER)
  t.mock.timers.tick(1_000)
  timers.mock.restore()
  assert.ok(memory.used <= used, `${memory.used} of ${used}`)
})

test('any part of any text is read', async () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.jsonValue().map((value) => JSON.stringify(value)),
  )
  await fc.assert(
    fc.asyncProperty(texts, fc.nat(60), fc.integer({ min: 2, max: 20 }), async (whole, offset, limit) => {
      let [at, joined] = [0, '']
      do {
        const part = await partOf(whole, { offset: at, limit })
        assert.ok('text' in part && part.of === whole.length && part.from === at)
        joined += part.text
        at += part.text.length
        if (part.text.length === 0) break
      } while (at < whole.length)
      assert.equal(joined, whole)
      const part = await partOf(whole, { offset, limit })
      assert.ok(
        'text' in part && whole.slice(part.from).startsWith(part.text) && part.text.length <= limit + 1,
      )
    }),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.jsonValue()),
      fc.string({ minLength: 1, maxLength: 2 }),
      async (items, grep) => {
        const part = await partOf('', { grep, limit: 1e6 }, jsonIn(JSON.stringify(items)))
        const found = (JSON.parse(JSON.stringify(items)) as Json[]).filter((item) =>
          JSON.stringify(item).toLowerCase().includes(grep.toLowerCase()),
        )
        assert.ok('text' in part)
        assert.equal(part.text, found.length > 0 ? JSON.stringify(found) : '')
      },
    ),
  )
})

import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { everythingStdio } from '../fixtures/everything/start.ts'
import type { Loose } from '../support/wire.ts'
import { answering } from './answering.ts'
import { CLIENTS, modern, open, proxied, send } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }
const ISSUES = {
  total: 3,
  items: [1, 2, 3].map((id) => ({ id, title: `issue ${id}`, user: { login: 'x', url: 'u' } })),
}
const SHAPED = {
  items: [
    { id: 1, user: 'x' },
    { id: 2, user: 'x' },
  ],
}
const NOTICE = /^Shortened: `items` has the first 2 of 3 items\. /
const response = { select: 'items[].{id, user: user.login}', maxItems: 2 }
const overrides = { toolOverrides: { issues: { name: 'list', response } } }
/** Not as the gateway would write it. */
const RAW_TEXT = JSON.stringify(ISSUES, null, 1)

function answer(response: ServerResponse, { id, params }: Loose, isStream: boolean) {
  const content = [{ type: 'text', text: RAW_TEXT }]
  const isError = params.name === 'failing'
  const structured = params.name === 'plain' ? {} : { structuredContent: ISSUES }
  const result = { resultType: 'complete', content, ...structured, ...(isError && { isError }) }
  const text = JSON.stringify({ jsonrpc: '2.0', id, result })
  if (isStream) {
    response.write(`event: message\ndata: ${text}\n\n`)
    return
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end(text)
}

for (const era of ['session', 'modern', 'sse'] as const)
  test(
    `results of tools with a response are shaped for each client: a server of ${era}`,
    TIMEOUT,
    async (t) => {
      const { server } = await answering(t, era, (out, message) => answer(out, message, era === 'sse'))
      const { url, calls } = await proxied(t, [{ ...server, ...overrides }])
      for (const connect of Object.values(CLIENTS)) {
        const client = await connect(t, url)
        const { result } = await client.request('tools/call', { name: 'list', arguments: {} })
        assert.deepEqual(result.structuredContent, SHAPED)
        const [text, notice, ...more] = result.content.map((item: Loose) => item.text)
        assert.deepEqual([JSON.parse(text), more], [SHAPED, []])
        assert.match(notice, NOTICE)
        const other = (await client.request('tools/call', { name: 'plain', arguments: {} })).result
        assert.deepEqual(other.content, [{ type: 'text', text: RAW_TEXT }])
      }
      const saved = calls.flatMap(({ savedChars }) => savedChars ?? [])
      assert.equal(saved.length, 3)
      assert.ok(saved.every((chars) => chars > 100))
    },
  )

test('errors are not selected from, and resultChars of a server holds for every tool', TIMEOUT, async (t) => {
  const { server } = await answering(t, 'session', (out, message) => answer(out, message, false))
  const toolOverrides = { failing: { response: { select: 'total' } } }
  const { url } = await proxied(t, [{ ...server, toolOverrides, limits: { resultChars: 500 } }])
  const client = await open(url)
  const failing = (await client.request('tools/call', { name: 'failing', arguments: {} })).result
  assert.deepEqual([failing.isError, failing.structuredContent], [true, ISSUES])
  const long = 'x'.repeat(2_000)
  const { server: chatty } = await answering(t, 'session', (out, { id }) =>
    out.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        jsonrpc: '2.0',
        id,
        result: { content: [long, long, 'c'].map((text) => ({ type: 'text', text })) },
      }),
    ),
  )
  const cut = await proxied(t, [{ ...chatty, limits: { resultChars: 500 } }])
  const { result } = await (await open(cut.url)).request('tools/call', { name: 'any', arguments: {} })
  const [first, ...notices] = result.content.map((item: Loose) => item.text)
  assert.equal(first, long.slice(0, 500))
  assert.match(notices[0], /^Shortened: this is the beginning, 500 of 2,000 characters\./)
  assert.equal(notices[1], 'Shortened: 2 of the 3 contents are left out.')
})

test('the text of an embedded resource is shaped and cut, and its bytes are not', TIMEOUT, async (t) => {
  const json = { uri: 'file:///a.json', mimeType: 'application/json', text: JSON.stringify(ISSUES) }
  const long = { uri: 'file:///b', text: 'x'.repeat(2_000), _meta: { a: 1 } }
  const bytes = { uri: 'file:///c', blob: 'eA=='.repeat(500) }
  const { server } = await answering(t, 'session', (out, { id, params }) => {
    const all = params.name === 'find' ? [json, bytes] : [long]
    const content = all.map((resource) => ({ type: 'resource', resource }))
    out
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, result: { content } }))
  })
  const toolOverrides = { find: { response: { select: 'total' } } }
  const { url } = await proxied(t, [{ ...server, toolOverrides, limits: { resultChars: 500 } }])
  const client = await open(url)
  const contentOf = async (name: string) =>
    (await client.request('tools/call', { name, arguments: {} })).result.content
  assert.deepEqual(await contentOf('find'), [
    { type: 'resource', resource: { ...json, text: JSON.stringify({ total: ISSUES.total }) } },
    { type: 'resource', resource: bytes },
  ])
  const [cut, notice] = await contentOf('read')
  assert.deepEqual(cut, { type: 'resource', resource: { ...long, text: 'x'.repeat(500) } })
  assert.match(notice.text, /^Shortened: this is the beginning, 500 of 2,000 characters\./)
})

test('what comes before the result passes at once, also a question to the client', TIMEOUT, async (t) => {
  let out: ServerResponse | undefined
  const { server } = await answering(t, 'session', (response, message) => {
    out = response
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = (raw: object) =>
      response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...raw })}\n\n`)
    event({ method: 'notifications/progress', params: { progressToken: 1, progress: 1 } })
    event({ id: 'asked', method: 'elicitation/create', params: { message: 'Sure?' } })
    waiting = () => {
      answer(response, message, true)
      response.end()
    }
  })
  let waiting = () => {}
  const { url } = await proxied(t, [{ ...server, ...overrides }])
  const { headers } = await open(url, {}, { elicitation: {} })
  const params = { name: 'list', arguments: {}, _meta: { progressToken: 1 } }
  const streamed = await send(url, { id: 7, method: 'tools/call', params }, headers)
  const reader = streamed.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  while (!text.includes('elicitation/create')) text += (await reader.read()).value
  assert.match(text, /notifications\/progress/)
  assert.ok(out && !text.includes('"result"'))
  waiting()
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) text += piece.value
  const last = JSON.parse([...text.matchAll(/^data: (.+)$/gm)].at(-1)![1] as string)
  assert.deepEqual([last.id, last.result.structuredContent], [7, SHAPED])
})

test('lists show the schema of what is left, in an aggregate as well', TIMEOUT, async (t) => {
  const outputSchema = {
    type: 'object',
    required: ['total', 'items'],
    properties: {
      total: { type: 'integer' },
      items: {
        type: 'array',
        minItems: 1,
        items: { type: 'object', properties: { id: { type: 'integer' } } },
      },
    },
  }
  const tools = [
    { name: 'issues', inputSchema: { type: 'object' }, outputSchema },
    { name: 'plain', inputSchema: { type: 'object' }, outputSchema },
  ]
  const { server } = await answering(
    t,
    'session',
    (out, message) => answer(out, message, false),
    undefined,
    tools,
  )
  const shaped = {
    type: 'object',
    properties: {
      items: { type: 'array', items: { type: 'object', properties: { id: { type: 'integer' }, user: {} } } },
    },
    required: ['items'],
  }
  const alone = await proxied(t, [{ ...server, ...overrides }])
  const both = await proxied(
    t,
    [{ ...server, ...overrides }, everythingStdio('session')].map((one) => ({ type: 'stdio', ...one })),
    { list: true },
  )
  for (const [url, prefix] of [
    [alone.url, ''],
    [both.url, 's1__'],
  ] as const)
    for (const client of [await open(url), modern(url)]) {
      const listed = (await client.request('tools/list')).result.tools
      const schemaOf = (name: string) =>
        listed.find((tool: Loose) => tool.name === prefix + name).outputSchema
      assert.deepEqual(schemaOf('list'), shaped)
      assert.deepEqual(schemaOf('plain'), outputSchema)
      const { result } = await client.request('tools/call', { name: `${prefix}list`, arguments: {} })
      assert.deepEqual(result.structuredContent, SHAPED)
    }
})

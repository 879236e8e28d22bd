import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCEPT, body, events, holdOpen, open, post, rpc, wire } from '../support/wire.ts'

const list = rpc('tools/list')

test('initialize agrees on each session revision, and on the newest for an unknown one', async () => {
  const { app } = await wire()
  for (const [asked, agreed] of [
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['1999-01-01', '2025-11-25'],
    ['2026-07-28', '2025-11-25'],
  ]) {
    const response = await post(
      app,
      '/one/mcp',
      rpc('initialize', { protocolVersion: asked, capabilities: {} }),
    )
    assert.equal(response.status, 200)
    assert.match(response.headers.get('mcp-session-id') ?? '', /^[\x21-\x7e]{32,}$/)
    assert.equal(response.headers.get('content-type'), 'application/json')
    assert.deepEqual((await body(response)).result, {
      protocolVersion: agreed,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'test', version: '1.2.3' },
      instructions: 'Be kind.',
    })
  }
})

test('initialize without a version is -32602 and opens no session', async () => {
  const { app, registry } = await wire()
  const response = await post(app, '/one/mcp', rpc('initialize', {}))
  assert.equal((await body(response)).error.code, -32602)
  assert.equal(registry.counts().sessions, 0)
})

test('requests need a session: none is 400, an unknown, foreign-prefix or ended one is 404', async () => {
  const { app } = await wire()
  const session = await open(app)
  assert.equal((await post(app, '/one/mcp', list, session)).status, 200)
  assert.equal((await post(app, '/one/mcp', list)).status, 400)
  assert.equal((await post(app, '/one/mcp', list, { 'mcp-session-id': 'nope' })).status, 404)
  assert.equal((await post(app, '/two/mcp', list, session)).status, 404)
  const ended = await app.request('/one/mcp', { method: 'DELETE', headers: session })
  assert.equal(ended.status, 204)
  const after = await post(app, '/one/mcp', list, session)
  assert.equal(after.status, 404)
  assert.match((await body(after)).error.message, /initialize again/)
})

test('a session is bound to its caller', async () => {
  const { app } = await wire({ token: 's3cret' })
  const mine = { authorization: 'Bearer s3cret' }
  const refused = await post(app, '/one/mcp', list)
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer')
  const session = await open(app, '/one', '2025-11-25', mine)
  assert.equal((await post(app, '/one/mcp', list, { ...session, ...mine })).status, 200)
  const wrong = await post(app, '/one/mcp', list, { ...session, authorization: 'Bearer other' })
  assert.equal(wrong.status, 401)
})

test('ping, unknown methods, bugs and notifications have the answer of the specification', async () => {
  const { app } = await wire()
  const session = await open(app)
  const answer = (message: unknown) => body(post(app, '/one/mcp', message, session))
  assert.deepEqual(await answer(rpc('ping', undefined, 'a')), { jsonrpc: '2.0', id: 'a', result: {} })
  const unknown = await post(app, '/one/mcp', rpc('nope/nope'), session)
  assert.equal(unknown.status, 200)
  assert.equal((await body(unknown)).error.code, -32601)
  const bug = await answer(rpc('tools/call', { name: 'fail' }))
  assert.deepEqual(bug.error, { code: -32603, message: 'Internal error' })
  for (const message of [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/unheard-of', params: { a: 1 } },
    { jsonrpc: '2.0', id: 7, result: {} },
  ]) {
    const response = await post(app, '/one/mcp', message, session)
    assert.equal(response.status, 202)
    assert.equal(await response.text(), '')
  }
})

test('request ids come back exactly as they were sent', async () => {
  const { app } = await wire()
  const session = await open(app)
  for (const id of ['"x\\u00e9\\n"', '0', '-5', '9007199254740991', '""']) {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"ping"}`
    const text = await (await post(app, '/one/mcp', body, session)).text()
    assert.equal(text, `{"jsonrpc":"2.0","id":${id === '"x\\u00e9\\n"' ? '"xé\\n"' : id},"result":{}}`)
  }
})

test('malformed messages are refused with the code and status that say why', async () => {
  const { app } = await wire({ maxRequestSize: 200 })
  const session = await open(app)
  const cases: [string, Record<string, string>, number, number][] = [
    ['{', {}, 400, -32700],
    ['', {}, 400, -32700],
    ['42', {}, 400, -32600],
    ['[]', {}, 400, -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":1}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":5}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', {}, 400, -32700],
    ['{"jsonrpc":"2.0","id":1e400,"method":"ping"}', {}, 400, -32700],
    [`{"jsonrpc":"2.0","id":${'1'.repeat(150)},"method":"ping"}`, {}, 400, -32700],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","method":"tools/call","params":{}}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"x"}', {}, 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', {}, 400, -32600],
    [JSON.stringify(list), { 'content-type': 'text/plain' }, 415, -32600],
    [JSON.stringify(list), { 'content-type': 'application/json; charset=utf-7' }, 415, -32600],
    ['{', { 'content-type': 'application/json; charset="UTF-8"; x=y' }, 400, -32700],
    [JSON.stringify(list), { 'content-encoding': 'gzip' }, 415, -32600],
    [JSON.stringify(list), { accept: 'text/html' }, 406, -32600],
    [JSON.stringify(list), { 'mcp-protocol-version': '1999-01-01' }, 400, -32022],
    [JSON.stringify(rpc('ping', { x: 'y'.repeat(300) })), {}, 413, -32600],
  ]
  for (const [sent, headers, status, code] of cases) {
    const response = await post(app, '/one/mcp', sent, { ...session, ...headers })
    const { error, jsonrpc } = await body(response)
    assert.deepEqual([response.status, error.code, jsonrpc], [status, code, '2.0'], sent)
  }
})

test('bodies that are not UTF-8 are refused', async () => {
  const { app } = await wire()
  const bytes = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d])
  const headers = { 'content-type': 'application/json', accept: ACCEPT }
  const response = await app.request('/one/mcp', { method: 'POST', headers, body: bytes })
  assert.equal(response.status, 400)
  assert.equal((await body(response)).error.code, -32700)
})

test('batches are answered up to 2025-03-26 and refused after', async () => {
  const { app } = await wire()
  const batch = [rpc('ping', undefined, 1), { jsonrpc: '2.0', method: 'notifications/x' }, rpc('nope', {}, 2)]
  const old = await post(app, '/one/mcp', batch, await open(app, '/one', '2025-03-26'))
  assert.deepEqual(
    (await body(old)).map((answer: { id: number }) => answer.id),
    [1, 2],
  )
  const onlyNotifications = await post(app, '/one/mcp', [batch[1]], await open(app, '/one', '2025-03-26'))
  assert.equal(onlyNotifications.status, 202)
  const later = await post(app, '/one/mcp', batch, await open(app, '/one', '2025-06-18'))
  assert.equal(later.status, 400)
  assert.match((await body(later)).error.message, /no batches/)
})

test('a cancelled request ends without a response, the others go on', async () => {
  const { app, waiting, cancelled } = await wire()
  const session = await open(app)
  const call = (key: string, id: number) =>
    post(app, '/one/mcp', rpc('tools/call', { name: 'wait', arguments: { key } }, id), session)
  const [first, second] = [call('a', 1), call('b', 2)]
  while (waiting.size < 2) await new Promise(setImmediate)
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  assert.equal((await post(app, '/one/mcp', cancel, session)).status, 202)
  const ended = await first
  assert.equal(ended.headers.get('content-type'), 'text/event-stream')
  assert.equal(await ended.text(), '')
  waiting.get('b')!()
  assert.deepEqual((await body(second)).result, { content: [] })
  assert.deepEqual(cancelled, ['a'])
})

test('a client that takes only event streams gets one', async () => {
  const { app } = await wire()
  const session = await open(app)
  const response = await post(app, '/one/mcp', rpc('ping'), { ...session, accept: 'text/event-stream' })
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  assert.equal(await response.text(), 'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')
})

test('the GET stream carries list changes and keep-alive comments, and ends with the session', async (t) => {
  holdOpen(t)
  const { app, registry } = await wire({ registry: { keepAlive: 5 } })
  const session = await open(app)
  const get = (headers: object) => app.request('/one/mcp', { headers: { ...session, ...headers } })
  assert.equal((await get({ accept: 'application/json' })).status, 406)
  const stream = await get({ accept: 'text/event-stream' })
  assert.equal(stream.status, 200)
  assert.equal(stream.headers.get('x-accel-buffering'), 'no')
  registry.listChanged('/two', 'tools')
  registry.listChanged('/one', 'tools')
  const [changed] = await events(stream, 1)
  assert.deepEqual(JSON.parse(changed!.data), { jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  const reader = stream.body!.getReader()
  const { value } = await reader.read()
  assert.equal(new TextDecoder().decode(value), ': keep-alive\n\n')
  await app.request('/one/mcp', { method: 'DELETE', headers: session })
  for (;;) if ((await reader.read()).done) break
  assert.deepEqual(registry.counts(), { sessions: 0, streams: 0 })
  registry.close()
})

test('other methods are 405 with Allow', async () => {
  const { app } = await wire()
  for (const [path, method, allow] of [
    ['/one/mcp', 'PUT', 'POST, GET, DELETE'],
    ['/one/sse', 'POST', 'GET'],
    ['/one/message', 'GET', 'POST'],
  ] as const) {
    const response = await app.request(path, { method })
    assert.deepEqual([response.status, response.headers.get('allow')], [405, allow])
  }
})

test('sessions end when they are idle, and the longest unused makes room', async (t) => {
  holdOpen(t)
  const { app, registry } = await wire({
    registry: { keepAlive: 2, idleTimeout: 0, maxSessions: 2, givesWay: 0 },
  })
  const sessions = [await open(app), await open(app), await open(app)]
  assert.ok(registry.counts().sessions <= 2)
  while (registry.counts().sessions) await new Promise((resolve) => setTimeout(resolve, 1))
  assert.equal((await post(app, '/one/mcp', list, sessions[2])).status, 404)
  registry.close()
})

test('a clock that jumps forward ends no session, and makes none give way', async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: Date.now() })
  const { app, registry } = await wire({ registry: { maxSessions: 20 } })
  const sessions = [await open(app), await open(app)]
  t.mock.timers.tick(48 * 3_600_000)
  assert.equal(
    (await post(app, '/one/mcp', rpc('initialize', { protocolVersion: '2025-11-25' }))).status,
    503,
  )
  for (const session of sessions) assert.equal((await post(app, '/one/mcp', list, session)).status, 200)
  registry.close()
})

test('what a session keeps of its client is bounded: initialize and clientInfo have at most 64 Ki characters', async () => {
  const { app } = await wire({ maxRequestSize: 200_000 })
  const large = 'x'.repeat(70_000)
  const clientInfo = { name: large, version: '1' }
  const initialize = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const session = await open(app)
  for (const message of [
    rpc('initialize', initialize),
    rpc('tools/list', { _meta: { 'io.modelcontextprotocol/clientInfo': clientInfo } }),
    rpc('subscriptions/listen', { x: large }),
  ]) {
    const response = await post(app, '/one/mcp', message, session)
    assert.equal(response.status, 413)
    assert.equal((await body(response)).error.code, -32600)
  }
  // What is not kept may be as large as the request.
  const unknown = await post(app, '/one/mcp', rpc('nope', { x: large, _meta: { 'x/y': large } }), session)
  assert.equal((await body(unknown)).error.code, -32601)
})

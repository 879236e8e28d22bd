import assert from 'node:assert/strict'
import { test } from 'node:test'
import { body, events, post, rpc, stateless, wire } from '../support/wire.ts'

const SERVER_INFO = { 'io.modelcontextprotocol/serverInfo': { name: 'test', version: '1.2.3' } }

test('server/discover tells revisions, capabilities, identity and how long to keep them', async () => {
  const { app } = await wire()
  const response = await stateless(app, 'server/discover')
  assert.equal(response.headers.get('mcp-session-id'), null)
  assert.deepEqual((await body(response)).result, {
    resultType: 'complete',
    _meta: SERVER_INFO,
    ttlMs: 3600000,
    cacheScope: 'public',
    supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
    capabilities: { tools: { listChanged: true } },
    instructions: 'Be kind.',
  })
})

test('results are complete and name the server; lists say how long to keep them', async () => {
  const { app } = await wire()
  const list = (await body(stateless(app, 'tools/list'))).result
  assert.deepEqual(list, {
    resultType: 'complete',
    _meta: SERVER_INFO,
    ttlMs: 3600000,
    cacheScope: 'public',
    tools: [],
  })
  const call = (await body(stateless(app, 'tools/call', { name: 'echo' }))).result
  assert.deepEqual(call, {
    resultType: 'complete',
    _meta: SERVER_INFO,
    content: [{ type: 'text', text: 'echo' }],
  })
})

test('removed and unknown methods are 404 with -32601, initialize among them', async () => {
  const { app } = await wire()
  for (const method of ['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'nope']) {
    const response = await stateless(app, method)
    assert.deepEqual([response.status, (await body(response)).error.code], [404, -32601], method)
  }
})

test('what contradicts itself is refused with 400 and the code of the specification', async () => {
  const { app } = await wire()
  const capabilities = { 'io.modelcontextprotocol/clientCapabilities': {} }
  const version = 'io.modelcontextprotocol/protocolVersion'
  const both = { [version]: '2026-07-28', ...capabilities }
  const name = { name: 'echo' }
  const cases: [string, Record<string, unknown>, Record<string, string | undefined>, number][] = [
    ['tools/list', { _meta: undefined }, {}, -32602],
    ['tools/list', { _meta: capabilities }, {}, -32602],
    ['tools/list', { _meta: { [version]: '2026-07-28' } }, {}, -32602],
    ['tools/list', { _meta: { [version]: 5, ...capabilities } }, {}, -32602],
    ['initialize', { _meta: undefined, protocolVersion: '2025-11-25' }, {}, -32602],
    ['tools/list', { _meta: both }, { 'mcp-protocol-version': undefined }, -32020],
    ['tools/list', { _meta: both }, { 'mcp-protocol-version': '2025-11-25' }, -32020],
    ['tools/list', { _meta: { ...both, [version]: 'v9' } }, {}, -32020],
    ['tools/list', { _meta: { ...both, [version]: 'v9' } }, { 'mcp-protocol-version': 'v9' }, -32022],
    ['tools/list', {}, { 'mcp-method': undefined }, -32020],
    ['tools/list', {}, { 'mcp-method': 'tools/call' }, -32020],
    ['tools/list', {}, { 'mcp-method': 'Tools/List' }, -32020],
    ['tools/call', name, { 'mcp-name': undefined }, -32020],
    ['tools/call', name, { 'mcp-name': 'other' }, -32020],
    ['tools/call', name, { 'mcp-name': '=?base64?ZWNobw?=' }, -32020],
    ['tools/call', { name: 'region', arguments: { region: 'eu' } }, {}, -32020],
    ['tools/call', { name: 'region', arguments: { region: 'eu' } }, { 'mcp-param-region': 'us' }, -32020],
    ['tools/call', { name: 'region', arguments: {} }, { 'mcp-param-region': 'us' }, -32020],
  ]
  for (const [method, params, headers, code] of cases) {
    const response = await stateless(app, method, params, headers)
    const { error, id } = await body(response)
    assert.deepEqual([response.status, error.code, id], [400, code, 1], JSON.stringify([params, headers]))
  }
})

test('an unknown revision is answered with what is supported and what was asked', async () => {
  const { app } = await wire()
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2031-01-01',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const response = await stateless(
    app,
    'tools/list',
    { _meta: meta },
    { 'mcp-protocol-version': '2031-01-01' },
  )
  const { data } = (await body(response)).error
  assert.equal(data.requested, '2031-01-01')
  assert.ok(data.supported.includes('2026-07-28') && data.supported.includes('2024-11-05'))
})

test('mirrored headers may be Base64 or plain', async () => {
  const { app } = await wire()
  for (const [name, header] of [
    ['echo', '=?base64?ZWNobw==?='],
    ['pflanze-ü', `=?base64?${Buffer.from('pflanze-ü').toString('base64')}?=`],
    ['ZWNobw==', 'ZWNobw=='],
    ['=?base64?x', '=?base64?x'],
  ]) {
    const response = await stateless(app, 'tools/call', { name }, { 'mcp-name': header })
    assert.equal((await body(response)).result.content[0].text, name)
  }
  const args = { name: 'region', arguments: { region: 'Hello, 世界' } }
  const header = { 'mcp-param-region': `=?base64?${Buffer.from('Hello, 世界').toString('base64')}?=` }
  assert.equal((await stateless(app, 'tools/call', args, header)).status, 200)
})

test('a notification with the modern header is accepted', async () => {
  const { app } = await wire()
  const message = { jsonrpc: '2.0', method: 'notifications/x' }
  const response = await post(app, '/one/mcp', message, { 'mcp-protocol-version': '2026-07-28' })
  assert.equal(response.status, 202)
})

test('a batch with a stateless request, and GET or DELETE with its header, are refused', async () => {
  const { app } = await wire()
  const meta = { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }
  const batch = await post(app, '/one/mcp', [rpc('ping'), rpc('tools/list', meta)])
  assert.deepEqual([batch.status, (await body(batch)).error.code], [400, -32600])
  for (const method of ['GET', 'DELETE']) {
    const headers = { 'mcp-protocol-version': '2026-07-28' }
    assert.equal((await app.request('/one/mcp', { method, headers })).status, 405)
  }
})

test('subscriptions/listen acknowledges first, tags everything, sends what was asked, ends with a result', async () => {
  const { app, registry } = await wire()
  const asked = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
  const response = await stateless(app, 'subscriptions/listen', { notifications: asked }, {}, { id: 'sub-1' })
  registry.listChanged('/one', 'prompts')
  registry.listChanged('/two', 'tools')
  registry.listChanged('/one', 'tools')
  registry.close()
  const received = (await events(response, 4)).map(({ data }) => JSON.parse(data))
  const _meta = { 'io.modelcontextprotocol/subscriptionId': 'sub-1' }
  assert.deepEqual(received, [
    {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta, notifications: { toolsListChanged: true } },
    },
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta } },
    { jsonrpc: '2.0', id: 'sub-1', result: { resultType: 'complete', _meta } },
  ])
  assert.deepEqual(registry.counts(), { sessions: 0, streams: 0 })
})

test('subscriptions/listen without a filter is -32602', async () => {
  const { app } = await wire()
  const response = await stateless(app, 'subscriptions/listen')
  assert.equal((await body(response)).error.code, -32602)
})

test('a client that leaves a subscription leaves nothing behind', async () => {
  const { app, registry } = await wire()
  const response = await stateless(app, 'subscriptions/listen', { notifications: {} })
  assert.equal(registry.counts().streams, 1)
  await response.body!.cancel()
  await new Promise(setImmediate)
  assert.equal(registry.counts().streams, 0)
  registry.close()
})

test('closing the connection cancels the call', async () => {
  const { app, waiting, cancelled } = await wire()
  const client = new AbortController()
  const params = { name: 'wait', arguments: { key: 'a' } }
  const response = stateless(app, 'tools/call', params, {}, { signal: client.signal })
  while (!waiting.size) await new Promise(setImmediate)
  client.abort()
  await response
  assert.deepEqual(cancelled, ['a'])
})

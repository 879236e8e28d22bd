import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { type CollectedSpan, collector } from '../support/collector.ts'
import { listening } from '../support/listening.ts'
import { modernHeaders, served } from '../support/served.ts'
import { type Loose, META } from '../support/wire.ts'

const TIMEOUT = { timeout: 120_000 }
const FAST = { OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_BSP_SCHEDULE_DELAY: '20' }
const TRACEPARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const ANN = { authorization: 'Bearer ann-token-of-the-shop' }

const configured = (router: object = {}) => ({
  name: 'shop',
  routers: [{ server: 'shop', prefix: '/shop', ...router }],
  servers: [{ name: 'shop' }],
  tools: [{ name: 'get', method: 'GET', endpoint: 'http://127.0.0.1:1/get' }],
})
const CLOSED = {
  auth: { type: 'bearer', tokens: [{ token: 'ann-token-of-the-shop', caller: 'ann' }] },
  authorize: { default: 'deny', rules: [] },
}

const otlp = (url: string, more: object = {}) => ({ telemetry: { otlp: { endpoint: url, ...more } } })

const calling = (id: number, meta: object = {}) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'get', arguments: {}, _meta: { ...META, ...meta } },
})

const shown = ({ name, attributes }: CollectedSpan) => [
  name,
  attributes['error.type'],
  attributes['http.response.status_code'],
]

test('requests that are refused before a backend have SERVER spans', TIMEOUT, async (t) => {
  const sink = await collector(t)
  const gateway = await served(
    t,
    [configured({ ...CLOSED, rate: [{ per: 'caller', limit: 4, window: '1h' }] })],
    { settings: otlp(sink.url), env: FAST },
  )
  const next = async (name: string, ask: () => Promise<unknown>) => {
    const before = sink.spans.length
    await ask()
    await sink.until(name, () => sink.spans.length > before)
    const span = sink.spans.at(-1) as CollectedSpan
    assert.equal(sink.spans.length, before + 1, name)
    assert.equal(span.kind, 2)
    assert.equal(span.attributes['plantgw.prefix'], '/shop')
    return span
  }
  const as = (more: object) => ({ ...modernHeaders('tools/call', 'get'), ...ANN, ...more })
  const stranger = await next('401', () =>
    gateway.post('/shop/mcp', calling(1, { traceparent: TRACEPARENT }), {
      ...modernHeaders('tools/call', 'get'),
      traceparent: TRACEPARENT,
    }),
  )
  assert.deepEqual(shown(stranger), ['POST /shop/mcp', '401', 401])
  assert.deepEqual(
    [stranger.attributes['http.request.method'], stranger.attributes['http.route'], stranger.status.code],
    ['POST', '/shop/mcp', 2],
  )
  // Its context does not decide what is recorded.
  assert.notEqual(stranger.traceId, 'a'.repeat(32))
  assert.deepEqual(
    stranger.links.map(({ traceId }) => traceId),
    ['a'.repeat(32)],
  )
  const site = await next('403', () =>
    gateway.post('/shop/mcp', calling(2), as({ origin: 'https://evil.example' })),
  )
  assert.deepEqual(shown(site), ['POST /shop/mcp', '403', 403])
  const ruled = await next('a rule', () => gateway.post('/shop/mcp', calling(3), as({})))
  assert.deepEqual(shown(ruled).slice(0, 2), ['tools/call get', '-32602'])
  const lost = await next('an unknown session', () =>
    gateway.post(
      '/shop/mcp',
      { jsonrpc: '2.0', id: 4, method: 'tools/list' },
      { ...ANN, 'mcp-session-id': 'nobody-knows-it' },
    ),
  )
  assert.deepEqual(shown(lost), ['tools/list', '404', 404])
  assert.equal(lost.attributes['mcp.method.name'], 'tools/list')
  const broken = await next('no JSON', () => gateway.post('/shop/mcp', '{', ANN))
  assert.deepEqual(shown(broken), ['POST /shop/mcp', '400', 400])
  const method = await next('405', () => gateway.send({ path: '/shop/mcp', method: 'PATCH', headers: ANN }))
  assert.deepEqual(shown(method), ['HTTP /shop/mcp', '405', 405])
  const rated = await next('429', () => gateway.post('/shop/mcp', calling(5), as({})))
  assert.deepEqual(shown(rated), ['tools/call get', '-32000', 429])
  assert.equal(rated.attributes['gen_ai.tool.name'], 'get')
})

test('initialize, notifications and what is refused of a batch have spans', TIMEOUT, async (t) => {
  const sink = await collector(t)
  const rate = [{ per: 'session', limit: 1, window: '1h', tools: ['get'] }]
  const gateway = await served(t, [configured({ rate })], { settings: otlp(sink.url), env: FAST })
  const headers = await gateway.open('/shop', '2025-03-26')
  await gateway.post('/shop/mcp', { jsonrpc: '2.0', method: 'notifications/initialized' }, headers)
  const params = { name: 'get', arguments: {} }
  const batch = [1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params }))
  await gateway.post('/shop/mcp', batch, headers)
  const ofServer = () => sink.spans.filter(({ kind }) => kind === 2)
  // To open a session takes one `notifications/initialized` already.
  await sink.until('all', () => ofServer().length >= 5)
  const of = (name: string) => ofServer().filter((span) => span.name === name)
  const [opened] = of('initialize')
  assert.deepEqual(shown(opened as CollectedSpan), ['initialize', undefined, 200])
  assert.equal(opened?.attributes['mcp.protocol.version'], '2025-03-26')
  const [noted] = of('notifications/initialized')
  assert.deepEqual(shown(noted as CollectedSpan), ['notifications/initialized', undefined, 202])
  assert.equal(noted?.attributes['mcp.session.id'], opened?.attributes['mcp.session.id'])
  assert.notEqual(noted?.attributes['mcp.session.id'], headers['mcp-session-id'])
  assert.equal(noted?.attributes['jsonrpc.request.id'], undefined)
  assert.deepEqual(
    of('tools/call get')
      .map(({ attributes }) => [attributes['jsonrpc.request.id'], attributes['error.type']])
      .sort(),
    [
      ['1', 'tool_error'],
      ['2', '-32000'],
    ],
  )
})

/** A collector that answers nothing until it is told to. */
async function holding(t: TestContext) {
  const spans: Loose[] = []
  const open: ServerResponse[] = []
  let isHeld = true
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.url === '/v1/traces') {
      const sent: Loose = JSON.parse(Buffer.concat(chunks).toString())
      for (const { scopeSpans } of sent.resourceSpans)
        for (const each of scopeSpans) spans.push(...each.spans)
      server.emit('spans')
    }
    if (isHeld) open.push(response)
    else response.end('{}')
  })
  const port = await listening(t, server)
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    next: () => new Promise((resolve) => server.once('spans', resolve)),
    release() {
      isHeld = false
      for (const response of open) response.end('{}')
    },
  }
}

test('strangers displace no spans of calls', TIMEOUT, async (t) => {
  const sink = await holding(t)
  const gateway = await served(t, [configured({ auth: CLOSED.auth })], {
    settings: otlp(sink.url),
    env: FAST,
  })
  const refused = () => gateway.send({ path: '/shop/mcp', method: 'GET' })
  const first = sink.next()
  assert.equal((await refused()).status, 401)
  await first
  const before = sink.spans.length
  for (let i = 0; i < 60; i++) await Promise.all(Array.from({ length: 10 }, refused))
  const headers = { ...modernHeaders('tools/call', 'get'), ...ANN }
  await gateway.post('/shop/mcp', calling(1), headers)
  sink.release()
  const count = (wanted: string) => sink.spans.slice(before).filter(({ name }) => name === wanted).length
  while (count('GET /shop/mcp') < 512 || count('tools/call get') < 1) await sink.next()
  assert.equal(count('GET /shop/mcp'), 512)
})

test('who is refused cannot have it recorded where nothing is', TIMEOUT, async (t) => {
  const sink = await collector(t)
  const settings = otlp(sink.url, { sampling: 0 })
  const gateway = await served(t, [configured({ auth: CLOSED.auth })], { settings, env: FAST })
  const sampled = { ...modernHeaders('tools/call', 'get'), traceparent: TRACEPARENT }
  assert.equal((await gateway.post('/shop/mcp', calling(1), sampled)).status, 401)
  // Spans are sent in their order.
  await gateway.post('/shop/mcp', calling(2), { ...sampled, ...ANN })
  await sink.trace('a'.repeat(32), 2)
  assert.deepEqual(sink.spans.map(({ name }) => name).sort(), ['GET /get', 'tools/call get'])
})

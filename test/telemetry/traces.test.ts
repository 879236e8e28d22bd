import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Collector, collector } from '../support/collector.ts'
import { run, temporaryFolder } from '../support/process.ts'
import { modernHeaders, type Served, served } from '../support/served.ts'
import { type Loose, META } from '../support/wire.ts'

const TIMEOUT = { timeout: 120_000 }
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`
const FAST = {
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_METRIC_EXPORT_INTERVAL: '100',
}
const telemetry = ({ url }: Pick<Collector, 'url'>, more: object = {}) => ({
  telemetry: { otlp: { endpoint: url, ...more } },
})

async function origin(t: TestContext, server: Server): Promise<string> {
  server.listen(0)
  await new Promise((resolve) => server.once('listening', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function api(t: TestContext) {
  const seen: { url: string; headers: IncomingHttpHeaders }[] = []
  const server = createServer(({ url = '', headers }, response) => {
    seen.push({ url, headers })
    if (url.startsWith('/elsewhere'))
      response.writeHead(307, { location: `${base.replace('127.0.0.1', 'localhost')}/items/1` }).end()
    else if (url.startsWith('/broken')) response.writeHead(500).end('no')
    else response.end('ok')
  })
  const base = await origin(t, server)
  return { seen, base }
}

const shop = (base: string) => ({
  name: 'shop',
  routers: [{ server: 'shop', prefix: '/shop' }],
  servers: [{ name: 'shop', config: { key: 'secret-of-the-shop', base } }],
  tools: [
    {
      name: 'get_item',
      method: 'GET',
      endpoint: '{{.Config.base}}/items/{{.Args.id}}?key={{.Config.key}}',
      args: [{ name: 'id', position: 'path', type: 'string', required: true }],
    },
    { name: 'broken', method: 'GET', endpoint: `${base}/broken` },
    { name: 'elsewhere', method: 'GET', endpoint: `${base}/elsewhere`, followRedirects: true },
    { name: 'gone', method: 'GET', endpoint: 'http://127.0.0.1:1/gone' },
    { name: 'own', method: 'GET', endpoint: `${base}/own`, headers: { Traceparent: 'mine' } },
  ],
})

let ids = 0

function call(
  gateway: Served,
  prefix: string,
  name: string,
  args: object = {},
  meta: object = {},
  headers: Record<string, string> = {},
) {
  const params = { name, arguments: args, _meta: { ...META, ...meta } }
  const message = { jsonrpc: '2.0', id: ++ids, method: 'tools/call', params }
  return gateway.post(`${prefix}/mcp`, message, { ...modernHeaders('tools/call', name), ...headers })
}

for (const protocol of ['http/json', 'http/protobuf'])
  test(
    `a tool call is a SERVER span between those of client and request, by ${protocol}`,
    TIMEOUT,
    async (t) => {
      const [sink, { base, seen }] = [await collector(t), await api(t)]
      const began = Date.now()
      const gateway = await served(t, [shop(base)], {
        settings: telemetry(sink),
        env: { ...FAST, OTEL_EXPORTER_OTLP_PROTOCOL: protocol },
      })
      const other = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
      const meta = { traceparent: TRACEPARENT, tracestate: 'rojo=1', baggage: 'user=ann' }
      await call(gateway, '/shop', 'get_item', { id: 'of-ann' }, meta, { traceparent: other })
      const spans = await sink.trace(TRACE, 2)
      const server = spans.find(({ kind }) => kind === 2)!
      const client = spans.find(({ kind }) => kind === 3)!
      assert.equal(server.name, 'tools/call get_item')
      assert.equal(server.parentSpanId, PARENT)
      assert.deepEqual(
        server.links.map(({ traceId, spanId }) => [traceId, spanId]),
        [['a'.repeat(32), 'b'.repeat(16)]],
      )
      assert.equal(server.status.code ?? 0, 0)
      const times = [server, client, client, server].map((span, i) =>
        BigInt(i < 2 ? span.startTimeUnixNano : span.endTimeUnixNano),
      )
      const all = [BigInt(began) * 1_000_000n, ...times, BigInt(Date.now() + 1) * 1_000_000n]
      assert.deepEqual(
        all,
        [...all].sort((a, b) => Number(a - b)),
      )
      assert.deepEqual(server.attributes, {
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': 'get_item',
        'gen_ai.operation.name': 'execute_tool',
        'jsonrpc.request.id': String(ids),
        'mcp.protocol.version': '2026-07-28',
        'network.transport': 'tcp',
        'network.protocol.name': 'http',
        'client.address': '127.0.0.1',
        'plantgw.tenant': 'default',
        'plantgw.prefix': '/shop',
      })
      assert.equal(server.resource['service.name'], 'plantgw')
      assert.equal(client.parentSpanId, server.spanId)
      assert.equal(client.name, 'GET /items/{id}')
      assert.deepEqual(client.attributes, {
        'http.request.method': 'GET',
        'url.full': `${base}/items/{id}`,
        'url.template': '/items/{id}',
        'server.address': '127.0.0.1',
        'server.port': Number(new URL(base).port),
        'http.response.status_code': 200,
      })
      const [{ headers }] = seen as [(typeof seen)[0]]
      assert.equal(headers.traceparent, `00-${TRACE}-${client.spanId}-01`)
      assert.equal(headers.tracestate, 'rojo=1')
      assert.equal(headers.baggage, undefined)
      const sent = sink.requests.map(({ bytes }) => bytes.toString()).join()
      for (const secret of ['secret-of-the-shop', 'of-ann', 'user=ann'])
        assert.ok(!sent.includes(secret), secret)
      const line = gateway
        .stderr()
        .split('\n')
        .find((each) => each.includes('"tool call"'))
      const { trace_id, span_id } = JSON.parse(line!) as Loose
      assert.deepEqual([trace_id, span_id], [TRACE, server.spanId])
    },
  )

test('spans of many calls arrive by protobuf, with texts of any length and alphabet', TIMEOUT, async (t) => {
  const [sink, { base }] = [await collector(t), await api(t)]
  const settings = telemetry(sink)
  const env = { ...FAST, OTEL_EXPORTER_OTLP_PROTOCOL: '', OTEL_SERVICE_NAME: 'Schlüssel'.repeat(2_000) }
  const gateway = await served(t, [shop(base)], { settings, env })
  const sent = ['a', 'x'.repeat(127), 'y'.repeat(128), 'ü'.repeat(64), '🔑'.repeat(50), 'ключ'].map(
    (text, i) => ({ id: text, traceId: String(i + 1).repeat(32) }),
  )
  await Promise.all(
    sent.map(({ id, traceId }) => {
      const _meta = { ...META, traceparent: `00-${traceId}-${PARENT}-01` }
      const params = { name: 'broken', arguments: {}, _meta }
      const message = { jsonrpc: '2.0', id, method: 'tools/call', params }
      return gateway.post('/shop/mcp', message, modernHeaders('tools/call', 'broken'))
    }),
  )
  for (const { id, traceId } of sent) {
    const spans = await sink.trace(traceId, 2)
    const server = spans.find(({ kind }) => kind === 2)!
    assert.equal(server.attributes['jsonrpc.request.id'], id)
    assert.equal(server.attributes['error.type'], 'tool_error')
    assert.equal(server.status.code, 2)
    assert.ok(server.resource['service.name'] === env.OTEL_SERVICE_NAME)
    const client = spans.find(({ kind }) => kind === 3)!
    assert.deepEqual(
      [client.parentSpanId, client.attributes['http.response.status_code']],
      [server.spanId, 500],
    )
  }
})

test('a method that is called like the span of a tool is not taken for it', TIMEOUT, async (t) => {
  const [sink, { base }] = [await collector(t), await api(t)]
  const gateway = await served(t, [shop(base)], { settings: telemetry(sink), env: FAST })
  const method = 'tools/call get_item'
  for (const [i, ask] of [
    () => call(gateway, '/shop', 'get_item', { id: '1' }),
    () =>
      gateway.post(
        '/shop/mcp',
        { jsonrpc: '2.0', id: 1, method, params: { _meta: META } },
        modernHeaders(method),
      ),
  ].entries()) {
    await ask()
    const spans = () => sink.spans.filter(({ kind }) => kind === 2)
    await sink.until('the span', () => spans().length > i)
  }
  const spans = sink.spans.filter(({ kind }) => kind === 2)
  assert.deepEqual(
    spans.map(({ name, attributes }) => [
      name,
      attributes['mcp.method.name'],
      attributes['gen_ai.tool.name'],
    ]),
    [
      [method, 'tools/call', 'get_item'],
      [method, method, undefined],
    ],
  )
})

test('failed calls have an error.type, and a failed request has its own', TIMEOUT, async (t) => {
  const [sink, { base }] = [await collector(t), await api(t)]
  const gateway = await served(t, [shop(base)], { settings: telemetry(sink), env: FAST })
  const traced = async (n: number, count: number, ...given: [name: string, args?: object]) => {
    const traceId = String(n).repeat(32)
    const [name, args = {}] = given
    await call(gateway, '/shop', name, args, { traceparent: `00-${traceId}-${PARENT}-01` })
    const spans = await sink.trace(traceId, count)
    return [spans.find(({ kind }) => kind === 2)!, spans.find(({ kind }) => kind === 3)!] as const
  }
  const [failed, request] = await traced(1, 2, 'broken')
  assert.equal(failed.attributes['error.type'], 'tool_error')
  assert.equal(failed.status.code, 2)
  assert.equal(request.attributes['error.type'], '500')
  assert.equal(request.attributes['http.response.status_code'], 500)
  const [unknown] = await traced(2, 1, 'nothing')
  assert.equal(unknown.attributes['error.type'], '-32602')
  assert.equal(unknown.attributes['rpc.response.status_code'], '-32602')
  assert.match(unknown.status.message!, /nothing/)
  const [, refused] = await traced(3, 2, 'gone')
  assert.equal(refused.attributes['error.type'], 'refused')
  assert.equal(refused.attributes['http.response.status_code'], undefined)
})

test('hosts of a redirect get no trace context, and the header of a tool stays', TIMEOUT, async (t) => {
  const [sink, { base, seen }] = [await collector(t), await api(t)]
  const settings = { ...telemetry(sink), outbound: { allowHosts: ['127.0.0.1', 'localhost'] } }
  const gateway = await served(t, [shop(base)], { settings, env: FAST })
  const headers = async (name: string) => {
    seen.length = 0
    const { text } = await call(gateway, '/shop', name, {}, { traceparent: TRACEPARENT })
    assert.ok(seen.length, text)
    return seen.map(({ headers: { traceparent } }) => traceparent)
  }
  assert.deepEqual(await headers('own'), ['mine'])
  const [first, second] = await headers('elsewhere')
  assert.match(String(first), new RegExp(TRACE))
  assert.equal(second, undefined)
})

test('a trace context that is not valid is left out', TIMEOUT, async (t) => {
  const [sink, { base, seen }] = [await collector(t), await api(t)]
  const gateway = await served(t, [shop(base)], { settings: telemetry(sink), env: FAST })
  const wrong = [
    { traceparent: `00-${'0'.repeat(32)}-${PARENT}-01` },
    { traceparent: `00-${TRACE}-${'0'.repeat(16)}-01` },
    { traceparent: `ff-${TRACE}-${PARENT}-01` },
    { traceparent: `${TRACEPARENT}-more` },
    { traceparent: TRACEPARENT.toUpperCase() },
    { traceparent: 'x'.repeat(100_000) },
    { traceparent: [TRACEPARENT] },
    { traceparent: null },
  ]
  for (const meta of wrong) {
    const { status } = await call(gateway, '/shop', 'get_item', { id: '1' }, meta)
    assert.equal(status, 200)
  }
  await sink.until('all spans', () => sink.spans.filter(({ kind }) => kind === 2).length === wrong.length)
  for (const { kind, parentSpanId, traceId } of sink.spans) {
    assert.notEqual(traceId, TRACE)
    if (kind === 2) assert.ok(!parentSpanId)
  }
  // Of later versions the beginning is known, and a state that is too long goes alone.
  seen.length = 0
  const later = { traceparent: `01-${TRACE}-${PARENT}-01-more`, tracestate: `a=${'b'.repeat(600)}` }
  await call(gateway, '/shop', 'get_item', { id: '1' }, later)
  assert.equal((await sink.trace(TRACE, 2)).find(({ kind }) => kind === 2)!.parentSpanId, PARENT)
  assert.equal(seen[0]!.headers.tracestate, undefined)
})

test('what is not recorded is not sent, and the part that is recorded can be set', TIMEOUT, async (t) => {
  const [sink, { base, seen }] = [await collector(t), await api(t)]
  const settings = telemetry(sink, { sampling: 0 })
  const gateway = await served(t, [shop(base)], { settings, env: FAST })
  await call(gateway, '/shop', 'get_item', { id: '1' })
  assert.match(String(seen[0]!.headers.traceparent), /-00$/)
  await call(gateway, '/shop', 'get_item', { id: '1' }, { traceparent: TRACEPARENT })
  await sink.trace(TRACE, 2)
  assert.equal(sink.spans.length, 2)
})

for (const [what, answers] of [
  ['down', undefined],
  ['silent', () => {}],
  ['failing', (response: ServerResponse) => void response.writeHead(500).end()],
] as const)
  test(`a collector that is ${what} fails no call, fills no log, holds up no end`, TIMEOUT, async (t) => {
    const { base } = await api(t)
    const asked: string[] = []
    const sink = createServer((request, response) => {
      asked.push(request.url ?? '')
      answers?.(response)
    })
    const url = answers ? await origin(t, sink) : 'http://127.0.0.1:1'
    const gateway = await served(t, [shop(base)], { settings: telemetry({ url }), env: FAST })
    for (let i = 0; i < 20; i++)
      assert.match((await call(gateway, '/shop', 'get_item', { id: '1' })).text, /"text":"ok"/)
    gateway.child.kill('SIGINT')
    assert.equal(await gateway.ended, 0)
    if (answers) assert.ok(asked.includes('/v1/traces'))
    const told = gateway.stderr().match(/could not be sent to the OTLP endpoint/g) ?? []
    assert.equal(told.length, 1, gateway.stderr())
  })

test('spans that wait are sent at the end, by protobuf unless something else is said', TIMEOUT, async (t) => {
  const [sink, { base }] = [await collector(t), await api(t)]
  const settings = { telemetry: { otlp: { headers: { authorization: 'Bearer of-the-collector' } } } }
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: sink.url,
    OTEL_SERVICE_NAME: 'the-gateway',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
  }
  const gateway = await served(t, [shop(base)], { settings, env })
  await call(gateway, '/shop', 'get_item', { id: '1' }, { traceparent: TRACEPARENT })
  gateway.child.kill('SIGINT')
  assert.equal(await gateway.ended, 0)
  assert.deepEqual([...new Set(sink.requests.map(({ path }) => path))].sort(), ['/v1/metrics', '/v1/traces'])
  for (const { path, headers, bytes } of sink.requests) {
    assert.equal(headers['content-type'], 'application/x-protobuf')
    assert.equal(headers.authorization, 'Bearer of-the-collector')
    for (const word of ['the-gateway', 'deployment.environment']) assert.ok(bytes.includes(word), word)
    const own =
      path === '/v1/traces' ? Buffer.from(TRACE, 'hex') : Buffer.from('mcp.server.operation.duration')
    assert.ok(bytes.includes(own), path)
  }
})

test('OTEL_SDK_DISABLED switches it off', TIMEOUT, async (t) => {
  const [sink, { base, seen }] = [await collector(t), await api(t)]
  const env = { ...FAST, OTEL_SDK_DISABLED: 'true' }
  const gateway = await served(t, [shop(base)], { settings: telemetry(sink), env })
  await call(gateway, '/shop', 'get_item', { id: '1' }, { traceparent: TRACEPARENT })
  assert.equal(seen[0]!.headers.traceparent, undefined)
  gateway.child.kill('SIGINT')
  assert.equal(await gateway.ended, 0)
  assert.deepEqual(sink.requests, [])
})

test('an environment that cannot be served is told at the start', TIMEOUT, async (t) => {
  for (const [name, value] of [
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
  ] as const) {
    const folder = temporaryFolder(t)
    writeFileSync(join(folder, 'shop.yaml'), JSON.stringify(shop('http://127.0.0.1:1')))
    writeFileSync(join(folder, 'settings'), 'telemetry: {otlp: {}}')
    const args = ['serve', join(folder, 'shop.yaml'), '--settings', join(folder, 'settings'), '--port', '0']
    const { code, stderr } = await run(t, args, { env: { [name]: value } })
    assert.equal(code, 2)
    assert.match(stderr, new RegExp(`${name} is "${value}": write`))
  }
})

import assert from 'node:assert/strict'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { type TestContext, test } from 'node:test'
import { collector } from '../support/collector.ts'
import { listening } from '../support/listening.ts'
import { modernHeaders, served } from '../support/served.ts'
import { type Loose, META } from '../support/wire.ts'

const TIMEOUT = { timeout: 120_000 }
const PARENT = '00f067aa0ba902b7'
const FAST = {
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_METRIC_EXPORT_INTERVAL: '100',
}
/** Answers with the `_meta` that came; `fail` has no result, and `wrong` one with `isError`. */
const ANSWER = `function answer({ method, params = {} }, modern) {
  const serverInfo = { name: 's', version: '1' }
  const complete = modern ? { resultType: 'complete' } : {}
  if (method === 'initialize' && !modern)
    return { result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } }
  if (method === 'server/discover' && modern)
    return { result: { ...complete, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } }
  if (method === 'tools/list') {
    const tools = ['echo', 'wrong', 'fail'].map((name) => ({ name, inputSchema: { type: 'object' } }))
    return { result: { ...complete, tools, ttlMs: 0, cacheScope: 'private' } }
  }
  if (method === 'ping') return { result: {} }
  if (method !== 'tools/call') return { error: { code: -32601, message: 'Method not found' } }
  if (params.name === 'fail') return { error: { code: 4711, message: 'It failed' } }
  const content = [{ type: 'text', text: JSON.stringify(params._meta ?? {}) }]
  return { result: { ...complete, content, isError: params.name === 'wrong' } }
}`
const answer = new Function(`${ANSWER}; return answer`)() as (message: Loose, modern: boolean) => Loose

const stdio = {
  type: 'stdio',
  command: process.execPath,
  args: [
    '-e',
    `${ANSWER}
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const message = JSON.parse(line)
      if (message.id !== undefined && message.method)
        console.log(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer(message, false) }))
    })`,
  ],
}

async function overHttp(t: TestContext, modern: boolean) {
  const seen: { headers: IncomingHttpHeaders; method: string }[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.writeHead(405).end()
    const message: Loose = JSON.parse(text)
    seen.push({ headers: request.headers, method: message.method })
    if (message.id === undefined) return response.writeHead(202).end()
    const body = { jsonrpc: '2.0', id: message.id, ...answer(message, modern) }
    const session = message.method === 'initialize' && !modern ? { 'mcp-session-id': 'of-the-server' } : {}
    response.writeHead(200, { 'content-type': 'application/json', ...session }).end(JSON.stringify(body))
  })
  const port = await listening(t, server)
  return { seen, port, server: { type: 'streamable-http', url: `http://127.0.0.1:${port}/mcp` } }
}

let traces = 0

/** Serves servers at prefixes of their names, and calls tools in traces of their own. */
async function gatewayOf(t: TestContext, servers: Record<string, object>) {
  const sink = await collector(t)
  const names = Object.keys(servers)
  const configuration = {
    name: 'proxied',
    routers: [
      ...names.map((name) => ({ server: name, prefix: `/${name}` })),
      { server: names, prefix: '/all' },
    ],
    mcpServers: names.map((name) => ({ name, ...servers[name] })),
  }
  const telemetry = { otlp: { endpoint: sink.url } }
  const gateway = await served(t, [configuration], { settings: { telemetry }, env: FAST })
  const sessions = new Map<string, Record<string, string>>()
  const call = async (prefix: string, name: string, modern: boolean) => {
    const traceId = String(++traces).padStart(32, 'a')
    if (!modern && !sessions.has(prefix)) sessions.set(prefix, await gateway.open(prefix))
    const headers = modern ? modernHeaders('tools/call', name) : sessions.get(prefix)
    const _meta = {
      ...(modern && META),
      traceparent: `00-${traceId}-${PARENT}-01`,
      tracestate: 'rojo=1',
      baggage: 'a=b',
    }
    const message = {
      jsonrpc: '2.0',
      id: traces,
      method: 'tools/call',
      params: { name, arguments: {}, _meta },
    }
    const { text } = await gateway.post(`${prefix}/mcp`, message, headers)
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? text
    const spans = await sink.trace(traceId, 2)
    const server = spans.find(({ kind }) => kind === 2)!
    const client = spans.find(({ kind, attributes }) => kind === 3 && attributes['gen_ai.tool.name'])!
    return { traceId, answer: JSON.parse(data) as Loose, server, client }
  }
  return { sink, gateway, call }
}

for (const [what, make] of [
  ['a child of a session-based revision', async () => ({ server: stdio })],
  ['a session-based server over HTTP', (t: TestContext) => overHttp(t, false)],
  ['a server of 2026-07-28 over HTTP', (t: TestContext) => overHttp(t, true)],
] as const)
  test(`a call reaches ${what} in the trace of a client of either kind`, TIMEOUT, async (t) => {
    const made: {
      server: object
      seen?: { headers: IncomingHttpHeaders; method: string }[]
      port?: number
    } = await make(t)
    const { call } = await gatewayOf(t, { s: made.server })
    for (const modern of [true, false])
      for (const prefix of ['/s', '/all']) {
        const tool = prefix === '/all' ? 's__echo' : 'echo'
        const { traceId, answer, server, client } = await call(prefix, tool, modern)
        const where = `${prefix} ${modern}`
        assert.equal(server.name, `tools/call ${tool}`, where)
        assert.equal(server.parentSpanId, PARENT, where)
        assert.equal(client.name, 'tools/call echo', where)
        assert.equal(client.parentSpanId, server.spanId, where)
        assert.equal(client.attributes['network.transport'], made.port ? 'tcp' : 'pipe')
        assert.equal(client.attributes['plantgw.server'], 's')
        assert.equal(client.attributes['server.port'], made.port)
        assert.equal(client.attributes['error.type'], undefined)
        const session = server.attributes['mcp.session.id']
        if (modern) assert.equal(session, undefined)
        else assert.match(String(session), /^[0-9a-f]{16}$/)
        const { traceparent, tracestate, baggage } = JSON.parse(answer.result.content[0].text)
        const context = `00-${traceId}-${client.spanId}-01`
        assert.deepEqual([traceparent, tracestate, baggage], [context, 'rojo=1', 'a=b'], where)
        const passes = modern === (what === 'a server of 2026-07-28 over HTTP')
        const sent = made.seen?.findLast(({ method }) => method === 'tools/call')
        if (sent && passes && prefix === '/s') assert.equal(sent.headers.traceparent, context, where)
      }
  })

test('what a server answers with an error, and what fails, have their error.type', TIMEOUT, async (t) => {
  const http = await overHttp(t, false)
  const { call } = await gatewayOf(t, {
    child: stdio,
    http: http.server,
    gone: { type: 'sse', url: 'http://127.0.0.1:1/sse' },
  })
  for (const prefix of ['/child', '/http'])
    for (const modern of [true, false]) {
      const wrong = await call(prefix, 'wrong', modern)
      for (const span of [wrong.server, wrong.client]) {
        assert.equal(span.attributes['error.type'], 'tool_error')
        assert.equal(span.status.code, 2)
      }
      // Bytes that pass are not read.
      if (prefix === '/http' && !modern) continue
      const failed = await call(prefix, 'fail', modern)
      for (const { attributes, status } of [failed.server, failed.client]) {
        assert.equal(attributes['error.type'], '_OTHER')
        assert.equal(attributes['rpc.response.status_code'], '_OTHER')
        assert.match(status.message!, /It failed/)
      }
    }
})

test('the four histograms go to collector and Prometheus, in the standard buckets', TIMEOUT, async (t) => {
  const { sink, gateway, call } = await gatewayOf(t, { child: stdio })
  await call('/child', 'echo', true)
  await call('/child', 'wrong', false)
  const session = await gateway.open('/child')
  assert.equal((await gateway.send({ path: '/child/mcp', method: 'DELETE', headers: session })).status, 204)
  const names = ['server.operation', 'server.session', 'client.operation', 'client.session'].map(
    (name) => `mcp.${name}.duration`,
  )
  await sink.until('the histograms', () => names.every((name) => sink.histograms.has(name)))
  for (const name of names) {
    const { unit, points } = sink.histograms.get(name)!
    assert.equal(unit, 's')
    for (const { bounds, counts, count, attributes } of points) {
      assert.deepEqual(bounds, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300])
      assert.equal(counts.length, bounds.length + 1)
      assert.equal(
        counts.reduce((sum, each) => sum + each, 0),
        count,
      )
      assert.deepEqual([attributes.tenant, attributes.prefix], ['default', '/child'])
    }
  }
  const calls = sink.histograms
    .get('mcp.client.operation.duration')!
    .points.map(({ attributes }) => attributes)
  const wrong = calls.find((each) => each['error.type'] === 'tool_error')
  assert.deepEqual(wrong, {
    tenant: 'default',
    prefix: '/child',
    server: 'child',
    'network.transport': 'pipe',
    'mcp.method.name': 'tools/call',
    outcome: 'tool_error',
    'error.type': 'tool_error',
  })
  const { text } = await gateway.send({ path: '/metrics', method: 'GET' })
  for (const line of [
    'mcp_client_operation_duration_seconds_count{tenant="default",prefix="/child",server="child",network_transport="pipe",mcp_method_name="tools/call",outcome="tool_error",error_type="tool_error"} 1',
    'mcp_server_session_duration_seconds_count{tenant="default",prefix="/child",mcp_protocol_version="2025-11-25"} 1',
    'mcp_client_session_duration_seconds_count{tenant="default",prefix="/child",server="child",network_transport="pipe",mcp_protocol_version="2025-11-25"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), `${line}\n${text}`)
})

test('without telemetry the context of a client goes on to MCP servers as it came', TIMEOUT, async (t) => {
  const configuration = {
    name: 'proxied',
    routers: [{ server: 's', prefix: '/s' }],
    mcpServers: [{ name: 's', ...stdio }],
  }
  const gateway = await served(t, [configuration])
  const _meta = { traceparent: `00-${'c'.repeat(32)}-${PARENT}-01`, tracestate: 'rojo=1' }
  const params = { name: 'echo', arguments: {}, _meta }
  const headers = await gateway.open('/s')
  const { text } = await gateway.post(
    '/s/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    headers,
  )
  const data: Loose = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text)
  assert.deepEqual(JSON.parse(data.result.content[0].text), _meta)
})

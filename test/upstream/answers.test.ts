import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { listening } from '../support/listening.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { answering, said } from './answering.ts'
import { CLIENTS, META, modernSend, open, proxied, send } from './harness.ts'
import { tiny } from './tiny.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const EVENTS = { 'content-type': 'text/event-stream' }
const NOTHING = 'The server s1 ended the call without an answer'

const NO_JSON = 'The server sent a message that is not accepted: it is not valid JSON'

/** What a server does instead of answering a call, by the tool's name, and what its client hears. */
const INSTEAD: Record<string, [respond: (response: ServerResponse, id: unknown) => void, error: string]> = {
  accepted: [(response) => response.writeHead(202).end(), `${NOTHING} (202)`],
  nothing: [(response) => response.writeHead(204).end(), `${NOTHING} (204)`],
  empty: [(response) => response.writeHead(200, { ...JSON_TYPE, 'content-length': 0 }).end(), NOTHING],
  chunked: [(response) => response.writeHead(200, JSON_TYPE).end(), NOTHING],
  page: [
    (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
    'The server s1 answered with text/html instead of JSON: is its url that of an MCP endpoint?',
  ],
  missing: [
    (response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>'),
    'The server s1 refused the call (404)',
  ],
  failing: [(response) => response.writeHead(503).end('busy'), 'The server s1 failed (503): busy'],
  'failing in json': [
    (response) => response.writeHead(502, JSON_TYPE).end('{"message":"no backend"}'),
    'The server s1 failed (502): {"message":"no backend"}',
  ],
  closed: [
    (response) => response.writeHead(401, JSON_TYPE).end('{"error":"invalid_token"}'),
    "The server s1 refused the gateway's credentials (401)",
  ],
  'host check': [
    (response) => response.writeHead(403).end('Access is only allowed at\nlocalhost:27402'),
    'The server s1 refused the call (403): Access is only allowed at localhost:27402',
  ],
  'host check in json': [
    (response) => response.writeHead(403, JSON_TYPE).end('{"error":"Invalid host"}'),
    'The server s1 refused the call (403): {"error":"Invalid host"}',
  ],
  challenged: [
    (response) => response.writeHead(403, { 'www-authenticate': 'Bearer' }).end('no'),
    "The server s1 refused the gateway's credentials (403)",
  ],
  'json of another kind': [
    (response) => response.writeHead(400, JSON_TYPE).end('{"error":"bad"}'),
    'The server s1 refused the call (400): {"error":"bad"}',
  ],
  events: [(response) => response.writeHead(200, EVENTS).end(': nothing yet\n'), NOTHING],
  'other event': [(response) => response.writeHead(200, EVENTS).end(`data: ${said('x', 'a')}\n\n`), NOTHING],
  'another id': [(response) => response.writeHead(200, JSON_TYPE).end(said('x', 'a')), NOTHING],
  broken: [(response, id) => response.writeHead(200, JSON_TYPE).end(said(id, 'a').slice(0, -2)), NO_JSON],
  'not a number': [
    (response, id) => response.writeHead(200, EVENTS).end(`data: ${said(id, 'a').replace('"a"', 'NaN')}\n\n`),
    NO_JSON,
  ],
  'no json': [(response) => response.writeHead(200, JSON_TYPE).end('hello'), NOTHING],
}

for (const era of ['session', 'modern'] as const)
  for (const list of [false, true])
    for (const [kind, connect] of Object.entries(CLIENTS))
      test(`what is no answer is one error: ${era}${list ? ' in a list' : ''}, client ${kind}`, async (t) => {
        const { server } = await answering(t, era, (response, { id, params }) =>
          INSTEAD[params.name]![0](response, id),
        )
        const { url, logged, calls } = await proxied(t, [server], { list })
        const client = await connect(t, url)
        for (const [own, [, error]] of Object.entries(INSTEAD)) {
          const name = list ? `s1__${own}` : own
          calls.length = 0
          const answer = await client.request('tools/call', { name, arguments: {} })
          assert.deepEqual(answer.error, { code: -32603, message: error }, name)
          assert.deepEqual(
            calls.filter(({ method }) => method === 'tools/call').map(({ outcome }) => outcome),
            ['failed'],
            name,
          )
          const line = logged.find((each) => each.tool === name)
          assert.deepEqual([line.level, line.outcome, line.failure], ['warn', 'failed', error])
        }
        // The status of HTTP says no more than the error.
        if (kind === 'sse') return
        const params = { name: list ? 's1__accepted' : 'accepted', arguments: {} }
        const response =
          kind === 'session'
            ? await send(url, { id: 's', method: 'tools/call', params }, client.headers)
            : await modernSend(url, 'tools/call', params)
        assert.equal(response.status, 200)
      })

test('a call that is accepted with 202 is answered on the event stream', async (t) => {
  let events: ServerResponse | undefined
  const upstream = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method === 'GET') {
      events = response.writeHead(200, EVENTS)
      return response.flushHeaders()
    }
    const { id, method, params }: Loose = JSON.parse(text || '{}')
    response.writeHead(method === 'initialize' ? 200 : 202, JSON_TYPE)
    if (method === 'initialize') {
      const result = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      }
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    }
    response.end()
    if (method === 'tools/call') events?.write(`data: ${said(id, params.name)}\n\n`)
  })
  const url = `http://127.0.0.1:${await listening(t, upstream)}/mcp`
  const gateway = await proxied(t, [{ type: 'streamable-http', url }])
  const client = await CLIENTS.session!(t, gateway.url)
  assert.equal(await client.call('a'), 'a')
  assert.equal(await client.call('b'), 'b')
})

test('an error without an id is one of the call', async (t) => {
  for (const era of ['session', 'modern'] as const)
    for (const list of [false, true]) {
      const { server } = await answering(t, era, (response) => {
        const error = { code: -32600, message: 'not so' }
        response.writeHead(400, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id: null, error }))
      })
      const { url } = await proxied(t, [server], { list })
      for (const connect of Object.values(CLIENTS)) {
        const client = await connect(t, url)
        assert.equal(await client.call(list ? 's1__x' : 'x'), 'error: not so')
      }
    }
})

test('a server that refuses the credentials of the caller: status and challenge reach who must log in', async (t) => {
  const challenge = 'Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"'
  const server = createServer((_, response) => {
    const headers = { 'www-authenticate': challenge, 'content-type': 'application/json' }
    response.writeHead(401, headers).end('{"error":"invalid_token"}')
  })
  const port = await listening(t, server)
  const upstream = `http://127.0.0.1:${port}/mcp`
  const handshake = {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  }
  const own = { Authorization: '{{.Request.Headers.Authorization}}' }
  for (const [type, headers, status, shown] of [
    ['streamable-http', own, 401, challenge],
    ['streamable-http', { Authorization: 'Bearer of-the-gateway' }, 200, null],
    ['sse', own, 401, challenge],
    ['sse', { Authorization: 'Bearer of-the-gateway' }, 200, null],
  ] as const) {
    const { url } = await proxied(t, [{ type, url: upstream, headers }])
    const answers = [await send(url, handshake, { authorization: 'Bearer mine' })]
    const alone = await modernSend(url, 'tools/list', { _meta: META }, { authorization: 'Bearer mine' })
    answers.push(alone)
    for (const answer of answers) {
      assert.equal(answer.status, status)
      assert.equal(answer.headers.get('www-authenticate'), shown)
      const { error } = (await answer.json()) as Loose
      assert.match(error.message, /refused the (?:gateway's )?credentials/)
    }
  }
})

test('an SSE server that refuses a message says why, and keeps its session', async (t) => {
  const refusals: Record<string, [status: number, text: string, shown: string]> = {
    'tools/call': [429, 'slow down', 'The server s1 refused the call (429): slow down'],
    'prompts/get': [500, 'no disk', 'The server s1 failed (500): no disk'],
    'notifications/initialized': [400, 'unknown notification', ''],
  }
  let streams = 0
  let events: ServerResponse | undefined
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method === 'GET') {
      streams++
      events = response.writeHead(200, EVENTS)
      return events.write('event: endpoint\ndata: /message\n\n')
    }
    const { id, method }: Loose = JSON.parse(text)
    const [status, words] = refusals[method] ?? [202, '']
    response.writeHead(status).end(words)
    if (status > 202 || id === undefined) return
    const result = {
      protocolVersion: '2024-11-05',
      capabilities: {},
      serverInfo: { name: 's', version: '1' },
    }
    return events?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`)
  })
  const upstream = `http://127.0.0.1:${await listening(t, server)}/sse`
  const { url } = await proxied(t, [{ type: 'sse', url: upstream }])
  const client = await open(url)
  for (const method of ['tools/call', 'prompts/get'])
    assert.equal((await client.request(method, { name: 'x' })).error.message, refusals[method]![2])
  assert.equal((await client.request('ping')).error, undefined)
  assert.equal(streams, 1)
})

test('a session is unknown to who has other values for its templates', async (t) => {
  const env = { KEY: '{{index .Request.Headers "X-Key"}}' }
  const { url } = await proxied(t, [{ type: 'stdio', ...faultyStdio('session'), env }])
  const mine = await open(url, { 'x-key': 'a' })
  assert.match(await mine.call('environment'), /"KEY":"a"/)
  for (const key of ['b', undefined]) {
    const headers = { ...mine.headers, 'content-type': 'application/json' }
    delete (headers as Loose)['x-key']
    if (key) Object.assign(headers, { 'x-key': key })
    for (const method of ['GET', 'DELETE', 'POST']) {
      const response = await fetch(url, {
        method,
        headers: { ...headers, accept: 'application/json, text/event-stream' },
        ...(method === 'POST' && { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }),
      })
      assert.equal(response.status, 404, method)
    }
  }
  assert.match(await mine.call('environment'), /"KEY":"a"/)
})

test('a server of a list that was down comes back by itself', { timeout: 60_000 }, async (t) => {
  const [one, two] = [await tiny(t, 'one'), await tiny(t, 'two')]
  two.down = true
  const servers = [one, two].map(({ url }) => ({ type: 'streamable-http', url }))
  const { url } = await proxied(t, servers, { list: true })
  const client = await open(url)
  const names = async () => {
    const { result } = await client.request('tools/list')
    return result.tools.map(({ name }: { name: string }) => name)
  }
  assert.deepEqual(await names(), ['s1__who'])
  two.down = false
  await until(async () => (await names()).length === 2)
  assert.deepEqual(await names(), ['s1__who', 's2__who'])
  assert.equal(await client.call('s2__who'), 'two')
})

test('a server whose port is taken says so, with what starts it once', async (t) => {
  const program = "console.error('Error: listen EADDRINUSE: address already in use :::3333'); process.exit(1)"
  const { url } = await proxied(t, [{ type: 'stdio', command: process.execPath, args: ['-e', program] }])
  const answer = await send(url, {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  })
  assert.match(await answer.text(), /a port that it listens on is in use\. .*`isolation: shared`/)
})

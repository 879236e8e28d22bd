import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { HttpResponse } from '../../src/access/http-response.ts'
import { memory } from '../../src/access/memory.ts'
import { readBody } from '../../src/mcp/http.ts'
import { directly } from '../../src/server/direct.ts'
import { INITIALIZE, post, rpc, serveHttp, serveSmall, until, WHOLE } from '../limits/harness.ts'
import { ACCEPT } from '../support/wire.ts'

const META = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
}
const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'item' }
const CALL = rpc('tools/call', { name: 'item', arguments: { id: 7 }, ...META })

/** What a client sends; headers go before those that every client sends. */
const REQUESTS: Record<string, { body: unknown; headers?: Record<string, string> }> = {
  'a call': { body: CALL, headers: MODERN },
  'a call whose answer is an event': { body: CALL, headers: { ...MODERN, accept: 'text/event-stream' } },
  'a call without arguments': { body: rpc('tools/call', { name: 'item', ...META }), headers: MODERN },
  'a header that does not match': { body: CALL, headers: { ...MODERN, 'mcp-name': 'other' } },
  'an unknown method': {
    body: rpc('nothing/here', META),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'nothing/here' },
  },
  'a notification': { body: { jsonrpc: '2.0', method: 'notifications/x', params: META }, headers: MODERN },
  'no session': { body: rpc('tools/list') },
  'an unknown session': { body: rpc('tools/list'), headers: { 'mcp-session-id': 'nobody' } },
  initialize: { body: INITIALIZE },
  'no JSON': { body: '{' },
  'another type': { body: 'x', headers: { 'content-type': 'text/plain' } },
  'an answer that is not taken': { body: CALL, headers: { accept: 'image/png' } },
  'a body that is too large': { body: 'x'.repeat(3_000) },
  'a host of somebody else': { body: CALL, headers: { host: 'evil.example' } },
  'a page of somebody else': { body: CALL, headers: { ...MODERN, origin: 'https://evil.example' } },
  'bytes that are not UTF-8': { body: Buffer.from([0x22, 0xff, 0x22]) },
}

function ask(port: number, path: string, { body, headers }: (typeof REQUESTS)[string]) {
  return new Promise<object>((resolve, reject) => {
    const every = { 'content-type': 'application/json', accept: ACCEPT, 'x-request-id': 'same' }
    const options = { port, host: '127.0.0.1', path, method: 'POST', headers: { ...every, ...headers } }
    const sent = request(options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const { date: _, 'mcp-session-id': session, ...rest } = response.headers
        resolve({ status: response.statusCode, headers: rest, hasSession: session !== undefined, text })
      })
    })
    sent.on('error', reject)
    sent.end(Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body))
  })
}

/** What only the framework reads: a query that a reader of URLs might change. */
const FRAMED = '~'

async function shop(t: TestContext) {
  const api = await serveHttp(t, (request, response) =>
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ name: 'Farn – ä'.repeat(request.url === '/items/1000' ? 30_000 : 1) })),
  )
  const args = [{ name: 'id', position: 'path', required: true, type: 'number', description: 'Which' }]
  const configuration = {
    routers: [{ server: 'shop', prefix: '/shop' }],
    servers: [{ name: 'shop' }],
    tools: [{ name: 'item', method: 'GET', endpoint: `${api}/items/{{.Args.id}}`, args, limits: WHOLE }],
  }
  return await serveSmall(t, [configuration], { limits: { maxRequestSize: 2_000 } })
}

/** The events of a session of HTTP with SSE, read one after the other. */
async function sse(origin: string, query = '') {
  const response = await fetch(`${origin}/shop/sse${query}`, { headers: { 'x-request-id': 'same' } })
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async () => {
    while (!text.includes('\n\n')) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`the stream ended after ${text}`)
      text += value
    }
    const [event = '', ...rest] = text.split('\n\n')
    text = rest.join('\n\n')
    return event
  }
  const endpoint = await next()
  return { response, endpoint, messages: origin + endpoint.split('data: ')[1], next, reader }
}

test('a request to a route is answered alike with and without the framework', async (t) => {
  const { port } = await shop(t)
  for (const [name, given] of Object.entries(REQUESTS))
    for (const query of [
      '',
      '?',
      '?discovery=list',
      '?discovery=odd%20one',
      '?a=1&discovery=search&discovery=x',
    ]) {
      const [direct, framed] = await Promise.all([
        ask(port, `/shop/mcp${query}`, given),
        ask(port, `/shop/mcp${query || '?'}${query ? '&' : ''}${FRAMED}`, given),
      ])
      assert.deepEqual(direct, framed, `${name} ${query}`)
    }
  assert.match(JSON.stringify(await ask(port, '/shop/mcp', REQUESTS['a call']!)), /Farn – ä/)
})

test('an event stream is alike with and without the framework', async (t) => {
  const { origin } = await shop(t)
  const seen = async (query: string) => {
    const { response, endpoint, messages, next, reader } = await sse(origin, query)
    const answers: object[] = []
    for (const message of [INITIALIZE, rpc('tools/call', { name: 'item', arguments: { id: 7 } }, 2)]) {
      const { status, headers } = await post(`${messages}${query.replace('?', '&')}`, message, {
        'x-request-id': 'same',
      })
      const { date: _, ...rest } = Object.fromEntries(headers)
      answers.push({ status, ...rest, event: await next() })
    }
    await reader.cancel()
    const { date: _, ...headers } = Object.fromEntries(response.headers)
    return { headers, endpoint: endpoint.replace(/=.*/, ''), answers }
  }
  const direct = await seen('')
  assert.deepEqual(direct, await seen(`?${FRAMED}`))
  assert.equal(direct.headers['content-type'], 'text/event-stream')
  assert.match(JSON.stringify(direct.answers), /Farn – ä/)
})

test('a client that reads its event stream late gets all of it, and its session ends with the stream', async (t) => {
  const { origin } = await shop(t)
  const { messages, next, reader } = await sse(origin)
  await post(messages, INITIALIZE)
  await next()
  const ids = Array.from({ length: 20 }, (_, i) => i + 2)
  for (const id of ids) {
    const call = rpc('tools/call', { name: 'item', arguments: { id: 1_000 } }, id)
    assert.equal((await post(messages, call)).status, 202)
  }
  const got: number[] = []
  for (const _ of ids) got.push(JSON.parse((await next()).split('data: ')[1]!).id)
  assert.deepEqual(
    got.toSorted((a, b) => a - b),
    ids,
  )
  await reader.cancel()
  await until(async () => (await post(messages, rpc('ping'))).status === 404)
})

test('lone requests that need no upstream are answered without the framework', async (t) => {
  const failed = () => HttpResponse.json({ error: 'failed' }, 500)
  const direct = directly(async (arriving) => {
    const hold = memory.hold('a')
    const body = await readBody(arriving, 100, hold)
    hold.close()
    return HttpResponse.json(body, 200)
  }, failed)
  const passed: Response[] = []
  const server = createServer((incoming, outgoing) => {
    const pass = (response: Response) => {
      passed.push(response)
      outgoing.destroy()
    }
    assert.ok(direct(incoming, outgoing, pass))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  for (const body of ['one', 'two', 'three']) {
    const answer = (await ask(port, '/a', { body })) as { text: string }
    assert.deepEqual(JSON.parse(answer.text), { text: body })
  }
  assert.deepEqual(passed, [])
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import type { Loose } from '../support/wire.ts'
import { META, modern, modernSend, open, proxied, send, until } from './harness.ts'
import { tiny } from './tiny.ts'

/** What a server does instead of answering a call, by the tool's name. */
const INSTEAD: Record<string, (response: ServerResponse) => void> = {
  accepted: (response) => response.writeHead(202).end(),
  nothing: (response) => response.writeHead(204).end(),
  empty: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
  chunked: (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
    response.flushHeaders()
    response.end()
  },
  page: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
  gzip: (response) =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(gzipSync('{"jsonrpc":"2.0","id":1,"result":{}}')),
  missing: (response) => response.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>'),
  events: (response) => {
    const headers = { 'content-type': 'text/event-stream', 'content-length': '14' }
    response.writeHead(200, headers).end(': nothing yet\n')
  },
}

/** A server without session ids that answers nothing but handshakes as it should. */
async function silent(t: TestContext, era: 'session' | 'modern'): Promise<string> {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { id, method, params }: Loose = text ? JSON.parse(text) : {}
    const result =
      method === 'initialize' && era === 'session'
        ? {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 's', version: '1' },
          }
        : method === 'server/discover' && era === 'modern'
          ? { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
          : undefined
    if (result) {
      const type = { 'content-type': 'application/json' }
      response.writeHead(200, type).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
    } else (INSTEAD[params?.name] ?? INSTEAD.accepted!)(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

for (const era of ['session', 'modern'] as const)
  test(`what is no answer becomes an error of the call: ${era}`, async (t) => {
    const { url } = await proxied(t, [{ type: 'streamable-http', url: await silent(t, era) }])
    const client = era === 'session' ? await open(url) : modern(url)
    for (const name of Object.keys(INSTEAD)) {
      const said = await client.call(name)
      assert.match(
        said,
        /^error: The server s1 (ended the call|answered with|refused the call|sent an unrequested)/,
        name,
      )
    }
    assert.match(
      await client.call('page'),
      /text\/html instead of JSON: is its url that of an MCP endpoint\?/,
    )
  })

test('a server that refuses the credentials of the caller: status and challenge reach who must log in', async (t) => {
  const challenge = 'Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"'
  const server = createServer((_, response) => {
    const headers = { 'www-authenticate': challenge, 'content-type': 'application/json' }
    response.writeHead(401, headers).end('{"error":"invalid_token"}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const upstream = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const handshake = {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } },
  }
  const own = { Authorization: '{{.Request.Headers.Authorization}}' }
  for (const [headers, status, shown] of [
    [own, 401, challenge],
    [{ Authorization: 'Bearer of-the-gateway' }, 502, null],
  ] as const) {
    const { url } = await proxied(t, [{ type: 'streamable-http', url: upstream, headers }])
    const answers = [await send(url, handshake, { authorization: 'Bearer mine' })]
    // Without a session the gateway's own refusal comes with 200, as answers of 2026-07-28 do.
    const alone = await modernSend(url, 'tools/list', { _meta: META }, { authorization: 'Bearer mine' })
    if (status === 401) answers.push(alone)
    for (const answer of answers) {
      assert.equal(answer.status, status)
      assert.equal(answer.headers.get('www-authenticate'), shown)
      const { error } = (await answer.json()) as Loose
      assert.match(error.message, /refused the (?:gateway's )?credentials/)
    }
  }
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

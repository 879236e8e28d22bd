import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import { answering } from './answering.ts'
import { forgetful } from './forgetful.ts'
import { modern, open, proxied } from './harness.ts'

test('a server that has forgotten the session is initialised anew once, and only what may be is sent again', async (t) => {
  const server = await forgetful(t)
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url }])
  const client = await open(url)
  await client.request('logging/setLevel', { level: 'warning' })
  await client.request('resources/subscribe', { uri: 'a:b' })
  server.seen.length = 0
  server.forget()
  assert.equal(await client.call('safe'), 'done in s2')
  const received = server.seen.filter((one) => !one.startsWith('GET'))
  assert.deepEqual(received, [
    'initialize s2',
    'notifications/initialized s2',
    'logging/setLevel s2',
    'resources/subscribe s2',
    'tools/call s2',
  ])
  server.forget()
  // It was not executed.
  assert.equal(await client.call('unsafe'), 'done in s3')
  server.forget()
  assert.equal((await client.request('tools/list')).result.tools.length, 2)
  server.seen.length = 0
  assert.equal((await fetch(url, { method: 'DELETE', headers: client.headers })).status, 204)
  while (!server.seen.includes('DELETE s4')) await new Promise((resolve) => setImmediate(resolve))
})

for (const era of ['session', 'modern'])
  for (const list of [false, true])
    for (const isolation of ['session', 'shared', 'credential'])
      test(`a forgotten session costs a client of ${era} no read: ${isolation}${list ? ', in a list' : ''}`, async (t) => {
        const server = await forgetful(t)
        const upstream = { type: 'streamable-http', url: server.url, isolation }
        const { url } = await proxied(t, [upstream], { list })
        const client = era === 'session' ? await open(url) : modern(url)
        const count = async () => (await client.request('tools/list')).result?.tools.length
        assert.equal(await count(), 2)
        for (let i = 0; i < 3; i++) {
          server.forget()
          assert.equal(await count(), 2)
        }
        server.forget()
        server.seen.length = 0
        const name = list ? 's1__unsafe' : 'unsafe'
        assert.match(await client.call(name), /^done in s\d+$/)
        assert.equal(server.seen.filter((line) => line.startsWith('tools/call')).length, 1)
        assert.match(await client.call(name), /^done in s\d+$/)
      })

test('calls that are under way when a session is forgotten are all repeated', async (t) => {
  const calls: ServerResponse[] = []
  const end = (response: ServerResponse | undefined) => response?.writeHead(404).end()
  const server = await forgetful(t, (response, id) => {
    if (id === undefined || calls.length === 2) return end(response)
    calls.push(response)
    if (calls.length < 2) return
    const [first, second] = calls
    first?.on('finish', () => setImmediate(() => end(second)))
    end(first)
  })
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url }])
  const client = await open(url)
  server.forget()
  const answers = await Promise.all([client.call('unsafe'), client.call('unsafe')])
  assert.deepEqual(answers, ['done in s2', 'done in s2'])
})

const JSON_TYPE = { 'content-type': 'application/json' }
const error = (id: unknown, code: number) =>
  JSON.stringify({ jsonrpc: '2.0', id, error: { code, message: 'Session unknown' } })
/** How servers refuse a session that they do not know. */
const REFUSALS: Record<string, (response: ServerResponse, id: unknown) => void> = {
  'no session': (response) => response.writeHead(400, JSON_TYPE).end(error(null, -32000)),
  'text of 400': (response) => response.writeHead(400).end('Invalid or missing session ID'),
  gone: (response) => response.writeHead(410).end('Gone'),
  unavailable: (response) => response.writeHead(503, JSON_TYPE).end(error(null, -32001)),
  'an error with 200': (response, id) => response.writeHead(200, JSON_TYPE).end(error(id ?? null, -32602)),
}

for (const [what, refuse] of Object.entries(REFUSALS))
  for (const list of [false, true])
    test(`a session that a server refuses is made again: ${what}${list ? ', in a list' : ''}`, async (t) => {
      const server = await forgetful(t, refuse)
      const { url, logged } = await proxied(t, [{ type: 'streamable-http', url: server.url }], { list })
      const name = list ? 's1__safe' : 'safe'
      for (const client of [await open(url), modern(url)]) {
        assert.match(await client.call(name), /^done/)
        await client.request('tools/list')
        for (let i = 0; i < 2; i++) {
          server.forget()
          assert.match(await client.call(name), /^done in s\d+$/)
          assert.match(await client.call(name), /^done in s\d+$/)
        }
      }
      assert.ok(
        logged.some(({ msg }) => msg === 'an MCP server has forgotten a session; opening another one'),
      )
    })

for (const kind of ['session', '2026-07-28'])
  test(`a call that is refused as of an unknown session is tried a few times, and then given pauses: ${kind}`, async (t) => {
    const server = await forgetful(t)
    const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url }])
    const client = kind === 'session' ? await open(url) : modern(url)
    server.refuseCalls(true)
    let answer = ''
    for (let i = 0; i < 20 && !answer.includes('times in a row'); i++) {
      server.seen.length = 0
      answer = await client.call('unsafe')
      const tried = server.seen.filter((line) => line === 'refused').length
      assert.ok(tried <= 3, String(tried))
    }
    assert.match(answer, /The server s1 has forgotten the session\. It failed \d+ times in a row/)
    server.refuseCalls(false)
    await until(async () => /^done/.test(await client.call('unsafe')))
  })

test('an error of a request does not end its session', async (t) => {
  const { server } = await answering(t, 'session', (response, { id }) =>
    response.writeHead(400, JSON_TYPE).end(error(id, -32602)),
  )
  for (const list of [false, true]) {
    const { url, logged } = await proxied(t, [server], { list })
    const client = await open(url)
    for (let i = 0; i < 2; i++)
      assert.equal(await client.call(list ? 's1__a' : 'a'), 'error: Session unknown')
    assert.ok(!logged.some(({ msg }) => /forgotten/.test(msg)))
  }
})

test('a list of several servers says when it has less, and never that nothing is there', async (t) => {
  const servers = [await forgetful(t), await forgetful(t)] as const
  const { url } = await proxied(
    t,
    servers.map((server) => ({ type: 'streamable-http', url: server.url })),
    { list: true },
  )
  const client = await open(url)
  const listed = async () => {
    const all = await client.all('tools/list')
    const { result, error } = all.at(-1)
    const told = all.filter(({ method }) => method === 'notifications/tools/list_changed').length
    return [error ? error.message : result.tools.length, told] as const
  }
  assert.deepEqual(await listed(), [4, 0])
  servers[0].fail(true)
  assert.deepEqual(await listed(), [2, 1])
  assert.deepEqual(await listed(), [2, 0])
  servers[1].fail(true)
  const [message] = await listed()
  assert.match(String(message), /500/)
  for (const server of servers) server.fail(false)
  assert.deepEqual(await listed(), [4, 1])
  assert.deepEqual(await listed(), [4, 0])
})

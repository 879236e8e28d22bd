import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import {
  INITIALIZE,
  LONG,
  MIB,
  open,
  openSse,
  ping,
  post,
  proxied,
  rpc,
  script,
  serveHttp,
  serveSmall,
  WHOLE,
} from './harness.ts'

// Messages that wait: for a client's stream, for a server, for an answer.

const none = proxied('/none', { type: 'stdio', command: 'true' })

test('100 messages of 9 MB that wait for a GET stream', LONG, async (t) => {
  const flood = `async ({ id }, send) => {
    for (let i = 0; i < 100; i++)
      await send({ method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(9_000_000) } })
    send({ id, result: { content: [] } })
  }`
  const gateway = await serveSmall(t, [proxied('/s', script(t, flood))])
  const url = `${gateway.origin}/s/mcp`
  const session = await open(url)
  // Who takes JSON only has no stream for what comes before the answer.
  const response = await post(url, rpc('tools/call', { name: 'x' }), {
    ...session,
    accept: 'application/json',
  })
  assert.equal(response.status, 200)
  assert.deepEqual(JSON.parse(await response.text()).result, { content: [] })
  const { peak } = gateway.curve()
  assert.equal(gateway.child.exitCode, null, gateway.stderr().slice(-2000))
  assert.ok(peak < 450, `peak of ${peak} MiB`)
  assert.equal(gateway.stderr().match(/maxQueued/g)?.length, 1)
})

for (const [name, endpoint] of [
  ['names no address for messages', false],
  ['takes no messages', true],
] as const)
  test(`120 messages of 3.9 MB for an SSE server that ${name}`, LONG, async (t) => {
    const url = await serveHttp(t, (request, response) => {
      if (request.method !== 'GET') return request.pause()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
      if (endpoint) response.write('event: endpoint\ndata: /message\n\n')
      return response
    })
    const gateway = await serveSmall(t, [proxied('/s', { type: 'sse', url: `${url}/sse` }), none])
    const { messages } = await openSse(t, gateway.origin, '/s')
    assert.equal((await post(messages, INITIALIZE)).status, 202)
    const big = 'x'.repeat(3_900_000)
    for (let i = 0; i < 120; i++) {
      const response = await post(messages, rpc('tools/call', { name: 'x', arguments: { big } }, i))
      await response.text()
      assert.ok([202, 503].includes(response.status))
      if (response.status === 503) assert.equal(response.headers.get('retry-after'), '5')
    }
    const { peak } = gateway.curve()
    assert.equal(gateway.child.exitCode, null, gateway.stderr().slice(-2000))
    assert.ok(peak < 450, `peak of ${peak} MiB`)
  })

test('200,000 questions that nobody answers', LONG, async (t) => {
  const asking = `({ id, method, error }, send) => {
    globalThis.refused ??= 0
    if (error) refused++
    if (method === 'tools/call')
      for (let i = 0; i < 200_000; i++) send({ id: 'q' + i, method: 'roots/list', params: { pad: 'x'.repeat(100) } })
    if (refused === 200_000 - 64 || method === 'ping') send({ id: method ? id : 1, result: { content: [{ type: 'text', text: String(refused) }] } })
  }`
  const gateway = await serveSmall(t, [proxied('/s', script(t, asking))])
  const url = `${gateway.origin}/s/mcp`
  const session = await open(url)
  const response = await post(url, rpc('tools/call', { name: 'x' }), {
    ...session,
    accept: 'application/json',
  })
  assert.equal(JSON.parse(await response.text()).result.content[0].text, String(200_000 - 64))
  assert.equal(await ping(url, session), 200)
  const { peak } = gateway.curve()
  assert.ok(peak < 250, `peak of ${peak} MiB`)
})

test('lines without an end of 30 children hold no more than there is room for', LONG, async (t) => {
  const endless = `({ id }, send) => process.stdout.write('{"x":"' + 'x'.repeat(9_000_000))`
  const gateway = await serveSmall(t, [
    proxied('/s', script(t, endless)),
    proxied('/other', script(t, endless)),
  ])
  const url = `${gateway.origin}/s/mcp`
  const before = gateway.rss()
  for (let i = 0; i < 30; i++) {
    const session = await open(url)
    void post(url, rpc('tools/call', { name: 'x' }), session).catch(() => {})
  }
  const other = await open(`${gateway.origin}/other/mcp`)
  assert.equal((await post(`${gateway.origin}/other/mcp`, rpc('tools/list'), other)).status, 200)
  const refused = async () => (await fetch(`${gateway.origin}/metrics`)).text()
  await until(async () => /maxBuffered"\} [1-9]/.test(await refused()))
  const { peak } = gateway.curve()
  assert.equal(gateway.child.exitCode, null)
  assert.ok(peak - before < 220, `${before} to ${peak} MiB`)
})

test('answers of 9 MiB that come slowly, 60 at once', LONG, async (t) => {
  const unended: ServerResponse[] = []
  const api = await serveHttp(t, (_, response) => {
    unended.push(response)
    // All but the end.
    response.write('x'.repeat(9 * MIB))
  })
  const gateway = await serveSmall(t, [
    {
      routers: [{ server: 'api', prefix: '/big' }],
      servers: [{ name: 'api', allowedTools: ['call'] }],
      tools: [{ name: 'call', method: 'GET', endpoint: api, limits: { ...WHOLE, timeout: '5m' } }],
    },
  ])
  const url = `${gateway.origin}/big/mcp`
  const session = await open(url)
  let refused = 0
  const calls = Array.from({ length: 60 }, async (_, i) => {
    const answer = await post(url, rpc('tools/call', { name: 'call', arguments: {} }, i), session)
    if (/maxBuffered/.test(await answer.text())) refused++
  })
  // All that there is no room for.
  await until(() => unended.length === 60 && refused >= 40)
  for (const response of unended) response.end()
  await Promise.all(calls)
  assert.equal((await post(url, rpc('tools/list'), session)).status, 200)
  const { peak } = gateway.curve()
  assert.ok(peak < 450, `peak of ${peak} MiB`)
})

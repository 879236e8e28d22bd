import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ConnectionCount } from '../../src/access/connection-limits.ts'
import { until } from '../support/until.ts'
import {
  answerOf,
  httpTool,
  INITIALIZE,
  LONG,
  listen,
  MIB,
  open,
  openSse,
  ping,
  post,
  proxied,
  raw,
  rpc,
  script,
  serveHttp,
  serveSmall,
  silent,
} from './harness.ts'

// How many there may be: calls, sessions, connections, headers, uploads.

const call = (id: number) => rpc('tools/call', { name: 'call', arguments: {} }, id)

test('8,000 calls under way from one session of one stranger', LONG, async (t) => {
  const api = await serveHttp(t, (request, response) => {
    if (request.url === '/other') response.end('other')
  })
  const gateway = await serveSmall(t, [httpTool('/s', api), httpTool('/other', `${api}/other`)])
  const { messages } = await openSse(t, gateway.origin, '/s')
  await post(messages, INITIALIZE)
  const statuses = new Map<number, number>()
  for (let i = 0; i < 80; i++) {
    const batch = Array.from({ length: 100 }, (_, k) => call(i * 100 + k))
    const response = await post(messages, batch)
    await response.text()
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
    if (response.status === 503) assert.equal(response.headers.get('retry-after'), '5')
  }
  assert.deepEqual(
    statuses,
    new Map([
      [202, 10],
      [503, 70],
    ]),
  )
  const metrics = await (await fetch(`${gateway.origin}/metrics`)).text()
  assert.match(metrics, /^plantgw_refused_total\{limit="maxCallsPerCaller"\} 70$/m)
  assert.match(metrics, /^plantgw_buffered_bytes \d{5,}$/m)
})

test('calls that are over make room for others', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => response.end('done'))
  const gateway = await serveSmall(t, [httpTool('/s', api)], { limits: { maxCallsPerPrefix: 8 } })
  const url = `${gateway.origin}/s/mcp`
  const session = await open(url)
  for (let i = 0; i < 10; i++) assert.equal((await post(url, call(i), session)).status, 200)
  assert.equal((await post(url, [call(1), call(2), call(3)], session)).status, 503)
})

test('256 connections of one address that call at once without auth meet no limit', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => setTimeout(() => response.end('done'), 50))
  // The overload of a slow machine is not the subject.
  const gateway = await serveSmall(t, [httpTool('/s', api)], { limits: { maxEventLoopDelay: '1m' } })
  const url = `${gateway.origin}/s/mcp`
  const session = await open(url)
  const statuses = await Promise.all(
    Array.from({ length: 512 }, async (_, i) => (await post(url, call(i), session)).status),
  )
  assert.deepEqual([...new Set(statuses)], [200])
})

test('100,050 sessions of a stranger end no session of anybody else', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => response.end('done'))
  const gateway = await serveSmall(t, [httpTool('/http', api), httpTool('/plain', api)])
  const session = await open(`${gateway.origin}/plain/mcp`)
  const one = raw('/http/mcp', INITIALIZE)
  const total = 100_050
  const share = Math.ceil(total / 8)
  const opened = async () => {
    const socket = connect(gateway.port, '127.0.0.1').on('error', () => {})
    t.after(() => socket.destroy())
    socket.setEncoding('latin1')
    const count = { ok: 0, refused: 0 }
    for (let sent = 0; sent < share; ) {
      const burst = Math.min(100, share - sent)
      socket.write(one.repeat(burst))
      sent += burst
      while (count.ok + count.refused < sent) {
        const [chunk] = (await once(socket, 'data')) as [string]
        count.ok += chunk.match(/HTTP\/1\.1 200/g)?.length ?? 0
        count.refused += chunk.match(/HTTP\/1\.1 503/g)?.length ?? 0
      }
    }
    return count
  }
  const counts = await Promise.all(Array.from({ length: 8 }, opened))
  assert.equal(await ping(`${gateway.origin}/plain/mcp`, session), 200)
  const ok = counts.reduce((sum, count) => sum + count.ok, 0)
  assert.ok(ok < 12_000, `${ok} sessions were opened`)
  const { peak } = gateway.curve()
  assert.ok(peak < 250, `peak of ${peak} MiB`)
})

test('what is in use is never ended for a new session', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => response.end('done'))
  const gateway = await serveSmall(t, [httpTool('/s', api)], { limits: { maxSessions: 20 } })
  const url = `${gateway.origin}/s/mcp`
  const session = await open(url)
  const stream = await listen(t, url, session)
  await open(url)
  const refused = await post(url, INITIALIZE)
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('retry-after'), '5')
  assert.equal(JSON.parse(await refused.text()).id, 1)
  assert.equal((await fetch(`${gateway.origin}/s/sse`)).status, 503)
  assert.equal(await ping(url, session), 200)
  assert.equal(stream.response.status, 200)
})

test('beyond maxSessions of a stdio server the answer is 503 with Retry-After', LONG, async (t) => {
  const busy = script(t, '() => {}')
  const gateway = await serveSmall(t, [proxied('/s', { ...busy, maxSessions: 2 })])
  const url = `${gateway.origin}/s/mcp`
  for (let i = 0; i < 2; i++) await listen(t, url, await open(url))
  const refused = await post(url, INITIALIZE)
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5'])
})

test('one caller does not get all sessions of a stdio server', LONG, async (t) => {
  const busy = script(t, '() => {}')
  const tokens = ['ann', 'bob'].map((caller) => ({ token: `token-of-${caller}-0123456789`, caller }))
  const { routers, ...server } = proxied('/s', { ...busy, maxSessions: 4 }) as { routers: object[] }
  const auth = { type: 'bearer', tokens }
  const gateway = await serveSmall(t, [{ ...server, routers: routers.map((one) => ({ ...one, auth })) }])
  const url = `${gateway.origin}/s/mcp`
  const as = (caller: string) => ({ authorization: `Bearer token-of-${caller}-0123456789` })
  const sessions: string[] = []
  for (let i = 0; i < 3; i++) {
    const opened = await post(url, INITIALIZE, as('ann'))
    assert.equal(opened.status, 200)
    const headers = { ...as('ann'), 'mcp-session-id': opened.headers.get('mcp-session-id')! }
    const stream = await fetch(url, { headers: { accept: 'text/event-stream', ...headers } })
    t.after(() => stream.body?.cancel().catch(() => {}))
    sessions.push(headers['mcp-session-id'])
  }
  const refused = await post(url, INITIALIZE, as('ann'))
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [503, '5'])
  assert.match(await refused.text(), /The caller has 3 of the 4 sessions/)
  assert.equal((await post(url, INITIALIZE, as('bob'))).status, 200)
  // A session that ends makes room for its caller.
  const own = { ...as('ann'), 'mcp-session-id': sessions[0]! }
  assert.equal((await fetch(url, { method: 'DELETE', headers: own })).status, 204)
  assert.equal((await post(url, INITIALIZE, as('ann'))).status, 200)
})

test('connections beyond the limits of one address, and of all, are refused', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => response.end('done'))
  const gateway = await serveSmall(t, [httpTool('/s', api)], { limits: { maxConnections: 10 } })
  const sockets = []
  for (let i = 0; i < 5; i++) sockets.push(await silent(t, gateway.port))
  const refused = await answerOf(gateway.port, raw('/s/mcp', INITIALIZE))
  assert.match(refused, /^HTTP\/1\.1 503 [\s\S]*retry-after: 5\r\n/)
  for (const socket of sockets) socket.destroy()
  await until(async () => (await post(`${gateway.origin}/s/mcp`, INITIALIZE)).status === 200)
  const count = new ConnectionCount({ maxConnections: 4 }, 1)
  const places = ['a', 'a', 'b', 'b', 'c', 'c'].map((address) => count.add(address))
  assert.deepEqual(places, [...Array(4).fill('within'), 'surplus', 'beyond'])
})

test('who takes long for headers, or for a body, is disconnected; others are served', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => response.end('done'))
  const limits = { requestTimeout: '2s' }
  const gateway = await serveSmall(t, [httpTool('/s', api)], { limits })
  const slow = Array.from({ length: 300 }, () =>
    answerOf(gateway.port, 'POST /s/mcp HTTP/1.1\r\nhost: localhost\r\n'),
  )
  const body = answerOf(gateway.port, raw('/s/mcp', INITIALIZE).slice(0, -5))
  assert.equal((await post(`${gateway.origin}/s/mcp`, INITIALIZE)).status, 200)
  for (const answer of [...(await Promise.all(slow)), await body])
    assert.match(answer, /^(?:HTTP\/1\.1 408|$)/)
})

test('120 uploads of 3.9 MiB that stop before their end', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => response.end('done'))
  const gateway = await serveSmall(t, [httpTool('/s', api)])
  const url = `${gateway.origin}/s/mcp`
  const session = await open(url)
  const upload = raw('/s/mcp', 'x'.repeat(3.9 * MIB), session).slice(0, -10)
  for (let i = 0; i < 120; i++) await silent(t, gateway.port, upload)
  for (let i = 0; i < 30; i++) {
    assert.equal((await post(url, call(i), session)).status, 200)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const { peak } = gateway.curve()
  assert.equal(gateway.child.exitCode, null)
  assert.ok(peak < 400, `peak of ${peak} MiB`)
})

test('more than 200 headers are refused with 431, wherever the ones that matter stand', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => response.end('done'))
  const gateway = await serveSmall(t, [httpTool('/s', api)])
  const many = (count: number) => Array.from({ length: count }, (_, i) => `x${i}: 1\r\n`).join('')
  const get = (headers: string) =>
    answerOf(gateway.port, `GET /_status HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${headers}\r\n`)
  assert.match(await get(many(198)), /^HTTP\/1\.1 200 /)
  assert.match(await get(many(199)), /^HTTP\/1\.1 431 /)
  assert.match(await get(`${many(998)}x-forwarded-for: 203.0.113.9\r\n`), /^HTTP\/1\.1 431 /)
  assert.match(await get('X-Forwarded-For: 203.0.113.9\r\n'), /^HTTP\/1\.1 401 /)
})

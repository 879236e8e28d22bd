import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { namedCaller } from '../../src/access/bearer.ts'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { isThere } from '../support/process.ts'
import { modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import { META } from '../support/wire.ts'
import { messages, modern, open, proxied, send } from './harness.ts'

const stdio = (more: object = {}, faults = {}) => ({
  type: 'stdio',
  ...faultyStdio('session', faults),
  ...more,
})
const TIMEOUT = { timeout: 60_000 }

test(
  'a child sees what it needs and what the configuration gives, and none of the gateway’s secrets',
  TIMEOUT,
  async (t) => {
    const env = { ...(process.env as Record<string, string>), GATEWAY_SECRET: 'hush' }
    const server = stdio({
      env: {
        TOKEN: '{{index .Request.Headers "X-Token"}}',
        FIXED: 'yes',
        NONE: '{{index .Request.Headers "X-None"}}',
      },
    })
    const { url } = await proxied(t, [server], { env })
    const client = await open(url, { 'x-token': 'mine' })
    const seen = JSON.parse(await client.call('environment'))
    assert.deepEqual(Object.keys(seen).sort(), ['FIXED', 'HOME', 'PATH', 'TOKEN'])
    assert.equal(seen.TOKEN, 'mine')
  },
)

test(
  'each session has a child of its own, which DELETE ends with all that it started',
  TIMEOUT,
  async (t) => {
    const { url, proxy } = await proxied(t, [stdio()])
    const [a, b] = [await open(url), await open(url)]
    const [pidA, pidB] = [Number(await a.call('pid')), Number(await b.call('pid'))]
    assert.notEqual(pidA, pidB)
    const grandchild = Number(await a.call('grandchild'))
    assert.ok(isThere(grandchild))
    assert.equal((await fetch(url, { method: 'DELETE', headers: a.headers })).status, 204)
    await until(() => !isThere(pidA) && !isThere(grandchild))
    assert.deepEqual(proxy.status().pids, [pidB])
    const answer = await send(url, { id: 1, method: 'tools/list' }, a.headers)
    assert.equal(answer.status, 404)
  },
)

test('a clock that jumps forward ends no child in use', TIMEOUT, async (t) => {
  t.mock.timers.enable({ apis: ['Date', 'setInterval'], now: Date.now() })
  const { url } = await proxied(t, [stdio()], { authenticate: async () => namedCaller('me') })
  const clients = [await open(url), modern(url)]
  const pids = () => Promise.all(clients.map((client) => client.call('pid')))
  const before = await pids()
  t.mock.timers.tick(48 * 3_600_000)
  assert.deepEqual(await pids(), before)
})

test(
  'a child that is killed answers the calls in flight, and the next call starts it anew',
  TIMEOUT,
  async (t) => {
    const { url } = await proxied(t, [stdio()])
    const client = await open(url)
    const before = Number(await client.call('pid'))
    const held = client.call('silent')
    const dying = await client.call('die')
    assert.match(dying, /^error: The server s1 was ended by SIGKILL; the call was not repeated/)
    assert.match(await held, /^error: The server s1 was ended by SIGKILL/)
    const after = Number(await client.call('pid'))
    assert.notEqual(after, before)
    assert.ok(!isThere(before))
  },
)

test('a child that is deaf to SIGTERM is killed, and close waits for it', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stdio({}, { deaf: true })])
  const client = await open(url)
  const pid = Number(await client.call('pid'))
  await proxy.close()
  assert.ok(!isThere(pid))
  assert.equal(proxy.status().connections, 0)
})

for (const start of ['exit', 'silent'] as const)
  test(`a start that fails (${start}) is told, and not tried again at once`, TIMEOUT, async (t) => {
    const { url, proxy } = await proxied(t, [stdio({ startupTimeout: '500ms' }, { start })])
    const first = await open(url)
    assert.match(
      first.initialized.error.message,
      /The server s1 ended with exit code 3|the handshake timed out/,
    )
    assert.equal(first.headers['mcp-session-id'], undefined)
    let { message } = (await open(url)).initialized.error
    // A first failure is tried again at once, further ones are not; the pause grows beyond what a test takes.
    while (!message.includes('next attempt')) message = (await open(url)).initialized.error.message
    assert.match(message, /It failed \d+ times in a row; the next attempt is in \d+ s/)
    await until(() => proxy.status().connections === 0)
  })

test('a client without a session is told of a handshake that stays without an answer', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [stdio({ startupTimeout: '300ms' }, { start: 'silent' })])
  const { error } = await modern(url).request('tools/list')
  assert.match(error.message, /^No response from the server s1 for 0.3 s; the handshake timed out/)
})

test('a command that does not exist is told, and named in the log only', TIMEOUT, async (t) => {
  const { url, logged } = await proxied(t, [{ type: 'stdio', command: 'no-such-command-here' }])
  const { initialized } = await open(url)
  assert.match(initialized.error.message, /could not be started: its command was not found$/)
  const { error } = await modern(url).request('tools/list')
  assert.match(error.message, /its command was not found/)
  assert.doesNotMatch(error.message, /no-such-command-here/)
  assert.ok(logged.some(({ command }) => command === 'no-such-command-here'))
})

test('maxSessions: the longest unused makes room, and all in use are a clear refusal', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stdio({ maxSessions: 2 })])
  const [a, b] = [await open(url), await open(url)]
  await b.call('echo')
  const c = await open(url)
  assert.equal((await send(url, { id: 1, method: 'ping' }, a.headers)).status, 404)
  const busy = [b.call('silent'), c.call('silent')]
  await until(() => proxy.status().sessions === 2)
  const refused = await open(url)
  assert.equal(refused.status, 503)
  assert.match(
    refused.initialized.error.message,
    /All 2 sessions with the server s1 are in use \(maxSessions\)/,
  )
  await proxy.close()
  for (const answer of await Promise.all(busy)) assert.match(answer, /^error: /)
})

test('idle sessions end with their child', TIMEOUT, async (t) => {
  const { url, registry } = await proxied(t, [stdio({ idleTimeout: '50ms' })])
  const client = await open(url)
  const pid = Number(await client.call('pid'))
  await until(() => !isThere(pid))
  assert.equal(registry.counts().sessions, 0)
})

test('200 sessions that are opened and abandoned leave nothing', { timeout: 180_000 }, async (t) => {
  const { url, registry, proxy } = await proxied(t, [stdio({ idleTimeout: '50ms', maxSessions: 200 })])
  const pids = new Set<number>()
  for (let round = 0; round < 20; round++) {
    const opened = await Promise.all(Array.from({ length: 10 }, () => open(url)))
    assert.ok(opened.every(({ initialized }) => initialized.result))
    for (const pid of proxy.status().pids) pids.add(pid)
  }
  await until(() => registry.counts().sessions === 0 && proxy.status().connections === 0)
  await until(() => ![...pids].some(isThere))
})

test(
  'standard error goes to the log line by line, and what is no message harms nobody',
  TIMEOUT,
  async (t) => {
    const { url, logged } = await proxied(t, [stdio()])
    const client = await open(url)
    await client.call('stderr', { text: 'one\ntwo' })
    await until(() => logged.filter(({ msg }) => msg === 'mcp server wrote to standard error').length === 2)
    assert.deepEqual(logged.filter(({ text }) => text === 'one' || text === 'two').length, 2)
    assert.equal(await client.call('garbage-first'), 'after the garbage')
    assert.ok(logged.some(({ msg }) => msg === 'ignored a line on standard output that is not a message'))
  },
)

test(
  'sizes: 10 MiB pass where they are allowed; a larger answer is refused and its session lives on',
  TIMEOUT,
  async (t) => {
    const roomy = await proxied(t, [stdio({ limits: { maxResponseSize: '11MiB' } })])
    assert.equal((await (await open(roomy.url)).call('big')).length, 10 * 1024 * 1024)
    const { url } = await proxied(t, [stdio({ limits: { maxResponseSize: '1MiB' } })])
    const client = await open(url)
    const waiting = client.call('silent')
    assert.match(
      await client.call('big'),
      /^error: The response of the server s1 is larger than the limit of 1 MiB \(maxResponseSize\)$/,
    )
    assert.equal(await client.call('echo', { a: 1 }), '{"a":1}')
    await fetch(url, { method: 'DELETE', headers: client.headers })
    assert.match(await waiting, /session has ended/)
  },
)

test(
  'a call to a silent server times out: its answer, its line in the log, its cancellation',
  TIMEOUT,
  async (t) => {
    const { url, logged } = await proxied(t, [stdio({ limits: { timeout: '200ms' } })])
    const client = await open(url)
    assert.match(
      await client.call('silent'),
      /^error: No response from the server for 0.2 s; the call timed out/,
    )
    assert.ok((await client.call('seen')).includes('notifications/cancelled'))
    const line = logged.find(({ tool }) => tool === 'silent')
    assert.deepEqual([line.level, line.msg, line.outcome], ['warn', 'tool call failed', 'timeout'])
  },
)

test('a call that its client cancels is logged as such', TIMEOUT, async (t) => {
  const { url, logged } = await proxied(t, [stdio()])
  const client = await open(url)
  const params = { name: 'silent', arguments: {} }
  const call = send(url, { id: 'c', method: 'tools/call', params }, client.headers)
  await until(async () => (await client.call('seen')).split('tools/call').length > 2)
  const cancelled = { method: 'notifications/cancelled', params: { requestId: 'c' } }
  assert.equal((await send(url, cancelled, client.headers)).status, 202)
  assert.deepEqual(await messages(await call), [])
  const line = logged.find(({ tool }) => tool === 'silent')
  assert.deepEqual([line.level, line.msg, line.outcome], ['info', 'tool call cancelled', 'cancelled'])
})

async function gone(t: TestContext, era: 'session' | 'modern') {
  const { url } = await proxied(t, [{ type: 'stdio', ...faultyStdio(era) }])
  const client = era === 'session' ? await open(url) : modern(url)
  const leave = new AbortController()
  const params = { name: 'silent', arguments: {}, _meta: { progressToken: 1 } }
  const headers = {
    ...client.headers,
    ...(era === 'modern' && modernHeaders('tools/call', 'silent')),
  }
  const left = send(
    url,
    { id: 'x', method: 'tools/call', params: { ...params, _meta: era === 'modern' ? META : {} } },
    headers,
    leave.signal,
  )
  await until(async () => (await client.call('seen')).split('tools/call').length > 2)
  leave.abort()
  await assert.rejects(left)
  return client
}

test('a client of 2026-07-28 that goes away cancels its call', TIMEOUT, async (t) => {
  const client = await gone(t, 'modern')
  await until(async () => (await client.call('seen')).includes('notifications/cancelled'))
})

test('a client with a session that goes away does not', TIMEOUT, async (t) => {
  const client = await gone(t, 'session')
  // Messages keep their order, so a cancellation would have come before this call.
  assert.ok(!(await client.call('seen')).includes('notifications/cancelled'))
})

test('answers out of order and pieces of answers reach their calls', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [stdio()])
  const client = await open(url)
  const answers = await Promise.all([1, 2, 3].map((n) => client.call('reverse', { n, count: 3 })))
  assert.deepEqual(answers, ['{"n":1,"count":3}', '{"n":2,"count":3}', '{"n":3,"count":3}'])
  assert.equal(await client.call('dribble'), 'piece by piece')
})

test(
  'a request of the server reaches the client on the stream of its call, and the answer goes back',
  TIMEOUT,
  async (t) => {
    const { url } = await proxied(t, [stdio()])
    const client = await open(url, {}, { roots: {} })
    const response = await send(
      url,
      { id: 'call', method: 'tools/call', params: { name: 'ask', arguments: {} } },
      client.headers,
    )
    assert.equal(response.headers.get('content-type'), 'text/event-stream')
    const reader = response.clone().body!.getReader()
    const first = new TextDecoder().decode((await reader.read()).value)
    assert.match(first, /"id":"ask-call","method":"roots\/list"/)
    const answer = { id: 'ask-call', result: { roots: [{ uri: 'file:///a' }] } }
    assert.equal((await send(url, answer, client.headers)).status, 202)
    const [, last] = await messages(response)
    assert.equal(last.result.content[0].text, '{"roots":[{"uri":"file:///a"}]}')
    await reader.cancel()
  },
)

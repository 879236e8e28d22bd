import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bearerAuthentication } from '../../src/access/bearer.ts'
import { Buckets } from '../../src/access/buckets.ts'
import { FailedLogins } from '../../src/access/failed-logins.ts'
import { Rates } from '../../src/access/rate.ts'
import { clientAddressReader, networkMatcher } from '../../src/access/trusted-proxies.ts'
import type { RateRule } from '../../src/config/model.ts'
import { body, INITIALIZE, open, post, readEvents, rpc, stateless, wire } from '../support/wire.ts'

const HOUR = 3_600_000
const rule = (limit: number, more: Partial<RateRule> = {}): RateRule => ({
  per: 'caller',
  limit,
  window: HOUR,
  ...more,
})
const call = (name: string, id: unknown = 1) => rpc('tools/call', { name, arguments: {} }, id)
const excess = (retryAfter: number) => ({
  code: -32000,
  message: `Too many requests: try again in ${retryAfter} s`,
  data: { retryAfter },
})
const refused = (id: unknown, retryAfter: number) => ({ jsonrpc: '2.0', id, error: excess(retryAfter) })

test('a request beyond a rate is 429 with Retry-After, and its error has the id of the request', async () => {
  const { app } = await wire({ rate: [rule(3)] })
  const session = await open(app)
  for (const id of [1, 2]) assert.equal((await post(app, '/one/mcp', call('a', id), session)).status, 200)
  const response = await post(app, '/one/mcp', call('a', 'third'), session)
  assert.equal(response.status, 429)
  assert.equal(response.headers.get('retry-after'), '1200')
  assert.equal(response.headers.get('content-type'), 'application/json')
  assert.ok(response.headers.get('x-request-id'))
  assert.deepEqual(await body(response), refused('third', 1200))
  const other = await stateless(app, 'tools/list', {}, {}, { id: 9 })
  assert.deepEqual([other.status, await body(other)], [429, refused(9, 1200)])
  const notification = await post(app, '/one/mcp', { jsonrpc: '2.0', method: 'notifications/x' }, session)
  assert.deepEqual([notification.status, await body(notification)], [429, refused(null, 1200)])
  const invalid = await post(app, '/one/mcp', '{')
  assert.deepEqual([invalid.status, await body(invalid)], [429, refused(null, 1200)])
  for (const method of ['GET', 'DELETE']) {
    const answer = await app.request('/one/mcp', { method, headers: { host: 'localhost', ...session } })
    assert.equal(answer.status, 429, method)
    assert.equal(answer.headers.get('retry-after'), '1200')
    assert.equal((await body(answer)).error.message, 'Too many requests: try again in 1200 s')
  }
  assert.equal((await post(app, '/two/mcp', call('a'), await open(app, '/two'))).status, 200)
})

test('after a time that many more may come, and at once as many as `burst`', async () => {
  let now = 0
  const rates = new Rates([], undefined, () => now)
  const { app } = await wire({ rates, rate: [rule(60, { window: 60_000, burst: 2 })] })
  const status = async () => (await stateless(app, 'tools/call', { name: 'a' })).status
  const three = async () => [await status(), await status(), await status()]
  assert.deepEqual(await three(), [200, 200, 429])
  now += 1_000
  assert.deepEqual(await three(), [200, 429, 429])
  now += 3_600_000
  assert.deepEqual(await three(), [200, 200, 429])
})

test('a rule with tools counts only their calls', async () => {
  const { app } = await wire({ rate: [rule(1, { tools: ['delete_*', 'export'] })] })
  const status = async (method: string, params = {}) => (await stateless(app, method, params)).status
  assert.equal(await status('tools/call', { name: 'delete_user' }), 200)
  assert.equal(await status('tools/call', { name: 'delete_all' }), 429)
  assert.equal(await status('tools/call', { name: 'export' }), 429)
  for (const name of ['exports', 'undelete_', 'delete'])
    assert.equal(await status('tools/call', { name }), 200, name)
  assert.equal(await status('tools/list'), 200)
})

test('what a tool has called counts as its call, whatever is known here of the session', async () => {
  const { app } = await wire({ rate: [rule(1, { tools: ['pay'] })] })
  const session = await open(app)
  for (const name of ['call_tool', 'call_read_tool']) {
    const indirect = rpc('tools/call', { name, arguments: { name: 'pay', arguments: {} } })
    const { status } = await post(app, '/one/mcp', indirect, session)
    assert.equal(status, name === 'call_tool' ? 200 : 429, name)
  }
})

test('a request of a batch beyond a rate is an error in the batch', async () => {
  const { app } = await wire({ rate: [rule(2, { tools: ['a'] })] })
  const session = await open(app, '/one', '2025-03-26')
  const response = await post(
    app,
    '/one/mcp',
    [call('a', 1), call('a', 2), call('a', 3), call('b', 4)],
    session,
  )
  assert.equal(response.status, 200)
  const answers = (await body(response)) as { id: number; error?: object }[]
  const [one, two, third, four] = answers.sort((a, b) => a.id - b.id)
  assert.deepEqual(third, refused(3, 1800))
  for (const answer of [one, two, four]) assert.equal(answer?.error, undefined)
  const all = await post(app, '/one/mcp', [call('a', 5), call('a', 6)], session)
  assert.equal(all.status, 429)
  assert.equal(all.headers.get('retry-after'), '1800')
  assert.deepEqual(await body(all), [refused(5, 1800), refused(6, 1800)])
})

test('a client of the older transport reads the error on its stream', async () => {
  const { app } = await wire({ rate: [rule(1, { tools: ['a'] })] })
  const stream = await app.request('/one/sse', { headers: { host: 'localhost' } })
  const reader = stream.body!.getReader()
  const [endpoint] = await readEvents(reader, 1)
  for (const id of [1, 2]) assert.equal((await post(app, endpoint!.data, call('a', id))).status, 202)
  const [first, second] = (await readEvents(reader, 2)).map(({ data }) => JSON.parse(data))
  assert.equal(first.id, 1)
  assert.deepEqual(second, refused(2, 3600))
  await reader.cancel()
})

test('what is counted apart: sessions, addresses, tenants', async () => {
  const perSession = await wire({ rate: [rule(1, { per: 'session', tools: ['a'] })] })
  const status = async (session: Record<string, string>) =>
    (await post(perSession.app, '/one/mcp', call('a'), session)).status
  const [one, two] = [await open(perSession.app), await open(perSession.app)]
  assert.deepEqual([await status(one), await status(one), await status(two)], [200, 429, 200])

  // What is no session of the caller's counts for the caller, whatever it says.
  const alone = async (session: string) =>
    (await stateless(perSession.app, 'tools/call', { name: 'a' }, { 'mcp-session-id': session })).status
  const other = await open(perSession.app, '/two')
  const foreign = other['mcp-session-id']!
  assert.deepEqual([await alone('x'), await alone('y'), await alone(foreign)], [200, 429, 429])

  const rates = new Rates([rule(1, { per: 'address' }), rule(3, { per: 'tenant' })])
  const limits = rates.of({ prefix: '/a', tenant: 't' })!
  const another = rates.of({ prefix: '/b', tenant: 't' })!
  const take = (from: typeof limits, address: string) =>
    from.take({ lease: { quotaKey: address }, address, sessionId: () => undefined }, [undefined])
  assert.deepEqual(await take(limits, '2001:db8::1'), [undefined])
  assert.deepEqual(await take(limits, '2001:db8::2'), [{ per: 'address', retryAfter: 3600 }])
  assert.deepEqual(await take(limits, '2001:db8:0:1::1'), [undefined])
  assert.deepEqual(await take(another, '10.0.0.1'), [undefined])
  assert.deepEqual(await take(another, '10.0.0.2'), [{ per: 'tenant', retryAfter: 1200 }])
})

test('a rule that stays goes on counting after a reload, one that changes begins anew', async () => {
  const rates = new Rates()
  const subject = { lease: { quotaKey: 'me' }, address: undefined, sessionId: () => undefined }
  const at = (limit: number) => rates.of({ prefix: '/a', tenant: 't', rate: [rule(limit)] })!
  assert.deepEqual(await at(1).take(subject, [undefined]), [undefined])
  assert.deepEqual(await at(1).take(subject, [undefined]), [{ per: 'caller', retryAfter: 3600 }])
  assert.deepEqual(await at(2).take(subject, [undefined]), [undefined])
})

test('a whole burst passes at any time of the clock', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 1e9, noNaN: true }),
      fc.integer({ min: 1, max: 20 }),
      (now, burst) => {
        const buckets = new Buckets({ interval: 60_000 / 7, burst }, () => now)
        for (let i = 0; i < burst; i++) {
          assert.equal(buckets.wait('a'), 0)
          buckets.add('a')
        }
        assert.ok(buckets.wait('a') > 1)
      },
    ),
  )
})

test('of more than 50,000 addresses those that were not seen for the longest time begin anew', async () => {
  const limits = new Rates([rule(1, { per: 'address' })]).of({ prefix: '/a', tenant: 't' })!
  const take = async (i: number) => {
    const address = `2001:db8:${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}::1`
    const subject = { lease: { quotaKey: '' }, address, sessionId: () => undefined }
    return (await limits.take(subject, [undefined]))[0]
  }
  assert.equal(await take(0), undefined)
  assert.ok(await take(0), 'it has had its request of this hour')
  for (let i = 1; i < 25_000; i++) assert.equal(await take(i), undefined)
  assert.ok(await take(0))
  for (let i = 25_000; i < 80_000; i++) assert.equal(await take(i), undefined)
  assert.equal(await take(0), undefined, 'it is not known any more')
})

test('the address of a client is what the nearest trusted proxy was called from', () => {
  const read = clientAddressReader(networkMatcher(['10.0.0.0/8', 'fd00::/8']))
  for (const [header, address, expected] of [
    [undefined, '10.0.0.1', '10.0.0.1'],
    ['1.2.3.4', '9.9.9.9', '9.9.9.9'],
    ['1.2.3.4', '10.0.0.1', '1.2.3.4'],
    ['1.2.3.4', '::ffff:10.0.0.1', '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4', '10.0.0.1', '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4, 10.0.0.2', '10.0.0.1', '1.2.3.4'],
    ['10.0.0.3, 10.0.0.2', '10.0.0.1', '10.0.0.3'],
    ['1.2.3.4:55555', '10.0.0.1', '1.2.3.4'],
    ['[2001:db8::1]:443', 'fd00::1', '2001:db8::1'],
    ['1.2.3.4, unknown', '10.0.0.1', '10.0.0.1'],
    ['', '10.0.0.1', '10.0.0.1'],
    [`${'1'.repeat(5_000)}, 1.2.3.4`, '10.0.0.1', '1.2.3.4'],
  ] as const)
    assert.equal(read(header, address), expected, header)
})

test('wrong credentials are limited, those that the address has used before still pass', async () => {
  let now = 0
  const logins = new FailedLogins(3, () => now)
  const { app } = await wire({ token: 'right', parts: { logins } })
  const answer = (token: string) =>
    post(app, '/one/mcp', rpc('ping'), { authorization: `Bearer ${token}`, 'mcp-session-id': 'x' })
  const statuses = async (...tokens: string[]) => {
    const found: number[] = []
    for (const token of tokens) found.push((await answer(token)).status)
    return found
  }
  // Nobody has logged in from here: not even the right one is looked at.
  assert.deepEqual(await statuses('a', 'b', 'c', 'd', 'right'), [401, 401, 401, 429, 429])
  const late = await answer('right')
  assert.equal(late.headers.get('retry-after'), '20')
  assert.deepEqual(await body(late), {
    jsonrpc: '2.0',
    error: { code: -32600, message: 'Too many wrong credentials came from this address: try again in 20 s' },
  })
  now += 20_000
  assert.deepEqual(await statuses('right', 'a', 'b', 'right'), [404, 401, 429, 404])
  now += 60_000
  assert.deepEqual(await statuses('a', 'b', 'c', 'd', 'right'), [401, 401, 401, 429, 404])
})

test('a token of a file that has expired is no guess, and the reason is known', async () => {
  const refused: string[] = []
  const tokens = [
    { token: 'old', caller: 'me', expires: '2020-01-01' },
    { token: 'new', caller: 'me' },
  ]
  const { app } = await wire({
    authenticate: bearerAuthentication(tokens),
    parts: {
      logins: new FailedLogins(1, () => 0),
      onRefusedCredentials: ({ reason }) => void refused.push(reason),
    },
  })
  const answer = (token: string) => post(app, '/one/mcp', INITIALIZE, { authorization: `Bearer ${token}` })
  for (let i = 0; i < 3; i++) {
    const late = await answer('old')
    assert.equal(late.status, 401)
    assert.equal(late.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
    assert.match((await body(late)).error.message, /^The bearer token has expired: ask the operator/)
  }
  assert.equal((await answer('new')).status, 200)
  assert.deepEqual(refused, ['expired', 'expired', 'expired'])
})

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { modern, modernSend, open } from './harness.ts'
import { hinting } from './hinting.ts'

const TIMEOUT = { timeout: 60_000 }
const LISTEN = 'subscriptions/listen'
const MINUTE = 60_000
const COUNT = 20

type Hinting = Awaited<ReturnType<typeof hinting>>

const AUTH = {
  type: 'bearer',
  tokens: ['alice', 'bob'].map((caller) => ({ token: `token-of-${caller}-0123456789`, caller })),
}
const as = (caller: string) => ({ authorization: `Bearer token-of-${caller}-0123456789` })

/** A gateway with all servers at one prefix, and its clock. */
async function together(t: TestContext, servers: readonly Hinting[], router: object = {}) {
  let ahead = 0
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + ahead)
  const names = servers.map(({ name }) => name)
  const { base } = await gatewayHere(t, {
    name: 'all',
    routers: [{ server: names, prefix: '/all', ...router }],
    mcpServers: servers.map(({ name, url }) => ({ name, type: 'streamable-http', url })),
  })
  const url = `${base}/all/mcp`
  const list = async (headers?: Record<string, string>) =>
    (await modern(url, headers).request('tools/list')).result as Loose
  const tick = (milliseconds: number) => {
    ahead += milliseconds
  }
  return { url, list, tick }
}

const countsOf = (servers: readonly Hinting[]) => servers.map(({ lists }) => lists)
const each = <T>(value: T) => Array.from({ length: COUNT }, () => value)

test('an aggregate of 20 servers asks none of them while their lists are fresh', TIMEOUT, async (t) => {
  const servers = await Promise.all(each(0).map((_, i) => hinting(t, `s${i}`)))
  const [first] = servers as [Hinting]
  const { url, list, tick } = await together(t, servers)
  const { tools, ttlMs, cacheScope } = await list()
  assert.deepEqual(
    tools.map(({ name }: Loose) => name),
    servers.map(({ name }) => `${name}__${name}_1`),
  )
  assert.equal(cacheScope, 'public')
  assert.ok(ttlMs > 0 && ttlMs <= MINUTE, String(ttlMs))
  for (const _ of [1, 2]) assert.deepEqual((await list()).tools, tools)
  // Clients of sessions are told the same.
  const session = await open(url)
  assert.deepEqual((await session.request('tools/list')).result.tools, tools)
  assert.deepEqual(countsOf(servers), each(1))
  assert.equal(first.discovers, 2, 'once to find out what it speaks, once for its capabilities')

  tick(MINUTE / 2)
  assert.ok((await list()).ttlMs <= MINUTE / 2)
  assert.deepEqual(countsOf(servers), each(1))

  tick(MINUTE / 2)
  const again = await list()
  assert.deepEqual(countsOf(servers), each(2))
  assert.equal(again.tools[0].name, 's0__s0_2')
})

test('a list of several servers is fresh as long as the first of them to change', TIMEOUT, async (t) => {
  const long = await hinting(t, 'long', { ttlMs: 10 * MINUTE })
  const short = await hinting(t, 'short')
  const { list, tick } = await together(t, [long, short])
  assert.ok((await list()).ttlMs <= MINUTE)
  tick(MINUTE)
  const { ttlMs } = await list()
  assert.deepEqual(countsOf([long, short]), [1, 2])
  assert.ok(ttlMs > MINUTE / 2 && ttlMs <= MINUTE, 'that of the list that is new')
  tick(8.5 * MINUTE)
  const late = await list()
  assert.deepEqual(countsOf([long, short]), [1, 3])
  assert.ok(late.ttlMs <= MINUTE / 2, 'what remains of the one that is old')
  for (const hints of [
    { ttlMs: -1 },
    { ttlMs: 1e300 },
    { ttlMs: 0 },
    { ttlMs: '60000' as never },
    { cacheScope: 'none' },
  ]) {
    Object.assign(short.hints, { ttlMs: MINUTE, cacheScope: 'public' }, hints)
    tick(MINUTE * 60 * 24)
    const { ttlMs, cacheScope } = await list()
    assert.ok(Number.isInteger(ttlMs) && ttlMs >= 0 && ttlMs <= 10 * MINUTE, `${ttlMs}`)
    assert.equal(cacheScope, 'cacheScope' in hints ? 'private' : 'public')
  }
})

test('a private list is kept for its caller alone', TIMEOUT, async (t) => {
  const own = await hinting(t, 'own', { cacheScope: 'private' })
  const all = await hinting(t, 'all')
  const { list } = await together(t, [own, all], { auth: AUTH })
  const ofAlice = await list(as('alice'))
  assert.equal(ofAlice.cacheScope, 'private')
  assert.deepEqual(countsOf([own, all]), [1, 1])
  const ofBob = await list(as('bob'))
  assert.deepEqual(countsOf([own, all]), [2, 1])
  assert.notEqual(ofBob.tools[0].name, ofAlice.tools[0].name)
  assert.equal(ofBob.tools[1].name, ofAlice.tools[1].name)
  assert.deepEqual((await list(as('alice'))).tools, ofAlice.tools)
  assert.deepEqual((await list(as('bob'))).tools, ofBob.tools)
  assert.deepEqual(countsOf([own, all]), [2, 1])
})

test('a change that a server announces makes its list stale, and no other', TIMEOUT, async (t) => {
  const [one, two] = [await hinting(t, 'one'), await hinting(t, 'two')]
  const { url, list } = await together(t, [one, two])
  const aborted = new AbortController()
  t.after(() => aborted.abort())
  const notifications = { toolsListChanged: true }
  const stream = await modernSend(url, LISTEN, { notifications }, {}, aborted.signal)
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  const hears = async (what: RegExp) => {
    while (!what.test(heard)) heard += (await reader.read()).value ?? assert.fail(heard)
    heard = ''
  }
  await hears(/acknowledged/)
  await list()
  await list()
  assert.deepEqual(countsOf([one, two]), [1, 1])
  one.changed()
  await hears(/tools\/list_changed/)
  assert.equal((await list()).tools[0].name, 'one__one_2')
  assert.deepEqual(countsOf([one, two]), [2, 1])

  // While nobody heard of changes there may have been some.
  const [subscription] = two.streams.at(-1)!
  subscription.end()
  await until(() => two.streams.length === 2)
  await hears(/tools\/list_changed/)
  assert.equal((await list()).tools[1].name, 'two__two_2')
  assert.deepEqual(countsOf([one, two]), [2, 2])
})

test('a list that was asked for before a change is not kept', TIMEOUT, async (t) => {
  const one = await hinting(t, 'one')
  const { url, list } = await together(t, [one])
  const session = await open(url)
  await until(() => one.streams.length === 1)
  const stream = await fetch(url, { headers: { ...session.headers, accept: 'text/event-stream' } })
  t.after(() => stream.body?.cancel())
  let answer = () => {}
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  one.hold = held
  const early = list()
  await until(() => one.lists === 1)
  one.changed()
  const reader = stream.body!.getReader()
  await reader.read()
  reader.releaseLock()
  answer()
  assert.equal((await early).tools[0].name, 'one__one_1')
  assert.equal((await list()).tools[0].name, 'one__one_2')
})

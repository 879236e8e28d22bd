import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { toolsFile } from '../cluster/harness.ts'
import { everythingStdio } from '../fixtures/everything/start.ts'
import { freePort, run, temporaryFolder } from '../support/process.ts'
import { noRedis, redisServer } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { ask, openSession, post, renamed, servedNames, serveWorkers } from './harness.ts'

const OPTIONS = { timeout: 120_000, skip: noRedis }
const LIST = { id: 'list', method: 'tools/list' }
const LIMIT = 8

/** Two gateways of two workers each, beside one Redis. */
async function beside(t: TestContext) {
  const redis = await redisServer(t)
  const rate = [{ per: 'caller', limit: LIMIT, window: '1h' }]
  const tools = await toolsFile(t)
  const limited = (await toolsFile(t, { rate }))
    .replaceAll('tools\n', 'limited\n')
    .replace('/tools', '/limited')
  const upstreams = { s: { type: 'stdio' as const, ...everythingStdio('session') } }
  const { addr } = redis
  const notifier = { type: 'redis', redis: { topic: 'reload', addr } }
  const start = async () => {
    const port = await freePort()
    const cluster = { secret: 'a secret of at least 32 characters', advertise: `http://127.0.0.1:${port}` }
    const settings = { cluster, redis: { addr }, notifier }
    const gateway = await serveWorkers(t, { upstreams, files: { tools, limited }, settings, count: 2, port })
    await gateway.until(/"trigger":"redis"/)
    await gateway.until(
      /"worker":1,.*counted together[\s\S]*"worker":2,.*counted together|"worker":2,.*counted together[\s\S]*"worker":1,.*counted together/,
    )
    return gateway
  }
  const [a, b] = await Promise.all([start(), start()])
  const file = join(temporaryFolder(t), 'sender.yaml')
  writeFileSync(file, stringify({ notifier }))
  return { redis, a, b, tools, notify: () => run(t, ['reload', '-s', file]) }
}

type Beside = Awaited<ReturnType<typeof beside>>

/** How many of so many requests each gateway takes, with a connection for each of them. */
async function taken({ a, b }: Pick<Beside, 'a' | 'b'>, count: number): Promise<[number, number]> {
  const [one, two] = [a, b].map(async ({ url }) => {
    const all = Array.from({ length: count }, () => post(url('limited'), { id: 1, method: 'ping' }))
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    // Pings without a session are 400.
    assert.deepEqual(
      statuses.filter((status) => status !== 429 && status !== 400),
      [],
    )
    return statuses.filter((status) => status === 400).length
  })
  return Promise.all([one!, two!])
}

test('a session that a worker holds is reached from each worker of another gateway', OPTIONS, async (t) => {
  const { a, b } = await beside(t)
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    const { headers } = await openSession(one.url('s'))
    for (const { url } of [other, other, other, other, one, one])
      assert.equal((await post(url('s'), LIST, headers)).status, 200)
    assert.equal((await ask(other.url('s'), 'DELETE', headers)).status, 204)
    for (const { url } of [one, other, one, other])
      assert.equal((await post(url('s'), LIST, headers)).status, 404)
  }
})

test('rates count once over workers of all gateways, without Redis over one’s own', OPTIONS, async (t) => {
  const { redis, a, b } = await beside(t)
  const [one, two] = await taken({ a, b }, LIMIT)
  assert.equal(one + two, LIMIT)
  const [victim] = await a.workers()
  process.kill(victim!.pid, 'SIGKILL')
  await until(async () => (await a.workers()).filter(({ pid }) => pid !== victim!.pid).length === 2)
  assert.deepEqual(await taken({ a, b }, LIMIT), [0, 0])
  await redis.stop()
  assert.deepEqual(await taken({ a, b }, LIMIT * 2), [LIMIT, LIMIT])
})

test('a message has each gateway reload once, and all workers serve what came of it', OPTIONS, async (t) => {
  const { a, b, tools, notify } = await beside(t)
  assert.deepEqual(await servedNames(a), ['echo'])
  for (const { folder } of [a, b]) writeFileSync(join(folder, 'tools.yaml'), renamed(tools, 'second'))
  assert.equal((await notify()).code, 0)
  const reloads = (gateway: typeof a) => gateway.stderr().match(/"trigger":"redis"[^\n]*"msg":"reloaded"/g)
  for (const gateway of [a, b]) {
    await gateway.until(/"trigger":"redis"[^\n]*"changed":\["tools"\]/)
    assert.deepEqual(await servedNames(gateway), ['second'])
  }
  assert.equal((await notify()).code, 0)
  // The first one was when it began to listen.
  for (const gateway of [a, b]) await until(async () => reloads(gateway)?.length === 3)
})

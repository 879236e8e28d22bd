import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { noRedis, redisServer } from '../support/redis.ts'
import { type Served, served } from '../support/served.ts'

const skip = noRedis

const configuration = {
  name: 'a',
  routers: [{ server: 's', prefix: '/a' }],
  servers: [{ name: 's' }],
  tools: [{ name: 'now', description: 'A tool', method: 'GET', endpoint: 'http://127.0.0.1:9/now' }],
}

async function replica(t: TestContext, redis: object): Promise<Served> {
  const rate = [
    { per: 'caller', limit: 3, window: '1h' },
    { per: 'tenant', limit: 1000, window: '1s' },
  ]
  const gateway = await served(t, [configuration], { settings: { rate, redis } })
  await gateway.until(TOGETHER)
  return gateway
}

const ping = (at: Served) => at.post('/a/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' })
const statuses = async (at: Served, count: number) => {
  const found: number[] = []
  for (let i = 0; i < count; i++) found.push((await ping(at)).status)
  return found
}
const LOST = /rates are counted by this process alone/g
const TOGETHER = /rates are counted together with the other replicas/
const AGAIN = /(?:rates are counted together[\s\S]*){2}/

test('replicas count together in Redis, and alone while it is away', { skip }, async (t) => {
  const redis = await redisServer(t)
  const [one, two] = [await replica(t, { addr: redis.addr }), await replica(t, { addr: redis.addr })]
  // Pings without a session are 400.
  assert.deepEqual(await statuses(one, 2), [400, 400])
  assert.deepEqual(await statuses(two, 2), [400, 429])
  const refused = await ping(one)
  assert.equal(refused.status, 429)
  assert.equal(refused.headers['retry-after'], '1200')
  await redis.stop()
  assert.deepEqual(await statuses(one, 4), [400, 400, 400, 429])
  assert.equal(one.stderr().match(LOST)?.length, 1)
  await redis.start()
  await one.until(AGAIN)
  assert.deepEqual(await statuses(one, 4), [400, 400, 400, 429])
})

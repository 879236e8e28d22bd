import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { noRedis, redisCluster, redisServer } from '../support/redis.ts'
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
const LOST = /rates are counted by this gateway alone/g
/** Each has a connection of its own. */
const WORKERS = Number(process.env.PLANTGW_WORKERS ?? 1)
const together = (times: number) => new RegExp(`(?:rates are counted together[\\s\\S]*){${times * WORKERS}}`)
const TOGETHER = together(1)
const AGAIN = together(2)

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
  const lost = one.stderr().match(LOST)?.length ?? 0
  assert.ok(lost >= 1 && lost <= WORKERS, String(lost))
  await redis.start()
  await one.until(AGAIN)
  assert.deepEqual(await statuses(one, 4), [400, 400, 400, 429])
})

test('replicas count together in a Redis Cluster, whichever nodes they know', { skip }, async (t) => {
  const nodes = await redisCluster(t, 3)
  const owners: string[] = []
  for (const { addr, command } of nodes)
    if (!String(await command('get', '{plantgw:rate}:x')).includes('MOVED')) owners.push(addr)
  assert.equal(owners.length, 1)
  // One that holds nothing, and one of the others behind an address where nobody listens.
  const [other, another] = nodes.filter(({ addr }) => !owners.includes(addr))
  const one = await replica(t, { cluster_type: 'cluster', addr: other!.addr })
  const two = await replica(t, { cluster_type: 'cluster', addr: `127.0.0.1:1, ${another!.addr}` })
  assert.deepEqual(await statuses(one, 2), [400, 400])
  assert.deepEqual(await statuses(two, 2), [400, 429])
  assert.equal((await ping(one)).status, 429)
  const owner = nodes.find(({ addr }) => owners.includes(addr))!
  await owner.stop()
  // Each alone again.
  assert.deepEqual(await statuses(one, 4), [400, 400, 400, 429])
})

test('a node of a cluster that is taken for a single server is named in the log', { skip }, async (t) => {
  const nodes = await redisCluster(t, 3)
  const [other] = await Promise.all(
    nodes.map(async (node) => [node, await node.command('get', '{plantgw:rate}:x')] as const),
  ).then((asked) => asked.flatMap(([node, answer]) => (String(answer).includes('MOVED') ? [node] : [])))
  const gateway = await replica(t, { addr: other!.addr })
  assert.equal((await ping(gateway)).status, 400)
  await gateway.until(/MOVED[^\n]*cluster_type: cluster/)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Redis } from 'ioredis'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'
import { noRedis, type RedisServer, redisServer } from '../support/redis.ts'

const skip = noRedis

const configuration = (name: string, tool = 'now', more = '') => `
name: ${name}
routers: [{ server: s, prefix: /${name} }]
servers: [{ name: s, description: A test }]
tools: [{ name: ${tool}, description: A tool, method: GET, endpoint: "http://127.0.0.1:9/now" }]
${more}`

interface Rig {
  /** Writes a configuration of the folder that the gateways serve. */
  write(name: string, tool?: string): void
  /** Starts a gateway. */
  serve(): Promise<ReturnType<typeof plantgw>>
  reload(...args: string[]): ReturnType<typeof run>
}

async function rig(t: TestContext, redis: object): Promise<Rig> {
  const folder = temporaryFolder(t)
  const configs = join(folder, 'a.yaml')
  const settings = join(folder, 'plantgw.yml')
  writeFileSync(
    settings,
    JSON.stringify({ notifier: { type: 'redis', redis: { topic: 'reload', ...redis } } }),
  )
  writeFileSync(configs, configuration('a'))
  return {
    write: (name, tool) => writeFileSync(configs, configuration(name, tool)),
    reload: (...args) => run(t, ['reload', '-s', settings, ...args]),
    async serve() {
      const port = String(await freePort())
      const flags = ['-s', settings, '--port', port, '--log-format', 'json']
      const gateway = plantgw(t, ['serve', configs, ...flags])
      // The first reload is the one once it listens on the topic.
      await gateway.until(/"trigger":"redis"/)
      return gateway
    },
  }
}

/** What is published on a topic from now on. */
async function listen(t: TestContext, server: RedisServer, topic = 'reload') {
  const redis = new Redis({ port: server.port, disableClientInfo: true })
  t.after(() => redis.disconnect())
  redis.on('error', () => {})
  await redis.subscribe(topic)
  const waiting: ((text: string) => void)[] = []
  redis.on('message', (_, text: string) => waiting.shift()?.(text))
  return { next: () => new Promise<string>((resolve) => waiting.push(resolve)) }
}

test('every gateway that listens on the topic reloads', { skip }, async (t) => {
  const server = await redisServer(t)
  const { write, serve, reload } = await rig(t, { addr: server.addr })
  const gateways = [await serve(), await serve()]
  write('a', 'later')
  const sent = await reload('a')
  assert.match(sent.stdout, /^published to reload at redis:\/\/127\.0\.0\.1:\d+: see the logs/)
  assert.equal(sent.code, 0)
  await Promise.all(gateways.map((one) => one.until(/"trigger":"redis",.*"changed":\["a"\]/)))
})

test('a broker that went away is asked again, and what was missed is read then', { skip }, async (t) => {
  const server = await redisServer(t)
  const { write, serve, reload } = await rig(t, { addr: server.addr })
  const gateway = await serve()
  await server.stop()
  await gateway.until(/"broker":"redis:\/\/127.*lost connection to the reload broker/)
  write('a', 'missed')
  const failed = await reload()
  assert.equal(failed.code, 2)
  assert.match(
    failed.stderr,
    /^plantgw: redis:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED.*\n {2}hint: Start the server/,
  )
  await server.start()
  await gateway.until(/reconnected to the reload broker/)
  await gateway.until(/"changed":\["a"\]/)
  write('b')
  assert.equal((await reload()).code, 0)
  await gateway.until(/"added":\["b"\]/)
  // One line when it is lost, however often it was asked.
  assert.equal(
    gateway.stderr().match(/lost connection/g)?.length ?? gateway.stdout().match(/lost connection/g)?.length,
    1,
  )
})

test('in a cluster a message to one node reaches who listens at another', { skip }, async (t) => {
  const flags = ['--cluster-enabled', 'yes']
  const [one, two] = [await redisServer(t, flags), await redisServer(t, flags)]
  await one.command('cluster', 'addslotsrange', '0', '16383')
  await one.command('cluster', 'meet', '127.0.0.1', String(two.port))
  for (const node of [one, two])
    while (!/cluster_known_nodes:2/.test(String(await node.command('cluster', 'info'))));
  const gateway = await (await rig(t, { cluster_type: 'cluster', addr: two.addr })).serve()
  const topic = await listen(t, two)
  const heard = topic.next()
  // The first address is down.
  const addr = `127.0.0.1:${await freePort()}, ${one.addr}`
  const sender = await rig(t, { cluster_type: 'cluster', addr })
  assert.equal((await sender.reload('a')).code, 0)
  assert.equal(JSON.parse(await heard).name, 'a')
  // Once when it began to listen, and now.
  await gateway.until(/(?:"trigger":"redis"[\s\S]*){2}/)
})

test('behind sentinels the master is found, also once it is another one', { skip }, async (t) => {
  const master = await redisServer(t)
  const replica = await redisServer(t, ['--replicaof', `127.0.0.1 ${master.port}`])
  const watched = `sentinel monitor plants 127.0.0.1 ${master.port} 1
sentinel down-after-milliseconds plants 300
sentinel failover-timeout plants 2000`
  const sentinel = await redisServer(t, [], watched)
  const { write, serve, reload } = await rig(t, {
    cluster_type: 'sentinel',
    addr: sentinel.addr,
    master_name: 'plants',
  })
  const gateway = await serve()
  write('a', 'first')
  assert.equal((await reload()).code, 0)
  await gateway.until(/"changed":\["a"\]/)
  while (!String(await sentinel.command('sentinel', 'replicas', 'plants')).includes(String(replica.port)));
  await master.stop()
  const masterNow = async () =>
    ((await sentinel.command('sentinel', 'get-master-addr-by-name', 'plants')) as string[])[1]
  while ((await masterNow()) !== String(replica.port));
  await gateway.until(/reconnected to the reload broker/)
  write('b')
  assert.equal((await reload()).code, 0)
  await gateway.until(/"added":\["b"\]/)
})

test('a wrong password is told without it, and what is no message is ignored', { skip }, async (t) => {
  const server = await redisServer(t, ['--requirepass', 's3cret-of-redis'])
  const wrong = await rig(t, { addr: server.addr, password: 'not-the-one' })
  const refused = await wrong.reload()
  assert.equal(refused.code, 2)
  assert.match(refused.stderr, /WRONGPASS/)
  assert.doesNotMatch(refused.stderr, /not-the-one/)
  const none = await (await rig(t, { addr: server.addr })).reload()
  assert.match(none.stderr, /NOAUTH/)
  const { serve } = await rig(t, { addr: server.addr, password: 's3cret-of-redis' })
  const gateway = await serve()
  const redis = new Redis({ port: server.port, password: 's3cret-of-redis' })
  for (const text of [
    'hello',
    '{"event":"other"}',
    '[]',
    'null',
    '{"event":"reload","name":7}',
    'x'.repeat(9000),
  ])
    await redis.publish('reload', text)
  redis.disconnect()
  await gateway.until(/(?:ignored an invalid reload message[\s\S]*){6}/)
  assert.doesNotMatch(gateway.stdout() + gateway.stderr(), /s3cret-of-redis/)
})

test('config commands tell the notifier of the configuration, else that of the settings', {
  skip,
}, async (t) => {
  const server = await redisServer(t)
  const folder = temporaryFolder(t)
  const settings = join(folder, 'plantgw.yml')
  const notifier = { type: 'redis', redis: { addr: server.addr, topic: 'of-settings' } }
  writeFileSync(settings, JSON.stringify({ storage: { type: 'lowdb', file: 'store.json' }, notifier }))
  const [common, own] = [await listen(t, server, 'of-settings'), await listen(t, server, 'of-b')]
  const config = (...args: string[]) => run(t, ['config', args[0]!, '-s', settings, ...args.slice(1)])
  const apply = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return config('apply', '-f', join(folder, name))
  }

  let heard = common.next()
  assert.match((await apply('a.yaml', configuration('a'))).stdout, /published to of-settings/)
  const { sender, ...message } = JSON.parse(await heard)
  assert.deepEqual(message, { event: 'reload', name: 'a' })
  assert.match(sender, /:\d+$/)

  heard = own.next()
  const ofB = `notifier: {type: redis, redis: {addr: "${server.addr}", topic: of-b}}\n`
  assert.equal((await apply('b.yaml', configuration('b', 'now', ofB))).code, 0)
  assert.equal(JSON.parse(await heard).name, 'b')
  const unchanged = await config('apply', '-f', join(folder, 'b.yaml'))
  assert.doesNotMatch(unchanged.stdout, /published/)

  // Gateways that serve the version before listen where that says.
  heard = own.next()
  const both = await apply('b.yaml', configuration('b', 'now'))
  assert.match(both.stdout, /published to of-b[\s\S]*published to of-settings/)
  assert.equal(JSON.parse(await heard).name, 'b')
  assert.equal((await apply('b.yaml', configuration('b', 'now', ofB))).code, 0)

  heard = own.next()
  assert.match((await config('delete', 'b')).stdout, /published to of-b/)
  assert.equal(JSON.parse(await heard).name, 'b')

  // They may swap prefixes: neither can be applied without the other.
  const all = [common.next(), own.next()]
  writeFileSync(join(folder, 'a.yaml'), configuration('a', 'new'))
  assert.equal((await config('apply', '-f', join(folder, 'a.yaml'), join(folder, 'b.yaml'))).code, 0)
  for (const text of await Promise.all(all)) assert.equal(JSON.parse(text).name, undefined)

  await server.stop()
  const untold = await apply('a.yaml', configuration('a', 'other'))
  assert.equal(untold.code, 0)
  assert.match(untold.stderr, /warning: the change is written, but a gateway could not be notified: redis:/)
})

test('a gateway listens to the notifiers of its configurations, as long as it serves them', {
  skip,
}, async (t) => {
  const server = await redisServer(t)
  const folder = temporaryFolder(t)
  const file = join(folder, 'a.yaml')
  const own = `notifier: {type: redis, redis: {addr: "${server.addr}", topic: own}}\n`
  writeFileSync(file, configuration('a', 'now', own))
  const gateway = plantgw(t, ['serve', file, '--port', '0', '--log-format', 'json'])
  await gateway.until(/"trigger":"redis"/)
  writeFileSync(file, configuration('a', 'later'))
  await server.command('publish', 'own', '{"event":"reload","sender":"test"}')
  await gateway.until(/"changed":\["a"\]/)
  // It has left the topic.
  while (Number(((await server.command('pubsub', 'numsub', 'own')) as unknown[])[1]) !== 0);
})

test('a start that fails ends, although Redis or its sentinel never answers', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  t.after(() => silent.close())
  await once(silent, 'listening')
  const addr = `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const folder = temporaryFolder(t)
  const [settings, file] = [join(folder, 'plantgw.yml'), join(folder, 'a.yaml')]
  writeFileSync(file, configuration('a').replace('server: s', 'server: missing'))
  for (const redis of [{ addr }, { addr, cluster_type: 'sentinel', master_name: 'plants' }]) {
    writeFileSync(settings, JSON.stringify({ redis }))
    const { code, stderr } = await run(t, ['serve', file, '-s', settings, '--port', '0'])
    assert.equal(code, 1, stderr)
  }
})

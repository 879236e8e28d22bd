import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import type { AddressInfo, Server, Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'
import { noRedis, redisServer } from '../support/redis.ts'

const REFUSED = /to which this gateway does not connect \(outbound\)/

/** Listens on the loopback, or on a Unix socket, and counts connections. */
async function counting(t: TestContext, server: Server, path?: string) {
  const seen = { connections: 0, port: 0 }
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    seen.connections++
    sockets.add(socket)
    socket.on('error', () => {})
  })
  if (path === undefined) server.listen(0, '127.0.0.1')
  else server.listen(path)
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  if (path === undefined) seen.port = (server.address() as AddressInfo).port
  return seen
}

const gateway = () =>
  createHttp((_, response) => response.end(JSON.stringify({ generation: 1, changed: ['shop'] })))

function settingsOf(outbound: object, more: object = {}) {
  const tokens = [{ token: 'a-token-of-the-tenant-green', caller: 'ann' }]
  return { tenants: [{ name: 'green', prefix: '/green', tokens, notifier: true, outbound }], ...more }
}

const shop = (notifier: object | undefined, tenant = 'green') => ({
  name: 'shop',
  tenant,
  routers: [{ server: 'shop', prefix: tenant === 'green' ? '/green/shop' : '/shop' }],
  servers: [{ name: 'shop', description: 'A shop' }],
  tools: [{ name: 'get', description: 'Gets', method: 'GET', endpoint: 'https://example.com/' }],
  ...(notifier && { notifier }),
})

/** What `config put` says of a notifier. */
async function put(t: TestContext, configuration: object, settings: object) {
  const folder = temporaryFolder(t)
  const storage = { type: 'lowdb', file: join(folder, 'store.json') }
  writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify({ storage, ...settings }))
  writeFileSync(join(folder, 'shop.yaml'), JSON.stringify(configuration))
  const args = [
    'config',
    'apply',
    '-f',
    join(folder, 'shop.yaml'),
    '--settings',
    join(folder, 'plantgw.yaml'),
  ]
  const { code, stdout, stderr } = await run(t, args)
  assert.equal(code, 0, stdout + stderr)
  return stdout + stderr
}

test('a notifier over HTTP leads to no address that its tenant may not reach', async (t) => {
  const seen = await counting(t, gateway())
  const api = { type: 'api', api: { target_url: `http://127.0.0.1:${seen.port}/_reload` } }
  assert.match(await put(t, shop(api), settingsOf({})), REFUSED)
  const path = join(temporaryFolder(t), 'admin.sock')
  const behind = await counting(t, gateway(), path)
  const socket = { type: 'api', api: { target_url: `unix:${path}` } }
  assert.match(await put(t, shop(socket), settingsOf({})), REFUSED)
  assert.equal(seen.connections + behind.connections, 0)
  // What is allowed to the tenant, what has no tenant, and what the settings name.
  assert.match(
    await put(t, shop(api), settingsOf({ allowHosts: [`127.0.0.1:${seen.port}`] })),
    /generation 1/,
  )
  assert.match(await put(t, shop(api, 'default'), settingsOf({})), /generation 1/)
  assert.match(await put(t, shop(undefined), settingsOf({}, { notifier: api })), /generation 1/)
  assert.match(await put(t, shop(socket, 'default'), settingsOf({})), /generation 1/)
  assert.deepEqual([seen.connections, behind.connections], [3, 1])
})

test('a notifier of no tenant leads to no metadata service', async (t) => {
  const api = { type: 'api', api: { target_url: 'http://169.254.169.254/_reload' } }
  assert.match(await put(t, shop(api, 'default'), {}), REFUSED)
  const redis = { type: 'redis', redis: { addr: '169.254.169.254:6379', topic: 'reload' } }
  assert.match(await put(t, shop(redis, 'default'), {}), REFUSED)
})

/** Starts a gateway of one configuration, until its log has a line. */
async function serve(t: TestContext, configuration: object, settings: object, until: RegExp) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify(settings))
  writeFileSync(join(folder, 'configs', 'shop.yaml'), JSON.stringify(configuration))
  const flags = [
    '-s',
    join(folder, 'plantgw.yaml'),
    '--port',
    String(await freePort()),
    '--log-format',
    'json',
  ]
  const running = plantgw(t, ['serve', join(folder, 'configs'), ...flags])
  await running.until(until)
  return running
}

const LOST = /"tenant":"green","class":"loopback".*lost connection to the reload broker/s

test('a gateway listens to no broker that the tenant may not reach', { skip: noRedis }, async (t) => {
  const server = await redisServer(t)
  const notifier = (addr: string) => ({ type: 'redis', redis: { addr, topic: 'reload' } })
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]'])
    await serve(t, shop(notifier(`${host}:${server.port}`)), settingsOf({}), LOST)
  assert.doesNotMatch(String(await server.command('client', 'list')), /plantgw/)
  const outbound = { allowHosts: [`127.0.0.1:${server.port}`] }
  await serve(t, shop(notifier(server.addr)), settingsOf(outbound), /"trigger":"redis"/)
  assert.match(String(await server.command('client', 'list')), /name=plantgw/)
})

test('the masters that sentinels name are judged too', { skip: noRedis }, async (t) => {
  const master = await redisServer(t)
  const sentinel = await redisServer(t, [], `sentinel monitor mymaster 127.0.0.1 ${master.port} 1`)
  const redis = { cluster_type: 'sentinel', addr: sentinel.addr, topic: 'reload' }
  const outbound = { allowHosts: [sentinel.addr] }
  await serve(t, shop({ type: 'redis', redis }), settingsOf(outbound), LOST)
  assert.doesNotMatch(String(await master.command('client', 'list')), /name=plantgw/)
  const both = { allowHosts: [sentinel.addr, master.addr] }
  await serve(t, shop({ type: 'redis', redis }), settingsOf(both), /"trigger":"redis"/)
})

test('commands connect to no metadata service', async (t) => {
  const url = 'http://169.254.169.254/openapi.json'
  const imported = await run(t, ['import', 'openapi', url])
  const told = `cannot fetch ${url}: http://169.254.169.254 is at the address of a metadata service, to which this gateway does not connect (outbound)`
  assert.equal(imported.code, 2)
  assert.ok(imported.stderr.includes(told), imported.stderr)
  const folder = temporaryFolder(t)
  const configuration = {
    ...shop(undefined, 'default'),
    tools: [{ name: 'get', description: 'Gets', method: 'GET', endpoint: 'http://0xA9FEA9FE/' }],
    mcpServers: [{ name: 'meta', type: 'streamable-http', url: 'http://[::ffff:169.254.169.254]/mcp' }],
  }
  writeFileSync(join(folder, 'shop.yaml'), JSON.stringify(configuration))
  const { code, stdout } = await run(t, ['check-endpoints', folder, '--format', 'json'])
  assert.equal(code, 1)
  const { checks } = JSON.parse(stdout)
  for (const { steps } of checks) assert.match(steps.at(-1).detail, REFUSED)
  assert.equal(checks.length, 2)
})

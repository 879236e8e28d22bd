import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { rulesOf } from '../../src/build/check-configurations.ts'
import { isLoopback } from '../../src/net/index.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

const TOKEN = 'a-token-of-the-only-agent'
const BEARER = { type: 'bearer', tokens: [{ token: TOKEN, caller: 'agent' }] }

/** A configuration with a router for each of these `auth`; undefined: it has none. */
function configuration(name: string, ...auths: (object | undefined)[]) {
  const routers = auths.map((auth, i) => ({ server: name, prefix: `/${name}${i}`, ...(auth && { auth }) }))
  return { name, routers, servers: [{ name }] }
}

function folderOf(t: TestContext, settings: object, ...configurations: { name: string }[]) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  const write = (one: { name: string }) =>
    writeFileSync(join(folder, 'configs', `${one.name}.yaml`), JSON.stringify(one))
  for (const one of configurations) write(one)
  writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify(settings))
  return { cwd: folder, write }
}

const serve = ['serve', 'configs', '--settings', 'plantgw.yaml', '--log-format', 'json']

test('beyond this machine serve opens no port for routers that authenticate nobody', async (t) => {
  const port = await freePort()
  const auths = [undefined, { type: 'none' }, BEARER, ...Array(10).fill(undefined)]
  const { cwd } = folderOf(t, { host: '0.0.0.0', port, pid: 'gateway.pid' }, configuration('shop', ...auths))
  const { code, stdout, stderr } = await run(t, serve, { cwd })
  assert.equal(code, 2)
  assert.equal(stdout, '')
  const lines = stderr.split('\n')
  assert.deepEqual(
    [lines[0], lines[1], lines[2]],
    [
      'plantgw: not started: other machines could call tools without saying who they are',
      '  configs/shop.yaml:1:53: the router `/shop0` has no authentication, and other machines reach it at `0.0.0.0`',
      '  configs/shop.yaml:1:113: the router `/shop1` has no authentication, and other machines reach it at `0.0.0.0`',
    ],
  )
  assert.ok(!stderr.includes('/shop2`'))
  assert.deepEqual(lines.slice(11, 13), ['  and 2 more', 'Do one of these:'])
  for (const way of [
    'add `auth`',
    'allowUnauthenticated: true',
    '--allow-unauthenticated',
    '--host 127.0.0.1',
  ])
    assert.ok(stderr.includes(way), way)
})

test('other errors are told beside it, and validate finds the same', async (t) => {
  const faulty = { ...configuration('faulty', BEARER), oops: 1 }
  const { cwd } = folderOf(
    t,
    { host: '::', port: await freePort() },
    configuration('shop', undefined),
    faulty,
  )
  const { code, stderr } = await run(t, serve, { cwd })
  assert.equal(code, 2)
  assert.match(stderr, /unknown key `oops`/)
  const validated = await run(t, ['validate', 'configs', '-s', 'plantgw.yaml', '--format', 'json'], { cwd })
  assert.equal(validated.code, 1)
  assert.match(validated.stdout, /"open-router"/)
  const alone = await run(t, ['validate', join(cwd, 'configs'), '--format', 'json'])
  assert.doesNotMatch(alone.stdout, /open-router/)
})

test('who says so opens them, by flag, variable or settings, and is warned', async (t) => {
  const { cwd } = folderOf(t, { host: '0.0.0.0', port: 0 }, configuration('shop', undefined, BEARER))
  for (const [more, env] of [
    [['--allow-unauthenticated'], {}],
    [[], { PLANTGW_ALLOW_UNAUTHENTICATED: 'true' }],
  ] as const) {
    const gateway = plantgw(t, [...serve, ...more], { cwd, env })
    await gateway.until(/plantgw serves 2 prefixes/)
    await gateway.until(/"level":"warn".*"prefixes":\["\/shop0"\].*allowUnauthenticated/)
  }
})

test('a reload opens nothing: the version with auth stays, and a new one is not served', async (t) => {
  const port = await freePort()
  const { cwd, write } = folderOf(t, { host: '0.0.0.0', port }, configuration('shop', BEARER))
  const gateway = plantgw(t, serve, { cwd })
  await gateway.until(/plantgw serves 1 prefix/)
  const status = async (path: string, headers = {}) =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers })).status
  const known = { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/plain' }
  assert.deepEqual([await status('/shop0/mcp'), await status('/shop0/mcp', known)], [401, 415])
  write(configuration('shop', undefined))
  write(configuration('fresh', undefined))
  gateway.child.kill('SIGHUP')
  await gateway.until(/reloaded with errors/)
  assert.match(gateway.stderr(), /the router `\/fresh0` has no authentication/)
  assert.deepEqual([await status('/shop0/mcp'), await status('/fresh0/mcp')], [401, 404])
})

test('--skip-invalid serves the others', async (t) => {
  const port = await freePort()
  const { cwd } = folderOf(
    t,
    { host: '0.0.0.0', port },
    configuration('shop', undefined),
    configuration('safe', BEARER),
  )
  const gateway = plantgw(t, [...serve, '--skip-invalid'], { cwd })
  await gateway.until(/plantgw serves 1 prefix/)
  const { status } = await fetch(`http://127.0.0.1:${port}/shop0/mcp`, { method: 'POST' })
  assert.equal(status, 404)
})

test('tokens of a tenant are credentials too', async (t) => {
  const owned = (tenant: string) => ({ ...configuration(tenant, undefined), tenant })
  const tenants = [
    { name: 'green', prefix: '/green0', tokens: [{ token: TOKEN, caller: 'agent' }] },
    { name: 'blue', prefix: '/blue0' },
  ]
  const { cwd } = folderOf(t, { host: '0.0.0.0', port: 0, tenants }, owned('green'), owned('blue'))
  const { code, stderr } = await run(t, serve, { cwd })
  assert.equal(code, 2)
  assert.deepEqual([stderr.includes('`/blue0`'), stderr.includes('`/green0`')], [true, false])
})

test('which addresses other machines do not reach', () => {
  const here = ['127.0.0.1', '127.8.9.1', 'localhost', 'LOCALHOST', 'a.localhost', '::1', '0:0:0:0:0:0:0:1']
  const mapped = ['::ffff:127.0.0.1', '::ffff:7f00:1', '::FFFF:127.9.9.9', '0:0:0:0:0:ffff:127.0.0.1']
  const away = '0.0.0.0 :: 0 127.1 2130706433 10.0.0.1 ::ffff:10.0.0.1 ::ffff:0:0 fe80::1'.split(' ')
  const names = [
    'gateway',
    'localhost.example.com',
    '127.0.0.1.example.com',
    '',
    '[::1]',
    '/run/plantgw.sock',
  ]
  for (const host of [...here, ...mapped]) assert.equal(isLoopback(host), true, host)
  for (const host of [...away, ...names]) assert.equal(isLoopback(host), false, host)
  const settings = { host: '0.0.0.0', allowUnauthenticated: false }
  assert.equal(rulesOf(settings).exposedAt, '0.0.0.0')
  assert.equal(rulesOf({ ...settings, host: '::1' }).exposedAt, undefined)
  assert.equal(rulesOf({ ...settings, allowUnauthenticated: true }).exposedAt, undefined)
})

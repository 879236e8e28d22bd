import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { StorageSettings } from '../../src/config/index.ts'
import { freePort, plantgw, type Running, temporaryFolder } from '../support/process.ts'
import { statement } from '../support/services.ts'
import { another } from './contract.ts'
import { sound } from './files.ts'
import { KINDS } from './kinds.ts'
import { proxyTo } from './proxy.ts'

const BY = { author: 'ann' }
const put = (name: string, note = 'first', version?: string) => ({
  name,
  tenant: 'default',
  text: sound(name, note),
  ...(version !== undefined && { version }),
})

/** `serve` over a store; its settings are JSON, which is YAML. */
async function serve(t: TestContext, storage: StorageSettings | object, args: string[] = []) {
  const cwd = temporaryFolder(t)
  writeFileSync(join(cwd, 'plantgw.yml'), JSON.stringify({ storage }))
  const port = await freePort()
  const running = plantgw(
    t,
    ['serve', '-s', 'plantgw.yml', '--port', `${port}`, '--log-format', 'json', ...args],
    { cwd },
  )
  return { ...running, port }
}

const count = ({ stderr }: Running, pattern: RegExp) => stderr().match(pattern)?.length ?? 0

for (const { type, make, skip = false } of KINDS) {
  if (type === 'directory') continue

  test(`${type}: changes of the store are live by themselves`, { skip }, async (t) => {
    const made = await make(t)
    const store = await another(t, made)
    await store.apply([put('a')], BY)
    const gateway = await serve(t, { ...made, poll: '100ms' })
    await gateway.until(/plantgw serves/)
    await store.apply([put('b')], BY)
    await gateway.until(/"trigger":"(poll|notify)".*"added":\["b"\]/)
    await store.apply([put('a', 'second', '1')], BY)
    await gateway.until(/"trigger":"(poll|notify)".*"changed":\["a"\]/)
    await store.apply([{ name: 'b', tenant: 'default', version: '1', deleted: true }], BY)
    await gateway.until(/"trigger":"(poll|notify)".*"removed":\["b"\]/)
    // What is refused is refused once, not at every look.
    await store.apply([{ ...put('a', '', '2'), text: 'name: [' }, put('c')], BY)
    await gateway.until(/"refused":\["a"\]/)
    await store.apply([put('d')], BY)
    await gateway.until(/"added":\["d"\]/)
    assert.equal(count(gateway, /"trigger":/g), 5, gateway.stderr())
    gateway.child.kill('SIGTERM')
    assert.equal(await gateway.ended, 0)
  })

  test(`${type}: a store that is not polled is read at a reload only`, { skip }, async (t) => {
    const made = await make(t)
    const store = await another(t, made)
    await store.apply([put('a')], BY)
    const gateway = await serve(t, { ...made, poll: '0s' })
    await gateway.until(/plantgw serves/)
    await store.apply([put('b')], BY)
    gateway.child.kill('SIGHUP')
    await gateway.until(/"trigger":"SIGHUP".*"added":\["b"\]/)
    assert.equal(count(gateway, /"trigger":/g), 1)
  })
}

for (const { type, make, skip = false } of KINDS) {
  if (type === 'directory' || type === 'lowdb') continue

  /** A gateway whose server can be taken away. */
  const behindProxy = async (t: TestContext, args: string[] = [], poll = '100ms', stopped = false) => {
    const made = await make(t)
    assert.ok('url' in made)
    const proxy = await proxyTo(t, made.url)
    const store = await another(t, made)
    await store.apply([put('a')], BY)
    if (stopped) await proxy.stop()
    const gateway = await serve(t, { type, url: proxy.url, poll }, args)
    return { proxy, store, gateway }
  }

  test(`${type}: a server that goes away is told once, and caught up with when it is back`, {
    skip,
  }, async (t) => {
    const { proxy, store, gateway } = await behindProxy(t)
    await gateway.until(/plantgw serves/)
    for (let round = 1; round <= 3; round++) {
      await proxy.stop()
      await store.apply([put(`n${round}`)], BY)
      await gateway.until(new RegExp(`(store unavailable[\\s\\S]*){${round}}`))
      const answer = await fetch(`http://127.0.0.1:${gateway.port}/a/mcp`, { method: 'OPTIONS' })
      assert.equal(answer.status, 204)
      await proxy.start()
      await gateway.until(new RegExp(`"added":\\["n${round}"\\]`))
    }
    assert.equal(count(gateway, /store unavailable/g), 3, gateway.stderr())
    assert.equal(count(gateway, /store available again/g), 3)
    assert.equal(count(gateway, /unreadable-store/g), 0)
    assert.doesNotMatch(gateway.stderr(), /postgres:\/\/postgres@/)
  })

  test(`${type}: a server that is down at the start is told, or waited for with --skip-invalid`, {
    skip,
  }, async (t) => {
    const refused = await behindProxy(t, [], '100ms', true)
    assert.equal(await refused.gateway.ended, 1)
    assert.match(
      refused.gateway.stderr() + refused.gateway.stdout(),
      /^\S+: error: connect ECONNREFUSED .*\n {2}hint: Start the server, [\s\S]*--skip-invalid/m,
    )
    // What failed is tried again soon, however seldom it is looked at otherwise.
    const { proxy, gateway } = await behindProxy(t, ['--skip-invalid'], '1h', true)
    await gateway.until(/store unavailable/)
    await proxy.start()
    await gateway.until(/"added":\["a"\]/)
    assert.equal(count(gateway, /store (unavailable|available again)/g), 2)
  })

  if (type !== 'postgres') continue

  test('postgres: a change is told at once, again after the connection for it was lost', {
    skip,
  }, async (t) => {
    // With an hour between two looks it can only be the server that tells.
    const { proxy, store, gateway } = await behindProxy(t, [], '1h')
    await gateway.until(/plantgw serves/)
    await store.apply([put('b')], BY)
    await gateway.until(/"trigger":"(notify|poll)".*"added":\["b"\]/)
    await store.apply([put('c')], BY)
    await gateway.until(/"trigger":"notify".*"added":\["c"\]/)
    await proxy.stop()
    await gateway.until(/store unavailable/)
    await store.apply([put('d')], BY)
    await proxy.start()
    await gateway.until(/"trigger":"notify".*"added":\["d"\]/)
    await store.apply([put('e')], BY)
    await gateway.until(/"trigger":"notify".*"added":\["e"\]/)
    // Connections that the server itself ends.
    await statement(
      proxy.url,
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like 'plantgw%'",
    )
    await store.apply([put('f')], BY).catch(() => store.apply([put('f')], BY))
    await gateway.until(/"trigger":"notify".*"added":\["f"\]/)
  })
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoreError } from '../../src/store/index.ts'
import { statement } from '../support/services.ts'
import { another, applied, put } from './contract.ts'
import { KINDS } from './kinds.ts'
import { proxyTo } from './proxy.ts'

const unreachable = (label: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StoreError, String(error))
  assert.equal(error.kind, 'unreachable', error.message)
  assert.match(error.message, label)
  assert.doesNotMatch(error.message, /s3cret/)
  return true
}

for (const { type, make, skip = false } of KINDS) {
  if (type === 'directory' || type === 'lowdb') continue

  test(`${type}: a server that goes away is told of, and used again when it is back`, { skip }, async (t) => {
    const made = await make(t)
    assert.ok('url' in made)
    const proxy = await proxyTo(t, made.url)
    const store = await another(t, { type, url: proxy.url })
    const { a } = await applied(store, [put('a')])
    for (let round = 0; round < 3; round++) {
      await proxy.stop()
      await assert.rejects(
        store.list(),
        unreachable(new RegExp(`^${type}://127\\.0\\.0\\.1:\\d+/plantgw_test`)),
      )
      await assert.rejects(
        store.apply([put('b')], { author: 'x' }),
        unreachable(/may have been made: check before you/),
      )
      await proxy.start()
      assert.deepEqual(
        (await store.list()).map(({ name }) => name),
        ['a'],
      )
    }
    await applied(store, [put('a', 'two', a)])
  })

  test(`${type}: connections that the server closed while nobody looked are made again`, {
    skip,
  }, async (t) => {
    const made = await make(t)
    assert.ok('url' in made)
    const proxy = await proxyTo(t, made.url)
    const store = await another(t, { type, url: proxy.url })
    await applied(store, [put('a')])
    for (let round = 0; round < 3; round++) {
      await proxy.stop()
      await proxy.start()
      assert.equal((await store.list()).length, 1)
    }
  })

  test(`${type}: a server that is not there at the beginning is used once it is`, { skip }, async (t) => {
    const made = await make(t)
    assert.ok('url' in made)
    const proxy = await proxyTo(t, made.url)
    await proxy.stop()
    const store = await another(t, { type, url: proxy.url })
    await assert.rejects(store.readAll(), unreachable(/ECONNREFUSED/))
    await proxy.start()
    assert.deepEqual(await store.list(), [])
  })

  test(`${type}: a server that says nothing is given up after a while, and asked again`, {
    skip,
  }, async (t) => {
    const made = await make(t)
    assert.ok('url' in made)
    const proxy = await proxyTo(t, made.url)
    const store = await another(t, { type, url: proxy.url })
    await applied(store, [put('a')])
    proxy.freeze()
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const asking = store.list()
    t.mock.timers.tick(20_000)
    await assert.rejects(asking, unreachable(/no answer in 20 s/))
    t.mock.timers.reset()
    await proxy.start()
    assert.equal((await store.list()).length, 1)
  })

  test(`${type}: two that open an empty database at once make its tables once`, { skip }, async (t) => {
    const settings = await make(t)
    const stores = await Promise.all(Array.from({ length: 4 }, () => another(t, settings)))
    await Promise.all(stores.map((store, i) => applied(store, [put(`n${i}`)])))
    assert.equal((await stores[0]!.list()).length, 4)
  })

  test(`${type}: a database that a newer plantgw has changed is refused`, { skip }, async (t) => {
    const settings = await make(t)
    assert.ok('url' in settings)
    const store = await another(t, settings)
    await applied(store, [put('a')])
    const migration = `insert into plantgw_configuration_migration (name, timestamp) values ('999-new', '2099')`
    await statement(settings.url, migration)
    const older = await another(t, settings)
    await assert.rejects(older.list(), (error: Error) => {
      return error instanceof StoreError && error.kind === 'failed' && /newer release/.test(error.message)
    })
  })

  test(`${type}: wrong credentials are told without them`, { skip }, async (t) => {
    const settings = await make(t)
    assert.ok('url' in settings)
    const url = new URL(settings.url)
    url.username = 'nobody'
    url.password = 's3cret'
    const store = await another(t, { type, url: url.href })
    await assert.rejects(store.list(), (error: Error) => {
      assert.ok(error instanceof StoreError)
      assert.equal(error.kind, 'refused')
      assert.match(error.message, /nobody/)
      assert.doesNotMatch(error.message, /s3cret/)
      return true
    })
  })
}

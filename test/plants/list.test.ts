import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { serve } from '@hono/node-server'
import fc from 'fast-check'
import type { Hono } from 'hono'
import { request } from 'undici'
import { jsonArray } from '../../src/plants/app.ts'
import { lowdbStore } from '../../src/plants/lowdb.ts'
import { openSqlStore } from '../../src/plants/sql.ts'
import type { Plant, PlantStore } from '../../src/plants/store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { ownDatabase } from '../support/services.ts'
import { appOn, call, failing, memory } from './helpers.ts'
import { fill, PATIENT, SERVERS } from './servers.ts'

const COUNT = 100_000
const ann = { caller: 'ann', access: 'own' } as const

async function served(t: TestContext, app: Hono): Promise<string> {
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/plants`
}

const headers = { authorization: 'Bearer token-ann' }

/** The store, and how many pieces of lists it was asked for. */
function counted(store: PlantStore): { store: PlantStore; asked: () => number; ended: () => number } {
  let asked = 0
  let ended = 0
  async function* list(...[access]: Parameters<PlantStore['list']>) {
    try {
      asked++
      for await (const piece of store.list(access)) {
        yield piece
        asked++
      }
    } finally {
      ended++
    }
  }
  return { store: { ...store, list }, asked: () => asked, ended: () => ended }
}

const kinds: { type: string; skip: string | false; open: (t: TestContext) => Promise<PlantStore> }[] = [
  {
    type: 'lowdb',
    skip: false,
    open: async () => {
      const stored = (index: number) => ({ owner: 'ann', place: index + 1, plant: { name: `${index}` } })
      const plants = Array.from({ length: COUNT }, (_, index) => [BigInt(index), stored(index)] as const)
      return lowdbStore(memory().adapter, new Map(plants))
    },
  },
  ...SERVERS.map(({ type, server, skip }) => ({
    type,
    skip,
    open: async (t: TestContext) => {
      const url = await ownDatabase(t, server)
      const store = await openSqlStore(type, url, { ...PATIENT, connections: 2, connect: 5_000 })
      t.after(() => store.close())
      await fill(type, url, COUNT)
      return store
    },
  })),
]

for (const { type, skip, open } of kinds) {
  test(`${type}: ${COUNT} plants are listed as a stream, whole and in order`, { skip }, async (t) => {
    const answer = await request(await served(t, appOn(await open(t))), { headers })
    assert.equal(answer.headers['transfer-encoding'], 'chunked')
    assert.match(String(answer.headers['content-type']), /^application\/json/)
    const plants = (await answer.body.json()) as Plant[]
    assert.equal(plants.length, COUNT)
    for (const [index, plant] of plants.entries()) assert.deepEqual(plant, { name: `${index}` })
  })

  test(`${type}: no more is read than the client takes, and nothing once it has gone`, {
    skip,
  }, async (t) => {
    const { store, asked, ended } = counted(await open(t))
    const reader = (await call(appOn(store), '/plants')).body!.getReader()
    for (let taken = 1; taken <= 3; taken++) {
      const { value } = await reader.read()
      assert.ok(value!.byteLength < 128 * 1024)
      // 64 Ki characters are less than six pieces of the list, and two of the text are made ahead.
      assert.ok(asked() <= (taken + 2) * 6, `${asked()} pieces for ${taken}`)
    }
    await reader.cancel()
    assert.equal(ended(), 1)
    const before = asked()
    assert.equal(await store.create(ann, { id: -1n, name: '' }), 'created')
    assert.equal(asked(), before)
  })

  test(`${type}: lists that nobody reads on hold nothing up`, { skip }, async (t) => {
    const store = await open(t)
    const lists = Array.from({ length: 20 }, async () => {
      const reader = (await call(appOn(store), '/plants')).body!.getReader()
      await reader.read()
      return reader
    })
    const readers = await Promise.all(lists)
    assert.equal(await store.create(ann, { id: -1n, name: '' }), 'created')
    for (const reader of readers) await reader.cancel()
  })
}

/** A list of `count` pieces of 1,000 plants, then the error. */
function breaking(count: number, error: Error): PlantStore {
  async function* list() {
    const plants = Array.from({ length: 1000 }, () => ({ name: 'x'.repeat(100) }))
    for (let piece = 0; piece < count; piece++) yield plants
    throw error
  }
  return { ...failing(error), list }
}

test('a fault in the midst of a list ends the connection before the end of the body, and is logged', async (t) => {
  const printed = t.mock.method(console, 'error', () => {})
  const error = new StoreError('unreachable', '/secret')
  const logged: Error[] = []
  const app = appOn(breaking(5, error), (seen) => logged.push(seen))
  const answer = await request(await served(t, app), { headers })
  assert.equal(answer.statusCode, 200)
  let text = ''
  await assert.rejects(async () => {
    for await (const piece of answer.body) text += piece
  })
  assert.ok(text.startsWith('[{"name":"xxx') && !text.includes('secret'))
  assert.deepEqual(logged, [error])
  assert.equal(printed.mock.callCount(), 0)
  const stream = (await call(app, '/plants')).text()
  await assert.rejects(stream, { message: 'the list broke off' }, 'without a connection the stream fails')
})

test('a client that goes away while a piece is read is no fault of the store', async () => {
  const steps = new EventEmitter()
  async function* list() {
    const plants = Array.from({ length: 1000 }, () => ({ name: 'x'.repeat(100) }))
    try {
      yield plants
      yield plants
      const going = once(steps, 'go on')
      steps.emit('reading')
      await going
      yield plants
    } finally {
      steps.emit('ended')
    }
  }
  const logged: Error[] = []
  const store = { ...failing(new Error('not asked')), list }
  const app = appOn(store, (seen) => logged.push(seen))
  const [reading, ended] = [once(steps, 'reading'), once(steps, 'ended')]
  const reader = (await call(app, '/plants')).body!.getReader()
  for (let taken = 0; taken < 3; taken++) await reader.read()
  await reading
  const cancelled = reader.cancel()
  steps.emit('go on')
  await Promise.all([cancelled, ended])
  assert.deepEqual(logged, [])
})

test('a fault before the second piece of the text is an answer of its own', async () => {
  for (const count of [0, 1]) {
    const answer = await call(appOn(breaking(count, new StoreError('unreachable', 'away'))), '/plants')
    assert.equal(answer.status, 503)
    assert.equal(((await answer.json()) as { error: number }).error, 503)
  }
})

test('a short list has a length', async (t) => {
  const { store } = memory()
  await store.create(ann, { id: 1n, name: 'Fern 🌿' })
  const answer = await request(await served(t, appOn(store)), { headers })
  const text = '[{"name":"Fern 🌿"}]'
  assert.equal(answer.headers['content-length'], String(Buffer.byteLength(text)))
  assert.equal(await answer.body.text(), text)
})

test('the text of a list is the JSON of all of its pieces', async () => {
  const plant = fc.record(
    { name: fc.string({ unit: 'binary' }), tag: fc.string() },
    { requiredKeys: ['name'] },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(plant)), async (lists) => {
      let text = ''
      for await (const piece of jsonArray(
        (async function* () {
          yield* lists
        })(),
      ))
        text += piece
      assert.equal(text, JSON.stringify(lists.flat()))
    }),
  )
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { serve } from '@hono/node-server'
import type { Hono } from 'hono'
import { type CompiledQuery, Kysely } from 'kysely'
import mysql from 'mysql2/promise'
import { request } from 'undici'
import { lowdbStore } from '../../src/plants/lowdb.ts'
import { openSqlStore, sqlStore, type Tables } from '../../src/plants/sql.ts'
import type { PlantStore } from '../../src/plants/store.ts'
import type { Database } from '../../src/store/database.ts'
import { mysqlServer } from '../../src/store/mysql.ts'
import { appOn, memory, opened } from '../plants/helpers.ts'
import { fill, PATIENT, SERVERS } from '../plants/servers.ts'
import { ownDatabase } from '../support/services.ts'
import { assertBudget } from './held.ts'

const COUNT = 100_000
const headers = { authorization: 'Bearer token-ann', 'content-type': 'application/json' }

function large(owner: string): PlantStore {
  const stored = (at: number) => ({ owner, place: at + 1, plant: { name: `plant ${at}`, tag: 'indoor' } })
  const plants = Array.from({ length: COUNT }, (_, at) => [BigInt(at), stored(at)] as const)
  return lowdbStore(memory().adapter, new Map(plants))
}

async function served(t: TestContext, app: Hono): Promise<string> {
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/plants`
}

/** Bytes of a list, which is read without being kept. */
async function listed(url: string): Promise<number> {
  const { statusCode, body } = await request(url, { headers })
  assert.equal(statusCode, 200)
  let size = 0
  for await (const chunk of body) size += chunk.length
  return size
}

test(`a list of ${COUNT} plants`, async (t) => {
  const app = appOn(large('ann'))
  const url = await served(t, app)
  assert.ok((await listed(url)) > 30 * COUNT)
  await assertBudget('a list', () => listed(url))
  await assertBudget('five lists at once', () => Promise.all([1, 2, 3, 4, 5].map(() => listed(url))))
  // A client that takes every piece at once.
  await assertBudget('a list without a socket', async () =>
    (await app.request('/plants', { headers })).text(),
  )
})

test(`a list of none of ${COUNT} plants`, async (t) => {
  const url = await served(t, appOn(large('bob')))
  assert.equal(await listed(url), 2)
  await assertBudget('an empty list', () => listed(url))
})

test(`changes of a store of ${COUNT} plants`, async () => {
  const store = large('ann')
  const access = { caller: 'ann', access: 'own' } as const
  let id = BigInt(COUNT)
  await assertBudget('creates', async () => {
    for (let at = 0; at < 3; at++)
      assert.equal(await store.create(access, { id: ++id, name: 'x' }), 'created')
    assert.equal(await store.delete(access, id), true)
  })
})

test('a store of 8 MB in a file', async (t) => {
  const { app } = await opened(t)
  // 200 plants of 40 kB are as much text, and quickly made.
  const create = async (id: number, name: string) => {
    const body = JSON.stringify({ id, name })
    const { status } = await app.request('/plants', { method: 'POST', headers, body })
    assert.equal(status, 200)
  }
  await Promise.all(Array.from({ length: 200 }, (_, id) => create(id, 'x'.repeat(40_000))))
  let id = 1000
  await assertBudget('a write of the file', () => create(++id, 'x'))
})

const bodies: [string, string][] = [
  ['a long name', `{"id": 1, "name": "${'\\n'.repeat(400_000)}"}`],
  ['brackets', '['.repeat(1024 * 1024 - 10)],
  ['digits', `{"id": ${'1'.repeat(1024 * 1024 - 100)}, "name": "x"}`],
  ['an exponent', `{"id": 1e${'1'.repeat(1024 * 1024 - 100)}, "name": "x"}`],
  ['zeros', `{"id": 1.${'0'.repeat(1024 * 1024 - 100)}, "name": "x"}`],
  ['long numbers', `{"id": 1, "name": "x", "x": [${'12345678901234567890,'.repeat(49_000)}1]}`],
]

for (const [what, body] of bodies) {
  test(`a body of 1 MiB: ${what}`, async () => {
    const app = appOn(memory().store)
    await assertBudget(what, async () => {
      const { status } = await app.request('/plants', { method: 'POST', headers, body })
      assert.ok(status === 200 || status === 400)
    })
  })
}

for (const { type, server, skip } of SERVERS) {
  test(`${type}: a list of ${COUNT} plants`, { skip }, async (t) => {
    const url = await ownDatabase(t, server)
    const store = await openSqlStore(type, url, PATIENT)
    t.after(() => store.close())
    await fill(type, url, COUNT)
    const address = await served(t, appOn(store))
    await assertBudget(`${type}: a list`, () => listed(address))
  })
}

const server = SERVERS.find(({ type }) => type === 'mysql')!
test('mysql: a page of an owner looks at no other entries', { skip: server.skip }, async (t) => {
  const url = await ownDatabase(t, server.server)
  await (await openSqlStore('mysql', url, PATIENT)).close()
  await fill('mysql', url, 20_000)
  const queries: CompiledQuery[] = []
  const db = new Kysely<Tables>({
    ...mysqlServer(url, PATIENT),
    log: ({ query }) => void queries.push(query),
  })
  const database: Database<Tables> = {
    label: url,
    migrate: async () => {},
    run: (work) => work(db),
    close: () => db.destroy(),
  }
  const store = sqlStore(database, 'mysql', PATIENT)
  let count = 0
  for await (const plants of store.list({ caller: 'ann', access: 'own' })) count += plants.length
  await store.close()
  assert.equal(count, 20_000)

  const connection = await mysql.createConnection(url)
  t.after(() => connection.end())
  await connection.query('flush status')
  for (const { sql, parameters } of queries) await connection.query(sql, [...parameters])
  const [rows] = await connection.query<mysql.RowDataPacket[]>(
    "show session status like 'Handler_icp_attempts'",
  )
  // With an equal key each page tried all entries before it: 400,000 together.
  assert.ok(Number(rows[0]!.Value) < 50_000)
})

import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Kysely, sql } from 'kysely'
import { openPlants } from '../../src/plants/index.ts'
import { openSqlStore } from '../../src/plants/sql.ts'
import type { PlantStore } from '../../src/plants/store.ts'
import { LIMITS, type Limits } from '../../src/store/database.ts'
import { mysqlServer } from '../../src/store/mysql.ts'
import { postgresServer } from '../../src/store/postgres.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { proxyTo } from '../store/proxy.ts'
import { ownDatabase, statement } from '../support/services.ts'
import { call, listed, TOKENS } from './helpers.ts'
import { PATIENT, SERVERS } from './servers.ts'

const ann = { caller: 'ann', access: 'own' } as const
const plant = (id: number) => ({ id: BigInt(id), name: `${id}` })
const isUnavailable = (error: unknown) => error instanceof StoreError && error.kind === 'unreachable'

/** Tries again for as long as the store is unavailable: how long it takes to recover is the machine's affair. */
async function eventually<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!isUnavailable(error) && !/^cannot open/.test(String((error as Error).message))) throw error
    }
  }
}

for (const { type, server, skip } of SERVERS) {
  const check = (name: string, run: (t: TestContext) => Promise<void>) =>
    test(`${type}: ${name}`, { skip, timeout: 120_000 }, run)

  const opened = async (t: TestContext, url: string, limits: Limits = PATIENT): Promise<PlantStore> => {
    const store = await eventually(() => openSqlStore(type, url, limits))
    t.after(() => store.close())
    return store
  }

  /** A statement's transaction, open until the function given back is called. */
  const holding = async (url: string, text: string): Promise<() => Promise<void>> => {
    const server = type === 'postgres' ? postgresServer : mysqlServer
    const db = new Kysely<unknown>(server(url, PATIENT))
    const transaction = await db.startTransaction().execute()
    await sql.raw(text).execute(transaction)
    return async () => {
      await transaction.rollback().execute()
      await db.destroy()
    }
  }

  check('what a lost server acknowledged is there, and the rest can be done again', async (t) => {
    const proxy = await proxyTo(t, await ownDatabase(t, server))
    const store = await opened(t, proxy.url)
    let acknowledged = 0
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, async (_, id) => {
        await store.create(ann, plant(id))
        if (++acknowledged === 50) await proxy.stop()
      }),
    )
    const lost = outcomes.flatMap(({ status }, id) => (status === 'rejected' ? [id] : []))
    assert.ok(lost.length > 0, 'nothing was under way')
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') assert.ok(isUnavailable(outcome.reason), String(outcome.reason))
    await proxy.start()
    const names = new Set((await eventually(() => listed(store, ann))).map(({ name }) => Number(name)))
    for (const [id, { status }] of outcomes.entries())
      if (status === 'fulfilled') assert.ok(names.has(id), `${id} was acknowledged and is gone`)
    // Some were made although their answers were lost.
    for (const id of lost) await eventually(() => store.create(ann, plant(id)))
    assert.equal((await listed(store, ann)).length, 300)
  })

  check('a statement that takes too long is given up, and so is waiting for a connection', async (t) => {
    const url = await ownDatabase(t, server)
    const store = await opened(t, url, { ...PATIENT, connections: 1, connect: 1000, statement: 3000 })
    await eventually(() => store.create(ann, plant(1)))
    const release = await holding(url, 'select id from plantgw_plants where id = 1 for update')
    const first = store.delete(ann, 1n)
    const second = store.create(ann, plant(2))
    for (const outcome of await Promise.allSettled([first, second]))
      assert.ok(outcome.status === 'rejected' && isUnavailable(outcome.reason), JSON.stringify(outcome))
    await release()
    assert.equal(await eventually(() => store.delete(ann, 1n)), true)
    assert.equal(await eventually(() => store.create(ann, plant(2))), 'created')
  })

  check('a server that is away at the start holds nothing up; an outage is two log lines', async (t) => {
    const proxy = await proxyTo(t, await ownDatabase(t, server))
    await proxy.stop()
    const lines = new EventEmitter()
    const seen: unknown[] = []
    const line = (...args: unknown[]) => {
      seen.push(args)
      lines.emit('line')
    }
    const settings = { basePath: '/', storage: { type, url: proxy.url }, tokens: TOKENS }
    const { app, available, close } = await openPlants(settings, { error: line, info: line })
    t.after(close)
    const list = () => call(app, '/plants')
    for (let outage = 1; outage <= 2; outage++) {
      for (let request = 0; request < 20; request++) assert.equal((await list()).status, 503)
      assert.equal(available(), false)
      assert.equal(seen.length, outage * 2 - 1)
      const back = once(lines, 'line')
      await proxy.start()
      if (outage === 1) await back
      while ((await list()).status !== 200);
      assert.equal(available(), true)
      assert.equal(seen.length, outage * 2)
      await proxy.stop()
    }
    const text = JSON.stringify(seen)
    assert.match(text, /plant store unavailable.*plant store available again/)
    assert.ok(!text.includes(new URL(proxy.url).password || 'no password'))
  })

  check('once the tables are there, rights to read and change rows are enough', async (t) => {
    const url = await ownDatabase(t, server)
    const name = new URL(url).pathname.slice(1)
    const user = name.replace('plantgw_test', 'u')
    const postgres = type === 'postgres'
    await statement(server, `create user ${user} ${postgres ? 'password' : 'identified by'} 'pw'`)
    t.after(() => statement(server, `drop user ${user}`))
    const limited = new URL(url)
    limited.username = user
    limited.password = 'pw'
    await assert.rejects(openSqlStore(type, limited.href, PATIENT), StoreError)
    await opened(t, url)
    const tables = postgres ? 'all tables in schema public' : `${name}.*`
    await statement(url, `grant select, insert, update, delete on ${tables} to ${user}`)
    const store = await opened(t, limited.href)
    assert.equal(await store.create(ann, plant(1)), 'created')
    assert.equal(await store.delete(ann, 1n), true)
  })
}

const [postgres, mysql] = SERVERS

test('postgres: a commit is on disk before it is acknowledged, whatever the default', {
  skip: postgres!.skip,
}, async (t) => {
  const url = await ownDatabase(t, postgres!.server)
  const name = new URL(url).pathname.slice(1)
  for (const [given, wanted] of [
    ['off', 'on'],
    ['remote_apply', 'remote_apply'],
  ]) {
    await statement(url, `alter database ${name} set synchronous_commit = ${given}`)
    const db = new Kysely<unknown>(postgresServer(url, LIMITS))
    t.after(() => db.destroy())
    const { rows } = await sql`select current_setting('synchronous_commit') as is,
      current_setting('statement_timeout') as timeout`.execute(db)
    assert.deepEqual(rows, [{ is: wanted, timeout: '10s' }])
  }
})

test('postgres: a database that cannot hold every text is refused', { skip: postgres!.skip }, async (t) => {
  const url = await ownDatabase(t, postgres!.server)
  const name = `${new URL(url).pathname.slice(1)}_latin`
  await statement(url, `create database ${name} encoding 'LATIN1' locale 'C' template template0`)
  t.after(() => statement(postgres!.server, `drop database ${name} with (force)`))
  const latin = new URL(url)
  latin.pathname = `/${name}`
  await assert.rejects(openSqlStore('postgres', latin.href, PATIENT), /has the encoding LATIN1/)
})

test('mysql: a session does not depend on the defaults of the server', { skip: mysql!.skip }, async (t) => {
  const db = new Kysely<unknown>(mysqlServer(await ownDatabase(t, mysql!.server), LIMITS))
  t.after(() => db.destroy())
  const { rows } = await sql`select @@session.autocommit as autocommit, @@session.sql_mode as mode,
    @@session.innodb_lock_wait_timeout as lock_wait`.execute(db)
  assert.deepEqual(rows, [
    { autocommit: '1', mode: 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', lock_wait: '10' },
  ])
  const slow = new Kysely<unknown>({
    ...mysqlServer(await ownDatabase(t, mysql!.server), { ...PATIENT, statement: 200 }),
  })
  t.after(() => slow.destroy())
  const { rows: slept } = await sql`select sleep(60) as interrupted`.execute(slow).catch((error) => {
    assert.equal(error.sqlState, '70100')
    return { rows: [{ interrupted: '1' }] }
  })
  // MySQL answers 1 where MariaDB fails the statement.
  assert.deepEqual(
    slept.map((row) => String((row as { interrupted: unknown }).interrupted)),
    ['1'],
  )
})

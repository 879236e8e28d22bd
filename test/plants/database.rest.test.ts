import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { Kysely, sql } from 'kysely'
import { LIMITS, type Limits } from '../../src/durable/database.ts'
import { mysqlServer } from '../../src/durable/mysql.ts'
import { postgresServer } from '../../src/durable/postgres.ts'
import { StoreError } from '../../src/durable/store-error.ts'
import { openPlants } from '../../src/plants/index.ts'
import { openSqlStore } from '../../src/plants/sql.ts'
import type { PlantStore } from '../../src/plants/store.ts'
import { proxyTo } from '../store/proxy.ts'
import { ownDatabase, statement } from '../support/services.ts'
import { appOn, call, listed, TOKENS } from './helpers.ts'
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

  check('a lost server is 503 with the Error body, and used again once it is back', async (t) => {
    const proxy = await proxyTo(t, await ownDatabase(t, server))
    const store = await opened(t, proxy.url)
    const logged: Error[] = []
    const app = appOn(store, (error) => logged.push(error))
    await Promise.all(Array.from({ length: 30 }, (_, id) => store.create(ann, plant(id))))
    for (let round = 0; round < 3; round++) {
      await proxy.stop()
      for (const request of [{ body: '{"id":100,"name":"a"}' }, {}]) {
        const answer = await call(app, '/plants', request)
        assert.equal(answer.status, 503)
        assert.deepEqual(await answer.json(), {
          error: 503,
          message: 'The plant store cannot be reached at the moment: no change was acknowledged.',
        })
      }
      assert.equal((await call(app, '/plants/1', { method: 'DELETE' })).status, 503)
      await proxy.start()
      assert.equal(await eventually(() => store.delete(ann, BigInt(round))), true)
      assert.equal((await eventually(() => listed(store, ann))).length, 29 - round)
    }
    assert.ok(logged.length >= 9 && logged.every(isUnavailable))
  })

  check(
    'what was acknowledged when the server was lost is there, and the rest can be done again',
    async (t) => {
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
    },
  )

  check(
    'a server that falls silent is given up in time, and its connections are not used again',
    async (t) => {
      const proxy = await proxyTo(t, await ownDatabase(t, server))
      const store = await opened(t, proxy.url, { ...LIMITS, connections: 2, connect: 500, answer: 500 })
      await eventually(() => store.create(ann, plant(1)))
      proxy.freeze()
      const silent = Array.from({ length: 5 }, (_, id) => store.delete(ann, BigInt(100 + id)))
      for (const outcome of await Promise.allSettled(silent))
        assert.ok(outcome.status === 'rejected' && isUnavailable(outcome.reason))
      await proxy.start()
      assert.equal(await eventually(() => store.delete(ann, 1n)), true)
    },
  )

  check('connections that the server ends are replaced', async (t) => {
    const url = await ownDatabase(t, server)
    const store = await opened(t, url)
    await Promise.all(Array.from({ length: 20 }, (_, id) => store.create(ann, plant(id))))
    const name = new URL(url).pathname.slice(1)
    if (type === 'postgres')
      await statement(
        server,
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`,
      )
    else {
      const db = new Kysely<unknown>(mysqlServer(server, PATIENT))
      const list = sql<{ id: string }>`select id from information_schema.processlist where db = ${name}`
      for (const { id } of (await list.execute(db)).rows) await statement(server, `kill ${Number(id)}`)
      await db.destroy()
    }
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, id) => eventually(() => store.delete(ann, BigInt(id)))),
    )
    assert.deepEqual(new Set(outcomes), new Set([true]))
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

  check('of several that start at once on an empty database each finds the tables', async (t) => {
    for (let round = 0; round < 3; round++) {
      const url = await ownDatabase(t, server)
      const stores = await Promise.all(Array.from({ length: 6 }, () => openSqlStore(type, url, PATIENT)))
      for (const store of stores) t.after(() => store.close())
      const outcomes = await Promise.all(stores.map((store) => store.create(ann, plant(1))))
      assert.deepEqual(outcomes.sort(), ['created', ...Array(5).fill('taken')])
      for (const store of stores) assert.deepEqual(await listed(store, ann), [{ name: '1' }])
    }
  })

  check('tables of a later release are refused, and left as they are', async (t) => {
    const url = await ownDatabase(t, server)
    await (await opened(t, url)).create(ann, plant(1))
    const row = `insert into plantgw_plants_migration (name, timestamp) values ('9999_later', 'now')`
    await statement(url, row)
    await assert.rejects(openSqlStore(type, url, PATIENT), (error: Error) => {
      assert.ok(error instanceof StoreError)
      assert.match(error.message, /were made by a newer release/)
      return true
    })
    await statement(url, `delete from plantgw_plants_migration where name = '9999_later'`)
    assert.equal((await listed(await opened(t, url), ann)).length, 1)
  })

  check('a database that cannot be opened is named, without the credentials', async (t) => {
    const proxy = await proxyTo(t, server)
    const absent = new URL(proxy.url)
    absent.pathname = '/plantgw_test_absent'
    await assert.rejects(
      openSqlStore(type, absent.href, PATIENT),
      /cannot open .*plantgw_test_absent.*storage\.url/,
    )
    await proxy.stop()
    absent.username = 'me'
    absent.password = 's3cret'
    await assert.rejects(openSqlStore(type, absent.href, PATIENT), (error: Error) => {
      assert.ok(error instanceof StoreError)
      assert.match(error.message, /ECONNREFUSED/)
      assert.ok(error.message.includes(`${type}://${absent.host}/plantgw_test_absent`))
      assert.ok(!error.message.includes('s3cret'))
      return true
    })
  })

  check(
    'a server that is away at the start holds nothing up, and an outage is two lines in the log',
    async (t) => {
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
    },
  )

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

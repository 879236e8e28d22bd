import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type Kysely, type Migration, sql } from 'kysely'
import { type Database, type DatabaseType, LIMITS, openDatabase } from '../../store/database.ts'
import { StoreError } from '../../store/store-error.ts'
import type { SecretStore } from './secret-store.ts'

interface Tables {
  plantgw_login: {
    id: string
    /** Null: removed. */
    text: string | null
    /** The process that changes it. */
    lease: string | null
    /** Milliseconds since 1970, by the clock of the database. */
    lease_until: number | null
  }
}

const TABLE = 'plantgw_login'
/** Milliseconds after which a process that changes a text counts as dead. */
const LEASE = 30_000
/** Milliseconds to wait for another process. */
const PATIENCE = 20_000
const OWN_LIMITS = { ...LIMITS, connections: 2, idle: 60_000 }

/** Never change a released migration. */
function migrations(type: DatabaseType): Record<string, Migration> {
  const text = type === 'mysql' ? sql`longtext` : sql`text`
  const end = type === 'mysql' ? sql`engine = InnoDB default character set utf8mb4` : sql``
  return {
    '001-logins': {
      up: (db: Kysely<unknown>) =>
        db.schema
          .createTable('plantgw_login')
          .ifNotExists()
          .addColumn('id', 'varchar(64)', (column) => column.primaryKey())
          .addColumn('text', text)
          .addColumn('lease', 'varchar(36)')
          .addColumn('lease_until', 'bigint')
          .modifyEnd(end)
          .execute(),
    },
  }
}

/**
 * Each text in a row of `plantgw_login`. A process that changes one holds a lease and no connection, because it waits for
 * other servers meanwhile.
 */
export async function secretTable(type: DatabaseType, url: string): Promise<SecretStore> {
  const database = await openDatabase<Tables>({
    type,
    url,
    name: TABLE,
    migrations: migrations(type),
    limits: OWN_LIMITS,
  })
  const { label } = database
  const { take, write, release } = leases(type, database)
  const get = (id: string) =>
    database.run(async (db) => {
      const row = await db.selectFrom(TABLE).select('text').where('id', '=', id).executeTakeFirst()
      return row?.text ?? undefined
    }, true)
  return {
    label,
    get,
    ids: () =>
      database.run(async (db) => {
        const rows = await db.selectFrom(TABLE).select('id').where('text', 'is not', null).execute()
        return rows.map(({ id }) => id)
      }, true),
    async change(id, work) {
      const lease = randomUUID()
      const start = performance.now()
      while (!(await take(id, lease))) {
        if (performance.now() - start > PATIENCE)
          throw new StoreError('locked', `a login in ${label} is being changed by another process: try again`)
        await delay(20 + Math.random() * 60)
      }
      try {
        return await work(await get(id), (text) => write(id, lease, text ?? null))
      } finally {
        // A lease that stays ends by itself.
        await release(id, lease).catch(() => {})
      }
    },
    close: () => database.close(),
  }
}

/** Rows that one process at a time changes. */
function leases(type: DatabaseType, database: Database<Tables>) {
  const { label } = database
  const run = <R>(work: (db: Kysely<Tables>) => Promise<R>) => database.run(work)
  const now =
    type === 'mysql'
      ? sql<number>`cast(unix_timestamp(now(3)) * 1000 as signed)`
      : sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
  const insert = (db: Kysely<Tables>, id: string) => {
    const row = db.insertInto(TABLE).values({ id, text: null, lease: null, lease_until: null })
    return (type === 'mysql' ? row.ignore() : row.onConflict((on) => on.doNothing())).execute()
  }
  return {
    take: (id: string, lease: string) =>
      run(async (db) => {
        await insert(db, id)
        const { numUpdatedRows } = await db
          .updateTable(TABLE)
          .set({ lease, lease_until: sql<number>`${now} + ${sql.lit(LEASE)}` })
          .where('id', '=', id)
          .where((eb) => eb.or([eb('lease', 'is', null), eb('lease_until', '<', now)]))
          .executeTakeFirst()
        return numUpdatedRows > 0n
      }),
    write: (id: string, lease: string, text: string | null) =>
      run(async (db) => {
        await db.updateTable(TABLE).set({ text }).where('id', '=', id).where('lease', '=', lease).execute()
        // MySQL counts only rows that differ.
        const held = db.selectFrom(TABLE).select('id').where('id', '=', id).where('lease', '=', lease)
        if (!(await held.executeTakeFirst()))
          throw new StoreError('locked', `another process took over a login in ${label}`)
      }),
    release: (id: string, lease: string) =>
      run(async (db) => {
        const own = db.updateTable(TABLE).where('id', '=', id).where('lease', '=', lease)
        await own.set({ lease: null, lease_until: null }).execute()
        const empty = db.deleteFrom(TABLE).where('id', '=', id).where('text', 'is', null)
        await empty.where('lease', 'is', null).execute()
      }),
  }
}

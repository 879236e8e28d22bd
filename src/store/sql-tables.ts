import { createHash } from 'node:crypto'
import { type Kysely, type Migration, sql } from 'kysely'
import { DEFAULT_TENANT, type Identity } from '../config/index.ts'
import type { DatabaseType } from './database.ts'
import { departure } from './store.ts'

/** The tables after all migrations. */
export interface Tables {
  /** Served configurations, one row each. */
  plantgw_configuration: Row & { text: string }
  /** All versions; `text` is null if the version deleted the configuration. */
  plantgw_configuration_version: Row & { text: string | null }
  /** One row, which each change increments. Its row lock serializes changes. */
  plantgw_configuration_revision: { id: number; value: string | number }
}

export interface Row {
  /** Result of `idOf`. */
  id: string
  name: string
  tenant: string
  version: number
  updated_at: string
  author: string
  message: string | null
}

/** Never change a released migration. Each must be safe to repeat, because MySQL can stop in the middle of one. */
export function migrations(type: DatabaseType): Record<string, Migration> {
  const text = type === 'mysql' ? sql`longtext` : sql`text`
  const end =
    type === 'mysql' ? sql`engine = InnoDB default character set utf8mb4 collate utf8mb4_bin` : sql``
  return {
    '001-configurations': {
      async up(db: Kysely<unknown>) {
        const table = (name: string) =>
          db.schema
            .createTable(name)
            .ifNotExists()
            .addColumn('id', 'varchar(64)', (column) => column.notNull())
            .addColumn('name', text, (column) => column.notNull())
            .addColumn('tenant', text, (column) => column.notNull())
            .addColumn('version', 'integer', (column) => column.notNull())
            .addColumn('updated_at', 'varchar(30)', (column) => column.notNull())
            .addColumn('author', text, (column) => column.notNull())
            .addColumn('message', text)
            .addColumn('text', text)
            .modifyEnd(end)
        await table('plantgw_configuration')
          .addPrimaryKeyConstraint('plantgw_configuration_pk', ['id'])
          .execute()
        await table('plantgw_configuration_version')
          .addPrimaryKeyConstraint('plantgw_configuration_version_pk', ['id', 'version'])
          .execute()
        await db.schema
          .createTable('plantgw_configuration_revision')
          .ifNotExists()
          .addColumn('id', 'integer', (column) => column.primaryKey())
          .addColumn('value', 'bigint', (column) => column.notNull())
          .modifyEnd(end)
          .execute()
        await sql`delete from plantgw_configuration_revision`.execute(db)
        await sql`insert into plantgw_configuration_revision (id, value) values (1, 0)`.execute(db)
      },
    },
    '002-names-of-tenants': { up: separateTenants },
  }
}

/** SHA-256, so that names compare by bytes. The default tenant hashes only the name, as before tenants existed. */
export function idOf({ tenant, name }: Identity): string {
  return createHash('sha256')
    .update(tenant === DEFAULT_TENANT ? name : `${tenant}\0${name}`)
    .digest('hex')
}

/** Splits the history of each name by tenant. Safe to run again after an interruption. */
async function separateTenants(given: Kysely<unknown>): Promise<void> {
  const db = given as Kysely<Tables>
  const departures = await departuresOf(db)
  for (const table of ['plantgw_configuration_version', 'plantgw_configuration'] as const) {
    const rows = await db.selectFrom(table).select(['id', 'name', 'tenant', 'version']).execute()
    for (const row of rows) {
      const id = idOf(row)
      if (row.id === id) continue
      const own = db.updateTable(table).set({ id }).where('id', '=', row.id)
      await own.where('version', '=', row.version).execute()
    }
  }
  for (const row of departures)
    await db
      .insertInto('plantgw_configuration_version')
      .values({ ...row, text: null })
      .execute()
}

async function departuresOf(db: Kysely<Tables>): Promise<Row[]> {
  const rows = await db
    .selectFrom('plantgw_configuration_version')
    .select(['id', 'name', 'tenant', 'version', 'updated_at', 'author', 'message'])
    .select((eb) => eb('text', 'is', null).as('deleted'))
    .orderBy('version')
    // A recorded deletion precedes the version of the same number.
    .orderBy('deleted', 'desc')
    .execute()
  const latest = new Map<string, (typeof rows)[number]>()
  return rows.flatMap(({ deleted, ...row }) => {
    const last = latest.get(row.name)
    latest.set(row.name, { ...row, deleted })
    if (!last || Number(last.deleted) === 1 || last.tenant === row.tenant) return []
    const gone = departure(last, row)
    return [{ ...gone, id: idOf(gone) }]
  })
}

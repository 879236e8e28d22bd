import { type Kysely, type Migration, sql } from 'kysely'
import type { DatabaseType } from '../durable/database.ts'

/** The tables, as they are after all migrations. Ids are SHA-256 of the name, as names are compared by bytes. */
export interface Tables {
  /** What is served: one record for each configuration. */
  plantgw_configuration: Row & { text: string }
  /** Every version there was; without a text where it deleted the configuration. */
  plantgw_configuration_version: Row & { text: string | null }
  /** One row, counted up by every change; its lock makes changes one after the other. */
  plantgw_configuration_revision: { id: number; value: string | number }
}

export interface Row {
  id: string
  name: string
  tenant: string
  version: number
  updated_at: string
  author: string
  message: string | null
}

/** A migration that was released is never changed; MySQL may be stopped in the middle of one and begin it again. */
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
  }
}

import { type Kysely, type Migration, Migrator, sql } from 'kysely'

export type DatabaseType = 'postgres' | 'mysql'

/**
 * The tables, step by step; a step that was released is never changed, for databases remember it by its name.
 *
 * `seq` is the order of creation. `owner` and `plant` are JSON text, which holds what a text column of these servers
 * does not (NUL, lone surrogates); `plant` is what is answered, `owner_key` the SHA-256 of `owner`, which is exact
 * and short enough for an index whatever the owner is called.
 */
const STEPS: Record<string, Record<DatabaseType, string[]>> = {
  '0001_plants': {
    postgres: [
      `create table plantgw_plants (
        id bigint primary key,
        seq bigint generated always as identity unique,
        owner text not null,
        owner_key bytea not null,
        plant text not null
      )`,
      'create index plantgw_plants_owner on plantgw_plants (owner_key, seq)',
    ],
    // One statement, for MySQL commits each by itself: a start that breaks off leaves nothing half made.
    mysql: [
      `create table if not exists plantgw_plants (
        id bigint primary key,
        seq bigint not null auto_increment unique,
        owner longtext character set utf8mb4 collate utf8mb4_bin not null,
        owner_key binary(32) not null,
        plant longtext character set utf8mb4 collate utf8mb4_bin not null,
        index plantgw_plants_owner (owner_key, seq)
      ) engine = InnoDB`,
    ],
  },
}

/**
 * Brings the tables up to date. Of processes that start at once one does it, under the migrator's lock, and the others
 * wait. Where there is nothing to do no right to change tables is needed.
 * @param schema where a server has several in a database: the one that holds the tables
 * @throws what the driver throws; also when the tables were made by a later release
 */
export async function migrate(
  db: Kysely<unknown>,
  type: DatabaseType,
  schema: string | undefined,
): Promise<void> {
  const migrations = Object.fromEntries(
    Object.entries(STEPS).map(([name, step]) => [name, migrationOf(step[type])]),
  )
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: 'plantgw_plants_migration',
    migrationLockTableName: 'plantgw_plants_migration_lock',
    ...(schema !== undefined && { migrationTableSchema: schema }),
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
}

function migrationOf(statements: readonly string[]): Migration {
  return {
    async up(db) {
      for (const statement of statements) await sql.raw(statement).execute(db)
    },
  }
}

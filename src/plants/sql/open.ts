import { type Dialect, Kysely, sql } from 'kysely'
import { type PlantStore, PlantsError } from '../store.ts'
import { LIMITS, type Limits } from './limits.ts'
import { type DatabaseType, migrate } from './migrations.ts'
import { mysqlDialect } from './mysql.ts'
import { postgresDialect } from './postgres.ts'
import { messageOf, sqlStore, type Tables } from './store.ts'

const DIALECTS: Record<DatabaseType, (url: string, limits: Limits) => Dialect> = {
  postgres: postgresDialect,
  mysql: mysqlDialect,
}

/** Milliseconds that a start waits for another process's migration, or for one of its own. */
const MIGRATION = 300_000

/**
 * Opens the plant store in a database on a server; its tables are made or brought up to date.
 * @param url names the database; it may hold credentials, which no message shows
 * @throws PlantsError when the database cannot be reached or migrated
 */
export async function openDatabase(
  type: DatabaseType,
  url: string,
  limits: Limits = LIMITS,
): Promise<PlantStore> {
  const label = labelOf(type, url)
  const patient = { ...limits, connections: 1, statement: MIGRATION, answer: MIGRATION }
  const setup = new Kysely<unknown>({ dialect: DIALECTS[type](url, patient) })
  try {
    const schema = type === 'postgres' ? await postgresSchema(setup) : undefined
    await migrate(setup, type, schema)
  } catch (error) {
    if (error instanceof PlantsError) throw error
    const message = messageOf(error)
    if (/previously executed migration .{0,200} is missing/.test(message))
      throw new PlantsError(
        `the plant store ${label} was made by a later release than this one; use that one, or another database`,
      )
    throw new PlantsError(
      `cannot open the plant store ${label}: ${message}; check \`plants.storage.url\`, ` +
        'that the server runs, and that its user may make tables in the database at the first start',
    )
  } finally {
    await setup.destroy().catch(() => {})
  }
  return sqlStore(new Kysely<Tables>({ dialect: DIALECTS[type](url, limits) }), type, label)
}

/** The schema in which tables are made. */
async function postgresSchema(db: Kysely<unknown>): Promise<string | undefined> {
  const query = sql<{ schema: string | null; encoding: string }>`
    select current_schema() as schema, getdatabaseencoding() as encoding`
  const row = (await query.execute(db)).rows[0]
  if (row?.encoding !== 'UTF8')
    throw new PlantsError(
      `the database of the plant store has the encoding ${row?.encoding}, in which not every text can be kept; ` +
        "make one with the encoding 'UTF8'",
    )
  return row.schema ?? undefined
}

function labelOf(type: DatabaseType, text: string): string {
  const { host, pathname } = new URL(text)
  return `${type}://${host}${pathname}`
}

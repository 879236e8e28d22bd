import { createHash } from 'node:crypto'
import { type GeneratedAlways, type Kysely, type Migration, type SelectQueryBuilder, sql } from 'kysely'
import { type Database, type DatabaseType, LIMITS, type Limits, openDatabase } from '../store/database.ts'
import { faultOf } from '../store/sql-faults.ts'
import { StoreError } from '../store/store-error.ts'
import { type Access, LIST_PIECE, type NewPlant, type Page, type Plant, type PlantStore } from './store.ts'

export interface Tables {
  plantgw_plants: {
    id: bigint
    /** Drivers return text. */
    seq: GeneratedAlways<bigint | string>
    owner: string
    owner_key: Buffer
    plant: string
  }
}

/**
 * Migrations of the tables. Never change a released one, because databases record its name.
 *
 * `seq` is the order of creation. `owner` and `plant` are JSON text, which can hold characters that text columns refuse
 * (NUL, lone surrogates). `plant` is the answer to clients. `owner_key` is the SHA-256 of `owner`, because an index
 * compares it exactly and limits its length.
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
    // One statement, because MySQL commits each one: an interrupted start leaves no half-made table.
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

/** Maximum bytes of plants in one page of a list; a larger plant is a page of its own. */
const LIST_BYTES = 1024 * 1024

/**
 * Opens the plant store in a database, and creates or migrates its tables.
 * @param url of the database, with credentials, which no message shows
 * @throws StoreError when the database cannot be reached or migrated; Error when its driver is not installed
 */
export async function openSqlStore(
  type: DatabaseType,
  url: string,
  limits: Limits = LIMITS,
): Promise<PlantStore> {
  const migrations = Object.fromEntries(
    Object.entries(STEPS).map(([name, step]) => [name, migrationOf(step[type])]),
  )
  const database = await openDatabase<Tables>({ type, url, name: 'plantgw_plants', migrations, limits })
  try {
    await database.migrate()
    if (type === 'postgres') await database.run(requireUtf8)
    return sqlStore(database, type, limits)
  } catch (error) {
    await database.close()
    if (!(error instanceof StoreError)) throw error
    throw new StoreError(
      error.kind,
      `cannot open the plant store ${error.message}; check \`plants.storage.url\`, ` +
        'that the server runs, and that its user may create tables at the first start',
      { cause: error },
    )
  }
}

function migrationOf(statements: readonly string[]): Migration {
  return {
    async up(db) {
      for (const statement of statements) await sql.raw(statement).execute(db)
    },
  }
}

async function requireUtf8(db: Kysely<Tables>): Promise<void> {
  const query = sql<{ encoding: string }>`select getdatabaseencoding() as encoding`
  const encoding = (await query.execute(db)).rows[0]?.encoding
  if (encoding !== 'UTF8')
    throw new StoreError(
      'unsupported',
      `in a database with the encoding ${encoding}, which cannot hold every text; ` +
        "create one with the encoding 'UTF8'",
    )
}

/**
 * Plants in a database. Each change is one statement, acknowledged after its commit. Lists are read in pages, so that a
 * slow client holds no connection.
 */
export function sqlStore(database: Database<Tables>, type: DatabaseType, limits: Limits): PlantStore {
  const insert = type === 'postgres' ? insertOrNothing : insertOrTaken
  return {
    create: ({ caller }, plant) => database.run((db) => insert(db, rowOf(caller, plant))),
    delete: ({ caller, access }, id) =>
      database.run(async (db) => {
        const query = db.deleteFrom('plantgw_plants').where('id', '=', id)
        const mine = access === 'all' ? query : query.where('owner_key', '=', keyOf(caller))
        const { numDeletedRows } = await mine.executeTakeFirst()
        return numDeletedRows > 0n
      }),
    async *list(access) {
      let after = 0n
      let last: bigint | undefined
      for (;;) {
        const page = await database.run((db) =>
          readPage(db, type, access, { after, last, limit: LIST_PIECE }),
        )
        yield page.plants
        if (page.next === undefined) return
        after = page.next
        // Plants created from now on are left out, so that the list ends.
        last ??= await database.run(newest)
      }
    },
    page: (access, limit, after) =>
      database.run((db) => readPage(db, type, access, { after, last: undefined, limit })),
    // Statements end within this time, so the clients get their answers.
    close: () => database.close(limits.call),
  }
}

function rowOf(caller: string, { id, ...plant }: NewPlant) {
  return { id, owner: JSON.stringify(caller), owner_key: keyOf(caller), plant: JSON.stringify(plant) }
}

type Row = ReturnType<typeof rowOf>

function keyOf(caller: string): Buffer {
  return createHash('sha256').update(JSON.stringify(caller)).digest()
}

async function insertOrNothing(db: Kysely<Tables>, row: Row): Promise<'created' | 'taken'> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('plantgw_plants')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n ? 'created' : 'taken'
}

/** For MySQL, whose `insert ignore` would also ignore other faults. */
async function insertOrTaken(db: Kysely<Tables>, row: Row): Promise<'created' | 'taken'> {
  try {
    await db.insertInto('plantgw_plants').values(row).executeTakeFirst()
    return 'created'
  } catch (error) {
    if (faultOf(error) === 'taken') return 'taken'
    throw error
  }
}

/** Plants with `after` < `seq` <= `last`, at most `limit`; `last` undefined: no upper bound. */
interface Range {
  after: bigint
  last: bigint | undefined
  limit: number
}

async function readPage(
  db: Kysely<Tables>,
  type: DatabaseType,
  { caller, access }: Access,
  { after, last, limit }: Range,
): Promise<Page> {
  let query = db.selectFrom('plantgw_plants').where('seq', '>', after)
  if (access === 'own') query = ownedBy(query, keyOf(caller), type)
  query = query.orderBy('seq')
  if (last !== undefined) query = query.where('seq', '<=', last)
  const found = await query
    .select(['seq', sql<number | string>`octet_length(plant)`.as('size')])
    .limit(limit + 1)
    .execute()
  let size = 0
  let count = 0
  for (const row of found.slice(0, limit)) {
    size += Number(row.size)
    if (count > 0 && size > LIST_BYTES) break
    count++
  }
  const end = found[count - 1]
  if (end === undefined) return { plants: [], next: undefined }
  const to = BigInt(end.seq)
  const rows = await query.where('seq', '<=', to).select('plant').execute()
  return {
    plants: rows.map(({ plant }) => JSON.parse(plant) as Plant),
    next: count < found.length ? to : undefined,
  }
}

type PageQuery = SelectQueryBuilder<Tables, 'plantgw_plants', object>

/**
 * Limits a query to an owner's plants. For an equal key, MariaDB checks `seq` on each entry from the owner's first one,
 * so a list would take quadratic time; for a range of one key it begins at `seq`. PostgreSQL begins there for both.
 */
function ownedBy(query: PageQuery, key: Buffer, type: DatabaseType): PageQuery {
  if (type === 'postgres') return query.where('owner_key', '=', key)
  return query.where('owner_key', '>=', key).where('owner_key', '<=', key).orderBy('owner_key')
}

async function newest(db: Kysely<Tables>): Promise<bigint> {
  const query = db.selectFrom('plantgw_plants').select(({ fn }) => fn.max('seq').as('seq'))
  const { seq } = await query.executeTakeFirstOrThrow()
  return BigInt(seq ?? 0)
}

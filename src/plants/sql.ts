import { createHash } from 'node:crypto'
import { type GeneratedAlways, type Kysely, type Migration, type SelectQueryBuilder, sql } from 'kysely'
import { type Database, type DatabaseType, LIMITS, type Limits, openDatabase } from '../store/database.ts'
import { faultOf } from '../store/sql-faults.ts'
import { StoreError } from '../store/store-error.ts'
import { type Access, LIST_PIECE, type NewPlant, type Page, type Plant, type PlantStore } from './store.ts'

export interface Tables {
  plantgw_plants: {
    id: bigint
    /** Drivers give it as text. */
    seq: GeneratedAlways<bigint | string>
    owner: string
    owner_key: Buffer
    plant: string
  }
}

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

/** Bytes of plants that are read at once for a list; a plant that is larger comes by itself. */
const LIST_BYTES = 1024 * 1024

/**
 * Opens the plant store in a database on a server; its tables are made or brought up to date.
 * @param url names the database; it may hold credentials, which no message shows
 * @throws StoreError when the database cannot be reached or migrated, Error when its driver is not installed
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
        'that the server runs, and that its user may make tables in the database at the first start',
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
      `in a database that has the encoding ${encoding}, which cannot hold every text; ` +
        "create one with the encoding 'UTF8'",
    )
}

/**
 * Each change is one statement, acknowledged once it is committed. Lists are read in pages, so that a client that reads
 * slowly holds no connection.
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
        // Whatever is created from now on is not waited for.
        last ??= await database.run(newest)
      }
    },
    page: (access, limit, after) =>
      database.run((db) => readPage(db, type, access, { after, last: undefined, limit })),
    // Every statement has an end, so the clients get their answers.
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

/** MySQL's `insert ignore` would ignore other faults, too. */
async function insertOrTaken(db: Kysely<Tables>, row: Row): Promise<'created' | 'taken'> {
  try {
    await db.insertInto('plantgw_plants').values(row).executeTakeFirst()
    return 'created'
  } catch (error) {
    if (faultOf(error) === 'taken') return 'taken'
    throw error
  }
}

/** Positions in the order of creation: `after` is before the first plant of a page, `last` is its last plant. */
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
 * MariaDB looks an equal key up and tries `seq` on each entry from the owner's first one, so that a list takes time by
 * the square of its length; of a range of one key it begins where `seq` does. PostgreSQL begins there for an equal key.
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

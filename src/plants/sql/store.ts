import { createHash } from 'node:crypto'
import type { GeneratedAlways, Kysely, SelectQueryBuilder } from 'kysely'
import { sql } from 'kysely'
import { type Access, LIST_PIECE, type NewPlant, type Plant, type PlantStore, StoreError } from '../store.ts'
import { faultOf } from './faults.ts'
import type { DatabaseType } from './migrations.ts'

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

/** Bytes of plants that are read at once for a list; a plant that is larger comes by itself. */
const LIST_BYTES = 1024 * 1024
/** How often a statement is made that the server undid for another one's sake. */
const ATTEMPTS = 20

/**
 * A plant store in a database. Each change is one statement, acknowledged once it is committed. Lists are read in
 * pages, so that a client that reads slowly holds no connection.
 * @param db is closed with the store
 * @param label names the database for the operator, without credentials
 */
export function sqlStore(db: Kysely<Tables>, type: DatabaseType, label: string): PlantStore {
  const running = new Set<Promise<unknown>>()
  let closing: Promise<void> | undefined

  async function run<T>(work: () => Promise<T>): Promise<T> {
    if (closing) throw new StoreError('closed', 'the plant store is closed')
    const done = attempt(work).catch((error) => {
      throw storeError(label, error)
    })
    running.add(done)
    try {
      return await done
    } finally {
      running.delete(done)
    }
  }

  const insert = type === 'postgres' ? insertOrNothing : insertOrTaken

  return {
    create: ({ caller }, plant) => run(() => insert(db, rowOf(caller, plant))),
    async delete({ caller, access }, id) {
      const query = db.deleteFrom('plantgw_plants').where('id', '=', id)
      const mine = access === 'all' ? query : query.where('owner_key', '=', keyOf(caller))
      const { numDeletedRows } = await run(() => mine.executeTakeFirst())
      return numDeletedRows > 0n
    },
    async *list(access) {
      let after = 0n
      let last: bigint | undefined
      for (;;) {
        const page = await run(() => readPage(db, type, access, after, last))
        yield page.plants
        if (page.next === undefined) return
        after = page.next
        // Whatever is created from now on is not waited for.
        last ??= await run(() => newest(db))
      }
    },
    close() {
      // Connections that cannot be closed in good order are closed all the same.
      closing ??= Promise.allSettled(running).then(() => db.destroy().catch(() => {}))
      return closing
    },
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

/** Plants after one place in the order of creation, and the place after which there are more. */
async function readPage(
  db: Kysely<Tables>,
  type: DatabaseType,
  { caller, access }: Access,
  after: bigint,
  last: bigint | undefined,
): Promise<{ plants: Plant[]; next: bigint | undefined }> {
  let query = db.selectFrom('plantgw_plants').where('seq', '>', after)
  if (access === 'own') query = ownedBy(query, keyOf(caller), type)
  query = query.orderBy('seq')
  if (last !== undefined) query = query.where('seq', '<=', last)
  const found = await query
    .select(['seq', sql<number | string>`octet_length(plant)`.as('size')])
    .limit(LIST_PIECE)
    .execute()
  let size = 0
  let count = 0
  for (const row of found) {
    size += Number(row.size)
    if (count > 0 && size > LIST_BYTES) break
    count++
  }
  const end = found[count - 1]
  if (end === undefined) return { plants: [], next: undefined }
  const to = BigInt(end.seq)
  const rows = await query.where('seq', '<=', to).select('plant').execute()
  const more = count < found.length || found.length === LIST_PIECE
  return { plants: rows.map(({ plant }) => JSON.parse(plant) as Plant), next: more ? to : undefined }
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

async function attempt<T>(work: () => Promise<T>): Promise<T> {
  for (let left = ATTEMPTS; ; left--) {
    try {
      return await work()
    } catch (error) {
      if (left <= 1 || faultOf(error) !== 'retry') throw error
    }
  }
}

function storeError(label: string, error: unknown): StoreError {
  const fault = faultOf(error)
  const kind = fault === 'unavailable' || fault === 'full' ? fault : 'failed'
  return new StoreError(kind, `the plant store ${label}: ${messageOf(error)}`, { cause: error })
}

/** Of a host with several addresses Node tells what each of them said. */
export function messageOf(error: unknown): string {
  const { message, errors, code } = error as AggregateError & { code?: string }
  return message || (errors?.map(messageOf).join(', ') ?? code ?? String(error))
}

import { Socket } from 'node:net'
import { type Kysely, type QueryExecutorProvider, sql, type Transaction } from 'kysely'
import { qualifiedName } from '../config/index.ts'
import { lastingConnection } from '../net/index.ts'
import { type DatabaseType, LIMITS, openDatabase } from './database.ts'
import { idOf, migrations, type Row, type Tables } from './sql-tables.ts'
import {
  byName,
  type Change,
  type ConfigurationStore,
  checkChanges,
  conflictsOf,
  type Outcome,
  type Reason,
  type StoredConfiguration,
  type StoredSummary,
} from './store.ts'
import { StoreError } from './store-error.ts'

const COLUMNS = ['id', 'name', 'tenant', 'version', 'updated_at', 'author', 'message'] as const

/** Rolls a transaction back. `outcome` is its result. */
class Refused extends Error {
  constructor(readonly outcome: Outcome) {
    super()
  }
}

/** A command or gateway needs few connections, and can keep them for a minute. */
const OWN_LIMITS = { ...LIMITS, connections: 4, idle: 60_000 }

/**
 * Configurations in a PostgreSQL or MySQL (MariaDB) database. The names of its tables begin with
 * `plantgw_configuration`. Connects at the first call.
 * @param url with the credentials
 * @param keep maximum versions of a configuration in the history
 * @throws Error when a package for the type is not installed
 */
export async function sqlStore(
  type: DatabaseType,
  url: string,
  keep = Number.POSITIVE_INFINITY,
): Promise<ConfigurationStore> {
  const name = 'plantgw_configuration'
  const database = await openDatabase<Tables>({
    type,
    url,
    name,
    migrations: migrations(type),
    limits: OWN_LIMITS,
  })
  const { label } = database
  const read = <R>(work: (db: Kysely<Tables>) => Promise<R>) => database.run(work, true)

  return {
    label,
    async list() {
      const rows = await read((db) => db.selectFrom('plantgw_configuration').select(COLUMNS).execute())
      return rows.map(summary).sort(byName)
    },
    async get(identity, version) {
      const row = await read((db) => find(db, idOf(identity), version))
      return row && stored(row, label)
    },
    readAll: () =>
      read(async (db) => {
        // Both queries need the same snapshot.
        const [revision, rows] = await db
          .transaction()
          .setIsolationLevel('repeatable read')
          .execute(async (trx) => [
            await revisionOf(trx),
            await trx.selectFrom('plantgw_configuration').selectAll().execute(),
          ])
        const configurations = rows.map((row) => stored(row, label)).sort(byName)
        return { revision, configurations, findings: [] }
      }),
    async apply(changes, reason, revision) {
      checkChanges(changes, reason)
      if (changes.length === 0) return { kind: 'applied', versions: [] }
      const write = (db: Kysely<Tables>) =>
        transact(db, async (trx) => {
          const outcome = await change(trx, changes, reason, revision)
          if (outcome.kind === 'applied') await prune(trx, outcome.versions, keep)
          if (type === 'postgres') await notifyChange(trx)
          return outcome
        })
      return database.run(write).catch((error) => {
        throw unsure(error)
      })
    },
    async history(identity) {
      const rows = await read((db) =>
        db
          .selectFrom('plantgw_configuration_version')
          .select(COLUMNS)
          .select((eb) => eb('text', 'is', null).as('deleted'))
          .where('id', '=', idOf(identity))
          .orderBy('version', 'desc')
          .execute(),
      )
      return rows.map((row) => ({ ...summary(row), deleted: Number(row.deleted) === 1 }))
    },
    revision: () => read(revisionOf),
    ...(type === 'postgres' && { listen: (then: () => void) => listenForChanges(url, then) }),
    close: () => database.close(),
  }
}

/** Adds to an error of a lost connection that the change may have been made. */
function unsure(error: unknown): unknown {
  if (!(error instanceof StoreError) || error.kind !== 'unreachable') return error
  const advice = 'the change may have been made: check before you repeat it'
  return new StoreError(error.kind, `${error.message}; ${advice}`, { cause: error })
}

async function find(db: Kysely<Tables>, id: string, version: string | undefined) {
  if (version === undefined)
    return db.selectFrom('plantgw_configuration').selectAll().where('id', '=', id).executeTakeFirst()
  if (!/^[1-9]\d{0,8}$/.test(version)) return undefined
  const row = await db
    .selectFrom('plantgw_configuration_version')
    .selectAll()
    .where('id', '=', id)
    .where('version', '=', Number(version))
    .executeTakeFirst()
  return row && row.text !== null ? { ...row, text: row.text } : undefined
}

async function revisionOf(db: Kysely<Tables>): Promise<string> {
  const { value } = await db
    .selectFrom('plantgw_configuration_revision')
    .select('value')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  return String(value)
}

async function transact(
  db: Kysely<Tables>,
  work: (trx: Transaction<Tables>) => Promise<Outcome>,
): Promise<Outcome> {
  try {
    return await db.transaction().setIsolationLevel('read committed').execute(work)
  } catch (error) {
    if (error instanceof Refused) return error.outcome
    throw error
  }
}

async function change(
  trx: Transaction<Tables>,
  changes: readonly Change[],
  { author, message }: Reason,
  revision: string | undefined,
): Promise<Outcome> {
  // This comes first, because the lock of the row makes other changes wait until the commit.
  await trx
    .updateTable('plantgw_configuration_revision')
    .set((eb) => ({ value: eb('value', '+', 1) }))
    .where('id', '=', 1)
    .execute()
  if (revision !== undefined && String(BigInt(await revisionOf(trx)) - 1n) !== revision)
    throw new Refused({ kind: 'moved' })
  const ids = changes.map(idOf)
  const { current, last } = await versionsOf(trx, ids)
  const conflicts = conflictsOf(changes, (identity) => current.get(idOf(identity))?.toString())
  if (conflicts.length > 0) throw new Refused({ kind: 'conflict', conflicts })
  const updated_at = new Date().toISOString()
  const rows = changes.map((change, index) => {
    const id = ids[index]!
    const { name, tenant } = change
    const version = (last.get(id) ?? 0) + 1
    const text = 'text' in change ? change.text : null
    return { id, name, tenant, version, updated_at, author, message: message ?? null, text }
  })
  for (const chunk of chunks(rows)) {
    await trx.insertInto('plantgw_configuration_version').values(chunk).execute()
    await trx
      .deleteFrom('plantgw_configuration')
      .where((eb) =>
        eb(
          'id',
          'in',
          chunk.map(({ id }) => id),
        ),
      )
      .execute()
    const kept = chunk.flatMap(({ text, ...row }) => (text === null ? [] : [{ ...row, text }]))
    if (kept.length > 0) await trx.insertInto('plantgw_configuration').values(kept).execute()
  }
  return { kind: 'applied', versions: rows.map(summary) }
}

/** Deletes old versions of changed configurations. */
async function prune(
  trx: Transaction<Tables>,
  changed: readonly StoredSummary[],
  keep: number,
): Promise<void> {
  for (const { version, ...identity } of changed) {
    const last = Number(version) - keep
    if (last < 1) continue
    await trx
      .deleteFrom('plantgw_configuration_version')
      .where('id', '=', idOf(identity))
      .where('version', '<=', last)
      .execute()
  }
}

/** The current version and the highest version in the history, by id. */
async function versionsOf(trx: Transaction<Tables>, ids: readonly string[]) {
  const current = new Map<string, number>()
  const last = new Map<string, number>()
  for (let from = 0; from < ids.length; from += 1000) {
    const some = ids.slice(from, from + 1000)
    const rows = await trx
      .selectFrom('plantgw_configuration')
      .select(['id', 'version'])
      .where('id', 'in', some)
      .execute()
    for (const { id, version } of rows) current.set(id, version)
    const highest = await trx
      .selectFrom('plantgw_configuration_version')
      .select((eb) => ['id', eb.fn.max('version').as('version')])
      .where('id', 'in', some)
      .groupBy('id')
      .execute()
    for (const { id, version } of highest) last.set(id, Number(version))
  }
  return { current, last }
}

/** Splits rows into statements, limited by the number of rows and the bytes that servers accept in one packet. */
function* chunks<R extends { text: string | null }>(rows: readonly R[]): Generator<R[]> {
  let chunk: R[] = []
  let size = 0
  for (const row of rows) {
    const length = row.text?.length ?? 0
    if (chunk.length > 0 && (chunk.length >= 500 || size + length > 1024 * 1024)) {
      yield chunk
      chunk = []
      size = 0
    }
    chunk.push(row)
    size += length
  }
  if (chunk.length > 0) yield chunk
}

function summary({ name, tenant, version, updated_at, author, message }: Omit<Row, 'id'>): StoredSummary {
  return {
    name,
    tenant,
    version: String(version),
    updatedAt: updated_at,
    author,
    ...(message !== null && { message }),
  }
}

function stored(row: Row & { text: string }, label: string): StoredConfiguration {
  return { ...summary(row), text: row.text, place: `${label}/${qualifiedName(row)}` }
}

/** PostgreSQL channel of change notifications. A channel belongs to one database. */
const CHANNEL = 'plantgw_configuration'

/** Notifies all listeners once the transaction is committed. */
async function notifyChange(trx: QueryExecutorProvider): Promise<void> {
  await sql`select pg_notify(${CHANNEL}, '')`.execute(trx)
}

/**
 * Listens to `notifyChange` on a separate connection, and reconnects. Also calls `then` when the connection is lost and
 * when it is back, because it misses changes in between.
 * @param url with the credentials
 * @param then must not throw
 */
function listenForChanges(url: string, then: () => void): { close(): void } {
  return lastingConnection({
    name: 'the store of configurations',
    async connect(_attempt, signal, lose) {
      const { default: pg } = await import('pg')
      signal.throwIfAborted()
      const socket = new Socket()
      signal.addEventListener('abort', () => socket.destroy())
      const client = new pg.Client({
        connectionString: url,
        connectionTimeoutMillis: 5_000,
        query_timeout: 10_000,
        keepAlive: true,
        application_name: 'plantgw listens',
        stream: () => socket,
      })
      const lost = () => lose(new Error('the connection was closed'))
      client.on('error', lost).on('end', lost).on('notification', then)
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
      return client
    },
    probe: (client) => client.query('select 1'),
    onUp: then,
    onDown: then,
  })
}

import { type Dialect, Kysely, type Migration, Migrator, sql } from 'kysely'
import { requirePackages } from '../text/packages.ts'
import { inTime, TimeOut } from './in-time.ts'
import { faultOf, messageOf } from './sql-faults.ts'
import { StoreError } from './store-error.ts'

export type DatabaseType = 'postgres' | 'mysql'

/** How a process uses a database. Times are milliseconds. */
export interface Limits {
  /** Maximum open connections. */
  connections: number
  /** To connect, or to wait until a connection is free. */
  connect: number
  /** Time limit of a statement on the server, including waits for row locks. */
  statement: number
  /** Time limit for the answer to a statement, after which the connection is closed. */
  answer: number
  /** Time limit of one call of `run`. */
  call: number
  /** Time until an unused connection is closed. */
  idle: number
}

export const LIMITS: Limits = {
  connections: 10,
  connect: 5_000,
  statement: 10_000,
  answer: 15_000,
  call: 20_000,
  idle: 30_000,
}

/** Connections to a server. `destroy` cuts all of them at once. */
export interface Connections {
  dialect: Dialect
  destroy(): void
}

/** A database of a server; its opener closes it. */
export interface Database<T> {
  /** Type, host and name, such as `postgres://db.example.com/plantgw`. */
  label: string
  /**
   * Migrates the tables to the latest version, once. The migrator's lock lets one of several starting processes do
   * this; the others wait. Tables that are up to date need no right to change tables.
   * @throws StoreError
   */
  migrate(): Promise<void>
  /**
   * Runs `work` on the migrated database. Connects at the first call, and again after a lost connection.
   * Repeats `work` if the server rolled a statement back, for example because of a deadlock.
   * @param reads whether `work` only reads, which makes it safe to repeat after a lost connection. Default false
   * @throws StoreError `unreachable`, `refused`, `full`, `closed` or `failed`
   */
  run<R>(work: (db: Kysely<T>) => Promise<R>, reads?: boolean): Promise<R>
  /**
   * Waits for running calls of `run`, then closes the connections. May be called twice.
   * @param patience milliseconds to wait before running work is aborted. Default 1,000
   */
  close(patience?: number): Promise<void>
}

export interface DatabaseOptions {
  type: DatabaseType
  /** URL with the credentials and the name of a database. */
  url: string
  /** Prefix of the tables that record the completed migrations. */
  name: string
  migrations: Record<string, Migration>
  limits: Limits
}

/** Maximum milliseconds of a migration, here or in another process. */
const MIGRATION = 300_000
/** Maximum attempts at work that the server rolls back. */
const ATTEMPTS = 20

/** @throws Error when a package for the type is not installed */
export async function openDatabase<T>(options: DatabaseOptions): Promise<Database<T>> {
  const { type, url, limits } = options
  const connect = await connectorOf(type)
  return new SqlDatabase<T>(connect(url, limits), options, () =>
    connect(url, { ...limits, connections: 1, statement: MIGRATION, answer: MIGRATION }),
  )
}

class SqlDatabase<T> implements Database<T> {
  readonly label: string
  readonly #connections: Connections
  readonly #options: DatabaseOptions
  readonly #connectForMigration: () => Connections
  readonly #db: Kysely<T>
  readonly #running = new Set<Promise<unknown>>()
  #migrated: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(connections: Connections, options: DatabaseOptions, connectForMigration: () => Connections) {
    this.label = labelOf(options.type, options.url)
    this.#connections = connections
    this.#options = options
    this.#connectForMigration = connectForMigration
    this.#db = new Kysely<T>({ dialect: connections.dialect })
  }

  migrate(): Promise<void> {
    this.#migrated ??= migrate(this.#connectForMigration(), this.#options).catch((error) => {
      this.#migrated = undefined
      throw storeError(this.label, error)
    })
    return this.#migrated
  }

  async run<R>(work: (db: Kysely<T>) => Promise<R>, reads = false): Promise<R> {
    for (let attempt = 1; ; attempt++) {
      if (this.#closing) throw new StoreError('closed', `${this.label} is closed`)
      const done = inTime(
        this.migrate().then(() => work(this.#db)),
        this.#options.limits.call,
      )
      this.#running.add(done)
      try {
        return await done
      } catch (error) {
        const fault = error instanceof StoreError ? error.kind : faultOf(error)
        const broken = reads && fault === 'unreachable' && attempt === 1 && !(error instanceof TimeOut)
        if (!broken && (fault !== 'retry' || attempt === ATTEMPTS)) throw storeError(this.label, error)
      } finally {
        this.#running.delete(done)
      }
    }
  }

  close(patience?: number): Promise<void> {
    const end = async () => {
      await Promise.allSettled(this.#running)
      await this.#db.destroy()
    }
    this.#closing ??= endWith(this.#connections, end, patience)
    return this.#closing
  }
}

/**
 * Connects, logs in and runs `select 1`. Changes nothing.
 * @throws StoreError; Error when a package for the type is not installed
 */
export async function ping(type: DatabaseType, url: string): Promise<void> {
  const connections = (await connectorOf(type))(url, LIMITS)
  const db = new Kysely<unknown>({ dialect: connections.dialect })
  try {
    await inTime(sql`select 1`.execute(db), LIMITS.call)
  } catch (error) {
    throw storeError(labelOf(type, url), error)
  } finally {
    await endWith(connections, () => db.destroy())
  }
}

/** Loads only the driver of the type. */
async function connectorOf(type: DatabaseType): Promise<(url: string, limits: Limits) => Connections> {
  requirePackages(type)
  return type === 'postgres'
    ? (await import('./postgres.ts')).postgresServer
    : (await import('./mysql.ts')).mysqlServer
}

/** Ends the connections, then cuts the remaining ones, because some drivers do not report an ended connection. */
async function endWith(connections: Connections, end: () => Promise<void>, patience = 1_000): Promise<void> {
  await inTime(end(), patience).catch(() => {})
  connections.destroy()
}

async function migrate(connections: Connections, { type, name, migrations }: DatabaseOptions): Promise<void> {
  const db = new Kysely<unknown>({ dialect: connections.dialect })
  try {
    const schema = type === 'postgres' ? await currentSchema(db) : undefined
    const migrator = new Migrator({
      db,
      provider: { getMigrations: async () => migrations },
      migrationTableName: `${name}_migration`,
      migrationLockTableName: `${name}_migration_lock`,
      ...(schema !== undefined && { migrationTableSchema: schema }),
    })
    const { error } = await migrator.migrateToLatest()
    // Kysely's error has no code: only its message tells that a newer release made a migration.
    if (error instanceof Error && /previously executed migration .{0,200} is missing/.test(error.message))
      throw new StoreError('failed', `the tables were made by a newer release of plantgw (${error.message})`)
    if (error) throw error
  } finally {
    await endWith(connections, () => db.destroy())
  }
}

/** The schema for new tables. */
async function currentSchema(db: Kysely<unknown>): Promise<string | undefined> {
  const { rows } = await sql<{ schema: string | null }>`select current_schema() as schema`.execute(db)
  return rows[0]?.schema ?? undefined
}

function storeError(label: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const fault = faultOf(error)
  const kind = fault === 'taken' || fault === 'retry' ? 'failed' : fault
  return new StoreError(kind, `${label}: ${messageOf(error)}`, { cause: error })
}

function labelOf(type: DatabaseType, text: string): string {
  const { host, pathname } = new URL(text)
  return `${type}://${host}${pathname}`
}

import { Socket } from 'node:net'
import { Kysely, type Migration, Migrator, MysqlDialect, PostgresDialect, sql } from 'kysely'

export type DatabaseType = 'postgres' | 'mysql'

/** Connections that a process keeps to a database at the most. */
const POOL_SIZE = 4
/** Milliseconds to connect. */
const CONNECT_TIMEOUT = 5_000
/** Milliseconds that the server works at a statement, or waits for a row's lock, at the most. */
const STATEMENT_TIMEOUT = 10_000
/** Milliseconds for one call of `run`, after which its connections are given up. */
const CALL_TIMEOUT = 20_000
/** Milliseconds that a connection to PostgreSQL is kept without work; MySQL's servers end them themselves. */
const IDLE_TIMEOUT = 60_000

/**
 * `unreachable`: no connection, or it broke, or no answer in time: whether a change was made is not known, and a
 * later call may work; `failed`: the server refused. The message holds no credential.
 */
export class DatabaseError extends Error {
  override name = 'DatabaseError'
  constructor(
    readonly kind: 'unreachable' | 'failed',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

/** A database of a server; whoever opened it closes it. */
export interface Database<T> {
  /** Type, host and name, such as `postgres://db.example.com/plantgw`. */
  label: string
  /**
   * Works on the database, migrated to the latest. Connects at the first call and again after the connection was lost.
   * @param again the work only reads, so it is done once more where the connection turns out to be broken
   * @throws DatabaseError
   */
  run<R>(work: (db: Kysely<T>) => Promise<R>, again?: boolean): Promise<R>
  /** Says good-bye to the server; what is under way for longer than a second is broken off. May be called twice. */
  close(): Promise<void>
}

/** A pool of connections, and how to break them all off at once. */
interface Pool<T> {
  db: Kysely<T>
  migrated?: Promise<void>
  abort(): void
}

/**
 * @param url of the type, with the credentials, naming a database
 * @param name begins the names of the tables that hold which migrations were made
 */
export function openDatabase<T>(
  type: DatabaseType,
  url: string,
  name: string,
  migrations: Record<string, Migration>,
): Database<T> {
  const label = labelOf(type, url)
  let pool: Pool<T> | undefined
  let closed = false

  async function attempt<R>(work: (db: Kysely<T>) => Promise<R>): Promise<R> {
    if (closed) throw new DatabaseError('failed', `${label} is closed`)
    pool ??= type === 'postgres' ? postgresPool<T>(url) : mysqlPool<T>(url)
    const own = pool
    const done = (async () => {
      own.migrated ??= migrate(own.db, name, migrations)
      await own.migrated.catch((error) => {
        delete own.migrated
        throw error
      })
      return work(own.db)
    })()
    try {
      return await inTime(done)
    } catch (error) {
      const failure = databaseError(label, error)
      // What broke may have broken for the other connections too; they are made anew.
      if (failure.kind === 'unreachable' && pool === own) {
        pool = undefined
        own.abort()
        // Its timers too.
        own.db.destroy().catch(() => {})
      }
      throw failure
    }
  }

  return {
    label,
    async run(work, again = false) {
      try {
        return await attempt(work)
      } catch (error) {
        const retry = again && error instanceof DatabaseError && error.kind === 'unreachable'
        if (!retry || error.cause instanceof TimeOut) throw error
        return attempt(work)
      }
    },
    async close() {
      closed = true
      const own = pool
      pool = undefined
      if (own) await end(own)
    },
  }
}

/**
 * Connects, logs in and asks one harmless question; nothing is made or changed.
 * @throws DatabaseError
 */
export async function ping(type: DatabaseType, url: string): Promise<void> {
  const pool = type === 'postgres' ? postgresPool(url) : mysqlPool(url)
  try {
    await inTime(sql`select 1`.execute(pool.db))
  } catch (error) {
    throw databaseError(labelOf(type, url), error)
  } finally {
    await end(pool)
  }
}

/** Milliseconds for saying good-bye. */
const END_TIMEOUT = 1_000

async function end<T>({ db, abort }: Pool<T>): Promise<void> {
  const limit = setTimeout(abort, END_TIMEOUT)
  await db.destroy().catch(() => {})
  clearTimeout(limit)
  abort()
}

async function migrate<T>(db: Kysely<T>, name: string, migrations: Record<string, Migration>): Promise<void> {
  const migrator = new Migrator({
    db,
    provider: { getMigrations: async () => migrations },
    migrationTableName: `${name}_migration`,
    migrationLockTableName: `${name}_migration_lock`,
  })
  const { error } = await migrator.migrateToLatest()
  if (error instanceof Error && /^corrupted migrations/.test(error.message))
    throw new Error(`its tables were changed by a newer plantgw (${error.message})`)
  if (error) throw error
}

function postgresPool<T>(url: string): Pool<T> {
  const sockets = new Set<Socket>()
  const dialect = new PostgresDialect({
    async pool() {
      const { default: pg } = await import('pg')
      const pool = new pg.Pool({
        connectionString: url,
        max: POOL_SIZE,
        connectionTimeoutMillis: CONNECT_TIMEOUT,
        idleTimeoutMillis: IDLE_TIMEOUT,
        statement_timeout: STATEMENT_TIMEOUT,
        keepAlive: true,
        application_name: 'plantgw',
        // A command that is done ends although connections are kept.
        allowExitOnIdle: true,
        stream: () => tracked(sockets),
      })
      // A connection that breaks is taken out of the pool, and who uses it hears of it by that.
      pool.on('error', () => {})
      pool.on('connect', (client) => client.on('error', () => {}))
      return pool
    },
  })
  return {
    db: new Kysely<T>({ dialect }),
    abort() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function tracked(sockets: Set<Socket>): Socket {
  const socket = new Socket()
  sockets.add(socket)
  return socket.once('close', () => sockets.delete(socket))
}

function mysqlPool<T>(url: string): Pool<T> {
  const connections = new Set<{ destroy(): void }>()
  let aborted = false
  const dialect = new MysqlDialect({
    async pool() {
      const { createPool } = await import('mysql2')
      const pool = createPool({
        uri: url.replace(/^mariadb:/i, 'mysql:'),
        connectionLimit: POOL_SIZE,
        connectTimeout: CONNECT_TIMEOUT,
        enableKeepAlive: true,
        charset: 'utf8mb4_bin',
        supportBigNumbers: true,
      })
      pool.on('connection', (connection) => {
        if (aborted) connection.destroy()
        connections.add(connection)
        connection.on('error', () => {})
        connection.once('end', () => connections.delete(connection))
      })
      return pool
    },
    async onCreateConnection(connection) {
      // Text that is too long is refused rather than cut, whatever the server's default.
      const settings = `sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = ${STATEMENT_TIMEOUT / 1000}`
      const { CompiledQuery } = await import('kysely')
      await connection.executeQuery(CompiledQuery.raw(`set session ${settings}`))
    },
  })
  return {
    db: new Kysely<T>({ dialect }),
    abort() {
      aborted = true
      for (const connection of connections) connection.destroy()
    },
  }
}

class TimeOut extends Error {}

async function inTime<R>(work: Promise<R>): Promise<R> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeOut(`no answer in ${CALL_TIMEOUT / 1000} s`)), CALL_TIMEOUT)
  })
  try {
    return await Promise.race([work, limit])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}

/** Error codes of a connection that could not be made or broke: of Node, of PostgreSQL's servers, of MySQL's. */
const UNREACHABLE =
  /^(?:E(?:CONN\w+|PIPE|TIMEDOUT|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH)|PROTOCOL_\w+|08\w{3}|57P0\d|53300|57014|ER_(?:CON_COUNT_ERROR|SERVER_SHUTDOWN|CONNECTION_KILLED|QUERY_INTERRUPTED|LOCK_WAIT_TIMEOUT))$/
const BROKEN =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Can't add new command when connection is in closed state|Pool is closed|Cannot use a pool after)/

function databaseError(label: string, error: unknown): DatabaseError {
  if (error instanceof DatabaseError) return error
  const cause = (error instanceof AggregateError ? (error.errors[0] ?? error) : error) as Error & {
    code?: string
    fatal?: boolean
  }
  const unreachable =
    cause instanceof TimeOut || UNREACHABLE.test(cause.code ?? '') || BROKEN.test(cause.message)
  const message = `${label}: ${cause.message || cause.code}`
  return new DatabaseError(unreachable ? 'unreachable' : 'failed', message, { cause })
}

function labelOf(type: DatabaseType, text: string): string {
  const { host, pathname } = new URL(text)
  return `${type}://${host}${pathname}`
}

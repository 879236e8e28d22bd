import type { Socket } from 'node:net'
import { MysqlDialect, type MysqlPool, type MysqlPoolConnection } from 'kysely'
import mysql from 'mysql2'
import type { Connections, Limits } from './database.ts'
import { faultOf } from './sql-faults.ts'

/** Kysely on MySQL and MariaDB. Opens connections on demand, and never reuses a broken one. */
export function mysqlServer(url: string, limits: Limits): Connections {
  const open = new Set<mysql.PoolConnection>()
  let destroyed = false
  const opened = (connection: mysql.PoolConnection) => {
    if (destroyed) breakOff(connection)
    open.add(connection)
    const gone = () => open.delete(connection)
    // Without a listener, a broken connection would end the process. The running query also gets the error.
    connection.on('error', gone).once('end', gone)
  }
  return {
    // A pool starts a timer at once, so it is created on demand.
    dialect: new MysqlDialect({ pool: async () => poolOf(url, limits, opened) }),
    destroy() {
      destroyed = true
      for (const connection of open) breakOff(connection)
    },
  }
}

type Callback = Parameters<MysqlPool['getConnection']>[0]

/** A pool that applies `sessionOf` to each connection before its first use, and limits the wait for a free connection. */
function poolOf(url: string, limits: Limits, opened: (connection: mysql.PoolConnection) => void): MysqlPool {
  const pool = mysql
    .createPool({
      uri: url,
      connectionLimit: limits.connections,
      connectTimeout: limits.connect,
      maxIdle: 1,
      idleTimeout: limits.idle,
      enableKeepAlive: true,
      charset: 'utf8mb4_bin',
      // The driver returns a large int64 as text, because a double cannot hold it.
      supportBigNumbers: true,
      bigNumberStrings: true,
    })
    .on('connection', opened)
  const ready = new WeakSet<mysql.PoolConnection>()

  function prepare(connection: mysql.PoolConnection, callback: Callback): void {
    const done = () => callback(null, guarded(connection, limits))
    if (ready.has(connection)) {
      done()
      return
    }
    ask(connection, sessionOf(limits), [], limits, (error) => {
      if (error) {
        breakOff(connection)
        callback(error, undefined as never)
      } else {
        ready.add(connection)
        done()
      }
    })
  }

  return {
    getConnection(callback) {
      let late = false
      // The pool itself would wait forever for a free connection.
      const timer = setTimeout(() => {
        late = true
        callback(new Error('no connection became free in time'), undefined as never)
      }, limits.connect)
      pool.getConnection((error, connection) => {
        clearTimeout(timer)
        if (late) connection?.release()
        else if (error) callback(error, connection as never)
        else prepare(connection, callback)
      })
    },
    end: (callback) => pool.end((error) => callback(error)),
  }
}

/**
 * Session settings that statements rely on, independent of server defaults: autocommit, no silent truncation, and
 * backslash escapes, which the driver uses for values in a statement.
 */
function sessionOf({ statement }: Limits): string {
  const seconds = Math.ceil(statement / 1000)
  return (
    `set session autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', ` +
    `innodb_lock_wait_timeout = ${seconds} ` +
    // MariaDB runs the first comment, MySQL the second.
    `/*M! , max_statement_time = ${statement / 1000} */ /*!50708 , max_execution_time = ${statement} */`
  )
}

/** Wraps a connection so that its release closes it after a query found it broken. */
function guarded(connection: mysql.PoolConnection, limits: Limits): MysqlPoolConnection {
  let broken = false
  const query = (text: string, values: readonly unknown[], callback: Answer) =>
    ask(connection, text, values, limits, (error, rows) => {
      if (error && faultOf(error) === 'unreachable') broken = true
      callback(error, rows)
    })
  return {
    query: query as unknown as MysqlPoolConnection['query'],
    release: () => (broken ? breakOff(connection) : connection.release()),
  }
}

/** Cuts a connection. The driver alone would wait until the server closes it too, which may never happen. */
function breakOff(connection: mysql.PoolConnection): void {
  connection.destroy()
  const { stream } = connection as unknown as { stream: Socket }
  stream.destroy()
}

type Answer = (error: unknown, rows: unknown) => void

/** A query with a time limit. The driver's own limit keeps its timer after the connection breaks. */
function ask(
  connection: mysql.PoolConnection,
  text: string,
  values: readonly unknown[],
  limits: Limits,
  callback: Answer,
): void {
  // A second callback has no effect, because the promise is settled.
  const late = () => callback(new Error('the server did not answer in time'), undefined)
  const timer = setTimeout(late, limits.answer)
  connection.query(text, [...values], (error, rows) => {
    clearTimeout(timer)
    callback(error, rows)
  })
}

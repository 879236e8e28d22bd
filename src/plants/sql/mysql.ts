import { MysqlDialect, type MysqlPool, type MysqlPoolConnection } from 'kysely'
import mysql from 'mysql2'
import { faultOf } from './faults.ts'
import type { Limits } from './limits.ts'

/** Kysely on MySQL and MariaDB. Connections are made when they are needed; broken ones are never used again. */
export function mysqlDialect(url: string, limits: Limits): MysqlDialect {
  return new MysqlDialect({ pool: async () => mysqlPool(url, limits) })
}

type Callback = Parameters<MysqlPool['getConnection']>[0]

function mysqlPool(url: string, limits: Limits): MysqlPool {
  const pool = mysql.createPool({
    uri: url,
    connectionLimit: limits.connections,
    connectTimeout: limits.connect,
    maxIdle: 1,
    idleTimeout: limits.idle,
    enableKeepAlive: true,
    // An int64 comes as text, for a double does not hold it.
    supportBigNumbers: true,
    bigNumberStrings: true,
  })
  const ready = new WeakSet<mysql.PoolConnection>()

  /** A new connection is set up before its first use. */
  function prepare(connection: mysql.PoolConnection, callback: Callback): void {
    const done = () => callback(null, guarded(connection, limits))
    if (ready.has(connection)) {
      done()
      return
    }
    // Without a listener a connection that breaks would end the process; whoever uses it gets the error, too.
    connection.on('error', () => {})
    ask(connection, sessionOf(limits), [], limits, (error) => {
      if (error) {
        connection.destroy()
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
      // The pool itself would wait for a free connection without end.
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
 * What a statement relies on, whatever the server's defaults: it is committed at once, text is never cut, and a
 * backslash escapes, as the driver does when it writes values into a statement.
 */
function sessionOf({ statement }: Limits): string {
  const seconds = Math.ceil(statement / 1000)
  return (
    `set session autocommit = 1, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', ` +
    `innodb_lock_wait_timeout = ${seconds} ` +
    // Each server reads its own one of these comments.
    `/*M! , max_statement_time = ${statement / 1000} */ /*!50708 , max_execution_time = ${statement} */`
  )
}

/** The connection, which is closed at its release when a query showed that it is of no more use. */
function guarded(connection: mysql.PoolConnection, limits: Limits): MysqlPoolConnection {
  let broken = false
  const query = (text: string, values: readonly unknown[], callback: Answer) =>
    ask(connection, text, values, limits, (error, rows) => {
      if (error && faultOf(error) === 'unavailable') broken = true
      callback(error, rows)
    })
  return {
    query: query as unknown as MysqlPoolConnection['query'],
    release: () => (broken ? connection.destroy() : connection.release()),
  }
}

type Answer = (error: unknown, rows: unknown) => void

/** A query with an end. The driver's own time-out would keep its timer when the connection breaks. */
function ask(
  connection: mysql.PoolConnection,
  text: string,
  values: readonly unknown[],
  limits: Limits,
  callback: Answer,
): void {
  // What comes after the time-out is ignored by the promise that the callback settles.
  const late = () => callback(new Error('the server did not answer in time'), undefined)
  const timer = setTimeout(late, limits.answer)
  connection.query(text, [...values], (error, rows) => {
    clearTimeout(timer)
    callback(error, rows)
  })
}

import { Socket } from 'node:net'
import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Connections, Limits } from './database.ts'
import { faultOf } from './sql-faults.ts'

/** Turns `synchronous_commit` on where it is off, so that a change is on disk before the server acknowledges it. */
const sessionOf = ({ statement }: Limits) =>
  `select set_config('statement_timeout', '${statement}', false),
  case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', false) end`

/** Kysely on PostgreSQL. Opens connections on demand, and never reuses a broken one. */
export function postgresServer(url: string, limits: Limits): Connections {
  const sockets = new Set<Socket>()
  return {
    dialect: new PostgresDialect({ pool: async () => poolOf(url, limits, sockets) }),
    destroy() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

function poolOf(url: string, limits: Limits, sockets: Set<Socket>): PostgresPool {
  const pool = new pg.Pool({
    connectionString: url,
    application_name: 'plantgw',
    max: limits.connections,
    connectionTimeoutMillis: limits.connect,
    idleTimeoutMillis: limits.idle,
    query_timeout: limits.answer,
    keepAlive: true,
    // Idle connections do not keep a finished command running.
    allowExitOnIdle: true,
    stream() {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    onConnect: async (client) => {
      // Without a listener, a broken connection would end the process. The running query also gets the error.
      client.on('error', () => {})
      await client.query(sessionOf(limits))
    },
  })
  pool.on('error', () => {})
  return {
    connect: async () => guarded(await pool.connect()),
    end: () => pool.end(),
  }
}

/** Wraps a client so that its release closes it after a query found it broken. */
function guarded(client: pg.PoolClient): PostgresPoolClient {
  let broken = false
  const query = async (text: string, parameters: readonly unknown[]) => {
    try {
      return await client.query(text, [...parameters])
    } catch (error) {
      if (faultOf(error) === 'unreachable') broken = true
      throw error
    }
  }
  return { query: query as unknown as PostgresPoolClient['query'], release: () => client.release(broken) }
}

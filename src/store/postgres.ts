import { Socket } from 'node:net'
import { PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely'
import pg from 'pg'
import type { Connections, Limits } from './database.ts'
import { faultOf } from './sql-faults.ts'

/** A server may be set to acknowledge before a change is on disk; any other setting is left as it is. */
const sessionOf = ({ statement }: Limits) =>
  `select set_config('statement_timeout', '${statement}', false),
  case current_setting('synchronous_commit') when 'off' then set_config('synchronous_commit', 'on', false) end`

/** Kysely on PostgreSQL. Connections are made when they are needed; broken ones are never used again. */
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
    // A finished command can end although connections are kept.
    allowExitOnIdle: true,
    stream() {
      const socket = new Socket()
      sockets.add(socket)
      return socket.once('close', () => sockets.delete(socket))
    },
    onConnect: async (client) => {
      // Without a listener a broken connection would end the process; its user gets the error, too.
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

/** The client; its release closes it if a query found it broken. */
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

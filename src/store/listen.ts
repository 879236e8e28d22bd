import { Socket } from 'node:net'
import { type QueryExecutorProvider, sql } from 'kysely'
import { retryPause } from '../net/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'

/** The PostgreSQL channel for change notifications; channels belong to one database. */
const CHANNEL = 'plantgw_configuration'
/** Milliseconds to connect. */
const CONNECT_TIMEOUT = 5_000
/** Milliseconds between two questions whether the server is there, and for the answer. */
const PROBE_INTERVAL = 30_000
const PROBE_TIMEOUT = 10_000
/** Maximum milliseconds before reconnecting. */
const LONGEST_PAUSE = 30_000
/** Milliseconds for saying good-bye. */
const END_TIMEOUT = 1_000

/** Notifies all listeners once the transaction is committed. */
export async function tellChange(trx: QueryExecutorProvider): Promise<void> {
  await sql`select pg_notify(${CHANNEL}, '')`.execute(trx)
}

export interface Listener {
  close(): Promise<void>
}

/**
 * Listens to `tellChange` on a connection of its own, and reconnects. Changes while disconnected are not reported, so
 * `then` is also called when the connection is lost and when it is back.
 * @param url with the credentials
 * @param then must not throw
 */
export function listenForChanges(url: string, then: () => void): Listener {
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let failures = 0
  let end = async () => {}

  function begin(): void {
    connect().catch(unexpected('the store of configurations'))
  }

  async function connect(): Promise<void> {
    const { default: pg } = await import('pg')
    if (closed) return
    const socket = new Socket()
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_TIMEOUT,
      query_timeout: PROBE_TIMEOUT,
      keepAlive: true,
      application_name: 'plantgw listens',
      stream: () => socket,
    })
    let probe: NodeJS.Timeout | undefined
    let since: number | undefined
    let over = false
    const lost = () => {
      if (over) return
      over = true
      clearInterval(probe)
      socket.destroy()
      if (closed) return
      // One that breaks at once each time is not tried more often than one that cannot be made.
      if (since !== undefined && performance.now() - since > LONGEST_PAUSE) failures = 0
      timer = setTimeout(begin, retryPause(failures++, LONGEST_PAUSE))
      if (since !== undefined) then()
    }
    end = async () => {
      clearInterval(probe)
      const limit = setTimeout(() => socket.destroy(), END_TIMEOUT)
      if (since !== undefined && !over) await client.end().catch(() => {})
      clearTimeout(limit)
      socket.destroy()
    }
    client.on('error', lost).on('end', lost).on('notification', then)
    try {
      await client.connect()
      await client.query(`listen ${CHANNEL}`)
    } catch {
      return lost()
    }
    if (closed) return void socket.destroy()
    since = performance.now()
    probe = setInterval(() => client.query('select 1').catch(lost), PROBE_INTERVAL)
    then()
  }

  begin()
  return {
    async close() {
      closed = true
      clearTimeout(timer)
      await end()
    },
  }
}

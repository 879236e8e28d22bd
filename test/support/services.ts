import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { TestContext } from 'node:test'
import mysql from 'mysql2/promise'
import pg from 'pg'

/** A PostgreSQL server whose user may create databases: `PLANTGW_TEST_POSTGRES`, else the local one. */
export function postgresUrl(): string {
  return process.env.PLANTGW_TEST_POSTGRES || 'postgres://postgres@127.0.0.1:5432/postgres'
}

/** A MySQL or MariaDB server whose user may create databases: `PLANTGW_TEST_MYSQL`, else the local one. */
export function mysqlUrl(): string {
  return process.env.PLANTGW_TEST_MYSQL || 'mysql://root@127.0.0.1:3306/mysql'
}

/** For `skip` of a test: the reason when nothing listens at the URL's host and port, else false. */
export async function skipUnless(url: string): Promise<string | false> {
  const { protocol, hostname, port } = new URL(url)
  const socket = connect(Number(port) || (protocol.startsWith('postgres') ? 5432 : 3306), hostname)
  try {
    await once(socket, 'connect')
    return false
  } catch (error) {
    return `no ${protocol.slice(0, -1)} server at ${hostname}:${port}: ${(error as Error).message}`
  } finally {
    socket.destroy()
  }
}

/** Runs one statement on the server at the URL. */
export async function statement(url: string, sql: string): Promise<void> {
  if (url.startsWith('postgres')) {
    const client = new pg.Client(url)
    await client.connect()
    await client.query(sql).finally(() => client.end())
  } else {
    const connection = await mysql.createConnection(url)
    await connection.query(sql).finally(() => connection.end())
  }
}

/** The URL of a new, empty database on the server at the URL; it is dropped after the test. */
export async function ownDatabase(t: Pick<TestContext, 'after'>, server: string): Promise<string> {
  const name = `plantgw_test_${randomBytes(6).toString('hex')}`
  await statement(server, `create database ${name}`)
  const forced = server.startsWith('postgres') ? ' with (force)' : ''
  t.after(() => statement(server, `drop database ${name}${forced}`))
  const url = new URL(server)
  url.pathname = `/${name}`
  return url.href
}

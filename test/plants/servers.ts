import { createHash } from 'node:crypto'
import { type DatabaseType, LIMITS, type Limits } from '../../src/store/database.ts'
import { mysqlUrl, postgresUrl, skipUnless, statement } from '../support/services.ts'

/** The servers of the tests, and why one is left out. */
export const SERVERS: { type: DatabaseType; server: string; skip: string | false }[] = [
  { type: 'postgres', server: postgresUrl(), skip: await skipUnless(postgresUrl()) },
  { type: 'mysql', server: mysqlUrl(), skip: await skipUnless(mysqlUrl()) },
]

/** A slow machine changes no outcome. */
export const PATIENT: Limits = {
  ...LIMITS,
  connect: 60_000,
  statement: 60_000,
  answer: 60_000,
  call: 120_000,
}

/** Gives `ann` plants with the ids and names 0, 1, … in a database without plants. */
export async function fill(type: DatabaseType, url: string, count: number): Promise<void> {
  const digest = createHash('sha256').update('"ann"').digest('hex')
  const key = type === 'postgres' ? `'\\x${digest}'` : `x'${digest}'`
  for (let from = 0; from < count; from += 10_000) {
    const rows = Array.from(
      { length: Math.min(10_000, count - from) },
      (_, index) => `(${from + index}, '"ann"', ${key}, '{"name":"${from + index}"}')`,
    )
    await statement(url, `insert into plantgw_plants (id, owner, owner_key, plant) values ${rows.join(',')}`)
  }
}

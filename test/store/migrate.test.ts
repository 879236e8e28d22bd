import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openDatabase } from '../../src/store/database.ts'
import type { ConfigurationStore } from '../../src/store/index.ts'
import { migrations, type Tables } from '../../src/store/sql-tables.ts'
import { temporaryFolder } from '../support/process.ts'
import { another, applied, put } from './contract.ts'
import { KINDS } from './kinds.ts'

/** What an earlier release kept: one history for each name, whatever the tenant. */
const KEPT = [
  ['x', 'green', '1', 'first'],
  ['x', 'green', '2', 'second'],
  ['x', 'default', '3', 'taken over'],
  ['x', 'green', '4', 'back'],
  ['x', 'blue', '5', 'theirs'],
  ['y', 'default', '1', 'plain'],
  ['z', 'green', '1', 'gone'],
  ['z', 'green', '2', null],
] as const

const ENTRIES = KEPT.map(([name, tenant, version, text]) => {
  return {
    name,
    tenant,
    version,
    updatedAt: `2026-01-0${version}T00:00:00.000Z`,
    author: 'ann',
    message: 'why',
    text,
  }
})

async function checkStore(store: ConfigurationStore) {
  const current = (await store.readAll()).configurations.map(({ tenant, name, version, text }) => [
    tenant,
    name,
    version,
    text,
  ])
  assert.deepEqual(current, [
    ['blue', 'x', '5', 'theirs'],
    ['default', 'y', '1', 'plain'],
  ])
  const history = async (tenant: string, name: string) =>
    (await store.history({ tenant, name })).map((one) => [one.version, one.deleted, one.message])
  assert.deepEqual(await history('green', 'x'), [
    ['5', true, 'moved to the tenant blue'],
    ['4', false, 'why'],
    ['3', true, 'moved to the tenant default'],
    ['2', false, 'why'],
    ['1', false, 'why'],
  ])
  assert.deepEqual(await history('default', 'x'), [
    ['4', true, 'moved to the tenant green'],
    ['3', false, 'why'],
  ])
  assert.deepEqual(await history('blue', 'x'), [['5', false, 'why']])
  assert.deepEqual(await history('default', 'y'), [['1', false, 'why']])
  assert.deepEqual(await history('green', 'z'), [
    ['2', true, 'why'],
    ['1', false, 'why'],
  ])
  for (const { tenant, name, version, text } of ENTRIES)
    if (text !== null) assert.equal((await store.get({ tenant, name }, version))?.text, text)
  // Versions count on.
  assert.deepEqual(await applied(store, [put('x', 'again', undefined, 'green')]), { x: '6' })
}

test('lowdb: a file of an earlier release is read, and its names are per tenant', async (t) => {
  const file = join(temporaryFolder(t), 'store.json')
  writeFileSync(file, JSON.stringify({ format: 'plantgw configurations', version: 1, versions: ENTRIES }))
  await checkStore(await another(t, { type: 'lowdb', file }))
  const again = await another(t, { type: 'lowdb', file })
  assert.deepEqual(
    (await again.list()).map(({ tenant, name, version }) => [tenant, name, version]),
    [
      ['blue', 'x', '5'],
      ['green', 'x', '6'],
      ['default', 'y', '1'],
    ],
  )
})

for (const { type, make, skip = false } of KINDS)
  if (type === 'postgres' || type === 'mysql')
    test(`${type}: tables of an earlier release are migrated, also where that was broken off`, {
      skip,
    }, async (t) => {
      const settings = await make(t)
      assert.ok('url' in settings)
      const { '001-configurations': first } = migrations(type)
      const old = await openDatabase<Tables>({
        type,
        url: settings.url,
        name: 'plantgw_configuration',
        migrations: { '001-configurations': first! },
        limits: {
          connections: 1,
          connect: 5000,
          statement: 10_000,
          answer: 10_000,
          call: 20_000,
          idle: 1000,
        },
      })
      t.after(() => old.close())
      const rows = ENTRIES.map(({ updatedAt, version, ...entry }) => {
        const id = createHash('sha256').update(entry.name).digest('hex')
        return { ...entry, id, version: Number(version), updated_at: updatedAt }
      })
      const current = rows.filter(({ tenant, name }) => tenant === 'blue' || name === 'y')
      const { '002-names-of-tenants': second } = migrations(type)
      await old.run(async (db) => {
        await db.insertInto('plantgw_configuration_version').values(rows).execute()
        await db
          .insertInto('plantgw_configuration')
          .values(current.map((row) => ({ ...row, text: row.text! })))
          .execute()
        // As often as it is begun again.
        await second!.up(db)
        await db
          .updateTable('plantgw_configuration')
          .set({ id: rows[0]!.id })
          .where('name', '=', 'x')
          .execute()
        await second!.up(db)
      })
      await checkStore(await another(t, settings))
    })

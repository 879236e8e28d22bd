import assert from 'node:assert/strict'
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { StorageSettings } from '../../src/config/index.ts'
import { KINDS } from '../store/kinds.ts'
import { temporaryFolder } from '../support/process.ts'
import { linearization } from './linearizable.ts'
import { type StoreOperation, storeModel } from './model.ts'
import { commandLine, lastingWorker } from './process.ts'
import { type Counts, record } from './record.ts'

/** Histories of each store, and the seed of the first one. */
const HISTORIES = Number(process.env.PLANTGW_HISTORIES ?? 3)
const SEED = Number(process.env.PLANTGW_SEED ?? 1)

for (const { type, make, skip = false } of KINDS)
  test(`${type}: changes, rollbacks and reads of several processes happen one at a time`, {
    skip,
  }, async (t) => {
    const crew = {
      lasting: [lastingWorker(t), lastingWorker(t), lastingWorker(t)],
      command: commandLine(t),
      last: lastingWorker(t),
    }
    const home = temporaryFolder(t)
    const sum: Counts = { operations: 0, unknown: 0, kills: 0, cuts: 0, delays: 0 }
    for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
      const storage = await make(t)
      const folder = join(home, String(seed))
      mkdirSync(folder)
      const { operations, traits, counts } = await record(t, storage, crew, folder, seed)
      const { linearizable, order } = linearization(operations, storeModel(traits))
      if (!linearizable) assert.fail(told(type, seed, operations, order))
      assert.ok(operations.at(-2)!.output?.kind === 'applied', JSON.stringify(operations.at(-2)))
      checkLeft(storage)
      for (const key of Object.keys(sum) as (keyof Counts)[]) sum[key] += counts[key]
    }
    t.diagnostic(`${HISTORIES} histories from seed ${SEED}: ${JSON.stringify(sum)}`)
    assert.ok(sum.kills > 0 && sum.unknown > 0, 'nobody was killed')
    if (type === 'postgres' || type === 'mysql') assert.ok(sum.cuts > 0 && sum.delays > 0, 'nothing was cut')
  })

/** Whoever was killed leaves nothing behind once somebody else has changed the store. */
function checkLeft(storage: StorageSettings): void {
  if (storage.type === 'directory')
    assert.ok(
      readdirSync(storage.path).every((name) => /^[abc]\.yaml$/.test(name)),
      readdirSync(storage.path).join(),
    )
  if (storage.type === 'lowdb') assert.deepEqual(readdirSync(dirname(storage.file)), ['store.json'])
}

/** The history, and how far there is an order that explains it. */
function told(type: string, seed: number, operations: StoreOperation[], order: StoreOperation[]): string {
  const line = (one: StoreOperation) =>
    `[${one.called}, ${one.answered}] ${JSON.stringify(one.input)} → ${JSON.stringify(one.output) ?? 'no answer'}`
  return [
    `no order of one at a time explains this history of ${type}, PLANTGW_SEED=${seed}:`,
    ...operations.map(line),
    'The longest beginning of one:',
    ...order.map(line),
  ].join('\n')
}

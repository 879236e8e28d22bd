import assert from 'node:assert/strict'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { StoreError } from '../../src/store/index.ts'
import { fill, smallDisk } from '../support/disk.ts'
import { another, applied, put } from './contract.ts'

for (const type of ['directory', 'lowdb'] as const)
  test(`${type}: a full disk refuses a change, keeps what is there, and is left as it was`, async (t) => {
    const disk = await smallDisk(t)
    if (!disk) return t.skip('only root may mount a small disk')
    const settings =
      type === 'lowdb' ? { type, file: join(disk, 'store.json') } : { type, path: join(disk, 'configs') }
    const folder = type === 'lowdb' ? disk : join(disk, 'configs')
    const store = await another(t, settings)
    const { a, b } = await applied(store, [put('a'), put('b')])
    await fill(disk)
    const before = await readdir(folder)
    const large = 'x'.repeat(10_000)
    for (const changes of [[put('a', large, a)], [put('a', large, a), put('b', large, b)]])
      await assert.rejects(store.apply(changes, { author: 'x' }), (error) => {
        return error instanceof StoreError && error.kind === 'full'
      })
    assert.deepEqual(await readdir(folder), before)
    const other = await another(t, settings)
    assert.deepEqual(
      (await other.list()).map(({ version }) => version),
      [a, b],
    )
    await rm(join(disk, 'ballast'))
    await applied(store, [put('a', large, a), put('b', large, b)])
  })

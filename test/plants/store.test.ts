import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { lowdbStore } from '../../src/plants/lowdb.ts'
import { openFile } from '../../src/plants/store-file.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { contract } from './contract.ts'
import { deferred, folder, listed, memory } from './helpers.ts'

const ann = { caller: 'ann', access: 'own' } as const

contract('lowdb', async (t) => {
  const path = join(await folder(t), 'plants.json')
  const open = async () => {
    const file = await openFile(path)
    return { file, store: lowdbStore(file.adapter, file.snapshot) }
  }
  const close = async () => {
    await current.store.close()
    await current.file.close()
  }
  let current = await open()
  t.after(close)
  return {
    store: current.store,
    async reopen() {
      await close()
      current = await open()
      return current.store
    },
  }
})

test('a thousand creates in one turn are one write; those that come during a write are the next one', async () => {
  const { adapter, store, written } = memory()
  const begun = deferred()
  const disk = deferred()
  const write = adapter.write
  adapter.write = async (data) => {
    begun.resolve()
    await disk.promise
    await write(data)
  }
  const create = (from: number) =>
    Array.from({ length: 1000 }, (_, index) => store.create(ann, { id: BigInt(from + index), name: '' }))
  const first = create(0)
  await begun.promise
  const second = create(1000)
  assert.deepEqual(await listed(store, ann), [], 'nothing is visible before it is durable')
  disk.resolve()
  await Promise.all([...first, ...second])
  assert.equal((await listed(store, ann)).length, 2000)
  assert.deepEqual(
    written.map((snapshot) => snapshot.size),
    [1000, 2000],
  )
})

test('a change that changes nothing writes nothing', async () => {
  const { store, written } = memory()
  assert.equal(await store.delete(ann, 1n), false)
  await store.create(ann, { id: 1n, name: 'a' })
  assert.equal(await store.create(ann, { id: 1n, name: 'b' }), 'taken')
  assert.equal(written.length, 1)
})

test('a failed write acknowledges nothing, leaves memory as the disk is, and the next one works', async () => {
  const { adapter, store, written } = memory()
  await store.create(ann, { id: 1n, name: 'kept' })
  const { write } = adapter
  adapter.write = async () => {
    throw new StoreError('failed', 'EIO')
  }
  const outcomes = await Promise.allSettled([
    store.create(ann, { id: 2n, name: 'lost' }),
    store.create(ann, { id: 2n, name: 'lost too' }),
    store.delete(ann, 1n),
  ])
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
  assert.deepEqual(await listed(store, ann), [{ name: 'kept' }])
  adapter.write = write
  assert.equal(await store.create(ann, { id: 2n, name: 'new' }), 'created')
  assert.deepEqual(await listed(store, ann), [{ name: 'kept' }, { name: 'new' }])
  assert.deepEqual([...written.at(-1)!.keys()], [1n, 2n])
})

test('a change is answered although the disk does not answer', async (t) => {
  const { adapter } = memory()
  const store = lowdbStore({ ...adapter, write: () => new Promise(() => {}) }, new Map())
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const created = store.create({ caller: 'ann', access: 'own' }, {
    id: 1n,
    name: 'fern',
    soil: 'peat',
  } as never)
  t.mock.timers.tick(20_000)
  await assert.rejects(created, { name: 'StoreError', kind: 'unreachable' })
})

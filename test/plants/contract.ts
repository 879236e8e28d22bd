import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { LIST_PIECE, type Plant, type PlantStore } from '../../src/plants/store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { sample } from '../support/rest.ts'
import { listed } from './helpers.ts'

export interface Opened {
  store: PlantStore
  /** Closes the store and opens it again on the same data. */
  reopen(): Promise<PlantStore>
}

const ann = { caller: 'ann', access: 'own' } as const
const bob = { caller: 'bob', access: 'own' } as const
const root = { caller: 'root', access: 'all' } as const
const MIN = -(2n ** 63n)
const MAX = 2n ** 63n - 1n

const ids = (count: number) => Array.from({ length: count }, (_, index) => BigInt(index))

/** What every PlantStore must do; `open` gives an empty one and cleans up after the test. */
export function contract(kind: string, open: (t: TestContext) => Promise<Opened>): void {
  const check = (name: string, run: (opened: Opened) => Promise<void>) =>
    test(`${kind}: ${name}`, async (t) => run(await open(t)))

  check('lists in order of creation, with a tag only where one was given', async ({ store }) => {
    assert.deepEqual(await listed(store, ann), [])
    assert.equal(await store.create(ann, { id: 5n, name: 'Fern', tag: '' }), 'created')
    assert.equal(await store.create(ann, { id: -1n, name: '' }), 'created')
    assert.equal(await store.create(ann, { id: 3n, name: 'Aloe', tag: 'dry' }), 'created')
    assert.deepEqual(await listed(store, ann), [
      { name: 'Fern', tag: '' },
      { name: '' },
      { name: 'Aloe', tag: 'dry' },
    ])
  })

  check('an id is unique over all callers, and free again once it is deleted', async ({ store }) => {
    assert.equal(await store.create(ann, { id: 1n, name: 'a' }), 'created')
    assert.equal(await store.create(ann, { id: 1n, name: 'b' }), 'taken')
    assert.equal(await store.create(bob, { id: 1n, name: 'c' }), 'taken')
    assert.deepEqual(await listed(store, root), [{ name: 'a' }])
    assert.equal(await store.delete(ann, 1n), true)
    assert.equal(await store.create(bob, { id: 1n, name: 'd' }), 'created')
    assert.deepEqual(await listed(store, ann), [])
    assert.deepEqual(await listed(store, bob), [{ name: 'd' }])
  })

  check('`own` reaches what the caller created, `all` reaches everything', async ({ store }) => {
    await store.create(ann, { id: 1n, name: 'a' })
    await store.create(bob, { id: 2n, name: 'b' })
    await store.create(root, { id: 3n, name: 'r' })
    assert.deepEqual(await listed(store, ann), [{ name: 'a' }])
    assert.deepEqual(await listed(store, bob), [{ name: 'b' }])
    assert.deepEqual(await listed(store, root), [{ name: 'a' }, { name: 'b' }, { name: 'r' }])
    assert.equal(await store.delete(ann, 2n), false)
    assert.equal(await store.delete(ann, 4n), false)
    assert.equal(await store.delete(root, 2n), true)
    assert.equal(await store.delete(root, 2n), false)
    assert.deepEqual(await listed(store, bob), [])
  })

  check('ids are exact over the whole of int64, and everything survives reopening', async (opened) => {
    const ids = [MIN, MIN + 1n, -(2n ** 53n) - 1n, -1n, 0n, 2n ** 53n + 1n, MAX - 1n, MAX]
    for (const id of ids) assert.equal(await opened.store.create(ann, { id, name: `plant ${id}` }), 'created')
    await opened.store.create(bob, { id: 7n, name: 'quote " line \n lone \ud800 nul \0', tag: '🌱' })
    const store = await opened.reopen()
    assert.deepEqual(
      await listed(store, ann),
      ids.map((id) => ({ name: `plant ${id}` })),
    )
    assert.deepEqual(await listed(store, bob), [{ name: 'quote " line \n lone \ud800 nul \0', tag: '🌱' }])
    for (const id of ids) assert.equal(await store.create(bob, { id, name: '' }), 'taken')
    for (const id of ids.slice(1)) assert.equal(await store.delete(ann, id), true)
    assert.deepEqual(await listed(await opened.reopen(), ann), [{ name: `plant ${MIN}` }])
  })

  check('callers are told apart by every character of their names', async ({ store }) => {
    const names = ['a', 'A', 'a ', 'á', 'a\u0301', 'a\0', '\ud800', '\ufffd', '', '"a"', 'a'.repeat(5000)]
    const callers = [...names, `${'a'.repeat(4999)}b`].map((caller) => ({ caller, access: 'own' }) as const)
    for (const [index, caller] of callers.entries())
      await store.create(caller, { id: BigInt(index), name: `${index}` })
    for (const [index, caller] of callers.entries()) {
      assert.deepEqual(await listed(store, caller), [{ name: `${index}` }])
      assert.equal(await store.delete(caller, BigInt((index + 1) % callers.length)), false)
    }
  })

  check('plants of any text come back as they were given', async (opened) => {
    const plants: Plant[] = []
    const unit = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) }),
      fc.constantFrom("'", '\\', "\\'", "'; drop table plantgw_plants; --", '%s ? $1 :a', '\u2028', '\x1a'),
    )
    const plant = fc.record({ name: unit, tag: unit }, { requiredKeys: ['name'] })
    await fc.assert(
      fc.asyncProperty(plant, async ({ name, tag }) => {
        const given = tag === undefined ? { name } : { name, tag }
        const created = await opened.store.create(ann, { id: BigInt(plants.length), ...given })
        assert.equal(created, 'created')
        plants.push(given)
      }),
      { numRuns: sample(100) },
    )
    assert.deepEqual(await listed(await opened.reopen(), ann), plants)
  })

  check('a long list of large plants is whole, in order, and comes in pieces', async ({ store }) => {
    const size = (index: number) => (index % 500 === 499 ? 500_000 : index % 7)
    const plants = Array.from({ length: 2600 }, (_, index) => ({
      name: `${index} ${'x'.repeat(size(index))}`,
    }))
    // The order of those that are created at once is not said, so only what is read is compared.
    await Promise.all(plants.map((plant, index) => store.create(ann, { id: BigInt(index), ...plant })))
    await Promise.all(ids(500).map((id) => store.create(bob, { id: -1n - id, name: '' })))
    const pieces: (readonly Plant[])[] = []
    for await (const piece of store.list(ann)) pieces.push(piece)
    const indexes = pieces.flat().map(({ name }) => Number.parseInt(name, 10))
    assert.deepEqual(
      [...indexes].sort((a, b) => a - b),
      plants.map((_, index) => index),
    )
    for (const [index, { name }] of pieces.flat().entries()) assert.equal(name, plants[indexes[index]!]!.name)
    assert.ok(pieces.every((piece) => piece.length <= LIST_PIECE))
    assert.ok(pieces.length >= 3)
  })

  check('a list ends although plants come and go, and keeps those it found', async ({ store }) => {
    const create = (id: bigint) => store.create(ann, { id, name: `${id}` })
    await Promise.all(ids(3000).map(create))
    const before = await listed(store, ann)
    const newest = BigInt(before.at(-1)!.name)
    const seen: Plant[] = []
    for await (const piece of store.list(root)) {
      // More than a piece for each piece: a list that went after them would never end.
      await Promise.all(ids(LIST_PIECE + 1).map((id) => create(BigInt(3000 + seen.length * 2) + id)))
      if (seen.length === 0) assert.equal(await store.delete(ann, newest), true)
      seen.push(...piece)
    }
    assert.deepEqual(seen.slice(0, 2999), before.slice(0, 2999))
    assert.equal(new Set(seen.map(({ name }) => name)).size, seen.length)
  })

  check(
    'pages hold each plant within reach once, whatever comes and goes, over a restart',
    async (opened) => {
      let { store } = opened
      for (const id of ids(10)) await store.create(id % 2n === 0n ? ann : bob, { id, name: `${id}` })
      const names = async (limit: number, after: bigint) => {
        const { plants, next } = await store.page(ann, limit, after)
        return { names: plants.map(({ name }) => name).join(), next }
      }
      const first = await names(2, 0n)
      assert.equal(first.names, '0,2')
      assert.equal(await store.delete(ann, 2n), true)
      assert.equal(await store.delete(ann, 8n), true)
      store = await opened.reopen()
      assert.equal(await store.create(ann, { id: 11n, name: 'new' }), 'created')
      const second = await names(2, first.next!)
      assert.equal(second.names, '4,6')
      const third = await names(2, second.next!)
      assert.deepEqual(third, { names: 'new', next: undefined })
      assert.deepEqual(await names(4, 0n), { names: '0,4,6,new', next: undefined })
      assert.equal((await store.page(root, 1000, 0n)).plants.length, 9)
    },
  )

  check('of many that want one id at once one gets it; the rest is undisturbed', async ({ store }) => {
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, index) => store.create(ann, { id: 1n, name: `${index}` })),
    )
    assert.equal(outcomes.filter((outcome) => outcome === 'created').length, 1)
    const deleted = await Promise.all(Array.from({ length: 50 }, () => store.delete(ann, 1n)))
    assert.equal(deleted.filter(Boolean).length, 1)
    assert.deepEqual(await listed(store, ann), [])
  })

  check('many at once are all kept', async (opened) => {
    const many = ids(sample(1000))
    await Promise.all(many.map((id) => opened.store.create(ann, { id, name: `${id}` })))
    const store = await opened.reopen()
    const names = (await listed(store, ann)).map(({ name }) => Number(name)).sort((a, b) => a - b)
    assert.deepEqual(names, many.map(Number))
  })

  check('closing ends what is under way and refuses what comes later', async ({ store }) => {
    const creating = store.create(ann, { id: 1n, name: 'a' })
    await Promise.all([store.close(), store.close()])
    assert.equal(await creating, 'created')
    const isClosed = (error: unknown) => error instanceof StoreError && error.kind === 'closed'
    await assert.rejects(store.create(ann, { id: 2n, name: 'b' }), isClosed)
    await assert.rejects(store.delete(ann, 1n), isClosed)
  })
}

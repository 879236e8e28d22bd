import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { InFlight } from '../../src/mcp/index.ts'

describe('what is under way', () => {
  it('is what a Map would hold', () => {
    const step = fc.record({ key: fc.integer({ min: 0, max: 9 }), kept: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const model = new Map<number, number>()
        const inFlight = new InFlight<number, number>()
        for (const [at, { key, kept }] of steps.entries()) {
          if (kept) {
            model.set(key, at)
            inFlight.set(key, at)
          } else assert.equal(inFlight.delete(key), model.delete(key))
          assert.equal(inFlight.size, model.size)
          assert.equal(inFlight.has(key), model.has(key))
          assert.equal(inFlight.get(key), model.get(key))
        }
        assert.deepEqual(inFlight.keys(), [...model.keys()])
        assert.deepEqual(inFlight.values(), [...model.values()])
      }),
    )
  })

  it('keeps nothing alive that is over, also when it has got old', () => {
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as (options?: { type: 'minor' }) => void
    const inFlight = new InFlight<number, unknown>()
    const begin = (id: number) =>
      inFlight.set(
        id,
        Array.from({ length: 1_250 }, () => id),
      )
    begin(0)
    for (let i = 0; i < 3; i++) gc()
    const before = getHeapStatistics().used_heap_size
    for (let id = 1; id <= 10_000; id++) {
      begin(id)
      inFlight.delete(id - 1)
      if (id % 100 === 0) gc({ type: 'minor' })
    }
    const grown = getHeapStatistics().used_heap_size - before
    // All of them together are of 100 MB.
    assert.ok(grown < 2_000_000, `${grown} bytes more`)
  })
})

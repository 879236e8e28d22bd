import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Rates } from '../../src/access/rate.ts'
import { partOf } from '../../src/access/share.ts'

const workers = [1, 2, 3]

test('the parts of workers add up to the limit, and each of them has at least 1', () => {
  for (const [limit, parts] of [
    [7, [3, 2, 2]],
    [6, [2, 2, 2]],
    [3, [1, 1, 1]],
    [2, [1, 1, 1]],
  ] as const)
    assert.deepEqual(
      workers.map((worker) => partOf(limit, { worker, workers: 3 })),
      parts,
    )
  assert.equal(partOf(Number.POSITIVE_INFINITY, { worker: 3, workers: 3 }), Number.POSITIVE_INFINITY)
})

test('the rates of workers add up to the rate', async () => {
  let now = 0
  const routes = workers.map((worker) => {
    const rates = new Rates([], undefined, () => now, { worker, workers: 3 })
    const rate = [{ per: 'caller' as const, limit: 60, window: 60_000, burst: 4 }]
    return rates.of({ prefix: '/p', tenant: 'default', rate })!
  })
  const taken = async () => {
    const subject = { quotaKey: 'ann', address: undefined, session: () => undefined }
    const all = routes.map((route) => route.take(subject, Array(100).fill(undefined)))
    return (await Promise.all(all)).flat().filter((excess) => excess === undefined).length
  }
  assert.equal(await taken(), 4)
  assert.equal(await taken(), 0)
  now += 3_000
  assert.equal(await taken(), 3)
})

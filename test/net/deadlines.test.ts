import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Deadlines, type Due } from '../../src/net/deadlines.ts'

// Deadlines keep no process alive.
const keeper = setInterval(() => {}, 2 ** 30)
after(() => clearInterval(keeper))

/** Entries that are due after so many milliseconds, in this order; resolves with those that ended by themselves. */
function ended(deadlines: Deadlines, times: readonly number[], without: readonly number[] = []) {
  const began = performance.now()
  return new Promise<{ ms: number; late: number }[]>((resolve) => {
    const over: { ms: number; late: number }[] = []
    const all = times.map((ms): Due => {
      const due = began + ms
      const expire = () => {
        over.push({ ms, late: performance.now() - due })
        if (over.length === times.length - without.length) resolve(over)
      }
      return { due, expire }
    })
    for (const one of all) deadlines.add(one)
    for (const i of without) deadlines.remove(all[i]!)
  })
}

test('each ends when it is due, also one that is added after later ones', async () => {
  const over = await ended(new Deadlines(), [30, 60, 5, 5, 45])
  assert.deepEqual(
    over.map(({ ms }) => ms),
    [5, 5, 30, 45, 60],
  )
  // A timer of Node's may be early by what it rounds.
  assert.ok(over.every(({ late }) => late > -2))
})

test('what is removed does not end, and may be removed again', async () => {
  const deadlines = new Deadlines()
  const gone: Due = { due: performance.now() + 1, expire: () => assert.fail('it was removed') }
  deadlines.add(gone)
  deadlines.remove(gone)
  deadlines.remove(gone)
  const over = await ended(deadlines, [10, 20, 30, 40], [0, 2])
  assert.deepEqual(
    over.map(({ ms }) => ms),
    [20, 40],
  )
})

test('one that ends may add another, which is already due', async () => {
  const deadlines = new Deadlines()
  await new Promise<void>((resolve) => {
    const add = (left: number) => {
      const expire = () => (left ? add(left - 1) : resolve())
      deadlines.add({ due: performance.now() - 1, expire })
    }
    add(5)
  })
})

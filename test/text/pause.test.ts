import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { PIECE, paced, pause, pauseFor } from '../../src/text/index.ts'

test('of those that pause, each turn resumes one, in their order', async () => {
  const resumed: number[] = []
  const all = [1, 2, 3].map((each) => pause().then(() => resumed.push(each)))
  const counts: number[] = []
  while (resumed.length < 3) {
    await setImmediate()
    counts.push(resumed.length)
  }
  await Promise.all(all)
  assert.deepEqual(resumed, [1, 2, 3])
  assert.deepEqual(counts, [1, 2, 3])
})

test('only what is large is paused for: a text, or all that is in a value', async () => {
  const half = 'x'.repeat(PIECE / 2)
  for (const small of [undefined, null, 1, half, { half }, [[half]], 'x'.repeat(PIECE)])
    assert.equal(pauseFor(small), undefined)
  for (const large of ['x'.repeat(PIECE + 1), { a: [half], b: { half } }, Array(PIECE + 1).fill(0)])
    assert.ok(pauseFor(large) instanceof Promise)
  await pause()
})

test('a loop pauses once for each piece', () => {
  const pace = paced()
  const pauses = Array.from({ length: 10 }, () => pace(PIECE / 4) !== undefined)
  assert.deepEqual(pauses, [false, false, false, true, false, false, false, true, false, false])
})

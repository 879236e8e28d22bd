import assert from 'node:assert/strict'
import { test } from 'node:test'
import { takeTurns } from '../../src/config/index.ts'

test('a long loop lets others have their turn, a short one does not wait', async (t) => {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  const turn = takeTurns()
  assert.equal(turn(), undefined)
  now += 100
  const heard: string[] = []
  setImmediate(() => heard.push('another'))
  const waiting = turn()
  assert.ok(waiting instanceof Promise)
  await waiting
  assert.deepEqual(heard, ['another'])
  assert.equal(turn(), undefined)
})

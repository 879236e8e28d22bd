import assert from 'node:assert/strict'
import { test } from 'node:test'
import { giveWayToCalls } from '../../src/text/index.ts'

test('a long loop lets others have their turn, a short one does not wait', async (t) => {
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  await giveWayToCalls()
  assert.equal(giveWayToCalls(), undefined)
  now += 100
  const heard: string[] = []
  setImmediate(() => heard.push('another'))
  const waiting = giveWayToCalls()
  assert.ok(waiting instanceof Promise)
  await waiting
  assert.deepEqual(heard, ['another'])
  assert.equal(giveWayToCalls(), undefined)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { giveWay, giveWayToCalls, nextTurn } from '../../src/text/index.ts'

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

test('those who wait have as much of a turn as all others had, and at least 15 ms', async (t) => {
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  /** Turns until so many stages of 10 ms each are done, if everything else takes so long in each turn. */
  const turnsOf = async (stages: number, others: number) => {
    let turns = 0
    let isDone = false
    const turn = () => {
      turns++
      giveWay()
      now += others
      if (!isDone) setImmediate(turn)
    }
    const work = Array.from({ length: stages }, async () => {
      await nextTurn()
      now += 10
    })
    setImmediate(turn)
    await Promise.all(work)
    isDone = true
    await new Promise(setImmediate)
    return turns
  }
  const quiet = await turnsOf(100, 1)
  assert.ok(quiet >= 50 && quiet <= 55, String(quiet))
  const busy = await turnsOf(100, 250)
  assert.ok(busy >= 4 && busy <= 8, String(busy))
})

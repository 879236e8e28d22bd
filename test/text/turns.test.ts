import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { giveWay, giveWayToCalls, nextTurn } from '../../src/text/index.ts'

/** Milliseconds on the clock of all tests that set it: it never goes back, as the real one. */
let now = performance.now()

test('a long loop lets others have their turn, a short one does not wait', async (t) => {
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
  t.mock.method(performance, 'now', () => now)
  // Others also ask while sockets are read, before those who wait go on in the same turn.
  const { port1: sender, port2: receiver } = new MessageChannel()
  let isAsked = false
  receiver.on('message', () => {
    isAsked = true
    giveWay()
  })
  t.after(() => sender.close())
  /** Turns until so many stages of 10 ms each are done, if everything else takes so long in each turn. */
  const turnsOf = async (stages: number, others: number) => {
    let turns = 0
    let isDone = false
    const turn = () => {
      turns++
      sender.postMessage(undefined)
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
  assert.ok(isAsked)
})

test('where Node does not count the turns of its loop, work gives way all the same', async (t) => {
  t.mock.method(performance, 'now', () => now)
  const { nodeTiming } = performance
  const give = (value: object) =>
    Object.defineProperty(performance, 'nodeTiming', { value, configurable: true })
  give({})
  t.after(() => give(nodeTiming))
  now += 100
  assert.equal(giveWay(), undefined)
  now += 100
  const waiting = giveWay()
  assert.ok(waiting instanceof Promise)
  await waiting
  await new Promise(setImmediate)
  assert.equal(giveWay(), undefined)
})

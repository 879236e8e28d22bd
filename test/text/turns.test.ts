import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel } from 'node:worker_threads'
import { giveWay, giveWayToCalls, isLikelyAlone, nextTurn, together } from '../../src/text/index.ts'

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

test('what a turn brings goes on together, each step one after another', async () => {
  const heard: string[] = []
  const call = async (name: string) => {
    await new Promise<void>((resolve) => together(resolve))
    heard.push(`${name} 1`)
    await undefined
    heard.push(`${name} 2`)
    await new Promise<void>((resolve) => together(resolve))
    heard.push(`${name} 3`)
  }
  const calls = [call('a'), call('b')]
  // Node runs all promises between two events.
  await new Promise(process.nextTick)
  assert.deepEqual(heard, [])
  await Promise.all(calls)
  assert.deepEqual(heard, ['a 1', 'b 1', 'a 2', 'b 2', 'a 3', 'b 3'])
})

test('after a turn that brought one, the first is likely alone', async () => {
  const turn = async (pieces: number) => {
    const first = isLikelyAlone()
    const others: boolean[] = []
    for (let i = 0; i < pieces; i++) {
      together(() => {})
      others.push(isLikelyAlone())
    }
    await new Promise(setImmediate)
    assert.ok(!others.includes(true))
    return first
  }
  await turn(1)
  assert.equal(await turn(2), true)
  assert.equal(await turn(1), false)
  assert.equal(await turn(1), true)
})

test('a turn that brings many lets 32 of them go on before it brings the rest', async () => {
  let count = 0
  for (let i = 0; i < 31; i++) together(() => count++)
  assert.equal(count, 0)
  together(() => count++)
  assert.equal(count, 32)
  together(() => count++)
  assert.equal(count, 32)
  await new Promise(setImmediate)
  assert.equal(count, 33)
})

test('one of a group that throws does not keep the others from going on', async () => {
  let count = 0
  together(() => {
    throw new Error('of the first')
  })
  for (let i = 0; i < 30; i++) together(() => count++)
  assert.throws(() => together(() => count++), /of the first/)
  await new Promise(setImmediate)
  assert.equal(count, 31)
})

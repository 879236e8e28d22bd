import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Cancellation, Fault } from '../../src/mcp/index.ts'
import { type Turn, Turns, type Use } from '../../src/upstream/pool/turn.ts'

const turn = (who: string, use: Use = 'alone'): Turn => ({ who, use, message() {} })
const patience = (timeout = 60_000) => ({ signal: new Cancellation(), timeout })
/** Whether a promise has been settled. */
const settled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise((resolve) => setImmediate(resolve, false))])

test('whoever waits for a turn is let in in order, and open calls together', async () => {
  const turns = new Turns('s')
  const [a, b, c, d] = [turn('x'), turn('x', 'open'), turn('x', 'open'), turn('x')]
  await turns.enter(a, patience())
  const waiting = [b, c, d].map((each) => turns.enter(each, patience()))
  assert.equal(await turns.enter(turn('y', 'plain'), patience()), undefined)
  assert.equal(await settled(Promise.race(waiting)), false)
  assert.equal(turns.addressee, a)
  turns.leave(a)
  await Promise.all(waiting.slice(0, 2))
  assert.equal(await settled(waiting[2]!), false)
  turns.leave(b)
  turns.leave(c)
  await waiting[2]
  assert.equal(turns.addressee, d)
})

test('the wait ends with its time, with its client, with the session, and at the limit', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const turns = new Turns('s')
  const first = turn('x')
  await turns.enter(first, patience())
  const late = turns.enter(turn('x'), patience(2000))
  const goesOn = turn('x')
  const going = turns.enter(goesOn, { ...patience(1000), goesOn: true })
  const signal = new Cancellation()
  const cancelled = turns.enter(turn('x'), { signal, timeout: 60_000 })
  signal.abort()
  const kind = async (fault: Promise<Fault | undefined>) => (await fault)?.kind
  assert.equal(await kind(cancelled), 'cancelled')
  t.mock.timers.tick(1000)
  assert.equal(await going, undefined)
  t.mock.timers.tick(1000)
  assert.equal(await kind(late), 'busy')
  const many = Array.from({ length: 256 }, () => turns.enter(turn('x'), patience()))
  assert.equal(await kind(turns.enter(turn('x'), patience())), 'busy')
  turns.close(new Fault('lost', 'gone'))
  assert.deepEqual(await Promise.all(many.map(kind)), Array(256).fill('lost'))
  assert.equal(await kind(turns.enter(turn('x'), patience())), 'lost')
})

test('the wait begins anew whenever a call ends, and the fault says how long none did', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const turns = new Turns('s')
  const before = [turn('x'), turn('x'), turn('x')]
  await turns.enter(before[0]!, patience(2000))
  const others = before.slice(1).map((each) => turns.enter(each, patience(2000)))
  const last = turns.enter(turn('x'), patience(2000))
  for (const [i, each] of before.entries()) {
    t.mock.timers.tick(1500)
    assert.equal(await settled(last), false, `after ${i} others`)
    if (i < 2) turns.leave(each)
  }
  assert.deepEqual(await Promise.all(others), [undefined, undefined])
  // Lists end nobody's turn.
  const list = turn('x', 'plain')
  await turns.enter(list, patience())
  turns.leave(list)
  t.mock.timers.tick(500)
  const fault = await last
  assert.equal(fault?.kind, 'busy')
  assert.match(
    fault?.message ?? '',
    /other calls in its session with the server s, none of which ended in 2 s/,
  )
})

test('a parked call lets in its own caller, and others after a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const turns = new Turns('s')
  const [parked, own, other] = [turn('x'), turn('x'), turn('y')]
  await turns.enter(parked, patience())
  let given = 0
  turns.park(parked, () => {
    given++
    turns.leave(parked)
  })
  assert.equal(turns.addressee, parked)
  const others = turns.enter(other, patience(120_000))
  await turns.enter(own, patience())
  assert.equal(turns.addressee, own)
  turns.leave(own)
  // A call that cannot be asked waits for nobody, and nobody is asked meanwhile.
  const open = turn('y', 'open')
  await turns.enter(open, patience())
  assert.equal(turns.addressee, undefined)
  turns.leave(open)
  t.mock.timers.tick(59_000)
  assert.equal(await settled(others), false)
  t.mock.timers.tick(1000)
  assert.equal(await others, undefined)
  assert.equal(given, 1)
})

test('a parked call goes on before those that wait for its end', async () => {
  const turns = new Turns('s')
  const [parked, other] = [turn('x'), turn('y')]
  await turns.enter(parked, patience())
  turns.park(parked, () => {})
  const others = turns.enter(other, patience())
  assert.equal(await turns.enter(parked, patience()), undefined)
  turns.leave(parked)
  assert.equal(await others, undefined)
})

test('a parked call that ends while it waits for another turn does not get one', async () => {
  const turns = new Turns('s')
  const [parked, running, last] = [turn('x'), turn('x'), turn('x')]
  await turns.enter(parked, patience())
  turns.park(parked, () => {})
  await turns.enter(running, patience())
  const again = turns.enter(parked, patience())
  const others = turns.enter(last, patience())
  turns.leave(parked)
  assert.equal(await again, undefined)
  turns.leave(running)
  await others
  assert.equal(turns.addressee, last)
  turns.leave(last)
  assert.equal(turns.size, 0)
})

test('whatever comes in whatever order, nobody shares a turn, nobody is forgotten', async () => {
  const step = fc.record({
    what: fc.constantFrom('enter', 'enter', 'park', 'resume', 'leave', 'abort'),
    who: fc.constantFrom('x', 'y'),
    use: fc.constantFrom<Use>('alone', 'alone', 'open'),
    pick: fc.nat(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const turns = new Turns('s')
      const running = new Set<Turn>()
      const parked = new Set<Turn>()
      const waiting = new Map<Turn, Cancellation>()
      const enter = (each: Turn) => {
        const signal = new Cancellation()
        waiting.set(each, signal)
        turns.enter(each, { signal, timeout: 60_000 }).then((fault) => {
          waiting.delete(each)
          if (fault) return
          parked.delete(each)
          running.add(each)
        }, assert.ifError)
      }
      const leave = (each: Turn) => {
        running.delete(each)
        parked.delete(each)
        turns.leave(each)
      }
      const one = <T>(all: Iterable<T>, pick: number): T | undefined => {
        const list = [...all]
        return list[pick % list.length]
      }
      for (const { what, who, use, pick } of steps) {
        if (what === 'enter') enter(turn(who, use))
        const runs = one(running, pick)
        const waits = one(waiting, pick)
        const rests = one(
          [...parked].filter((each) => !waiting.has(each)),
          pick,
        )
        if (what === 'park' && runs?.use === 'alone') {
          running.delete(runs)
          parked.add(runs)
          turns.park(runs, () => leave(runs))
        }
        if (what === 'resume' && rests) enter(rests)
        if (what === 'leave' && (runs ?? rests)) leave((runs ?? rests) as Turn)
        if (what === 'abort') waits?.[1].abort()
        await new Promise((resolve) => setImmediate(resolve))
        const alone = [...running].filter(({ use }) => use === 'alone')
        assert.ok(alone.length === 0 || running.size === 1)
        for (const each of alone) assert.ok([...parked].every((other) => other.who === each.who))
      }
      while (running.size + parked.size + waiting.size > 0) {
        const next = one(running, 0) ?? one(parked, 0)
        assert.ok(next, 'somebody waits although nobody has a turn')
        leave(next)
        await new Promise((resolve) => setImmediate(resolve))
      }
      assert.equal(turns.size, 0)
    }),
  )
})

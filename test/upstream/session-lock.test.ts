import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Cancellation, Fault } from '../../src/mcp/index.ts'
import { type LockHolder, type LockMode, SessionLock } from '../../src/upstream/rpc/session-lock.ts'

const holder = (caller: string, mode: LockMode = 'exclusive'): LockHolder => ({ caller, mode, message() {} })
const patience = (timeout = 60_000) => ({ signal: new Cancellation(), timeout })
/** Whether a promise has been settled. */
const settled = (promise: Promise<unknown>) =>
  Promise.race([promise.then(() => true), new Promise((resolve) => setImmediate(resolve, false))])

test('calls get the lock in order, shared ones together', async () => {
  const lock = new SessionLock('s')
  const [a, b, c, d] = [holder('x'), holder('x', 'shared'), holder('x', 'shared'), holder('x')]
  await lock.enter(a, patience())
  const waiting = [b, c, d].map((each) => lock.enter(each, patience()))
  assert.equal(await lock.enter(holder('y', 'metadata'), patience()), undefined)
  assert.equal(await settled(Promise.race(waiting)), false)
  assert.equal(lock.addressee, a)
  lock.leave(a)
  await Promise.all(waiting.slice(0, 2))
  assert.equal(await settled(waiting[2]!), false)
  lock.leave(b)
  lock.leave(c)
  await waiting[2]
  assert.equal(lock.addressee, d)
})

test('the wait ends with its time, with its client, with the session, and at the limit', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lock = new SessionLock('s')
  const first = holder('x')
  await lock.enter(first, patience())
  const late = lock.enter(holder('x'), patience(2000))
  const impatient = holder('x')
  const going = lock.enter(impatient, { ...patience(1000), orWithout: true })
  const signal = new Cancellation()
  const cancelled = lock.enter(holder('x'), { signal, timeout: 60_000 })
  signal.abort()
  const kind = async (fault: Promise<Fault | undefined>) => (await fault)?.kind
  assert.equal(await kind(cancelled), 'cancelled')
  t.mock.timers.tick(1000)
  assert.equal(await going, undefined)
  t.mock.timers.tick(1000)
  assert.equal(await kind(late), 'busy')
  const many = Array.from({ length: 256 }, () => lock.enter(holder('x'), patience()))
  assert.equal(await kind(lock.enter(holder('x'), patience())), 'busy')
  lock.close(new Fault('lost', 'gone'))
  assert.deepEqual(await Promise.all(many.map(kind)), Array(256).fill('lost'))
  assert.equal(await kind(lock.enter(holder('x'), patience())), 'lost')
})

test('the wait begins anew whenever a call ends, and the fault says how long none did', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lock = new SessionLock('s')
  const before = [holder('x'), holder('x'), holder('x')]
  await lock.enter(before[0]!, patience(2000))
  const others = before.slice(1).map((each) => lock.enter(each, patience(2000)))
  const last = lock.enter(holder('x'), patience(2000))
  for (const [i, each] of before.entries()) {
    t.mock.timers.tick(1500)
    assert.equal(await settled(last), false, `after ${i} others`)
    if (i < 2) lock.leave(each)
  }
  assert.deepEqual(await Promise.all(others), [undefined, undefined])
  // Lists end nobody's turn.
  const list = holder('x', 'metadata')
  await lock.enter(list, patience())
  lock.leave(list)
  t.mock.timers.tick(500)
  const fault = await last
  assert.equal(fault?.kind, 'busy')
  assert.match(
    fault?.message ?? '',
    /waited 2 s for other calls in its session with the server s, and none ended/,
  )
})

test('a parked call lets in its own caller, and others after a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const lock = new SessionLock('s')
  const [parked, own, other] = [holder('x'), holder('x'), holder('y')]
  await lock.enter(parked, patience())
  let given = 0
  lock.park(parked, () => {
    given++
    lock.leave(parked)
  })
  assert.equal(lock.addressee, parked)
  const others = lock.enter(other, patience(120_000))
  await lock.enter(own, patience())
  assert.equal(lock.addressee, own)
  lock.leave(own)
  // A call that cannot be asked waits for nobody, and nobody is asked meanwhile.
  const open = holder('y', 'shared')
  await lock.enter(open, patience())
  assert.equal(lock.addressee, undefined)
  lock.leave(open)
  t.mock.timers.tick(59_000)
  assert.equal(await settled(others), false)
  t.mock.timers.tick(1000)
  assert.equal(await others, undefined)
  assert.equal(given, 1)
})

test('a parked call goes on before those that wait for its end', async () => {
  const lock = new SessionLock('s')
  const [parked, other] = [holder('x'), holder('y')]
  await lock.enter(parked, patience())
  lock.park(parked, () => {})
  const others = lock.enter(other, patience())
  assert.equal(await lock.enter(parked, patience()), undefined)
  lock.leave(parked)
  assert.equal(await others, undefined)
})

test('a parked call that ends while it waits for another turn does not get one', async () => {
  const lock = new SessionLock('s')
  const [parked, running, last] = [holder('x'), holder('x'), holder('x')]
  await lock.enter(parked, patience())
  lock.park(parked, () => {})
  await lock.enter(running, patience())
  const again = lock.enter(parked, patience())
  const others = lock.enter(last, patience())
  lock.leave(parked)
  assert.equal(await again, undefined)
  lock.leave(running)
  await others
  assert.equal(lock.addressee, last)
  lock.leave(last)
  assert.equal(lock.size, 0)
})

test('whatever comes in whatever order, nobody shares a turn, nobody is forgotten', async () => {
  const step = fc.record({
    what: fc.constantFrom('enter', 'enter', 'park', 'resume', 'leave', 'abort'),
    caller: fc.constantFrom('x', 'y'),
    mode: fc.constantFrom<LockMode>('exclusive', 'exclusive', 'shared'),
    pick: fc.nat(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const lock = new SessionLock('s')
      const running = new Set<LockHolder>()
      const parked = new Set<LockHolder>()
      const waiting = new Map<LockHolder, Cancellation>()
      const enter = (each: LockHolder) => {
        const signal = new Cancellation()
        waiting.set(each, signal)
        lock.enter(each, { signal, timeout: 60_000 }).then((fault) => {
          waiting.delete(each)
          if (fault) return
          parked.delete(each)
          running.add(each)
        }, assert.ifError)
      }
      const leave = (each: LockHolder) => {
        running.delete(each)
        parked.delete(each)
        lock.leave(each)
      }
      const one = <T>(all: Iterable<T>, pick: number): T | undefined => {
        const list = [...all]
        return list[pick % list.length]
      }
      for (const { what, caller, mode, pick } of steps) {
        if (what === 'enter') enter(holder(caller, mode))
        const runs = one(running, pick)
        const waits = one(waiting, pick)
        const rests = one(
          [...parked].filter((each) => !waiting.has(each)),
          pick,
        )
        if (what === 'park' && runs?.mode === 'exclusive') {
          running.delete(runs)
          parked.add(runs)
          lock.park(runs, () => leave(runs))
        }
        if (what === 'resume' && rests) enter(rests)
        if (what === 'leave' && (runs ?? rests)) leave((runs ?? rests) as LockHolder)
        if (what === 'abort') waits?.[1].abort()
        await new Promise((resolve) => setImmediate(resolve))
        const exclusive = [...running].filter(({ mode }) => mode === 'exclusive')
        assert.ok(exclusive.length === 0 || running.size === 1)
        for (const each of exclusive) assert.ok([...parked].every((other) => other.caller === each.caller))
      }
      while (running.size + parked.size + waiting.size > 0) {
        const next = one(running, 0) ?? one(parked, 0)
        assert.ok(next, 'somebody waits although nobody has a turn')
        leave(next)
        await new Promise((resolve) => setImmediate(resolve))
      }
      assert.equal(lock.size, 0)
    }),
  )
})

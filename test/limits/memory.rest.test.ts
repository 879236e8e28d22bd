import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Memory, type MemoryReservation, memory, parsedSize, SMALL } from '../../src/access/memory.ts'
import { networkOf, Quota, quotaKeyOf } from '../../src/access/quota.ts'
import { RequestLease } from '../../src/access/request-lease.ts'
import { readSettings } from '../../src/checks/index.ts'
import { Waiting } from '../../src/mcp/session.ts'
import { createLasting } from '../../src/upstream/backend/session-state.ts'
import { makeRoom, type Occupant } from '../../src/upstream/pool/pool.ts'

test('the last quarter of the memory is for small messages', () => {
  const own = new Memory()
  own.limit = 1024 * 1024
  const [large, other, small] = [own.reserve(), own.reserve(), own.reserve()]
  assert.ok(large.add(700_000))
  assert.ok(!other.add(SMALL + 40_000))
  assert.equal(other.size, 0)
  assert.ok(small.add(SMALL))
  assert.ok(!small.add(1_000_000))
  large.free()
  assert.ok(other.add(SMALL + 40_000))
  assert.equal(own.used, SMALL + SMALL + 40_000)
  other.close()
  assert.ok(!other.add(1))
  small.free()
  assert.equal(own.used, 0)
})

test('what is spare gives way: that of the same quota key first, and only when it helps', () => {
  const own = new Memory()
  own.limit = 1000
  const [mine, others] = ['me', 'others'].map((quotaKey) => {
    const reservation: MemoryReservation = own.spare(quotaKey, () => reservation.free(100))
    return reservation
  }) as [MemoryReservation, MemoryReservation]
  assert.ok(others.add(300) && mine.add(300))
  const reservation = own.reserve('me')
  assert.ok(!reservation.add(1001))
  assert.deepEqual([mine.size, others.size], [300, 300])
  assert.ok(reservation.add(400))
  assert.deepEqual([mine.size, others.size], [100, 300])
  assert.ok(!reservation.add(101), 'nobody else gives way for more than a share')
  assert.ok(own.reserve('third').add(400))
  assert.deepEqual([mine.size, others.size, own.used], [0, 200, 1000])
  own.limit = 1024 * 1024
  own.spare('third', () => {}).set(760_000)
  assert.ok(!own.pressed)
  own.reserve().set(760_000)
  assert.ok(own.pressed)
})

test('an empty queue takes any one message, a queue so many bytes', () => {
  const own = new Memory()
  own.queueLimit = 100
  const queue = own.queue()
  assert.ok(queue.add(1000))
  assert.ok(!queue.add(1))
  queue.free(950)
  assert.ok(queue.add(50))
  assert.ok(!queue.add(1))
  queue.set(0)
  assert.equal(own.used, 0)
})

test('what waits loses the oldest, and says so once', () => {
  let dropped = 0
  const before = memory.used
  const { queueLimit } = memory
  memory.queueLimit = 10
  const waiting = new Waiting('me', () => dropped++)
  memory.queueLimit = queueLimit
  for (const text of ['aaaa', 'bbbb', 'cccc', 'dddd']) waiting.push(text)
  assert.deepEqual(waiting.take(), ['cccc', 'dddd'])
  assert.equal(dropped, 1)
  for (let i = 0; i < 300; i++) waiting.push('')
  assert.equal(waiting.take().length, 256)
  assert.equal(memory.used, before)
})

test('a quota bounds all, a prefix and a caller, each by its own limit', () => {
  const quota = new Quota({
    total: ['maxSessions', 4],
    prefix: ['maxSessionsPerPrefix', 3],
    caller: ['maxSessionsPerCaller', 2],
  })
  assert.equal(quota.take('/a', 'me', 2), undefined)
  assert.equal(quota.take('/b', 'me'), 'maxSessionsPerCaller')
  assert.equal(quota.take('/a', 'you'), undefined)
  assert.equal(quota.take('/a', 'they'), 'maxSessionsPerPrefix')
  assert.equal(quota.take('/b', 'they'), undefined)
  assert.equal(quota.take('/b', 'we'), 'maxSessions')
  quota.give('/a', 'me', 2)
  assert.equal(quota.take('/b', 'me', 2), undefined)
})

test('a stay gives back what it took when the last of its calls has ended', () => {
  const quota = new Quota({ prefix: ['maxCallsPerPrefix', 3], caller: ['maxCallsPerCaller', 2] })
  const before = memory.used
  const lease = new RequestLease('/a', 'me', quota)
  assert.equal(lease.begin(2), undefined)
  assert.equal(new RequestLease('/a', 'me', quota).begin(1), 'maxCallsPerCaller')
  const over = lease.extend()
  lease.end()
  assert.ok(!lease.gone)
  over()
  over()
  assert.ok(lease.gone)
  assert.equal(memory.used, before)
  assert.equal(quota.exceeded('/a', 'me', 2), undefined)
})

test('who shares what', () => {
  assert.equal(quotaKeyOf('/a', 'me', '192.0.2.1'), '["/a","me"]')
  assert.equal(quotaKeyOf('/a', undefined, '192.0.2.1'), quotaKeyOf('/b', undefined, '::ffff:192.0.2.1'))
  assert.equal(networkOf('2001:db8:1:2:3:4:5:6'), networkOf('2001:db8:1:2::9'))
  assert.notEqual(networkOf('2001:db8:1:2::9'), networkOf('2001:db8:1:3::9'))
  assert.notEqual(networkOf('::1'), '::1')
})

test('a text of many small values weighs what it takes parsed', () => {
  const text = Buffer.from(`[${'{},'.repeat(10_000)}{}]`)
  assert.ok(parsedSize(text) > 20 * text.length)
  const plain = Buffer.alloc(100_000, 'x')
  assert.equal(parsedSize(plain), plain.length)
})

test('the settings name each limit', () => {
  const text =
    'limits: {maxSessions: 5, maxQueued: 1MiB, maxBuffered: 64MiB, writeTimeout: 5s, maxCallsPerCaller: "${CALLS:7}"}'
  const { settings, findings } = readSettings({ file: 'plantgw.yaml', text }, {})
  assert.deepEqual(findings, [])
  const { maxSessions, maxQueued, maxBuffered, writeTimeout, maxCallsPerCaller } = settings!.limits
  assert.deepEqual(
    [maxSessions, maxQueued, maxBuffered, writeTimeout, maxCallsPerCaller],
    [5, 2 ** 20, 2 ** 26, 5000, 7],
  )
  for (const wrong of ['maxSessions: 0', 'maxCallsPerPrefix: x', 'writeTimeout: 0s', 'maxQueued: 0'])
    assert.notDeepEqual(readSettings({ file: 'plantgw.yaml', text: `limits: {${wrong}}` }, {}).findings, [])
})

test('room for a session is made by the own idle one, or by a long unused one of who has more', () => {
  const ended: string[] = []
  const one = (name: string, quotaKey: string | undefined, used: number, idle = true): Occupant => ({
    quotaKey,
    used,
    idle,
    end: () => void ended.push(name),
  })
  const made = (all: Occupant[], newcomer: string) => {
    ended.length = 0
    return [makeRoom(all, newcomer, 1_000_000), ...ended]
  }
  const comes = one('comes', 'me', 1_000_000, false)
  // A flood of one caller ends nobody else's.
  assert.deepEqual(made([comes, one('mine', 'me', 990_000), one('yours', 'you', 0)], 'me'), [true, 'mine'])
  assert.deepEqual(made([comes, one('mine', 'me', 0, false), one('yours', 'you', 0)], 'me'), [false])
  // Who has more than the newcomer gives way, unless it was used a moment ago or is in use.
  assert.deepEqual(made([comes, one('yours', 'you', 900_000), one('used', 'you', 0, false)], 'me'), [
    true,
    'yours',
  ])
  assert.deepEqual(made([comes, one('yours', 'you', 950_000)], 'me'), [false])
  assert.deepEqual(made([comes, one('spare', undefined, 1_000_000)], 'me'), [true, 'spare'])
})

test('what is restored in a session that was lost is bounded', () => {
  const { remember, restore } = createLasting()
  const subscribe = (uri: string) => remember({ method: 'resources/subscribe', params: { uri } })
  subscribe(`file:///${'x'.repeat(10_000)}`)
  for (let i = 0; i < 5000; i++) subscribe(`file:///${i}`)
  assert.equal(restore().length, 1024)
})

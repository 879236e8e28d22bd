import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsedSize } from '../../src/access/memory.ts'
import { networkOf, quotaKeyOf } from '../../src/access/quota.ts'
import { readSettings } from '../../src/checks/index.ts'
import { makeRoom, type Occupant } from '../../src/upstream/pool/pool.ts'
import { createLasting } from '../../src/upstream/rpc/upstream-session.ts'

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
  const text = 'limits: {maxSessions: 5, writeTimeout: 5s, maxCallsPerPrefix: "${CALLS:7}"}'
  const { settings, findings } = readSettings({ file: 'plantgw.yaml', text }, {})
  assert.deepEqual(findings, [])
  const { maxSessions, writeTimeout, maxCallsPerPrefix } = settings!.limits
  assert.deepEqual([maxSessions, writeTimeout, maxCallsPerPrefix], [5, 5000, 7])
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

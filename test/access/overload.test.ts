import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Overload } from '../../src/access/overload.ts'
import { refusals } from '../../src/access/refusals.ts'
import { post, rpc, wire } from '../support/wire.ts'

/** Turns of an event loop that only a test goes on with. */
function turns() {
  let now = 0
  let ends: (() => void)[] = []
  return {
    now: () => now,
    afterTurn: (listener: () => void) => void ends.push(listener),
    work(milliseconds: number) {
      now += milliseconds
    },
    end() {
      for (const listener of ends.splice(0)) listener()
      ends = []
    },
  }
}

test('the newest requests of long turns are refused, once turns have been long for a second', () => {
  const loop = turns()
  const overload = new Overload(250, loop)
  /** A turn in which as many requests are read, each with so much work. @returns which are refused */
  const turn = (requests: number, work: number) => {
    const refused = Array.from({ length: requests }, () => {
      const isRefused = overload.refuses()
      if (!isRefused) loop.work(work)
      return isRefused
    })
    loop.end()
    return refused.filter(Boolean).length
  }
  for (let i = 0; i < 100; i++) assert.equal(turn(10, 20), 0, 'turns that are short')
  assert.equal(turn(1, 10_000), 0)
  assert.equal(turn(100, 1), 0, 'one long turn is no overload')
  for (let i = 0; i < 2; i++) assert.equal(turn(50, 10), 0, 'not yet a second')
  // Requests until 250 ms are over are served, and those behind them are not.
  assert.equal(turn(50, 10), 50 - 26)
  assert.equal(turn(50, 10), 50 - 26)
  assert.equal(turn(20, 10), 0)
  assert.equal(turn(50, 10), 0, 'it begins anew after a short turn')
  for (let i = 0; i < 2; i++) turn(50, 10)
  loop.work(60_000)
  assert.equal(turn(50, 10), 0, 'and after a pause')
})

test('an overloaded gateway refuses before it asks who it is, and web pages can read that', async () => {
  const origin = 'https://app.example.com'
  const allowed = { allowMethods: ['POST'], allowHeaders: [], exposeHeaders: [], allowCredentials: false }
  const cors = { allowOrigins: [origin], ...allowed }
  const overload = { refuses: () => true } as Overload
  const { app } = await wire({ cors, token: 'a-token', parts: { overload } })
  const counted = refusals().get('maxEventLoopDelay') ?? 0
  const refused = await post(app, '/one/mcp', rpc('ping', {}), { origin })
  assert.equal(refused.status, 503)
  assert.equal(refused.headers.get('retry-after'), '5')
  assert.equal(refused.headers.get('access-control-allow-origin'), origin)
  const { error } = (await refused.json()) as { error: { code: number; message: string } }
  assert.equal(error.code, -32600)
  assert.match(error.message, /maxEventLoopDelay/)
  assert.equal(refusals().get('maxEventLoopDelay'), counted + 1)
  const preflight = await app.request('/one/mcp', {
    method: 'OPTIONS',
    headers: { origin, host: 'localhost' },
  })
  assert.equal(preflight.status, 204)
})

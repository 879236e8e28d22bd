import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { guardedServer } from '../../src/access/connection-limits.ts'
import { DEFAULT_LIMITS } from '../../src/config/index.ts'
import { listening } from '../support/listening.ts'

const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'

test('of the responses of a connection those that are out are forgotten, also where there is always another one', async (t) => {
  const open: ServerResponse[] = []
  const arrived = { most: 0, now: () => {} }
  const { server, connections } = guardedServer((_, response) => {
    open.push(response)
    for (const { length } of connections.values()) arrived.most = Math.max(arrived.most, length)
    arrived.now()
  }, DEFAULT_LIMITS)
  const port = await listening(t, server)
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  t.after(() => socket.destroy())
  const next = () =>
    new Promise<void>((resolve) => {
      arrived.now = resolve
    })

  let came = next()
  socket.write(GET)
  await came
  // Each request comes before the response to the one before it is out.
  for (let i = 0; i < 100; i++) {
    came = next()
    socket.write(GET)
    await came
    const [, second] = [...connections.values()][0]!
    assert.equal(second, open[1], 'a response that is owed is still known')
    const answered = once(socket, 'data')
    open.shift()!.end()
    await answered
  }
  assert.ok(arrived.most <= 3, String(arrived.most))
})

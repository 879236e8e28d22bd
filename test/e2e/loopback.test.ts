import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Loopback } from '../../src/cli/login/login.ts'

test('a request that is not the callback gets 404 and ends nothing', async (t) => {
  const loopback = await Loopback.open(0)
  t.after(() => loopback.close())
  const send = async (line: string) => {
    const socket = connect(loopback.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`${line} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)
    const answer = await text(socket)
    return Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1])
  }
  const come = loopback.wait('s', AbortSignal.timeout(60_000))
  for (const url of ['//', '//[', '/\\\\', '/', 'http://', '//callback?state=s', '/callback/', '/%'])
    assert.equal(await send(`GET ${url}`), 404, url)
  for (const line of ['POST /callback?state=s', 'OPTIONS *']) assert.equal(await send(line), 404, line)
  assert.equal(await send('GET /callback?state=other'), 400)
  const shown = send('GET /callback?state=s&code=c')
  const back = await come
  assert.equal(await send('GET /callback?state=s&code=d'), 400)
  assert.equal(await back.conclude(async (said) => said.get('code')), 'c')
  assert.equal(await shown, 200)
})

test('a browser that goes away does not keep the command', async (t) => {
  const loopback = await Loopback.open(0)
  t.after(() => loopback.close())
  const come = loopback.wait('s', AbortSignal.timeout(60_000))
  const socket = connect(loopback.port, '127.0.0.1')
  socket.write('GET /callback?state=s&code=c HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
  const back = await come
  const isGone = once(socket, 'close')
  socket.destroy()
  await isGone
  const failed = new Error('no')
  await assert.rejects(
    back.conclude(() => Promise.reject(failed)),
    failed,
  )
})

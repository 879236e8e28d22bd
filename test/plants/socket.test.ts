import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { serve } from '@hono/node-server'
import { appOn, deferred, memory } from './helpers.ts'

/** Sends bytes over a socket, and gives what came back until the server closed or `until` was seen. */
async function exchange(t: TestContext, send: (write: (text: string) => boolean) => void, until: RegExp) {
  const server = serve({ fetch: appOn(memory().store).fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  const { promise, resolve } = deferred()
  let answer = ''
  socket.on('data', (data) => {
    answer += data
    if (until.test(answer)) resolve()
  })
  socket.on('close', () => resolve())
  await once(socket, 'connect')
  send((text) => socket.writable && socket.write(text))
  await promise
  return answer
}

const HEAD =
  'POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-ann\r\nContent-Type: application/json\r\n'
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

test('a chunked body over the limit is answered 413 before it ends', async (t) => {
  const piece = chunk(' '.repeat(65_536))
  const answer = await exchange(
    t,
    (write) => {
      write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`)
      // No last chunk is ever sent: the server must not wait for it.
      for (let sent = 0; sent <= 1024 * 1024; sent += 65_536) write(piece)
    },
    /"message"/,
  )
  assert.match(answer, /^HTTP\/1\.1 413 /)
  assert.match(answer, /"error":413/)
})

test('a length over the limit is answered 413 before a byte of the body is sent', async (t) => {
  const answer = await exchange(t, (write) => write(`${HEAD}Content-Length: 1048577\r\n\r\n`), /"message"/)
  assert.match(answer, /^HTTP\/1\.1 413 /)
})

test('a chunked body within the limit is read whole, pieces cut inside a character too', async (t) => {
  const answer = await exchange(
    t,
    (write) => {
      write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk('{"id":9223372036854775807,')}`)
      write(`${chunk('"name":"Fern 🌿"}')}0\r\n\r\n`)
    },
    /"name"|"message"/,
  )
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.match(answer, /"name":"Fern/)
})

test('a refused body does not spoil the next request on the connection', async (t) => {
  const second = `${HEAD}Content-Length: 19\r\n\r\n{"id":1,"name":"a"}`
  const first = `${HEAD.replace('application/json', 'text/plain')}Content-Length: 5\r\n\r\nhello`
  const answer = await exchange(t, (write) => write(first + second), /"name":"a"/)
  assert.match(answer, /^HTTP\/1\.1 415 .*HTTP\/1\.1 200 /s)
})

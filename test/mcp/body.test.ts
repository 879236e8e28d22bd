import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { memory } from '../../src/access/memory.ts'
import type { Body } from '../../src/mcp/context.ts'
import { readBody } from '../../src/mcp/http.ts'

const LIMIT = 10
const HEAD = 'POST / HTTP/1.1\r\nhost: a\r\n'
const CHUNKED = `${HEAD}transfer-encoding: chunked\r\n\r\n`
const sized = (size: number) => `${HEAD}content-length: ${size}\r\n\r\n`

interface Reading {
  incoming: IncomingMessage
  body: Promise<Body>
}

/** What is read of a request whose bytes `send` writes; it may wait until the head has come. */
async function bodyOf(
  t: TestContext,
  send: (socket: Socket, reading: Promise<Reading>) => Promise<void> | void,
): Promise<Body> {
  const before = memory.used
  const reservation = memory.reserve('a')
  const server = createServer()
  const reading = new Promise<Reading>((resolve) =>
    server.on('request', (incoming: IncomingMessage) => {
      const arriving = { env: { incoming } } as unknown as Parameters<typeof readBody>[0]
      resolve({ incoming, body: readBody(arriving, LIMIT, reservation) })
    }),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.after(() => socket.destroy())
  await send(socket, reading)
  const body = await (await reading).body
  if ('text' in body) assert.equal(memory.used - before, Buffer.byteLength(body.text))
  reservation.close()
  assert.equal(memory.used, before)
  return body
}

test('a body that comes with its head is read', async (t) => {
  const text = await bodyOf(t, (socket) => void socket.write(`${sized(10)}0123456789`))
  assert.deepEqual(text, { text: '0123456789' })
  assert.deepEqual(await bodyOf(t, (socket) => void socket.write(sized(0))), { text: '' })
})

test('a body that comes after its head, in pieces, is read', async (t) => {
  const body = await bodyOf(t, async (socket, reading) => {
    socket.write(sized(10))
    const { incoming } = await reading
    socket.write('01234')
    await once(incoming, 'data')
    socket.write('56789')
  })
  assert.deepEqual(body, { text: '0123456789' })
})

test('a body beyond the limit is refused, however it comes', async (t) => {
  const tooLarge = { failure: 'too-large' }
  assert.deepEqual(await bodyOf(t, (socket) => void socket.write(sized(11))), tooLarge)
  const whole = `${CHUNKED}b\r\n0123456789a\r\n0\r\n\r\n`
  assert.deepEqual(await bodyOf(t, (socket) => void socket.write(whole)), tooLarge)
  const pieces = await bodyOf(t, async (socket, reading) => {
    socket.write(CHUNKED)
    const { incoming } = await reading
    socket.write('8\r\n01234567\r\n')
    await once(incoming, 'data')
    socket.write('3\r\n89a\r\n')
  })
  assert.deepEqual(pieces, tooLarge)
})

test('a body whose client goes away has no end', async (t) => {
  const aborted = { failure: 'aborted' }
  const before = await bodyOf(t, (socket, reading) => {
    socket.write(sized(10))
    return reading.then(({ incoming }) => void incoming.destroy())
  })
  assert.deepEqual(before, aborted)
  const within = await bodyOf(t, async (socket, reading) => {
    socket.write(sized(10))
    const { incoming } = await reading
    socket.write('01234')
    await once(incoming, 'data')
    socket.destroy()
  })
  assert.deepEqual(within, aborted)
})

test('a body that is not UTF-8 is refused', async (t) => {
  const bytes = Buffer.concat([Buffer.from(sized(2)), Buffer.from([0xc3, 0x28])])
  assert.deepEqual(await bodyOf(t, (socket) => void socket.write(bytes)), { failure: 'not-utf8' })
})

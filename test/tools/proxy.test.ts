import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect, createServer as createTcp, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { HttpClient } from '../../src/net/index.ts'
import { callable, listen, text, upstream } from './harness.ts'

const target = await upstream()
const http = new HttpClient()
after(() => http.drain())

function pipe(from: Socket, to: Socket): void {
  from.pipe(to).pipe(from)
  for (const socket of [from, to]) socket.on('error', () => socket.destroy())
}

test('a tool reaches its upstream through an HTTP proxy', async () => {
  const asked: (string | undefined)[] = []
  const proxy = createServer()
  proxy.on('connect', (request, socket: Socket) => {
    asked.push(request.url)
    const [host, port] = request.url!.split(':')
    const through = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      pipe(socket, through)
    })
  })
  const { hostname, port } = new URL(await listen(proxy))
  const call = callable(
    { endpoint: target.origin, proxy: { type: 'http', host: hostname, port: Number(port) } },
    { http },
  )
  assert.equal(text(await call()), '{"ok":true}')
  assert.deepEqual(asked, [new URL(target.origin).host])
})

test('a tool reaches its upstream through a SOCKS5 proxy', async () => {
  let asked = 0
  const proxy = createTcp((socket) => {
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]))
      socket.once('data', (request) => {
        asked++
        // VER CMD RSV ATYP, then an IPv4 address (1) or a name (3), then the port.
        const named = request[3] === 3
        const end = named ? 5 + request[4]! : 8
        const host = named ? request.toString('latin1', 5, end) : [...request.subarray(4, 8)].join('.')
        const through = connect(request.readUInt16BE(end), host, () => {
          socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
          pipe(socket, through)
        })
      })
    })
  })
  const { hostname, port } = new URL(await listen(proxy))
  const call = callable(
    { endpoint: target.origin, proxy: { type: 'socks5', host: hostname, port: Number(port) } },
    { http },
  )
  assert.equal(text(await call()), '{"ok":true}')
  assert.equal(asked, 1)
})

test('a proxy that refuses, or is not there, says so', async () => {
  const proxy = createServer()
  proxy.on('connect', (_request, socket: Socket) => socket.end('HTTP/1.1 403 Forbidden\r\n\r\n'))
  const { hostname, port } = new URL(await listen(proxy))
  const refused = await callable(
    { endpoint: target.origin, proxy: { type: 'http', host: hostname, port: Number(port) } },
    { http },
  )()
  assert.equal(refused.failure, 'connect')
  assert.match(text(refused), /The proxy could not connect to http:\/\/127\.0\.0\.1:\d+ /)
  const garbage = await listen(createTcp((socket) => socket.once('data', () => socket.end('what?\r\n\r\n'))))
  const babbling = await callable(
    {
      endpoint: target.origin,
      proxy: { type: 'http', host: '127.0.0.1', port: Number(new URL(garbage).port) },
    },
    { http },
  )()
  assert.equal(babbling.failure, 'network')
  assert.match(
    text(babbling),
    /^The proxy of http:\/\/\S+, or http:\/\/\S+ itself, sent an invalid HTTP response/,
  )
  let asked = 0
  const leaving = createServer()
  leaving.on('connect', (_request, socket: Socket) => {
    asked++
    socket.destroy()
  })
  const left = new URL(await listen(leaving))
  for (const [i, endpoint] of [target.origin, 'https://127.0.0.1:9'].entries()) {
    const proxy = { type: 'http' as const, host: left.hostname, port: Number(left.port) }
    const call = await callable({ endpoint, proxy, limits: { timeout: 60_000 } }, { http })()
    assert.equal(call.failure, 'connect', text(call))
    assert.match(text(call), /The proxy could not connect to /)
    assert.equal(asked, i + 1, 'a proxy that hangs up is asked once')
  }
  for (const type of ['http', 'socks5'] as const) {
    const gone = await callable(
      { endpoint: target.origin, proxy: { type, host: '127.0.0.1', port: 1 } },
      { http },
    )()
    assert.equal(gone.failure, 'connect')
    assert.match(text(gone), /The proxy could not connect to /)
  }
})

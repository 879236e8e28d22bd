import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createTcp, type Socket } from 'node:net'
import { test } from 'node:test'
import { HttpClient } from '../../src/net/index.ts'
import { arg, callable, json, listen, text, upstream } from './harness.ts'

/** A server that is no HTTP server. */
const raw = (connected: (socket: Socket) => void) => listen(createTcp(connected))

/** undici gives a socket back one turn of the event loop after its answer. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('an upstream that never answers ends at the time-out', async () => {
  const silent = await upstream(() => {})
  const outcome = await callable({ endpoint: silent.origin, limits: { timeout: 60 } })()
  assert.equal(outcome.failure, 'timeout')
  assert.equal(text(outcome), `${silent.origin} did not respond completely within 60 ms (timeout).`)
})

test('whether a request that is not safe was carried out is not known, and the text says so', async () => {
  const closing = await raw((socket) => socket.once('data', () => socket.destroy()))
  const outcome = await callable({ method: 'POST', endpoint: closing })()
  assert.match(text(outcome), /\. The request may or may not have been carried out\.$/)
  const refused = await callable({ method: 'POST', endpoint: 'http://127.0.0.1:1' })()
  assert.doesNotMatch(text(refused), /not known/)
})

test('the time-out covers the body too', async () => {
  const slow = await upstream((response) => {
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.write('never ends')
  })
  const outcome = await callable({ endpoint: slow.origin, limits: { timeout: 60 } })()
  assert.equal(outcome.failure, 'timeout')
})

test('the client’s cancellation ends the upstream request', async () => {
  let closed: Promise<unknown> | undefined
  const cancel = new AbortController()
  const silent = await upstream((response) => {
    closed = once(response, 'close')
    cancel.abort()
  })
  const outcome = await callable({ endpoint: silent.origin })({}, { signal: cancel.signal })
  assert.equal(outcome.failure, 'cancelled')
  await closed
  assert.equal(
    (await callable({ endpoint: silent.origin })({}, { signal: cancel.signal })).failure,
    'cancelled',
  )
  assert.equal(silent.received.length, 1)
})

test('an answer beyond the limit is not read to its end', async () => {
  const chunk = Buffer.alloc(16 * 1024)
  let closed: Promise<unknown> | undefined
  const endless = await upstream((response) => {
    closed = once(response, 'close')
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    }
    response.on('drain', more)
    more()
  })
  const outcome = await callable({ endpoint: endless.origin, limits: { maxResponseSize: 100 * 1024 } })()
  assert.equal(outcome.failure, 'too-large')
  assert.equal(
    text(outcome),
    `The response of ${endless.origin} (200) is larger than the limit of 100 KiB (maxResponseSize).`,
  )
  await closed
})

test('an announced size beyond the limit ends the call at once; one at the limit passes', async () => {
  const size = 1024
  const target = await upstream((response, { url }) =>
    response.end('x'.repeat(url === '/more' ? size + 1 : size)),
  )
  const call = (path: string) =>
    callable({ endpoint: target.origin + path, limits: { maxResponseSize: size } })()
  assert.equal((await call('/more')).failure, 'too-large')
  assert.equal(text(await call('/')).length, size)
})

test('limits of the tool go before those of the server, and those before the process', async () => {
  const target = await upstream((response) => response.end('x'.repeat(100)))
  const call = (tool: number | undefined, server: number | undefined, process: number) =>
    callable(
      { endpoint: target.origin, ...(tool ? { limits: { maxResponseSize: tool } } : {}) },
      { limits: { maxResponseSize: process }, server: server ? { limits: { maxResponseSize: server } } : {} },
    )()
  assert.equal((await call(undefined, undefined, 99)).failure, 'too-large')
  assert.equal((await call(undefined, 100, 99)).failure, undefined)
  assert.equal((await call(99, 100, 100)).failure, 'too-large')
})

test('connections that are refused, closed or garbage say so, by origin only', async () => {
  const cases: [string, string, RegExp][] = [
    ['http://127.0.0.1:1', 'connect', /refused the connection: nothing is listening there/],
    ['http://nowhere.invalid', 'connect', /^Cannot resolve the host name of /],
    [
      await raw((socket) => socket.destroy()),
      'network',
      /closed the connection before its response was complete/,
    ],
    [
      await raw((socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')),
      ),
      'network',
      /closed the connection before its response was complete/,
    ],
    [
      await raw((socket) => socket.once('data', () => socket.end('garbage\r\n\r\n'))),
      'network',
      /invalid HTTP response/,
    ],
    [
      await raw((socket) =>
        socket.once('data', () => socket.end(`HTTP/1.1 200 OK\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`)),
      ),
      'network',
      /response headers of .* are too large/,
    ],
    [(await upstream()).origin.replace('http:', 'https:'), 'tls', /does not speak TLS/],
  ]
  for (const [origin, failure, expected] of cases) {
    const outcome = await callable({ endpoint: `${origin}/secret/path?key=secret` })()
    assert.equal(outcome.failure, failure, text(outcome))
    assert.match(text(outcome), expected)
    assert.doesNotMatch(text(outcome), /secret|\/work|node_modules| at /)
  }
})

test('connections are kept alive and used again', async () => {
  const target = await upstream()
  const call = callable({ endpoint: target.origin })
  for (let i = 0; i < 5; i++) {
    assert.equal((await call()).failure, undefined)
    await turn()
  }
  assert.equal(target.connections(), 1)
  await Promise.all([call(), call(), call()])
  await turn()
  await Promise.all([call(), call(), call()])
  assert.ok(target.connections() <= 3)
})

for (const [how, end] of [
  ['closed', (socket: Socket) => socket.destroy()],
  ['reset', (socket: Socket) => socket.resetAndDestroy()],
] as const) {
  test(`a safe request that met a socket just being ${how} is sent once more; others are not`, async () => {
    let requests = 0
    // Answers the first request of a connection, and ends it at the second without a byte.
    const flaky = await raw((socket) => {
      let served = 0
      socket.on('data', () => {
        requests++
        if (served++ > 0) end(socket)
        else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
    })
    const http = new HttpClient()
    const get = callable({ endpoint: flaky }, { http })
    assert.equal(text(await get()), 'ok')
    await turn()
    assert.equal(text(await get()), 'ok')
    assert.equal(requests, 3)
    await turn()
    const once = callable({ endpoint: flaky, annotations: { idempotentHint: false } }, { http })
    assert.equal((await once()).failure, 'network')
    assert.equal(requests, 4)
    assert.equal(text(await get()), 'ok')
    await turn()
    const post = callable({ endpoint: flaky, method: 'POST' }, { http })
    assert.equal((await post()).failure, 'network')
    assert.equal(requests, 6)
    await http.close()
  })

  test(`a request whose new connection is ${how} is sent once`, async () => {
    let requests = 0
    const broken = await raw((socket) =>
      socket.on('data', () => {
        requests++
        end(socket)
      }),
    )
    assert.equal((await callable({ endpoint: broken })()).failure, 'network')
    assert.equal(requests, 1)
  })
}

test('connections are bounded, and draining them waits for calls in flight', async () => {
  const http = new HttpClient()
  let release: (() => void) | undefined
  const waiting = await upstream((response) => {
    release = () => json(response, { done: true })
  })
  const call = callable({ endpoint: waiting.origin }, { http })()
  const others = Array.from({ length: 300 }, (_, i) => {
    const request = { method: 'POST', origin: `http://127.0.0.1:${20_000 + i}`, path: '/', headers: [] }
    return http.fetch(request, { timeout: 1000, maxSize: 1 })
  })
  await Promise.allSettled(others)
  while (!release) await turn()
  const closed = http.drain()
  release()
  assert.equal(text(await call), '{"done":true}')
  await closed
})

test('an origin that comes from a branch is checked in each call', async () => {
  const target = await upstream()
  const call = callable(
    {
      endpoint: '{{if .Args.bad}}file:///etc/{{else}}{{.Config.base}}/{{end}}x',
      args: [arg('bad', 'query', { type: 'boolean' })],
    },
    { server: { config: { base: target.origin } } },
  )
  assert.equal((await call({})).failure, undefined)
  const outcome = await call({ bad: true })
  assert.match(text(outcome), /uses the scheme file: but only http and https/)
})

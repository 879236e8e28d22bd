import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { createForwarder, type ForwarderOptions, type ForwardRequest } from '../../src/cluster/forward.ts'
import { createHops } from '../../src/cluster/hop.ts'
import { everythingStdio } from '../fixtures/everything/start.ts'
import { freePort } from '../support/process.ts'
import { open, send } from '../upstream/harness.ts'
import { balance, type Replica, serveReplicas, startReplica } from './harness.ts'

const hopsOf = (address: string) => createHops(['a secret of at least 32 characters'], address)

/** What stands at a replica's address, and a forwarder whose clock is set by hand. */
async function at(t: TestContext, listener: RequestListener, options: Partial<ForwarderOptions> = {}) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clock = { now: 0 }
  const forwarder = createForwarder(hopsOf('http://10.0.0.2:1'), {
    connectTimeout: 1_000,
    now: () => clock.now,
    ...options,
  })
  t.after(async () => {
    await forwarder.close()
    server.closeAllConnections()
    server.close()
  })
  const owner = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const ask = (more: Partial<ForwardRequest> = {}) =>
    forwarder.send(owner, {
      method: 'POST',
      target: '/p/mcp?a=b',
      headers: { host: 'gateway.example.com' },
      body: '{}',
      signal: new AbortController().signal,
      lastWords: 'lost',
      onEnd: () => {},
      ...more,
    })
  return { ask, clock, server, owner }
}

/** Answers as a replica does. */
const proven =
  (listener: RequestListener): RequestListener =>
  (request, response) => {
    const header = String(request.headers['plantgw-hop'])
    const hops = hopsOf(`http://127.0.0.1:${request.socket.localPort}`)
    const { proof } = hops.receive(header, request.method!, request.url!) ?? {}
    if (proof !== undefined) response.setHeader('plantgw-hop-proof', proof)
    listener(request, response)
  }

const textOf = (body: unknown) => new Response(body as BodyInit).text()
type BodyInit = ConstructorParameters<typeof Response>[0]

test('a request arrives as it was, without what concerns one connection, and the answer likewise', async (t) => {
  let got: object = {}
  const { ask } = await at(
    t,
    proven((request, response) => {
      let text = ''
      request.on('data', (chunk) => {
        text += chunk
      })
      request.on('end', () => {
        const { 'plantgw-hop': _, ...headers } = request.headers
        got = { method: request.method, url: request.url, headers, text }
        response.writeHead(200, { 'content-type': 'application/json', 'x-own': 'y' }).end('{"ü":1}')
      })
    }),
  )
  const headers = {
    host: 'gateway.example.com',
    authorization: 'Bearer x',
    connection: 'keep-alive, x-hop',
    'x-hop': '1',
    'content-length': '999',
    expect: '100-continue',
    'plantgw-hop': 'of the client',
  }
  const answer = await ask({ headers, body: '{"ä":1}' })
  assert.ok('status' in answer, JSON.stringify(answer))
  assert.equal(await textOf(answer.body), '{"ü":1}')
  assert.deepEqual(
    [answer.status, answer.headers],
    [200, { 'content-type': 'application/json', 'x-own': 'y' }],
  )
  assert.deepEqual(got, {
    method: 'POST',
    url: '/p/mcp?a=b',
    headers: {
      host: 'gateway.example.com',
      authorization: 'Bearer x',
      connection: 'keep-alive',
      'content-length': '8',
    },
    text: '{"ä":1}',
  })
})

test('who has the address but not the secret is no replica any more', async (t) => {
  for (const status of [200, 204, 401, 404]) {
    const { ask } = await at(t, (_, response) => response.writeHead(status).end())
    assert.match(JSON.stringify(await ask()), /gone.*no longer belongs to a replica/)
  }
  const { ask } = await at(t, (_, response) => response.writeHead(200, { 'plantgw-hop-proof': 'x' }).end())
  assert.ok('gone' in (await ask()))
})

test('errors of the protocol are answers', async (t) => {
  for (const status of [400, 404, 500, 503]) {
    const { ask } = await at(
      t,
      proven((_, response) => response.writeHead(status).end('no')),
    )
    const answer = await ask()
    assert.ok('status' in answer)
    assert.deepEqual([answer.status, await textOf(answer.body)], [status, 'no'])
  }
})

test('what refuses connections is gone, what cannot be reached is so after a while', async (t) => {
  let status = 503
  const { ask, clock, server } = await at(t, (request, response) =>
    (status === 200 ? proven((_, answer) => answer.end()) : () => response.writeHead(status).end())(
      request,
      response,
    ),
  )
  for (const [now, ms] of [
    [503, 0],
    [503, 29_999],
  ] as const) {
    ;[status, clock.now] = [now, ms]
    assert.match(JSON.stringify(await ask()), /fault.*a proxy answered for .* \(503\).*"lost":false/)
  }
  clock.now = 30_000
  assert.ok('gone' in (await ask()))
  status = 200
  assert.ok('status' in (await ask()))
  ;[status, clock.now] = [503, 90_000]
  assert.ok('fault' in (await ask()))
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  // A connection that was kept may be found broken first.
  await ask()
  assert.match(JSON.stringify(await ask()), /gone.*refuses connections/)
})

test('what breaks off is told, and on a stream with its last words', async (t) => {
  const { ask } = await at(t, (request) => request.socket.destroy())
  assert.match(JSON.stringify(await ask()), /fault.*closed the connection.*"lost":true/)
  const broken = await at(
    t,
    proven((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: 1\n\n', () => request.socket.destroy())
    }),
  )
  const answer = await broken.ask()
  assert.ok('status' in answer)
  assert.equal(await textOf(answer.body), 'data: 1\n\nlost')
})

test('a client that leaves is told to the replica', async (t) => {
  let left: () => void = () => {}
  const leaves = new Promise<void>((resolve) => {
    left = resolve
  })
  const { ask } = await at(
    t,
    proven((_, response) => {
      response.on('close', left)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
    }),
  )
  const answer = await ask()
  assert.ok('status' in answer)
  await (answer.body as ReadableStream).cancel()
  await leaves
  const silent = await at(t, (_, response) => response.on('close', left))
  const leaving = new AbortController()
  const asking = silent.ask({ signal: leaving.signal })
  leaving.abort()
  assert.ok('fault' in (await asking))
})

test('an address that leads back to who asks is asked once', async (t) => {
  const backends: Pick<Replica, 'origin'>[] = []
  const balancer = await balance(t, backends)
  const upstreams = { s: { type: 'stdio' as const, ...everythingStdio('session') } }
  const { b, folder } = await serveReplicas(t, { upstreams })
  const advertise = new URL(balancer.url('s')).origin
  const a = await startReplica(t, folder, { port: await freePort(), advertise })
  backends.push(b)
  const { headers } = await open(a.url('s'))
  const response = await send(b.url('s'), { id: 1, method: 'ping' }, headers)
  assert.equal(response.status, 404)
  assert.deepEqual(balancer.went, ['POST 0'])
  await b.until(/leads to another replica; check its `advertise` address/)
})

test('a replica that lives is waited for, one that falls silent is not, whatever it has sent before', async (t) => {
  const now = performance.now.bind(performance)
  let asked = 0
  let frozen = false
  let answer = () => {}
  const { ask } = await at(
    t,
    proven((request, response) => {
      if (frozen) return
      if (request.method === 'HEAD') {
        response.writeHead(405).end()
        if (++asked === 3) answer()
      } else if (request.method === 'POST') answer = () => response.end('at last')
      else response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': open\n\n')
    }),
    { now, silence: 5 },
  )
  const long = await ask()
  assert.ok('status' in long, JSON.stringify(long))
  assert.equal(await textOf(long.body), 'at last')
  const stream = await ask({ method: 'GET', body: undefined })
  assert.ok('status' in stream)
  frozen = true
  assert.equal(await textOf(stream.body), ': open\n\nlost')
  assert.match(JSON.stringify(await ask()), /fault.*does not respond/)
})

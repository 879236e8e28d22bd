import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { INITIALIZE, post, rpc, serveHttp, serveSmall, WHOLE } from '../limits/harness.ts'
import { modern } from '../support/client.ts'
import { type GatewayHere, gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'

/** An upstream that answers 503 until `works`, and counts its connections. */
async function upstream(t: TestContext) {
  const seen = { connections: 0, works: false, origin: '' }
  const server = createServer((_, response) => {
    response.setHeader('connection', 'close')
    response.statusCode = seen.works ? 200 : 503
    response.end('{}')
  })
  server.on('connection', () => seen.connections++)
  const port = await listening(t, server)
  seen.origin = `http://127.0.0.1:${port}`
  return seen
}

const configurationOf = (origin: string, server: object, tool: object = {}) => ({
  name: 'shop',
  routers: [{ server: 'shop', prefix: '/shop' }],
  servers: [{ name: 'shop', ...server }],
  tools: [{ name: 'get', endpoint: origin, ...tool }],
})

/** The text of a call's result. */
const call = ({ base }: GatewayHere) => modern(`${base}/shop/mcp`).call('get')

async function metric({ base }: GatewayHere, name: string): Promise<string[]> {
  const text = await (await fetch(`${base}/metrics`)).text()
  return text.split('\n').filter((line) => line.startsWith(name))
}

/** Time that only the test moves on, for what is made after it. */
function frozenClock(t: TestContext) {
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  return { move: (milliseconds: number) => (now += milliseconds) }
}

const STATE = 'plantgw_upstream_breaker_state'
const OF_SHOP = 'tenant="default",server="shop"'
const about = ({ logged }: GatewayHere) => logged.filter(({ msg }) => /^circuit breaker/.test(msg))

test('metrics and the log show a breaker that opens and closes', async (t) => {
  const clock = frozenClock(t)
  const target = await upstream(t)
  const breaker = { failures: 2 }
  const gateway = await gatewayHere(t, configurationOf(target.origin, { breaker }))
  assert.deepEqual(await metric(gateway, STATE), [`${STATE}{${OF_SHOP}} 0`])
  await call(gateway)
  assert.deepEqual(about(gateway), [])
  await call(gateway)
  assert.deepEqual(await metric(gateway, STATE), [`${STATE}{${OF_SHOP}} 2`])
  target.works = true
  assert.match(await call(gateway), /the next attempt is in 10 s\.$/)
  clock.move(10_000)
  assert.equal(await call(gateway), '{}')
  assert.deepEqual(await metric(gateway, STATE), [`${STATE}{${OF_SHOP}} 0`])
  const lines = about(gateway).map(({ time: _, ...line }) => line)
  const { origin } = target
  assert.deepEqual(lines, [
    {
      level: 'warn',
      tenant: 'default',
      server: 'shop',
      origin,
      reason: `${origin} answered 503`,
      msg: 'circuit breaker opened: the origin is not called for now',
    },
    {
      level: 'info',
      tenant: 'default',
      server: 'shop',
      origin,
      msg: 'circuit breaker closed: the origin works again',
    },
  ])
})

test('a breaker outlives a reload that does not change its server', async (t) => {
  frozenClock(t)
  const target = await upstream(t)
  const server = { breaker: { failures: 1 } }
  const gateway = await gatewayHere(t, configurationOf(target.origin, server))
  await call(gateway)
  const refused = `The server shop is not called for now. ${target.origin} answered 503. It failed once; the next attempt is in 10 s.`
  assert.equal(await call(gateway), refused)
  await gateway.change(configurationOf(target.origin, server, { description: 'Another one' }))
  assert.equal(await call(gateway), refused)
  await gateway.change(configurationOf(target.origin, { ...server, retry: {} }))
  assert.equal(await call(gateway), refused)
  assert.equal(target.connections, 1)
  assert.deepEqual(await metric(gateway, STATE), [`${STATE}{${OF_SHOP}} 2`])
  target.works = true
  await gateway.change(configurationOf(target.origin, { breaker: { failures: 2 } }))
  assert.equal(await call(gateway), '{}')
  await gateway.change(configurationOf(target.origin, {}))
  assert.deepEqual(await metric(gateway, STATE), [])
})

test('metrics show repeated requests, and those that were not repeated', async (t) => {
  const target = await upstream(t)
  const limits = { timeout: '100ms' }
  const gateway = await gatewayHere(t, configurationOf(target.origin, { retry: { attempts: 2 }, limits }))
  await call(gateway)
  assert.deepEqual(await metric(gateway, 'plantgw_upstream_retries_total'), [
    `plantgw_upstream_retries_total{${OF_SHOP},outcome="deadline"} 1`,
  ])
})

test('an MCP server that keeps failing is not called, and a refusal is no failure of it', async (t) => {
  frozenClock(t)
  const target = await upstream(t)
  const server = { type: 'streamable-http', name: 'up', url: `${target.origin}/mcp` }
  const gateway = await gatewayHere(t, {
    name: 'mcp',
    routers: [{ server: 'up', prefix: '/up' }],
    mcpServers: [{ ...server, breaker: { failures: 1 } }],
  })
  const initialize = async (): Promise<Loose> => {
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    const response = await fetch(`${gateway.base}/up/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    })
    return (await response.json()) as Loose
  }
  await initialize()
  const { connections } = target
  for (let i = 0; i < 3; i++)
    assert.equal(
      (await initialize()).error.message,
      `The server up is not called for now. ${target.origin} answered 503. It failed once; the next attempt is in 10 s`,
    )
  assert.equal(target.connections, connections)
  assert.deepEqual(await metric(gateway, STATE), [`${STATE}{tenant="default",server="up"} 2`])
  assert.deepEqual(
    about(gateway).map(({ server, origin }) => [server, origin]),
    [['up', target.origin]],
  )
})

/** Characters of a description, with which twenty answers are more than a socket takes at once. */
const LONG = 'Farn – ä'.repeat(30_000)

/** The events of a session of HTTP with SSE, read one after the other. */
async function sse(origin: string) {
  const response = await fetch(`${origin}/shop/sse`)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async () => {
    while (!text.includes('\n\n')) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`the stream ended after ${text}`)
      text += value
    }
    const [event = '', ...rest] = text.split('\n\n')
    text = rest.join('\n\n')
    return event
  }
  return { response, messages: origin + (await next()).split('data: ')[1], next, reader }
}

test('a client that reads its event stream late gets all of it, and its session ends with the stream', async (t) => {
  const api = await serveHttp(t, (_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ name: LONG })),
  )
  const tool = { name: 'item', method: 'GET', endpoint: `${api}/item`, limits: WHOLE }
  const file = { routers: [{ server: 'shop', prefix: '/shop' }], servers: [{ name: 'shop' }], tools: [tool] }
  const { origin } = await serveSmall(t, [file], {})
  const { response, messages, next, reader } = await sse(origin)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  await post(messages, INITIALIZE)
  await next()
  const ids = Array.from({ length: 20 }, (_, i) => i + 2)
  for (const id of ids) {
    const call = rpc('tools/call', { name: 'item', arguments: {} }, id)
    assert.equal((await post(messages, call)).status, 202)
  }
  const got: number[] = []
  for (const _ of ids) {
    const answer = await next()
    assert.ok(answer.length > LONG.length)
    got.push(JSON.parse(answer.split('data: ')[1]!).id)
  }
  assert.deepEqual(
    got.toSorted((a, b) => a - b),
    ids,
  )
  await reader.cancel()
  await until(async () => (await post(messages, rpc('ping'))).status === 404)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type GatewayHere, gatewayHere } from '../support/gateway.ts'
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
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  seen.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return seen
}

const configurationOf = (origin: string, server: object, tool: object = {}) => ({
  name: 'shop',
  routers: [{ server: 'shop', prefix: '/shop' }],
  servers: [{ name: 'shop', ...server }],
  tools: [{ name: 'get', endpoint: origin, ...tool }],
})

/** The text of a call's result. */
async function call({ base }: GatewayHere): Promise<string> {
  const response = await fetch(`${base}/shop/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'get',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name: 'get',
        arguments: {},
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })
  const answer = (await response.json()) as Loose
  return answer.result?.content[0].text ?? JSON.stringify(answer)
}

async function metric({ base }: GatewayHere, name: string): Promise<string[]> {
  const text = await (await fetch(`${base}/metrics`)).text()
  return text.split('\n').filter((line) => line.startsWith(name))
}

const STATE = 'plantgw_upstream_breaker_state'
const OF_SHOP = 'tenant="default",server="shop"'
const about = ({ logged }: GatewayHere) => logged.filter(({ msg }) => /^circuit breaker/.test(msg))

test('metrics and the log show a breaker that opens and closes', async (t) => {
  const target = await upstream(t)
  const breaker = { failures: 2, pause: '1ms' }
  const gateway = await gatewayHere(t, configurationOf(target.origin, { breaker }))
  assert.deepEqual(await metric(gateway, STATE), [`${STATE}{${OF_SHOP}} 0`])
  await call(gateway)
  assert.deepEqual(about(gateway), [])
  await call(gateway)
  assert.match((await metric(gateway, STATE)).join(), /\} [12]$/)
  target.works = true
  while ((await call(gateway)) !== '{}');
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
  const target = await upstream(t)
  const server = { breaker: { failures: 1, pause: '1h' } }
  const gateway = await gatewayHere(t, configurationOf(target.origin, server))
  await call(gateway)
  const refused = `The server shop is not called for now. ${target.origin} answered 503. It failed once; the next attempt is in 3600 s.`
  assert.equal(await call(gateway), refused)
  await gateway.change(configurationOf(target.origin, server, { description: 'Another one' }))
  assert.equal(await call(gateway), refused)
  await gateway.change(configurationOf(target.origin, { ...server, retry: {} }))
  assert.equal(await call(gateway), refused)
  assert.equal(target.connections, 1)
  assert.deepEqual(await metric(gateway, STATE), [`${STATE}{${OF_SHOP}} 2`])
  target.works = true
  await gateway.change(configurationOf(target.origin, { breaker: { failures: 2, pause: '1h' } }))
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
  const target = await upstream(t)
  const server = { type: 'streamable-http', name: 'up', url: `${target.origin}/mcp` }
  const gateway = await gatewayHere(t, {
    name: 'mcp',
    routers: [{ server: 'up', prefix: '/up' }],
    mcpServers: [{ ...server, breaker: { failures: 1, pause: '1h' } }],
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
      `The server up is not called for now. ${target.origin} answered 503. It failed once; the next attempt is in 3600 s`,
    )
  assert.equal(target.connections, connections)
  assert.deepEqual(await metric(gateway, STATE), [`${STATE}{tenant="default",server="up"} 2`])
  assert.deepEqual(
    about(gateway).map(({ server, origin }) => [server, origin]),
    [['up', target.origin]],
  )
})

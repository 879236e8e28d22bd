import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { modern, open } from '../support/client.ts'
import { type GatewayHere, gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

type Era = 'session' | 'modern'
/** `cut`: an answer that begins and then breaks off. */
type Failure = number | 'reset' | 'cut' | [status: number, headers: Record<string, string>]

const TOOLS = [
  { name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  { name: 'put', inputSchema: { type: 'object' }, annotations: { idempotentHint: true } },
  { name: 'add', inputSchema: { type: 'object' } },
]

/** An MCP server that fails the next requests of a method as a test wants, and the methods that have arrived. */
async function flapping(t: TestContext, era: Era) {
  const failures = new Map<string, Failure[]>()
  const arrived: string[] = []
  const results: Record<string, object> =
    era === 'session'
      ? { initialize: { protocolVersion: '2025-11-25', serverInfo: { name: 's', version: '1' } } }
      : { 'server/discover': { supportedVersions: ['2026-07-28'] } }
  const server = createServer(async (request, response) => {
    const body = await text(request)
    // No socket is stale at the next request.
    response.setHeader('connection', 'close')
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method }: Loose = JSON.parse(body)
    arrived.push(method)
    const failure = failures.get(method)?.shift()
    if (failure) return fail(response, failure)
    if (id === undefined) return response.writeHead(202).end()
    const own = results[method] ?? { tools: TOOLS, content: [{ type: 'text', text: 'done' }] }
    const result = { resultType: 'complete', capabilities: { tools: {} }, ...own }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  const port = await listening(t, server)
  const count = (method: string) => arrived.filter((one) => one === method).length
  return { url: `http://127.0.0.1:${port}/mcp`, failures, arrived, count }
}

function fail(response: ServerResponse, failure: Failure) {
  if (failure === 'reset') return response.socket?.destroy()
  if (failure === 'cut') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': soon\n\n')
    return setImmediate(() => response.destroy())
  }
  const [status, headers] = typeof failure === 'number' ? [failure, {}] : failure
  return response.writeHead(status, headers).end('failed')
}

const configurationOf = (url: string, server: object) => ({
  name: 'shop',
  routers: [{ server: 'shop', prefix: '/shop' }],
  mcpServers: [{ name: 'shop', type: 'streamable-http', url, ...server }],
})

/** A client of a revision, and the answer to its handshake. */
async function client({ base }: GatewayHere, era: Era) {
  const url = `${base}/shop/mcp`
  if (era === 'session') return open(url)
  const { request, call } = modern(url)
  return { request, call, initialized: await request('server/discover') }
}

async function retries({ base }: GatewayHere): Promise<string[]> {
  const lines = (await (await fetch(`${base}/metrics`)).text()).split('\n')
  return lines
    .flatMap((line) => /^plantgw_upstream_retries_total\{.*(outcome=.*)/.exec(line)?.[1] ?? [])
    .sort()
}

for (const clientEra of ['session', 'modern'] as const)
  for (const serverEra of ['session', 'modern'] as const)
    test(`a ${clientEra} client of a ${serverEra} server: what does no harm twice is sent again, nothing else`, async (t) => {
      const target = await flapping(t, serverEra)
      const gateway = await gatewayHere(t, configurationOf(target.url, { retry: { attempts: 3 } }))
      const { initialized, request, call } = await client(gateway, clientEra)
      assert.ok(initialized.result)
      target.failures.set('tools/list', [503, 'reset'])
      assert.equal((await request('tools/list')).result.tools.length, 3)
      assert.equal(target.count('tools/list'), 3)
      for (const name of ['read', 'put']) {
        const before = target.count('tools/call')
        target.failures.set('tools/call', ['reset', 502])
        assert.equal(await call(name), 'done', name)
        assert.equal(target.count('tools/call') - before, 3, name)
      }
      for (const failure of [503, 'reset', 'cut'] as const) {
        const before = target.count('tools/call')
        target.failures.set('tools/call', [failure])
        const name = failure === 'cut' ? 'read' : 'add'
        assert.match(await call(name), /^error: /, `${failure}`)
        assert.equal(target.count('tools/call') - before, 1, `${failure}`)
      }
      assert.deepEqual(await retries(gateway), ['outcome="failed"} 3', 'outcome="ok"} 3'])
    })

test('a handshake that the server may have taken is not sent again, one that never left is', async (t) => {
  const target = await flapping(t, 'session')
  const gateway = await gatewayHere(t, configurationOf(target.url, { retry: {} }))
  for (const failure of [503, 'reset'] as const) {
    target.failures.set('initialize', [failure])
    const before = target.count('initialize')
    assert.ok((await client(gateway, 'session')).initialized.error, `${failure}`)
    assert.equal(target.count('initialize') - before, 1, `${failure}`)
  }
  assert.deepEqual(await retries(gateway), [])
  // Nobody listens there.
  await gateway.change(configurationOf('http://127.0.0.1:1/mcp', { retry: {} }))
  assert.match((await client(gateway, 'session')).initialized.error.message, /refused/i)
  // The probe and the handshake.
  assert.deepEqual(await retries(gateway), ['outcome="failed"} 4'])
})

test('hints of `toolOverrides` take precedence over those of the server', async (t) => {
  const target = await flapping(t, 'session')
  const toolOverrides = {
    add: { annotations: { idempotentHint: true } },
    read: { name: 'look', annotations: { readOnlyHint: false } },
  }
  const gateway = await gatewayHere(t, configurationOf(target.url, { retry: {}, toolOverrides }))
  const { call, request } = await client(gateway, 'session')
  await request('tools/list')
  target.failures.set('tools/call', [503])
  assert.equal(await call('add'), 'done')
  target.failures.set('tools/call', [503])
  assert.match(await call('look'), /^error: /)
})

test('`Retry-After` is waited for only within the time of the call, and a breaker counts every attempt', async (t) => {
  const target = await flapping(t, 'modern')
  const limits = { timeout: '20s' }
  const server = { retry: { attempts: 2 }, breaker: { failures: 3 }, limits }
  const gateway = await gatewayHere(t, configurationOf(target.url, server))
  const { request } = await client(gateway, 'modern')
  target.failures.set('tools/list', [[503, { 'retry-after': '3600' }]])
  assert.ok((await request('tools/list')).error)
  assert.deepEqual(await retries(gateway), ['outcome="deadline"} 1'])
  target.failures.set('tools/list', [503, 503])
  const { arrived } = target
  assert.ok((await request('tools/list')).error)
  const before = arrived.length
  assert.match((await request('tools/list')).error.message, /not called for now/)
  assert.equal(arrived.length, before)
})

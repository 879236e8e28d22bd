import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Loose } from '../support/wire.ts'
import { messages, open, proxied, send } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }

type Play = (response: ServerResponse, message: Loose) => unknown

/** A server over streamable HTTP that opens sessions, and answers one method as a test wants. */
async function serving(t: TestContext, method: string, play: Play) {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.writeHead(405).end()
    const message: Loose = JSON.parse(text)
    if (message.id === undefined) return response.writeHead(202).end()
    if (message.method === method) return play(response, message)
    const serverInfo = { name: 'half', version: '1' }
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 'one' }
    return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const short = { startupTimeout: '300ms', limits: { timeout: '300ms' } }
  return proxied(t, [{ type: 'streamable-http', url, ...short }])
}

const HALF = '{"jsonrpc":"2.0","id":'
const JSON_TYPE = { 'content-type': 'application/json' }
const EVENTS = { 'content-type': 'text/event-stream' }

const SILENT: Record<string, Play> = {
  'of known length': (response) =>
    response.writeHead(200, { ...JSON_TYPE, 'content-length': 100 }).write(HALF),
  'of events': (response) => response.writeHead(200, EVENTS).write(': soon\n\n'),
}

for (const [what, play] of Object.entries(SILENT)) {
  test(`a handshake with half an answer ${what} times out`, TIMEOUT, async (t) => {
    const { url } = await serving(t, 'initialize', play)
    const { initialized, status } = await open(url)
    assert.equal(status, 200)
    assert.match(initialized.error.message, /No response from/)
  })

  test(`a call with half an answer ${what} times out`, TIMEOUT, async (t) => {
    const { url } = await serving(t, 'tools/call', play)
    const { call } = await open(url)
    assert.match(await call('any'), /error: No response from/)
  })
}

test('half a JSON text of unknown length does not look like a whole one', TIMEOUT, async (t) => {
  const { url } = await serving(t, 'tools/call', (response) => response.writeHead(200, JSON_TYPE).write(HALF))
  const { headers } = await open(url)
  const params = { name: 'any', arguments: {} }
  const answer = await send(url, { id: 7, method: 'tools/call', params }, headers)
  await assert.rejects(answer.text())
})

for (const [what, begin] of [
  ['its id', 'data: {"jsonrpc":"2.0","id":7,"resu'],
  ['the id of its event', 'id: 1\ndata: {"jsonr'],
] as const)
  test(`an answer that is cut after ${what} is followed by an error`, TIMEOUT, async (t) => {
    const { url } = await serving(t, 'tools/call', (response) => {
      response.writeHead(200, EVENTS).write(begin, () => response.destroy())
    })
    const { headers } = await open(url)
    const params = { name: 'any', arguments: {} }
    const answer = await send(url, { id: 7, method: 'tools/call', params }, headers)
    const [broken, last] = (await answer.text()).split('\n\n')
    assert.match(broken!, /\nevent: broken$/)
    const [error] = await messages(new Response(`${last}\n\n`, { headers: EVENTS }))
    assert.deepEqual([error.id, error.error.code], [7, -32603])
  })

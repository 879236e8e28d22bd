import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { serveHttp } from '../limits/harness.ts'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'
import { ACCEPT, rpc } from '../support/wire.ts'

const META = {
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  },
}
const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'item' }
const CALL = rpc('tools/call', { name: 'item', arguments: { id: 7 }, ...META })
const INITIALIZE = rpc('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 't', version: '1' },
})

/** What a client sends; headers go before those that every client sends. */
const REQUESTS: Record<string, { body: unknown; headers?: Record<string, string> }> = {
  'a call': { body: CALL, headers: MODERN },
  'a call whose answer is an event': { body: CALL, headers: { ...MODERN, accept: 'text/event-stream' } },
  'a call without arguments': { body: rpc('tools/call', { name: 'item', ...META }), headers: MODERN },
  'a header that does not match': { body: CALL, headers: { ...MODERN, 'mcp-name': 'other' } },
  'an unknown method': {
    body: rpc('nothing/here', META),
    headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'nothing/here' },
  },
  'a notification': { body: { jsonrpc: '2.0', method: 'notifications/x', params: META }, headers: MODERN },
  'no session': { body: rpc('tools/list') },
  'an unknown session': { body: rpc('tools/list'), headers: { 'mcp-session-id': 'nobody' } },
  initialize: { body: INITIALIZE },
  'no JSON': { body: '{' },
  'another type': { body: 'x', headers: { 'content-type': 'text/plain' } },
  'an answer that is not taken': { body: CALL, headers: { accept: 'image/png' } },
  'a body that is too large': { body: 'x'.repeat(3_000) },
  'a host of somebody else': { body: CALL, headers: { host: 'evil.example' } },
  'a page of somebody else': { body: CALL, headers: { ...MODERN, origin: 'https://evil.example' } },
  'bytes that are not UTF-8': { body: Buffer.from([0x22, 0xff, 0x22]) },
}

function ask(port: number, path: string, { body, headers }: (typeof REQUESTS)[string]) {
  return new Promise<object>((resolve, reject) => {
    const every = { 'content-type': 'application/json', accept: ACCEPT, 'x-request-id': 'same' }
    const options = { port, host: '127.0.0.1', path, method: 'POST', headers: { ...every, ...headers } }
    const sent = request(options, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => {
        const { date: _, 'mcp-session-id': session, ...rest } = response.headers
        resolve({ status: response.statusCode, headers: rest, hasSession: session !== undefined, text })
      })
    })
    sent.on('error', reject)
    sent.end(Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body))
  })
}

test('a request to a route is answered alike with and without the framework', async (t) => {
  const api = await serveHttp(t, (_, response) =>
    response.setHeader('content-type', 'application/json').end('{"name":"Farn – ä"}'),
  )
  const folder = temporaryFolder(t)
  const configuration = {
    name: 'shop',
    routers: [{ server: 'shop', prefix: '/shop' }],
    servers: [{ name: 'shop' }],
    tools: [
      {
        name: 'item',
        method: 'GET',
        endpoint: `${api}/items/{{.Args.id}}`,
        args: [{ name: 'id', position: 'path', required: true, type: 'number', description: 'Which' }],
      },
    ],
  }
  writeFileSync(join(folder, 'shop.yaml'), JSON.stringify(configuration))
  const settings = join(temporaryFolder(t), 'plantgw.yaml')
  writeFileSync(settings, JSON.stringify({ limits: { maxRequestSize: 2_000 } }))
  const port = await freePort()
  const running = plantgw(t, ['serve', folder, '--settings', settings, '--port', String(port)])
  await running.until(/plantgw serves/)
  for (const [name, given] of Object.entries(REQUESTS)) {
    // What has a query is for the framework.
    const [direct, framed] = await Promise.all([
      ask(port, '/shop/mcp', given),
      ask(port, '/shop/mcp?', given),
    ])
    assert.deepEqual(direct, framed, name)
  }
  assert.match(JSON.stringify(await ask(port, '/shop/mcp', REQUESTS['a call']!)), /Farn – ä/)
})

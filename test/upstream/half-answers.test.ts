import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'
import { messages, modernSend, open, proxied, send } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }

type Play = (response: ServerResponse, message: Loose) => unknown

/** A server over streamable HTTP that opens sessions, and answers one method as a test wants. */
async function serving(t: TestContext, method: string, play: Play, timeout = '300ms') {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.writeHead(405).end()
    const message: Loose = JSON.parse(text)
    if (message.id === undefined) return response.writeHead(202).end()
    if (message.method === method) return play(response, message)
    if (message.method === 'server/discover' && timeout !== '300ms') {
      const result = { supportedVersions: ['2026-07-28', '2025-11-25'], capabilities: { tools: {} } }
      return response
        .writeHead(200, JSON_TYPE)
        .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
    }
    const serverInfo = { name: 'half', version: '1' }
    const result = { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo }
    const headers = { 'content-type': 'application/json', 'mcp-session-id': 'one' }
    return response.writeHead(200, headers).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
  })
  const port = await listening(t, server)
  const url = `http://127.0.0.1:${port}/mcp`
  return proxied(t, [{ type: 'streamable-http', url, startupTimeout: timeout, limits: { timeout } }])
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
    const { url, calls } = await serving(t, 'tools/call', play)
    const { call } = await open(url)
    assert.match(await call('any'), /error: (?:No response from|The server s1 ended the call)/)
    assert.equal(calls.find(({ method }) => method === 'tools/call')?.outcome, 'timeout')
  })
}

test('a call whose answer has a head and nothing else is told that it timed out', TIMEOUT, async (t) => {
  const { url } = await serving(t, 'tools/call', (response) =>
    response.writeHead(200, { ...JSON_TYPE, 'content-length': 100 }).flushHeaders(),
  )
  const { call } = await open(url)
  assert.match(await call('any'), /error: No response from the server for 0.3 s/)
})

test('a subscription that is answered with JSON without an end is refused at once', TIMEOUT, async (t) => {
  const { url } = await serving(
    t,
    'subscriptions/listen',
    (response) => {
      const more = setInterval(() => response.write(' '), 50)
      response.writeHead(200, JSON_TYPE).once('close', () => clearInterval(more))
    },
    '1s',
  )
  const answer = await modernSend(url, 'subscriptions/listen', { notifications: { toolsListChanged: true } })
  const { message } = (await messages(answer)).at(-1).error
  assert.match(message, /answered subscriptions\/listen with application\/json instead of an event stream/)
})

for (const [name, end] of [
  ['CR', '\r'],
  ['LF', '\n'],
  ['CRLF', '\r\n'],
] as const)
  test(
    `the answer is seen in events whose lines end with ${name}, however they are cut`,
    TIMEOUT,
    async (t) => {
      const text = (id: unknown) =>
        [': hello', '', 'event: message', `data: {"jsonrpc":"2.0","id":${id},"result":{}}`, '', ''].join(end)
      const { url } = await serving(t, 'tools/call', (response, { id }) =>
        response.writeHead(200, EVENTS).end(text(id)),
      )
      const { headers } = await open(url)
      const params = { name: 'any', arguments: {} }
      const answer = await send(url, { id: 7, method: 'tools/call', params }, headers)
      assert.deepEqual(await messages(answer), [{ jsonrpc: '2.0', id: 7, result: {} }])
    },
  )

test('half a JSON text of unknown length is an error', TIMEOUT, async (t) => {
  const { url } = await serving(t, 'tools/call', (response) => response.writeHead(200, JSON_TYPE).write(HALF))
  const { headers } = await open(url)
  const params = { name: 'any', arguments: {} }
  const answer = await send(url, { id: 7, method: 'tools/call', params }, headers)
  const { error } = (await answer.json()) as Loose
  assert.match(error.message, /No response from|ended the call without an answer/)
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
    const [error] = await messages(answer)
    assert.deepEqual([error.id, error.error.code], [7, -32603])
  })

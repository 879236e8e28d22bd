import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sample } from '../support/rest.ts'
import { open, post, wire } from '../support/wire.ts'

/** Messages that are nearly right, with any JSON where something else belongs. */
const nearMessage = fc.record(
  {
    jsonrpc: fc.oneof(fc.constant('2.0'), fc.jsonValue()),
    id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()),
    method: fc.oneof(
      fc.constantFrom(
        'initialize',
        'ping',
        'tools/list',
        'tools/call',
        'server/discover',
        'subscriptions/listen',
      ),
      fc.constantFrom('notifications/cancelled', 'constructor', '__proto__'),
      fc.jsonValue(),
    ),
    params: fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          _meta: fc.oneof(
            fc.jsonValue(),
            fc.constant({
              'io.modelcontextprotocol/protocolVersion': '2026-07-28',
              'io.modelcontextprotocol/clientCapabilities': {},
            }),
          ),
          name: fc.jsonValue(),
          arguments: fc.jsonValue(),
          cursor: fc.jsonValue(),
          protocolVersion: fc.jsonValue(),
          requestId: fc.jsonValue(),
          notifications: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    ),
    result: fc.jsonValue(),
  },
  { requiredKeys: ['jsonrpc'] },
)
const anyBody = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.json(),
  fc.oneof(nearMessage, fc.array(nearMessage, { maxLength: 4 })).map((value) => JSON.stringify(value)),
)
const anyHeaders = fc.record(
  {
    accept: fc.constantFrom('text/event-stream', '*/*', 'x', ''),
    'content-type': fc.constantFrom('application/json', 'application/json; charset=utf-8', 'text/html'),
    'mcp-protocol-version': fc.constantFrom('2026-07-28', '2025-11-25', '2024-11-05', 'x'),
    'mcp-method': fc.constantFrom('initialize', 'tools/list', 'tools/call', 'server/discover'),
    'mcp-name': fc.constantFrom('a', '=?base64?', '=?base64?!?='),
    'mcp-session-id': fc.constantFrom('open', 'x'),
  },
  { requiredKeys: [] },
)

test('whatever a client sends, it gets an answer below 500 that is JSON-RPC or nothing', async () => {
  const { app, registry } = await wire()
  const session = { id: (await open(app, '/one', '2025-03-26'))['mcp-session-id'] }
  await fc.assert(
    fc.asyncProperty(
      anyBody,
      anyHeaders,
      fc.constantFrom('/one/mcp', '/one/message?sessionId=x'),
      async (body, headers, path) => {
        const known = headers['mcp-session-id'] === 'open' && { 'mcp-session-id': session.id }
        const response = await post(app, path, body, { ...headers, ...known })
        assert.ok(response.status < 500, `${response.status}`)
        const isStream = response.headers.get('content-type') === 'text/event-stream'
        if (isStream) return void response.body?.cancel()
        const text = await response.text()
        if (text) for (const answer of [JSON.parse(text)].flat()) assert.equal(answer.jsonrpc, '2.0')
      },
    ),
    { numRuns: sample(2000) },
  )
  registry.close()
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseVerbatim } from '../../src/json/index.ts'
import { asChecked, type Request, readMessage, textOf, withParams } from '../../src/mcp/protocol.ts'

const TEXT = '{ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"a": 1.0} }'

test('a message is sent with the text that came, until it is changed', () => {
  const message = readMessage(parseVerbatim(TEXT), TEXT) as Request
  assert.equal(textOf(message), TEXT)
  assert.equal(textOf({ ...message, id: 2 }), TEXT)
  assert.equal(textOf(asChecked(message)), '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1.0}}')
  const other = '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"b":2}}'
  assert.equal(textOf(withParams(message, { b: 2 })), other)
  assert.equal(textOf({ ...message, raw: { ...message.raw, params: { b: 2 } } }), other)
})

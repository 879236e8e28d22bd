import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serverMessage } from '../../src/net/server-message.ts'

const BODIES: [what: string, body: string, message: string | undefined][] = [
  ['JSON-RPC', '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Too many"}}', 'Too many'],
  ['OAuth', '{"error":"invalid_token","error_description":"It has expired."}', 'It has expired'],
  ['OAuth without a description', '{"error":"invalid_token"}', 'invalid_token'],
  ['a problem', '{"title":"Forbidden","detail":"Not for you"}', 'Not for you'],
  ['a page', '<html><head><title>503 Service\n  Unavailable</title>', '503 Service Unavailable'],
  ['a page without a title', '<h1>Bad <b>gateway</b></h1>', 'Bad gateway'],
  ['a text', 'upstream\n  is down.\n', 'upstream is down'],
  ['control and hidden characters', '{"message":"a\\u001b[2Jb\\u202ec\\u0000"}', 'a[2Jbc'],
  ['a long text', 'x'.repeat(501), `${'x'.repeat(500)}…`],
  ['JSON without a message', '{"code":7}', undefined],
  ['nothing', ' \n', undefined],
]

for (const [what, body, message] of BODIES)
  test(`the message of a refusal: ${what}`, () => assert.equal(serverMessage(body), message))

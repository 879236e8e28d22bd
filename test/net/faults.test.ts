import assert from 'node:assert/strict'
import { test } from 'node:test'
import { netFault } from '../../src/net/index.ts'

test('errors of the network are named by their cause, never by their message', () => {
  const cases: [code: string, kind: string, text: string][] = [
    ['ENOTFOUND', 'name', 'Cannot resolve the host name of http://h:1 (ENOTFOUND)'],
    ['ECONNREFUSED', 'refused', 'http://h:1 refused the connection: nothing is listening there'],
    ['UND_ERR_CONNECT_TIMEOUT', 'connect-timeout', 'http://h:1 did not accept a connection in time'],
    ['EHOSTUNREACH', 'unreachable', 'http://h:1 is unreachable from this machine (EHOSTUNREACH)'],
    [
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'tls',
      'The TLS certificate of http://h:1 is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT)',
    ],
    ['CERT_HAS_EXPIRED', 'tls', 'The TLS certificate of http://h:1 has expired (CERT_HAS_EXPIRED)'],
    ['ERR_TLS_X', 'tls', 'A trusted TLS connection to http://h:1 cannot be established (ERR_TLS_X)'],
    ['ECONNRESET', 'closed', 'http://h:1 closed the connection before its response was complete'],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'protocol', 'http://h:1 sent an invalid HTTP response'],
    ['ESOMETHING', 'other', 'The request to http://h:1 failed (ESOMETHING)'],
  ]
  for (const [code, kind, text] of cases) {
    const fault = netFault(Object.assign(new Error('connect secret at /some/path'), { code }), 'http://h:1')
    assert.deepEqual([fault.kind, fault.message], [kind, text])
  }
  const both = new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })])
  assert.equal(netFault(both, 'http://h:1').kind, 'refused')
  assert.equal(netFault(both, 'http://h:1', true).kind, 'proxy')
})

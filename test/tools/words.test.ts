import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sizeText, timeText } from '../../src/text/index.ts'
import { networkError } from '../../src/tools/failure.ts'
import { canonicalHeader } from '../../src/tools/root.ts'

test('errors of the network are named by their cause, never by their message', () => {
  const cases: [string, string, RegExp][] = [
    ['ENOTFOUND', 'connect', /has no address/],
    ['ECONNREFUSED', 'connect', /nothing listens there/],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout', /did not accept a connection in time/],
    ['EHOSTUNREACH', 'connect', /cannot be reached from here \(EHOSTUNREACH\)/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls', /No trusted TLS connection .* \(DEPTH_ZERO_SELF_SIGNED_CERT\)/],
    ['CERT_HAS_EXPIRED', 'tls', /No trusted TLS connection/],
    ['ECONNRESET', 'network', /closed the connection/],
    ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'network', /not sound HTTP/],
    ['ESOMETHING', 'network', /^The request to http:\/\/h:1 failed \(ESOMETHING\)\.$/],
  ]
  for (const [code, failure, text] of cases) {
    const error = Object.assign(new Error('connect secret at /some/path'), { code })
    const { failure: found, text: words } = networkError(error, 'http://h:1', false)
    assert.equal(found, failure, code)
    assert.match(words, text)
    assert.doesNotMatch(words, /secret|path/)
  }
  const both = new AggregateError([Object.assign(new Error(), { code: 'ECONNREFUSED' })])
  assert.match(networkError(both, 'http://h:1', false).text, /refused/)
  assert.match(networkError(both, 'http://h:1', true).text, /The proxy of this tool/)
})

test('sizes, times and header names are written as people write them', () => {
  assert.deepEqual([10 * 2 ** 20, 1536, 2048, 100].map(sizeText), [
    '10 MiB',
    '1536 bytes',
    '2 KiB',
    '100 bytes',
  ])
  assert.deepEqual([30_000, 1500].map(timeText), ['30 s', '1500 ms'])
  assert.deepEqual(['x-trace-id', 'ETAG', 'x--y'].map(canonicalHeader), ['X-Trace-Id', 'Etag', 'X--Y'])
})

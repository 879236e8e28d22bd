import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../src/access/memory.ts'
import { Breaker, eventParser, linkTargets, netFault, type StreamPosition } from '../../src/net/index.ts'
import { serverMessage } from '../../src/net/server-message.ts'

test('an event that is too large is dropped, and the next one is read', () => {
  const found: string[] = []
  let dropped = 0
  const parse = eventParser(
    20,
    ({ data }) => found.push(data),
    () => dropped++,
    memory.reserve(),
  )
  for (const piece of [`data: ${'x'.repeat(15)}`, 'y'.repeat(30), '\n\ndata: next\n\n']) parse(piece)
  parse(`data: 0123456789\ndata: 0123456789\ndata: 0123456789\n\ndata: last\n\n`)
  assert.deepEqual([found, dropped], [['next', 'last'], 2])
})

test('the position of a stream is that of its last event that has ended', () => {
  const position: StreamPosition = {}
  const parse = eventParser(
    100,
    () => {},
    () => {},
    memory.reserve(),
    position,
  )
  const steps: [string, StreamPosition][] = [
    ['id: 1\nretry: 500\n', { retry: 500 }],
    ['data: a\n\n', { id: '1', retry: 500 }],
    ['data: b\n\nretry: soon\n\n', { id: '1', retry: 500 }],
    ['id:2\n\n', { id: '2', retry: 500 }],
    ['id: no header\u0001\n\n', { id: undefined, retry: 500 }],
    ['id: 3\n\nid\n\n', { id: undefined, retry: 500 }],
  ]
  for (const [text, expected] of steps) {
    parse(text)
    assert.deepEqual(position, expected, text)
  }
})

test('what fails to start is tried again after ever longer pauses, and at once when it has worked', () => {
  let now = 0
  const starts = new Breaker(undefined, () => now)
  const pauses: number[] = []
  for (let i = 0; i < 10; i++) {
    starts.failed('a', 'It broke')
    const start = now
    while (starts.refusal('a')) now += 250
    pauses.push(now - start)
  }
  assert.deepEqual(pauses, [0, 250, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000])
  starts.failed('a', 'It broke')
  assert.match(
    starts.refusal('a') ?? '',
    /^It broke. It failed 11 times in a row; the next attempt is in 30 s$/,
  )
  assert.equal(starts.refusal('b'), undefined)
  starts.worked('a')
  assert.equal(starts.refusal('a'), undefined)
})

test('late failures of what began together open a breaker once, and only the attempt after its pause closes it', () => {
  let now = 0
  const changes: string[] = []
  const rules = { failures: 3, pause: 1000, longest: 4000 }
  const breaker = new Breaker(
    rules,
    () => now,
    ({ key, state }) => void changes.push(`${key} ${state}`),
  )
  const begin = () => {
    const permit = breaker.admit('a')
    assert.ok(typeof permit === 'object', String(permit))
    return permit
  }
  const together = Array.from({ length: 10 }, begin)
  for (const permit of together.slice(0, 9)) permit.failed('It broke')
  assert.equal(breaker.admit('a'), 'It broke. It failed 3 times in a row; the next attempt is in 1 s')
  together[9]?.worked()
  assert.equal(breaker.state(), 'open')
  now += 1000
  assert.equal(breaker.state(), 'half-open')
  const probe = begin()
  assert.equal(breaker.admit('a'), 'It broke. It failed 3 times in a row; the next attempt is under way')
  probe.released()
  begin().failed('It broke again')
  assert.equal(breaker.admit('a'), 'It broke again. It failed 4 times in a row; the next attempt is in 2 s')
  now += 2000
  begin().worked()
  assert.equal(breaker.state(), 'closed')
  assert.deepEqual(changes, ['a open', 'a closed'])
})

test('a success between failures keeps a breaker closed', () => {
  const breaker = new Breaker({ failures: 2, pause: 1000, longest: 1000 })
  for (const way of ['failed', 'worked', 'failed', 'worked', 'failed'] as const) {
    const permit = breaker.admit('a')
    assert.ok(typeof permit === 'object')
    permit[way]('It broke')
  }
  assert.equal(breaker.state(), 'closed')
})

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

test('links are found by their relation (RFC 8288)', () => {
  const cases: [header: string, targets: string[]][] = [
    ['<https://a/?page=2>; rel="next", <https://a/?page=9>; rel="last"', ['https://a/?page=2']],
    ['<https://a/?page=1>; rel="prev", </b>;rel=next', ['/b']],
    ['</a>; REL="start Next"', ['/a']],
    ['</a,b;c>; title="a, <b>; rel=\\"next\\""; rel=next', ['/a,b;c']],
    // The first `rel` counts (3.3), and a link of another context is none of the answer (3.2).
    ['</a>; rel=prev; rel=next', []],
    ['</a>; rel=next; anchor="/other"', []],
    ["</a>; title*=UTF-8'de'n%c3%a4chstes; rel=next", ['/a']],
    [' , ,</a> ; rel = "next" ; crossorigin', ['/a']],
    ['</a>; rel=nextish', []],
    ['</a>', []],
    ['</a>; rel="next', ['/a']],
    ['</a; rel=next', []],
    ['no link, </a>; rel=next', []],
    ['', []],
  ]
  for (const [header, targets] of cases) assert.deepEqual(linkTargets(header, 'next'), targets, header)
})

const token = fc.stringMatching(/^[a-z]{1,8}$/)
const text = fc.string({ maxLength: 20 })
const target = fc.stringMatching(/^[ -=?-~]{0,30}$/)
const link = fc.record({
  target,
  rel: fc.constantFrom('next', 'prev', 'NEXT'),
  quoted: fc.boolean(),
  title: text,
})

test('every link that is written is read again, whatever stands beside it', () => {
  const written = (one: { target: string; rel: string; quoted: boolean; title: string }) =>
    `<${one.target}>; title="${one.title.replace(/["\\]/g, '\\$&')}"; rel=${one.quoted ? `"${one.rel}"` : one.rel}`
  fc.assert(
    fc.property(fc.array(link, { maxLength: 6 }), token, (links, other) => {
      const header = links.map((one) => `${written(one)}; ${other}x`).join(' , ')
      const expected = links.filter(({ rel }) => rel.toLowerCase() === 'next').map((one) => one.target)
      assert.deepEqual(linkTargets(header, 'next'), expected)
    }),
  )
})

test('any text is read to an end', () => {
  const pieces = fc.constantFrom('<', '>', ';', ',', '"', '\\', '=', ' ', 'rel', 'next', 'a', '\u0000', 'é')
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 200 }), (parts) => {
      const header = parts.join('')
      for (const found of linkTargets(header, 'next')) assert.ok(header.includes(`<${found}>`))
    }),
  )
})

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

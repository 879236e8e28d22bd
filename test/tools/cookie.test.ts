import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileDefinition } from '../../src/upstream/definition.ts'
import { sample } from '../support/rest.ts'
import { arg, callable, upstream } from './harness.ts'

const target = await upstream()
/** Cookies as RFC 6265 servers read them, the first of a name. */
const cookies = () =>
  target
    .last()
    .headers.cookie?.split(';')
    .map((pair) => pair.trim())

const byTemplate = callable(
  {
    endpoint: target.origin,
    headers: { Cookie: 'a=1; c={{.Args.c}}; z="{{.Config.z}}"' },
    args: [arg('c', 'query')],
  },
  { server: { config: { z: 'x, y; w=1' } } },
)
const byArgument = callable({ endpoint: target.origin, args: [arg('cookie', 'header')] })

test('a value from an argument is one cookie', async () => {
  for (const [given, sent] of [
    ['x; admin=1; c=evil', 'x%3B%20admin=1%3B%20c=evil'],
    ['x,y', 'x%2Cy'],
    ['"x', '%22x'],
    ['x\\"y', 'x%5C%22y'],
    ['a\tb', 'a%09b'],
    ['a\u00a0b\u2028c\u0085', 'a%C2%A0b%E2%80%A8c%C2%85'],
    ['{"a":1}', '{%22a%22:1}'],
  ] as const) {
    assert.equal((await byTemplate({ c: given })).failure, undefined)
    assert.equal(target.last().headers.cookie, `a=1; c=${sent}; z="x, y; w=1"`, given)
    assert.equal((await byArgument({ cookie: `c=${given}` })).failure, undefined)
    assert.equal(target.last().headers.cookie, `c=${sent}`)
  }
})

test('a benign value goes byte for byte, also where it is encoded already', async () => {
  for (const c of ['abc', '0', 'a=b==', 'a%3Bb', "!#$%&'()*+-./:<=>?@[]^_`{|}~", 'Zürich']) {
    await byTemplate({ c })
    const header = Buffer.from(target.last().headers.cookie!, 'latin1').toString()
    assert.equal(header, `a=1; c=${c}; z="x, y; w=1"`)
  }
})

test('a control character is refused as in every header', async () => {
  for (const c of ['a\r\nX: 1', 'a\nb', 'a\0b', 'a\x7fb', 'a\vb', 'a\fb'])
    for (const outcome of [await byTemplate({ c }), await byArgument({ cookie: c })])
      assert.match(outcome.failure ?? '', /^(?:arguments|template)$/)
})

test('no text makes another cookie, of an argument, a list or a caller’s cookie', async () => {
  const call = callable({
    endpoint: target.origin,
    headers: {
      cookie:
        'c={{.Args.c}}; l={{range $i, $v := .Args.l}}{{if $i}},{{end}}{{$v}}{{end}}; s={{printf "%s-%s" .Args.c .Request.Cookies.s}}',
    },
    args: [arg('c', 'query'), arg('l', 'body', { type: 'array' })],
  })
  const nasty = fc
    .array(
      fc.oneof(fc.constantFrom(';', '; ', ',', '"', '\\', ' ', '=', 'admin=1', '%3B', 'é'), fc.string()),
      { maxLength: 5 },
    )
    .map((parts) => parts.join(''))
  let sent = 0
  await fc.assert(
    fc.asyncProperty(nasty, nasty, async (c, v) => {
      const outcome = await call(
        { c, l: [v, c] },
        { headers: { cookie: `s=${v.replace(/[;\s\x00-\x1f]/g, '')}` } },
      )
      if (outcome.failure) return
      sent++
      const pairs = cookies()
      if (!pairs) return
      assert.deepEqual(
        pairs.map((pair) => pair.slice(0, 2)),
        ['c=', 'l=', 's='],
      )
      assert.doesNotMatch(target.last().headers.cookie!, /["\\\t]|[^;] |,.*,/)
    }),
    { numRuns: sample(500) },
  )
  assert.ok(sent > sample(500) / 5)
})

test('the caller’s own header goes on whole, and raw opts out', async () => {
  const headers = { cookie: 'a=1; b="x, y"' }
  const whole = callable({
    endpoint: target.origin,
    headers: { Cookie: '{{.Request.Headers.Cookie}}; own=1' },
  })
  await whole({}, { headers })
  assert.equal(target.last().headers.cookie, 'a=1; b="x, y"; own=1')
  const raw = callable({
    endpoint: target.origin,
    headers: { Cookie: 'c={{raw .Args.c}}' },
    args: [arg('c', 'query')],
  })
  await raw({ c: 'x; d=1' })
  assert.equal(target.last().headers.cookie, 'c=x; d=1')
})

test('the same holds for the headers of a proxied server', () => {
  const headers = { cookie: 'c={{.Request.Query.c}}' }
  const server = {
    name: 's',
    type: 'streamable-http',
    url: 'http://h/mcp',
    args: [],
    env: {},
    headers,
  } as never
  const { definition, problems } = compileDefinition(server, [], {})
  assert.deepEqual(problems, [])
  const resolved = definition.resolve({ headers: {}, query: () => ({ c: 'x; admin=1' }) })
  assert.deepEqual('headers' in resolved && { ...resolved.headers }, { cookie: 'c=x%3B%20admin=1' })
})

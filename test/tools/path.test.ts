import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import type { Arg } from '../../src/config/model.ts'
import { noNginx, startNginx } from '../support/nginx.ts'
import { freePort } from '../support/process.ts'
import { sample } from '../support/rest.ts'
import { arg, callable, text, upstream } from './harness.ts'

const target = await upstream()

/** Calls with the endpoint behind `/v1/forecast/`; the path that arrived, or the error. */
async function pathOf(
  endpoint: string,
  args: Record<string, unknown>,
  slashes: Record<string, Partial<Arg>> = {},
) {
  const names = Object.keys(args)
  const call = callable({
    endpoint: `${target.origin}/v1/forecast/${endpoint}`,
    args: names.map((name) =>
      arg(name, 'path', { type: Array.isArray(args[name]) ? 'array' : 'string', ...slashes[name] }),
    ),
  })
  const before = target.received.length
  const outcome = await call(args)
  if (target.received.length > before) return { path: target.last().url }
  assert.equal(outcome.result.isError, true)
  assert.equal(outcome.failure, 'template')
  return { error: text(outcome) }
}

test('a value with a dot segment is refused in every encoding, by the name of its argument', async () => {
  const climbs = [
    '..',
    '.',
    '../../admin',
    '..\\..\\admin',
    'x/..',
    'x/./y',
    './x',
    'x/.',
    '%2e%2e/admin',
    '%2E%2E%2fadmin',
    '..%2fadmin',
    '..%5Cadmin',
    '%252e%252e%252fadmin',
    '%252E%252e%255cadmin',
    '.%2e%252fadmin',
    '%c0%ae%c0%ae/admin',
    '%C0%AE.%c0%afadmin',
    '%e0%80%ae%e0%80%ae%e0%80%afadmin',
    '%f0%80%80%ae./admin',
    '%25c0%25ae%25c0%25ae%25c0%25afadmin',
    '%c0./%c0%ae%c1%9cadmin',
    '..%c1%1cadmin',
    '%u002e%u002e%u2215admin',
    '%u002e./admin',
    '..;/admin',
    '..;a=b;c/admin',
    '%2e%2e;/admin',
    '..%3b/admin',
    'x/..?y',
    'x/..#y',
    'x/..\0.png',
    'x/..%00/y',
    '.\t./admin',
    '.%0a./admin',
    '.. /admin',
    '\u200b../admin',
    '..\u00a0/admin',
    '..\u2003/admin',
    '\ufffd../admin',
    // Bytes that are not UTF-8, which lax decoders leave out.
    '%80%2e%2e/admin',
    '.%ff./admin',
    '..%e2%80/admin',
    '%25c3..%2fadmin',
    '．．／admin',
    '．．/admin',
    '‥/admin',
    '..／admin',
    '..∕admin',
    '..＼admin',
    '％2e％2e/admin',
    '%EF%BC%8E%EF%BC%8E%EF%BC%8Fadmin',
    '..%2f\u0307admin',
    '%2e%2e\u0307/../admin',
  ]
  for (const city of climbs) {
    const { error } = await pathOf('{{.Args.city}}', { city })
    assert.match(error ?? '', /^No request was sent: `city` must not/, JSON.stringify(city))
    assert.ok(city.length < 3 || !error!.includes('admin'), error)
  }
})

test('what stands beside a value counts with it', async () => {
  const refused: [string, Record<string, unknown>][] = [
    ['{{.Args.a}}{{.Args.b}}', { a: '.', b: '.' }],
    ['{{.Args.a}}{{.Args.b}}', { a: '.', b: './x' }],
    ['{{.Args.a}}{{.Args.b}}', { a: '%2', b: 'e' }],
    ['{{.Args.a}}{{.Args.b}}', { a: 'x%2', b: 'f..' }],
    ['.{{.Args.a}}', { a: '.' }],
    ['.{{.Args.a}}', { a: './x' }],
    ['.{{.Args.a}}', { a: '%2e%2fx' }],
    ['%2e{{.Args.a}}', { a: '.' }],
    ['%2{{.Args.a}}', { a: 'e' }],
    ['{{.Args.a}}.', { a: 'x/.' }],
    ['{{.Args.a}};v=1/x', { a: '..' }],
    ['{{range .Args.a}}{{.}}{{end}}', { a: ['.', '.'] }],
    ['{{range .Args.a}}/{{.}}{{end}}', { a: ['x', '..'] }],
    ['{{join "/" .Args.a}}', { a: ['x', '..', 'y'] }],
    ['{{printf "%s/%s" .Args.a .Args.b}}', { a: '.', b: '.' }],
    ['{{raw .Args.a}}', { a: '../../admin' }],
    ['{{raw .Args.a}}', { a: '%2e%2e%2fadmin' }],
    ['{{raw .Args.a}}', { a: '..%2fadmin?x' }],
    ['{{urlquery .Args.a}}', { a: '../admin' }],
    ['{{urlquery .Args.a | raw}}', { a: '../admin' }],
    ['{{.Args.a}}?q={{.Args.b}}', { a: '../x', b: 'y' }],
  ]
  for (const [endpoint, args] of refused) {
    const { error } = await pathOf(endpoint, args)
    assert.match(error ?? '', /^No request was sent: .*`[ab]`/, `${endpoint} ${JSON.stringify(args)}`)
  }
})

test('other values arrive byte for byte, also with slashes and dots', async () => {
  const benign = [
    'Zürich/x',
    'a/b\\c',
    'a..b',
    '...',
    '..a',
    'a..',
    '.hidden',
    'v1.2.3',
    'x/.git/y..',
    '1.5%',
    '100%25',
    '%2F',
    'a;b=c',
    '..;a'.slice(2),
    '…',
    '東京',
    '．５',
    'a//b',
    'https://example.org/a?b#c',
    '%c0',
    '%zz',
    '~user',
  ]
  for (const value of benign) {
    const { path } = await pathOf('{{.Args.a}}', { a: value }, { a: { slashes: 'encode' } })
    assert.equal(path, `/v1/forecast/${encodeURIComponent(value)}`, value)
    if (!/[/\\]|%2F/.test(value)) assert.equal((await pathOf('{{.Args.a}}', { a: value })).path, path, value)
  }
})

test('a slash in any encoding is refused, unless the argument says what becomes of it', async () => {
  const deeper = ['7/keys', '7\\keys', '7%2Fkeys', '7%5ckeys', '7%252fkeys', '7%u002fkeys', '7／keys', '/']
  const forms = [
    '{{.Args.a}}',
    'x-{{.Args.a}}',
    '{{upper .Args.a}}',
    '{{urlquery .Args.a}}',
    '{{$x := .Args.a}}{{$x}}',
  ]
  for (const a of deeper)
    for (const form of [...forms, '{{range list .Args.a}}{{.}}{{end}}', '{{index .Args "a"}}/y']) {
      const { error } = await pathOf(form, { a })
      assert.equal(
        error,
        "No request was sent: `a` must not contain `/` or `\\`, encoded or not: it is one part of the URL's path.",
      )
      assert.ok((await pathOf(form, { a }, { a: { slashes: 'encode' } })).path, form)
    }
  assert.ok((await pathOf('{{.Args.a}}', { a: '7%25252Fkeys' })).error)
  // One argument does not speak for another, and a query has no segments.
  const both = { a: { slashes: 'encode' } } as const
  assert.match((await pathOf('{{.Args.a}}/{{.Args.b}}', { a: 'x/y', b: 'x/y' }, both)).error!, /`b` must not/)
  assert.match(
    (await pathOf('{{printf "%s%s" .Args.a .Args.b}}', { a: 'x', b: '/' }, both)).error!,
    /`b` must not/,
  )
  assert.equal((await pathOf('x?q={{.Args.b}}', { b: 'x/y' })).path, '/v1/forecast/x?q=x%2Fy')
  const ofQuery = '{{if .Args.b}}x?q={{end}}{{.Args.b}}'
  assert.equal((await pathOf(ofQuery, { b: 'x/y' })).path, '/v1/forecast/x?q=x%2Fy')
  const keep = { a: { slashes: 'keep' } } as const
  assert.equal(
    (await pathOf('{{.Args.a}}/z', { a: 'x/y z/?#\\' }, keep)).path,
    '/v1/forecast/x/y%20z/%3F%23%5C/z',
  )
  assert.match((await pathOf('{{.Args.a}}', { a: 'x/../../admin' }, keep)).error!, /must not put/)
})

test('what the author wrote is trusted, and a query has no segments', async () => {
  assert.equal(
    (await pathOf('x?q={{.Args.a}}&r=../{{.Args.a}}', { a: '../../admin' })).path,
    '/v1/forecast/x?q=..%2F..%2Fadmin&r=../..%2F..%2Fadmin',
  )
  assert.equal((await pathOf('..%2Fx/{{.Args.a}}', { a: 'y' })).path, '/v1/forecast/..%2Fx/y')
})

test('a path that no server takes is not sent', async () => {
  const { error } = await pathOf('{{.Args.a}}', { a: '?'.repeat(400_000) })
  assert.match(error ?? '', /the path of the URL is longer than 1048576 characters/)
})

/** nginx twice: the first hands its decoded path on to the second, which decodes it again. */
async function twoServers(t: TestContext): Promise<string> {
  const [first, second] = [await freePort(), await freePort()]
  const conf = `events {}
http {
  access_log off;
  merge_slashes on;
  server {
    listen 127.0.0.1:${first};
    location /v1/forecast/ { proxy_pass http://127.0.0.1:${second}$uri; }
    location /plain/ { return 200 "FORECAST $request_uri"; }
    location /admin { return 200 "ADMIN"; }
  }
  server {
    listen 127.0.0.1:${second};
    location /v1/forecast/ { return 200 "FORECAST $request_uri"; }
    location /admin { return 200 "ADMIN"; }
  }
}
`
  const base = `http://127.0.0.1:${first}`
  await startNginx(t, conf, `${base}/admin`)
  return base
}

const spelled = (...spellings: string[]) => fc.constantFrom(...spellings)
const dot = spelled('.', '.', '%2e', '%2E', '%252e', '%252E')
const slash = spelled('/', '/', '\\', '%2f', '%2F', '%5c', '%252f', '%255C', '//', '/./')
const climb = fc
  .tuple(
    fc.array(fc.tuple(dot, dot, slash), { minLength: 2, maxLength: 6 }),
    spelled('', 'x/', 'x%2f', 'a/b/../'),
  )
  .map(([steps, before]) => `${before}${steps.map((step) => step.join('')).join('')}admin`)

test('behind nginx no spelling of ../../admin reaches /admin', { skip: noNginx }, async (t) => {
  const base = await twoServers(t)
  const tool = (endpoint: string) => callable({ endpoint: base + endpoint, args: [arg('city', 'path')] })
  const calls = [
    '/plain/x/{{.Args.city}}',
    '/v1/forecast/{{.Args.city}}',
    '/v1/forecast/{{raw .Args.city}}',
  ].map(tool)
  await fc.assert(
    fc.asyncProperty(climb, async (city) => {
      for (const call of calls) {
        const answer = text(await call({ city }))
        assert.doesNotMatch(answer, /^ADMIN/)
        assert.match(answer, /^No request was sent: `city` must not put/)
      }
    }),
    {
      numRuns: sample(500),
      examples: [['../../admin'], ['..%2f..%2fadmin'], ['%252e%252e%252f%252e./admin']],
    },
  )
})

test('behind nginx any text that is sent reaches its own location', { skip: noNginx }, async (t) => {
  const base = await twoServers(t)
  const args = [arg('city', 'path', { slashes: 'encode' })]
  const plain = callable({ endpoint: `${base}/plain/{{.Args.city}}`, args })
  const twice = callable({ endpoint: `${base}/v1/forecast/{{.Args.city}}`, args })
  const piece = spelled(
    '.',
    '..',
    '/',
    '%2e',
    '%2f',
    '%252e',
    '%',
    '2e',
    ';',
    'a',
    'admin',
    'ü',
    '?',
    '%5c',
    '\\',
  )
  let sent = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { minLength: 1, maxLength: 9 }).map((parts) => parts.join('')),
      async (city) => {
        assert.doesNotMatch(text(await twice({ city })), /^ADMIN/)
        const answer = text(await plain({ city }))
        if (answer.startsWith('No request was sent')) return
        sent++
        // As it is: nginx refuses what it cannot decode.
        if (!answer.includes('400 Bad Request'))
          assert.equal(answer, `FORECAST /plain/${encodeURIComponent(city)}`)
      },
    ),
    { numRuns: sample(1000) },
  )
  assert.ok(sent > sample(1000) / 5)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sample } from '../support/rest.ts'
import { arg, callable, compileAll, makeTool, upstream } from './harness.ts'

// Whatever the arguments hold, they stay in their place: the upstream sees one request of the shape that the
// author wrote, or none at all.
const target = await upstream()
const NASTY = [
  ...(
    '.. . %2e%2e / \\ ? # & = " @evil.example //evil.example {{.Config}} ","x":" } ; % %zz -- ' +
    'data:,x data:image/png;base64, 😀'
  ).split(' '),
  '\r\n',
  '\n',
  '\0',
  '\u2028',
  '\ud800',
  ' ',
  'é',
]
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...NASTY), fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 6 })
  .map((parts) => parts.join(''))
const runs = { numRuns: sample(300) }

/** Calls, and hands over what arrived; undefined when the call was refused before it was sent. */
async function sent(call: ReturnType<typeof callable>, args: object) {
  const before = target.received.length
  const outcome = await call(args)
  assert.ok(target.received.length - before <= 1)
  if (target.received.length === before) {
    assert.equal(outcome.result.isError, true)
    assert.ok(['arguments', 'template', 'request'].includes(outcome.failure!), JSON.stringify(outcome))
    return undefined
  }
  assert.equal(outcome.failure, undefined, JSON.stringify(outcome))
  return target.received.pop()!
}

const wellFormed = (value: string) => Buffer.from(value).toString()

test('in the path: the same number of segments, none of them a dot segment, and the value comes back', async () => {
  const call = callable({
    endpoint: `${target.origin}/a/{{.Args.x}}/b/{{.Args.y}}-{{.Args.x}}`,
    args: [arg('x', 'path'), arg('y', 'path')],
  })
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (x, y) => {
      const request = await sent(call, { x, y })
      if (!request) return
      const segments = request.url.split('/')
      assert.equal(segments.length, 5)
      assert.deepEqual([segments[1], segments[3]], ['a', 'b'])
      assert.doesNotMatch(request.url, /[?#\\]/)
      assert.equal(decodeURIComponent(segments[2]!), wellFormed(x))
      assert.equal(new URL(request.url, target.origin).pathname, request.url)
    }),
    runs,
  )
})

test('in the query: the same pairs, by position and by template', async () => {
  const call = callable({
    endpoint: `${target.origin}/a?t={{.Args.t}}&end=1`,
    args: [arg('t', 'path', { default: 'd' }), arg('q', 'query'), arg('list', 'query', { type: 'array' })],
  })
  await fc.assert(
    fc.asyncProperty(hostile, fc.array(hostile), async (q, list) => {
      const request = await sent(call, { t: q || 'x', q, list })
      if (!request) return
      const url = new URL(request.url, target.origin)
      assert.equal(url.pathname, '/a')
      assert.deepEqual(
        [...url.searchParams],
        [['t', q || 'x'], ['end', '1'], ['q', q], ...list.map((item) => ['list', item])].map((pair) =>
          pair.map((each) => wellFormed(each!)),
        ),
      )
    }),
    runs,
  )
})

test('in a header: the same headers', async () => {
  const call = callable({
    endpoint: target.origin,
    headers: { 'X-T': 'v{{.Args.t}}' },
    args: [arg('t', 'query'), arg('X-A', 'header')],
  })
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (t, a) => {
      const request = await sent(call, { t, 'X-A': a })
      if (!request) return
      const names = request.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
      // A header whose only value is empty would be a lone prefix, and is not sent.
      const own = t === '' ? ['x-a'] : ['x-a', 'x-t']
      assert.deepEqual(names.sort(), ['accept', 'connection', 'host', 'user-agent', ...own])
      assert.equal(
        Buffer.from(request.headers['x-a'] as string, 'latin1').toString(),
        wellFormed(a).replace(/^[ \t]+|[ \t]+$/g, ''),
      )
    }),
    runs,
  )
})

test('in a JSON body: the same structure, by template and from arguments', async () => {
  const args = [arg('s', 'body'), arg('o', 'body', { type: 'object' })]
  const byTemplate = callable({
    method: 'POST',
    endpoint: target.origin,
    args,
    requestBody: '{"s": "{{.Args.s}}", "o": {{toJSON .Args.o}}, "end": true}',
  })
  const byArguments = callable({ method: 'POST', endpoint: target.origin, args })
  await fc.assert(
    fc.asyncProperty(hostile, hostile, async (s, inner) => {
      const o = { k: inner }
      const first = await sent(byTemplate, { s, o })
      if (first) {
        const body = JSON.parse(first.body.toString())
        assert.deepEqual(Object.keys(body), ['s', 'o', 'end'])
        assert.equal(wellFormed(body.s), wellFormed(s))
      }
      const second = await sent(byArguments, { s, o })
      assert.deepEqual(JSON.parse(second!.body.toString()), { s, o })
    }),
    runs,
  )
})

test('in a form: the same pairs', async () => {
  const call = callable({
    method: 'POST',
    endpoint: target.origin,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    args: [arg('a', 'body')],
    requestBody: 'a={{.Args.a}}&b=1',
  })
  await fc.assert(
    fc.asyncProperty(hostile, async (a) => {
      const request = await sent(call, { a })
      const pairs = [...new URLSearchParams(request!.body.toString())]
      assert.deepEqual(pairs, [
        ['a', wellFormed(a)],
        ['b', '1'],
      ])
    }),
    runs,
  )
})

test('in a multipart body: the same parts', async () => {
  const call = callable({
    method: 'POST',
    endpoint: target.origin,
    args: [
      arg('text', 'form-data'),
      arg('file', 'form-data', { type: 'object' }),
      arg('list', 'form-data', { type: 'array' }),
    ],
  })
  await fc.assert(
    fc.asyncProperty(hostile, hostile, fc.array(hostile), async (text, filename, list) => {
      const request = await sent(call, { text, file: { filename, data: 'SGk=' }, list })
      if (!request) return
      const { body } = request
      const form = await new Response(body, {
        headers: { 'Content-Type': request.headers['content-type']! },
      }).formData()
      assert.deepEqual([...form.keys()], ['text', 'file', ...list.map(() => 'list')])
      const value = form.get('text')!
      if (typeof value === 'string') assert.equal(value, wellFormed(text))
      assert.equal(await (form.get('file') as File).text(), 'Hi')
    }),
    runs,
  )
})

test('whatever a configuration says, compiling it reports and never throws', () => {
  const bit = fc.oneof(
    fc.constantFrom(
      ...'http:// host / {{ }} {{.Args.x}} {{.Config.k}} {{end}} ? # " :99999'.split(' '),
      '{{if .Args.x}}',
      '{{env "X"}}',
      '\n',
    ),
    fc.string({ unit: 'binary', maxLength: 4 }),
  )
  const source = fc.array(bit, { maxLength: 6 }).map((bits) => bits.join(''))
  const position = fc.constantFrom('header', 'query', 'path', 'body', 'form-data') as fc.Arbitrary<never>
  fc.assert(
    fc.property(fc.array(source, { minLength: 8, maxLength: 8 }), position, (texts, where) => {
      const [endpoint, name, value, requestBody, responseBody, errorBody, key, config] = texts as string[]
      const { tools, problems } = compileAll(
        [
          makeTool({
            endpoint: endpoint!,
            headers: { [name!]: value! },
            requestBody: requestBody!,
            responseBody: responseBody!,
            errorBody: errorBody!,
            args: [arg(key!, where), arg('x', 'query')],
          }),
        ],
        { server: { config: { k: config! } } },
      )
      assert.ok(tools.list().length === 1 || problems.some(({ severity }) => severity === 'error'))
      for (const { message, path } of problems) assert.ok(message !== '' && path.length > 0)
    }),
    runs,
  )
})

test('answers of any bytes never make a call reject', async () => {
  let answer: { type: string; status: number; body: Uint8Array } = {
    type: '',
    status: 200,
    body: new Uint8Array(),
  }
  const any = await upstream((response) => {
    response.writeHead(answer.status, answer.type ? { 'content-type': answer.type } : {}).end(answer.body)
  })
  const calls = [
    callable({ endpoint: any.origin }),
    callable({
      endpoint: any.origin,
      responseBody: '{"v": {{.Response.Data.x}}}',
      errorBody: '{{.Response.Body}}',
    }),
    callable({ endpoint: any.origin, outputSchema: { type: 'object' } }),
  ]
  const types = fc.constantFrom(
    '',
    'application/json',
    'text/html; charset=utf-16le',
    'image/png',
    'application/pdf',
    'text/plain; charset=??',
  )
  const bodies = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.json().map((text) => Buffer.from(text)),
  )
  await fc.assert(
    fc.asyncProperty(
      types,
      fc.constantFrom(200, 201, 304, 400, 404, 500),
      bodies,
      async (type, status, body) => {
        answer = { type, status, body }
        for (const call of calls) {
          const { result, upstreamStatus } = await call()
          assert.equal(upstreamStatus, status)
          assert.ok(result.content.length > 0)
          if (status >= 300) assert.equal(result.isError, true)
        }
      },
    ),
    { numRuns: sample(150) },
  )
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { parse, stringify } from '../../src/json/index.ts'
import { arg, callable, compileAll, makeTool, text, upstream } from './harness.ts'

/** The path names what is answered: `/<status>`, with `set` deciding headers and body. */
let answer: { status?: number; reason?: string; headers?: Record<string, string>; body?: string | Buffer } =
  {}
const target = await upstream((response) => {
  const { status = 200, headers = {}, body = '', reason } = answer
  if (reason === undefined) response.writeHead(status, headers)
  else response.writeHead(status, reason, headers)
  response.end(body)
})

/** Calls a tool with these parts against an upstream that answers so. */
function get(
  next: typeof answer,
  parts: Partial<Parameters<typeof callable>[0]> = {},
  setup: Parameters<typeof callable>[1] = {},
) {
  answer = next
  return callable({ endpoint: `${target.origin}/path`, ...parts }, setup)()
}

const JSON_TYPE = { 'content-type': 'application/json' }

test('without a template the body is the text as it is', async () => {
  const body = '{ "id" : 12345678901234567890,  "s": "é" }'
  const outcome = await get({ headers: JSON_TYPE, body })
  assert.deepEqual(outcome, { result: { content: [{ type: 'text', text: body }] }, upstreamStatus: 200 })
})

test('responseBody combines data, body, status, headers and arguments', async () => {
  const outcome = await get(
    {
      status: 201,
      headers: { ...JSON_TYPE, 'x-count': '7' },
      body: '{"id":12345678901234567890,"list":[1,{"a":null}]}',
    },
    {
      responseBody:
        '{{.Response.Data.id}} {{.Response.Data.list}} {{.Response.Status}} {{index .Response.Headers "X-Count"}} {{.Response.Body}}',
    },
  )
  assert.equal(
    text(outcome),
    '12345678901234567890 [1,{"a":null}] 201 7 {"id":12345678901234567890,"list":[1,{"a":null}]}',
  )
})

test('a template that reads .Response.Data of an answer that is not JSON says so', async () => {
  const outcome = await get(
    { headers: { 'content-type': 'text/html' }, body: '<p>no</p>' },
    { responseBody: 'id {{.Response.Data.id}}' },
  )
  assert.equal(outcome.failure, 'template')
  assert.equal(outcome.upstreamStatus, 200)
  assert.match(
    text(outcome),
    /The response of the upstream \(200, text\/html\) is not JSON, which this tool expects/,
  )
  assert.match(outcome.detail!, /reads \.Response\.Data, but .* \.Response\.Body is the unparsed text/)
})

test('an error whose errorBody fails still says what the upstream said', async () => {
  const outcome = await get(
    { status: 502, headers: { 'content-type': 'text/html' }, body: '<h1>Bad Gateway</h1>' },
    { errorBody: 'Failed: {{.Response.Data.message}}' },
  )
  assert.equal(outcome.failure, 'status')
  assert.match(text(outcome), /answered 502 Bad Gateway:\n<h1>Bad Gateway<\/h1>\n\n.* is not JSON/)
  assert.match(outcome.detail!, /reads \.Response\.Data/)
})

test('an errorBody is for answers of 400 and above: a redirect still names its target', async () => {
  const outcome = await get(
    { status: 302, headers: { location: 'https://other.example/x' } },
    { errorBody: 'Failed: {{.Response.Body}}' },
  )
  assert.match(text(outcome), /answered 302 Found: a redirect to https:\/\/other\.example\/x/)
})

test('an answer that no result can be made of still says that the request was carried out', async () => {
  const outcome = await get(
    { status: 201, headers: JSON_TYPE, body: '{"id":"a b"}' },
    { method: 'POST', responseBody: '{{index .Response.Data.list 3}}' },
  )
  assert.equal(outcome.failure, 'template')
  assert.match(text(outcome), /^POST \S+\/path was carried out and answered 201 Created, but: .*responseBody/)
  assert.match(text(outcome), /\{"id":"a b"\}$/)
  assert.doesNotMatch(text(outcome), /\{\{|line 1/)
  assert.match(outcome.detail!, /at `index \.Response\.Data\.list 3`, line 1, column 3/)
})

test('text is read by its charset', async () => {
  const body = Buffer.from('caf\xe9 \x80', 'latin1')
  const read = async (type: string) => text(await get({ headers: { 'content-type': type }, body }))
  assert.equal(await read('text/plain; charset=windows-1252'), 'café €')
  assert.equal(await read('text/plain; charset="ISO-8859-1"'), 'café €')
  assert.equal(await read('text/plain'), 'caf\ufffd \ufffd')
  assert.equal(await read('text/plain; charset=nonsense'), 'caf\ufffd \ufffd')
  assert.equal(text(await get({ headers: { 'content-type': 'text/plain' }, body: '\ufeffx' })), 'x')
  const json = (charset: string, body: Buffer) =>
    get(
      { headers: { 'content-type': `application/json; charset=${charset}` }, body },
      { responseBody: '{{.Response.Data.a}}' },
    )
  assert.equal(text(await json('iso-8859-1', Buffer.from('{"a":"caf\xe9"}', 'latin1'))), 'café')
  assert.equal(text(await json('iso-8859-1', Buffer.from('{"a":"café"}'))), 'café')
  assert.equal(text(await json('utf-16', Buffer.from('\ufeff{"a":"café"}', 'utf16le'))), 'café')
})

test('image and audio answers become MCP content, with and without responseBody', async () => {
  const body = Buffer.from([0x89, 0x50, 0, 255])
  const data = body.toString('base64')
  for (const responseBody of [undefined, '{{.Response.Body}}', 'x {{.Response.Data.x}}'])
    for (const [type, mimeType] of [
      ['image', 'image/png'],
      ['audio', 'audio/ogg'],
    ] as const) {
      const { result } = await get(
        { headers: { 'content-type': `${mimeType}; x=1` }, body },
        responseBody === undefined ? {} : { responseBody },
      )
      assert.deepEqual(result.content, [{ type, data, mimeType }])
    }
  const { result } = await get(
    { headers: { 'content-type': 'image/png' }, body },
    { responseBody: 'Chart of {{.Response.Status}}' },
  )
  assert.deepEqual(result.content, [
    { type: 'text', text: 'Chart of 200' },
    { type: 'image', data, mimeType: 'image/png' },
  ])
})

test('other binary answers become an embedded resource, text under any name stays text', async () => {
  const body = Buffer.from('%PDF-1.7')
  const { result } = await get({ headers: { 'content-type': 'application/pdf' }, body })
  const resource = {
    uri: `${target.origin}/path`,
    mimeType: 'application/pdf',
    blob: body.toString('base64'),
  }
  assert.deepEqual(result.content, [{ type: 'resource', resource }])
  for (const type of [
    'application/problem+json',
    'application/xml',
    'image/svg+xml'.replace('image', 'application'),
    'text/csv',
    'application/x-ndjson',
  ])
    assert.equal(text(await get({ headers: { 'content-type': type }, body: '{}' })), '{}', type)
  assert.equal(text(await get({ body: 'no type' })), 'no type')
  assert.equal((await get({ body: Buffer.from([0, 1]) })).result.content[0]!.type, 'resource')
})

test('an empty answer says its status, or what responseBody says', async () => {
  assert.equal(text(await get({ status: 204 })), '204 No Content (empty response)')
  assert.equal(
    text(await get({ status: 204 }, { responseBody: 'Done: {{.Response.Status}}{{.Response.Data.x}}' })),
    'Done: 204',
  )
  assert.equal(text(await get({ status: 200, headers: JSON_TYPE })), '200 OK (empty response)')
})

test('HEAD answers with its status and headers', async () => {
  const outcome = await get(
    { headers: { ...JSON_TYPE, 'content-length': '1234', etag: '"x"', 'set-cookie': 'secret=1' } },
    { method: 'HEAD' },
  )
  assert.match(text(outcome), /^200 OK\n.*content-length: 1234.*etag: "x"/s)
  assert.doesNotMatch(text(outcome), /secret/)
})

test('a status of 400 and above is an error with method, URL, status and body', async () => {
  const outcome = await get({
    status: 404,
    headers: { ...JSON_TYPE, 'retry-after': '5', 'set-cookie': 'sid=secret', 'x-internal': 'secret' },
    body: '{"code":12345678901234567890}',
  })
  assert.equal(outcome.failure, 'status')
  assert.equal(outcome.upstreamStatus, 404)
  assert.equal(outcome.result.isError, true)
  assert.equal(
    text(outcome),
    `GET ${target.origin}/path answered 404 Not Found:\n{"code":12345678901234567890}`,
  )
  const { status, headers, body } = outcome.result.structuredContent as never as {
    status: number
    headers: Record<string, string>
    body: never
  }
  assert.equal(status, 404)
  assert.equal(stringify(body), '{"code":12345678901234567890}')
  assert.equal(headers['retry-after'], '5')
  assert.equal(headers['content-type'], 'application/json')
  assert.doesNotMatch(stringify(outcome.result), /secret/)
})

test('errorBody shapes the text of an error', async () => {
  const outcome = await get(
    { status: 409, headers: JSON_TYPE, body: '{"why":"taken"}' },
    { errorBody: 'No ({{.Response.Status}}): {{.Response.Data.why}}', responseBody: 'never' },
  )
  assert.equal(text(outcome), 'No (409): taken')
  assert.equal(outcome.result.isError, true)
})

test('a long error body is cut, binary ones are named, empty ones said', async () => {
  const long = await get({ status: 500, headers: { 'content-type': 'text/plain' }, body: 'x'.repeat(10_000) })
  assert.ok(text(long).length < 4_200)
  assert.match(text(long), /… \(10000 characters in all\)$/)
  assert.match(
    text(await get({ status: 500, headers: { 'content-type': 'image/png' }, body: 'abc' })),
    /with 3 bytes of image\/png\.$/,
  )
  assert.match(text(await get({ status: 503 })), /answered 503 Service Unavailable without a body\.$/)
  assert.match(
    text(await get({ status: 500, headers: JSON_TYPE, body: '<oops>' })),
    /Internal Server Error:\n<oops>$/,
  )
})

test('errors name no secret of the URL', async () => {
  const outcome = await get(
    { status: 401, headers: JSON_TYPE, body: '{}' },
    {
      endpoint: '{{.Config.base}}/bot{{.Config.token}}/{{env "KEY"}}/send?key={{.Config.token}}',
      args: [arg('q', 'query', { default: 'private' })],
    },
    { server: { config: { base: target.origin, token: 'tok-secret' } }, env: { KEY: 'env-secret' } },
  )
  assert.equal(target.last().url, '/bottok-secret/env-secret/send?key=tok-secret&q=private')
  assert.match(text(outcome), new RegExp(`^GET ${target.origin}/bot\\{token\\}/\\{KEY\\}/send answered 401`))
  assert.doesNotMatch(stringify(outcome.result), /secret|private/)
})

const outputSchema = {
  type: 'object',
  properties: { id: { type: 'integer' }, name: { type: 'string' } },
  required: ['id'],
}

test('outputSchema gives structured content beside the text', async () => {
  const body = '{"id":9223372036854775807,"name":"x"}'
  const { result } = await get({ headers: JSON_TYPE, body }, { outputSchema })
  assert.deepEqual(result, { content: [{ type: 'text', text: body }], structuredContent: parse(body) })
})

test('with responseBody the rendered JSON is the structured content', async () => {
  const outcome = await get(
    { headers: JSON_TYPE, body: '{"number":"7"}' },
    { outputSchema, responseBody: '{"id": {{.Response.Data.number}}}' },
  )
  assert.deepEqual(outcome.result.structuredContent, { id: 7 })
})

test('a success without a body is an empty object, where the outputSchema requires nothing', async () => {
  const { result } = await get({ status: 204 }, { outputSchema: { type: 'object' } })
  assert.deepEqual([result.isError, result.structuredContent], [undefined, {}])
  assert.equal(text({ result }), '204 No Content (empty response)')
  const { failure } = await get({ status: 204 }, { outputSchema })
  assert.equal(failure, 'output-schema')
})

test('an answer that does not fit its outputSchema is an error that says where', async () => {
  const wrong = await get({ headers: JSON_TYPE, body: '{"name":5}' }, { outputSchema })
  assert.equal(wrong.failure, 'output-schema')
  assert.equal(wrong.result.structuredContent, undefined)
  assert.equal(
    text(wrong),
    `GET ${target.origin}/path was carried out and answered 200 OK, but: The response does not match the outputSchema of this tool:\n- \`id\` is missing\n- \`name\` must be a string; got an integer\n\n{"name":5}`,
  )
  const list = await get({ headers: JSON_TYPE, body: '[]' }, { outputSchema })
  assert.match(text(list), /\n- the response must be an object; got an array\n/)
  const noJson = await get({ headers: { 'content-type': 'text/plain' }, body: 'hello' }, { outputSchema })
  assert.match(text(noJson), /is not JSON, but this tool declares structured content/)
})

test('an outputSchema that is no object is wrapped as `result`, and so is the answer', async () => {
  const parts = {
    outputSchema: { type: 'array', items: { $ref: '#/$defs/n' }, $defs: { n: { type: 'integer' } } },
  }
  const { result } = await get({ headers: JSON_TYPE, body: '[1,2]' }, parts as never)
  assert.deepEqual(result.structuredContent, { result: [1, 2] })
  const { tools } = compileAll([makeTool({ endpoint: target.origin, ...(parts as object) })])
  assert.equal(tools.list()[0]!.outputSchema!.type, 'object')
  const wrong = await get({ headers: JSON_TYPE, body: '["x"]' }, parts as never)
  assert.equal(wrong.failure, 'output-schema')
  assert.match(text(wrong), /\n- `\[0\]` must be an integer; got a string\n/)
  assert.match(
    text(await get({ headers: JSON_TYPE, body: '{}' }, parts as never)),
    /\n- the response must be an array; got an object\n/,
  )
})

test('an image of a tool with an outputSchema needs a responseBody that makes the structured content', async () => {
  const image = { headers: { 'content-type': 'image/png' }, body: Buffer.from([137, 80, 0]) }
  const without = await get(image, { outputSchema })
  assert.match(
    text(without),
    /but: The response of the upstream \(200 OK, image\/png\) is not JSON, .*\(outputSchema\)\.$/,
  )
  const { result } = await get(image, { outputSchema, responseBody: '{"id": {{.Response.Status}}}' })
  assert.deepEqual(result.structuredContent, { id: 200 })
  assert.deepEqual(
    result.content.map(({ type }) => type),
    ['text', 'image'],
  )
})

test('with an outputSchema the details of an error are in _meta, where no client checks them', async () => {
  const { result } = await get({ status: 400, headers: JSON_TYPE, body: '{"a":1}' }, { outputSchema })
  assert.equal(result.structuredContent, undefined)
  assert.deepEqual((result._meta!['plantgw/error'] as { body: unknown }).body, { a: 1 })
})

test('compressed answers are read, whatever the encoding', async () => {
  const body = Buffer.from('{"a":"é"}')
  for (const [encoding, encoded] of [
    ['gzip', gzipSync(body)],
    ['x-gzip', gzipSync(body)],
    ['br', brotliCompressSync(body)],
    ['deflate', deflateSync(body)],
    ['deflate', deflateRawSync(body)],
    ['gzip, br', brotliCompressSync(gzipSync(body))],
    ['identity', body],
  ] as const)
    assert.equal(
      text(await get({ headers: { ...JSON_TYPE, 'content-encoding': encoding }, body: encoded })),
      '{"a":"é"}',
      encoding,
    )
})

test('the limit of an answer counts what it says, not what it takes on the wire', async () => {
  const body = randomBytes(48 * 1024)
  const encoded = gzipSync(body)
  assert.ok(encoded.length > body.length)
  const headers = { 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' }
  const [fits, not] = await Promise.all(
    [body.length, body.length - 1].map((maxResponseSize) =>
      get({ headers, body: encoded }, { limits: { maxResponseSize } }),
    ),
  )
  assert.equal(fits!.failure, undefined)
  assert.equal(not!.failure, 'too-large')
})

test('what follows encoded data holds up nobody', async () => {
  const body = Buffer.concat([deflateSync('{"a":1}'), Buffer.alloc(1024 * 1024, 7)])
  const outcome = await get({ headers: { ...JSON_TYPE, 'content-encoding': 'deflate' }, body })
  assert.equal(text(outcome), '{"a":1}')
})

test('an answer that explodes when decompressed stops at the limit', async () => {
  const body = gzipSync(Buffer.alloc(1024 * 1024))
  const outcome = await get(
    { headers: { 'content-encoding': 'gzip' }, body },
    { limits: { maxResponseSize: 64 * 1024 } },
  )
  assert.equal(outcome.failure, 'too-large')
  assert.match(text(outcome), /limit of 64 KiB \(maxResponseSize\)/)
})

test('damaged and unknown encodings are errors', async () => {
  for (const none of ['UTF-8', 'none', 'aws-chunked'])
    assert.equal(text(await get({ headers: { 'content-encoding': none }, body: 'plain' })), 'plain')
  assert.match(
    text(await get({ headers: { 'content-encoding': 'gzip' }, body: 'plain' })),
    /not valid gzip data/,
  )
  assert.match(
    text(await get({ headers: { 'content-encoding': 'zstd' }, body: 'plain' })),
    /unsupported content encoding: zstd/,
  )
})

test('only images that model APIs take become image content', async () => {
  const body = Buffer.from([1, 2, 255])
  const kinds: [type: string, body: Buffer | string, content: object][] = [
    ['image/svg+xml; charset=utf-8', '<svg/>', { type: 'text', text: '<svg/>' }],
    ['IMAGE/JPG', body, { type: 'image', data: 'AQL/', mimeType: 'image/jpeg' }],
    ['image/webp', body, { type: 'image', data: 'AQL/', mimeType: 'image/webp' }],
  ]
  for (const type of 'image/tiff image/bmp image/avif image/heic image/x-icon image/svg+xml'.split(' ')) {
    const uri = `${target.origin}/path`
    kinds.push([type, body, { type: 'resource', resource: { uri, mimeType: type, blob: 'AQL/' } }])
  }
  for (const [type, given, content] of kinds) {
    const { result } = await get({ headers: { 'content-type': type }, body: given })
    assert.deepEqual(result.content, [content], type)
  }
})

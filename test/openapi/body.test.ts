import assert from 'node:assert/strict'
import { test } from 'node:test'
import { imported, operation, toolsOf } from './imported.ts'

const POST = { method: 'post' }
const body = (content: object, required = true) => ({ requestBody: { required, content } })
const json = (schema: object, required = true) => body({ 'application/json': { schema } }, required)

test('the properties of a JSON body are arguments', async () => {
  const schema = {
    type: 'object',
    required: ['name', 'id'],
    properties: {
      id: { type: 'integer', readOnly: true },
      name: { type: 'string', description: 'Its name' },
      tags: { type: 'array', items: { type: 'string' } },
      note: { type: 'string', nullable: true },
    },
  }
  const { send, schema: input } = await toolsOf(operation(json(schema), POST))
  assert.deepEqual(Object.keys(input().properties), ['name', 'tags', 'note'])
  assert.deepEqual(input().required, ['name'])
  const { sent, headers, body: text } = await send({ name: 'a"b', tags: ['x'], note: null })
  assert.equal(sent, 'POST https://api.example.com/v1/things')
  assert.deepEqual(headers, { 'Content-Type': 'application/json' })
  assert.equal(text, '{"name":"a\\"b","tags":["x"],"note":null}')
})

test('a body of another form is one argument', async () => {
  const cases: [object, unknown, string][] = [
    [{ type: 'array', items: { type: 'integer' } }, [1, 2], '[1,2]'],
    [{ type: 'string' }, 'a"b', '"a\\"b"'],
    [
      { type: 'object', properties: { 'a b': { type: 'integer' }, $x: { type: 'string' } } },
      { 'a b': 1 },
      '{"a b":1}',
    ],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, { k: 1 }, '{"k":1}'],
    [
      {
        oneOf: [
          { type: 'object', properties: { a: { type: 'string' } } },
          { type: 'array', items: { type: 'string' } },
        ],
      },
      { a: 'x' },
      '{"a":"x"}',
    ],
  ]
  for (const [schema, value, text] of cases) {
    const { send, schema: input } = await toolsOf(operation(json(schema), POST))
    assert.deepEqual(Object.keys(input().properties), ['body'])
    assert.equal((await send({ body: value })).body, text)
  }
  const { send } = await toolsOf(operation(json({ type: 'array', items: { type: 'string' } }, false), POST))
  assert.equal((await send({})).body, undefined)
})

test('the names of a body win over those of parameters', async () => {
  const parameters = ['path', 'query'].map((place) => ({
    name: 'id',
    in: place,
    required: true,
    schema: { type: 'integer' },
  }))
  const { send } = await toolsOf(
    operation(
      { ...json({ type: 'object', properties: { id: { type: 'integer' } } }), parameters },
      { method: 'put', path: '/things/{id}' },
    ),
  )
  const { sent, body: text } = await send({ id: 1, path_id: 2, query_id: 3 })
  assert.equal(sent, 'PUT https://api.example.com/v1/things/2?id=3')
  assert.equal(text, '{"id":1}')
})

test('form-urlencoded, with the styles of its encoding', async () => {
  const schema = {
    type: 'object',
    required: ['a'],
    properties: {
      a: { type: 'string' },
      list: { type: 'array', items: { type: 'string' } },
      map: { type: 'object', properties: { x: { type: 'string' } } },
    },
  }
  const type = 'application/x-www-form-urlencoded'
  const plain = await toolsOf(operation(body({ [type]: { schema } }), POST))
  const args = { a: 'x&y', list: ['1', '2'], map: { x: 'é' } }
  assert.equal((await plain.send(args)).body, 'a=x%26y&list=1&list=2&map=%7B%22x%22%3A%22%C3%A9%22%7D')
  assert.deepEqual((await plain.send(args)).headers, { 'Content-Type': type })
  const encoding = { list: { explode: false }, map: { style: 'deepObject', explode: true } }
  const styled = await toolsOf(operation(body({ [type]: { schema, encoding } }), POST))
  assert.equal((await styled.send(args)).body, 'a=x%26y&list=1,2&map%5Bx%5D=%C3%A9')
  assert.equal((await styled.send({ a: '' })).body, 'a=')
})

test('forms: nested values, lists of objects, and what a list or an object may be instead', async () => {
  const address = {
    type: 'object',
    properties: { city: { type: 'string' }, lines: { type: 'array', items: { type: 'string' } } },
  }
  const schema = {
    type: 'object',
    required: ['items'],
    properties: {
      expand: { type: 'array', items: { type: 'string' } },
      shipping: {
        anyOf: [
          { type: 'object', properties: { address } },
          { type: 'string', enum: [''] },
        ],
      },
      items: {
        type: 'array',
        items: {
          type: 'object',
          properties: { price: { type: 'string' }, taxes: { type: 'array', items: { type: 'string' } } },
        },
      },
      email: { type: 'string' },
      data: { type: 'array', items: { type: 'object', properties: { a: { type: 'integer' } } } },
    },
  }
  const deep = { style: 'deepObject', explode: true }
  const encoding = { expand: deep, shipping: deep, items: deep }
  const type = 'application/x-www-form-urlencoded'
  const { send, leftOut } = await toolsOf(
    operation(body({ [type]: { schema, encoding } }), { ...POST, path: '/things/{id}' }),
  )
  assert.deepEqual(leftOut, [])
  const full = {
    id: '1',
    items: [{ price: 'p', taxes: ['t'] }, { price: 'q&r=s' }],
    shipping: { address: { city: 'Köln', lines: ['1', '2'] } },
    expand: ['customer'],
    email: 'a@b',
    data: [{ a: 1 }, { a: 2 }],
  }
  const sent = (await send(full)).body!
  assert.equal(
    decodeURIComponent(sent),
    'expand[]=customer&shipping[address][city]=Köln&shipping[address][lines][]=1&shipping[address][lines][]=2&' +
      'items[0][price]=p&items[0][taxes][]=t&items[1][price]=q&r=s&email=a@b&data={"a":1}&data={"a":2}',
  )
  assert.equal(new URLSearchParams(sent).get('items[1][price]'), 'q&r=s')
  assert.equal((await send({ id: '1', items: [], shipping: '' })).body, 'shipping=')
  assert.equal((await send({ id: '1', items: [] })).body, '')
})

test('multipart: texts, JSON and files', async () => {
  const schema = {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string', format: 'binary' },
      more: { type: 'array', items: { type: 'string', format: 'binary' } },
      note: { type: 'string', maxLength: 9 },
      meta: { type: 'object', properties: { a: { type: 'integer' } } },
      'bad name': { type: 'string' },
      odd: { type: 'string' },
    },
  }
  const encoding = { odd: { contentType: 'image/svg+xml' } }
  const { send, leftOut } = await toolsOf(
    operation(body({ 'multipart/form-data': { schema, encoding } }), POST),
  )
  assert.deepEqual(
    leftOut.map(({ what }) => what),
    ['the field bad name', 'the field odd'],
  )
  const text = (
    await send({
      file: { data: 'aGk=', contentType: 'image/png' },
      more: ['data:text/plain;base64,eW8='],
      note: 'n',
      meta: { a: 1 },
    })
  ).body!
  assert.match(text, /name="file"; filename="file"\r\nContent-Type: image\/png\r\n\r\nhi\r\n/)
  assert.match(text, /name="more"; filename="more"\r\nContent-Type: text\/plain\r\n\r\nyo\r\n/)
  assert.match(text, /name="note"\r\n\r\nn\r\n/)
  assert.match(text, /name="meta"\r\nContent-Type: application\/json\r\n\r\n\{"a":1\}\r\n/)
})

test('multipart: an array that is to be one part is a text, and one of many parts a list', async () => {
  const tags = { in: 'formData', type: 'array', items: { type: 'string' } }
  const upload = {
    operationId: 'op',
    consumes: ['multipart/form-data'],
    parameters: [
      { name: 'file', in: 'formData', type: 'file', required: true },
      { ...tags, name: 'tags', description: 'Tags of it.' },
      { ...tags, name: 'labels', collectionFormat: 'multi' },
    ],
  }
  const old = {
    swagger: '2.0',
    info: { title: 'Shop', version: '1' },
    host: 'api.example.com',
    paths: { '/things': { post: upload } },
  }
  const { send, schema } = await toolsOf(old)
  assert.deepEqual(schema().properties.tags, {
    type: 'string',
    description: 'Tags of it. Several are separated by commas',
  })
  const text = (await send({ file: 'x', tags: 'a,b', labels: ['c', 'd'] })).body!
  assert.match(text, /name="tags"\r\n\r\na,b\r\n/)
  assert.match(text, /name="labels"\r\n\r\nc\r\n.*name="labels"\r\n\r\nd\r\n/s)
})

test('JSON goes before other forms; text and types with +json are sent as such', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const both = await toolsOf(
    operation(body({ 'multipart/form-data': { schema }, 'application/json': { schema } }), POST),
  )
  assert.equal((await both.send({ a: 'x' })).body, '{"a":"x"}')
  const patch = await toolsOf(
    operation(body({ 'application/merge-patch+json': { schema } }), { method: 'patch' }),
  )
  assert.equal((await patch.send({ a: 'x' })).headers!['Content-Type'], 'application/merge-patch+json')
  const text = await toolsOf(operation(body({ 'text/plain': { schema: { type: 'string' } } }), POST))
  assert.deepEqual(await text.send({ body: 'a "b"\n{{c}}' }), {
    sent: 'POST https://api.example.com/v1/things',
    headers: { 'Content-Type': 'text/plain' },
    body: 'a "b"\n{{c}}',
  })
  const untyped = { type: [], enum: [false], anyOf: [{ type: 'number' }] }
  const words = await toolsOf(operation(body({ 'text/plain': { schema: untyped } }), POST))
  assert.equal((await words.send({ body: 'yes' })).body, 'yes')
})

test('a body that cannot be sent skips what brings something, and is left out of the rest', () => {
  const xml = { 'multipart/mixed': { schema: { type: 'string' } } }
  for (const method of ['post', 'put', 'patch']) {
    const { skipped } = imported(operation(body(xml, false), { method }))
    assert.equal(skipped[0]!.reason, 'its body is multipart/mixed')
  }
  const { leftOut, imported: count } = imported(operation(body(xml, false), { method: 'delete' }))
  assert.deepEqual([count, leftOut[0]!.what], [1, 'the body'])
  const get = imported(operation(json({ type: 'object', properties: { a: { type: 'string' } } })))
  assert.equal(get.skipped[0]!.reason, 'the gateway sends no body with GET')
  const empty = imported(operation(json({ type: 'object', properties: {} }, false)))
  assert.deepEqual([empty.imported, empty.leftOut], [1, []])
})

test('a required JSON body without described members is one argument, in Swagger 2.0 too', async () => {
  const schema = { type: 'object', properties: {} }
  const old = {
    swagger: '2.0',
    info: { title: 'Shop', version: '1' },
    host: 'api.example.com',
    basePath: '/v1',
    paths: {
      '/things': {
        post: {
          ...{ operationId: 'op', summary: 'Does something' },
          parameters: [{ name: 'given', in: 'body', required: true, schema }],
        },
      },
    },
  }
  for (const given of [operation(json(schema), POST), old]) {
    const { send } = await toolsOf(given)
    assert.equal((await send({ body: { a: 1 } })).body, '{"a":1}')
    assert.match((await send({})).error!, /`body` is missing/)
  }
  const optional = await toolsOf(operation(json(schema, false), POST))
  assert.equal((await optional.send({})).body, undefined)
})

test('a body of bytes is one argument in Base64, sent as the bytes', async () => {
  for (const [type, sent] of [
    ['application/octet-stream', 'application/octet-stream'],
    ['image/*', 'application/octet-stream'],
    ['application/cbor', 'application/cbor'],
  ] as const) {
    const { send, schema } = await toolsOf(
      operation(body({ [type]: { schema: { format: 'binary' } } }), POST),
    )
    assert.equal(schema().properties.body!.description, `The body as ${type}, in Base64`)
    assert.deepEqual(await send({ body: 'YWI=' }), {
      sent: 'POST https://api.example.com/v1/things',
      headers: { 'Content-Type': sent },
      body: 'ab',
    })
    assert.match((await send({ body: 'a b!' })).error!, /must be base64/)
  }
})

test('XML and other languages of text are one argument, sent as it is', async () => {
  const order = { type: 'object', properties: { id: { type: 'integer' } } }
  const example = '<order>\n  <id>1</id>\n</order>'
  const xml = { 'application/xml; charset=utf-8': { schema: order, example } }
  const { send, schema } = await toolsOf(operation(body(xml), POST))
  assert.deepEqual(schema().properties.body, {
    type: 'string',
    description: 'The body as application/xml, for example <order> <id>1</id> </order>',
  })
  assert.deepEqual(await send({ body: '<order a="1">&amp;{{x}}</order>' }), {
    sent: 'POST https://api.example.com/v1/things',
    headers: { 'Content-Type': 'application/xml; charset=utf-8' },
    body: '<order a="1">&amp;{{x}}</order>',
  })
  for (const type of ['application/soap+xml', 'text/csv', 'application/x-ndjson', 'application/yaml']) {
    const made = await toolsOf(operation(body({ [type]: { schema: order } }), POST))
    assert.deepEqual((await made.send({ body: 'a,b' })).headers, { 'Content-Type': type })
  }
  // What can be sent in another form is.
  const both = await toolsOf(operation(body({ ...xml, 'application/json': { schema: order } }), POST))
  assert.equal((await both.send({ id: 1 })).body, '{"id":1}')
})

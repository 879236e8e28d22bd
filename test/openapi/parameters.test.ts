import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findings, imported, operation, toolsOf } from './imported.ts'

const LIST = { type: 'array', items: { type: 'string' } }
const MAP = { type: 'object', properties: { R: { type: 'integer' }, G: { type: 'integer' } } }
const BASE = 'GET https://api.example.com/v1'

const QUERY: [name: string, parameter: object, value: unknown, query: string][] = [
  ['a text', { schema: { type: 'string' } }, 'a&b=c', '?p=a%26b%3Dc'],
  ['false', { schema: { type: 'boolean' } }, false, '?p=false'],
  ['nothing', { schema: { type: 'string' } }, undefined, ''],
  ['form, exploded by itself', { schema: LIST }, ['a', 'b,c'], '?p=a&p=b%2Cc'],
  ['form', { explode: false, schema: LIST }, ['a', 'b,c'], '?p=a,b%2Cc'],
  ['form without items', { explode: false, schema: LIST }, [], ''],
  ['spaceDelimited', { style: 'spaceDelimited', explode: false, schema: LIST }, ['a', 'b'], '?p=a%20b'],
  ['pipeDelimited', { style: 'pipeDelimited', explode: false, schema: LIST }, ['a', 'b'], '?p=a%7Cb'],
  [
    'spaceDelimited, exploded',
    { style: 'spaceDelimited', explode: true, schema: LIST },
    ['a', 'b'],
    '?p=a&p=b',
  ],
  ['an object in form', { schema: MAP }, { R: 1, G: 2 }, '?R=1&G=2'],
  ['an object in form, not exploded', { explode: false, schema: MAP }, { R: 1, G: 2 }, '?p=R,1,G,2'],
  [
    'deepObject',
    { style: 'deepObject', explode: true, schema: MAP },
    { R: 1, G: 2 },
    '?p%5BR%5D=1&p%5BG%5D=2',
  ],
  ['JSON', { content: { 'application/json': { schema: MAP } } }, { R: 1 }, '?p=%7B%22R%22%3A1%7D'],
  ['JSON of a text', { content: { 'application/json': { schema: { type: 'string' } } } }, 'a', '?p=%22a%22'],
]

for (const [name, parameter, value, query] of QUERY)
  test(`query: ${name}`, async () => {
    const { send, leftOut } = await toolsOf(
      operation({ parameters: [{ name: 'p', in: 'query', description: 'A value', ...parameter }] }),
    )
    assert.deepEqual(leftOut, [])
    assert.equal((await send(value === undefined ? {} : { p: value })).sent, `${BASE}/things${query}`)
  })

const PATH: [name: string, parameter: object, value: unknown, path: string][] = [
  ['simple', { schema: { type: 'string' } }, 'a?b', 'a%3Fb'],
  ['example with a slash', { example: 'x/y', schema: { type: 'string' } }, 'a/b', 'a%2Fb'],
  ['value with a slash', { schema: { type: 'string', enum: ['c', 'a/b'] } }, 'a/b', 'a%2Fb'],
  ['simple list', { schema: LIST }, ['a', 'b c'], 'a,b%20c'],
  ['list with a slash', { examples: { x: { value: ['x/y'] } }, schema: LIST }, ['a', 'b/c'], 'a,b%2Fc'],
  ['simple object', { schema: MAP }, { R: 1, G: 2 }, 'R,1,G,2'],
  ['simple object, exploded', { explode: true, schema: MAP }, { R: 1, G: 2 }, 'R=1,G=2'],
  ['label', { style: 'label', schema: { type: 'integer' } }, 5, '.5'],
  ['label list', { style: 'label', schema: LIST }, ['a', 'b'], '.a,b'],
  ['label list, exploded', { style: 'label', explode: true, schema: LIST }, ['a', 'b'], '.a.b'],
  ['matrix', { style: 'matrix', schema: { type: 'integer' } }, 5, ';p=5'],
  ['matrix list', { style: 'matrix', schema: LIST }, ['a', 'b'], ';p=a,b'],
  ['matrix list, exploded', { style: 'matrix', explode: true, schema: LIST }, ['a', 'b'], ';p=a;p=b'],
  ['matrix object, exploded', { style: 'matrix', explode: true, schema: MAP }, { R: 1, G: 2 }, ';R=1;G=2'],
]

for (const [name, parameter, value, path] of PATH)
  test(`path: ${name}`, async () => {
    const parameters = [{ name: 'p', in: 'path', required: true, description: 'A value', ...parameter }]
    const { send } = await toolsOf(operation({ parameters }, { path: '/x/{p}/y' }))
    assert.equal((await send({ p: value })).sent, `${BASE}/x/${path}/y`)
  })

test('headers and cookies', async () => {
  const { send } = await toolsOf(
    operation({
      parameters: [
        { name: 'X-One', in: 'header', schema: { type: 'integer' } },
        { name: 'X-List', in: 'header', schema: LIST },
        { name: 'X-Map', in: 'header', explode: true, schema: MAP },
        { name: 'one', in: 'cookie', schema: { type: 'string' } },
        { name: 'list', in: 'cookie', explode: false, schema: LIST },
        { name: 'Accept', in: 'header', schema: { type: 'string' } },
        { name: 'Content-Length', in: 'header', required: true, schema: { type: 'integer' } },
      ],
    }),
  )
  const args = { 'X-One': 5, 'X-List': ['a', 'b'], 'X-Map': { R: 1 }, one: 'a; b=c d', list: ['x', 'y'] }
  assert.deepEqual((await send(args)).headers, {
    'X-One': '5',
    'X-List': 'a,b',
    'X-Map': 'R=1',
    Cookie: 'one=a%3B%20b=c%20d; list=x,y',
  })
  assert.deepEqual((await send({ list: ['x'] })).headers, { Cookie: 'list=x' })
  assert.deepEqual((await send({})).headers, {})
})

test('names that no model provider takes, and names that stand twice', async () => {
  const text = (name: string, place: string, required = false) => ({
    name,
    in: place,
    required,
    schema: { type: 'string' },
  })
  const { send, schema } = await toolsOf(
    operation(
      {
        parameters: [
          text('filter[name]', 'query'),
          text('$top', 'query'),
          text('id', 'query'),
          text('id', 'path', true),
          text('id', 'header'),
          { name: 'ids[]', in: 'query', schema: LIST },
        ],
      },
      { path: '/x/{id}' },
    ),
  )
  assert.deepEqual(Object.keys(schema().properties), 'path_id filter_name top id ids header_id'.split(' '))
  const args = { filter_name: 'a', top: '2', id: '3', path_id: '4', header_id: '5', ids: ['6', '7'] }
  const { sent, headers } = await send(args)
  assert.equal(sent, `${BASE}/x/4?filter%5Bname%5D=a&%24top=2&id=3&ids%5B%5D=6&ids%5B%5D=7`)
  assert.deepEqual(headers, { id: '5' })
})

test('what no style defines is left out, or skips the operation where it is required', async () => {
  const nested = { name: 'p', in: 'query', schema: { type: 'array', items: { type: 'object' } } }
  const other = { name: 'q', in: 'query', schema: { type: 'string' } }
  const { leftOut, send } = await toolsOf(operation({ parameters: [nested, other] }))
  assert.deepEqual(leftOut, [
    {
      operation: 'GET /things',
      what: 'the query parameter p',
      reason: 'no OpenAPI style defines how to write such a value there',
    },
  ])
  assert.match((await send({ p: [] })).error!, /`p` is not an argument/)
  const { skipped } = imported(operation({ parameters: [{ ...nested, required: true }] }))
  assert.equal(skipped.length, 1)
})

test('nested values of a deepObject are pairs with brackets', async () => {
  const deep = (name: string, schema: object) => ({
    name,
    in: 'query',
    style: 'deepObject',
    explode: true,
    schema,
  })
  const range = {
    type: 'object',
    properties: { gt: { type: 'integer' }, lt: { type: 'integer', nullable: true } },
  }
  const made = await toolsOf(
    operation({
      parameters: [
        deep('d', {
          type: 'object',
          properties: { a: { type: 'string' }, b: { type: 'array', items: range } },
        }),
        deep('created', { anyOf: [range, { type: 'integer' }] }),
        deep('expand', LIST),
        { name: 'limit', in: 'query', schema: { type: 'integer' } },
      ],
    }),
  )
  assert.deepEqual(made.leftOut, [])
  const path = async (args: object) => (await made.send(args)).sent?.slice(`${BASE}/things`.length)
  assert.equal(
    await path({
      d: { a: '&x=1', b: [{ gt: 1 }, { lt: 2 }] },
      created: { gt: 7 },
      expand: ['p', 'q'],
      limit: 3,
    }),
    '?d%5Ba%5D=%26x%3D1&d%5Bb%5D%5B0%5D%5Bgt%5D=1&d%5Bb%5D%5B1%5D%5Blt%5D=2&created%5Bgt%5D=7&expand%5B%5D=p&expand%5B%5D=q&limit=3',
  )
  assert.equal(await path({ created: 5 }), '?created=5')
  assert.equal(await path({ limit: 3 }), '?limit=3')
  assert.equal(await path({}), '')
  // No pair says null.
  assert.match((await made.send({ d: { b: [{ lt: null }] } })).error!, /must be an integer/)
})

test('several parts that need not be there are joined by one &', async () => {
  const list = (name: string) => ({ name, in: 'query', explode: false, schema: LIST })
  const { send } = await toolsOf(operation({ parameters: ['a', 'b', 'c'].map(list) }))
  for (const [args, query] of [
    [{}, ''],
    [{ b: ['x'] }, '?b=x'],
    [{ a: ['x', 'y'], c: ['z'] }, '?a=x,y&c=z'],
    [{ a: ['1'], b: ['2'], c: ['3'] }, '?a=1&b=2&c=3'],
  ] as const)
    assert.equal((await send(args)).sent, `${BASE}/things${query}`)
})

test('a path parameter that is not described is a text; one that the path lacks skips', async () => {
  const { send } = await toolsOf(operation({}, { path: '/x/{user id}:run' }))
  assert.equal((await send({ user_id: 'a b' })).sent, `${BASE}/x/a%20b:run`)
  const { skipped } = imported(
    operation({ parameters: [{ name: 'p', in: 'path', required: true, schema: {} }] }),
  )
  assert.match(skipped[0]!.reason, /its path does not contain the parameter p/)
})

test('Swagger 2.0: collectionFormat, formData, consumes, host', async () => {
  const list = (name: string, collectionFormat: string) => ({
    name,
    in: 'query',
    type: 'array',
    items: { type: 'string' },
    collectionFormat,
  })
  const { send } = await toolsOf({
    swagger: '2.0',
    info: { title: 'Old', version: '1' },
    host: 'old.example.com',
    basePath: '/api/',
    schemes: ['http', 'https'],
    parameters: { Limit: { name: 'limit', in: 'query', type: 'integer', default: 10 } },
    paths: {
      '/a': {
        get: {
          operationId: 'op',
          summary: 'Does something',
          parameters: [
            { $ref: '#/parameters/Limit' },
            ...['csv', 'ssv', 'tsv', 'pipes', 'multi'].map((format) => list(format, format)),
          ],
        },
        post: {
          operationId: 'post',
          summary: 'Posts',
          consumes: ['application/x-www-form-urlencoded'],
          parameters: [
            { name: 'a', in: 'formData', type: 'string', required: true },
            { name: 'b', in: 'formData', type: 'array', items: { type: 'string' } },
          ],
        },
        delete: {
          operationId: 'delete',
          summary: 'Deletes',
          parameters: ['ssv', 'tsv', 'pipes'].map((format) => ({ ...list(format, format), in: 'header' })),
        },
        put: {
          operationId: 'put',
          summary: 'Puts',
          parameters: [{ name: 'file', in: 'formData', type: 'file', required: true }],
        },
      },
      '/{ssv}/{tsv}/{pipes}': {
        get: {
          operationId: 'path',
          summary: 'Gets one',
          parameters: ['ssv', 'tsv', 'pipes'].map((format) => ({
            ...list(format, format),
            in: 'path',
            required: true,
          })),
        },
      },
    },
  })
  const ab = ['a', 'b']
  assert.equal(
    (await send({ limit: 5, csv: ab, ssv: ab, tsv: ab, pipes: ab, multi: ab })).sent,
    'GET https://old.example.com/api/a?tsv=a%09b&limit=5&csv=a,b&ssv=a%20b&pipes=a%7Cb&multi=a&multi=b',
  )
  const delimited = { ssv: ab, tsv: ab, pipes: ab }
  assert.equal((await send(delimited, 'path')).sent, 'GET https://old.example.com/api/a%20b/a%09b/a%7Cb')
  assert.deepEqual((await send(delimited, 'delete')).headers, { ssv: 'a b', tsv: 'a\tb', pipes: 'a|b' })
  assert.equal((await send({ a: 'x y', b: ab }, 'post')).body, 'a=x%20y&b=a,b')
  assert.match(
    (await send({ file: { data: 'aGk=', filename: 'a.txt' } }, 'put')).body!,
    /name="file"; filename="a.txt"/,
  )
})

test('a default of a type that the place cannot take is not told', async () => {
  const made = imported(
    operation(
      {
        parameters: [
          { name: 'a', in: 'query', schema: { default: 0 } },
          { name: 'b', in: 'path', schema: { type: ['array', 'string'], default: ['x'] } },
        ],
      },
      { path: '/{b}' },
    ),
  )
  assert.equal(made.imported, 1)
  assert.deepEqual(await findings(made), [], made.configurations[0]?.text)
})

test('of values that an enumeration allows, those of a type that cannot be sent are left out', async () => {
  const schema = { type: ['integer', 'array'], anyOf: [{ enum: [0] }] }
  const { send, schema: made } = await toolsOf(
    operation({ parameters: [{ name: 'q', in: 'query', schema }] }, { openapi: '3.1.0' }),
  )
  assert.deepEqual(made().properties.q!.enum, [0])
  assert.equal((await send({ q: 0 })).sent, 'GET https://api.example.com/v1/things?q=0')
})

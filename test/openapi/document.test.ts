import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importOpenApi, readOthers } from '../../src/openapi/index.ts'
import { document, findings, imported, operation, toolsOf } from './imported.ts'

test('security: headers, query and cookies from the environment, nothing where it is not set', async () => {
  const securitySchemes = {
    bearer: { type: 'http', scheme: 'Bearer' },
    basic: { type: 'http', scheme: 'basic' },
    oauth: { type: 'oauth2', flows: {} },
    header: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
    query: { type: 'apiKey', in: 'query', name: 'api key' },
    cookie: { type: 'apiKey', in: 'cookie', name: 'session' },
    digest: { type: 'http', scheme: 'digest' },
    tls: { type: 'mutualTLS' },
  }
  const path = (id: string, security: object[], parameters: object[] = []) => ({
    get: { operationId: id, summary: id, security, parameters },
  })
  const given = document(
    {
      '/bearer': path('bearer', [{ bearer: [] }]),
      '/basic': path('basic', [{ basic: [] }]),
      '/oauth': path('oauth', [{}, { oauth: ['read'] }]),
      '/all': path(
        'all',
        [{ header: [], query: [], cookie: [] }],
        [{ name: 'q', in: 'query', schema: { type: 'string' } }],
      ),
      '/none': path('none', []),
      '/second': path('second', [{ digest: [] }, { header: [] }]),
      '/tls': path('tls', [{ tls: [] }, { unknown: [] }]),
      '/own': { get: { operationId: 'own', summary: 'own' } },
    },
    { components: { securitySchemes }, security: [{ bearer: [] }] },
  )
  const env = {
    SHOP_BEARER: 't1',
    SHOP_BASIC_USER: 'u',
    SHOP_BASIC_PASSWORD: 'p',
    SHOP_OAUTH: 't2',
    SHOP_HEADER: 'h',
    SHOP_QUERY: 'q&',
    SHOP_COOKIE: 'c;d',
  }
  const set = await toolsOf(given, {}, env)
  assert.deepEqual((await set.send({}, 'bearer')).headers, { Authorization: 'Bearer t1' })
  assert.deepEqual((await set.send({}, 'own')).headers, { Authorization: 'Bearer t1' })
  assert.deepEqual((await set.send({}, 'basic')).headers, { Authorization: `Basic ${btoa('u:p')}` })
  assert.deepEqual((await set.send({}, 'oauth')).headers, { Authorization: 'Bearer t2' })
  assert.deepEqual((await set.send({}, 'second')).headers, { 'X-API-Key': 'h' })
  assert.deepEqual((await set.send({}, 'none')).headers, {})
  assert.deepEqual(await set.send({ q: '1' }, 'all'), {
    sent: 'GET https://api.example.com/v1/all?api%20key=q%26&q=1',
    headers: { 'X-API-Key': 'h', Cookie: 'session=c%3Bd' },
    body: undefined,
  })
  assert.deepEqual(set.leftOut, [
    {
      operation: 'GET /tls',
      what: 'authentication',
      reason: 'authentication of type mutualTLS cannot be configured',
    },
  ])
  const headers = { authorization: 'Token {{env "MINE" "m"}}' }
  assert.deepEqual((await (await toolsOf(given, { headers }, env)).send({}, 'bearer')).headers, {
    authorization: 'Token m',
  })
  const unset = await toolsOf(given)
  for (const name of ['bearer', 'basic', 'oauth', 'all', 'second'])
    assert.deepEqual((await unset.send({}, name)).headers, {}, name)
  assert.equal((await unset.send({}, 'all')).sent, 'GET https://api.example.com/v1/all')
})

test('servers: variables, relative ones, https before http, those of an operation', async () => {
  const sent = async (servers: object[], options = {}, env = {}) =>
    (await (await toolsOf(operation({}, { servers }), options, env)).send({})).sent
  const variables = { region: { default: 'eu' }, version: { default: 'v2', enum: ['v1', 'v2'] } }
  const variable = [{ url: 'https://{region}.example.com/{version}/', variables }]
  assert.equal(await sent(variable), 'GET https://eu.example.com/v2/things')
  assert.equal(await sent(variable, {}, { SHOP_SERVER_REGION: 'us' }), 'GET https://us.example.com/v2/things')
  assert.equal(await sent([{ url: '/v3' }]), 'GET http://localhost/v3/things')
  assert.equal(await sent([{ url: '../v3/' }]), 'GET http://localhost/v3/things')
  assert.equal(
    await sent([{ url: '/v3' }], {}, { SHOP_URL: 'https://x.example.com' }),
    'GET https://x.example.com/v3/things',
  )
  assert.equal(
    await sent([{ url: '../v3' }], { base: 'https://h.example.com/a/b/openapi.json' }),
    'GET https://h.example.com/a/v3/things',
  )
  assert.equal(
    await sent([], { base: 'https://h.example.com/a/openapi.json' }),
    'GET https://h.example.com/things',
  )
  assert.equal(
    await sent([{ url: 'http://a.example.com' }, { url: 'https://a.example.com' }]),
    'GET https://a.example.com/things',
  )
  assert.equal(await sent([{ url: 'http://api.shop.com' }]), 'GET http://api.shop.com/things')
  assert.equal(await sent([{ url: 'http://10.0.0.1/x' }]), 'GET http://10.0.0.1/x/things')
  assert.equal(
    await sent([{ url: 'ftp://x' }, { url: 'https://ok.example.com' }]),
    'GET https://ok.example.com/things',
  )
  assert.equal(
    await sent([{ url: 'https://x/{y}' }], { server: 'https://own.example.com/z/' }),
    'GET https://own.example.com/z/things',
  )
  const { skipped } = imported(operation({}, { servers: [{ url: 'https://{tenant}.example.com' }] }))
  assert.match(skipped[0]!.reason, /leaves \{tenant\} open: give one by --server/)
  const own = operation({ servers: [{ url: 'https://upload.example.com' }] })
  assert.equal((await (await toolsOf(own)).send({})).sent, 'GET https://upload.example.com/things')
})

test('tool names: valid, unique, short enough with the name of the server before them', async () => {
  const get = (operationId: string | undefined) => ({ get: { operationId, summary: 'x' } })
  const { list } = await toolsOf(
    document({
      '/a': get('repos/list for:org'),
      '/b': get('repos_list_for_org'),
      '/c': get('Repos_List_For_Org'),
      '/d/{id}/e': get(undefined),
      '/f': get('ünïcode.näme'),
      '/g': get('???'),
      '/h': get('x'.repeat(200)),
      '/i': get(`${'x'.repeat(199)}y`),
    }),
  )
  const names = list().map(({ name }) => name)
  assert.deepEqual(
    names.slice(0, 6),
    (
      'repos_list_for_org repos_list_for_org_2 Repos_List_For_Org_3 get_d_by_id_e unicode_name ' + 'get_g'
    ).split(' '),
  )
  assert.equal(new Set(names).size, 8)
  for (const name of names) assert.ok(`shop__${name}`.length <= 64)
})

test('methods: what reads is told to read, what cannot be called is skipped', async () => {
  const methods = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete', 'trace']
  const item = Object.fromEntries(
    methods.map((method) => [method, { operationId: method, summary: method, deprecated: method === 'put' }]),
  )
  const { list, skipped } = await toolsOf(document({ '/a': item }))
  const reading = list()
    .filter(({ annotations }) => annotations?.readOnlyHint === true)
    .map(({ name }) => name)
  assert.deepEqual(reading.sort(), ['get', 'head', 'options'])
  const { annotations, description } = list().find(({ name }) => name === 'put')!
  assert.deepEqual(annotations, { destructiveHint: true, idempotentHint: true })
  assert.equal(description, 'Deprecated. put')
  assert.deepEqual(skipped, [{ operation: 'TRACE /a', reason: 'the method TRACE cannot be called' }])
})

const many = (tags: string[], each: number) =>
  document(
    Object.fromEntries(
      tags.flatMap((tag) =>
        Array.from({ length: each }, (_, i) => [
          `/${tag}/${i}`,
          { get: { operationId: `${tag}${i}`, tags: [tag], summary: 'Long words '.repeat(40) } },
        ]),
      ),
    ),
  )

test('more tools than a model can afford come to a configuration for each tag', async () => {
  const made = imported(many(['Cats', 'Dogs & more', 'Birds'], 60))
  assert.deepEqual(
    made.configurations.map(({ name, prefix }) => [name, prefix]),
    [
      ['shop-cats', '/shop/cats'],
      ['shop-dogs-more', '/shop/dogs-more'],
      ['shop-birds', '/shop/birds'],
    ],
  )
  assert.deepEqual(await findings(made), [])
  const large = imported(many(['Cats'], 200), { name: 'zoo', prefix: '/api/zoo/' })
  assert.deepEqual(
    large.configurations.map(({ prefix }) => prefix),
    ['/api/zoo/cats', '/api/zoo/cats-2', '/api/zoo/cats-3'],
  )
  assert.deepEqual(await findings(large), [])
  const odd = imported(many(['Message', 'SSE'], 60))
  assert.deepEqual(
    odd.configurations.map(({ prefix }) => prefix),
    ['/shop/message-tools', '/shop/sse-tools'],
  )
  assert.deepEqual(await findings(odd), [])
  const small = imported(many(['a-x', 'a-y', 'b'], 40), { listSize: 40_000 })
  assert.deepEqual(
    small.configurations.map(({ name, tools }) => [name, tools.length]),
    [
      ['shop-a', 80],
      ['shop-b', 40],
    ],
  )
})

test('operations are chosen by tag, identifier and path', () => {
  const given = many(['cats', 'dogs'], 5)
  const ids = (options: object) => imported(given, options).configurations.flatMap(({ tools }) => tools)
  assert.equal(ids({ tags: ['CATS'] }).length, 5)
  assert.deepEqual(ids({ include: [/^cats[12]$/] }), ['cats1', 'cats2'])
  assert.deepEqual(ids({ include: [/\/dogs\//], exclude: [/[0-3]$/] }), ['dogs4'])
  const { operations, notSelected, imported: count } = imported(given, { exclude: [/^GET /] })
  assert.deepEqual([operations, notSelected, count], [10, 10, 0])
})

test('what is not an OpenAPI document is reported, with its place if it is not JSON or YAML', () => {
  const fault = (text: string) => importOpenApi({ file: 'x', text })
  const faults: [string, RegExp][] = [
    ['', /not an object/],
    ['[]', /not an object/],
    ['a: 1', /neither `openapi` nor `swagger`/],
    ['swaggerVersion: "1.2"', /Swagger 1/],
    ['asyncapi: 2.0.0', /AsyncAPI/],
    ['openapi: 4.0.0\npaths: {}', /OpenAPI 4.0.0/],
    ['openapi: 3.1.0', /no `paths`/],
    ['swagger: "2.0"', /no `paths`/],
  ]
  for (const [text, expected] of faults) assert.match(fault(text).fault!, expected)
  const place = (text: string) =>
    fault(text).findings!.map(({ range }) => [range!.start.line, range!.start.column])
  assert.deepEqual(place('{"openapi": "3.0.0",\n "paths": {"/a" {}}}')[0], [2, 17])
  assert.deepEqual(place('openapi: 3.0.0\npaths:\n  a: [1\n')[0]![0], 4)
  assert.deepEqual(place('{"openapi": "3.0.0"')[0], [1, 20])
})

test('YAML, a byte order mark, and versions of one number', () => {
  for (const text of [
    '\uFEFFopenapi: 3.1.0\npaths: {/a: {get: {}}}',
    'swagger: 2.0\npaths: {/a: {get: {}}}',
    '{openapi: 3.2.0, paths: {/a: {get: {}}}}',
  ])
    assert.equal(imported(text).imported, 1)
})

test('anchors of YAML that lead in a circle, and names and words without end', async () => {
  const circle =
    'openapi: 3.1.0\npaths: {/a: {post: {operationId: op, summary: x, requestBody: {content: {application/json: {schema: &s {type: object, properties: {n: *s}, allOf: [*s]}}}}}}}'
  assert.equal(imported(circle).operations, 1)
  const long = '_-'.repeat(200_000)
  const given = document({
    [`/${long}`]: { get: { operationId: `${long}a`, tags: [long], summary: '<!--'.repeat(50_000) } },
  })
  assert.equal(imported(given).operations, 1)
})

test('path items and parameters by reference, and what refers to other files', () => {
  const made = imported(
    document(
      {
        '/a': { $ref: '#/components/pathItems/A' },
        '/b': { $ref: 'other.yaml' },
        '/d': { get: { $ref: 'd.yaml' } },
        '/c': { get: { parameters: [{ $ref: 'p.yaml#/x' }] } },
      },
      { components: { pathItems: { A: { get: { operationId: 'a' } } } } },
    ),
  )
  assert.deepEqual(made.configurations[0]!.tools, ['a'])
  const reason =
    'it refers to another file: import the description by its path or URL, or bundle it into one file'
  assert.deepEqual(made.skipped, [
    { operation: '/b', reason },
    { operation: 'GET /d', reason },
    { operation: 'GET /c', reason },
  ])
})

test('a property that no argument can be called is reported', () => {
  const schema = JSON.parse(
    '{"type": "object", "properties": {"__proto__": {"type": "string"}, "constructor": {}}}',
  )
  const given = operation(
    { requestBody: { content: { 'application/json': { schema } } } },
    { method: 'post' },
  )
  assert.match(JSON.stringify(imported(given).leftOut), /no argument can be called __proto__/)
})

test('a description may have thousands of files, of a size in all', async () => {
  const text = (count: number) =>
    JSON.stringify({
      openapi: '3.0.3',
      paths: {},
      all: Array.from({ length: count }, (_, i) => ({ $ref: `f${i}.json` })),
    })
  const faults = async (count: number, other: string) => {
    const { files } = await readOthers({ file: 'a', text: text(count) }, 'file:///a.json', async () => other)
    return [...files.values()].filter((one) => 'fault' in one).length
  }
  assert.equal(await faults(3000, '{}'), 0)
  assert.equal(await faults(10_005, '{}'), 5)
  assert.equal(await faults(8, `{"a": "${'x'.repeat(16 * 1024 * 1024)}"}`), 4)
})

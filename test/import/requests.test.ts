import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { curlExamples } from '../../src/import/curl.ts'
import { harExamples } from '../../src/import/har.ts'
import { postmanExamples } from '../../src/import/postman.ts'
import { type Examples, importExamples } from '../../src/import/requests.ts'
import type { Json } from '../../src/json/index.ts'
import { compiled } from '../openapi/imported.ts'
import { listening } from '../support/listening.ts'
import { served } from '../support/served.ts'

function imported(found: Examples | { fault: string }, name?: string) {
  assert.ok(!('fault' in found), JSON.stringify(found))
  const made = importExamples({ file: 'x', text: '' }, found, {
    made: 'Made by a test.',
    ...(name && { name }),
  })
  assert.ok(made.fault === undefined && !made.findings, JSON.stringify(made))
  return made
}

const item = (name: string, request: object) => ({ name, request })
const collection = (items: object[], more: object = {}) =>
  ({ info: { name: 'Shop API' }, item: items, ...more }) as unknown as Json
const postman = (items: object[], more: object = {}, env: Record<string, string> = {}) =>
  compiled(imported(postmanExamples(collection(items, more), undefined)), env)

describe('Postman collections', () => {
  const variable = [
    { key: 'baseUrl', value: 'https://api.example.com/v1' },
    { key: 'qty', value: '3' },
  ]
  test('variables of the host are the environment’s, those of paths, queries and bodies arguments', async () => {
    const { send, list } = await postman(
      [
        item('Get order', {
          method: 'GET',
          url: {
            raw: '{{baseUrl}}/orders/:orderId/{{part}}?limit=10',
            query: [
              { key: 'limit', value: '10' },
              { key: 'all', value: 'true', disabled: true },
            ],
            variable: [{ key: 'orderId', value: '42' }],
          },
        }),
        {
          name: 'Folder',
          item: [
            item('Create order', {
              method: 'POST',
              url: '{{baseUrl}}/orders',
              header: [{ key: 'X-Team', value: 'a-{{team}}' }],
              body: {
                mode: 'raw',
                raw: '{\n // what\n "item": "for {{who}}", "qty": {{qty}}, "password": "hunter2"}',
                options: { raw: { language: 'json' } },
              },
            }),
          ],
        },
      ],
      { variable },
      { SHOP_BASE_URL: 'https://test.example.com', SHOP_TEAM: 'blue' },
    )
    const order = await send({ orderId: 7, part: 'a/b', limit: 3 }, 'get_order')
    assert.equal(order.sent, 'GET https://test.example.com/orders/7/a%2Fb?limit=3')
    const made = await send({ item: 'rose', qty: 2, password: 'x' }, 'create_order')
    assert.deepEqual(
      [made.sent, JSON.parse(made.body!)],
      ['POST https://test.example.com/orders', { item: 'rose', qty: 2, password: 'x' }],
    )
    assert.equal(made.headers?.['X-Team'], 'a-blue')
    assert.ok(!JSON.stringify(list).includes('hunter2'))
  })

  test('logins are inherited, in both forms, and their secrets come from the environment', async () => {
    const url = 'https://api.example.com/a'
    const { send, text } = await postman(
      [
        item('bearer', { url }),
        item('none', { url: `${url}/1`, auth: { type: 'noauth' } }),
        item('basic', {
          url: `${url}/2`,
          auth: { type: 'basic', basic: { username: 'me', password: 'secret1' } },
        }),
        item('key', {
          url: `${url}/3`,
          auth: {
            type: 'apikey',
            apikey: [
              { key: 'key', value: 'X-Key' },
              { key: 'value', value: 'secret2' },
            ],
          },
        }),
        item('query', {
          url: `${url}/4`,
          auth: {
            type: 'apikey',
            apikey: [
              { key: 'key', value: 'code' },
              { key: 'in', value: 'query' },
            ],
          },
        }),
      ],
      { auth: { type: 'bearer', bearer: [{ key: 'token', value: 'secret3' }] } },
      { SHOP_TOKEN: 't', SHOP_BASIC_USER: 'u', SHOP_BASIC_PASSWORD: 'p', SHOP_X_KEY: 'k', SHOP_CODE: 'c' },
    )
    assert.equal((await send({}, 'bearer')).headers?.Authorization, 'Bearer t')
    assert.equal((await send({}, 'none')).headers?.Authorization, undefined)
    assert.equal(
      (await send({}, 'basic')).headers?.Authorization,
      `Basic ${Buffer.from('u:p').toString('base64')}`,
    )
    assert.equal((await send({}, 'key')).headers?.['X-Key'], 'k')
    assert.match((await send({}, 'query')).sent!, /\/4\?code=c&?$/)
    assert.doesNotMatch(text, /secret\d/)
  })

  test('bodies: forms, files and GraphQL, whose query is fixed', async () => {
    const url = 'https://api.example.com/a'
    const { send, schema } = await postman([
      item('form', {
        method: 'POST',
        url,
        body: {
          mode: 'urlencoded',
          urlencoded: [
            { key: 'a', value: '1' },
            { key: 'b', value: '2' },
          ],
        },
      }),
      item('upload', {
        method: 'POST',
        url: `${url}/1`,
        body: {
          mode: 'formdata',
          formdata: [
            { key: 'file', type: 'file' },
            { key: 'title', type: 'text', value: 'x' },
          ],
        },
      }),
      item('graph', {
        method: 'POST',
        url: `${url}/2`,
        body: {
          mode: 'graphql',
          graphql: {
            query: 'query Q($id: ID!) { order(id: $id) {{ id } } "x" }',
            variables: '{"id": "{{id}}"}',
          },
        },
      }),
    ])
    assert.equal((await send({ a: 'x y', b: '&' }, 'form')).body, 'a=x%20y&b=%26')
    assert.ok(schema('upload').properties.file!.anyOf)
    const { body } = await send({ id: 'a"b' }, 'graph')
    assert.deepEqual(JSON.parse(body!), {
      query: 'query Q($id: ID!) { order(id: $id) {{ id } } "x" }',
      variables: { id: 'a"b' },
    })
  })

  test('requests to one path with several bodies are several tools; what has no URL is skipped', () => {
    const url = 'https://api.example.com/a'
    const found = postmanExamples(
      collection([
        item('one', { method: 'POST', url }),
        item('two', { method: 'POST', url }),
        item('none', {}),
        item('find', { method: 'PROPFIND', url }),
        item('host', { url: 'https://{{host}}:{{port}}/b' }),
      ]),
      undefined,
    )
    const made = imported(found)
    assert.deepEqual(
      [made.imported, made.configurations[0]!.tools, made.skipped],
      [
        3,
        ['one', 'two', 'host'],
        [
          { operation: 'none', reason: 'it has no URL' },
          { operation: 'PROPFIND /a', reason: 'the method PROPFIND cannot be called' },
        ],
      ],
    )
    assert.ok(
      made.configurations[0]!.text.includes(
        'https://{{env "SHOP_HOST" "localhost"}}:{{env "SHOP_PORT" "443"}}',
      ),
    )
  })

  test('deep and hostile collections are bounded', () => {
    let deep: object = item('a', { url: 'https://api.example.com' })
    for (let i = 0; i < 5000; i++) deep = { name: 'f', item: [deep] }
    assert.equal(imported(postmanExamples(collection([deep]), undefined)).imported, 0)
    const many = Array.from({ length: 3000 }, (_, i) =>
      item(`r${i}`, { url: `https://api.example.com/${'x'.repeat(i % 50)}` }),
    )
    const made = imported(postmanExamples(collection(many), undefined))
    assert.ok(made.imported <= 2000 && made.skipped.length >= 1000)
    const odd = [
      item('{{x}}', { url: '{{a}}{{b}}/{{c}}?{{d}}={{e}}', header: [{ key: 'a b', value: '{{' }] }),
      { item: null },
      null,
      { request: 1 },
      item('é', { url: { host: ['a', {}], path: [1] }, body: { mode: 'raw', raw: '{{' } }),
    ]
    imported(postmanExamples({ info: {}, item: odd } as unknown as Json, undefined))
  })
})

describe('command lines of curl', () => {
  const curl = (line: string, env: Record<string, string> = {}) =>
    compiled(imported(curlExamples(line), 'shop'), env)
  test('numbers of the path, the query and the members of a body are arguments; the login is of the environment', async () => {
    const { send, text, configuration } = await curl(
      `curl -sSL -XPOST 'https://api.example.com/users/42/notes?dry=true&api_key=abcdef' -H 'Authorization: Bearer secretvalue' \\
        -H "X-Trace: it's" -H 'Content-Type: application/json' --data-raw '{"text":"hi","n":2}' --compressed`,
      { SHOP_TOKEN: 't', SHOP_API_KEY: 'k' },
    )
    const { name } = configuration.tools[0]!
    const { sent, headers, body } = await send({ userId: 7, dry: false, text: 'x', n: 1 }, name)
    assert.equal(sent, 'POST https://api.example.com/users/7/notes?api_key=k&dry=false')
    assert.deepEqual(
      [headers?.Authorization, headers?.['X-Trace'], JSON.parse(body!)],
      ['Bearer t', "it's", { text: 'x', n: 1 }],
    )
    assert.doesNotMatch(text, /secretvalue|abcdef/)
  })
  const lines: [line: string, args: object, sent: string, body?: string][] = [
    ['curl example.org/a?q=1', { q: 2 }, 'GET http://example.org/a?q=2'],
    [
      'curl -G https://example.org/a -d q=1 --data-urlencode "w=x y"',
      { q: 2, w: 'a b' },
      'GET https://example.org/a?q=2&w=a%20b',
    ],
    ['curl https://example.org/a -d a=1 -d b=2', { a: '3', b: '4' }, 'POST https://example.org/a', 'a=3&b=4'],
    ['curl --json \'{"a": 1}\' https://example.org/a', { a: 5 }, 'POST https://example.org/a', '{"a":5}'],
    [
      String.raw`curl https://example.org/a -H $'X-Note: it\'s' --data-raw $'{"text":"it\'s\u0021\\n"}'`,
      { text: 'x' },
      'POST https://example.org/a',
      '{"text":"x"}',
    ],
    ['curl -X DELETE -u me:pass https://example.org/a/7', { aId: 8 }, 'DELETE https://example.org/a/8'],
  ]
  for (const [line, args, sent, body] of lines)
    test(line, async () => {
      const { send, configuration } = await curl(line)
      const made = await send(args, configuration.tools[0]!.name)
      assert.deepEqual([made.sent, made.body], [sent, body])
    })
  test('what is no such line', () => {
    const faults: [line: string, fault: RegExp][] = [
      ['wget https://example.org', /does not begin with `curl`/],
      ['curl', /no URL/],
      ['curl ftp://example.org', /not a URL of HTTP/],
      ["curl 'https://example.org", /quote is not closed/],
      ['curl https://example.org | jq .', /needs a shell/],
    ]
    for (const [line, fault] of faults) {
      const found = curlExamples(line)
      assert.match('fault' in found ? found.fault : '', fault)
    }
  })
})

describe('HAR files', () => {
  const entry = (method: string, url: string, more: object = {}, mimeType = 'application/json') => ({
    request: { method, url, headers: [{ name: 'sec-fetch-mode', value: 'cors' }], ...more },
    response: { content: { mimeType } },
  })
  const body = (value: object) => ({
    postData: { mimeType: 'application/json;charset=UTF-8', text: JSON.stringify(value) },
  })
  test('calls of one operation are one tool; pages and their parts are left out', async () => {
    const found = harExamples({
      log: {
        entries: [
          entry('GET', 'https://app.example.com/', {}, 'text/html; charset=utf-8'),
          entry('GET', 'https://api.example.com/items/7?q=x', {
            headers: [{ name: 'cookie', value: 'sid=abcdef' }],
          }),
          entry('GET', 'https://api.example.com/items/8?page=2'),
          entry('POST', 'https://api.example.com/items', body({ name: 'x', a: 1 })),
          entry('POST', 'https://api.example.com/items', body({ name: 'y', b: 1 })),
        ],
      },
    } as unknown as Json)
    const {
      send,
      text,
      skipped,
      imported: count,
      schema,
    } = await compiled(imported(found, 'shop'), { SHOP_COOKIE: 'sid=1' })
    assert.deepEqual([count, skipped.length], [2, 1])
    const got = await send({ itemId: 1, page: 2 }, 'get_items_by_itemId')
    assert.deepEqual([got.sent, got.headers?.cookie], ['GET https://api.example.com/items/1?page=2', 'sid=1'])
    assert.deepEqual(schema('post_items').required, ['name'])
    assert.doesNotMatch(text, /abcdef|sec-fetch/)
  })
  test('what is none', () => {
    assert.deepEqual(harExamples({ log: 1 } as unknown as Json), { fault: 'it has no `log.entries`' })
    assert.equal(
      imported(harExamples({ log: { entries: [null, { request: { url: 'x' } }] } } as unknown as Json))
        .imported,
      0,
    )
  })
})

test('an imported tool is served, and its call reaches the API', async (t) => {
  const seen: string[] = []
  const mock = createServer((request, response) => {
    seen.push(`${request.method} ${request.url} ${request.headers.authorization}`)
    response.setHeader('content-type', 'application/json').end('{"ok": true}')
  })
  const origin = `http://127.0.0.1:${await listening(t, mock)}`
  const auth = { type: 'bearer', bearer: { token: '{{token}}' } }
  const made = imported(
    postmanExamples(
      collection([item('Get order', { url: '{{baseUrl}}/orders/:id' })], {
        auth,
        variable: [{ key: 'baseUrl', value: '' }],
      }),
      undefined,
    ),
  )
  const gateway = await served(t, [parse(made.configurations[0]!.text)], {
    env: { SHOP_BASE_URL: origin, SHOP_TOKEN: 'secret' },
  })
  const session = await gateway.open('/shop')
  const params = { name: 'get_order', arguments: { id: '42' } }
  const { text } = await gateway.post(
    '/shop/mcp',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    session,
  )
  assert.match(text, /ok/)
  assert.deepEqual(seen, ['GET /orders/42 Bearer secret'])
})

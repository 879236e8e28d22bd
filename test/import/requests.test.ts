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
    { key: 'shopId', value: '7' },
    { key: 'version', value: 'v1' },
  ]
  test('variables of the host are the environment’s, those of paths, queries and bodies arguments', async () => {
    const { send, list } = await postman(
      [
        item('Get order', {
          method: 'GET',
          url: {
            raw: '{{baseUrl}}/{{version}}/shops/{{shopId}}/orders/:orderId/{{part}}?limit=10',
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
                raw: '{\n // what\n "item": "for {{who}}", "qty": {{qty}}, "price": {{price}}, "password": "hunter2"}',
                options: { raw: { language: 'json' } },
              },
            }),
          ],
        },
      ],
      { variable },
      { SHOP_SERVER_BASE_URL: 'https://test.example.com', SHOP_TEAM: 'blue' },
    )
    const order = await send({ shopId: 8, orderId: 7, part: 'a?b', limit: 3 }, 'get_order')
    assert.equal(order.sent, 'GET https://test.example.com/v1/shops/8/orders/7/a%3Fb?limit=3')
    const made = await send({ item: 'rose', qty: 2, price: 1.5, password: 'x' }, 'create_order')
    assert.deepEqual(
      [made.sent, JSON.parse(made.body!)],
      ['POST https://test.example.com/orders', { item: 'rose', qty: 2, price: 1.5, password: 'x' }],
    )
    assert.equal(made.headers?.['X-Team'], 'a-blue')
    assert.ok(!JSON.stringify(list()).includes('hunter2'))
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

  test('pairs of one name are a list where they are sent together', async () => {
    const pair = (key: string, value: string, disabled = false) => ({ key, value, disabled })
    const query = [pair('tag', 'a'), pair('state', 'open'), pair('tag', 'b'), pair('state', 'closed', true)]
    const url = { raw: 'https://api.example.com/a?tag=a&state=open&tag=b', query }
    const { send } = await postman([item('Find', { url })], {})
    assert.equal(
      (await send({ tag: ['x', 'y'], state: 'z' }, 'find')).sent,
      'GET https://api.example.com/a?tag=x&tag=y&state=z',
    )
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
        'https://{{env "SHOP_SERVER_HOST" "localhost"}}:{{env "SHOP_SERVER_PORT" "443"}}',
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
    ['curl "https://example.org/a?x=1&x=2&y[]=b"', { x: [3, 4] }, 'GET https://example.org/a?x=3&x=4'],
    ['curl "https://example.org/a?x=b&x=2"', { x: ['c'] }, 'GET https://example.org/a?x=c'],
    ['curl https://example.org/a -d a=1 -d a=2', { a: ['3', '4'] }, 'POST https://example.org/a', 'a=3&a=4'],
    [
      'curl https://example.org/a -d \'[1,{"a":1,"b":[]},null]\'',
      { body: [{ a: 'x' }, 'y'] },
      'POST https://example.org/a',
      '[{"a":"x"},"y"]',
    ],
    [
      'curl https://example.org/a -d \'{"l":[{"a":1,"b":2},{"a":1.5}]}\'',
      { l: [{ a: 2.5 }] },
      'POST https://example.org/a',
      '{"l":[{"a":2.5}]}',
    ],
    ["curl https://example.org/a -d '{}'", { body: {} }, 'POST https://example.org/a', '{}'],
    ["curl https://example.org/a -d ''", {}, 'POST https://example.org/a'],
    ['curl "https://me:$P@example.org/$ID/$count"', { ID: 'a' }, 'GET https://example.org/a/%24count'],
    [
      'curl https://example.org/a -d \'{"operationName":"A","query":"query A {a} query B {b}"}\'',
      {},
      'POST https://example.org/a',
      '{"operationName": "A", "query": "query A {a} query B {b}"}',
    ],
    ['curl -X DELETE -u me:pass https://example.org/a/7', { aId: 8 }, 'DELETE https://example.org/a/8'],
  ]
  for (const [line, args, sent, body] of lines)
    test(line, async () => {
      const { send, configuration } = await curl(line)
      const made = await send(args, configuration.tools[0]!.name)
      assert.deepEqual([made.sent, made.body], [sent, body])
    })
  test('a part of JSON and several files under one name', async () => {
    const { send } = await curl(
      'curl https://example.org/a -F f=@a.txt -F f=@b.txt -F \'m={"k":1};type=application/json\'',
    )
    const { body } = await send({ f: ['data:text/plain,x', 'data:text/plain,y'], m: { k: 2 } }, 'post_a')
    const parts = [
      ...body!.matchAll(/name="(\w+)"(?:; filename="\w+")?\r\nContent-Type: (\S+)\r\n\r\n(.*)\r\n/g),
    ]
    assert.deepEqual(
      parts.map((part) => part.slice(1)),
      [
        ['f', 'text/plain', 'x'],
        ['f', 'text/plain', 'y'],
        ['m', 'application/json', '{"k":2}'],
      ],
    )
  })
  test('what browsers copy for cmd and PowerShell', async () => {
    const lines = [
      'curl ^"https://example.org/a^" ^\r\n  -H ^"x-a: b^" ^\r\n  --data-raw ^"^{^\\^"t^\\^":^\\^"it\'s^\\^"^}^"',
      'curl.exe -X POST `\r\n  "https://example.org/a" `\r\n  -H \'x-a: b\' `\r\n  -d \'{"t":"it\'\'s"}\'',
    ]
    for (const line of lines) {
      const { send, configuration } = await curl(line)
      const made = await send({ t: 'x' }, configuration.tools[0]!.name)
      assert.deepEqual(
        [made.sent, made.headers?.['x-a'], made.body],
        ['POST https://example.org/a', 'b', '{"t":"x"}'],
      )
    }
  })
  test('each request of `--next` has its own options, each URL of one the same', async () => {
    const { send } = await curl(
      'curl -L https://example.org/a https://example.org/b --next -X DELETE https://example.org/c',
    )
    assert.equal((await send({}, 'get_a')).sent, 'GET https://example.org/a')
    assert.equal((await send({}, 'get_b')).sent, 'GET https://example.org/b')
    assert.equal((await send({}, 'delete_c')).sent, 'DELETE https://example.org/c')
  })
  test('files are arguments of the type that the line says; placeholders are arguments', async () => {
    const { send, leftOut } = await curl(
      "curl https://example.org/{id} -d @body.json -H 'Content-Type: application/vnd.api+json' -H 'Accept: application/vnd.api+json'",
    )
    const made = await send({ id: 'a b', body: { deep: [1] } }, 'post_by_id')
    assert.deepEqual(
      [made.sent, made.body, made.headers?.['Content-Type'], made.headers?.Accept],
      ['POST https://example.org/a%20b', '{"deep":[1]}', 'application/vnd.api+json', undefined],
    )
    assert.match(
      leftOut.map(({ what, reason }) => `${what}: ${reason}`).join(),
      /--data: the file is not read/,
    )
  })
  test('what a configuration cannot say of a line is reported', async () => {
    const { leftOut, skipped } = await curl(
      "curl -k -x http://me:s3cret@p:1 --cert a.pem -K cfg -b jar -H @h -H 'X-E;' --aws-sigv4 aws:amz 'https://example.org/a' 'https://example.org/{b,c}[1-3]'",
    )
    const all = leftOut.map(({ what }) => what)
    const wanted = [
      '--insecure',
      '--proxy',
      '--cert',
      '--config',
      '--cookie',
      '--header',
      'the header X-E',
      'authentication',
    ]
    assert.deepEqual(all, wanted)
    assert.deepEqual(
      skipped.map(({ operation }) => operation),
      ['https://example.org/{b,c}[1-3]'],
    )
    assert.doesNotMatch(JSON.stringify([leftOut, skipped]), /s3cret/)
  })
  test('what is no such line', () => {
    const faults: [line: string, fault: RegExp][] = [
      ['wget https://example.org', /does not begin with `curl`/],
      ['curl', /no URL/],
      ['curl ftp://example.org', /not a URL of HTTP/],
      ['curl "https://$HOST/a"', /its address is a variable of the shell/],
      ['curl ftp://me:s3cret@example.org', /^ftp:\/\/me:…@example.org is not/],
      ['curl --url=https://example.org', /no option `--url=…`/],
      ['curl https://example.org --next -X DELETE', /no URL/],
      ["curl 'https://example.org", /quote is not closed/],
      ['curl https://example.org | jq .', /^it is not one command line: .* needs a shell$/],
      [
        '# one\ncurl https://example.org\n\ncurl https://example.org/a \\\n  | jq .\n',
        /^the command of line 4: it is not one command line/,
      ],
      ['curl https://example.org\ncurl -v\n', /^the command of line 2: it has no URL$/],
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
  test('values of all calls fit, and each operation of GraphQL is a tool', async () => {
    const api = 'http://127.0.0.1:8080'
    const graphql = (operationName: string, query: string, variables: object) =>
      entry('POST', `${api}/graphql`, body({ operationName, query, variables }))
    const found = harExamples({
      log: {
        entries: [
          entry('GET', `${api}/items?q=1`),
          entry('GET', `${api}/items?q=rose`),
          entry('POST', `${api}/items`, body({ n: 1, tags: [], of: { a: 1 }, any: 'x' })),
          entry('POST', `${api}/items`, body({ n: 1.5, tags: ['a'], of: { a: 2, b: 1 }, any: 3 })),
          graphql('OneItem', 'query OneItem($id: ID!) { item(id: $id) { name } }', { id: '7' }),
          graphql('OneItem', 'query OneItem($id: ID!) { item(id: $id) { name } }', { id: '8' }),
          graphql('AddItem', 'mutation AddItem($n: Int!) { add(n: $n) }', { n: 1 }),
        ],
      },
    } as unknown as Json)
    const { send, list, prefix } = await compiled(imported(found))
    assert.equal(prefix, '/127-0-0-1')
    assert.deepEqual(
      list().map(({ name }) => name),
      ['get_items', 'post_items', 'oneitem', 'additem'],
    )
    assert.equal((await send({ q: 'tulip' }, 'get_items')).sent, `GET ${api}/items?q=tulip`)
    const item = { n: 2.5, tags: ['b'], of: { a: 3 }, any: true }
    assert.deepEqual(JSON.parse((await send(item, 'post_items')).body!), item)
    assert.match((await send({ n: 2 }, 'additem')).body!, /"query": "mutation .*"variables": \{"n": 2\}/)
  })
  test('bodies as base64, as text of parts and as JSON that is cut; headers that cannot be sent', async () => {
    const posted = (path: string, postData: object) =>
      entry('POST', `https://example.org/${path}`, { postData })
    const part = (head: string) => `--x\r\nContent-Disposition: form-data; ${head}\r\n\r\ns3cret\r\n`
    const text = `${part('name="file"; filename="a.png"')}${part('name="note"')}--x--`
    const found = harExamples({
      log: {
        entries: [
          posted('json', { mimeType: 'application/json', text: btoa('{"a": 1}'), encoding: 'base64' }),
          posted('parts', { mimeType: 'multipart/form-data; boundary=x', text }),
          posted('cut', { mimeType: 'application/json', text: '{"a": 1, "b' }),
          entry('GET', 'https://example.org/a', {
            headers: [
              { name: 'x-a', value: 'b\r\nx-evil: 1' },
              { name: 'x b', value: 'c' },
              { name: ':path', value: '/a' },
            ],
          }),
        ],
      },
    } as unknown as Json)
    const { send, schema, leftOut, text: written } = await compiled(imported(found, 'shop'))
    assert.deepEqual((await send({ a: 2 }, 'post_json')).body, '{"a":2}')
    assert.deepEqual(Object.keys(schema('post_parts').properties), ['file', 'note'])
    assert.deepEqual((await send({ body: { b: 1 } }, 'post_cut')).body, '{"b":1}')
    assert.deepEqual(
      leftOut.map(({ what }) => what),
      ['the header "x-a"', 'the header "x b"', 'headers sec-fetch-mode'],
    )
    assert.doesNotMatch(written, /s3cret|evil/)
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

describe('logins of requests', () => {
  const bearer = (token: string) => ({ headers: [{ name: 'authorization', value: `Bearer ${token}` }] })
  const entry = (url: string, more: object) => ({ request: { method: 'GET', url, ...more } })
  const har = (entries: object[]) => harExamples({ log: { entries } } as unknown as Json)

  test('one host of a recording never gets the secret of another; a renewed one stays the same', async () => {
    const found = har([
      entry('https://a.example.com/one', bearer('a1')),
      entry('https://b.example.com/two', bearer('b1')),
      entry('https://a.example.com/three?token=q1', bearer('a2')),
      entry('https://b.example.com/four?token=q2', { headers: [{ name: 'Cookie', value: 'sid=c1' }] }),
    ])
    const { send, text } = await compiled(imported(found, 'shop'), {
      SHOP_TOKEN: 'A',
      SHOP_B_EXAMPLE_TOKEN: 'B',
      SHOP_TOKEN_2: 'QA',
      SHOP_B_EXAMPLE_TOKEN_2: 'QB',
      SHOP_COOKIE: 'sid=B',
    })
    const sent = async (name: string) => {
      const made = await send({}, name)
      return [made.sent, made.headers?.Authorization ?? made.headers?.Cookie]
    }
    assert.deepEqual(await sent('get_one'), ['GET https://a.example.com/one', 'Bearer A'])
    assert.deepEqual(await sent('get_two'), ['GET https://b.example.com/two', 'Bearer B'])
    assert.deepEqual(await sent('get_three'), ['GET https://a.example.com/three?token=QA', 'Bearer A'])
    assert.deepEqual(await sent('get_four'), ['GET https://b.example.com/four?token=QB', 'sid=B'])
    assert.doesNotMatch(text, /\b[abqc][12]\b/)
  })

  test('each secret of a request is sent where it was, an equal one from the same variable', async () => {
    const line =
      'curl \'https://example.org/a?api_key=k1&token=t1\' -H \'Authorization: Bearer h1\' -d \'{"token": "b1", "api_key": "k1", "x": 1}\''
    const made = imported(curlExamples(line), 'shop')
    const { send } = await compiled(made, {
      SHOP_TOKEN: 'H',
      SHOP_API_KEY: 'K',
      SHOP_TOKEN_2: 'T',
      SHOP_TOKEN_3: 'B',
    })
    const { sent, headers, body } = await send({ x: 2 }, 'post_a')
    assert.deepEqual(
      [sent, headers?.Authorization, JSON.parse(body!)],
      ['POST https://example.org/a?api_key=K&token=T', 'Bearer H', { token: 'B', api_key: 'K', x: 2 }],
    )
    const names = made.configurations[0]!.variables.map(({ name }) => name)
    assert.deepEqual(names.sort(), ['SHOP_API_KEY', 'SHOP_TOKEN', 'SHOP_TOKEN_2', 'SHOP_TOKEN_3'])
  })

  test('a login in a form is sent beside one in a header; one in a part of a multipart body asks for no variable', async () => {
    const form = "curl https://example.org/a -H 'X-Api-Key: h1' -d token=f1 -d x=1"
    const { send } = await compiled(imported(curlExamples(form), 'shop'), {
      SHOP_X_API_KEY: 'H',
      SHOP_TOKEN: 'F',
    })
    const { headers, body } = await send({ x: '2' }, 'post_a')
    assert.deepEqual([headers?.['X-Api-Key'], body], ['H', 'token=F&x=2'])
    const parts = imported(curlExamples('curl https://example.org/a -F token=f1 -F x=1'), 'shop')
    assert.deepEqual(parts.configurations[0]!.variables, [])
    assert.deepEqual(
      parts.leftOut.map(({ what }) => what),
      ['the field token'],
    )
  })

  test('secrets in paths, in headers of other names and in variables of a collection are never written', async () => {
    const jwt = `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.${'dozjgNryP4J3jVmN'.repeat(2)}`
    const token = `bot123456789:${'AAHdqTcvCH1vGWJx'.repeat(2)}`
    const line = `curl https://example.org/${token}/send -H 'X-Access: ${jwt}' -d 'who=${jwt}'`
    const { send, text } = await compiled(imported(curlExamples(line), 'shop'), {
      SHOP_TOKEN: 'T',
      SHOP_X_ACCESS: 'X',
    })
    const { sent, headers } = await send({ who: 'me' }, 'post_by_token_send')
    assert.deepEqual([sent, headers?.['X-Access']], ['POST https://example.org/T/send', 'X'])
    assert.ok(!text.includes(jwt) && !text.includes(token))
    const variable = [
      { key: 'botToken', value: 'v1secret' },
      { key: 'other', value: 'v2secret', type: 'secret' },
    ]
    const collected = await postman(
      [
        item('Send', {
          url: 'https://example.org/{{botToken}}/x?q={{other}}',
          header: [{ key: 'X-A', value: '{{botToken}}' }],
        }),
      ],
      { variable },
      { SHOP_BOT_TOKEN: 'V' },
    )
    const made = await collected.send({}, 'send')
    assert.deepEqual([made.sent, made.headers?.['X-A']], ['GET https://example.org/V/x', 'V'])
    assert.doesNotMatch(collected.text, /v\dsecret/)
  })

  test('requests of a collection with different tokens have different variables', async () => {
    const auth = (token: string) => ({ type: 'bearer', bearer: { token } })
    const url = 'https://api.example.com'
    const { send } = await postman(
      [
        item('user', { url: `${url}/a`, auth: auth('{{userToken}}') }),
        item('admin', { url: `${url}/b`, auth: auth('{{adminToken}}') }),
        item('again', { url: `${url}/c`, auth: auth('{{userToken}}') }),
      ],
      {},
      { SHOP_TOKEN: 'U', SHOP_TOKEN_2: 'A' },
    )
    const sent = async (name: string) => (await send({}, name)).headers?.Authorization
    assert.deepEqual(
      [await sent('user'), await sent('admin'), await sent('again')],
      ['Bearer U', 'Bearer A', 'Bearer U'],
    )
  })

  test('names that every object has are names like others', async () => {
    const names = ['constructor', 'toString', 'hasOwnProperty']
    const body = JSON.stringify(Object.fromEntries(names.map((name) => [name, 'x'])))
    const post = (text: string) => ({
      request: {
        method: 'POST',
        url: 'https://example.org/a?constructor=1',
        postData: { mimeType: 'application/json', text },
      },
    })
    const { send, schema } = await compiled(imported(har([post('{"a": 1}'), post(body)]), 'shop'))
    assert.deepEqual(
      Object.keys(schema('post_a').properties).sort(),
      ['a', 'query_constructor', ...names].sort(),
    )
    const args = { query_constructor: 5, constructor: 'y', toString: 'z' }
    const made = await send(args, 'post_a')
    assert.deepEqual(
      [made.sent, JSON.parse(made.body!)],
      ['POST https://example.org/a?constructor=5', { constructor: 'y', toString: 'z' }],
    )
    const raw = { mode: 'raw', raw: 'x', options: { raw: { language: 'constructor' } } }
    assert.equal(
      imported(
        postmanExamples(
          collection([item('a', { method: 'POST', url: 'https://example.org/a', body: raw })]),
          undefined,
        ),
      ).imported,
      1,
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
    env: { SHOP_SERVER_BASE_URL: origin, SHOP_TOKEN: 'secret' },
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

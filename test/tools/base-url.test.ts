import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { arg, callable, compileAll, makeTool, text, upstream } from './harness.ts'

const id = arg('id', 'path', { required: true })
const order = { endpoint: '/orders/{{.Args.id}}', args: [id] }

test('a path is appended to the base URL, with or without a slash at its end', async () => {
  const { origin, last } = await upstream()
  for (const [baseUrl, config, url] of [
    ['$', {}, '/orders/7'],
    ['$/', {}, '/orders/7'],
    ['$/api/v1', {}, '/api/v1/orders/7'],
    ['$/api/v1//', {}, '/api/v1/orders/7'],
    ['{{.Config.url}}', { url: `${origin}/api/` }, '/api/orders/7'],
    ['$/{{.Config.version}}/', { version: 'v2' }, '/v2/orders/7'],
    ['{{env "URL"}}', {}, '/env/orders/7'],
  ] as const) {
    const server = { baseUrl: baseUrl.replace('$', origin), config }
    const call = callable(order, { server, env: { URL: `${origin}/env` } })
    assert.equal((await call({ id: '7' })).upstreamStatus, 200)
    assert.equal(last().url, url, baseUrl)
  }
})

test('a whole URL is called as it is', async () => {
  const { origin, last } = await upstream()
  const server = { baseUrl: 'https://api.example.com/v1' }
  await callable({ endpoint: `${origin}/status` }, { server })()
  assert.equal(last().url, '/status')
})

test('no value of a path leaves its place', async () => {
  const { origin, received, last } = await upstream()
  const server = { baseUrl: `${origin}/api` }
  const call = callable(order, { server })
  for (const value of ['..', '../admin', '%2e%2e', '/evil.example', '//evil.example', '\\evil']) {
    const outcome = await call({ id: value })
    assert.equal(outcome.result.isError, true, value)
  }
  assert.equal(received.length, 0)
  await call({ id: 'a b?c#d@e:f' })
  assert.equal(last().url, '/api/orders/a%20b%3Fc%23d%40e%3Af')
  const raw = callable({ ...order, endpoint: '/{{raw .Args.id}}' }, { server })
  const outcome = await raw({ id: '/@evil.example/' })
  assert.equal(outcome.upstreamStatus, 200)
  assert.equal(last().url, '/api//@evil.example/')
})

test('failures name the place in the endpoint, and the URL without its secrets', async () => {
  const { origin } = await upstream((response) => response.writeHead(500).end('no'))
  const server = { baseUrl: `${origin}/bot{{.Config.token}}`, config: { token: 'sekret-token-123' } }
  const outcome = await callable(order, { server })({ id: '7' })
  assert.match(text(outcome), /\/bot\{token\}\/orders\/7/)
  assert.doesNotMatch(JSON.stringify(outcome), /sekret/)
  const refused = await callable(order, { server })({ id: '..' })
  assert.match(refused.detail ?? '', /`\{\{\.Args\.id\}\}`, line 1, column 9/)
})

test('headers of a server go to the host of its baseUrl only; findings say which do not', async () => {
  const [own, other] = [await upstream(), await upstream()]
  const server = { baseUrl: `${own.origin}/v1`, headers: { 'X-Key': 'sekret' } }
  const sent = async (endpoint: string, { last }: typeof own, given: object = server) => {
    await callable({ endpoint }, { server: given })()
    return last().headers['x-key']
  }
  assert.equal(await sent('/status', own), 'sekret')
  assert.equal(await sent(`${own.origin}/status`, own), 'sekret')
  assert.equal(await sent(`${other.origin}/status`, other), undefined)
  assert.equal(await sent(`${other.origin}/status`, other, { headers: server.headers }), 'sekret')
  const found = (more: string) =>
    readConfiguration(
      {
        file: 'a.yaml',
        text: `name: a
prefix: /a
servers: [{headers: {X-Key: k}, ${more}}]
tools:
  - {name: b, endpoint: "https://api.example.com/b"}
  - {name: c, endpoint: "https://other.example.com/c"}
`,
      },
      {},
    ).findings.map(({ code, message }) => `${code}: ${message}`)
  assert.deepEqual(found('baseUrl: "https://api.example.com"'), [
    'key-without-effect: the headers of the server `a` are not sent to `https://other.example.com`, which is not the host of its `baseUrl`',
  ])
  assert.deepEqual(found(''), [
    'shared-headers: the headers of the server `a` are sent to 2 hosts: `https://api.example.com`, `https://other.example.com`',
  ])
  assert.deepEqual(
    found('baseUrl: "https://api.example.com", credentials: {type: static, header: x-key, value: v}')[0],
    'key-without-effect: the header `X-Key` has no effect: the `credentials` of the server `a` set it',
  )
})

test('a tool overrides headers of its server, whatever their case', async () => {
  const { origin, last } = await upstream()
  const server = {
    baseUrl: origin,
    config: { token: 'abc' },
    headers: {
      'X-Token': '{{.Config.token}}',
      'Accept-Language': 'en',
      'X-Trace': '{{.Request.Headers.Trace}}',
    },
  }
  const lang = arg('X-Lang', 'header')
  const tool = { ...order, headers: { 'accept-language': 'de' }, args: [id, lang] }
  await callable(tool, { server })({ id: '1', 'X-Lang': 'fr' }, { headers: { trace: 't1' } })
  const { headers } = last()
  assert.equal(headers['x-token'], 'abc')
  assert.equal(headers['accept-language'], 'de')
  assert.equal(headers['x-lang'], 'fr')
  assert.equal(headers['x-trace'], 't1')
  assert.equal(last().rawHeaders.filter((name) => /^accept-language$/i.test(name)).length, 1)
})

test('the Content-Type of the server decides the body', async () => {
  const { origin, last } = await upstream()
  const server = { baseUrl: origin, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }
  const args = [arg('a', 'body'), arg('b', 'body', { type: 'array' })]
  await callable({ endpoint: '/', method: 'POST', args }, { server })({ a: 'x y', b: [1, 2] })
  assert.equal(last().body.toString(), 'a=x%20y&b=1&b=2')
})

test('faults of a base URL are found at load, once', () => {
  for (const [baseUrl, message] of [
    ['api.example.com', 'The `baseUrl` is not an absolute http or https URL'],
    ['/v1', 'The `baseUrl` is not an absolute http or https URL'],
    ['ftp://example.com', 'The `baseUrl` is not an absolute http or https URL'],
    ['https://example.com/?v=1', /has a query or fragment/],
    ['https://example.com/#a', /has a query or fragment/],
    ['https://example.com/../a', /path segment that is `.` or `..`/],
    ['https://me:secret@example.com', /holds a user name or password/],
    ['https:///a', /does not name/],
    ['{{.Args.id}}', /untrusted value/],
    ['https://example.com/{{.Request.Path}}', /Request/],
  ] as const) {
    const tools = [makeTool(order), makeTool({ ...order, name: 'other' })]
    const { problems } = compileAll(tools, { server: { baseUrl } })
    assert.deepEqual(
      problems.map(({ path }) => path.join('.')),
      ['servers.0.baseUrl'],
      baseUrl,
    )
    assert.match(problems[0]!.message, typeof message === 'string' ? new RegExp(message) : message)
  }
})

test('an endpoint that is neither a path nor a URL: what was meant', () => {
  for (const [endpoint, hint] of [
    ['orders', 'Begin it with a slash, such as `/orders`, for a path below the `baseUrl`'],
    ['GET /orders', 'Write the method by itself: `method: GET`, `endpoint: /orders`'],
    ['?q=1', 'Write a URL such as https://api.example.com/users/{{.Args.id}}'],
  ]) {
    const { problems } = compileAll([makeTool({ endpoint: endpoint! })], {
      server: { baseUrl: 'https://api.example.com' },
    })
    assert.deepEqual(
      problems.map((one) => one.hint),
      [hint],
    )
  }
})

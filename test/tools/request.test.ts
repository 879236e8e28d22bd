import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tool } from '../../src/config/model.ts'
import type { JsonObject } from '../../src/json/index.ts'
import { compilePrompts } from '../../src/tools/index.ts'
import { arg, callable, compileAll, makeTool, text, upstream } from './harness.ts'

const target = await upstream()
const { origin } = target

test('path, query, header and body arguments go where they belong', async () => {
  const call = callable({
    method: 'POST',
    endpoint: `${origin}/users/{{.Args.id}}/notes?v=1#top`,
    args: [
      arg('id', 'path', { required: true, slashes: 'encode' }),
      arg('tag', 'query', { type: 'array' }),
      arg('filter', 'query', { type: 'object' }),
      arg('q', 'query'),
      arg('page', 'query', { type: 'integer' }),
      arg('X-Level', 'header', { type: 'integer' }),
      arg('X-Meta', 'header', { type: 'object' }),
      arg('title', 'body'),
      arg('deep', 'body', { type: 'object' }),
    ],
  })
  await call({
    id: 'a/b ?#é',
    tag: ['x y', 'z&w=1', 3, { k: 1 }],
    filter: { a: [1] },
    q: 'a=b&c+d',
    'X-Level': 3,
    'X-Meta': { a: 'é' },
    title: 'He said "hi"',
    deep: { list: [1, null] },
  })
  const { url, headers, body, method } = target.last()
  assert.equal(method, 'POST')
  assert.equal(
    url,
    '/users/a%2Fb%20%3F%23%C3%A9/notes?v=1&tag=x%20y&tag=z%26w%3D1&tag=3&tag=%7B%22k%22%3A1%7D&filter=%7B%22a%22%3A%5B1%5D%7D&q=a%3Db%26c%2Bd',
  )
  assert.equal(headers['x-level'], '3')
  assert.equal(Buffer.from(headers['x-meta'] as string, 'latin1').toString(), '{"a":"é"}')
  assert.equal(headers['content-type'], 'application/json')
  assert.deepEqual(JSON.parse(body.toString()), { title: 'He said "hi"', deep: { list: [1, null] } })
})

test('what stands beyond ASCII in a header of the caller goes on as the same bytes', async () => {
  const call = callable({
    method: 'POST',
    endpoint: `${origin}/{{.Request.Cookies.who}}`,
    headers: { 'X-Name': '{{index .Request.Headers "X-Name"}}, {{.Args.name}}' },
    requestBody: '{"who": "{{index .Request.Headers "X-Name"}}", "name": "{{.Args.name}}"}',
    args: [arg('name', 'body')],
  })
  // Node reads each byte of a header as one Latin-1 character.
  const received = (text: string) => Buffer.from(text).toString('latin1')
  await call({ name: '日本' }, { headers: { 'x-name': received('Zoë 木'), cookie: received('who=Zoë') } })
  const { url, headers, body } = target.last()
  assert.equal(url, '/Zo%C3%AB')
  assert.equal(Buffer.from(headers['x-name'] as string, 'latin1').toString(), 'Zoë 木, 日本')
  assert.deepEqual(JSON.parse(body.toString()), { who: 'Zoë 木', name: '日本' })
  await call({ name: 'x' }, { headers: { 'x-name': 'Zo\xeb', cookie: 'who=x' } })
  assert.deepEqual(JSON.parse(target.last().body.toString()), { who: 'Zoë', name: 'x' })
})

test('omitted arguments leave no trace', async () => {
  const call = callable({
    endpoint: origin,
    args: [
      arg('q', 'query'),
      arg('none', 'query', { type: 'array' }),
      arg('X-A', 'header'),
      arg('b', 'body'),
    ],
  })
  await call({ none: [] })
  const { url, headers, body } = target.last()
  assert.equal(url, '/')
  assert.deepEqual(Object.keys(headers).sort(), ['accept', 'connection', 'host', 'user-agent'])
  assert.equal(body.length, 0)
})

test('body arguments of a POST make an object even when none is given', async () => {
  await callable({ method: 'POST', endpoint: origin, args: [arg('b', 'body')] })()
  assert.equal(target.last().body.toString(), '{}')
})

test('a requestBody is rendered, and sent with GET too', async () => {
  const call = callable({
    method: 'GET',
    endpoint: origin,
    args: [arg('name', 'body'), arg('n', 'body', { type: 'number' })],
    requestBody: '{"name": "{{.Args.name}}", "n": {{.Args.n}}}',
  })
  await call({ name: 'a "b"\n\\' })
  assert.deepEqual(JSON.parse(target.last().body.toString()), { name: 'a "b"\n\\', n: null })
})

test('a form is encoded as its Content-Type says, by template and from arguments', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const args = [arg('a', 'body'), arg('b', 'body', { type: 'array' })]
  await callable({ method: 'POST', endpoint: origin, headers, args })({ a: 'x&y=z', b: [1, 'é'] })
  assert.equal(target.last().body.toString(), 'a=x%26y%3Dz&b=1&b=%C3%A9')
  assert.equal(target.last().headers['content-type'], 'application/x-www-form-urlencoded')
  await callable({ method: 'POST', endpoint: origin, headers, args, requestBody: 'a={{.Args.a}}&k=1' })({
    a: 'x&y=z',
  })
  assert.deepEqual(
    [...new URLSearchParams(target.last().body.toString())],
    [
      ['a', 'x&y=z'],
      ['k', '1'],
    ],
  )
})

test('a body of another type goes as text', async () => {
  const headers = { 'Content-Type': 'text/plain; charset=utf-8' }
  await callable({
    method: 'POST',
    endpoint: origin,
    headers,
    args: [arg('a', 'body')],
    requestBody: '"{{raw .Args.a}}"',
  })({ a: 'say "é"' })
  assert.equal(target.last().body.toString(), '"say "é""')
  const { problems } = compileAll([
    makeTool({ method: 'POST', endpoint: origin, headers, args: [arg('a', 'body')] }),
  ])
  assert.match(problems[0]!.message, /are sent as JSON, but the Content-Type is `text\/plain`/)
  assert.equal(problems[0]!.severity, 'warning')
})

test('headers come from templates, Config and the request; the caller’s own are not copied', async () => {
  const call = callable(
    {
      endpoint: `${origin}/{{.Config.tenant}}`,
      headers: {
        Authorization: '{{.Request.Headers.Authorization}}',
        'X-Key': 'Key {{.Config.key}}',
        'X-Env': '{{env "REGION"}}',
        'X-Missing': '{{index .Request.Headers "X-Nothing"}}',
        'X-Trace-Id': '{{index .Request.Headers "x-trace-id"}}',
        Cookie: '123',
        'User-Agent': 'mine',
      },
    },
    { server: { config: { key: '{{env "API_KEY"}}', tenant: 't1' } }, env: { API_KEY: 'k-1', REGION: 'eu' } },
  )
  const headers = {
    authorization: 'Bearer caller',
    'x-trace-id': 'abc',
    'x-secret': 'no',
    cookie: 'session=1',
  }
  await call({}, { headers })
  const sent = target.last().headers
  assert.equal(target.last().url, '/t1')
  assert.equal(sent.authorization, 'Bearer caller')
  assert.equal(sent['x-key'], 'Key k-1')
  assert.equal(sent['x-env'], 'eu')
  assert.equal(sent['x-trace-id'], 'abc')
  assert.equal(sent.cookie, '123')
  assert.equal(sent['user-agent'], 'mine')
  assert.equal(sent['x-missing'], undefined)
  assert.equal(sent['x-secret'], undefined)
  await call({}, { headers: {} })
  assert.equal('authorization' in target.last().headers, false)
})

test('headers of replicas are not among those of the request', async () => {
  const call = callable({ endpoint: origin, method: 'POST', requestBody: '{{toJson .Request.Headers}}' })
  await call({}, { headers: { 'plantgw-hop': 'a', 'plantgw-hop-outer': 'b', 'x-own': 'c' } })
  assert.equal(target.last().body.toString(), '{"X-Own":"c"}')
})

test('the request’s query, cookies, path and body can be read', async () => {
  const call = callable({
    endpoint: origin,
    headers: {
      'X-Q': '{{.Request.Query.q}}',
      'X-C': '{{.Request.Cookies.sid}}',
      'X-P': '{{.Request.Path}}',
      'X-B': '{{.Request.Body.method}}',
    },
  })
  await call(
    {},
    {
      headers: { cookie: 'a=1; sid="s 1"; sid=2' },
      query: () => ({ q: '1' }),
      path: '/p/mcp',
      body: { method: 'tools/call' },
    },
  )
  const { headers } = target.last()
  assert.deepEqual(
    ['x-q', 'x-c', 'x-p', 'x-b'].map((name) => headers[name]),
    ['1', 's 1', '/p/mcp', 'tools/call'],
  )
})

test('a header argument goes before a header of the same name', async () => {
  const call = callable({ endpoint: origin, headers: { 'x-lang': 'en' }, args: [arg('X-Lang', 'header')] })
  await call({ 'X-Lang': 'de' })
  assert.equal(target.last().headers['x-lang'], 'de')
  await call({})
  assert.equal(target.last().headers['x-lang'], 'en')
})

test('a path argument that would change the path is refused', async () => {
  const before = target.received.length
  const call = callable({
    endpoint: `${origin}/users/{{.Args.id}}/x`,
    args: [arg('id', 'path', { required: true })],
  })
  for (const id of ['.', '..', '']) {
    const outcome = await call({ id })
    assert.equal(outcome.result.isError, true, id)
    const said = id === '' ? 'must not be empty' : `must not be \`${id}\`: it must be a name`
    assert.equal(text(outcome), `No request was sent: \`id\` ${said}.`)
    assert.match(outcome.detail!, /endpoint .* at `\{\{\.Args\.id\}\}`, line 1, column \d+/)
  }
  assert.equal(target.received.length, before)
})

test('a query argument that the endpoint names itself is sent once', async () => {
  const args = ['u', 'v'].map((name) => arg(name, 'query'))
  const urls: [endpoint: string, sent: string][] = [
    ['/echo?u={{.Args.u}}', '/echo?u=1&v=2'],
    ['/echo?u={{index .Args "u"}}', '/echo?u=1&v=2'],
    ['/echo?{{if .Args.u}}u={{.Args.u}}{{end}}', '/echo?u=1&v=2'],
    ['/echo{{$u := .Args.u}}/{{$u}}', '/echo/1?v=2'],
    ['/echo?{{range $name, $value := .Args}}{{$name}}={{$value}};{{end}}', '/echo?u=1;v=2;'],
    ['/echo', '/echo?u=1&v=2'],
  ]
  for (const [endpoint, sent] of urls) {
    await callable({ endpoint: origin + endpoint, args })({ u: '1', v: '2' })
    assert.equal(target.last().url, sent)
  }
})

test('a missing value in the endpoint is an error that names it', async () => {
  const call = callable({ endpoint: `${origin}/users/{{.Args.id}}`, args: [arg('id', 'path')] })
  const outcome = await call({})
  assert.equal(outcome.failure, 'template')
  assert.equal(text(outcome), 'No request was sent: `id` is missing; provide a value.')
  assert.match(outcome.detail!, /endpoint .*give the argument a default, or guard it.*\.Args\.id/)
})

test('what keeps a template from being made is told in terms of the call', async () => {
  const args = ['v', 'w'].map((name) => arg(name, 'path'))
  const said = async (parts: Partial<Tool>, given: JsonObject) => {
    const outcome = await callable({ endpoint: origin, args, ...parts })(given)
    assert.equal(outcome.failure, 'template')
    assert.match(outcome.detail!, /of this tool could not be rendered: .*line 1, column \d+\.$/)
    assert.doesNotMatch(text(outcome), /\{\{|column|guard|\.Args/)
    return text(outcome)
  }
  assert.equal(
    await said({ endpoint: `${origin}/{{$x := .Args.v}}{{$x}}` }, { w: 'x' }),
    'No request was sent: `v` is missing; provide a value.',
  )
  assert.equal(
    await said({ endpoint: `${origin}/{{.Request.Headers.X}}` }, {}),
    'No request was sent: the header `X` is missing; it is part of the request to this gateway, not of the arguments.',
  )
  assert.equal(
    await said({ headers: { 'X-A': '{{.Args.v}} {{.Args.w}}' } }, { v: 'a\nb', w: 'x' }),
    'No request was sent: `v` contains a line break or another character that is not allowed in the header X-A.',
  )
  assert.equal(
    await said({ method: 'POST', requestBody: '{"a": {{index (list 1) (atoi .Args.v)}}}' }, { v: '3' }),
    'No request was sent: the requestBody of this tool could not be rendered with `v`: index out of range.',
  )
  assert.equal(
    await said({ method: 'POST', requestBody: '{"a": {{index .Args (list 1)}}}' }, { v: 'x' }),
    'No request was sent: the requestBody of this tool could not be rendered with the arguments: value has type []interface {}; should be string.',
  )
  assert.equal(
    await said({ endpoint: `${origin}/{{.Args.v}}{{.Args.w}}` }, { v: '.', w: '.' }),
    'No request was sent: `v` must not be `.`: it must be a name.',
  )
})

test('a prompt that cannot be made says so in terms of the call', async () => {
  const { prompts } = compilePrompts(
    {
      prompts: [
        {
          name: 'p',
          arguments: [{ name: 'v', required: false }],
          promptResponse: [
            { role: 'user', content: { type: 'text', text: '{{index (list 1) (atoi .Args.v)}}' } },
          ],
        },
      ],
    } as never,
    { env: {} },
  )
  assert.equal(
    (await prompts.get('p', { v: '3' })).error,
    'The text of this prompt could not be rendered with `v`: index out of range.',
  )
})

test('what is wrong with an endpoint is found at load', () => {
  const problem = (endpoint: string, config: Record<string, string> = {}) => {
    const { problems, tools } = compileAll([makeTool({ endpoint })], { server: { config } })
    assert.equal(tools.list().length, 0, endpoint)
    assert.deepEqual(problems[0]?.path, ['tools', 0, 'endpoint'])
    return problems[0]!.message
  }
  assert.match(problem('file:///etc/passwd'), /scheme file: but only http and https/)
  assert.match(problem('ftp://host/{{.Args.x}}'), /scheme ftp:/)
  assert.match(problem('/relative'), /is a path, but the server `server` has no `baseUrl`/)
  assert.match(problem('//host/x'), /begins with two slashes/)
  assert.match(problem('http://user:pass@host/x'), /user name or password/)
  assert.match(problem('http://host:99999/x'), /not name a valid host and port/)
  assert.match(problem('http:///x'), /not name a valid host and port/)
  assert.match(problem('http://host/a/../b'), /path segment that is `\.` or `\.\.`/)
  assert.match(problem('{{.Config.base}}/x', { base: 'host.example' }), /not an absolute/)
  assert.match(problem('http://host/{{.Args.id'), /./)
  assert.equal(problem('http://{{.Args.host}}/x').includes('pass'), false)
})

test('an unset variable is a problem at its place', () => {
  const server = { config: { key: '{{env "NOPE"}}' } }
  const { problems } = compileAll([makeTool({ endpoint: origin, headers: { 'X-K': '{{env "NOPE2"}}' } })], {
    server,
  })
  assert.deepEqual(
    problems.map(({ path, code }) => [path, code]),
    [
      [['servers', 0, 'config', 'key'], 'env-unset'],
      [['tools', 0, 'headers', 'X-K'], 'env-unset'],
    ],
  )
})

test('headers that frame the message are refused at load', () => {
  for (const name of [
    'Connection',
    'transfer-encoding',
    'Content-Length',
    'TE',
    'Upgrade',
    'Proxy-Authorization',
    'bad name',
    '',
  ]) {
    const { problems } = compileAll([makeTool({ endpoint: origin, headers: { [name]: 'x' } })])
    assert.equal(problems[0]?.code, 'forbidden-header', name)
  }
  const { problems } = compileAll([makeTool({ endpoint: origin, args: [arg('Host', 'header')] })])
  assert.deepEqual(problems[0]?.path, ['tools', 0, 'args', 0, 'name'])
  const twice = compileAll([makeTool({ endpoint: origin, headers: { 'X-A': '1', 'x-a': '2' } })])
  assert.equal(twice.problems[0]?.code, 'duplicate-name')
})

test('Host may be named by the author', async () => {
  await callable({ endpoint: origin, headers: { Host: 'virtual.example' } })()
  assert.equal(target.last().headers.host, 'virtual.example')
})

test('characters that a URL cannot hold are encoded in what the author wrote', async () => {
  await callable({ endpoint: `${origin}/é a?q=ü b\n` })()
  assert.equal(target.last().url, '/%C3%A9%20a?q=%C3%BC%20b')
})

test('a body beyond the limit is not sent', async () => {
  const before = target.received.length
  const call = callable({
    method: 'POST',
    endpoint: origin,
    args: [arg('a', 'body')],
    limits: { maxRequestSize: 1024 },
  })
  const outcome = await call({ a: 'x'.repeat(1024) })
  assert.equal(outcome.failure, 'too-large')
  assert.match(text(outcome), /limit of 1 KiB \(maxRequestSize\)/)
  assert.equal(target.received.length, before)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arg, callable, json, text, upstream } from './harness.ts'

const other = await upstream()
/** `/<status>?to=<location>` redirects; everything else answers. */
const target = await upstream((response, { url }) => {
  const { pathname, searchParams } = new URL(url, 'http://x')
  const status = Number(pathname.slice(1))
  if (!status) return json(response, { ok: true })
  const location = Buffer.from(searchParams.get('to') ?? '/').toString('latin1')
  response.writeHead(status, { location }).end()
})

const secrets = {
  Authorization: 'Bearer {{.Config.token}}',
  'X-Api-Key': 'literal',
  'Accept-Language': 'de',
  'X-Arg': '{{.Args.a}}',
}
function follow(path: string, method = 'GET', body?: string) {
  return callable(
    {
      endpoint: target.origin + path,
      method,
      followRedirects: true,
      headers: secrets,
      args: [arg('a', 'query', { default: 'v' }), arg('X-H', 'header', { default: 'h' })],
      ...(body ? { requestBody: body } : {}),
    },
    { server: { config: { token: 't' } } },
  )()
}

test('a redirect is not followed by itself; the result names where it leads, without secrets', async () => {
  const outcome = await callable({ endpoint: `${target.origin}/302?to=http://u:p@else.example/x?token=s` })()
  assert.equal(outcome.failure, 'redirect')
  assert.equal(outcome.upstreamStatus, 302)
  assert.equal(outcome.result.isError, true)
  assert.equal(
    text(outcome),
    `GET ${target.origin}/302 answered 302 Found: a redirect to http://else.example/x that was not followed; set followRedirects on the tool to follow it.`,
  )
})

test('followRedirects follows, with the headers of the tool to its own origin', async () => {
  assert.equal(text(await follow('/302?to=/end?x=1')), '{"ok":true}')
  const { url, headers } = target.last()
  assert.equal(url, '/end?x=1')
  assert.equal(headers.authorization, 'Bearer t')
  assert.equal(headers['x-arg'], 'v')
})

test('a location in UTF-8 that is not encoded leads where browsers go', async () => {
  assert.equal(text(await follow('/302?to=/%C3%A9?q=%C3%BC')), '{"ok":true}')
  assert.equal(target.last().url, '/%C3%A9?q=%C3%BC')
})

test('credentials and whatever else the tool made stay with the first origin', async () => {
  assert.equal((await follow(`/307?to=${other.origin}/end`)).failure, undefined)
  const { headers, url } = other.last()
  assert.equal(url, '/end')
  assert.deepEqual(Object.keys(headers).sort(), [
    'accept',
    'accept-language',
    'connection',
    'host',
    'user-agent',
  ])
})

test('methods and bodies change as fetch changes them', async () => {
  const cases: [number, string, string, string][] = [
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [302, 'PUT', 'PUT', '{"a":1}'],
    [307, 'POST', 'POST', '{"a":1}'],
    [308, 'PATCH', 'PATCH', '{"a":1}'],
    [303, 'HEAD', 'HEAD', ''],
  ]
  for (const [status, method, then, body] of cases) {
    assert.equal(
      (await follow(`/${status}?to=/end`, method, '{"a":1}')).failure,
      undefined,
      `${status} ${method}`,
    )
    const last = target.last()
    assert.deepEqual([last.method, last.url], [then, '/end'], `${status} ${method}`)
    if (method !== 'HEAD') assert.equal(last.body.toString(), body)
    if (body === '' && method !== 'HEAD') assert.equal(last.headers['content-type'], undefined)
  }
})

test('at most five are followed', async () => {
  const nest = (times: number): string =>
    times === 0 ? '/end' : `/302?to=${encodeURIComponent(nest(times - 1))}`
  assert.equal((await follow(nest(5))).failure, undefined)
  const before = target.received.length
  const outcome = await follow(nest(6))
  assert.equal(outcome.failure, 'redirect')
  assert.match(text(outcome), /redirected more than 5 times/)
  assert.equal(target.received.length - before, 6)
})

test('a redirect to anything but plain http and https is not followed', async () => {
  for (const to of (
    'file:///etc/passwd ftp://x/y data:text/plain,x http://user:pw@127.0.0.1/ http://:x ' + 'javascript:1'
  ).split(' ')) {
    const outcome = await follow(`/302?to=${encodeURIComponent(to)}`)
    assert.equal(outcome.failure, 'redirect', to)
    assert.doesNotMatch(text(outcome), /pw|passwd/)
  }
})

test('the time-out is one for the whole chain', async () => {
  const loop = await upstream((response) =>
    setImmediate(() => response.writeHead(302, { location: '/' }).end()),
  )
  const silent = await upstream((response, { url }) => {
    if (url === '/') response.writeHead(302, { location: '/silent' }).end()
  })
  assert.equal((await callable({ endpoint: loop.origin, followRedirects: true })()).failure, 'redirect')
  const outcome = await callable({
    endpoint: silent.origin,
    followRedirects: true,
    limits: { timeout: 80 },
  })()
  assert.equal(outcome.failure, 'timeout')
})

/** A tool that posts a secret, and is redirected by 307 to `to`. */
const post = (to: string, parts: object = {}) =>
  callable(
    {
      endpoint: `${target.origin}/307?to=${encodeURIComponent(to)}`,
      method: 'POST',
      followRedirects: true,
      requestBody: '{"api_key": "{{.Config.apiKey}}"}',
      ...parts,
    },
    { server: { config: { apiKey: 'topsecret123' } } },
  )()

test('a body goes to no other origin', async () => {
  for (const [status, method] of [
    [307, 'POST'],
    [308, 'PATCH'],
    [302, 'PUT'],
    [301, 'DELETE'],
  ] as const) {
    const before = other.received.length
    const outcome = await post('', { endpoint: `${target.origin}/${status}?to=${other.origin}/end`, method })
    assert.equal(outcome.failure, 'redirect')
    assert.equal(
      text(outcome),
      `${target.origin} answered ${status} with a redirect to ${other.origin}. It was not followed, as the body of the request would go to another origin.`,
    )
    assert.equal(other.received.length, before)
  }
  assert.equal((await post(`${target.origin}/end`)).failure, undefined)
  assert.equal(target.last().body.toString(), '{"api_key": "topsecret123"}')
})

test('without a body, or where the body is dropped, a redirect to another origin is followed', async () => {
  const { requestBody, ...bare } = {
    requestBody: undefined,
    endpoint: `${target.origin}/307?to=${other.origin}/end`,
  }
  assert.equal((await callable({ ...bare, method: 'DELETE', followRedirects: true })()).failure, undefined)
  assert.deepEqual([other.last().method, other.last().url], ['DELETE', '/end'])
  assert.equal(
    (await post('', { endpoint: `${target.origin}/303?to=${other.origin}/end` })).failure,
    undefined,
  )
  assert.deepEqual([other.last().method, other.last().body.length], ['GET', 0])
})

test('no header and no query takes a known secret to another origin', async () => {
  const headers = { 'User-Agent': 'agent {{.Config.apiKey}}', 'Accept-Language': 'de' }
  const query = `?a=1&k=topsecret123&l=topsecret%3123&b=2`
  const outcome = await post(`${other.origin}/end${query}`, {
    method: 'GET',
    requestBody: undefined,
    headers,
  })
  assert.equal(outcome.failure, undefined)
  assert.equal(other.last().url, '/end?a=1&b=2')
  assert.equal(other.last().headers['user-agent'], undefined)
  assert.equal(other.last().headers['accept-language'], 'de')
  const path = await post(`${other.origin}/topsecret123/end`, { method: 'GET', requestBody: undefined })
  assert.equal(path.failure, 'redirect')
  assert.match(text(path), /with a credential of this tool in its path/)
  await post(`${target.origin}/end${query}`, { method: 'GET', requestBody: undefined, headers })
  assert.equal(target.last().url, `/end${query}`)
})

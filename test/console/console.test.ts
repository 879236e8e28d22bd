import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { getRequestListener } from '@hono/node-server'
import { ownEvents } from '../../src/net/index.ts'
import { gatewayOver } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'
import { body, type Loose, stateless } from '../support/wire.ts'

const ADMIN = 'an-admin-token-of-30-characters'
const SECRET = 'a-secret-of-the-api'

/** A gateway with one HTTP tool, over a real socket. */
async function world(
  t: TestContext,
  settings: object = {},
  answer = (_: IncomingMessage, response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"name":"<b>Fern</b>"}'),
  more: object = {},
) {
  const api = await listening(t, createServer(answer))
  const folder = temporaryFolder(t)
  const configuration = {
    name: 'shop',
    routers: [{ server: 'shop', prefix: '/shop', ...more }],
    servers: [
      {
        name: 'shop',
        description: 'Shop',
        baseUrl: `http://127.0.0.1:${api}`,
        headers: { Authorization: `Bearer ${SECRET}` },
      },
    ],
    tools: [
      {
        name: 'getPlant',
        description: 'Gets a plant <script>alert(1)</script>',
        method: 'GET',
        endpoint: '/plants/{{.Args.id}}',
        args: [{ name: 'id', type: 'string', position: 'path', description: 'Its id', required: true }],
      },
    ],
  }
  writeFileSync(join(folder, 'shop.yaml'), JSON.stringify(configuration))
  const { gateway, findings } = await gatewayOver(t, [folder], settings)
  assert.deepEqual(findings, [])
  const port = await listening(t, createServer(getRequestListener(gateway.app.fetch)))
  const origin = `http://127.0.0.1:${port}`
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(origin + path, { headers: { accept: 'text/html', ...headers }, redirect: 'manual' })
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(origin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      redirect: 'manual',
    })
  return { gateway, origin, get, post }
}

const CALL = { prefix: '/shop', tool: 'getPlant', arguments: { id: 'a b' } }

/** The lines of an answer to a call of the console. */
async function linesOf(response: Response): Promise<Loose[]> {
  assert.equal(response.status, 200)
  return (await response.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

test('a call of the console says what was sent, what came back and what the model gets', async (t) => {
  const { post, get } = await world(t)
  const { exchanges, answer, ms } = (await linesOf(await post('/_console/call', CALL))).at(-1)!
  assert.equal(exchanges.length, 1)
  assert.match(exchanges[0].sent, /^GET http:\/\/127\.0\.0\.1:\d+\/plants\/a%20b\n/)
  assert.match(exchanges[0].sent, /^authorization: \*\*\*$/im)
  assert.equal(exchanges[0].status, 200)
  assert.equal(exchanges[0].received, '{"name":"<b>Fern</b>"}')
  assert.match(answer.result.content[0].text, /Fern/)
  assert.ok(ms > 0)
  // It is recorded like every call, without contents.
  const page = await (await get('/_console/calls?id=1')).text()
  assert.match(page, /getPlant/)
  assert.match(page, /are not recorded/)
  assert.doesNotMatch(page, /a%20b/)
})

test('an answer with NUL is shown as text', async (t) => {
  const { post } = await world(t, {}, (_, response) =>
    response.writeHead(200, { 'content-type': 'text/plain' }).end('a\0b'),
  )
  const { exchanges } = (await linesOf(await post('/_console/call', CALL))).at(-1)!
  assert.equal(exchanges[0].received, 'a\\u0000b')
})

test('contents are recorded where the settings say so, and open in the form', async (t) => {
  const { post, get } = await world(t, { console: { contents: true } })
  await linesOf(await post('/_console/call', CALL))
  const page = await (await get('/_console/calls?id=1')).text()
  assert.match(page, /plants\/a%20b/)
  assert.ok(!page.includes(SECRET), 'secrets are masked')
  const [, link] = /href="([^"]*call=1)"/.exec(page)!
  const form = await (await get(link!.replaceAll('&amp;', '&'))).text()
  assert.match(form, /\{&quot;id&quot;:&quot;a b&quot;\}/)
})

test('render shows the request, and sends nothing', async (t) => {
  const asked: string[] = []
  const { post } = await world(t, {}, (request, response) => {
    asked.push(request.url!)
    return response.end('{}')
  })
  const { request } = (await (await post('/_console/render', CALL)).json()) as Loose
  assert.match(request, /\/plants\/a%20b\n/)
  assert.ok(!request.includes(SECRET))
  const refused = await post('/_console/render', { ...CALL, arguments: {} })
  assert.equal(refused.status, 400)
  assert.match(((await refused.json()) as Loose).message, /`id` is missing/)
  assert.deepEqual(asked, [])
})

test('foreign text is text on every page', async (t) => {
  const { get, post } = await world(t, { console: { contents: true } })
  await linesOf(await post('/_console/call', { ...CALL, arguments: { id: '<img src=x onerror=alert(1)>' } }))
  const pages = ['', '/tools', '/tools?prefix=/shop&tool=getPlant', '/calls', '/calls?id=1', '/servers']
  for (const path of [...pages, '/configurations', '/configurations?name=shop', '/connect']) {
    const response = await get(`/_console${path}`)
    assert.equal(response.status, 200, path)
    const text = await response.text()
    assert.ok(!/<(?:b|img|script)>|<img src=x|<script>alert/.test(text), path)
    const policy = response.headers.get('content-security-policy')!
    assert.match(policy, /default-src 'none'/)
    assert.doesNotMatch(policy, /unsafe/)
  }
})

test('with a token in the settings the console asks for it, once for each browser', async (t) => {
  const { get, post, gateway, origin } = await world(t, { admin: { token: ADMIN } })
  const closed = await get('/_console')
  assert.equal(closed.status, 401)
  assert.match(await closed.text(), /Log in to the console/)
  assert.equal((await post('/_console/call', CALL)).status, 401)
  const login = (token: string) =>
    fetch(`${origin}/_console/login`, {
      method: 'POST',
      body: new URLSearchParams({ token }),
      redirect: 'manual',
    })
  assert.equal((await login('wrong-token-wrong-token')).status, 401)
  const opened = await login(ADMIN)
  assert.deepEqual([opened.status, opened.headers.get('location')], [303, '/_console'])
  const cookie = opened.headers.get('set-cookie')!
  assert.match(cookie, /; HttpOnly; SameSite=Strict;/)
  assert.ok(!cookie.includes(ADMIN))
  assert.equal((await get('/_console', { cookie: cookie.split(';')[0]! })).status, 200)
  assert.equal((await get('/_console', { authorization: `Bearer ${ADMIN}` })).status, 200)
  // The link that serve prints is good once.
  const code = gateway.console.logins.code()
  assert.equal((await get(`/_console?code=${code}`)).status, 303)
  assert.equal((await get(`/_console?code=${code}`)).status, 401)
})

test('another site cannot use the console of a browser that is logged in', async (t) => {
  const { get, post, gateway } = await world(t, { admin: { token: ADMIN } })
  const cookie = gateway.console.logins.login(undefined, false).split(';')[0]!
  const foreign = { cookie, origin: 'https://evil.example' }
  assert.equal((await post('/_console/call', CALL, foreign)).status, 403)
  assert.equal((await get('/_console', foreign)).status, 403)
  assert.equal((await post('/_console/logout', {}, foreign)).status, 403)
  // A page on another port of this machine gets the cookie too.
  const beside = { cookie, 'sec-fetch-site': 'same-site' }
  for (const path of ['call', 'logout', 'reload'])
    assert.equal((await post(`/_console/${path}`, CALL, beside)).status, 403, path)
  assert.equal((await get('/_console', { cookie })).status, 200)
  // A form of another site cannot send JSON without asking first.
  assert.equal((await post('/_console/call', CALL, { cookie, 'content-type': 'text/plain' })).status, 415)
})

test('a tenant sees its own', async (t) => {
  const token = 'the-token-of-the-tenant-green'
  const { get, post } = await world(t, {
    admin: { token: ADMIN },
    tenants: [{ name: 'green', prefix: '/green', tokens: [{ token, caller: 'ops' }] }],
  })
  await linesOf(await post('/_console/call', CALL, { authorization: `Bearer ${ADMIN}` }))
  for (const path of ['', '/tools', '/calls', '/configurations', '/connect']) {
    const own = await (await get(`/_console${path}`, { authorization: `Bearer ${token}` })).text()
    assert.ok(!own.includes('/shop') && !own.includes('getPlant'), path)
  }
  const refused = await post('/_console/call', CALL, { authorization: `Bearer ${token}` })
  assert.equal(refused.status, 404)
})

test('calls of the console keep to the rules of the prefix, and can be switched off', async (t) => {
  const auth = { type: 'bearer', tokens: [{ caller: 'alice', token: 'the-token-of-alice-1234' }] }
  const { post } = await world(t, {}, undefined, { auth })
  const [closed] = await linesOf(await post('/_console/call', CALL))
  assert.match(closed!.answer.error.message, /token|Authorization/)
  const authorization = 'Bearer the-token-of-alice-1234'
  const [open] = await linesOf(await post('/_console/call', { ...CALL, authorization }))
  assert.ok(open!.answer.result)
  const off = await world(t, { console: { calls: false } })
  assert.equal((await off.post('/_console/call', CALL)).status, 403)
})

test('a call to a server that cannot start is remembered as failed', async (t) => {
  const folder = temporaryFolder(t)
  const dying = { name: 'dead', type: 'stdio', command: process.execPath, args: ['-e', 'process.exit(3)'] }
  const text = { name: 'dead', routers: [{ server: 'dead', prefix: '/one' }], mcpServers: [dying] }
  writeFileSync(join(folder, 'dead.yaml'), JSON.stringify(text))
  const { gateway } = await gatewayOver(t, [folder], {})
  const { error } = await body(stateless(gateway.app, 'tools/call', { name: 'x', arguments: {} }))
  assert.equal(error.code, -32603)
  const [{ calls } = { calls: [] }] = await gateway.console.source.recorded()
  assert.deepEqual(
    calls.map(({ name, outcome, failure }) => [name, outcome, failure]),
    [['x', 'failed', error.message]],
  )
})

test('the search of tools shows the words because of which each was found', async (t) => {
  const { get } = await world(t)
  const page = await (await get('/_console/tools?prefix=/shop&q=fetch a plant')).text()
  assert.match(page, /<td data-of="Rank">1<\/td>.*getPlant.*<td data-of="Score">\d+\.\d\d<\/td>.*plant \(/s)
  const none = await (await get('/_console/tools?prefix=/shop&q=zebra')).text()
  assert.match(none, /None\./)
})

test('a login ends with its token, and by logout', async (t) => {
  const token = 'the-token-of-the-tenant-green'
  const { get, post, origin, gateway } = await world(t, {
    admin: { token: ADMIN },
    tenants: [{ name: 'green', prefix: '/green', tokens: [{ token, caller: 'ops' }] }],
  })
  const opened = await fetch(`${origin}/_console/login`, {
    method: 'POST',
    body: new URLSearchParams({ token }),
    redirect: 'manual',
  })
  const cookie = opened.headers.get('set-cookie')!.split(';')[0]!
  assert.equal((await get('/_console', { cookie })).status, 200)
  assert.equal(
    gateway.console.logins.of(cookie, () => undefined),
    undefined,
    'the token is judged each time',
  )
  assert.match((await post('/_console/logout', {}, { cookie })).headers.get('set-cookie')!, /Max-Age=0/)
  assert.equal((await get('/_console', { cookie })).status, 401)
})

test('numbers arrive as they were written, and what is no header is refused', async (t) => {
  const { origin, post } = await world(t)
  const response = await fetch(`${origin}/_console/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"prefix":"/shop","tool":"getPlant","arguments":{"id":9007199254740993}}',
  })
  const { answer, exchanges } = (await linesOf(response)).at(-1)!
  assert.match(
    exchanges?.[0]?.sent ?? answer.result.content[0].text,
    /9007199254740993|must be a string|a string/,
  )
  const refused = await post('/_console/call', { ...CALL, authorization: 'Bearer “x”' })
  assert.equal(refused.status, 400)
  assert.match(((await refused.json()) as Loose).message, /one line of ASCII/)
})

test('finished calls are told at once', async (t) => {
  const { origin, post } = await world(t)
  const response = await fetch(`${origin}/_console/events`)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const until = async (wanted: RegExp) => {
    while (!wanted.test(text)) text += (await reader.read()).value
  }
  await until(/event: tick/)
  await linesOf(await post('/_console/call', CALL))
  await until(/event: call\ndata: \{.*"name":"getPlant".*\}\n\n/)
  await reader.cancel()
})

test('pages load themselves again after calls', async (t) => {
  const { origin, post } = await world(t)
  const left = new AbortController()
  const seen: (string | undefined)[] = []
  const follow = async (path: string) => {
    const { body } = await fetch(`${origin}/_console/${path}`, { signal: left.signal })
    for await (const { event } of ownEvents(body!.pipeThrough(new TextDecoderStream()))) seen.push(event)
  }
  const following = Promise.allSettled([follow('changes'), follow('events')])
  await until(() => seen.includes('change') && seen.includes('tick'))
  seen.length = 0
  for (let i = 0; i < 20; i++) await linesOf(await post('/_console/call', CALL))
  // Without calls, a change would come with the next tick.
  await until(() => seen.includes('change') || seen.includes('tick'))
  assert.deepEqual([...new Set(seen)].sort(), ['call', 'change'])
  left.abort()
  await following
})

test('a client connects by a link, a text for its file, or a command', async (t) => {
  const { get } = await world(t)
  const page = async (client: string) =>
    (await (await get(`/_console/connect?client=${client}`)).text())
      .replaceAll('&quot;', '"')
      .replaceAll('&amp;', '&')
  const code = await page('vscode')
  assert.match(code, /"servers": \{\n {4}"shop": \{\n {6}"type": "http",\n {6}"url": "http[^"]+\/shop\/mcp"/)
  const [, link] = /href="vscode:mcp\/install\?([^"]+)"/.exec(code)!
  const { name, type, url } = JSON.parse(decodeURIComponent(link!))
  assert.deepEqual([name, type], ['shop', 'http'])
  assert.match(url, /\/shop\/mcp$/)
  const [, query] = /href="cursor:\/\/anysphere.cursor-deeplink\/mcp\/install\?([^"]+)"/.exec(
    await page('cursor'),
  )!
  const { config, name: named } = Object.fromEntries(new URLSearchParams(query))
  assert.deepEqual([named, JSON.parse(atob(config!))], ['shop', { url }])
  assert.match(await page('codex'), /\[mcp_servers\.shop\]\nurl = /)
})

test('the link of a prefix that needs a token has the name of its variable, and no token', async (t) => {
  const auth = { type: 'bearer', tokens: [{ caller: 'alice', token: 'the-token-of-alice-1234' }] }
  const { get } = await world(t, {}, undefined, { auth })
  const text = await (await get('/_console/connect?client=vscode')).text()
  const [, link] = /href="vscode:mcp\/install\?([^"]+)"/.exec(text)!
  const { headers, inputs } = JSON.parse(decodeURIComponent(link!))
  assert.deepEqual(headers, { Authorization: `Bearer \${input:plantgw-token}` })
  assert.equal(inputs[0].password, true)
  assert.match(text, /--token-env PLANTGW_TOKEN/)
})

test('an open page does not delay a shutdown', async (t) => {
  const { origin, gateway } = await world(t)
  const response = await fetch(`${origin}/_console/events`)
  gateway.beginDrain()
  assert.match(await response.text(), /^event: tick/)
})

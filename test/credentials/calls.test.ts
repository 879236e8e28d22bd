import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import type { Credentials } from '../../src/config/model.ts'
import { credentialsFor } from '../../src/credentials/credential.ts'
import { HttpClient } from '../../src/net/index.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import { authorizationServer, MACHINE } from '../fixtures/authorization-server.ts'
import { modern } from '../support/client.ts'
import { gatewayHere } from '../support/gateway.ts'
import { signed, testIssuer } from '../support/issuer.ts'
import { listening } from '../support/listening.ts'
import { CLIENT, json, type TokenServer, tokenServer } from '../support/tokens.ts'
import type { Loose } from '../support/wire.ts'
import { callable, text } from '../tools/harness.ts'
import { open } from '../upstream/harness.ts'

interface Api {
  origin: string
  /** Method, path and `Authorization` of each request. */
  asked: { method: string; url: string; token: string; headers: IncomingMessage['headers'] }[]
}

async function listen(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
) {
  const server = createServer(answer)
  const port = await listening(t, server)
  return `http://127.0.0.1:${port}`
}

/** An API that wants a live token of the authorization server, and says whose it is, and the token itself. */
async function api(t: TestContext, tokens: TokenServer, elsewhere = ''): Promise<Api> {
  const asked: Api['asked'] = []
  const origin = await listen(t, (request, response) => {
    const { method = '', url = '', headers } = request
    request.resume()
    const token = headers.authorization?.replace(/^Bearer /, '') ?? ''
    asked.push({ method, url, token, headers })
    const to = new URLSearchParams(url.split('?')[1]).get('to')
    if (to !== null) return response.writeHead(302, { location: to === 'away' ? `${elsewhere}/x` : to }).end()
    const whose = tokens.live.get(token)
    if (whose === undefined) return json(response, 401, { error: `not known: ${token}` })
    return json(response, 200, { whose: digest(whose), repeated: `you sent ${token}` })
  })
  return { origin, asked }
}

/** The same for MCP. */
async function mcp(t: TestContext, tokens: TokenServer): Promise<Api & { sessions: Map<string, string> }> {
  const asked: Api['asked'] = []
  const sessions = new Map<string, string>()
  const origin = await listen(t, async (request, response) => {
    const { method = '', url = '', headers } = request
    let text = ''
    for await (const chunk of request) text += chunk
    const token = headers.authorization?.replace(/^Bearer /, '') ?? ''
    asked.push({ method, url, token, headers })
    const whose = tokens.live.get(token)
    if (whose === undefined) return json(response, 401, {})
    if (method !== 'POST') return response.writeHead(405).end()
    const { id, method: asks }: Loose = JSON.parse(text)
    if (id === undefined) return response.writeHead(202).end()
    if (asks === 'server/discover')
      return json(response, 200, { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })
    const session = String(headers['mcp-session-id'] ?? `s${sessions.size + 1}`)
    if (asks === 'initialize') sessions.set(session, whose)
    response.setHeader('mcp-session-id', session)
    const said = `${session} of ${digest(sessions.get(session))} for ${digest(whose)}: ${token}`
    const result =
      asks === 'initialize'
        ? {
            protocolVersion: '2025-11-25',
            capabilities: { tools: {} },
            serverInfo: { name: 's', version: '1' },
          }
        : { content: [{ type: 'text', text: said }] }
    return json(response, 200, { jsonrpc: '2.0', id, result })
  })
  return { origin, asked, sessions }
}

/** Shows whose a token is without the token that was exchanged for it. */
function digest(text = ''): string {
  return text === 'gateway' ? text : createHash('sha256').update(text).digest('hex').slice(0, 8)
}

const AUDIENCE = 'https://tools.example.com/p/mcp'

/** Those who log in at the gateway. */
async function logins(t: TestContext) {
  const issuer = await testIssuer(t)
  const key = await issuer.addKey('k')
  const auth = { type: 'jwt', issuers: [{ issuer: issuer.issuer }], audience: AUDIENCE }
  const token = (sub: string, more: object = {}) =>
    signed(
      key,
      { alg: 'ES256', kid: 'k' },
      { iss: issuer.issuer, aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 3600, sub, ...more },
    )
  return { auth, token }
}

const tool = (origin: string, path: string, more: object = {}) => ({
  name: path.replace(/\W+/g, '_').slice(1),
  description: 'Calls',
  endpoint: origin + path,
  ...more,
})

function configuration(credentials: object, tools: object[], auth?: object) {
  return {
    name: 'test',
    routers: [{ server: 'shop', prefix: '/p', ...(auth && { auth }) }],
    servers: [{ name: 'shop', credentials }],
    tools,
  }
}

const login = (token: string) => ({ authorization: `Bearer ${token}` })
const fetched = (tokens: TokenServer, more: object = {}) => ({
  type: 'clientCredentials',
  tokenUrl: tokens.url,
  ...CLIENT,
  ...more,
})

describe('credentials of HTTP tools', () => {
  test('are fetched once, and not shown where the API repeats them', async (t) => {
    const tokens = await tokenServer(t)
    const shop = await api(t, tokens)
    const { base, logged } = await gatewayHere(t, configuration(fetched(tokens), [tool(shop.origin, '/a')]))
    const client = await open(`${base}/p/mcp`)
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.call('a')))
    assert.deepEqual(new Set(answers), new Set(['{"whose":"gateway","repeated":"you sent ***"}']))
    assert.equal(tokens.asked.length, 1)
    const [token = ''] = tokens.live.keys()
    assert.ok(!JSON.stringify(logged).includes(token))
  })

  test('are a fixed header', async (t) => {
    const seen: IncomingMessage['headers'][] = []
    const origin = await listen(t, ({ headers }, response) => {
      seen.push(headers)
      json(response, 401, { key: headers['x-api-key'] })
    })
    const credentials = { type: 'static', header: 'X-Api-Key', value: 'key-123456' }
    const { base } = await gatewayHere(t, configuration(credentials, [tool(origin, '/a')]))
    const said = await (await open(`${base}/p/mcp`)).call('a')
    assert.match(said, /401/)
    assert.match(said, /\{"key":"\*\*\*"\}/)
    assert.deepEqual(
      seen.map((headers) => headers['x-api-key']),
      ['key-123456'],
    )
  })

  test('are renewed once after 401, and the request is sent again', async (t) => {
    const tokens = await tokenServer(t)
    const shop = await api(t, tokens)
    const { base } = await gatewayHere(
      t,
      configuration(fetched(tokens), [tool(shop.origin, '/a', { method: 'POST' })]),
    )
    const client = await open(`${base}/p/mcp`)
    await client.call('a')
    tokens.live.clear()
    assert.match(await client.call('a'), /"whose":"gateway"/)
    assert.equal(tokens.asked.length, 2)
    assert.equal(shop.asked.length, 3)
    // The API takes none of them any more.
    tokens.live.clear()
    const said = await client.call('a')
    assert.match(said, /401/)
    assert.match(said, /not known: \*\*\*/)
    assert.equal(tokens.asked.length, 2)
    assert.equal(shop.asked.length, 4)
  })

  test('are not sent twice where something was done before the refusal', async (t) => {
    const tokens = await tokenServer(t)
    const shop = await api(t, tokens)
    const follow = { followRedirects: true }
    const tools = [tool(shop.origin, '/b?to=/c', { ...follow, method: 'POST' })]
    const { base } = await gatewayHere(t, configuration(fetched(tokens), tools))
    const client = await open(`${base}/p/mcp`)
    assert.match(await client.call('b_to_c'), /"whose":"gateway"/)
    tokens.live.clear()
    shop.asked.length = 0
    assert.match(await client.call('b_to_c'), /"whose":"gateway"/)
    assert.deepEqual(
      shop.asked.map(({ method, url }) => `${method} ${url}`),
      ['POST /b?to=/c', 'GET /c', 'GET /c'],
      'what was done is not done twice',
    )
  })

  test('stay with the origin of the endpoint', async (t) => {
    const tokens = await tokenServer(t)
    const other = await api(t, tokens)
    const shop = await api(t, tokens, other.origin)
    const http = new HttpClient()
    t.after(() => http.close())
    const settings = {
      ...fetched(tokens),
      clientAuthentication: 'basic',
      scopes: [],
    } as unknown as Credentials
    const credentialsOf = credentialsFor({ http, guards: undefined, log: silentLog })
    const call = callable(
      { endpoint: `${shop.origin}/a?to=away`, followRedirects: true },
      { server: { credentials: settings }, credentialsOf },
    )
    assert.match(text(await call()), /401/)
    assert.deepEqual(
      other.asked.map(({ headers }) => headers.authorization),
      [undefined],
    )
    assert.equal(shop.asked.length, 1)
    assert.equal(tokens.asked.length, 1, 'a refusal of another origin is none of the token')
  })

  test('do not come from where the gateway does not connect', async (t) => {
    const tokens = await tokenServer(t)
    tokens.endpoint = 'https://169.254.169.254/token'
    const { tokenUrl: _, ...credentials } = { ...fetched(tokens), issuer: tokens.origin }
    const { base } = await gatewayHere(t, configuration(credentials, [tool(tokens.origin, '/a')]))
    assert.equal(
      await (await open(`${base}/p/mcp`)).call('a'),
      'No token for the server shop could be fetched: https://169.254.169.254 is at the address of a metadata service, to which this gateway does not connect (outbound).',
    )
  })

  test('that cannot be fetched are an error of the call', async (t) => {
    const tokens = await tokenServer(t)
    const shop = await api(t, tokens)
    const { base, logged } = await gatewayHere(
      t,
      configuration(fetched(tokens, { clientSecret: 'wrong-secret' }), [tool(shop.origin, '/a')]),
    )
    const { result } = await (await open(`${base}/p/mcp`)).request('tools/call', { name: 'a' })
    assert.equal(result.isError, true)
    assert.equal(
      result.content[0].text,
      `No token for the server shop could be fetched: the token endpoint at ${tokens.origin} responded with status 401 (invalid_client: grant_type=client_credentials).`,
    )
    assert.equal(shop.asked.length, 0)
    assert.ok(logged.some(({ failure, outcome }) => failure === 'credentials' && outcome === 'failed'))
    assert.ok(!JSON.stringify(logged).includes('wrong-secret'))
  })

  test('are part of the time of the call', async (t) => {
    const tokens = await tokenServer(t)
    const shop = await api(t, tokens)
    tokens.respond = () => {}
    const limits = { timeout: '200ms' }
    const { base } = await gatewayHere(
      t,
      configuration(fetched(tokens), [tool(shop.origin, '/a', { limits })]),
    )
    assert.equal(
      await (await open(`${base}/p/mcp`)).call('a'),
      'No token for the server could be fetched within 200 ms (timeout).',
    )
    assert.equal(shop.asked.length, 0)
  })

  test('are exchanged for each caller', async (t) => {
    const tokens = await tokenServer(t)
    const shop = await api(t, tokens)
    const { auth, token } = await logins(t)
    const credentials = fetched(tokens, { type: 'tokenExchange' })
    const { base, logged } = await gatewayHere(t, configuration(credentials, [tool(shop.origin, '/a')], auth))
    const callers = await Promise.all(['alice', 'bob'].map((sub) => token(sub)))
    const clients = await Promise.all(callers.map((one) => open(`${base}/p/mcp`, login(one))))
    for (let i = 0; i < 3; i++)
      assert.deepEqual(
        await Promise.all(clients.map((client) => client.call('a'))),
        callers.map((one) => `{"whose":"${digest(one)}","repeated":"you sent ***"}`),
      )
    assert.equal(tokens.asked.length, 2)
    const said = JSON.stringify(logged)
    for (const secret of [...callers, ...tokens.live.keys()]) assert.ok(!said.includes(secret))
    assert.ok(shop.asked.every(({ token: sent }) => !callers.includes(sent)))
  })

  test('work with a real authorization server', async (t) => {
    const server = await authorizationServer(t)
    const seen: string[] = []
    const origin = await listen(t, ({ headers }, response) => {
      seen.push(String(headers.authorization))
      json(response, 200, {})
    })
    const credentials = {
      type: 'clientCredentials',
      issuer: server.issuer,
      clientId: MACHINE.client_id,
      clientSecret: MACHINE.client_secret,
      scopes: ['plants:read'],
      resource: 'https://shop.example.com',
    }
    const { base } = await gatewayHere(t, configuration(credentials, [tool(origin, '/a')]))
    assert.equal(await (await open(`${base}/p/mcp`)).call('a'), '{}')
    const [, payload = ''] = seen[0]!.split('.')
    const { aud, scope, client_id } = JSON.parse(Buffer.from(payload, 'base64url').toString())
    assert.deepEqual(
      { aud, scope, client_id },
      { aud: 'https://shop.example.com', scope: 'plants:read', client_id: 'machine' },
    )
  })
})

describe('credentials of MCP servers', () => {
  const proxy = (credentials: object, server: Api, auth?: object, more: object = {}) => ({
    name: 'test',
    routers: [{ server: 'shop', prefix: '/p', ...(auth && { auth }) }],
    mcpServers: [
      { name: 'shop', type: 'streamable-http', url: `${server.origin}/mcp`, credentials, ...more },
    ],
  })

  test('are renewed once after 401, and not shown where the server repeats them', async (t) => {
    const tokens = await tokenServer(t)
    const server = await mcp(t, tokens)
    const { base, logged } = await gatewayHere(t, proxy(fetched(tokens), server))
    const client = await open(`${base}/p/mcp`)
    assert.equal(await client.call('a'), 's1 of gateway for gateway: ***')
    assert.equal(tokens.asked.length, 1)
    const [first = ''] = tokens.live.keys()
    tokens.live.delete(first)
    assert.equal(await client.call('a'), 's1 of gateway for gateway: ***')
    assert.equal(tokens.asked.length, 2)
    tokens.live.clear()
    assert.equal(await client.call('a'), "error: The server shop refused the gateway's credentials (401)")
    assert.equal(tokens.asked.length, 2)
    assert.ok(!JSON.stringify(logged).includes(first))
  })

  test('with `type: oauth` are asked for once the server refuses a request without them', async (t) => {
    const tokens = await tokenServer(t)
    const server = await mcp(t, tokens)
    const { base } = await gatewayHere(t, proxy({ type: 'oauth', for: 'gateway' }, server))
    const refused = (await open(`${base}/p/mcp`)).initialized.error?.message
    assert.equal(
      refused,
      'The server shop needs a login: add `vault` to the settings, then run `plantgw login test/shop`',
    )
    tokens.live.set('', 'anyone')
    assert.match(await (await open(`${base}/p/mcp`)).call('a'), /^s1 of \w+ for \w+: $/)
    assert.ok(server.asked.every(({ headers }) => headers.authorization === undefined))
  })

  test('that cannot be fetched are an error that names the server', async (t) => {
    const tokens = await tokenServer(t)
    const server = await mcp(t, tokens)
    tokens.respond = (response) => json(response, 503, {})
    const { base } = await gatewayHere(t, proxy(fetched(tokens), server))
    const { initialized } = await open(`${base}/p/mcp`)
    assert.deepEqual(initialized.error, {
      code: -32603,
      message: `No token for the server shop could be fetched: the token endpoint at ${tokens.origin} responded with status 503`,
    })
    assert.equal(server.asked.length, 0)
  })

  test('over SSE are masked message by message', async (t) => {
    const tokens = await tokenServer(t)
    let stream: ServerResponse | undefined
    const origin = await listen(t, async (request, response) => {
      if (!tokens.live.has(request.headers.authorization?.slice(7) ?? '')) return json(response, 401, {})
      if (request.method === 'GET') {
        stream = response.writeHead(200, { 'content-type': 'text/event-stream' })
        return stream.write('event: endpoint\ndata: /post\n\n')
      }
      let body = ''
      for await (const chunk of request) body += chunk
      response.writeHead(202).end()
      const { id, method }: Loose = JSON.parse(body)
      const told = { content: [{ type: 'text', text: String(request.headers.authorization) }] }
      const info = { serverInfo: { name: 's', version: '1' }, capabilities: { tools: {} } }
      const result = method === 'initialize' ? { protocolVersion: '2024-11-05', ...info } : told
      const message = JSON.stringify({ jsonrpc: '2.0', id, result })
      return id !== undefined && stream?.write(`event: message\ndata: ${message}\n\n`)
    })
    const { base } = await gatewayHere(
      t,
      proxy(fetched(tokens), { origin, asked: [] }, undefined, { type: 'sse' }),
    )
    assert.match(await (await open(`${base}/p/mcp`)).call('a'), /^(?:Bearer )?\*\*\*$/)
  })

  for (const isolation of ['session', 'credential'])
    test(`are exchanged for each caller, who has sessions alone (${isolation})`, async (t) => {
      const tokens = await tokenServer(t)
      const server = await mcp(t, tokens)
      const { auth, token } = await logins(t)
      const credentials = fetched(tokens, { type: 'tokenExchange' })
      const { base } = await gatewayHere(t, proxy(credentials, server, auth, { isolation }))
      const [alice = '', bob = ''] = await Promise.all(['alice', 'bob'].map((sub) => token(sub)))
      const clients = await Promise.all([alice, bob, alice].map((one) => open(`${base}/p/mcp`, login(one))))
      const said = await Promise.all(clients.map((client) => client.call('a')))
      for (const [i, one] of [alice, bob, alice].entries())
        assert.match(said[i]!, new RegExp(`^s\\d of ${digest(one)} for ${digest(one)}: \\*\\*\\*$`))
      assert.equal(tokens.asked.length, 2)
      assert.equal(server.sessions.size, isolation === 'session' ? 3 : 2)
      assert.ok(server.asked.every(({ token: sent }) => sent !== alice && sent !== bob))

      // The newest token of the caller is exchanged, and one with other scopes opens no session of this one.
      const [first] = clients
      const newer = await token('alice', { jti: 'newer' })
      tokens.live.clear()
      const again = await fetch(`${base}/p/mcp`, {
        method: 'POST',
        headers: {
          ...first!.headers,
          ...login(newer),
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name: 'a' } }),
      })
      assert.match(await again.text(), new RegExp(`for ${digest(newer)}: \\*\\*\\*`))
      const wider = await fetch(`${base}/p/mcp`, {
        method: 'POST',
        headers: {
          ...first!.headers,
          ...login(await token('alice', { scope: 'write' })),
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 78, method: 'tools/call', params: { name: 'a' } }),
      })
      assert.equal(wider.status, 404)
    })

  test('are exchanged for each request of 2026-07-28', async (t) => {
    const tokens = await tokenServer(t)
    const server = await mcp(t, tokens)
    const { auth, token } = await logins(t)
    const { base } = await gatewayHere(t, proxy(fetched(tokens, { type: 'tokenExchange' }), server, auth))
    for (const sub of ['alice', 'bob']) {
      const own = await token(sub)
      const text = await modern(`${base}/p/mcp`, login(own)).call('a')
      assert.match(text, new RegExp(`of ${digest(own)} for ${digest(own)}: \\*\\*\\*`))
    }
  })
})

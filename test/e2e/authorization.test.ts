import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
  SSEClientTransport as ModernSse,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  type AuthorizationServer,
  authorizationServer,
  MACHINE,
  SCOPES,
} from '../fixtures/authorization-server.ts'
import { oauthServer, type TestClock } from '../support/oauth.ts'
import { rest } from '../support/rest.ts'
import type { Loose } from '../support/wire.ts'

const REDIRECT = 'http://localhost:1/callback'

/** What both SDKs ask of whoever keeps a client's credentials. */
function credentials() {
  const kept: Loose = {}
  return {
    kept,
    visited: undefined as URL | undefined,
    get redirectUrl() {
      return REDIRECT
    },
    get clientMetadata() {
      return {
        client_name: 'test',
        redirect_uris: [REDIRECT],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      }
    },
    clientInformation: () => kept.client,
    saveClientInformation(client: unknown) {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens(tokens: unknown) {
      kept.tokens = tokens
    },
    redirectToAuthorization(url: URL) {
      this.visited = url
    },
    saveCodeVerifier(verifier: string) {
      kept.verifier = verifier
    },
    codeVerifier: () => kept.verifier,
  }
}

type Credentials = ReturnType<typeof credentials>

const info = { name: 'test', version: '1' }

/** The two generations of the SDK, over both transports. */
const SDKS: readonly [
  name: string,
  endpoint: string,
  client: () => Loose,
  transport: (url: URL, of: Credentials, fetch?: typeof globalThis.fetch) => Loose,
][] = [
  [
    '1.x',
    'mcp',
    () => new Client(info),
    (url, of, fetch) =>
      new StreamableHTTPClientTransport(url, { authProvider: of as never, ...(fetch && { fetch }) }),
  ],
  [
    '1.x, SSE',
    'sse',
    () => new Client(info),
    (url, of, fetch) => new SSEClientTransport(url, { authProvider: of as never, ...(fetch && { fetch }) }),
  ],
  [
    '2.x',
    'mcp',
    () => new ModernClient(info),
    (url, of, fetch) => new ModernHttp(url, { authProvider: of as never, ...(fetch && { fetch }) }),
  ],
  [
    '2.x, SSE',
    'sse',
    () => new ModernClient(info),
    (url, of, fetch) => new ModernSse(url, { authProvider: of as never, ...(fetch && { fetch }) }),
  ],
]

interface World {
  as: AuthorizationServer
  clock: TestClock
  base: string
  scopes: string[]
}

type Mode = 'jwt' | 'introspection'

/** A gateway that trusts a real authorization server, both over real sockets. */
async function world(t: TestContext, mode: Mode = 'jwt', rules?: object[]): Promise<World> {
  const as = await authorizationServer(t)
  as.format = mode === 'jwt' ? 'jwt' : 'opaque'
  const scopes = rules ? [SCOPES[0]!] : SCOPES
  const client = { clientId: MACHINE.client_id, clientSecret: MACHINE.client_secret }
  const issuers = [{ issuer: as.issuer, ...(mode === 'introspection' && client) }]
  const auth = { type: mode, issuers, scopes, ...(mode === 'introspection' && { cacheTtl: 0 }) }
  return { as, scopes, ...(await oauthServer(t, auth, { rules })) }
}

const form = (of: object) => ({ method: 'POST', body: new URLSearchParams({ ...of }) })

async function machineToken({ as, scopes }: World, resource: string): Promise<string> {
  const ask = { grant_type: 'client_credentials', scope: scopes.join(' '), resource, ...MACHINE }
  const answer = (await (await fetch(`${as.issuer}/token`, form(ask))).json()) as Loose
  assert.ok(answer.access_token, JSON.stringify(answer))
  return answer.access_token
}

const MODES: readonly Mode[] = ['jwt', 'introspection']
/** In the gate each SDK and each mode once. */
const CASES = SDKS.flatMap((sdk) => MODES.map((mode) => [mode, ...sdk] as const)).filter(
  ([mode, name, endpoint]) => rest || (endpoint === 'mcp' && name.startsWith(mode === 'jwt' ? '1' : '2')),
)

for (const [mode, name, endpoint, client, transport] of CASES) {
  /** Connects; on the way the user is sent to the authorization server and comes back. */
  async function login(t: TestContext, { as, base }: World, of: Credentials): Promise<Loose> {
    const url = new URL(`${base}/one/${endpoint}`)
    const first = transport(url, of)
    await assert.rejects(client().connect(first), /unauthorized/i)
    assert.ok(of.visited, 'the client knows where its user must go')
    const back = await as.visit(of.visited)
    assert.equal(back.origin + back.pathname, REDIRECT)
    const code = back.searchParams.get('code')
    assert.ok(code, back.search)
    await first.finishAuth(...(name.startsWith('2') ? [back.searchParams] : [code]))
    const connected = client()
    let opened: () => void = () => {}
    const stream = new Promise<void>((resolve) => {
      opened = resolve
    })
    const second = transport(url, of, async (input, init) => {
      const response = await fetch(input, init)
      if (init?.method === 'GET' && String(input) === String(url) && response.ok) opened()
      return response
    })
    await connected.connect(second)
    // A client that opens its stream beside a call would refresh its token twice.
    if (second.sessionId !== undefined) await stream
    t.after(() => connected.close())
    return connected
  }

  describe(`the SDK ${name} against oidc-provider, ${mode}`, () => {
    test('finds the authorization server, registers, logs in and calls', async (t) => {
      const w = await world(t, mode)
      const of = credentials()
      const connected = await login(t, w, of)
      assert.equal(of.kept.tokens.access_token.split('.').length, mode === 'jwt' ? 3 : 1)
      assert.equal(of.visited!.origin, w.as.issuer)
      assert.equal(of.visited!.searchParams.get('resource'), `${w.base}/one/${endpoint}`)
      const asked = of.visited!.searchParams.get('scope')!.split(' ')
      // 2.x asks for a refresh token besides, where the server offers one.
      assert.deepEqual(
        asked.filter((scope) => scope !== 'offline_access'),
        w.scopes,
      )
      const { content } = await connected.callTool({ name: 'water', arguments: {} })
      assert.deepEqual(content, [{ type: 'text', text: 'water' }])
    })

    test('refreshes a token that has expired', async (t) => {
      const w = await world(t, mode)
      w.as.ttl = 60
      const of = credentials()
      const connected = await login(t, w, of)
      const before = of.kept.tokens.access_token
      w.as.ttl = 3600
      w.clock.move(120)
      const { content } = await connected.callTool({ name: 'water', arguments: {} })
      assert.equal(content[0].text, 'water')
      assert.notEqual(of.kept.tokens.access_token, before)
    })

    test('is sent to log in again once its token is revoked', async (t) => {
      const w = await world(t, mode)
      const of = credentials()
      const connected = await login(t, w, of)
      const { access_token: token } = of.kept.tokens
      const { client_id } = of.kept.client
      const revoked = await fetch(`${w.as.issuer}/token/revocation`, form({ token, client_id }))
      // Servers keep no list of the JWTs that they issue: these are good until they expire.
      assert.equal(revoked.status, mode === 'jwt' ? 400 : 200, await revoked.text())
      const call = () => connected.callTool({ name: 'water', arguments: {} })
      if (mode === 'jwt') return void assert.equal((await call()).content[0].text, 'water')
      of.visited = undefined
      await assert.rejects(call(), /unauthorized/i)
      assert.ok(of.visited)
      of.kept.tokens = undefined
      const again = await login(t, w, of)
      assert.notEqual(of.kept.tokens.access_token, token)
      assert.equal((await again.callTool({ name: 'water', arguments: {} })).content[0].text, 'water')
    })

    test('is sent to log in with a token for another resource', async (t) => {
      const w = await world(t, mode)
      const of = credentials()
      const token = await machineToken(w, 'https://other.example/mcp')
      of.kept.tokens = { access_token: token, token_type: 'Bearer' }
      await assert.rejects(
        client().connect(transport(new URL(`${w.base}/one/${endpoint}`), of)),
        /unauthorized/i,
      )
      assert.equal(of.visited!.searchParams.get('resource'), `${w.base}/one/${endpoint}`)
    })

    test('goes on after the keys of the server have changed', async (t) => {
      const w = await world(t, mode)
      w.as.ttl = 60
      const of = credentials()
      const connected = await login(t, w, of)
      await w.as.rotate()
      w.as.ttl = 3600
      w.clock.move(120)
      const { content } = await connected.callTool({ name: 'water', arguments: {} })
      assert.equal(content[0].text, 'water')
    })
  })

  if (endpoint === 'mcp')
    test(`the SDK ${name} asks for the scopes that a tool needs, ${mode}`, async (t) => {
      const w = await world(t, mode, [{ tools: ['water'], scopes: [SCOPES[1]] }])
      w.as.refresh = false
      const of = credentials()
      const first = await login(t, w, of)
      assert.ok(!of.kept.tokens.scope.includes(SCOPES[1]))
      // This server grants a client no scopes but those that it registered with.
      of.kept.client = undefined
      await assert.rejects(first.callTool({ name: 'water', arguments: {} }), /unauthorized|upscoping|scope/i)
      const asked = of.visited!.searchParams.get('scope')!.split(' ')
      for (const scope of SCOPES) assert.ok(asked.includes(scope), String(asked))
      const back = await w.as.visit(of.visited!)
      const again = transport(new URL(`${w.base}/one/mcp`), of)
      await again.finishAuth(
        ...(name.startsWith('2') ? [back.searchParams] : [back.searchParams.get('code')]),
      )
      const second = client()
      await second.connect(again)
      t.after(() => second.close())
      assert.deepEqual((await second.callTool({ name: 'water', arguments: {} })).content, [
        { type: 'text', text: 'water' },
      ])
    })

  if (endpoint === 'mcp')
    test(`the SDK ${name} asks for the scopes that are missing, ${mode}`, async (t) => {
      const w = await world(t, mode)
      // With a refresh token 1.x would not ask its user again.
      Object.assign(w.as, { granted: ['plants:read'], refresh: false })
      const of = credentials()
      await assert.rejects(login(t, w, of), /unauthorized|upscoping/i)
      assert.equal(of.kept.tokens.scope, 'plants:read')
      w.as.granted = w.scopes
      const asked = new Set(of.visited!.searchParams.get('scope')?.split(' '))
      for (const scope of w.scopes) assert.ok(asked.has(scope), scope)
      of.kept.tokens = undefined
      const connected = await login(t, w, of)
      assert.deepEqual(new Set(of.kept.tokens.scope.split(' ')), new Set(w.scopes))
      assert.ok(await connected.callTool({ name: 'water', arguments: {} }))
    })
}

describe('tokens of oidc-provider', () => {
  const list = (base: string, token: string) =>
    fetch(`${base}/one/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: info },
      }),
    })

  test('are accepted of machines, and refused where they are for another resource', async (t) => {
    const w = await world(t)
    assert.equal((await list(w.base, await machineToken(w, `${w.base}/one/mcp`))).status, 200)
    const other = await list(w.base, await machineToken(w, 'https://other.example/mcp'))
    assert.equal(other.status, 401)
    assert.match(other.headers.get('www-authenticate')!, /another audience/)
  })

  test('that are opaque are accepted by introspection until they are revoked', async (t) => {
    const w = await world(t)
    w.as.format = 'opaque'
    const issuers = [
      { issuer: w.as.issuer, clientId: MACHINE.client_id, clientSecret: MACHINE.client_secret },
    ]
    const { base } = await oauthServer(t, { type: 'introspection', issuers, scopes: w.scopes, cacheTtl: 0 })
    const token = await machineToken(w, `${base}/one/mcp`)
    assert.ok(!token.includes('.'))
    assert.equal((await list(base, token)).status, 200)
    const revoked = await fetch(`${w.as.issuer}/token/revocation`, form({ token, ...MACHINE }))
    assert.equal(revoked.status, 200)
    const refused = await list(base, token)
    assert.equal(refused.status, 401)
    assert.match(refused.headers.get('www-authenticate')!, /not active/)
  })
})

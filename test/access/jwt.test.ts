import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { exportJWK, generateKeyPair } from 'jose'
import { base64url, signed, type TestIssuer, testIssuer } from '../support/issuer.ts'
import { oauthWire, PUBLIC, TestClock } from '../support/oauth.ts'
import { body, open, post, rpc, stateless, type Wire, type WireOptions } from '../support/wire.ts'

const initialize = rpc('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})
const METADATA = `${PUBLIC}/.well-known/oauth-protected-resource/one/mcp`
const CHALLENGE = `Bearer resource_metadata="${METADATA}", scope="read write"`

type Ending = Parameters<typeof testIssuer>[0]
type Key = Awaited<ReturnType<TestIssuer['addKey']>>
type Claims = Record<string, unknown>

interface World {
  wire: Wire
  clock: TestClock
  issuer: TestIssuer
  other: TestIssuer
  key: Key
  rsa: Key
  foreign: Key
  claims: Claims
  token(more?: Claims, header?: object, key?: Key): Promise<string>
}

async function world(t: Ending, more: object = {}, options: WireOptions = {}): Promise<World> {
  const clock = new TestClock()
  const [issuer, other] = [await testIssuer(t), await testIssuer(t)]
  const [key, rsa] = [await issuer.addKey('ec'), await issuer.addKey('rsa', 'RS256')]
  const foreign = await other.addKey('ec')
  const auth = {
    type: 'jwt',
    issuers: [
      { issuer: issuer.issuer, jwksUrl: `${new URL(issuer.issuer).origin}/jwks` },
      { issuer: other.issuer },
    ],
    scopes: ['read', 'write'],
    ...more,
  }
  const claims = {
    iss: issuer.issuer,
    sub: 'alice',
    aud: `${PUBLIC}/one/mcp`,
    exp: clock.seconds + 300,
    scope: 'write read more',
  }
  return {
    wire: await oauthWire(t, auth, clock, options),
    ...{ clock, issuer, other, key, rsa, foreign, claims },
    token: (more = {}, header = {}, by = key) =>
      signed(by, { alg: 'ES256', kid: 'ec', ...header }, { ...claims, exp: clock.seconds + 300, ...more }),
  }
}

const send = ({ wire }: World, token: string | undefined, path = '/one/mcp') =>
  post(wire.app, path, initialize, token === undefined ? {} : { authorization: `Bearer ${token}` })

/** One world for many tests that leave it as it is. */
function shared(more: object = {}, options: WireOptions = {}): () => World {
  const ends: (() => unknown)[] = []
  let made: World
  before(async () => {
    made = await world({ after: (end: () => unknown) => void ends.push(end) }, more, options)
  })
  after(() => Promise.all(ends.map((end) => end())))
  return () => made
}

const without = (...names: string[]): Claims => Object.fromEntries(names.map((name) => [name, undefined]))

type Row = [what: string, make: (world: World) => unknown, message: RegExp]

/** What one token is wrong with; the answer is 401 `invalid_token` with these words. */
const TOKENS: readonly Row[] = [
  ['no JWT', () => 'opaque', /not a valid JSON Web Token/],
  ['two parts', ({ claims }) => `${base64url({ alg: 'ES256' })}.${base64url(claims)}`, /not a valid/],
  ['five parts', () => 'a.b.c.d.e', /not a valid/],
  ['empty parts', () => '..', /not a valid/],
  ['a payload that is no JSON', ({ key }) => signed(key, { alg: 'ES256' }, 'nope'), /not a valid/],
  ['a payload that is an array', ({ key }) => signed(key, { alg: 'ES256' }, []), /not a valid/],
  ['a payload that is null', ({ key }) => signed(key, { alg: 'ES256' }, null), /not a valid/],
  ['characters outside base64url', async ({ token }) => `${await token()}~`, /./],
  ['padding', async ({ token }) => `${await token()}==`, /./],
  [
    'alg none',
    ({ claims }) => `${base64url({ alg: 'none' })}.${base64url(claims)}.`,
    /algorithm|not a valid/,
  ],
  ['alg None', ({ claims }) => `${base64url({ alg: 'None' })}.${base64url(claims)}.AA`, /algorithm/],
  ['alg none, signed', async (w) => unsigned(await w.token(), { alg: 'none' }), /algorithm/],
  ['no alg', async (w) => unsigned(await w.token(), {}), /not a valid/],
  [
    'HS256 with the public key',
    (w) => withSharedSecret(w, 'HS256', JSON.stringify((w.issuer.keys as object[])[1])),
    /algorithm/,
  ],
  ['HS384', (w) => withSharedSecret(w, 'HS384', 'secret'), /algorithm/],
  ['HS512', (w) => withSharedSecret(w, 'HS512', 'secret'), /algorithm/],
  ['an unknown alg', async (w) => unsigned(await w.token(), { alg: 'XS256', kid: 'ec' }), /algorithm/],
  [
    'the alg of another key',
    async (w) => unsigned(await w.token(), { alg: 'RS256', kid: 'ec' }),
    /does not publish/,
  ],
  [
    'a known name in crit',
    async (w) => unsigned(await w.token(), { alg: 'ES256', kid: 'ec', crit: ['exp'], exp: 1 }),
    /extension/,
  ],
  [
    'an unknown crit',
    async (w) => unsigned(await w.token(), { alg: 'ES256', kid: 'ec', crit: ['x'], x: 1 }),
    /extension/,
  ],
  [
    'an empty crit',
    async (w) => unsigned(await w.token(), { alg: 'ES256', kid: 'ec', crit: [] }),
    /not a valid/,
  ],
  [
    'an unencoded payload',
    async (w) => unsigned(await w.token(), { alg: 'ES256', kid: 'ec', crit: ['b64'], b64: false }),
    /not a valid|wrong/,
  ],
  [
    'an extension that the library knows',
    ({ token }) => token({}, { crit: ['b64'], b64: true }),
    /extension/,
  ],
  ...['logout+jwt', 'dpop+jwt', 'application/secevent+jwt', 'JOSE', 'jwt2', ''].map(
    (typ): Row => [`the type ${typ}`, ({ token }) => token({}, { typ }), /not an access token/],
  ),
  ['a type that is no text', ({ token }) => token({}, { typ: 7 }), /not an access token/],
  [
    'a key of its own',
    async (w) => unsigned(await w.token(), { alg: 'ES256', kid: 'mine', jwk: (w.other.keys as object[])[0] }),
    /does not publish/,
  ],
  [
    'a key by URL',
    async (w) => unsigned(await w.token(), { alg: 'ES256', kid: 'mine', jku: `${w.other.issuer}/jwks` }),
    /does not publish/,
  ],
  ['an unknown kid', ({ token }) => token({}, { kid: 'unknown' }), /does not publish/],
  ['a kid that is no text', async (w) => unsigned(await w.token(), { alg: 'ES256', kid: 7 }), /./],
  ['a kid that is a path', ({ token }) => token({}, { kid: '../../etc/passwd' }), /does not publish/],
  [
    'a stranger’s signature',
    async ({ token }) => token({}, {}, (await generateKeyPair('ES256')).privateKey),
    /signature .* wrong/,
  ],
  ['the key of another issuer', ({ token, foreign }) => token({}, {}, foreign), /signature .* wrong/],
  [
    'a changed payload',
    async ({ token, claims }) => changed(await token(), { ...claims, sub: 'root' }),
    /signature .* wrong/,
  ],
  ['a cut signature', async ({ token }) => (await token()).slice(0, -4), /./],
  ['no signature', async ({ token }) => (await token()).replace(/[^.]*$/, ''), /./],
  ['an unknown issuer', ({ token }) => token({ iss: 'https://evil.example' }), /issuer/],
  ['the issuer with a slash', ({ token, issuer }) => token({ iss: `${issuer.issuer}/` }), /issuer/],
  ['no issuer', ({ token }) => token(without('iss')), /issuer/],
  ['a list of issuers', ({ token, issuer }) => token({ iss: [issuer.issuer] }), /issuer/],
  ['the other issuer’s name', ({ token, other }) => token({ iss: other.issuer }), /signature .* wrong/],
  ['no audience', ({ token }) => token(without('aud')), /audience/],
  ['another audience', ({ token }) => token({ aud: 'https://other.example/mcp' }), /audience/],
  ['the audience of another prefix', ({ token }) => token({ aud: `${PUBLIC}/two/mcp` }), /audience/],
  ['the audience without a path', ({ token }) => token({ aud: PUBLIC }), /audience/],
  ['an audience below', ({ token }) => token({ aud: `${PUBLIC}/one/mcp/x` }), /audience/],
  ['an audience with another case', ({ token }) => token({ aud: `${PUBLIC}/ONE/mcp` }), /audience/],
  ['an empty list of audiences', ({ token }) => token({ aud: [] }), /audience/],
  ['an audience that is an object', ({ token }) => token({ aud: { 0: `${PUBLIC}/one/mcp` } }), /audience/],
  [
    'the host of the request as audience',
    ({ token }) => token({ aud: 'http://localhost/one/mcp' }),
    /audience/,
  ],
  ['no expiry', ({ token }) => token(without('exp')), /when it expires/],
  ['an expiry that is a text', ({ token }) => token({ exp: '9999999999' }), /when it expires|not a valid/],
  ['an expiry that is null', ({ token }) => token({ exp: null }), /when it expires|not a valid/],
  ['an expired token', ({ token, clock }) => token({ exp: clock.seconds - 3600 }), /expired/],
  ['one that expired 31 s ago', ({ token, clock }) => token({ exp: clock.seconds - 31 }), /expired/],
  ['one of 1970', ({ token }) => token({ exp: 0 }), /expired/],
  ['one that is not valid yet', ({ token, clock }) => token({ nbf: clock.seconds + 60 }), /not valid yet/],
  ['an nbf that is a text', ({ token }) => token({ nbf: 'now' }), /not valid yet|not a valid/],
  ['a token that is bound to a key', ({ token }) => token({ cnf: { jkt: 'x' } }), /bound to a key/],
  [
    'one that is bound to a certificate',
    ({ token }) => token({ cnf: { 'x5t#S256': 'x' } }),
    /bound to a key/,
  ],
  ['no subject', ({ token }) => token(without('sub')), /no subject/],
  ['an empty subject', ({ token }) => token({ sub: '' }), /no subject/],
  ['a subject that is a number', ({ token }) => token({ sub: 7 }), /no subject/],
]

/** The token with another header, its signature as it was. */
function unsigned(token: string, header: object): string {
  return token.replace(/^[^.]*/, base64url(header))
}

function changed(token: string, payload: object): string {
  return token.replace(/\.[^.]*\./, `.${base64url(payload)}.`)
}

function withSharedSecret({ claims }: World, alg: string, secret: string): string {
  const text = `${base64url({ alg, kid: 'rsa' })}.${base64url(claims)}`
  const mac = createHmac(alg.replace('HS', 'sha'), secret).update(text).digest('base64url')
  return `${text}.${mac}`
}

describe('tokens that are refused', () => {
  const here = shared()
  for (const [what, make, message] of TOKENS)
    test(what, async () => {
      const w = here()
      const token = (await make(w)) as string
      const response = await send(w, token)
      assert.equal(response.status, 401)
      const challenge = response.headers.get('www-authenticate') ?? ''
      assert.ok(challenge.startsWith(`${CHALLENGE}, error="invalid_token", error_description="`), challenge)
      const { error, ...rest } = await body(response)
      assert.deepEqual(rest, { jsonrpc: '2.0' })
      assert.match(error.message, message)
      assert.ok(challenge.includes(error.message))
      assert.equal((await send(w, await w.token())).status, 200, 'a good one is accepted after it')
    })
})

/** What is wrong with the request, besides what the table of refusals has; the challenge ends as given. */
const REQUESTS: readonly [what: string, query: string, scheme: string, status: number, end: string][] = [
  ['another scheme with a good token', '', 'DPoP ', 401, ''],
  ['a token in quotes', '', 'Bearer "', 401, 'invalid_token'],
  ['an encoded name in the query', '?a=b&%61ccess_token=x', 'Bearer ', 400, 'invalid_request'],
  ['an empty token in the query', '?access_token', 'Bearer ', 400, 'invalid_request'],
]

describe('requests that are refused', () => {
  const here = shared()
  for (const [what, query, scheme, status, error] of REQUESTS)
    test(what, async () => {
      const authorization = `${scheme}${await here().token()}${scheme.endsWith('"') ? '"' : ''}`
      const response = await post(here().wire.app, `/one/mcp${query}`, initialize, { authorization })
      assert.equal(response.status, status)
      const challenge = response.headers.get('www-authenticate') ?? ''
      if (error === '') assert.equal(challenge, CHALLENGE)
      else assert.ok(challenge.startsWith(`${CHALLENGE}, error="${error}", `), challenge)
    })
})

describe('scopes', () => {
  const here = shared()
  const rows: [what: string, claims: Claims][] = [
    ['none', without('scope')],
    ['one of two', { scope: 'read' }],
    ['others', { scope: 'admin openid' }],
    ['a longer name', { scope: 'read write:all' }],
    ['another case', { scope: 'READ WRITE' }],
    ['a text with commas', { scope: 'read,write' }],
    ['an object', { scope: { read: true, write: true } }],
  ]
  for (const [what, claims] of rows)
    test(`${what}: 403 with all that are needed`, async () => {
      const response = await send(here(), await here().token(claims))
      assert.equal(response.status, 403)
      assert.ok(
        response.headers.get('www-authenticate')!.startsWith(`${CHALLENGE}, error="insufficient_scope", `),
      )
    })

  for (const claims of [
    { scope: ['read', 'write'] },
    { ...without('scope'), scp: ['write', 'read'] },
    { ...without('scope'), scp: 'read write' },
  ])
    test(`are also read from ${JSON.stringify(claims)}`, async () => {
      assert.equal((await send(here(), await here().token(claims))).status, 200)
    })
})

describe('every endpoint and method', () => {
  const SSE = CHALLENGE.replace('/one/mcp', '/one/sse')
  const rows: [method: string, path: string, challenge: string][] = [
    ['POST', '/one/mcp', CHALLENGE],
    ['GET', '/one/mcp', CHALLENGE],
    ['DELETE', '/one/mcp', CHALLENGE],
    ['POST', '/one/mcp/', CHALLENGE],
    ['GET', '/one/sse', SSE],
    ['POST', '/one/message?sessionId=x', SSE],
    ['PUT', '/one/mcp', CHALLENGE],
  ]
  const cors = {
    allowOrigins: ['https://app.example.com'],
    allowMethods: ['GET', 'POST', 'DELETE'],
    allowHeaders: ['*'],
    exposeHeaders: ['WWW-Authenticate'],
    allowCredentials: false,
  }
  const here = shared({}, { cors })
  for (const [method, path, challenge] of rows)
    test(`${method} ${path} is refused with the headers of CORS`, async () => {
      const { wire, token } = here()
      const ask = (authorization?: string) =>
        wire.app.request(path, {
          method,
          headers: {
            host: 'localhost',
            origin: 'https://app.example.com',
            ...(authorization && { authorization }),
          },
          ...(method === 'POST' && { body: '{}' }),
        })
      const poor = await token({ aud: `${PUBLIC}/one/sse`, scope: 'read' })
      for (const [given, status, start] of [
        [undefined, 401, challenge],
        ['Bearer x', 401, `${challenge}, error="invalid_token", `],
        [`Bearer ${poor}`, 403, `${challenge}, error="insufficient_scope", `],
      ] as const) {
        const response = await ask(given)
        assert.equal(response.status, status)
        assert.ok(response.headers.get('www-authenticate')?.startsWith(start))
        assert.equal(response.headers.get('access-control-allow-origin'), 'https://app.example.com')
        assert.equal(response.headers.get('access-control-expose-headers'), 'WWW-Authenticate')
      }
      const preflight = await wire.app.request(path, {
        method: 'OPTIONS',
        headers: {
          host: 'localhost',
          origin: 'https://app.example.com',
          'access-control-request-method': method,
        },
      })
      assert.equal(preflight.status, 204)
    })
})

describe('a good token', () => {
  test('opens a session that is worth nothing to another subject or issuer', async (t) => {
    const w = await world(t)
    const { app } = w.wire
    const as = (token: string) => ({ authorization: `Bearer ${token}` })
    const alice = as(await w.token())
    const session = await open(app, '/one', '2025-11-25', alice)
    const list = (headers: object) => post(app, '/one/mcp', rpc('tools/list'), { ...session, ...headers })
    assert.equal((await list(alice)).status, 200)
    assert.equal((await list(as(await w.token({ jti: 'another of hers' })))).status, 200)
    assert.equal((await list(as(await w.token({ sub: 'bob' })))).status, 404)
    const namesake = await w.token({ iss: w.other.issuer }, {}, w.foreign)
    assert.equal((await list(as(namesake))).status, 404)
    assert.equal((await list({})).status, 401)
  })

  test('also of 2026-07-28, of SSE, and with any case of the scheme', async (t) => {
    const w = await world(t)
    const token = await w.token({ aud: ['https://other.example', `${PUBLIC}/one/sse`] })
    const authorization = `bEARER ${token}`
    assert.equal((await stateless(w.wire.app, 'tools/list', {}, { authorization })).status, 200)
    const stream = await w.wire.app.request('/one/sse', {
      headers: { host: 'localhost', accept: 'text/event-stream', authorization },
    })
    assert.equal(stream.status, 200)
    await stream.body?.cancel()
  })

  test('of every algorithm', async (t) => {
    const w = await world(t)
    for (const alg of ['RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES384', 'ES512', 'EdDSA', 'Ed25519']) {
      const key = await w.other.addKey(alg, alg)
      // A new kid is fetched, at most every 30 s.
      w.clock.move(31)
      const token = await w.token({ iss: w.other.issuer }, { alg, kid: alg }, key)
      assert.equal((await send(w, token)).status, 200, alg)
    }
    assert.equal((await send(w, await w.token({}, { alg: 'RS256', kid: 'rsa' }, w.rsa))).status, 200)
  })

  test('only of the algorithms that are listed', async (t) => {
    const issuer = await testIssuer(t)
    const [ec, rsa] = [await issuer.addKey('ec'), await issuer.addKey('rsa', 'RS256')]
    const w = await world(t, { issuers: [{ issuer: issuer.issuer, algorithms: ['RS256'] }] })
    const claims = { iss: issuer.issuer }
    assert.equal((await send(w, await w.token(claims, { alg: 'RS256', kid: 'rsa' }, rsa))).status, 200)
    assert.equal((await send(w, await w.token(claims, {}, ec))).status, 401)
  })

  test('is accepted within the clock skew, and from the cache no longer than that', async (t) => {
    const w = await world(t)
    const [late, early] = [
      await w.token({ exp: w.clock.seconds - 29 }),
      await w.token({ nbf: w.clock.seconds + 29 }),
    ]
    assert.equal((await send(w, late)).status, 200)
    assert.equal((await send(w, late)).status, 200)
    assert.equal((await send(w, early)).status, 200)
    w.clock.move(2)
    const refused = await send(w, late)
    assert.equal(refused.status, 401)
    assert.match((await body(refused)).error.message, /expired/)
  })

  test('for audiences that the file names, and no others', async (t) => {
    const w = await world(t, { audience: ['api://plants', 'api://old'] })
    assert.equal((await send(w, await w.token({ aud: 'api://old' }))).status, 200)
    assert.equal((await send(w, await w.token())).status, 401)
  })

  test('must have the claim that names the caller', async (t) => {
    const w = await world(t, { caller: 'email' })
    assert.equal((await send(w, await w.token({ email: 'alice@example.com' }))).status, 200)
    assert.equal((await send(w, await w.token())).status, 401)
    assert.equal((await send(w, await w.token({ email: ['a', 'b'] }))).status, 401)
  })

  test('is not needed by callers with a token of the tenant', async (t) => {
    const issuer = await testIssuer(t)
    const tokens = [{ token: 'static', caller: 'agent' }]
    const auth = { type: 'jwt', issuers: [{ issuer: issuer.issuer }] }
    const clock = new TestClock()
    const tenants = [
      { name: 'default', prefix: '/', tokens, env: [], stdio: false, commands: [], notifier: false },
    ]
    const { app } = await oauthWire(t, auth, clock, { tenants })
    assert.equal((await post(app, '/one/mcp', initialize, { authorization: 'Bearer static' })).status, 200)
    assert.equal((await post(app, '/one/mcp', initialize, { authorization: 'Bearer other' })).status, 401)
    assert.equal(issuer.asked('/jwks'), 0)
  })
})

test('the log names the claim that differs and what is accepted; the client does not get them', async (t) => {
  const details: (string | undefined)[] = []
  const w = await world(t, {}, { parts: { onRefusedCredentials: ({ detail }) => void details.push(detail) } })
  const slash = await send(w, await w.token({ aud: `${PUBLIC}/one/mcp/` }))
  assert.ok(!slash.headers.get('www-authenticate')!.includes('/one/mcp/'))
  await send(w, await w.token({ iss: `${w.issuer.issuer}/` }))
  const [audience, issuer] = details
  assert.match(
    audience!,
    /another audience: it has "https:.*\/one\/mcp\/", and the router accepts \["https:.*\/one\/mcp",/,
  )
  assert.match(issuer!, /not one that is trusted here: it has "http:.*\/", and the router accepts \["http:/)
})

test('a token of a key that is too small is refused, and the log says why', async (t) => {
  const details: unknown[] = []
  const w = await world(t, {}, { parts: { onRefusedCredentials: ({ detail }) => void details.push(detail) } })
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  w.issuer.keys = [{ ...(await exportJWK(publicKey)), kid: 'small', alg: 'RS256' }]
  const text = `${base64url({ alg: 'RS256', kid: 'small' })}.${base64url(w.claims)}`
  const signature = sign('sha256', Buffer.from(text), privateKey).toString('base64url')
  const response = await send(w, `${text}.${signature}`)
  const message = 'The key with which the token is signed cannot be used'
  assert.deepEqual([response.status, (await body(response)).error.message], [401, message])
  assert.deepEqual(details, [`${message}: RS256 requires key modulusLength to be 2048 bits or larger`])
})

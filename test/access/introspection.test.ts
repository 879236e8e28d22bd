import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'
import { testIssuer } from '../support/issuer.ts'
import { oauthWire, PUBLIC, TestClock } from '../support/oauth.ts'
import { body, INITIALIZE, open, post, rpc } from '../support/wire.ts'

async function setUp(t: TestContext, more: object = {}, url = true) {
  const clock = new TestClock()
  const issuer = await testIssuer(t)
  const client = { clientId: 'gate way', clientSecret: 's:cret/ü' }
  const introspectionUrl = `${issuer.issuer}/introspect`
  const issuers = [{ issuer: issuer.issuer, ...client, ...(url && { introspectionUrl }) }]
  const auth = { type: 'introspection', issuers, scopes: ['read'], ...more }
  const { app } = await oauthWire(t, auth, clock)
  const active = (more: object = {}) => ({
    active: true,
    sub: 'alice',
    aud: `${PUBLIC}/one/mcp`,
    scope: 'read write',
    exp: clock.seconds + 300,
    ...more,
  })
  const send = (token: string) => post(app, '/one/mcp', INITIALIZE, { authorization: `Bearer ${token}` })
  return { app, clock, issuer, active, send }
}

describe('introspection', () => {
  test('asks as a client, by HTTP Basic, with the token in the body', async (t) => {
    const { issuer, active, send } = await setUp(t)
    issuer.tokens.set('opaque~1', active())
    assert.equal((await send('opaque~1')).status, 200)
    const { authorization = '', body } = issuer.introspected!
    const login = Buffer.from(authorization.slice('Basic '.length), 'base64').toString()
    assert.equal(login, 'gate+way:s%3Acret%2F%C3%BC')
    assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), {
      token: 'opaque~1',
      token_type_hint: 'access_token',
    })
  })

  test('finds the endpoint in the metadata', async (t) => {
    const { issuer, active, send } = await setUp(t, {}, false)
    issuer.tokens.set('a', active())
    assert.equal((await send('a')).status, 200)
    issuer.broken.set('/introspect', 404)
    assert.equal((await send('b')).status, 503)
    issuer.metadata.introspection_endpoint = `${issuer.issuer}/moved`
    assert.equal((await send('b')).status, 503)
    assert.equal(issuer.asked('/moved'), 1, 'the metadata is read again after a failure')
  })

  const rows: [what: string, claims: object, status: number, message: RegExp][] = [
    ['not active', { active: false }, 401, /not active/],
    ['active as a text', { active: 'true' }, 401, /not active/],
    ['no word of active', { active: undefined }, 401, /not active/],
    ['expired', { exp: 1 }, 401, /expired/],
    ['not valid yet', { nbf: 99999999999 }, 401, /not valid yet/],
    ['expired, as a text', { exp: '1' }, 401, /expired/],
    ['not valid yet, as a text', { nbf: '99999999999' }, 401, /not valid yet/],
    ['a time that is none', { exp: 'tomorrow' }, 401, /no number/],
    ['a time that is an object', { nbf: {} }, 401, /no number/],
    ['a refresh token', { token_type: 'refresh_token' }, 401, /not a Bearer access token/],
    ['a token that is no access token', { token_type: 'N_A' }, 401, /not a Bearer access token/],
    ['a token of DPoP', { token_type: 'DPoP' }, 401, /not a Bearer access token/],
    ['a type that is no text', { token_type: ['Bearer'] }, 401, /not a Bearer access token/],
    ['bound to a key', { cnf: { jkt: 'x' } }, 401, /bound to a key/],
    ['another audience', { aud: 'https://other.example' }, 401, /audience/],
    ['no audience', { aud: undefined }, 401, /audience/],
    ['another issuer', { iss: 'https://other.example' }, 401, /issuer/],
    ['no subject and no client', { sub: undefined }, 401, /no subject/],
    ['too few scopes', { scope: 'write' }, 403, /scopes/],
    ['no scopes', { scope: undefined }, 403, /scopes/],
  ]
  for (const [what, claims, status, message] of rows)
    test(`refuses: ${what}`, async (t) => {
      const { issuer, active, send } = await setUp(t)
      issuer.tokens.set('a', active(claims))
      const response = await send('a')
      assert.equal(response.status, status)
      assert.match((await body(response)).error.message, message)
      const error = status === 403 ? 'insufficient_scope' : 'invalid_token'
      assert.ok(response.headers.get('www-authenticate')?.includes(`, error="${error}", `))
    })

  for (const more of [
    { token_type: 'bearer' },
    { token_type: 'access_token' },
    { exp: '99999999999', nbf: null },
  ])
    test(`accepts: ${JSON.stringify(more)}`, async (t) => {
      const { issuer, active, send } = await setUp(t)
      issuer.tokens.set('a', active(more))
      assert.equal((await send('a')).status, 200)
    })

  const faults: [
    what: string,
    spoil: (broken: Map<string, number>, tokens: Map<string, unknown>) => unknown,
  ][] = [
    ['the gateway is no client there', (broken) => broken.set('/introspect', 401)],
    ['an error', (broken) => broken.set('/introspect', 500)],
    ['a redirect', (broken) => broken.set('/introspect', 307)],
    ['no JSON', (_, tokens) => tokens.set('a', 'active')],
    ['an array', (_, tokens) => tokens.set('a', [])],
    ['a huge answer', (_, tokens) => tokens.set('a', { active: true, x: 'x'.repeat(65_536) })],
  ]
  for (const [what, spoil] of faults)
    test(`cannot judge: ${what}`, async (t) => {
      const { issuer, send } = await setUp(t)
      spoil(issuer.broken, issuer.tokens)
      const response = await send('a')
      assert.equal(response.status, 503)
      assert.equal(response.headers.get('retry-after'), '5')
    })

  test('the log says why a token could not be checked', async (t) => {
    const issuer = await testIssuer(t)
    const issuers = [{ issuer: issuer.issuer, clientId: 'gateway', clientSecret: 'wrong' }]
    const { base, logged } = await gatewayHere(t, {
      name: 'one',
      routers: [{ server: 'one', prefix: '/one', auth: { type: 'introspection', issuers } }],
      servers: [{ name: 'one' }],
    })
    const headers = { authorization: 'Bearer a' }
    for (const status of [401, 500, 200]) {
      issuer.broken.set('/introspect', status)
      assert.equal((await fetch(`${base}/one/mcp`, { method: 'POST', headers })).status, 503)
    }
    const said = 'the introspection endpoint responded with'
    assert.deepEqual(
      logged.map(({ reason }) => reason).filter((reason) => String(reason).startsWith(said)),
      [
        `${said} status 401: look at \`clientId\` and \`clientSecret\``,
        `${said} status 500`,
        `${said} no JSON object`,
      ],
    )
  })

  test('an answer is used again for cacheTtl: then a revoked token is refused', async (t) => {
    const { clock, issuer, active, send } = await setUp(t, { cacheTtl: '10s' })
    issuer.tokens.set('a', active())
    assert.equal((await send('a')).status, 200)
    issuer.tokens.delete('a')
    clock.move(9)
    assert.equal((await send('a')).status, 200)
    assert.equal(issuer.asked('/introspect'), 1)
    clock.move(1)
    assert.equal((await send('a')).status, 401)
    assert.equal(issuer.asked('/introspect'), 2)
    issuer.tokens.set('a', active())
    assert.equal((await send('a')).status, 200, 'a refusal is not kept')
  })

  test('with cacheTtl: 0s it asks each time, and a token is not used beyond its expiry', async (t) => {
    const { clock, issuer, active, send } = await setUp(t, { cacheTtl: 0 })
    issuer.tokens.set('a', active())
    assert.equal((await send('a')).status, 200)
    issuer.tokens.delete('a')
    assert.equal((await send('a')).status, 401)
    const long = await setUp(t, { cacheTtl: '1h' })
    long.issuer.tokens.set('a', long.active({ exp: long.clock.seconds + 5 }))
    assert.equal((await long.send('a')).status, 200)
    long.clock.move(36)
    assert.equal((await long.send('a')).status, 401)
    assert.ok(clock.seconds > 0)
  })

  test('a token that many requests have is asked about once', async (t) => {
    const { issuer, active, send } = await setUp(t)
    issuer.tokens.set('a', active())
    const found = await Promise.all(Array.from({ length: 20 }, () => send('a')))
    assert.ok(found.every(({ status }) => status === 200))
    assert.equal(issuer.asked('/introspect'), 1)
  })

  test('more tokens at a time than 100 wait for better days', async (t) => {
    const { issuer, send } = await setUp(t)
    const found = await Promise.all(Array.from({ length: 101 }, (_, i) => send(`t${i}`)))
    const texts = await Promise.all(found.map((answer) => answer.text()))
    // A slow machine may answer others with 503, too.
    const refused = found.filter((_, i) => texts[i]!.includes('Too many tokens are being checked'))
    assert.deepEqual(
      refused.map(({ status }) => status),
      [503],
    )
    assert.equal(issuer.asked('/introspect'), 100)
  })

  test('tokens that cannot be any are not sent', async (t) => {
    const { issuer, send } = await setUp(t)
    for (const token of ['a b', '"a"', 'a&token=b', '=', 'ä'])
      assert.equal((await send(Buffer.from(token).toString('latin1'))).status, 401, token)
    assert.equal(issuer.asked('/introspect'), 0)
  })

  test('a client without a subject owns its session, and is no user of the same name', async (t) => {
    const { app, issuer, active } = await setUp(t)
    issuer.tokens.set('machine', active({ sub: undefined, client_id: 'alice' }))
    issuer.tokens.set('person', active())
    const machine = { authorization: 'Bearer machine' }
    const session = await open(app, '/one', '2025-11-25', machine)
    const list = (authorization: string) =>
      post(app, '/one/mcp', rpc('tools/list'), { ...session, authorization })
    assert.equal((await list('Bearer machine')).status, 200)
    assert.equal((await list('Bearer person')).status, 404)
  })
})

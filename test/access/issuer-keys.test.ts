import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { signed, type TestIssuer, testIssuer } from '../support/issuer.ts'
import { oauthWire, PUBLIC, TestClock } from '../support/oauth.ts'
import { body, INITIALIZE, post } from '../support/wire.ts'

const MINUTE = 60
const HOUR = 3600

type Key = Awaited<ReturnType<TestIssuer['addKey']>>

async function setUp(t: TestContext, path = '') {
  const clock = new TestClock()
  const issuer = await testIssuer(t, path)
  const { app } = await oauthWire(t, { type: 'jwt', issuers: [{ issuer: issuer.issuer }] }, clock)
  const token = (key: Key, kid?: string) =>
    signed(
      key,
      { alg: 'ES256', ...(kid !== undefined && { kid }) },
      { iss: issuer.issuer, sub: 'a', aud: `${PUBLIC}/one/mcp`, exp: clock.seconds + 10 * HOUR },
    )
  const send = (token: string) => post(app, '/one/mcp', INITIALIZE, { authorization: `Bearer ${token}` })
  const status = async (token: string) => (await send(token)).status
  return { clock, issuer, token, send, status }
}

describe('the keys of an issuer', () => {
  test('are fetched once for many tokens', async (t) => {
    const { issuer, token, status } = await setUp(t)
    const key = await issuer.addKey('a')
    const tokens = await Promise.all(Array.from({ length: 20 }, () => token(key, 'a')))
    assert.deepEqual(new Set(await Promise.all(tokens.map(status))), new Set([200]))
    assert.equal(issuer.asked('/jwks'), 1)
  })

  test('are fetched for an unknown kid, at most every 30 s', async (t) => {
    const { clock, issuer, token, status } = await setUp(t)
    const old = await issuer.addKey('old')
    assert.equal(await status(await token(old, 'old')), 200)
    const fresh = await issuer.addKey('new')
    assert.equal(await status(await token(fresh, 'new')), 401, 'they were fetched a moment ago')
    clock.move(29)
    assert.equal(await status(await token(fresh, 'new')), 401)
    clock.move(1)
    assert.equal(await status(await token(fresh, 'new')), 200)
    for (let i = 0; i < 50; i++) assert.equal(await status(await token(fresh, `made up ${i}`)), 401)
    assert.equal(issuer.asked('/jwks'), 2)
  })

  test('without a kid are fetched again where the signature does not fit', async (t) => {
    const { clock, issuer, token, status } = await setUp(t)
    assert.equal(await status(await token(await issuer.addKey(undefined))), 200)
    issuer.keys = []
    const rotated = await issuer.addKey(undefined)
    clock.move(31)
    assert.equal(await status(await token(rotated)), 200)
  })

  test('of which several would fit need a kid', async (t) => {
    const { issuer, token, send } = await setUp(t)
    const key = await issuer.addKey('a')
    await issuer.addKey('b')
    const refused = await send(await token(key))
    assert.equal(refused.status, 401)
    assert.match((await body(refused)).error.message, /which key/)
  })

  test('that were withdrawn are good for no token, also one that was accepted before', async (t) => {
    const { clock, issuer, token, status } = await setUp(t)
    const [gone, stays] = [await issuer.addKey('gone'), await issuer.addKey('stays')]
    const accepted = await token(gone, 'gone')
    assert.equal(await status(accepted), 200)
    issuer.keys = (issuer.keys as object[]).slice(1)
    clock.move(31)
    // An unknown key has them fetched.
    assert.equal(await status(await token(stays, 'unknown')), 401)
    assert.equal(await status(accepted), 401)
    assert.equal(await status(await token(stays, 'stays')), 200)
  })

  test('serve for an hour after the issuer is gone, and then tokens cannot be judged', async (t) => {
    const { clock, issuer, token, send, status } = await setUp(t)
    const key = await issuer.addKey('a')
    const accepted = await token(key, 'a')
    assert.equal(await status(accepted), 200)
    await issuer.stop()
    clock.move(65 * MINUTE)
    assert.equal(await status(accepted), 200)
    assert.equal(await status(await token(key, 'a')), 200, 'also one that is seen for the first time')
    clock.move(6 * MINUTE)
    for (const one of [accepted, await token(key, 'a')]) {
      const refused = await send(one)
      assert.equal(refused.status, 503)
      assert.equal(refused.headers.get('retry-after'), '5')
      assert.equal(refused.headers.get('www-authenticate'), null)
    }
    await issuer.start()
    clock.move(5)
    assert.equal(await status(accepted), 200)
  })

  test('that may be new cannot be judged while the issuer is down', async (t) => {
    const { clock, issuer, token, status } = await setUp(t)
    assert.equal(await status(await token(await issuer.addKey('a'), 'a')), 200)
    const fresh = await issuer.addKey('b')
    await issuer.stop()
    clock.move(31)
    assert.equal(await status(await token(fresh, 'b')), 503)
  })
})

describe('key sets that are not used', () => {
  const rows: [what: string, spoil: (issuer: TestIssuer) => void][] = [
    ['no JSON', (issuer) => (issuer.keys = '<html>')],
    ['a list', (issuer) => (issuer.keys = '[]')],
    ['keys that are no list', (issuer) => (issuer.keys = '{"keys":{}}')],
    ['more than 100 keys', (issuer) => (issuer.keys = Array(101).fill((issuer.keys as object[])[0]))],
    ['more than 256 KiB', (issuer) => (issuer.keys = `{"keys":[],"x":"${'x'.repeat(256 * 1024)}"}`)],
    ['an error', (issuer) => issuer.broken.set('/jwks', 500)],
    ['a redirect', (issuer) => issuer.broken.set('/jwks', 302)],
    ['nothing', (issuer) => issuer.broken.set('/jwks', 404)],
    ['metadata of another issuer', (issuer) => (issuer.metadata.issuer = 'https://evil.example')],
    ['metadata without keys', (issuer) => delete issuer.metadata.jwks_uri],
    ['keys by plain http elsewhere', (issuer) => (issuer.metadata.jwks_uri = 'http://192.0.2.1/jwks')],
    ['keys from a file', (issuer) => (issuer.metadata.jwks_uri = 'file:///etc/passwd')],
  ]
  for (const [what, spoil] of rows)
    test(what, async (t) => {
      const { clock, issuer, token, status } = await setUp(t)
      const key = await issuer.addKey('a')
      const [keys, metadata] = [issuer.keys, { ...issuer.metadata }]
      spoil(issuer)
      assert.equal(await status(await token(key, 'a')), 503)
      Object.assign(issuer, { keys, metadata })
      issuer.broken.clear()
      assert.equal(await status(await token(key, 'a')), 503, 'it is not asked again at once')
      clock.move(5)
      assert.equal(await status(await token(key, 'a')), 200)
    })
})

describe('discovery', () => {
  const WELL_KNOWN = '/.well-known'
  const rows: [path: string, at: string, broken: string[]][] = [
    ['', `${WELL_KNOWN}/oauth-authorization-server`, []],
    ['', `${WELL_KNOWN}/openid-configuration`, [`${WELL_KNOWN}/oauth-authorization-server`]],
    ['/realms/a', `${WELL_KNOWN}/oauth-authorization-server/realms/a`, []],
    [
      '/realms/a',
      `${WELL_KNOWN}/openid-configuration/realms/a`,
      [`${WELL_KNOWN}/oauth-authorization-server/realms/a`],
    ],
    [
      '/realms/a',
      `/realms/a${WELL_KNOWN}/openid-configuration`,
      [`${WELL_KNOWN}/oauth-authorization-server/realms/a`, `${WELL_KNOWN}/openid-configuration/realms/a`],
    ],
  ]
  for (const [path, at, broken] of rows)
    test(`of ${path || 'an issuer without a path'} at ${at}`, async (t) => {
      const { issuer, token, status } = await setUp(t, path)
      for (const one of broken) issuer.broken.set(one, 404)
      assert.equal(await status(await token(await issuer.addKey('a'), 'a')), 200)
      assert.equal(issuer.asked(at), 1)
    })
})

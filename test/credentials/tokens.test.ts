import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Credentials as Settings } from '../../src/config/model.ts'
import { credentialsFor, type SentHeader } from '../../src/credentials/credential.ts'
import { Fault } from '../../src/mcp/index.ts'
import { HttpClient } from '../../src/net/index.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { TestClock } from '../support/oauth.ts'
import { CLIENT, json, type TokenServer, tokenServer } from '../support/tokens.ts'
import type { Loose } from '../support/wire.ts'

const DEFAULTS = { header: 'Authorization', scopes: [] } as const

async function setUp(t: TestContext, more: Partial<Settings> = {}) {
  const clock = new TestClock()
  const server = await tokenServer(t)
  const http = new HttpClient()
  t.after(() => http.close())
  const logged: Loose[] = []
  const to = { write: (line: string) => void logged.push(JSON.parse(line)) }
  const log = await createLog({ level: 'debug', format: 'json', to })
  const credentials = {
    ...DEFAULTS,
    type: 'clientCredentials',
    ...CLIENT,
    ...(more.issuer === undefined && { tokenUrl: server.url }),
    ...more,
    ...(more.issuer === '' && { issuer: server.origin }),
  } as Settings
  const of = credentialsFor({ http, guards: undefined, log, steady: clock.steady })(
    { name: 'shop', credentials },
    { tenant: 'default', name: 'test' },
  )!
  /** Of a caller with a token; of the gateway itself where there is none. */
  const credential = (token?: string, caller = 'alice', scopes: string[] = [], clientId = 'app') => {
    const identity = {
      caller,
      subject: caller,
      issuer: 'https://i',
      clientId,
      scopes: new Set(scopes),
      claims: {},
    }
    const one = of.of(
      token === undefined ? { headers: {} } : { headers: { authorization: `Bearer ${token}` }, identity },
    )
    assert.ok(!(one instanceof Fault))
    return one
  }
  return { clock, server, of, credential, logged }
}

async function sent(header: SentHeader | Fault | undefined | Promise<SentHeader | Fault | undefined>) {
  const one = await header
  assert.ok(one && !(one instanceof Fault), JSON.stringify(one))
  assert.equal(one.name, 'authorization')
  return one.value.replace(/^Bearer /, '')
}

async function fault(
  header: SentHeader | Fault | undefined | Promise<SentHeader | Fault | undefined>,
): Promise<Fault> {
  const one = await header
  assert.ok(one instanceof Fault)
  return one
}

describe('tokens by client credentials', () => {
  test('are asked for as a client, by HTTP Basic, with what the token is for', async (t) => {
    const { server, credential } = await setUp(t, {
      scopes: ['a', 'b'],
      resource: ['https://shop.example.com/mcp', 'https://shop.example.com/other'],
      audience: 'shop',
    })
    assert.ok(server.live.has(await sent(credential().header())))
    const [asked] = server.asked
    assert.equal(
      asked!.authorization,
      `Basic ${Buffer.from('gate+way:s%3Acret%2F%C3%BC').toString('base64')}`,
    )
    assert.deepEqual(
      [...asked!.form],
      [
        ['grant_type', 'client_credentials'],
        ['resource', 'https://shop.example.com/mcp'],
        ['resource', 'https://shop.example.com/other'],
        ['audience', 'shop'],
        ['scope', 'a b'],
      ],
    )
  })

  test('are asked for with the client in the body', async (t) => {
    const { server, credential } = await setUp(t, { clientAuthentication: 'post' })
    await sent(credential().header())
    assert.equal(server.asked[0]!.authorization, undefined)
    assert.equal(server.asked[0]!.form.get('client_secret'), CLIENT.clientSecret)
  })

  test('come from the endpoint that the metadata name', async (t) => {
    const { server, credential } = await setUp(t, { issuer: '' })
    assert.ok(server.live.has(await sent(credential().header())))
  })

  test('are fetched once for many calls', async (t) => {
    const { server, credential } = await setUp(t)
    const tokens = await Promise.all(Array.from({ length: 20 }, () => sent(credential().header())))
    assert.equal(new Set(tokens).size, 1)
    assert.equal(server.asked.length, 1)
    assert.equal(await sent(credential().header()), tokens[0])
  })

  test('are fetched anew before they expire, while calls go on', async (t) => {
    const { clock, server, credential } = await setUp(t)
    const first = await sent(credential().header())
    clock.move(79)
    assert.equal(await sent(credential().header()), first)
    assert.equal(server.asked.length, 1)
    clock.move(2)
    const asked = server.next()
    assert.equal(await sent(credential().header()), first, 'the old one is used meanwhile')
    await asked
    let token = first
    while (token === first) {
      await new Promise((resolve) => setImmediate(resolve))
      token = await sent(credential().header())
    }
    assert.equal(server.asked.length, 2)
    clock.move(96)
    assert.notEqual(await sent(credential().header()), token, 'nobody gets one that may expire on its way')
    assert.equal(server.asked.length, 3)
  })

  test('are used while a new one cannot be fetched, and no longer than they live', async (t) => {
    const { clock, server, credential } = await setUp(t)
    const first = await sent(credential().header())
    await server.stop()
    clock.move(81)
    for (let i = 0; i < 5; i++) assert.equal(await sent(credential().header()), first)
    clock.move(15)
    assert.equal((await fault(credential().header())).kind, 'unreachable')
    await server.start()
    clock.move(3)
    assert.notEqual(await sent(credential().header()), first)
  })

  for (const [lifetime, seconds] of [
    [undefined, 300],
    ['60', 60],
    ['soon', 300],
    [1e9, 86_400],
  ] as const)
    test(`live for ${seconds} s when the response says ${lifetime}`, async (t) => {
      const { clock, server, credential } = await setUp(t)
      server.lifetime = lifetime
      await sent(credential().header())
      clock.move(seconds * 0.79)
      await sent(credential().header())
      assert.equal(server.asked.length, 1)
      clock.move(seconds * 0.17)
      await sent(credential().header())
      assert.equal(server.asked.length, 2)
    })

  test('that live for no time are for those who wait', async (t) => {
    const { server, credential } = await setUp(t)
    server.lifetime = -1
    const first = await sent(credential().header())
    assert.notEqual(await sent(credential().header()), first)
  })
})

describe('odd answers that hold a token', () => {
  const rows: Record<string, TokenServer['respond']> = {
    'status 201': (r) => json(r, 201, { access_token: 'abc', token_type: 'bearer' }),
    'a byte order mark': (r) => r.end('\uFEFF{"access_token":"abc","token_type":"Bearer"}'),
    'no type': (r) => json(r, 200, { access_token: 'abc' }),
    'a type of null': (r) => json(r, 200, { access_token: 'abc', token_type: null }),
  }
  test('are taken', async (t) => {
    const { server, credential } = await setUp(t)
    for (const [what, respond] of Object.entries(rows)) {
      server.respond = respond
      assert.equal(await sent(credential(undefined, what).header()), 'abc', what)
    }
  })

  test('the client logs in as the metadata want it, unless the configuration says how', async (t) => {
    const { server, credential } = await setUp(t, { issuer: '' })
    server.methods = ['client_secret_post', 'private_key_jwt']
    await sent(credential().header())
    assert.deepEqual(
      [server.asked[0]!.authorization, server.asked[0]!.form.get('client_id')],
      [undefined, CLIENT.clientId],
    )
    const { server: other, credential: own } = await setUp(t, { issuer: '', clientAuthentication: 'basic' })
    other.methods = ['client_secret_post']
    await sent(own().header())
    assert.match(other.asked[0]!.authorization!, /^Basic /)
  })
})

describe('no token', () => {
  const rows: [what: string, respond: TokenServer['respond'], kind: string, message: RegExp][] = [
    [
      'a redirect',
      (r) => r.writeHead(302, { location: '/token' }).end(),
      'status',
      /responded with status 302$/,
    ],
    ['a foreign error', (r) => json(r, 400, { error: 'x <b>y' }), 'status', /with status 400 \(x <b>y\)$/],
    ['an error', (r) => json(r, 400, { error: 'invalid_scope' }), 'status', /status 400 \(invalid_scope\)$/],
    ['no JSON', (r) => r.end('<html>'), 'invalid', /responded without an access token$/],
    ['no object', (r) => json(r, 200, [1]), 'invalid', /responded without an access token$/],
    ['no token', (r) => json(r, 200, { token_type: 'Bearer' }), 'invalid', /without an access token$/],
    [
      'a line break',
      (r) => json(r, 200, { access_token: 'a\r\nx: y', token_type: 'Bearer' }),
      'invalid',
      /without an access token$/,
    ],
    [
      'a token of another type',
      (r) => json(r, 200, { access_token: 'a', token_type: 'DPoP' }),
      'invalid',
      /is not a Bearer token$/,
    ],
    [
      'an error with 200',
      (r) => json(r, 200, { error: 'bad_verification_code', error_description: 'The code\n is wrong.' }),
      'status',
      /status 200 \(bad_verification_code: The code is wrong\.\)$/,
    ],
    [
      'an error that repeats the request',
      (r, { form, authorization }) => json(r, 400, { message: `${form} ${authorization}` }),
      'status',
      /status 400 \(grant_type=client_credentials Basic \*\*\*\)$/,
    ],
    [
      'a long token',
      (r) => json(r, 200, { access_token: 'a'.repeat(8001), token_type: 'Bearer' }),
      'invalid',
      /longer than 8000 characters$/,
    ],
    ['a large response', (r) => r.end(' '.repeat(70_000)), 'invalid', /is larger than the limit/],
    [
      'a cut response',
      (r) => r.writeHead(200, { 'content-length': '10' }).write('{', () => r.destroy()),
      'unreachable',
      /closed the connection/,
    ],
  ]
  for (const [what, respond, kind, message] of rows)
    test(`from ${what}`, async (t) => {
      const { server, credential, logged } = await setUp(t)
      server.respond = respond
      const got = await fault(credential().header())
      assert.equal(got.kind, kind)
      assert.match(got.message, /^No token for the server shop could be fetched: /)
      assert.match(got.message, message)
      assert.deepEqual(
        logged.map(({ level, server, reason, msg }) => ({ level, server, reason, msg })),
        [
          {
            level: 'warn',
            server: 'shop',
            reason: got.message,
            msg: 'no token for a server could be fetched',
          },
        ],
      )
    })

  test('for a wrong secret, which nobody sees', async (t) => {
    const { credential, logged } = await setUp(t, { clientSecret: 'wrong-secret' })
    const got = await fault(credential().header())
    assert.equal(
      got.message.replace(/http:\S+/, 'ORIGIN'),
      'No token for the server shop could be fetched: the token endpoint at ORIGIN responded with status 401 (invalid_client: grant_type=client_credentials)',
    )
    assert.ok(!JSON.stringify([got, logged]).includes('wrong-secret'))
  })

  test('from a server that is down, or that does not respond', async (t) => {
    const { server, clock, credential } = await setUp(t)
    t.mock.timers.enable({ apis: ['setTimeout'] })
    server.respond = () => {}
    const asked = server.next()
    const waiting = fault(credential().header())
    await asked
    t.mock.timers.tick(10_000)
    assert.match((await waiting).message, /did not respond completely within 10 s$/)
    assert.equal((await waiting).kind, 'timeout')
    t.mock.timers.reset()
    await server.stop()
    clock.move(3)
    const down = await fault(credential().header())
    assert.equal(down.kind, 'unreachable')
    assert.match(down.message, /refused the connection: nothing is listening there$/)
  })

  test('is the answer to all who ask in the next moment', async (t) => {
    const { server, clock, credential } = await setUp(t)
    server.respond = (response) => json(response, 503, {})
    const faults = await Promise.all(Array.from({ length: 20 }, () => fault(credential().header())))
    faults.push(await fault(credential().header()))
    assert.equal(new Set(faults).size, 1)
    assert.equal(server.asked.length, 1)
    server.respond = undefined
    clock.move(3)
    await sent(credential().header())
  })
})

describe('tokens in exchange for those of callers', () => {
  test('are asked for with the token of the caller', async (t) => {
    const { server, credential } = await setUp(t, { type: 'tokenExchange', audience: ['a', 'b'] })
    assert.equal(server.live.get(await sent(credential('of-alice').header())), 'of-alice')
    assert.deepEqual(
      [...server.asked[0]!.form],
      [
        ['grant_type', 'urn:ietf:params:oauth:grant-type:token-exchange'],
        ['subject_token', 'of-alice'],
        ['subject_token_type', 'urn:ietf:params:oauth:token-type:access_token'],
        ['requested_token_type', 'urn:ietf:params:oauth:token-type:access_token'],
        ['audience', 'a'],
        ['audience', 'b'],
      ],
    )
  })

  test('are those of one caller, with the same client and scopes', async (t) => {
    const { server, credential } = await setUp(t, { type: 'tokenExchange' })
    const all = [
      credential('a', 'alice'),
      credential('b', 'bob'),
      credential('c', 'alice', ['write']),
      credential('d', 'alice', [], 'other-app'),
    ]
    assert.equal(new Set(all.map(({ key }) => key)).size, 4)
    const tokens = await Promise.all(all.flatMap((one) => [sent(one.header()), sent(one.header())]))
    assert.deepEqual(
      tokens.map((token) => server.live.get(token)),
      [...'aabbccdd'],
    )
    assert.equal(server.asked.length, 4)
    assert.equal(credential('x', 'alice', ['b', 'a']).key, credential('y', 'alice', ['a', 'b']).key)
    for (const one of all) assert.deepEqual(one.sent().length, 1)
  })

  test('are fetched anew with the newest token of the caller', async (t) => {
    const { clock, server, credential } = await setUp(t, { type: 'tokenExchange' })
    const old = credential('first')
    await sent(old.header())
    credential('second')
    clock.move(96)
    assert.equal(server.live.get(await sent(old.header())), 'second')
  })

  test('fail for one caller, until that caller has another token', async (t) => {
    const { server, credential } = await setUp(t, { type: 'tokenExchange' })
    const got = await fault(credential('revoked').header())
    assert.match(got.message, /status 400 \(invalid_grant\)$/)
    assert.ok(await sent(credential('good', 'bob').header()))
    assert.equal(await fault(credential('revoked').header()), got)
    assert.equal(server.live.get(await sent(credential('new').header())), 'new')
  })

  test('are kept for 1,000 callers', async (t) => {
    const { server, credential } = await setUp(t, { type: 'tokenExchange' })
    for (let i = 0; i <= 1000; i += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, j) => sent(credential(`t${i + j}`, `caller ${i + j}`).header())),
      )
    const before = server.asked.length
    await sent(credential('t1040', 'caller 1040').header())
    assert.equal(server.asked.length, before)
    await sent(credential('t0', 'caller 0').header())
    assert.equal(server.asked.length, before + 1)
  })

  test('at most 100 are asked for at a time', async (t) => {
    const { server, credential } = await setUp(t, { type: 'tokenExchange' })
    server.respond = () => {}
    for (let i = 0; i < 100; i++) credential(`t${i}`, `caller ${i}`).header()
    const got = await fault(credential('one-more', 'one more').header())
    assert.equal(got.kind, 'busy')
    assert.equal(got.message, 'Too many tokens for the server shop are being fetched at the moment')
  })

  test('are not for who has none of an authorization server', async (t) => {
    const { of } = await setUp(t, { type: 'tokenExchange' })
    const identity = { caller: 'agent', subject: 'agent', scopes: new Set<string>(), claims: {} }
    for (const facts of [
      { headers: {} },
      { headers: { authorization: 'Bearer of-the-file' }, identity },
      { headers: {}, identity: { ...identity, issuer: 'https://i' } },
    ]) {
      const got = of.of(facts)
      assert.ok(got instanceof Fault)
      assert.equal(got.kind, 'refused')
      assert.match(
        got.message,
        /^The server shop is called with a token for the caller, who has not logged in/,
      )
    }
  })
})

describe('a token that a server refused', () => {
  test('is renewed once for all who were refused', async (t) => {
    const { server, credential } = await setUp(t)
    const header = (await credential().header()) as SentHeader
    const renewed = await Promise.all(Array.from({ length: 20 }, () => sent(credential().renew(header))))
    assert.equal(new Set(renewed).size, 1)
    assert.equal(server.asked.length, 2)
    assert.deepEqual(credential().sent(), [`Bearer ${renewed[0]}`, header.value])
  })

  test('is not renewed again in the next moment', async (t) => {
    const { clock, server, credential } = await setUp(t)
    const first = (await credential().header()) as SentHeader
    const second = (await credential().renew(first)) as SentHeader
    assert.equal(await credential().renew(second), undefined)
    assert.equal(server.asked.length, 2)
    clock.move(11)
    assert.notEqual(await sent(credential().renew(second)), second.value)
  })

  test('is not tried again where the same one comes', async (t) => {
    const { server, credential } = await setUp(t)
    server.respond = (response) => json(response, 200, { access_token: 'same', token_type: 'Bearer' })
    const first = (await credential().header()) as SentHeader
    assert.equal(await credential().renew(first), undefined)
    assert.equal(server.asked.length, 2)
  })

  test('that is fixed stays', async (t) => {
    const { credential } = await setUp(t, { type: 'static', header: 'X-Api-Key', value: 'k-123456' })
    const header = (await credential().header()) as SentHeader
    assert.deepEqual(header, { name: 'x-api-key', value: 'k-123456' })
    assert.equal(await credential().renew(header), undefined)
  })
})

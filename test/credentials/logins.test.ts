import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Credentials, VaultSettings } from '../../src/config/model.ts'
import { credentialsFor, loginOf } from '../../src/credentials/credential.ts'
import type { ServerLogin } from '../../src/credentials/oauth/server-login.ts'
import { openVault } from '../../src/credentials/oauth/vault.ts'
import { Fault } from '../../src/mcp/fault.ts'
import { HttpClient } from '../../src/net/index.ts'
import { createLog, silentLog } from '../../src/telemetry/log.ts'
import { type AuthorizationServer, authorizationServer } from '../fixtures/authorization-server.ts'
import { gatewayHere } from '../support/gateway.ts'
import { TestClock } from '../support/oauth.ts'
import { freePort, temporaryFolder } from '../support/process.ts'
import { mysqlUrl, ownDatabase, postgresUrl, skipUnless } from '../support/services.ts'
import { json, tokenServer } from '../support/tokens.ts'
import type { Loose } from '../support/wire.ts'

const KEY = 'a key of the vault with 32 characters'
const RETURN = { redirectUri: 'http://127.0.0.1/callback' }
const OF = { tenant: 'default', name: 'test' }

interface World {
  clock: TestClock
  logged: Loose[]
  /** The login as another replica has it. */
  replica(baseUrl?: string): Promise<ServerLogin>
}

async function world(
  t: TestContext,
  given: Partial<Credentials>,
  storage: VaultSettings['storage'] = { type: 'folder', path: join(temporaryFolder(t), 'logins') },
): Promise<World> {
  const clock = new TestClock()
  const logged: Loose[] = []
  const to = { write: (line: string) => void logged.push(JSON.parse(line)) }
  const log = await createLog({ level: 'debug', format: 'json', to })
  const settings = {
    type: 'oauth',
    for: 'gateway',
    header: 'Authorization',
    scopes: [],
    ...given,
  } as Credentials
  const replica = async (baseUrl = 'http://127.0.0.1:1/') => {
    const vault = await openVault({ key: KEY, storage })
    const http = new HttpClient()
    t.after(() => Promise.all([vault.close(), http.close()]))
    const parts = { vault, http, guards: undefined, log, now: clock.now }
    return loginOf({ name: 'shop', baseUrl }, OF, settings, parts)
  }
  return { clock, logged, replica }
}

async function logIn(login: ServerLogin, as: AuthorizationServer): Promise<void> {
  const attempt = await login.begin(RETURN)
  await login.finish(attempt, (await as.visit(new URL(attempt.url))).searchParams)
}

async function token(login: ServerLogin, refused?: string): Promise<string> {
  const fetched = await login.token(refused && `Bearer ${refused}`)
  return fetched instanceof Fault ? `${fetched.kind}: ${fetched.message}` : fetched.token
}

const AT_AS = (as: AuthorizationServer) => ({
  issuer: as.issuer,
  resource: 'https://shop.example.com',
  scopes: ['plants:read'],
})

const STORES: [
  name: string,
  make: (t: TestContext) => Promise<VaultSettings['storage'] | undefined>,
  skip: string | false,
][] = [
  ['a folder', async () => undefined, false],
  [
    'PostgreSQL',
    async (t) => ({ type: 'postgres', url: await ownDatabase(t, postgresUrl()) }),
    await skipUnless(postgresUrl()),
  ],
  [
    'MySQL',
    async (t) => ({ type: 'mysql', url: await ownDatabase(t, mysqlUrl()) }),
    await skipUnless(mysqlUrl()),
  ],
]

for (const [name, make, skip] of STORES)
  test(`replicas with a vault in ${name} refresh a login once, as refresh tokens are good once`, {
    skip,
  }, async (t) => {
    const as = await authorizationServer(t)
    const { clock, logged, replica } = await world(t, AT_AS(as), await make(t))
    const replicas = await Promise.all([replica(), replica(), replica()])
    await logIn(replicas[0]!, as)
    const all = () => Promise.all([...replicas, ...replicas, ...replicas].map((login) => token(login)))
    const seen: string[] = []
    for (let round = 0; round < 3; round++) {
      const tokens = new Set(await all())
      assert.equal(tokens.size, 1, [...tokens].join('\n'))
      seen.push(...tokens)
      clock.move(as.ttl)
    }
    assert.equal(new Set(seen).size, 3)
    assert.ok(
      seen.every((one) => one.split('.').length === 3),
      seen.join('\n'),
    )
    assert.equal(logged.filter(({ msg }) => msg === 'a login was refreshed').length, 2)
  })

test('a token that the server refuses is refreshed, unless another replica has done so', async (t) => {
  const as = await authorizationServer(t)
  const { replica } = await world(t, AT_AS(as))
  const [one, other] = [await replica(), await replica()]
  await logIn(one, as)
  const first = await token(one)
  const second = await token(one, first)
  assert.notEqual(second, first)
  assert.equal(await token(other, first), second)
})

test('a login that cannot be refreshed any more has ended', async (t) => {
  const as = await authorizationServer(t)
  const { clock, replica } = await world(t, AT_AS(as))
  const login = await replica()
  assert.equal(await login.state(), 'missing')
  assert.equal(
    await token(login),
    'refused: The server shop needs a login: run `plantgw login test/shop` where the gateway runs',
  )
  as.refresh = false
  await logIn(login, as)
  assert.equal(await login.state(), 'present')
  clock.move(as.ttl + 1)
  assert.match(
    await token(login),
    /^refused: The login at the server shop has ended \(it has expired, and there is no refresh token\)/,
  )
  as.refresh = true
  await logIn(login, as)
  // The authorization server forgets the login.
  assert.match((await login.logout())!, /^its tokens are revoked/)
  assert.equal(await login.state(), 'missing')
})

test('an authorization server that fails does not end a login', async (t) => {
  const tokens = await tokenServer(t)
  const { clock, replica } = await world(t, {
    authorizationUrl: `${tokens.origin}/authorize`,
    tokenUrl: tokens.url,
    clientId: 'plantgw',
    clientSecret: 's:cret/ü',
  })
  const login = await replica()
  let count = 0
  tokens.respond = (response) =>
    json(response, 200, {
      access_token: `t${++count}`,
      token_type: 'bearer',
      expires_in: 100,
      refresh_token: `r${count}`,
    })
  const attempt = await login.begin(RETURN)
  await login.finish(attempt, new URLSearchParams({ code: 'c', state: attempt.state }))
  const { form, authorization } = tokens.asked[0]!
  assert.equal(authorization, `Basic ${Buffer.from('plantgw:s%3Acret%2F%C3%BC').toString('base64')}`)
  assert.equal(form.get('redirect_uri'), RETURN.redirectUri)
  assert.equal(form.get('code_verifier'), attempt.verifier)

  const html = '<html>secret t1</html>'
  tokens.respond = (response) => response.writeHead(502, { 'content-type': 'text/html' }).end(html)
  clock.move(90)
  assert.equal(await token(login), 't1', 'it is still good')
  clock.move(20)
  const at = `the authorization server at ${tokens.origin}`
  const failed = (why: string) => `unreachable: The login at the server shop could not be refreshed: ${why}`
  assert.equal(await token(login), failed(`${at} responded with status 502`))
  tokens.respond = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  assert.equal(
    await token(login),
    failed(`${at} responded with something that OAuth does not allow, such as a web page`),
  )
  tokens.respond = (response) => json(response, 200, { access_token: 't2', token_type: 'mac' })
  assert.equal(await token(login), failed(`${at} gave a token that is not a Bearer token`))
  await tokens.stop()
  assert.match(await token(login), /could not be refreshed: .* refused the connection/)
  await tokens.start()
  // The refresh token is kept if there is no new one; some servers answer errors with 200.
  tokens.respond = (response) =>
    json(response, 200, { access_token: 't3', token_type: 'Bearer', expires_in: 100 })
  assert.equal(await token(login), 't3')
  clock.move(100)
  tokens.respond = (response) =>
    json(response, 200, { error: 'invalid_grant', error_description: 'The token was used twice' })
  const ended = `refused: The login at the server shop has ended (${at} responded with invalid_grant: The token was used twice): run \`plantgw login test/shop\` where the gateway runs`
  assert.equal(await token(login), ended)
  assert.deepEqual(tokens.asked.at(-1)!.form.get('refresh_token'), 'r1')
  assert.equal(await token(login), ended)
  assert.equal(await login.state(), 'ended')
  assert.equal(await login.logout(), 'it had ended before')
})

test('refreshed tokens are kept while the vault cannot be written, and written later', async (t) => {
  const tokens = await tokenServer(t)
  const folder = join(temporaryFolder(t), 'logins')
  const given = {
    authorizationUrl: `${tokens.origin}/authorize`,
    tokenUrl: tokens.url,
    clientId: 'plantgw',
  }
  const { clock, replica } = await world(t, given, { type: 'folder', path: folder })
  const login = await replica()
  let count = 0
  tokens.respond = (response) =>
    json(response, 200, {
      access_token: `t${++count}`,
      token_type: 'bearer',
      expires_in: 100,
      refresh_token: `r${count}`,
    })
  const attempt = await login.begin(RETURN)
  await login.finish(attempt, new URLSearchParams({ code: 'c', state: attempt.state }))
  const inTheWay = join(folder, `${readdirSync(folder)[0]}.tmp`)
  mkdirSync(inTheWay)
  clock.move(100)
  assert.equal(await token(login), 't2')
  assert.equal(await token(login), 't2')
  assert.equal(tokens.asked.length, 2)
  rmdirSync(inTheWay)
  assert.equal(await token(login), 't2')
  assert.equal(await token(await replica()), 't2')
  clock.move(100)
  assert.equal(await token(login), 't3')
  assert.deepEqual(
    tokens.asked.map(({ form }) => form.get('refresh_token')),
    [null, 'r1', 'r2'],
  )
})

test('the error of a token endpoint is said, also in an answer that OAuth does not allow', async (t) => {
  const tokens = await tokenServer(t)
  const { clock, replica } = await world(t, {
    authorizationUrl: `${tokens.origin}/authorize`,
    tokenUrl: tokens.url,
    clientId: 'plantgw',
  })
  const login = await replica()
  const finish = async () => {
    const attempt = await login.begin(RETURN)
    await login.finish(attempt, new URLSearchParams({ code: 'c', state: attempt.state }))
  }
  const at = `the authorization server at ${tokens.origin}`
  const fault = { error: 'invalid_grant', error_description: 'The code is old' }
  tokens.respond = (response) => json(response, 400, fault)
  await assert.rejects(finish(), { message: `${at} responded with invalid_grant: The code is old` })
  tokens.respond = (response) => json(response, 400, { ...fault, error_uri: null })
  await assert.rejects(finish(), {
    message: `${at} responded with status 400 (invalid_grant: The code is old)`,
  })
  tokens.respond = (response) =>
    json(response, 200, { access_token: 't1', token_type: 'bearer', expires_in: 100, refresh_token: 'r1' })
  await finish()
  clock.move(100)
  tokens.respond = (response) => json(response, 400, { ...fault, error_uri: null })
  assert.match(
    await token(login),
    /has ended \(.* responded with status 400 \(invalid_grant: The code is old\)\)/,
  )
})

test('what an authorization server repeats of a request is not shown', async (t) => {
  const tokens = await tokenServer(t)
  const { clock, logged, replica } = await world(t, {
    authorizationUrl: `${tokens.origin}/authorize`,
    tokenUrl: tokens.url,
    clientId: 'plantgw',
    clientSecret: 'secret of the client/ü',
  })
  const login = await replica()
  const repeats = (form: URLSearchParams, basic = '') =>
    [...form.entries(), ['basic', basic], ['decoded', atob(basic.slice('Basic '.length))]]
      .map(([name, value]) => `${name} is ${value}`)
      .join(', ')
  const attempt = await login.begin(RETURN)
  const finish = () =>
    login.finish(attempt, new URLSearchParams({ code: 'code-of-the-login', state: attempt.state }))
  for (const more of [{}, { error_uri: null }]) {
    tokens.respond = (response, { form, authorization }) =>
      json(response, 400, {
        error: 'invalid_grant',
        error_description: repeats(form, authorization),
        ...more,
      })
    await assert.rejects(finish(), ({ message }: Error) => {
      assert.match(message, /code is \*\*\*, code_verifier is \*\*\*/)
      return true
    })
  }
  tokens.respond = (response) =>
    json(response, 200, {
      access_token: 't1',
      token_type: 'bearer',
      expires_in: 100,
      refresh_token: 'refresh-token-of-the-login',
    })
  await finish()
  clock.move(100)
  tokens.respond = (response, { form, authorization }) =>
    json(response, 400, { error: 'invalid_grant', error_description: repeats(form, authorization) })
  assert.match(
    await token(login),
    /refresh_token is \*\*\*, basic is Basic \*\*\*, decoded is plantgw:\*\*\*\)/,
  )
  assert.doesNotMatch(JSON.stringify(logged), /-of-the-login|secret of the client/)
})

test('a caller uses its token while the vault cannot be read, and no longer than it lives', async (t) => {
  const tokens = await tokenServer(t)
  const folder = join(temporaryFolder(t), 'logins')
  const vault = await openVault({ key: KEY, storage: { type: 'folder', path: folder } })
  const http = new HttpClient()
  t.after(() => http.close())
  const clock = new TestClock()
  const { now, steady } = clock
  const parts = { vault, http, guards: undefined, log: silentLog, now, steady }
  const settings = {
    type: 'oauth',
    for: 'caller',
    header: '',
    scopes: [],
    authorizationUrl: `${tokens.origin}/authorize`,
    tokenUrl: tokens.url,
    clientId: 'plantgw',
  } as Credentials
  const credentials = credentialsFor(parts)({ name: 'shop', credentials: settings }, OF)!
  const identity = { caller: 'ann', subject: 'ann', scopes: new Set<string>(), claims: {} }
  const credential = credentials.of({ headers: {}, identity })
  assert.ok(!(credential instanceof Fault))
  const said = async () => {
    const header = await credential.header()
    return header instanceof Fault ? `${header.kind}: ${header.message}` : header?.value
  }
  assert.match(String(await said()), /needs a login/)
  const login = credentials.callerLogins!.of({ key: JSON.stringify([false, 'ann']), name: 'ann' })
  tokens.respond = (response) =>
    json(response, 200, { access_token: 't1', token_type: 'bearer', expires_in: 3600 })
  const attempt = await login.begin(RETURN)
  await login.finish(attempt, new URLSearchParams({ code: 'c', state: attempt.state }))
  assert.equal(await said(), 'Bearer t1')
  const [file] = readdirSync(folder).map((name) => join(folder, name))
  renameSync(file!, `${file}.away`)
  mkdirSync(file!)
  clock.move(1800)
  assert.equal(await said(), 'Bearer t1')
  clock.move(1801)
  assert.match(String(await said()), /^unreachable: The login at the server shop cannot be read: /)
  // A login that has ended is not used again.
  rmdirSync(file!)
  renameSync(`${file}.away`, file!)
  clock.move(10)
  assert.match(String(await said()), /it has expired, and there is no refresh token/)
})

test('an authorization server that revokes no token says why', async (t) => {
  const tokens = await tokenServer(t)
  tokens.more = {
    authorization_endpoint: `${tokens.origin}/authorize`,
    response_types_supported: ['code'],
    revocation_endpoint: `${tokens.origin}/revoke`,
  }
  const { replica } = await world(t, { issuer: tokens.origin, clientId: 'plantgw' })
  const login = await replica()
  tokens.respond = (response) => json(response, 200, { access_token: 't1', token_type: 'bearer' })
  const attempt = await login.begin(RETURN)
  const back = { code: 'c', state: attempt.state, iss: tokens.origin }
  await login.finish(attempt, new URLSearchParams(back))
  tokens.respond = (response) =>
    json(response, 400, { error: 'invalid_grant', error_description: 'no token t1' })
  await assert.rejects(login.logout(), {
    message: `${tokens.origin}/revoke responded with status 400 (invalid_grant: no token ***)`,
  })
})

test('a registration is kept, and made anew once the authorization server has forgotten it', async (t) => {
  const as = await authorizationServer(t)
  const { replica } = await world(t, AT_AS(as))
  const login = await replica()
  const clients = async () => (await login.begin(RETURN)).client.client_id
  assert.equal(await clients(), await clients())
  const attempt = await login.begin(RETURN)
  const back = (await as.visit(new URL(attempt.url))).searchParams
  await as.forget(attempt.client.client_id)
  await assert.rejects(login.finish(attempt, back), /responded with invalid_client/)
  assert.notEqual(await clients(), attempt.client.client_id)
  await logIn(login, as)
})

test('metadata that are about another server are refused', async (t) => {
  const tokens = await tokenServer(t)
  const endpoints = {
    authorization_endpoint: `${tokens.origin}/authorize`,
    response_types_supported: ['code'],
  }
  tokens.more = { ...endpoints, issuer: 'https://evil.example.com' }
  const named = await (await world(t, { issuer: tokens.origin })).replica()
  await assert.rejects(named.begin(RETURN), /is not what it claims: .*evil\.example\.com/)
  // The same document is that of the server, too.
  const found = await (await world(t, {})).replica(tokens.origin)
  tokens.more = {
    ...endpoints,
    resource: 'https://other.example.com/',
    authorization_servers: [tokens.origin],
  }
  await assert.rejects(
    found.begin(RETURN),
    /the metadata of the server shop are about another one, https:\/\/other/,
  )
  tokens.more = { ...endpoints, token_endpoint: 'http://auth.example.com/token' }
  await assert.rejects(named.begin(RETURN), /has a token endpoint that is not an https URL/)
  tokens.more = { ...endpoints, authorization_endpoint: 'http://auth.example.com/authorize' }
  const client = { clientId: 'plantgw', issuer: tokens.origin }
  await assert.rejects(
    (await (await world(t, client)).replica()).begin(RETURN),
    /names a page for logins that is not an https URL/,
  )
})

test('an authorization server is asked only where the rules allow it', async (t) => {
  const { replica } = await world(t, { issuer: `http://127.0.0.1:${await freePort()}` })
  await assert.rejects((await replica()).begin(RETURN), /refused the connection/)
})

test('the gateway is known by its own document, where that is supported', async (t) => {
  const { base } = await gatewayHere(t, {
    name: 'a',
    routers: [{ server: 'a', prefix: '/a' }],
    servers: [{ name: 'a' }],
  })
  const document = (await (await fetch(`${base}/_login/client.json`)).json()) as Loose
  assert.equal(document.client_id, 'https://tools.example.com/_login/client.json')
  assert.equal(document.token_endpoint_auth_method, 'none')
  const tokens = await tokenServer(t)
  tokens.more = {
    authorization_endpoint: `${tokens.origin}/authorize`,
    response_types_supported: ['code'],
    client_id_metadata_document_supported: true,
  }
  const { replica } = await world(t, { issuer: tokens.origin })
  const login = await replica()
  const { url } = await login.begin({ ...RETURN, clientMetadataUrl: document.client_id })
  assert.equal(new URL(url).searchParams.get('client_id'), document.client_id)
  await assert.rejects(login.begin(RETURN), /lets no client register itself: register the gateway there/)
})

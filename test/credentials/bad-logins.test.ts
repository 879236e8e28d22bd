import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { openVault, type Vault } from '../../src/credentials/oauth/vault.ts'
import type { AuthorizationServer } from '../fixtures/authorization-server.ts'
import { gatewayHere } from '../support/gateway.ts'
import { Browser, codeIn, KEY, PUBLIC, rawCall, urlIn } from '../support/logins.ts'
import { temporaryFolder } from '../support/process.ts'
import { restTest } from '../support/rest.ts'
import { type Restartable, restartable } from '../support/restartable.ts'
import { json } from '../support/tokens.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'

type Respond = (response: ServerResponse, form: URLSearchParams) => void

/** An authorization server, and an API beside it, that do what a test says. */
interface Scripted extends Restartable {
  metadata: Loose
  /** What responds at a path. */
  paths: Record<string, Respond>
  /** Paths that were asked for, the newest last. */
  asked: string[]
  /** Whether the API takes a token. */
  takes: (token: string) => boolean
}

async function scripted(t: TestContext): Promise<Scripted> {
  const answer = (request: IncomingMessage, response: ServerResponse, body: string) => {
    const { pathname } = new URL(request.url!, origin)
    made.asked.push(pathname)
    const own = made.paths[pathname]
    if (own) return own(response, new URLSearchParams(body))
    if (pathname.startsWith('/.well-known/')) return json(response, 200, made.metadata)
    const token = request.headers.authorization?.slice('Bearer '.length)
    const isGood = token !== undefined && made.takes(token)
    return isGood
      ? json(response, 200, { number: Number(/\d+/.exec(token)) })
      : json(response, 401, { error: 'invalid_token' })
  }
  const server = await restartable(t, answer)
  const { origin } = server
  let count = 0
  const made: Scripted = {
    ...server,
    metadata: {
      issuer: origin,
      authorization_endpoint: `${origin}/authorize`,
      token_endpoint: `${origin}/token`,
      response_types_supported: ['code'],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
    },
    paths: { '/token': (response) => json(response, 200, tokens({ access_token: `secret-${++count}` })) },
    asked: [],
    takes: () => true,
  }
  return made
}

const tokens = (more: object = {}) => ({
  access_token: 'secret-1',
  token_type: 'Bearer',
  expires_in: 3600,
  refresh_token: 'secret-refresh',
  ...more,
})

interface World {
  server: Scripted
  bases: string[]
  vault: Vault
  /** What the logs of both replicas say of logins. */
  logged(): Loose[]
  /** Calls the tool: its text. */
  call(caller: string): Promise<string>
  browser(caller: string): Browser
  /** Asks for a page, and enters its code: where the browser goes. */
  entered(browser: Browser, caller: string): Promise<{ status: number; text: string; to: string | null }>
  /** A login until the person comes back: the address to which the authorization server leads. */
  back(browser: Browser, caller: string): Promise<URL>
}

/** Two replicas before the API, for callers with tokens of a file. */
async function world(t: TestContext, more: object = {}): Promise<World> {
  const server = await scripted(t)
  const { origin } = server
  const auth = {
    type: 'bearer',
    tokens: ['ann', 'ben'].map((caller) => ({ caller, token: `${caller}-token-of-20-characters` })),
  }
  const configuration = {
    name: 'people',
    routers: [
      { server: 'api', prefix: '/api', auth },
      {
        server: 'api',
        prefix: '/jwt',
        auth: { type: 'jwt', issuers: [{ issuer: origin }], audience: PUBLIC },
      },
    ],
    servers: [
      {
        name: 'api',
        baseUrl: `${origin}/api`,
        credentials: { type: 'oauth', for: 'caller', issuer: origin, clientId: 'plantgw' },
      },
    ],
    tools: [{ name: 'me', description: 'Says the token', method: 'GET', endpoint: '/me' }],
    ...more,
  }
  const folder = join(temporaryFolder(t), 'logins')
  const settings = { vault: { key: KEY, folder }, outbound: { allowHosts: ['127.0.0.1'] } }
  const replicas = await Promise.all([1, 2].map(() => gatewayHere(t, configuration, {}, settings)))
  const bases = replicas.map(({ base }) => base)
  const vault = await openVault({ key: KEY, storage: { type: 'folder', path: folder } })
  const call = async (caller: string) => {
    const { call } = await rawCall(bases[0]!, '/api', `${caller}-token-of-20-characters`, '2025-06-18')
    return (await call()).result.content[0].text as string
  }
  const entered = async (browser: Browser, caller: string) => {
    const text = await call(caller)
    return browser.ask(urlIn(text), { code: codeIn(text)! })
  }
  return {
    server,
    bases,
    vault,
    logged: () => replicas.flatMap(({ logged }) => logged).filter(({ msg }) => /login/.test(msg)),
    call,
    browser: (caller) => new Browser({} as AuthorizationServer, caller, bases),
    entered,
    async back(browser, caller) {
      const { to, text } = await entered(browser, caller)
      assert.ok(to, text)
      return backFrom(to)
    },
  }
}

/** Where an authorization server leads from its own page. */
function backFrom(to: string): URL {
  const { origin, searchParams } = new URL(to)
  const said = { code: 'secret-code', state: searchParams.get('state')!, iss: origin }
  return new URL(`${PUBLIC}/_login/callback?${new URLSearchParams(said)}`)
}

/** A login failed: the page and the log say why, and nothing is kept. */
async function failed(
  { logged, vault, call }: World,
  { status, text }: { status: number; text: string },
  why: string | RegExp,
): Promise<void> {
  const said = /The login failed: (.*)\.<\/p>/s.exec(text)?.[1]
  assert.ok(said !== undefined, text)
  if (typeof why === 'string') assert.equal(said, why)
  else assert.match(said, why)
  assert.equal(status, 403)
  assert.doesNotMatch(said, /secret-|&lt;html/)
  const lines = logged().filter(({ msg }) => msg === 'the login of a caller failed')
  assert.equal(html(lines.at(-1)?.reason), said)
  assert.doesNotMatch(JSON.stringify(logged()), /secret-/)
  for (const id of await secretIds(vault)) assert.fail(`${id} is kept`)
  assert.match(await call('ann'), /needs a login of the user/)
}

const html = (text: string) => text.replaceAll("'", '&#39;').replaceAll('"', '&quot;')

/** Values of the vault that hold a token. */
async function secretIds(vault: Vault): Promise<string[]> {
  const { store } = vault as unknown as { store: { ids(): Promise<string[]> } }
  const found: string[] = []
  for (const id of await store.ids())
    if (/secret-/.test(JSON.stringify((await vault.readable(id)) ?? ''))) found.push(id)
  return found
}

test('metadata of another issuer', async (t) => {
  const here = await world(t)
  here.server.metadata.issuer = 'https://evil.example.com'
  const shown = await here.entered(here.browser('ann'), 'ann')
  await failed(here, shown, /^http:\S+ is not what it claims: .*https:\/\/evil\.example\.com/)
})

test('a response of another issuer, or of none', async (t) => {
  const here = await world(t)
  for (const iss of ['https://evil.example.com', undefined]) {
    const browser = here.browser('ann')
    const back = await here.back(browser, 'ann')
    if (iss) back.searchParams.set('iss', iss)
    else back.searchParams.delete('iss')
    await failed(here, await browser.ask(back), /^the authorization server at \S+ is not what it claims: /)
    assert.ok(!here.server.asked.includes('/token'))
  }
})

test('a code that comes twice, also at once on two replicas', async (t) => {
  const here = await world(t)
  const browser = here.browser('ann')
  const back = await here.back(browser, 'ann')
  const shown = await Promise.all([browser.ask(back), browser.ask(back)])
  assert.deepEqual(shown.map(({ status }) => status).sort(), [200, 403])
  const again = await browser.ask(back)
  assert.deepEqual([again.status, /cannot be used any more/.test(again.text)], [403, true])
  assert.equal(here.server.asked.filter((path) => path === '/token').length, 1)
  assert.equal((await secretIds(here.vault)).length, 1)
  // The authorization server knows a code that it has seen.
  const other = here.browser('ben')
  const used = await here.back(other, 'ben')
  here.server.paths['/token'] = (response) =>
    json(response, 400, { error: 'invalid_grant', error_description: 'the code was used' })
  const { status, text } = await other.ask(used)
  assert.deepEqual([status, /invalid_grant: the code was used/.test(text)], [403, true])
})

test('a state of another caller', async (t) => {
  const here = await world(t)
  const [ann, ben] = [here.browser('ann'), here.browser('ben')]
  const [ofAnn, ofBen] = [await here.back(ann, 'ann'), await here.back(ben, 'ben')]
  const mixed = new URL(ofAnn)
  mixed.searchParams.set('state', ofBen.searchParams.get('state')!)
  await failed(here, await ann.ask(mixed), 'this login was begun in another browser')
  // Another caller's attempt ends nothing.
  assert.match((await ben.ask(ofBen)).text, /You are logged in/)
  assert.match((await ann.ask(ofAnn)).text, /You are logged in/)
  assert.deepEqual(
    [await here.call('ann'), await here.call('ben')].map((text) => JSON.parse(text).number),
    [2, 1],
  )
})

test('an authorization server that is down, answers HTML, or fails', async (t) => {
  const here = await world(t)
  const { server } = here
  const page: Respond = (response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>secret-page</html>')
  const broken: Respond = (response) => response.writeHead(503).end('secret-page')
  const at = server.origin
  const who = `the authorization server at ${at}`
  const document = '/.well-known/oauth-authorization-server'
  const early: [Respond, string | RegExp][] = [
    [page, `${at} responded with something that OAuth does not allow, such as a web page`],
    [broken, `${at}: HTTP 503 trying to load OAuth metadata from ${at}${document}`],
    [(response) => response.destroy(), /closed the connection/],
  ]
  for (const [respond, why] of early) {
    server.paths[document] = respond
    await failed(here, await here.entered(here.browser('ann'), 'ann'), why)
  }
  delete server.paths[document]
  const late: [Respond, string | RegExp][] = [
    [page, `${who} responded with something that OAuth does not allow, such as a web page`],
    [broken, `${who} responded with status 503`],
    [(response) => response.destroy(), /closed the connection/],
    [
      (response) => json(response, 200, {}),
      `${who} responded with something that OAuth does not allow, such as a web page`,
    ],
    [
      (response) => json(response, 200, tokens({ access_token: 'secret ü' })),
      `${who} gave a token that no header can hold`,
    ],
  ]
  for (const [respond, why] of late) {
    const browser = here.browser('ann')
    const back = await here.back(browser, 'ann')
    server.paths['/token'] = respond
    await failed(here, await browser.ask(back), why)
  }
  const browser = here.browser('ann')
  const back = await here.back(browser, 'ann')
  const text = await here.call('ann')
  await server.stop()
  await failed(here, await browser.ask(back), /refused the connection: nothing is listening there$/)
  await failed(here, await here.entered(here.browser('ann'), 'ann'), /refused the connection/)
  await server.start()
  assert.notEqual(urlIn(await here.call('ann')), urlIn(text))
})

restTest('an authorization server that never answers: a step ends after 14 s', {}, async (t) => {
  const here = await world(t)
  const { server } = here
  const why = /did not respond completely within 14 s$/
  const [early, late] = [here.browser('ann'), here.browser('ben')]
  const text = await here.call('ann')
  const back = await here.back(late, 'ben')
  server.paths['/token'] = () => {}
  server.paths['/.well-known/oauth-authorization-server'] = () => {}
  const shown = await Promise.all([early.ask(urlIn(text), { code: codeIn(text)! }), late.ask(back)])
  for (const one of shown) await failed(here, one, why)
  server.paths = { '/token': (response) => json(response, 200, tokens()) }
  // The page is for another try.
  assert.match((await early.ask(await here.back(early, 'ann'))).text, /You are logged in/)
})

test('an authorization server that issues no refresh token: the caller is asked again', async (t) => {
  const here = await world(t)
  const { server } = here
  const browser = here.browser('ann')
  server.paths['/token'] = (response) =>
    json(response, 200, { access_token: 'secret-7', token_type: 'bearer', expires_in: 1 })
  assert.match((await browser.ask(await here.back(browser, 'ann'))).text, /You are logged in/)
  await until(async () => /needs a login of the user/.test(await here.call('ann')))
  server.paths['/token'] = (response) =>
    json(response, 200, { access_token: 'secret-8', token_type: 'bearer', expires_in: 3600 })
  assert.match((await browser.ask(`${PUBLIC}/_login/`)).text, /api.*\(ended\)/s)
  assert.match((await browser.ask(await here.back(browser, 'ann'))).text, /You are logged in/)
  assert.match((await browser.ask(`${PUBLIC}/_login/`)).text, /api.*\(present\)/s)
  assert.equal(JSON.parse(await here.call('ann')).number, 8)
  assert.deepEqual(
    here
      .logged()
      .filter(({ msg }) => msg === 'a login has ended')
      .map(({ server, reason }) => [server, reason]),
    [['api', 'it has expired, and there is no refresh token']],
  )
})

test('a token for another audience: the person hears of it, and is not asked without end', async (t) => {
  const here = await world(t)
  const { server } = here
  server.takes = () => false
  const browser = here.browser('ann')
  await failed(
    here,
    await browser.ask(await here.back(browser, 'ann')),
    /^the server api refuses the token that the authorization server gave: it may be for another audience/,
  )
  // This server looks at the token only when a tool is called.
  server.paths['/api/'] = server.paths['/api'] = (response) => response.writeHead(404).end()
  server.paths['/api/me'] = (response) =>
    response
      .writeHead(401, {
        'www-authenticate': 'Bearer error="invalid_token", error_description="wrong audience"',
      })
      .end()
  assert.match((await browser.ask(await here.back(browser, 'ann'))).text, /You are logged in/)
  assert.match(await here.call('ann'), /^The server api refuses the token|needs a login of the user/)
  assert.match((await browser.ask(await here.back(browser, 'ann'))).text, /You are logged in/)
  await until(async () => !/needs a login of the user/.test(await here.call('ann')))
  for (let i = 0; i < 3; i++)
    assert.equal(
      await here.call('ann'),
      'The server api refuses the token of the login, as it refused that of the login before: it may be for another audience. Another login would not help; the operator of the gateway has to look at `credentials` of the server.',
    )
  assert.ok(here.logged().some(({ msg }) => /^a server refuses the tokens of new logins/.test(msg)))
})

test('tokens that live for no time: the caller is not asked again and again', async (t) => {
  const here = await world(t)
  const { server } = here
  for (const [caller, expires_in] of [
    ['ann', 0],
    ['ben', -300],
  ] as const) {
    server.paths['/token'] = (response) =>
      json(response, 200, { access_token: 'secret-5', token_type: 'bearer', expires_in })
    const browser = here.browser(caller)
    assert.match((await browser.ask(await here.back(browser, caller))).text, /You are logged in/)
    assert.equal(JSON.parse(await here.call(caller)).number, 5)
  }
})

test('a token that a server takes for expired is refreshed', async (t) => {
  const here = await world(t)
  const { server } = here
  const browser = here.browser('ann')
  // The clock of the server is minutes ahead.
  server.paths['/token'] = (response, form) =>
    json(
      response,
      200,
      tokens(form.get('grant_type') === 'refresh_token' ? { access_token: 'secret-6' } : {}),
    )
  assert.match((await browser.ask(await here.back(browser, 'ann'))).text, /You are logged in/)
  server.takes = (token) => token === 'secret-6'
  assert.equal(JSON.parse(await here.call('ann')).number, 6)
})

test("the clock of the caller's own authorization server is minutes off", async (t) => {
  const { server, bases, browser, logged, vault } = await world(t)
  const { origin: iss } = server
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  server.metadata.jwks_uri = `${iss}/jwks`
  server.metadata.client_id_metadata_document_supported = true
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256' }]
  server.paths['/jwks'] = (response) => json(response, 200, { keys })
  const now = Math.floor(Date.now() / 1000)
  const sign = (claims: object) =>
    new SignJWT({ iss, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: 'k', typ: 'at+jwt' })
      .sign(privateKey)
  /** The person comes back with an ID token that was issued so many seconds from now, for five minutes. */
  const shown = async (own: Browser, sub: string, ahead: number, aud = `${PUBLIC}/_login/client.json`) => {
    const access = await sign({ sub, aud: PUBLIC, client_id: 'c', iat: now, exp: now + 3600 })
    const { call } = await rawCall(bases[0]!, '/jwt', access, '2025-06-18')
    const url = urlIn((await call()).result.content[0].text)
    const { to, text } = await own.ask(url, {})
    assert.ok(to, text)
    const id_token = await sign({ sub, aud, iat: now + ahead, exp: now + ahead + 300 })
    server.paths['/token'] = (response) => json(response, 200, tokens({ id_token }))
    return own.ask(backFrom(to))
  }
  const reason = () => logged().findLast(({ msg }) => msg === 'the login of a caller failed')?.reason
  for (const [ahead, aud, why] of [
    [-1200, undefined, `${iss} gave a token that has expired already: compare the clocks of both machines`],
    [0, 'somebody else', `${iss} gave a token that is not for this gateway`],
  ] as const) {
    const { status, text } = await shown(browser('ann'), 'ann', ahead, aud)
    assert.deepEqual([status, text.includes(why), reason()], [403, true, why])
  }
  assert.deepEqual(await secretIds(vault), [])
  for (const [sub, ahead] of [
    ['ann', -480],
    ['ben', 480],
  ] as const) {
    const own = browser(sub)
    const { to, text } = await shown(own, sub, ahead)
    assert.ok(to, text)
    assert.match((await own.ask(backFrom(to))).text, /You are logged in/)
  }
})

restTest('a server that never answers: all its places are asked within 14 s', {}, async (t) => {
  const silent = await restartable(t, () => {})
  const here = await world(t, {
    servers: [
      {
        name: 'api',
        baseUrl: silent.origin,
        credentials: { type: 'oauth', for: 'caller', clientId: 'plantgw' },
      },
    ],
  })
  const begin = performance.now()
  await failed(
    here,
    await here.entered(here.browser('ann'), 'ann'),
    /did not respond completely within 14 s$/,
  )
  assert.ok(performance.now() - begin < 2 * 14_000)
})

test('a caller that asks several times at once gets one page', async (t) => {
  const { call } = await world(t)
  const asked = await Promise.all(Array.from({ length: 5 }, () => call('ann')))
  assert.equal(new Set(asked).size, 1)
})

restTest('only open pages count to the limit of a process', {}, async (t) => {
  const callers = ['ann', ...Array.from({ length: 1_050 }, (_, i) => `caller-${i}`)]
  const auth = {
    type: 'bearer',
    tokens: callers.map((caller) => ({ caller, token: `${caller}-token-of-20-characters` })),
  }
  const { server, browser, back, call } = await world(t, {
    routers: [{ server: 'api', prefix: '/api', auth }],
  })
  server.paths['/token'] = (response) =>
    json(response, 200, { access_token: 'secret-5', token_type: 'bearer' })
  for (const caller of callers.slice(1)) {
    const own = browser(caller)
    assert.match((await own.ask(await back(own, caller))).text, /You are logged in/)
  }
  assert.match(await call('ann'), /needs a login of the user/)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Loopback } from '../../src/cli/login/login.ts'
import {
  type AuthorizationServer,
  authorizationServer,
  MACHINE,
  SCOPES,
} from '../fixtures/authorization-server.ts'
import { oauthServer, type TestClock } from '../support/oauth.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

const TIMEOUT = { timeout: 120_000 }

interface World {
  as: AuthorizationServer
  clock: TestClock
  url: string
  /** Where logins are kept. */
  folder: string
  ran(args: readonly string[], more?: Record<string, string>): ReturnType<typeof run>
  /** Runs a command; each address that it prints is visited, and the browser comes back as `back` says. */
  visiting(
    args: readonly string[],
    back?: (to: URL) => URL,
  ): Promise<{ code: unknown; out: string; err: string; visits: URL[] }>
  kept(): { path: string; text: string }[]
}

/** A gateway that trusts a real authorization server, and the command line. */
async function world(t: TestContext): Promise<World> {
  const as = await authorizationServer(t)
  const auth = { type: 'jwt', issuers: [{ issuer: as.issuer }], scopes: SCOPES }
  const { clock, base } = await oauthServer(t, auth, { listed: ['water'] })
  const state = temporaryFolder(t)
  const folder = join(state, 'plantgw', 'logins')
  const env = { XDG_STATE_HOME: state }
  return {
    as,
    clock,
    url: `${base}/one/mcp`,
    folder,
    ran: (args, more = {}) => run(t, args, { env: { ...env, ...more } }),
    async visiting(args, back = (to) => to) {
      const running = plantgw(t, [...args, '--no-browser'], { env })
      const visits: URL[] = []
      let over = false
      const ended = running.ended.finally(() => {
        over = true
      })
      while (!over) {
        const printed = [...running.stderr().matchAll(/^http\S+$/gm)].map(([address]) => address)
        const next = printed[visits.length]
        if (next === undefined) {
          await Promise.race([ended, once(running.child.stderr!, 'data')])
          continue
        }
        const at = new URL(next)
        visits.push(at)
        // The browser shows what it finds; a listener that is gone is the command's business.
        const to = back(await as.visit(at))
        await fetch(to).then(
          (response) => response.text(),
          () => {},
        )
      }
      return { code: await ended, out: running.stdout(), err: running.stderr(), visits }
    },
    kept: () =>
      readdirSync(folder).map((name) => ({
        path: join(folder, name),
        text: readFileSync(join(folder, name), 'utf8'),
      })),
  }
}

test('a person logs in once; later commands use and refresh what is kept', TIMEOUT, async (t) => {
  const { as, clock, url, folder, ran, visiting, kept } = await world(t)
  as.ttl = 60
  const first = await visiting(['call', url, 'water'])
  assert.deepEqual([first.code, first.out], [0, 'water\n'], first.err)
  const [asked] = first.visits as [URL]
  assert.equal(asked.origin, as.issuer)
  const { searchParams } = asked
  assert.equal(searchParams.get('code_challenge_method'), 'S256')
  assert.equal(searchParams.get('resource'), url)
  assert.match(searchParams.get('state')!, /^[\w-]{43}$/)
  assert.match(searchParams.get('redirect_uri')!, /^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  const [{ path, text }] = kept() as [{ path: string; text: string }]
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  assert.equal(JSON.parse(text).url, url)

  const again = await ran(['tools', url])
  assert.deepEqual([again.code, again.stdout], [0, 'water\n'], again.stderr)
  clock.move(120)
  as.ttl = 3600
  const refreshed = await ran(['call', url, 'water'])
  assert.deepEqual([refreshed.code, refreshed.stdout], [0, 'water\n'], refreshed.stderr)
  assert.notEqual(JSON.parse(kept()[0]!.text).tokens.access_token, JSON.parse(text).tokens.access_token)
  // A refresh token that the server does not know any more: the person is asked again.
  const { tokens, ...rest } = JSON.parse(kept()[0]!.text)
  const spoilt = { ...tokens, access_token: 'spoilt', refresh_token: 'spoilt' }
  writeFileSync(path, JSON.stringify({ ...rest, tokens: spoilt }))
  const anew = await visiting(['tools', url])
  assert.deepEqual([anew.code, anew.visits.length], [0, 1], anew.err)
  // A file that is no JSON is as if there were none.
  writeFileSync(path, '{')
  assert.equal((await visiting(['tools', url])).code, 0)
})

test('a token without all scopes is replaced by one with more', TIMEOUT, async (t) => {
  const { as, url, visiting } = await world(t)
  Object.assign(as, { granted: ['plants:read'], refresh: false })
  const { code, out, err, visits } = await visiting(['call', url, 'water'], (to) => {
    as.granted = SCOPES
    return to
  })
  assert.deepEqual([code, out, visits.length], [0, 'water\n', 2], err)
  const scopes = new Set(visits[1]!.searchParams.get('scope')!.split(' '))
  for (const scope of SCOPES) assert.ok(scopes.has(scope), scope)
})

test('a client that is registered already logs the user in', TIMEOUT, async (t) => {
  const { as, url, visiting } = await world(t)
  const response = await fetch(`${as.issuer}/reg`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      redirect_uris: ['http://127.0.0.1/callback'],
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    }),
  })
  const { client_id } = (await response.json()) as { client_id: string }
  const port = await freePort()
  const own = ['--client-id', client_id, '--redirect-port', String(port), '--issuer', as.issuer]
  const { code, out, err, visits } = await visiting(['tools', url, ...own])
  assert.deepEqual([code, out, visits.length], [0, 'water\n', 1], err)
  const { searchParams } = visits[0]!
  assert.equal(searchParams.get('client_id'), client_id)
  assert.equal(searchParams.get('redirect_uri'), `http://127.0.0.1:${port}/callback`)
})

test('an answer of another issuer, without our state, or with an error is refused', TIMEOUT, async (t) => {
  const { as, url, visiting } = await world(t)
  const changed = (change: (params: URLSearchParams) => void) => (to: URL) => {
    const made = new URL(to)
    change(made.searchParams)
    return made
  }
  const mixed = await visiting(
    ['tools', url],
    changed((params) => params.set('iss', 'https://evil.example')),
  )
  assert.equal(mixed.code, 2)
  assert.match(mixed.err, /login failed: .*issuer/i)
  const failed = await visiting(
    ['tools', url],
    changed((params) => {
      params.delete('code')
      params.set('error', 'access_denied')
      params.set('error_description', 'No\u001b[31m.')
    }),
  )
  assert.equal(failed.code, 2)
  assert.match(failed.err, /login failed: the authorization server answered access_denied: No\ufffd\[31m\./)
  // What somebody else makes the browser send does not end the login.
  let forged = 0
  const { code, err } = await visiting(['tools', url], (to) => {
    const wrong = changed((params) => params.set('state', 'another'))(to)
    fetch(wrong)
      .then(async (response) => {
        forged = response.status
        await fetch(to)
      })
      .catch(() => {})
    return new URL('/else', to)
  })
  assert.deepEqual([code, forged], [0, 400], err)
  const other = await visiting(['tools', url, '--issuer', 'https://other.example'])
  assert.equal(other.code, 2)
  assert.match(
    other.err,
    new RegExp(`names the authorization server ${as.issuer}/?, not the one of --issuer`),
  )
})

test('without a person: a clear error, a token, or the credentials of a client', TIMEOUT, async (t) => {
  const { url, ran, folder } = await world(t)
  const nobody = await ran(['tools', url])
  assert.equal(nobody.code, 2)
  assert.match(
    nobody.stderr,
    /asks for a login \(OAuth\), and this is not a terminal.*--token \(or PLANTGW_TOKEN\), --header, or --client-credentials/s,
  )
  const machine = ['--client-credentials', '--client-id', MACHINE.client_id]
  const { code, stdout, stderr } = await ran(['call', url, 'water', ...machine], {
    PLANTGW_CLIENT_SECRET: MACHINE.client_secret,
  })
  assert.deepEqual([code, stdout], [0, 'water\n'], stderr)
  assert.throws(() => readdirSync(folder), /ENOENT/)
  for (const [args, message] of [
    [machine, /--client-credentials needs --client-id and --client-secret/],
    [[...machine, '--client-secret', 'wrong'], /login failed/],
    [['--token', 'wrong'], /\(status 401\)\. Give another credential: --token/],
  ] as const) {
    const refused = await ran(['tools', url, ...args])
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, message)
  }
})

test('logging out removes the login, and revokes its tokens where that can be done', TIMEOUT, async (t) => {
  const { as, url, ran, visiting, kept } = await world(t)
  as.format = 'opaque'
  const logout = async (...args: string[]) => Object.values(await ran(['logout', ...args]))
  assert.deepEqual(await logout(), [0, 'no login is kept\n', ''])
  const login = async () => {
    await visiting(['tools', url])
    return JSON.parse(kept()[0]!.text)
  }
  const { tokens, client } = await login()
  assert.deepEqual(await logout('http://127.0.0.1:1/mcp'), [0, 'no login is kept\n', ''])
  assert.equal(kept().length, 1)
  const said = `logged out of ${url}: its tokens are revoked at ${as.issuer}\n`
  assert.deepEqual(await logout(url), [0, said, ''])
  assert.deepEqual(kept(), [])
  const refused = await fetch(`${as.issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      client_id: client.client_id,
    }),
  })
  assert.equal(((await refused.json()) as { error: string }).error, 'invalid_grant')

  await login()
  as.revokes = false
  await as.rotate()
  const [code, out] = await logout()
  assert.deepEqual([code, kept()], [0, []])
  assert.match(String(out), /valid until they expire/)

  const spoilt = await login()
  const { path } = kept()[0]!
  const gone = { ...spoilt, tokens: { ...spoilt.tokens, issuer: 'http://127.0.0.1:1' } }
  writeFileSync(path, JSON.stringify(gone))
  const [failed, , why] = await logout(url)
  assert.deepEqual([failed, kept()], [1, []])
  assert.match(String(why), /the login is removed, but its tokens are valid until they expire: .*refused/)
})

test('a refusal has the words of the server; a login starts only where offered', TIMEOUT, async (t) => {
  const rpc = (message: string) =>
    JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message } })
  const answers: Record<string, [status: number, body: string, shown: string]> = {
    '/401/mcp': [
      401,
      rpc('A known bearer token is required'),
      'A known bearer token is required (status 401). Give a',
    ],
    '/403/mcp': [403, 'Members only.\n', 'Members only (status 403)\n'],
    '/404/mcp': [
      404,
      '{"error":404,"message":"No such plant"}',
      'No such plant (status 404). Is this the address',
    ],
    '/406/sse': [406, '{"title":"Not Acceptable","detail":"Send JSON"}', 'Send JSON (status 406)\n'],
    '/421/mcp': [421, '{"error":"wrong_host"}', 'wrong_host (status 421)\n'],
    '/429/mcp': [
      429,
      rpc('Too many requests, try again in 16 s'),
      'Too many requests, try again in 16 s (status 429)\n',
    ],
    '/503/mcp': [
      503,
      '<html><head><title>503 Backend down</title></head></html>',
      '503 Backend down (status 503)\n',
    ],
    '/200/mcp': [200, '<!doctype html><title>Sign in</title>', 'Sign in (status 200). Is this the address'],
    '/empty/mcp': [400, '', 'the server answered with the status 400. Is this the address'],
  }
  const asked: string[] = []
  const tokens = new Set<string | undefined>()
  const server = createServer(({ url = '', method, headers }, response) => {
    asked.push(`${method} ${url}`)
    if (url === '/401/mcp') tokens.add(headers.authorization)
    const [status, body] = answers[url] ?? [404, '{"error":404,"message":"Nothing is served here"}']
    const type = body.startsWith('<') ? 'text/html' : body.startsWith('{') ? 'application/json' : 'text/plain'
    response.writeHead(status, {
      'content-type': type,
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    })
    response.end(body)
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { XDG_STATE_HOME: temporaryFolder(t) }
  for (const [path, [, , shown]] of Object.entries(answers)) {
    const { code, stderr } = await run(t, ['tools', `${base}${path}`, '--no-browser'], { env })
    assert.equal(code, 2)
    assert.ok(stderr.startsWith(`plantgw: ${base}${path}: ${shown}`), stderr)
  }
  assert.deepEqual(
    asked.filter((one) => /register|authorize/.test(one)),
    [],
  )
  const given = { env: { ...env, PLANTGW_TOKEN: 's3same' } }
  assert.equal((await run(t, ['tools', `${base}/401/mcp`], given)).code, 2)
  assert.deepEqual([...tokens], [undefined, 'Bearer s3same'])
  const elsewhere = await run(t, ['tools', 'http://tools.invalid/mcp'], given)
  assert.equal(elsewhere.code, 2)
  assert.match(elsewhere.stderr, /PLANTGW_TOKEN is not sent to tools\.invalid, .*--token sends a token there/)
})

test('a request that is not the callback gets 404 and ends nothing', async (t) => {
  const loopback = await Loopback.open(0)
  t.after(() => loopback.close())
  const send = async (line: string) => {
    const socket = connect(loopback.port, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`${line} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)
    const answer = await text(socket)
    return Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1])
  }
  const come = loopback.wait('s', AbortSignal.timeout(60_000))
  for (const url of ['//', '//[', '/\\\\', '/', 'http://', '//callback?state=s', '/callback/', '/%'])
    assert.equal(await send(`GET ${url}`), 404, url)
  for (const line of ['POST /callback?state=s', 'OPTIONS *']) assert.equal(await send(line), 404, line)
  assert.equal(await send('GET /callback?state=other'), 400)
  const shown = send('GET /callback?state=s&code=c')
  const back = await come
  assert.equal(await send('GET /callback?state=s&code=d'), 400)
  assert.equal(await back.conclude(async (said) => said.get('code')), 'c')
  assert.equal(await shown, 200)
})

test('a browser that goes away does not keep the command', async (t) => {
  const loopback = await Loopback.open(0)
  t.after(() => loopback.close())
  const come = loopback.wait('s', AbortSignal.timeout(60_000))
  const socket = connect(loopback.port, '127.0.0.1')
  socket.write('GET /callback?state=s&code=c HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
  const back = await come
  const isGone = once(socket, 'close')
  socket.destroy()
  await isGone
  const failed = new Error('no')
  await assert.rejects(
    back.conclude(() => Promise.reject(failed)),
    failed,
  )
})

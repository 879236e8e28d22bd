import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AuthorizationServer, authorizationServer } from '../fixtures/authorization-server.ts'
import { type ProtectedServer, protectedServer } from '../fixtures/protected-server.ts'
import { plantgw, temporaryFolder } from '../support/process.ts'
import { type Served, served } from '../support/served.ts'

const TIMEOUT = { timeout: 120_000 }
const KEY = 'a key of the vault with 32 characters'

interface World {
  as: AuthorizationServer
  server: ProtectedServer
  gateway: Served
  /** Of the settings and the configurations. */
  folder: string
  /** File of the settings. */
  settings: string
  run(...args: string[]): Promise<{ code: unknown; out: string; err: string }>
  /** `plantgw login NAME`, and the browser: it comes back as `back` says. */
  login(
    name: string,
    back?: (to: URL) => URL,
  ): Promise<{ code: unknown; out: string; err: string; asked: URL; page: string }>
  call(prefix: string, tool: string): Promise<string>
}

/** A gateway before an MCP server and an API that let in people, with an authorization server. */
async function world(t: TestContext, outbound: object = { allowHosts: ['127.0.0.1'] }): Promise<World> {
  const as = await authorizationServer(t)
  const server = await protectedServer(t, as)
  const credentials = { type: 'oauth', for: 'gateway' }
  const configuration = {
    name: 'people',
    routers: [
      { server: 'notes', prefix: '/notes' },
      { server: 'api', prefix: '/api' },
    ],
    mcpServers: [{ name: 'notes', type: 'streamable-http', url: `${server.origin}/mcp`, credentials }],
    servers: [
      {
        name: 'api',
        baseUrl: `${server.origin}/api`,
        credentials: {
          ...credentials,
          issuer: as.issuer,
          resource: `${server.origin}/mcp`,
          scopes: ['plants:read'],
        },
      },
    ],
    tools: [{ name: 'me', description: 'Says whose the token is', method: 'GET', endpoint: '/me' }],
  }
  const folder = temporaryFolder(t)
  const settings = {
    vault: { key: KEY, folder: join(folder, 'logins') },
    // The authorization server is found by the metadata of the server.
    outbound,
  }
  const gateway = await served(t, [configuration], { settings })
  const file = join(gateway.folder, '..', 'plantgw.yaml')
  const start = (...args: string[]) => plantgw(t, [...args, '--settings', file])
  const paths = gateway.folder
  return {
    as,
    server,
    gateway,
    folder,
    settings: file,
    async run(...args) {
      const running = start(...args, paths)
      return { code: await running.ended, out: running.stdout(), err: running.stderr() }
    },
    async login(name, back = (to) => to) {
      const running = start('login', name, paths, '--no-browser')
      await running.until(/^http\S+$/m)
      const asked = new URL(/^http\S+$/m.exec(running.stderr())![0])
      const page = await (await fetch(back(await as.visit(asked)))).text()
      return { code: await running.ended, out: running.stdout(), err: running.stderr(), asked, page }
    },
    async call(prefix, tool) {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: {} } }
      const headers = await gateway.open(prefix).catch(({ message }: Error) => message)
      if (typeof headers === 'string') return headers
      return (await gateway.post(`${prefix}/mcp`, body, headers)).text
    },
  }
}

test('the operator logs in once; callers need not', TIMEOUT, async (t) => {
  const { as, server, gateway, folder, run, login, call } = await world(t)
  await gateway.until(/"server":"notes".*"command":"plantgw login people\/notes".*a server needs a login/)
  for (const [prefix, tool, name] of [
    ['/notes', 'whoami', 'notes'],
    ['/api', 'me', 'api'],
  ] as const)
    assert.match(
      await call(prefix, tool),
      new RegExp(`The server ${name} needs a login: run .plantgw login people/${name}.`),
    )
  assert.equal(server.tokens.length, 0)

  const first = await login('notes')
  assert.match(first.page, /The login is complete/)
  assert.deepEqual([first.code, first.out], [0, `logged in to notes at ${as.issuer}\n`], first.err)
  const { searchParams } = first.asked
  assert.equal(searchParams.get('code_challenge_method'), 'S256')
  assert.equal(searchParams.get('resource'), `${server.origin}/mcp`)
  assert.equal(searchParams.get('scope'), 'plants:read')
  assert.equal((await login('people/api')).code, 0)
  const api = await call('/api', 'me')
  assert.match(api, /alice/)
  assert.match(await call('/notes', 'whoami'), /alice/)

  const status = JSON.parse((await gateway.send({ path: '/_status', method: 'GET' })).text)
  const of = { configuration: 'people', tenant: 'default', state: 'present' }
  assert.deepEqual(status.logins, [
    { server: 'api', ...of },
    { server: 'notes', ...of },
  ])
  const metrics = (await gateway.send({ path: '/metrics', method: 'GET' })).text
  assert.match(metrics, /plantgw_login_missing\{tenant="default",configuration="people",server="notes"\} 0/)

  const shown = gateway.stdout() + gateway.stderr() + JSON.stringify(status) + metrics
  const kept = readdirSync(join(folder, 'logins')).map((name) =>
    readFileSync(join(folder, 'logins', name), 'utf8'),
  )
  assert.ok(server.tokens.length > 0)
  for (const token of server.tokens) assert.ok(!(shown + kept.join() + api).includes(token))

  const checked = await run('check-endpoints')
  assert.match(checked.out, /fetched for api/)
  const out = await run('logout', 'notes')
  assert.deepEqual(
    [out.code, out.out],
    [0, `logged out of notes: its tokens are revoked at ${as.issuer}\n`],
    out.err,
  )
  assert.match((await run('logout', 'notes')).out, /there is no login at notes/)
  assert.match((await run('check-endpoints')).out, /run `plantgw login people\/notes`/)
})

test('a login that fails says why, and nothing is kept', TIMEOUT, async (t) => {
  const { as, server, folder, login, run } = await world(t)
  const failing = async (back: (to: URL) => URL) => {
    const { code, err, page } = await login('notes', back)
    assert.equal(code, 2)
    assert.match(page, /The login has failed: the command says why/)
    return err.trim().split('\n').at(-1)!
  }
  const changed = (name: string, value: string | null) => (to: URL) => {
    if (value === null) to.searchParams.delete(name)
    else to.searchParams.set(name, value)
    return to
  }
  const at = `the authorization server at ${as.issuer}`
  assert.equal(
    await failing(changed('code', 'invented')),
    `plantgw: ${at} responded with invalid_grant: grant request is invalid`,
  )
  assert.match(
    await failing(changed('iss', 'https://other.example.com')),
    /is not what it claims: .*other\.example\.com/,
  )
  assert.match(await failing(changed('iss', null)), /is not what it claims/)
  const denied = (to: URL) => {
    to.searchParams.delete('code')
    to.searchParams.set('error', 'access_denied')
    to.searchParams.set('error_description', 'The person said no')
    return to
  }
  assert.equal(await failing(denied), `plantgw: ${at} responded with access_denied: The person said no`)
  server.refuses = true
  assert.match(
    await failing((to) => to),
    /refuses the token that the authorization server gave: it may be for another audience/,
  )
  assert.match((await run('logout', 'notes')).out, /there is no login/)
  assert.deepEqual(
    readdirSync(join(folder, 'logins')).filter((name) => name.endsWith('.sealed')),
    [],
  )
  const unknown = await run('login', 'note')
  assert.deepEqual(
    [unknown.code, unknown.err],
    [2, 'plantgw: no server with a login is named note: did you mean notes?\n'],
  )
})

test('a server that asks for more scopes gets them with the next login', TIMEOUT, async (t) => {
  const { server, login, call } = await world(t)
  await login('notes')
  server.needs = ['plants:read', 'plants:write']
  assert.match(
    await call('/notes', 'whoami'),
    /needs a login with more permissions \(plants:read plants:write\): run .plantgw login people\/notes./,
  )
  const { asked } = await login('notes')
  assert.equal(asked.searchParams.get('scope'), 'plants:read plants:write')
  assert.match(await call('/notes', 'whoami'), /alice/)
})

test('a login that the key does not open is replaced, or removed', TIMEOUT, async (t) => {
  const { folder, settings, run, login } = await world(t)
  assert.equal((await login('notes')).code, 0)
  const change = (from: string, to: string) =>
    writeFileSync(settings, readFileSync(settings, 'utf8').replaceAll(from, to))
  const other = 'another key with at least 32 characters'
  change(KEY, other)
  const checked = await run('check-endpoints')
  assert.match(checked.out, /cannot be decrypted: it was made with another `vault.key`/)
  assert.match(checked.out, /run `plantgw login people\/notes`/)
  assert.equal((await login('notes')).code, 0)
  assert.match((await run('check-endpoints')).out, /fetched for notes|2 tools/)

  change(other, KEY)
  const out = await run('logout', 'notes')
  assert.equal(out.code, 1)
  assert.match(
    out.err,
    /^notes: the login is removed, but its tokens are valid until they expire: a login in \S+ cannot be decrypted/,
  )
  assert.match((await run('logout', 'notes')).out, /there is no login at notes/)
  assert.deepEqual(
    readdirSync(join(folder, 'logins')).filter((name) => name.endsWith('.sealed')),
    [],
  )
})

test('servers of the same name are told apart by their configuration and tenant', TIMEOUT, async (t) => {
  const folder = temporaryFolder(t)
  const tenant = (name: string, caller: string) => ({
    name,
    prefix: `/${name}`,
    tokens: [{ token: `${caller}-token-of-20-characters`, caller }],
  })
  const settings = {
    vault: { key: KEY, folder: join(folder, 'logins') },
    tenants: [tenant('green', 'ann'), tenant('blue', 'ben')],
  }
  const file = join(folder, 'plantgw.yaml')
  writeFileSync(file, JSON.stringify(settings))
  const configurations = join(folder, 'configs')
  mkdirSync(configurations)
  for (const [tenant, name, server] of [
    ['green', 'people', 'notes'],
    ['blue', 'people', 'notes'],
    ['default', 'people', 'notes'],
    ['blue', 'work', 'mail'],
    ['default', 'chat', 'chat'],
    ['default', 'other', 'chat'],
  ]) {
    const credentials = { type: 'oauth', for: 'gateway' }
    const configuration = {
      name,
      tenant,
      routers: [{ server, prefix: `/${tenant}/${name}` }],
      mcpServers: [{ name: server, type: 'streamable-http', url: 'https://a.example.com/mcp', credentials }],
    }
    writeFileSync(join(configurations, `${tenant}-${name}.yaml`), JSON.stringify(configuration))
  }
  const logout = async (name: string) => {
    const running = plantgw(t, ['logout', name, '--settings', file, configurations])
    await running.ended
    return (running.stdout() + running.stderr()).trim()
  }
  assert.match(
    await logout('notes'),
    /several servers have the name notes: give one of blue\/people\/notes, people\/notes, green\/people\/notes$/,
  )
  for (const name of ['green/people/notes', 'people/notes', 'mail', 'work/mail', 'chat', 'other/chat'])
    assert.equal(await logout(name), `there is no login at ${name}`)
  assert.match(
    await logout('x'),
    /no server with a login is named x: choose one of blue\/people\/notes, mail, chat, other\/chat, people\/notes, green\/people\/notes$/,
  )
})

test('an authorization server that a server names has to be allowed', TIMEOUT, async (t) => {
  const { run } = await world(t, {})
  const { code, err } = await run('login', 'notes')
  assert.equal(code, 2)
  assert.match(
    err,
    /the server notes: http:\/\/127\.0\.0\.1(:\d+)? is at a loopback address, to which this gateway does not connect \(outbound\): write `issuer`, or allow the address in `outbound`\n$/,
  )
})

test('commands say what is missing', TIMEOUT, async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'plantgw.yaml')
  const configuration = join(folder, 'a.yaml')
  writeFileSync(file, JSON.stringify({ port: 5235 }))
  const server = {
    name: 'a',
    type: 'streamable-http',
    url: 'https://a.example.com/mcp',
    credentials: { type: 'oauth', for: 'gateway' },
  }
  writeFileSync(
    configuration,
    JSON.stringify({ name: 'a', routers: [{ server: 'a', prefix: '/a' }], mcpServers: [server] }),
  )
  const run = async (...args: string[]) => {
    const running = plantgw(t, [...args, '--settings', file])
    return `${await running.ended} ${running.stdout()}${running.stderr()}`
  }
  assert.match(await run('login', 'a', configuration), /^2 plantgw: the settings have no `vault`/)
  assert.match(await run('validate', configuration), /missing-vault/)
  writeFileSync(file, JSON.stringify({ vault: { key: 'short' } }))
  assert.match(await run('validate', configuration), /`key` has fewer than 32 characters/)
})

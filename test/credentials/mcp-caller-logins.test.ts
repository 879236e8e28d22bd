// Each test starts an authorization server and servers of every transport, and people log in: about half a minute.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type AuthorizationServer, authorizationServer } from '../fixtures/authorization-server.ts'
import { type ProtectedServer, protectedServer } from '../fixtures/protected-server.ts'
import { gatewayHere } from '../support/gateway.ts'
import { Browser, bearer, codeIn, KEY, PUBLIC, tokenOf, urlIn } from '../support/logins.ts'
import { temporaryFolder } from '../support/process.ts'
import { rest } from '../support/rest.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'

/** The same server, each in its own way. */
const KINDS = {
  plain: { type: 'streamable-http', path: '/mcp' },
  sessions: { type: 'streamable-http', path: '/mcp/sessions' },
  sse: { type: 'sse', path: '/mcp/sse' },
  modern: { type: 'streamable-http', path: '/mcp/modern' },
  shared: { type: 'streamable-http', path: '/mcp/sessions', isolation: 'credential' },
} as const
type Kind = keyof typeof KINDS
const ALL = Object.keys(KINDS) as Kind[]
const SOME = rest ? ALL : (['sessions', 'modern'] as const)

interface World {
  as: AuthorizationServer
  server: ProtectedServer
  base: string
  change(): Promise<Loose>
  browser(account: string): Browser
}

/** A gateway before MCP servers at which callers log in: those of a file at `/KIND`, those of JWT at `/people`. */
async function world(t: TestContext, routers: (own: object) => object[] = () => []): Promise<World> {
  const as = await authorizationServer(t)
  const server = await protectedServer(t, as)
  const tokens = ['ann', 'ben'].map((caller) => ({ caller, token: tokenOfFile(caller) }))
  const auth = { type: 'bearer', tokens }
  const configuration = {
    name: 'people',
    routers: [
      ...ALL.map((name) => ({ server: name, prefix: `/${name}`, auth })),
      {
        server: 'sessions',
        prefix: '/people',
        auth: { type: 'jwt', issuers: [{ issuer: as.issuer }], audience: PUBLIC },
      },
      ...routers(auth),
    ],
    mcpServers: ALL.map((name) => {
      const { path, ...kind } = KINDS[name]
      const credentials = { type: 'oauth', for: 'caller' }
      return { name, ...kind, url: `${server.origin}${path}`, credentials }
    }),
  }
  const vault = { key: KEY, folder: join(temporaryFolder(t), 'logins') }
  const settings = { vault, outbound: { allowHosts: ['127.0.0.1'] } }
  const { base, change } = await gatewayHere(t, configuration, {}, settings)
  const changed = {
    ...configuration,
    mcpServers: configuration.mcpServers.map((one) => ({ ...one, idleTimeout: 100_000 })),
  }
  return {
    as,
    server,
    base,
    change: () => change(changed),
    browser: (account) => new Browser(as, account, [base]),
  }
}

const tokenOfFile = (caller: string) => `${caller}-token-of-20-characters`

/** A client of the first generation, and the notifications that it gets. */
async function sessionClient(
  t: TestContext,
  url: string,
  token: string,
  capabilities: object = {},
): Promise<{
  client: Client
  heard: string[]
  tools(): Promise<string>
  call(name: string): Promise<Loose>
}> {
  const client = new Client({ name: 'c', version: '1' }, { capabilities })
  const heard: string[] = []
  client.fallbackNotificationHandler = async ({ method }) => void heard.push(method)
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: bearer(token) } }),
  )
  t.after(() => client.close())
  return {
    client,
    heard,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name).join(),
    call: (name) => client.callTool({ name, arguments: {} }).catch((error) => error) as Promise<Loose>,
  }
}

async function modernClient(
  t: TestContext,
  url: string,
  token: string,
  onPage?: (url: string) => Promise<unknown>,
) {
  const client = new ModernClient(
    { name: 'c', version: '1' },
    {
      capabilities: onPage ? { elicitation: { url: {} } } : {},
      versionNegotiation: { mode: 'auto' },
    },
  )
  if (onPage)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      await onPage((params as Loose).url)
      return { action: 'accept' }
    })
  const requestInit = { headers: bearer(token) }
  await client.connect(new ModernTransport(new URL(url), { requestInit }))
  t.after(() => client.close())
  assert.equal(client.getProtocolEra(), 'modern')
  return {
    client,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name).join(),
    call: (name: string) => client.callTool({ name, arguments: {} }) as Promise<Loose>,
  }
}

const textOf = (result: Loose): string => result.content?.[0]?.text ?? String(result.message)

for (const kind of SOME)
  test(`callers log in, and use a session each: ${kind}`, async (t) => {
    const { base, browser, server } = await world(t)
    const url = `${base}/${kind}/mcp`
    const ann = await sessionClient(t, url, tokenOfFile('ann'))
    const ben = await sessionClient(t, url, tokenOfFile('ben'))
    assert.deepEqual(await Promise.all([ann.tools(), ben.tools()]), [`login_${kind}`, `login_${kind}`])
    assert.equal(server.tokens.length, 0)
    const [ofAnn, ofBen] = await Promise.all([ann.call(`login_${kind}`), ben.call('whoami')])
    for (const error of [ofAnn, ofBen]) assert.equal(error.code, -32042)
    for (const [who, { data }] of [
      ['ann', ofAnn],
      ['ben', ofBen],
    ] as const) {
      const [{ url, message }] = data.elicitations
      assert.match(await browser(who).logIn(url, codeIn(message)), /You are logged in/)
    }
    for (const { heard } of [ann, ben])
      await until(
        () =>
          heard.includes('notifications/tools/list_changed') &&
          heard.includes('notifications/elicitation/complete'),
      )
    for (let i = 0; i < 3; i++) {
      const answers = [ann.tools(), ben.tools(), ann.call('whoami'), ben.call('whoami')]
      assert.deepEqual(
        (await Promise.all(answers)).map((answer) => (typeof answer === 'string' ? answer : textOf(answer))),
        ['whoami,water', 'whoami,water', 'ann', 'ben'],
      )
    }
    assert.deepEqual([await ann.client.listPrompts(), server.mixed], [{ prompts: [] }, []])
    const later = await sessionClient(t, url, tokenOfFile('ann'))
    assert.deepEqual([await later.tools(), textOf(await later.call('whoami'))], ['whoami,water', 'ann'])
  })

for (const kind of SOME)
  test(`clients of 2026-07-28 log in, each as itself: ${kind}`, async (t) => {
    const { base, browser, server } = await world(t)
    const url = `${base}/${kind}/mcp`
    let asked = 0
    const ann = await modernClient(t, url, tokenOfFile('ann'), async () => asked++)
    const plain = await modernClient(t, url, tokenOfFile('ann'))
    assert.deepEqual([await ann.tools(), await plain.tools()], [`login_${kind}`, `login_${kind}`])
    const text = textOf(await plain.call('whoami'))
    assert.match(text, /needs a login of the user/)
    assert.match(await browser('ann').logIn(urlIn(text), codeIn(text)), /You are logged in/)
    assert.deepEqual(
      [await ann.tools(), textOf(await ann.call('whoami')), textOf(await plain.call('whoami')), asked],
      ['whoami,water', 'ann', 'ann', 0],
    )
    const ben = await modernClient(t, url, tokenOfFile('ben'))
    assert.equal(await ben.tools(), `login_${kind}`)
    assert.match(textOf(await ben.call('whoami')), /needs a login of the user/)
    assert.deepEqual(server.mixed, [])
  })

test('a client that sends its user to pages goes on with the call, and a stateless one repeats it', async (t) => {
  const { base, browser, as } = await world(t)
  const url = `${base}/people/mcp`
  const alice = await sessionClient(t, url, await tokenOf(t, as, 'alice'), { elicitation: { url: {} } })
  alice.client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    browser('alice')
      .logIn((params as Loose).url)
      .catch(assert.fail)
    return { action: 'accept' }
  })
  assert.match(textOf(await alice.call('login_sessions')), /^The user is logged in at the server sessions\./)
  assert.deepEqual([await alice.tools(), textOf(await alice.call('whoami'))], ['whoami,water', 'alice'])
  const pages: string[] = []
  const bob = await modernClient(t, url, await tokenOf(t, as, 'bob'), (page) => {
    pages.push(page)
    return browser('bob').logIn(page)
  })
  assert.deepEqual([await bob.tools(), textOf(await bob.call('whoami'))], ['login_sessions', 'bob'])
  assert.deepEqual([await bob.tools(), pages.length], ['whoami,water', 1])
})

for (const kind of SOME)
  test(`a login that ends is asked for again, also with other scopes or another account: ${kind}`, async (t) => {
    const { as, base, browser, server } = await world(t)
    as.refresh = false
    const url = `${base}/${kind}/mcp`
    const ann = await sessionClient(t, url, tokenOfFile('ann'), { elicitation: { url: {} } })
    let account = 'ann'
    const shown: string[] = []
    ann.client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      const { url, message } = params as Loose
      shown.push(await browser(account).logIn(url, codeIn(message)))
      return { action: 'accept' }
    })
    assert.equal(textOf(await ann.call('whoami')), 'ann')
    for (const token of server.tokens) server.revoked.add(token)
    // The person chooses another account of the server.
    account = 'anna'
    assert.equal(textOf(await ann.call('whoami')), 'anna')
    assert.equal(textOf(await ann.call('water')), 'anna')
    assert.deepEqual([shown.length, await ann.tools(), server.mixed], [3, 'whoami,water', []])
    for (const token of server.tokens) server.revoked.add(token)
    assert.equal(await ann.tools(), `login_${kind}`)
    assert.match(textOf(await ann.call(`login_${kind}`)), /^The user is logged in/)
    assert.deepEqual([await ann.tools(), textOf(await ann.call('whoami'))], ['whoami,water', 'anna'])
  })

test('a server that refuses the tokens of each login: the caller hears it, and is not asked again', async (t) => {
  const { base, browser, server } = await world(t)
  // The page does not look at a token for it, as its stream would not end.
  const ann = await sessionClient(t, `${base}/sse/mcp`, tokenOfFile('ann'))
  server.refuses = true
  const why =
    /^.*The server sse refuses the token of the login, as it refused that of the login before: it may be for another audience\. Another login would not help/
  let logins = 0
  const answer = await until(async () => {
    const { data, message } = await ann.call('whoami')
    if (!data) return message as string
    const [{ url, message: asked }] = data.elicitations
    const page = await browser('ann').logIn(url, codeIn(asked))
    assert.match(page, /You are logged in/)
    logins++
    return undefined
  })
  assert.match(answer, why)
  assert.ok(logins <= 3, `${logins}`)
  assert.match(textOf(await ann.call('water')), why)
})

test('several servers, rules and search: tools appear with the login, for callers who may use some', async (t) => {
  const { base, browser } = await world(t, (auth) => [
    { server: ['sessions', 'modern'], prefix: '/both', auth },
    {
      server: ['sessions'],
      prefix: '/ruled',
      auth,
      authorize: { default: 'deny', rules: [{ tools: ['*whoami'], callers: ['ann'] }] },
    },
    { server: 'sessions', prefix: '/search', auth, discovery: { type: 'search' } },
  ])
  const ben = await sessionClient(t, `${base}/ruled/mcp`, tokenOfFile('ben'))
  assert.equal(await ben.tools(), '')
  assert.match(textOf(await ben.call('login_sessions')), /Unknown tool/)
  const at = async (prefix: string) => ({
    session: await sessionClient(t, `${base}${prefix}/mcp`, tokenOfFile('ann')),
    modern: await modernClient(t, `${base}${prefix}/mcp`, tokenOfFile('ann')),
  })
  const both = await at('/both')
  const ruled = await at('/ruled')
  const search = await at('/search')
  const tools = async ({ session, modern }: typeof both) => [await session.tools(), await modern.tools()]
  const found = ({ session, modern }: typeof both) =>
    Promise.all(
      [session, modern].map(async ({ client }) => {
        const call = { name: 'search_tools', arguments: { query: 'whose token' } }
        return /whoami/.test(textOf((await client.callTool(call)) as Loose))
      }),
    )
  const twice = (text: string) => [text, text]
  assert.deepEqual(await tools(both), twice('login_sessions,login_modern'))
  assert.deepEqual(await tools(ruled), twice('login_sessions'))
  assert.deepEqual(
    await tools(search),
    twice('search_tools,describe_tools,call_read_tool,call_tool,login_sessions'),
  )
  assert.deepEqual(await found(search), [false, false])
  const asking = textOf(await both.modern.call('sessions__whoami'))
  assert.match(await browser('ann').logIn(urlIn(asking), codeIn(asking)), /You are logged in/)
  const of = (server: string) => ['whoami', 'water'].map((name) => `${server}__${name}`).join()
  assert.deepEqual(await tools(both), twice(`${of('sessions')},login_modern`))
  assert.deepEqual(await tools(ruled), twice('sessions__whoami'))
  assert.deepEqual(await found(search), [true, true])
  assert.equal(textOf(await both.session.call('sessions__whoami')), 'ann')
  const { data } = await both.session.call('modern__whoami')
  const [{ url, message }] = data.elicitations
  assert.match(await browser('ann').logIn(url, codeIn(message)), /You are logged in/)
  assert.deepEqual(await tools(both), twice(`${of('sessions')},${of('modern')}`))
  assert.equal(textOf(await both.modern.call('modern__whoami')), 'ann')
})

test('a subscription of 2026-07-28 hears of the login', async (t) => {
  const { base, browser } = await world(t)
  for (const kind of ['sessions', 'modern'] as const) {
    const { client, call } = await modernClient(t, `${base}/${kind}/mcp`, tokenOfFile('ann'))
    let changes = 0
    client.setNotificationHandler('notifications/tools/list_changed', () => void changes++)
    const subscription = await client.listen({ toolsListChanged: true })
    const text = textOf(await call('whoami'))
    assert.match(await browser('ann').logIn(urlIn(text), codeIn(text)), /You are logged in/)
    await until(() => changes > 0)
    await subscription.close()
  }
})

test('a caller sees and ends its logins on a page, and its sessions end with them', async (t) => {
  const { as, base, browser, server } = await world(t)
  const ann = await sessionClient(t, `${base}/sessions/mcp`, tokenOfFile('ann'))
  const own = browser('ann')
  const page = `${PUBLIC}/_login/`
  assert.match((await own.ask(page)).text, /The logins cannot be shown: this browser has not shown/)
  const [{ url, message }] = (await ann.call('whoami')).data.elicitations
  assert.match(await own.logIn(url, codeIn(message)), /Your logins/)
  await until(() => ann.heard.includes('notifications/tools/list_changed'))
  assert.equal(textOf(await ann.call('whoami')), 'ann')

  // Another browser needs the code that the client shows.
  const second = browser('ann')
  const text = textOf(await ann.call('login_sessions'))
  assert.match(text, /^The user is logged in at the server sessions\. To see or end logins/)
  const { to } = await second.ask(urlIn(text), { code: codeIn(text)! })
  assert.equal(to, page)
  assert.match((await second.ask(page)).text, /Logins of <b>ann<\/b>.*<b>sessions<\/b> \(present\)/s)
  const other = browser('ben')
  assert.equal((await other.ask(page, { end: 'people/sessions' })).status, 403)
  second.origin = 'https://evil.example.com'
  assert.equal((await second.ask(page, { end: 'people/sessions' })).status, 403)
  second.origin = PUBLIC
  assert.match((await second.ask(page, { end: 'people/modern' })).text, /has ended: there was none/)
  const tokens = new Set(server.tokens)
  const ended = await second.ask(page, { end: 'people/sessions' })
  assert.ok(ended.text.includes(`its tokens are revoked at ${as.issuer}`), ended.text)
  assert.match(ended.text, /There are none/)
  assert.equal(await ann.tools(), 'login_sessions')
  assert.equal((await ann.call('whoami')).code, -32042)
  assert.deepEqual(new Set(server.tokens), tokens)
})

for (const kind of ['sessions', 'modern'] as const)
  test(`what the gateway holds for a client of 2026-07-28 ends with its login: ${kind}`, async (t) => {
    const { base, browser, server } = await world(t)
    const { client, call, tools } = await modernClient(t, `${base}/${kind}/mcp`, tokenOfFile('ann'))
    const own = browser('ann')
    const logIn = async () => {
      const text = textOf(await call('whoami'))
      assert.match(await own.logIn(urlIn(text), codeIn(text)), /You are logged in/)
    }
    await logIn()
    let changes = 0
    client.setNotificationHandler('notifications/tools/list_changed', () => void changes++)
    const subscription = await client.listen({ toolsListChanged: true })
    assert.equal(textOf(await call('whoami')), 'ann')
    if (kind === 'sessions') await until(() => server.streams === 1)
    const ended = await own.ask(`${PUBLIC}/_login/`, { end: `people/${kind}` })
    assert.match(ended.text, /its tokens are revoked/)
    await until(() => server.streams === 0 && changes === 1)
    assert.equal(await tools(), `login_${kind}`)
    // The subscription is still there, and hears of the next login.
    await logIn()
    await until(() => changes === 2)
    assert.deepEqual([await tools(), textOf(await call('whoami'))], ['whoami,water', 'ann'])
    await subscription.close()
  })

test('a session for clients of 2026-07-28 ends at the first call after its login has ended elsewhere', async (t) => {
  const { base, browser, server } = await world(t)
  const { call } = await modernClient(t, `${base}/sessions/mcp`, tokenOfFile('ann'))
  const text = textOf(await call('whoami'))
  assert.match(await browser('ann').logIn(urlIn(text), codeIn(text)), /You are logged in/)
  assert.equal(textOf(await call('whoami')), 'ann')
  await until(() => server.streams === 1)
  server.refuses = true
  await until(async () => /needs a login of the user/.test(textOf(await call('whoami'))))
  await until(() => server.streams === 0)
})

test('callers of an authorization server see their logins after a login there', async (t) => {
  const { as, base, browser } = await world(t)
  const url = `${base}/people/mcp`
  const alice = await modernClient(t, url, await tokenOf(t, as, 'alice'), (page) =>
    browser('alice').logIn(page),
  )
  assert.equal(textOf(await alice.call('whoami')), 'alice')
  const page = urlIn(textOf(await alice.call('login_sessions')))
  const bob = browser('bob')
  assert.match(await bob.logIn(page), /you are not the person/)
  const again = urlIn(textOf(await alice.call('login_sessions')))
  assert.notEqual(again, page)
  assert.match(await browser('alice').logIn(again), /Logins of .*sessions \(present\)/s)
})

test('a reload while a login is open changes nothing for the caller', async (t) => {
  const { base, browser, change } = await world(t)
  const ann = await sessionClient(t, `${base}/sessions/mcp`, tokenOfFile('ann'))
  const ben = await sessionClient(t, `${base}/modern/mcp`, tokenOfFile('ben'))
  const pages = await Promise.all(
    [ann, ben].map(async ({ call }) => (await call('whoami')).data.elicitations[0]),
  )
  assert.deepEqual((await change()).refused, [])
  assert.equal(await ann.tools(), 'login_sessions')
  for (const [i, name] of ['ann', 'ben'].entries())
    assert.match(await browser(name).logIn(pages[i].url, codeIn(pages[i].message)), /You are logged in/)
  await until(() => ann.heard.includes('notifications/tools/list_changed'))
  for (const [client, name] of [
    [ann, 'ann'],
    [ben, 'ben'],
  ] as const)
    assert.deepEqual([await client.tools(), textOf(await client.call('whoami'))], ['whoami,water', name])
})

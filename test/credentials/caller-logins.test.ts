import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
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
import { protectedServer } from '../fixtures/protected-server.ts'
import { gatewayHere } from '../support/gateway.ts'
import { apiOf, Browser, bearer, codeIn, KEY, PUBLIC, rawCall, tokenOf, urlIn } from '../support/logins.ts'
import { temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'

interface World {
  as: AuthorizationServer
  /** Two replicas. */
  bases: string[]
  logged: Loose[]
  /** What the audit logs of both say of logins: who, and what. */
  audit(): string[]
  /** A token with which a person logs in at the gateway. */
  tokenOf(account: string): Promise<string>
  browser(account: string): Browser
}

/** Two replicas before an API that lets in people; callers log in by JWT at `/people`, and by a token of a file at `/team`. */
async function world(t: TestContext): Promise<World> {
  const as = await authorizationServer(t)
  const server = await protectedServer(t, as)
  const folder = temporaryFolder(t)
  const configuration = {
    name: 'people',
    routers: [
      {
        server: 'api',
        prefix: '/people',
        auth: { type: 'jwt', issuers: [{ issuer: as.issuer }], audience: PUBLIC },
      },
      {
        server: 'api',
        prefix: '/team',
        auth: {
          type: 'bearer',
          tokens: ['ann', 'ben'].map((caller) => ({ caller, token: `${caller}-token-of-20-characters` })),
        },
      },
    ],
    ...apiOf(server, as),
  }
  const vault = { key: KEY, folder: join(folder, 'logins') }
  const audits = ['1', '2'].map((name) => join(folder, `${name}.jsonl`))
  const settings = { vault, outbound: { allowHosts: ['127.0.0.1'] } }
  const replicas = [
    await gatewayHere(t, configuration, {}, { ...settings, audit: { to: 'file', path: audits[0] } }),
    await gatewayHere(t, configuration, {}, { ...settings, audit: { to: 'file', path: audits[1] } }),
  ]
  const bases = replicas.map(({ base }) => base)
  return {
    as,
    bases,
    logged: replicas.flatMap(({ logged }) => logged),
    audit: () =>
      audits
        .flatMap((path) => readFileSync(path, 'utf8').trim().split('\n'))
        .map((line) => JSON.parse(line) as Loose)
        .filter(({ event }) => event === 'login')
        .map(({ caller, what }) => `${caller} ${what}`),
    tokenOf: (account) => tokenOf(t, as, account),
    browser: (account) => new Browser(as, account, bases),
  }
}

test('a client of 2025-11-25 sends its user to the page, and the call continues', async (t) => {
  const { bases, tokenOf, browser, audit } = await world(t)
  const alice = browser('alice')
  const pages: Promise<string>[] = []
  const completed: unknown[] = []
  const client = new Client({ name: 'c', version: '1' }, { capabilities: { elicitation: { url: {} } } })
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
    assert.ok(params.mode === 'url')
    assert.match(params.message, /^The server api needs your login\. Open this page in your browser\.$/)
    pages.push(alice.logIn(params.url))
    return { action: 'accept' }
  })
  client.fallbackNotificationHandler = async ({ method }) => void completed.push(method)
  const requestInit = { headers: bearer(await tokenOf('alice')) }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${bases[0]}/people/mcp`), { requestInit }) as never,
  )
  t.after(() => client.close())
  const result = (await client.callTool({ name: 'me', arguments: {} })) as Loose
  assert.deepEqual(JSON.parse(result.content[0].text), { sub: 'alice' })
  assert.match((await Promise.all(pages)).join(), /You are logged in at api\. You can close this page/)
  assert.deepEqual(completed, ['notifications/elicitation/complete'])
  await client.callTool({ name: 'me', arguments: {} })
  assert.equal(pages.length, 1)
  await until(() => audit().join() === 'alice granted')
})

test('a client of 2026-07-28 sends its user to the page, and repeats the call', async (t) => {
  const { bases, tokenOf, browser } = await world(t)
  const alice = browser('alice')
  let asked = 0
  const client = new ModernClient(
    { name: 'c', version: '1' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: 'auto' } },
  )
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked++
    await alice.logIn((params as Loose).url)
    return { action: 'accept' }
  })
  const requestInit = { headers: bearer(await tokenOf('alice')) }
  await client.connect(new ModernTransport(new URL(`${bases[0]}/people/mcp`), { requestInit }))
  t.after(() => client.close())
  assert.equal(client.getProtocolEra(), 'modern')
  const result = (await client.callTool({ name: 'me', arguments: {} })) as Loose
  assert.deepEqual([JSON.parse(result.content[0].text), asked], [{ sub: 'alice' }, 1])
})

test('other clients get the address of the page, by which their user logs in', async (t) => {
  const { bases, browser } = await world(t)
  const ann = 'ann-token-of-20-characters'
  const modern = await rawCall(bases[0]!, '/team', ann, '2025-11-25')
  const { error } = await modern.call()
  assert.equal(error.code, -32042)
  const [{ mode, url, elicitationId, message }] = error.data.elicitations
  assert.deepEqual([mode, typeof elicitationId], ['url', 'string'])
  assert.match(message, /It asks for the code \w{4}-\w{4}, which only you can see here\./)
  const old = await rawCall(bases[0]!, '/team', ann, '2025-06-18')
  const { result } = await old.call()
  const [{ text }] = result.content
  assert.equal(result.isError, true)
  assert.match(
    text,
    /^The server api needs a login of the user\. Ask the user to open .* within ten minutes and enter the code .* there; then call the tool again\.$/,
  )
  assert.deepEqual([urlIn(text), codeIn(text)], [url, codeIn(message)], 'a caller has one page at a time')
  assert.match(await browser('ann').logIn(url, codeIn(message)!.toLowerCase()), /You are logged in/)
  assert.match(JSON.stringify(await old.call()), /ann/)
  assert.match(JSON.stringify(await modern.call()), /ann/)
  const other = await rawCall(bases[1]!, '/team', 'ben-token-of-20-characters', '2025-06-18')
  assert.match(JSON.stringify(await other.call()), /needs a login of the user/)
})

test('a page that a caller sends to somebody else does not get the login of that person', async (t) => {
  const { bases, tokenOf, browser, audit } = await world(t)
  const attacker = await rawCall(bases[0]!, '/people', await tokenOf('mallory'), '2025-06-18')
  const pageOf = async (who: typeof attacker) => urlIn((await who.call()).result.content[0].text)
  const bob = browser('bob')
  assert.match(
    await bob.logIn(await pageOf(attacker)),
    /The login failed: you are not the person whose MCP client asked for this login/,
  )
  assert.match(JSON.stringify(await attacker.call()), /needs a login/)

  // The attacker begins, and has the other one go on.
  const page = await pageOf(attacker)
  const own = browser('mallory')
  const { to: first } = await own.ask(page, {})
  const { to: second } = await own.ask(await own.consent(first!))
  const back = await bob.consent(second!)
  const refused = await bob.ask(back)
  assert.deepEqual([refused.status, /begun in another browser/.test(refused.text)], [403, true])
  const claimed = await bob.ask(page, {})
  assert.match(claimed.text, /used in another browser already/)
  assert.match(JSON.stringify(await attacker.call()), /needs a login/)

  // Another page sends the attacker's code in the person's name.
  const ann = await rawCall(bases[0]!, '/team', 'ann-token-of-20-characters', '2025-06-18')
  const [{ text }] = (await ann.call()).result.content
  bob.origin = 'https://evil.example.com'
  assert.match(
    (await bob.ask(urlIn(text), { code: codeIn(text)! })).text,
    /the form did not come from this page/,
  )
  bob.origin = PUBLIC

  const team = await rawCall(bases[0]!, '/team', 'ben-token-of-20-characters', '2025-06-18')
  const guessed = await pageOf(team)
  for (let i = 1; i < 5; i++)
    assert.match(
      (await bob.ask(guessed, { code: `AAAA-AAA${i}` })).text,
      /for <b>ben<\/b>.*That is not the code/s,
    )
  assert.match((await bob.ask(guessed, { code: 'AAAA-AAAA' })).text, /too often/)
  assert.match((await bob.ask(guessed)).text, /cannot be used any more/)
  await until(() => audit().sort().join() === 'ben denied,mallory denied')
})

test('a page is for one login, and shows why a login failed', async (t) => {
  const { as, bases, browser } = await world(t)
  const caller = await rawCall(bases[0]!, '/team', 'ann-token-of-20-characters', '2025-06-18')
  const ask = async () => {
    const [{ text }] = (await caller.call()).result.content
    return { url: urlIn(text), code: codeIn(text)! }
  }
  const ann = browser('ann')
  const failing = async (change: (back: URL) => void) => {
    const { url, code } = await ask()
    const { to } = await ann.ask(url, { code })
    const back = await ann.consent(to!)
    change(back)
    return (await ann.ask(back)).text.replace(/^.*The login failed: |<\/p>.*$/gs, '')
  }
  const at = `the authorization server at ${as.issuer}`
  assert.equal(
    await failing(({ searchParams }) => searchParams.set('code', 'x')),
    `${at} responded with invalid_grant: grant request is invalid.`,
  )
  assert.match(
    await failing(({ searchParams }) => searchParams.set('iss', 'https://evil.example.com')),
    /is not what it claims/,
  )
  assert.match(
    await failing(({ searchParams }) => searchParams.set('state', 'x.y')),
    /cannot be used any more/,
  )
  const { url, code } = await ask()
  assert.match(await ann.logIn(url, code), /You are logged in/)
  assert.match((await ann.ask(url)).text, /cannot be used any more/)
  assert.equal((await ann.ask(`${PUBLIC}/_login/x`)).status, 404)
})

test('a cookie that the gateway did not set is none, whatever it holds', async (t) => {
  const { bases, browser } = await world(t)
  const ann = await rawCall(bases[0]!, '/team', 'ann-token-of-20-characters', '2025-06-18')
  const [{ text }] = ((await ann.call()) as Loose).result.content
  const own = browser('ann')
  // Decoded it has a line break, which no header can hold.
  own.cookie = 'plantgw-login=a%0D%0Ab:%20c'
  const { status } = await own.ask(urlIn(text), { code: codeIn(text)! })
  assert.equal(status, 303)
  assert.match(own.cookie, /^plantgw-login=[\w-]{32}$/)
})

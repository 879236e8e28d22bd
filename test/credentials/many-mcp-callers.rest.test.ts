// Fifty people log in one after the other at each kind of server: about a minute.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { authorizationServer } from '../fixtures/authorization-server.ts'
import { protectedServer } from '../fixtures/protected-server.ts'
import { type Client, modern, open } from '../support/client.ts'
import { gatewayHere } from '../support/gateway.ts'
import { Browser, bearer, codeIn, KEY, urlIn } from '../support/logins.ts'
import { temporaryFolder } from '../support/process.ts'

const CALLERS = Array.from({ length: 50 }, (_, i) => `caller-${i}`)
const tokenOf = (caller: string) => `${caller}-token-of-20-characters`

/** The server speaks another revision than one of the clients in each, so that the gateway holds sessions for it. */
const KINDS = {
  sessions: { path: '/mcp/sessions' },
  shared: { path: '/mcp/sessions', isolation: 'credential' },
  modern: { path: '/mcp/modern' },
}

for (const [kind, { path, ...more }] of Object.entries(KINDS))
  test(`many callers of an MCP server see only their own data, over replicas, refreshes and restarts: ${kind}`, async (t) => {
    const as = await authorizationServer(t)
    const server = await protectedServer(t, as)
    const tokens = CALLERS.map((caller) => ({ caller, token: tokenOf(caller) }))
    const credentials = { type: 'oauth', for: 'caller' }
    const url = server.origin + path
    const configuration = {
      name: 'people',
      routers: [{ server: 'notes', prefix: '/notes', auth: { type: 'bearer', tokens } }],
      mcpServers: [{ name: 'notes', type: 'streamable-http', url, credentials, ...more }],
    }
    const settings = {
      vault: { key: KEY, folder: join(temporaryFolder(t), 'logins') },
      outbound: { allowHosts: ['127.0.0.1'] },
    }
    const start = () => Promise.all([1, 2].map(() => gatewayHere(t, configuration, {}, settings)))
    let replicas = await start()
    /** One client of each generation on each replica. */
    const clients = (caller: string) =>
      replicas.flatMap(({ base }) => [
        modern(`${base}/notes/mcp`, bearer(tokenOf(caller))),
        open(`${base}/notes/mcp`, bearer(tokenOf(caller)), {}, '2025-06-18'),
      ])
    for (const caller of CALLERS) {
      const text = await (await clients(caller)[0]!).call('whoami')
      const browser = new Browser(
        as,
        caller,
        replicas.map(({ base }) => base),
      )
      assert.match(await browser.logIn(urlIn(text), codeIn(text)), /You are logged in/)
    }
    type Person = { caller: string; own: Client[] }
    const people = () =>
      Promise.all(CALLERS.map(async (caller) => ({ caller, own: await Promise.all(clients(caller)) })))
    const ask = async (all: Person[]) => {
      const said = all.map(async ({ caller, own }) => {
        const texts = await Promise.all(own.map((client) => client.call('whoami')))
        assert.deepEqual(texts, [caller, caller, caller, caller])
      })
      await Promise.all(said)
      assert.deepEqual(server.mixed, [])
    }
    /** Both replicas meet tokens that are refused, and refresh each login once. */
    const revoke = (logins: number) => {
      for (const token of server.tokens) server.revoked.add(token)
      assert.equal(server.revoked.size, logins * CALLERS.length)
    }
    /** One replica ends in peace, and the other leaves its sessions. */
    const restart = async () => {
      const [before] = replicas
      replicas = await start()
      await before!.close()
      return people()
    }
    const first = await people()
    await ask(first)
    revoke(1)
    await ask(first)
    const second = await restart()
    await ask(second)
    revoke(2)
    await ask(await restart())
    revoke(3)
  })

// Fifty people log in one after the other: about a minute.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { authorizationServer } from '../fixtures/authorization-server.ts'
import { protectedServer } from '../fixtures/protected-server.ts'
import { gatewayHere } from '../support/gateway.ts'
import { apiOf, Browser, codeIn, KEY, rawCall, urlIn } from '../support/logins.ts'
import { temporaryFolder } from '../support/process.ts'
import { ownDatabase, postgresUrl, skipUnless } from '../support/services.ts'

const CALLERS = Array.from({ length: 50 }, (_, i) => `caller-${i}`)
const skipped = await skipUnless(postgresUrl())

for (const [store, skip] of [
  ['files', false],
  ['PostgreSQL', skipped],
] as const)
  test(`many callers see only their own data, over replicas, refreshes and restarts: ${store}`, {
    skip,
  }, async (t) => {
    const as = await authorizationServer(t)
    const server = await protectedServer(t, as)
    const tokens = CALLERS.map((caller) => ({ caller, token: `${caller}-token-of-20-characters` }))
    const configuration = {
      name: 'people',
      routers: [{ server: 'api', prefix: '/api', auth: { type: 'bearer', tokens } }],
      ...apiOf(server, as),
    }
    const settings = {
      vault: { key: KEY, folder: join(temporaryFolder(t), 'logins') },
      outbound: { allowHosts: ['127.0.0.1'] },
      ...(store === 'PostgreSQL' && {
        storage: { type: 'postgres', url: await ownDatabase(t, postgresUrl()) },
      }),
    }
    const start = async () => {
      const two = await Promise.all([1, 2].map(() => gatewayHere(t, configuration, {}, settings)))
      return two.map(({ base }) => base)
    }
    let bases = await start()
    const call = async (base: string, caller: string) => {
      const { call } = await rawCall(base, '/api', `${caller}-token-of-20-characters`, '2025-06-18')
      return (await call()).result.content[0].text as string
    }
    for (const [i, caller] of CALLERS.entries()) {
      const text = await call(bases[i % 2]!, caller)
      assert.match(await new Browser(as, caller, bases).logIn(urlIn(text), codeIn(text)), /You are logged in/)
    }
    for (let round = 0; round < 3; round++) {
      // Both replicas meet tokens that are refused, and refresh each login once.
      const calls = CALLERS.flatMap((caller) =>
        bases.map(async (base) => [caller, await call(base, caller)] as const),
      )
      for (const [caller, text] of await Promise.all(calls))
        assert.deepEqual(JSON.parse(text), { sub: caller })
      for (const token of server.tokens) server.revoked.add(token)
      bases = await start()
    }
    assert.equal(server.revoked.size, 3 * CALLERS.length)
  })

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { type Era, everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'
import { WRITTEN_ANEW } from './explained.ts'
import { differences } from './legs.ts'
import { type Revision, runSuite } from './suite.ts'

// An everything-server that shares its prefix with a service of HTTP tools, against the same server directly.

const TOOL = {
  name: 'find_order',
  description: 'Finds an order.',
  method: 'GET',
  endpoint: 'http://127.0.0.1:1/orders',
  annotations: { readOnlyHint: true },
}

const LEGS: [server: string, era: Era, revision: Revision][] = [
  ['stdio', 'session', '2025-11-25'],
  ['http', 'session', '2025-11-25'],
  ['stdio', 'modern', '2026-07-28'],
  ['http', 'modern', '2026-07-28'],
]

test('everything-servers beside HTTP tools, behind one prefix', async (t) => {
  const url = await startEverything(t, 'http', 'dual')
  const folder = temporaryFolder(t)
  const write = (name: string, value: object) =>
    writeFileSync(join(folder, `${name}.yaml`), stringify({ name, ...value }))
  write('shop', { servers: [{ name: 'orders' }], tools: [TOOL] })
  for (const [kind, era] of LEGS) {
    const server =
      kind === 'stdio'
        ? { type: 'stdio', ...everythingStdio(era) }
        : { type: 'streamable-http', url: await startEverything(t, 'http', era) }
    const name = `${kind}-${era}`
    const routers = [{ prefix: `/${name}`, names: 'plain', server: ['shop/*', name] }]
    write(name, { routers, mcpServers: [{ name, ...server }] })
  }
  const port = String(await freePort())
  const gateway = plantgw(t, ['serve', folder, '--port', port, '--log-level', 'error'])
  await gateway.until(/plantgw serves/)
  for (const [kind, era, revision] of LEGS)
    await t.test(`${kind}-${era} in ${revision}`, async () => {
      const direct = await runSuite(url, revision)
      const at = `http://127.0.0.1:${port}/${kind}-${era}/mcp`
      const explained = revision === '2025-11-25' ? WRITTEN_ANEW : {}
      const differing = async () => differences(direct, await runSuite(at, revision), explained)
      // Some of its scenarios give an answer so many milliseconds, which a busy machine may not have.
      const found = (await differing()).length === 0 ? [] : await differing()
      assert.ok(found.length === 0, found.join('\n'))
    })
  gateway.child.kill('SIGTERM')
  assert.equal(await gateway.ended, 0)
})

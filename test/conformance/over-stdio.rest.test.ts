import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { type Era, everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { serveUpstreams } from '../fixtures/gateway.ts'
import { BIN, temporaryFolder } from '../support/process.ts'
import { explained } from './explained.ts'
import { differences, type Leg } from './legs.ts'
import { type Revision, runSuite } from './suite.ts'

// Everything-servers behind `plantgw serve --stdio`, which the suite reaches through another gateway, as it speaks HTTP.

const LEGS: [transport: 'stdio' | 'http', era: Era, revision: Revision][] = [
  ['stdio', 'session', '2025-11-25'],
  ['http', 'dual', '2025-11-25'],
  ['stdio', 'modern', '2026-07-28'],
  ['http', 'modern', '2026-07-28'],
]

test('everything-servers behind serve --stdio', async (t) => {
  const direct = await startEverything(t, 'http', 'dual')
  const folder = temporaryFolder(t)
  const behind = async (transport: 'stdio' | 'http', era: Era) => {
    const name = `${transport}-${era}`
    const server =
      transport === 'stdio'
        ? { type: 'stdio', ...everythingStdio(era) }
        : { type: 'streamable-http', url: await startEverything(t, transport, era) }
    const file = join(folder, `${name}.yaml`)
    const routers = [{ prefix: `/${name}`, server: name }]
    writeFileSync(file, stringify({ name, routers, mcpServers: [{ name, ...server }] }))
    const args = [BIN, 'serve', '--stdio', file, '--log-level', 'error']
    return [name, { type: 'stdio' as const, command: process.execPath, args }] as const
  }
  const upstreams = await Promise.all(LEGS.map(([transport, era]) => behind(transport, era)))
  const gateway = await serveUpstreams(t, Object.fromEntries(upstreams), ['--log-level', 'error'])
  for (const [transport, era, revision] of LEGS) {
    const leg: Leg = { upstream: `${transport}-${era}`, transport: 'stdio', era, revision }
    await t.test(`${leg.upstream} in ${revision}`, async () => {
      const expected = await runSuite(direct, revision)
      const differing = async () =>
        differences(expected, await runSuite(gateway.url(leg.upstream), revision), explained(leg))
      // Some of its scenarios give an answer so many milliseconds, which a busy machine may not have.
      const found = (await differing()).length === 0 ? [] : await differing()
      assert.ok(found.length === 0, found.join('\n'))
    })
  }
  gateway.child.kill('SIGTERM')
  assert.equal(await gateway.ended, 0)
})

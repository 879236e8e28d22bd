import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startEverything } from '../fixtures/everything/start.ts'
import { serveUpstreams } from '../fixtures/gateway.ts'
import { rest } from '../support/rest.ts'
import { explained } from './explained.ts'
import { differences, isBridged, LEGS, startUpstreams } from './legs.ts'
import { runSuite } from './suite.ts'

// {streamable, stdio, SSE} × {2025-11-25, 2026-07-28}, through the built binary, against the same server directly. It
// takes over 15 s, as the suite is what counts most.

/** The legs of the gate: each transport and each revision once. */
const CHOSEN = LEGS.filter(
  ({ upstream, revision }) =>
    rest || upstream === (revision === '2025-11-25' ? 'http-session' : 'stdio-modern'),
)

test('everything-servers, through the gateway', { concurrency: 2 }, async (t) => {
  const server = await startEverything(t, 'http', 'dual')
  const direct = {
    '2025-11-25': await runSuite(server, '2025-11-25'),
    '2026-07-28': await runSuite(server, '2026-07-28'),
  }
  const gateway = await serveUpstreams(t, await startUpstreams(t), ['--log-level', 'error'])

  const legs = CHOSEN.map((leg) =>
    t.test(`${leg.upstream} in ${leg.revision}${isBridged(leg) ? ', bridged' : ''}`, async () => {
      const differing = async () => {
        const through = await runSuite(gateway.url(leg.upstream), leg.revision)
        return differences(direct[leg.revision], through, explained(leg))
      }
      // Some of its scenarios give an answer so many milliseconds, which a busy machine may not have.
      const found = (await differing()).length === 0 ? [] : await differing()
      assert.ok(found.length === 0, found.join('\n'))
    }),
  )
  await Promise.all(legs)
  // Killed, it could not end its children, of which one does not end by itself.
  gateway.child.kill('SIGINT')
  assert.equal(await gateway.ended, 0)
})

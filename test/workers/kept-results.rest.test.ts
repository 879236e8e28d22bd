import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resultId, rowsServer, WHOLE } from '../fixtures/rows.ts'
import { freePort } from '../support/process.ts'
import { modern, open } from '../upstream/harness.ts'
import { serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }

test('a result can be read from every session, whichever worker keeps it', TIMEOUT, async (t) => {
  const { url } = await serveWorkers(t, { upstreams: { held: rowsServer } })
  const clients = await Promise.all(Array.from({ length: 4 }, () => open(url('held'))))
  const ids = await Promise.all(
    clients.map(async (client) =>
      resultId((await client.request('tools/call', { name: 'rows', arguments: {} })).result),
    ),
  )
  for (const id of ids) {
    const read = [...clients, modern(url('held'))].map((client) => client.call('read_result', { id }))
    assert.deepEqual(new Set(await Promise.all(read)), new Set([WHOLE]))
  }
})

test('a request for a result goes no circle where `advertise` leads elsewhere', TIMEOUT, async (t) => {
  const port = await freePort()
  const start = (own: number, advertise: string) => {
    const cluster = { secret: 'a secret of at least 32 characters', advertise }
    return serveWorkers(t, { upstreams: { held: rowsServer }, settings: { cluster }, count: 2, port: own })
  }
  const [wrong, right] = await Promise.all([
    start(await freePort(), `http://localhost:${port}`),
    start(port, `http://127.0.0.1:${port}`),
  ])
  const { result } = await modern(wrong.url('held')).request('tools/call', { name: 'rows', arguments: {} })
  const id = resultId(result)
  assert.match(
    await modern(right.url('held')).call('read_result', { id }),
    /^No result with this `id` exists/,
  )
  await right.until(/leads to another replica; check its `advertise` address/)
  assert.equal(await modern(wrong.url('held')).call('read_result', { id }), WHOLE)
})

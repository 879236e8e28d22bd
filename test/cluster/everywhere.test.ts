import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crash } from '../support/process.ts'
import { until } from '../support/until.ts'
import { open, send } from '../upstream/harness.ts'
import type { Replica } from './harness.ts'
import { serveSilent } from './silent.ts'

const TIMEOUT = { timeout: 90_000 }
const list = ({ url }: Replica, headers: Record<string, string>) =>
  send(url('tools'), { id: 'list', method: 'tools/list' }, headers).then(({ status }) => status)

test('a session ends in every replica, also where it was never used', TIMEOUT, async (t) => {
  const { all, held, call } = await serveSilent(t, 4)
  const [a, b, c, d] = all
  // Replicas know each other by the sessions that they go on with.
  const first = await open(d.url('tools'))
  assert.equal(await list(a, first.headers), 200)
  const { headers } = await open(a.url('tools'))
  const running = call(b, headers)
  await until(() => held.length > 0)
  const stream = await fetch(b.url('tools'), { headers: { ...headers, accept: 'text/event-stream' } })
  assert.equal((await fetch(c.url('tools'), { method: 'DELETE', headers })).status, 204)
  assert.match(JSON.stringify(await running), /session has ended/)
  await stream.text()
  for (const replica of all) assert.equal(await list(replica, headers), 404)
  assert.equal(await list(a, first.headers), 200)
})

test('a session ends in every replica, also when the one that opened it is gone', TIMEOUT, async (t) => {
  const { all } = await serveSilent(t, 3)
  const [a, b, c] = all
  const { headers } = await open(a.url('tools'))
  for (const replica of [b, c]) assert.equal(await list(replica, headers), 200)
  await crash(a)
  assert.equal(await list(b, headers), 200)
  assert.equal((await fetch(c.url('tools'), { method: 'DELETE', headers })).status, 204)
  for (const replica of [b, c]) assert.equal(await list(replica, headers), 404)
})

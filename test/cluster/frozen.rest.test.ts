import assert from 'node:assert/strict'
import { test } from 'node:test'
import { everythingStdio } from '../fixtures/everything/start.ts'
import type { Loose } from '../support/wire.ts'
import { open, send } from '../upstream/harness.ts'
import { serveReplicas } from './harness.ts'

test('a frozen replica keeps nobody waiting, and its sessions go on when it does', async (t) => {
  const { all } = await serveReplicas(t, {
    upstreams: { stdio: { type: 'stdio', ...everythingStdio('session') } },
    count: 3,
  })
  const [a, b, c] = all as [(typeof all)[0], (typeof all)[0], (typeof all)[0]]
  t.after(() => a.child.kill('SIGCONT'))
  const { headers } = await open(a.url('stdio'))
  const list = async ({ url }: typeof a) => {
    const response = await send(url('stdio'), { id: 'list', method: 'tools/list' }, headers)
    const { error }: Loose = await response.json()
    return [response.status, error?.message ?? 'ok'] as const
  }
  assert.deepEqual(await list(b), [200, 'ok'])
  const leaving = new AbortController()
  const stream = await fetch(c.url('stdio'), {
    headers: { ...headers, accept: 'text/event-stream' },
    signal: leaving.signal,
  })
  a.child.kill('SIGSTOP')
  const [first, others] = [list(b), stream.text()]
  assert.match((await first).join(), /^503,.*does not respond/)
  assert.match(await others, /^: open\n\n/)
  assert.match((await list(b)).join(), /^503,.*unreachable; try again/)
  await b.until(/does not respond/)
  a.child.kill('SIGCONT')
  // It has to be found awake by those that gave up on it.
  for (const replica of [b, c]) {
    let status = 503
    while (status === 503) [status] = await list(replica)
    assert.equal(status, 200)
  }
  a.child.kill('SIGSTOP')
  let [status, message] = await list(b)
  while (status === 503) [status, message] = await list(b)
  assert.match(`${status} ${message}`, /^404 .*send initialize again/)
  await b.until(/for more than 30 s/)
  const anew = await open(b.url('stdio'))
  assert.equal((await send(b.url('stdio'), { id: 1, method: 'ping' }, anew.headers)).status, 200)
  a.child.kill('SIGCONT')
})

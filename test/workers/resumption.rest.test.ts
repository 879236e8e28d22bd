import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { freePort } from '../support/process.ts'
import { until } from '../support/until.ts'
import { readEvents, type StreamEvent } from '../support/wire.ts'
import { ask, type Gateway, openSession, post, renamed, serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }
const LISTS = { id: 'lists', method: 'tools/list' }

type Headers = Record<string, string>

/** Opens a stream on a connection of its own, which stays open: the next one goes to another worker. */
async function listen(t: TestContext, gateway: Gateway, headers: Headers, lastEventId?: string) {
  const all = {
    ...headers,
    accept: 'text/event-stream',
    ...(lastEventId && { 'last-event-id': lastEventId }),
  }
  const leave = new AbortController()
  t.after(() => leave.abort())
  const response = await fetch(gateway.url('tools'), { headers: all, signal: leave.signal })
  assert.equal(response.status, 200)
  const reader = response.body!.getReader()
  return { next: async () => (await readEvents(reader, 1))[0] as StreamEvent }
}

async function changeTools({ folder, origin }: Gateway, name: string) {
  const file = join(folder, 'tools.yaml')
  await writeFile(file, renamed(readFileSync(file, 'utf8'), name))
  assert.equal((await ask(`${origin}/_reload`, 'POST')).status, 200)
}

/** A session with a stream that has sent two events. @returns the headers of its requests, and the events */
async function interrupted(t: TestContext, gateway: Gateway) {
  const { headers } = await openSession(gateway.url('tools'))
  for (let i = 0; i < 4; i++) {
    await post(gateway.url('tools'), { method: 'notifications/initialized' }, headers)
    await post(gateway.url('tools'), LISTS, headers)
  }
  const stream = await listen(t, gateway, headers)
  await changeTools(gateway, 'second')
  const first = await stream.next()
  await changeTools(gateway, 'third')
  return { headers, first, second: await stream.next() }
}

test('a stream goes on, whichever worker its client comes back to', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  const { headers, first, second } = await interrupted(t, gateway)
  for (let i = 0; i < 6; i++) {
    const again = await listen(t, gateway, headers, first.id)
    assert.deepEqual(await again.next(), second)
  }
  assert.match(
    await gateway.metrics(),
    /plantgw_forwarded_requests_total\{prefix="\/tools",outcome="ok"\} [1-9]/,
  )
})

test('a stream goes on at another gateway with workers', TIMEOUT, async (t) => {
  const tools = await toolsFile(t)
  const start = async () => {
    const port = await freePort()
    const cluster = { secret: 'a secret of at least 32 characters', advertise: `http://127.0.0.1:${port}` }
    return serveWorkers(t, { files: { tools }, settings: { cluster }, count: 2, port })
  }
  const [a, b] = await Promise.all([start(), start()])
  const { headers, first, second } = await interrupted(t, a)
  for (let i = 0; i < 4; i++) {
    const again = await listen(t, b, headers, first.id)
    assert.deepEqual(await again.next(), second)
  }
})

test('where the worker has ended that sent it, another stream begins', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  const { headers, first } = await interrupted(t, gateway)
  const before = await gateway.workers()
  for (const { pid } of before) process.kill(pid, 'SIGKILL')
  await until(async () => {
    const now = await gateway.workers().catch(() => [])
    return now.length === before.length && now.every(({ pid }) => before.every((old) => old.pid !== pid))
  })
  const again = await listen(t, gateway, headers, first.id)
  await changeTools(gateway, 'fourth')
  assert.match((await again.next()).data, /tools\/list_changed/)
})

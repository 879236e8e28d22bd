import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { type FaultyServer, faultyStdio, startFaulty } from '../fixtures/faulty/start.ts'
import { type Gateway, serveUpstreams } from '../fixtures/gateway.ts'
import { childrenOf, isThere } from '../support/process.ts'
import { until } from '../support/until.ts'
import { type Caller, openCaller } from './caller.ts'

// Whatever becomes of servers and clients, no process, socket or session is left.

const linux = process.platform === 'linux' ? false : 'it reads /proc'
const idleTimeout = '1s'

interface Served {
  gateway: Gateway
  http: FaultyServer
  stateless: FaultyServer
}

async function serve(t: TestContext): Promise<Served> {
  const http = await startFaulty(t, 'http', 'session')
  const stateless = await startFaulty(t, 'http', 'modern')
  const gateway = await serveUpstreams(
    t,
    {
      plain: { type: 'stdio', ...faultyStdio('session') },
      deaf: { type: 'stdio', ...faultyStdio('session', { deaf: true }) },
      shared: { type: 'stdio', ...faultyStdio('modern') },
      short: { type: 'stdio', ...faultyStdio('session'), idleTimeout },
      http: { type: 'streamable-http', url: http.url, idleTimeout },
      stateless: { type: 'streamable-http', url: stateless.url },
    },
    ['--log-level', 'silent'],
  )
  return { gateway, http, stateless }
}

/** A caller, its server's process and a process that this one started. */
async function openFamily({ gateway }: Served, name: string) {
  const caller = await openCaller(gateway.url(name), name === 'shared')
  const ask = async (tool: string) => Number((await caller.call(tool)).text)
  return { caller, pid: await ask('pid'), grandchild: await ask('grandchild') }
}

const gone = (...pids: number[]) => until(() => !pids.some(isThere))

test('the end of a session ends its server, with all that this one started', { skip: linux }, async (t) => {
  const served = await serve(t)
  for (const name of ['plain', 'deaf']) {
    const { caller, pid, grandchild } = await openFamily(served, name)
    await caller.close()
    await gone(pid, grandchild)
  }
})

test('a server that was killed leaves no zombie and no orphan', { skip: linux }, async (t) => {
  const served = await serve(t)
  for (const name of ['plain', 'shared']) {
    const { pid, grandchild } = await openFamily(served, name)
    process.kill(pid, 'SIGKILL')
    await gone(pid, grandchild)
  }
})

test('SIGTERM ends the gateway and every process below it', { skip: linux }, async (t) => {
  const served = await serve(t)
  const families = []
  for (const name of ['plain', 'deaf', 'shared']) families.push(await openFamily(served, name))
  served.gateway.child.kill('SIGTERM')
  assert.equal(await served.gateway.ended, 0)
  await gone(...families.flatMap(({ pid, grandchild }) => [pid, grandchild]))
})

test('servers end when the gateway is killed, also those that ignore it', { skip: linux }, async (t) => {
  const served = await serve(t)
  const families = []
  for (const name of ['plain', 'deaf', 'shared']) families.push(await openFamily(served, name))
  served.gateway.child.kill('SIGKILL')
  await served.gateway.ended
  await gone(...families.flatMap(({ pid, grandchild }) => [pid, grandchild]))
})

test('200 sessions that were opened and abandoned', { skip: linux }, async (t) => {
  const { gateway, http } = await serve(t)
  const pid = gateway.child.pid!
  const openAll = async (name: string, count: number) => {
    for (let i = 0; i < count; i += 10)
      await Promise.all(Array.from({ length: 10 }, () => openCaller(gateway.url(name))))
  }
  // One of each first, so that what is opened once and kept does not count.
  await openAll('short', 10)
  await openAll('http', 10)
  await until(() => childrenOf(pid).length === 0)
  const before = readdirSync(`/proc/${pid}/fd`).length

  await openAll('short', 60)
  await openAll('http', 200)
  await until(() => childrenOf(pid).length === 0)
  await until(async () => {
    const ended = (await http.seen()).filter((method) => method === 'DELETE')
    return ended.length === 210
  })
  await until(() => readdirSync(`/proc/${pid}/fd`).length <= before + 5)
})

test('a client that goes in mid-call', async (t) => {
  const { gateway, http, stateless } = await serve(t)
  const leave = async (caller: Caller) => {
    const gone = new AbortController()
    await assert.rejects(
      caller.call('silent-streaming', {}, { signal: gone.signal, begun: () => gone.abort() }),
    )
  }
  const seenBy = async (caller: Caller) => JSON.parse((await caller.call('seen')).text!) as string[]

  // In 2026-07-28 it is the cancellation; in the revisions before it says nothing.
  const shared = await openCaller(gateway.url('shared'), true)
  await leave(shared)
  await until(async () => (await seenBy(shared)).includes('notifications/cancelled'))
  await leave(await openCaller(gateway.url('stateless'), true))
  await until(async () => (await stateless.seen()).includes('gone tools/call'))
  const plain = await openCaller(gateway.url('plain'))
  await leave(plain)
  assert.ok(!(await seenBy(plain)).includes('notifications/cancelled'))
  const session = await openCaller(gateway.url('http'))
  await leave(session)
  await session.call('echo')
  assert.ok(!(await http.seen()).includes('notifications/cancelled'))
})

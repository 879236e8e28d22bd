import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { childrenOf, isThere, temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'
import { type Gateway, openSession, renamed, servedNames, serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 180_000 }
const FAILING = new URL('failing.js', import.meta.url).pathname
const NO_LIMITS = spawnSync('prlimit', ['--version']).error ? 'there is no prlimit' : false

const ENDED = /"worker":(\d),"reason":"([^"]*)","again":(\d+),"msg":"a worker (?:has ended|did not start)"/g

/** What the log says of workers that have ended. */
const ends = ({ stderr }: Gateway) =>
  [...stderr().matchAll(ENDED)].map(([, worker, reason, again]) => ({ worker, reason, again: Number(again) }))

/** The process ids of workers that took the place of others, in their order. */
const replacements = ({ stderr }: Gateway) =>
  [...stderr().matchAll(/"pid":(\d+),"msg":"worker started"/g)].map(([, pid]) => Number(pid))

test('a worker that ends again and again is replaced after longer and longer pauses', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  let pid = (await gateway.workers())[1]!.pid
  for (let i = 0; i < 4; i++) {
    process.kill(pid, 'SIGKILL')
    pid = await until(async () => replacements(gateway)[i])
  }
  assert.deepEqual(
    ends(gateway).map(({ again }) => again),
    [100, 200, 400, 800],
  )
})

test('workers that have served and end together are no starts that fail', TIMEOUT, async (t) => {
  const mark = join(temporaryFolder(t), 'failed-')
  writeFileSync(`${mark}1`, '')
  const env = { FAIL_AT: 'begin', FAIL_HOW: 'kill', FAIL_WORKERS: '1', FAIL_MARK: mark }
  const gateway = await serveWorkers(t, {
    files: { tools: await toolsFile(t) },
    env,
    node: ['--import', FAILING],
  })
  const killAll = async (before: number) => {
    const pids = (await gateway.workers()).map(({ pid }) => pid)
    for (const [i, pid] of pids.entries()) {
      process.kill(pid, 'SIGKILL')
      await until(async () => ends(gateway).length > before + i)
    }
  }
  await killAll(0)
  await until(async () => replacements(gateway).length === 3)
  rmSync(`${mark}1`)
  await killAll(3)
  await until(async () => replacements(gateway).length >= 5 || gateway.child.exitCode !== null)
  assert.equal(gateway.child.exitCode, null)
  assert.match(gateway.stderr(), /a worker did not start/)
})

test('a reload while a worker starts: it serves what the others serve', TIMEOUT, async (t) => {
  const text = await toolsFile(t)
  const mark = join(temporaryFolder(t), 'failed-')
  // Only the one that takes the place of the second one shall stop.
  writeFileSync(`${mark}2`, '')
  const env = { FAIL_AT: 'begin', FAIL_HOW: 'stop', FAIL_WORKERS: '2', FAIL_MARK: mark }
  const gateway = await serveWorkers(t, { files: { tools: text }, env, node: ['--import', FAILING] })
  rmSync(`${mark}2`)
  process.kill((await gateway.workers())[1]!.pid, 'SIGKILL')
  const pid = await until(async () => existsSync(`${mark}2`) && Number(readFileSync(`${mark}2`, 'utf8')))
  await until(async () => isStopped(pid))
  for (const name of ['second', 'third']) {
    writeFileSync(join(gateway.folder, 'tools.yaml'), renamed(text, name))
    assert.equal((await fetch(`${gateway.origin}/_reload`, { method: 'POST' })).status, 200)
  }
  process.kill(pid, 'SIGCONT')
  await until(async () => replacements(gateway).includes(pid))
  assert.deepEqual(await servedNames(gateway), ['third'])
  assert.equal(ends(gateway).length, 1)
})

test('a signal to the process group while workers start ends none of them', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, {
    files: { tools: await toolsFile(t) },
    env: { FAIL_AT: 'load', FAIL_HOW: 'stop' },
    node: ['--import', FAILING],
    group: true,
    async meanwhile({ child: { pid = 0 } }) {
      const started = await until(async () => {
        const all = childrenOf(pid)
        return all.length === 3 && all.every(isStopped) && all
      })
      process.kill(-pid, 'SIGHUP')
      for (const each of started) process.kill(each, 'SIGCONT')
    },
  })
  assert.equal((await gateway.workers()).length, 3)
  assert.deepEqual(ends(gateway), [])
})

test('a worker that does not answer holds up nobody, and is replaced', TIMEOUT, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  const [first, frozen] = await gateway.workers()
  await stop(frozen!.pid)
  process.kill(first!.pid, 'SIGKILL')
  await until(async () => replacements(gateway).length === 2)
  assert.deepEqual(
    ends(gateway).map(({ worker, reason }) => [worker, reason]),
    [
      ['1', 'SIGKILL'],
      ['2', 'no answer in time'],
    ],
  )
  assert.equal((await gateway.workers()).length, 3)
})

test('what a worker that is killed has started ends, too', TIMEOUT, async (t) => {
  const upstreams = { s: { type: 'stdio' as const, ...faultyStdio('session', { deaf: true }) } }
  const gateway = await serveWorkers(t, { upstreams })
  const { answer } = await openSession(gateway.url('s'))
  assert.equal(answer.status, 200)
  const pids = (await gateway.workers()).map(({ pid }) => pid)
  const started = pids.flatMap(childrenOf)
  // The server, and what ends it if nothing else does.
  assert.equal(started.length, 2)
  for (const pid of pids) process.kill(pid, 'SIGKILL')
  await until(async () => !started.some(isThere))
})

test('a worker that does not answer does not hold up the end', TIMEOUT, async (t) => {
  const settings = { drain: { grace: '0s', timeout: '1s' } }
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) }, settings })
  const [, frozen] = await gateway.workers()
  await stop(frozen!.pid)
  gateway.child.kill('SIGTERM')
  assert.equal(await gateway.ended, 0)
  await until(async () => !isThere(frozen!.pid))
})

test('a worker that ends before it takes a connection does not hold up the end', TIMEOUT, async (t) => {
  const settings = { drain: { grace: '0s', timeout: '1h' } }
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) }, settings })
  const [frozen] = await gateway.workers()
  await stop(frozen!.pid)
  const sockets = Array.from({ length: 6 }, () => connect(gateway.port, '127.0.0.1').on('error', () => {}))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  gateway.child.kill('SIGTERM')
  await gateway.until(/"shutting down/)
  process.kill(frozen!.pid, 'SIGKILL')
  assert.equal(await gateway.ended, 0)
})

test('a worker for which there were no files is replaced once there are', {
  ...TIMEOUT,
  skip: NO_LIMITS,
}, async (t) => {
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  const { pid = 0 } = gateway.child
  const [victim] = await gateway.workers()
  const limit = (files: number) => execFileSync('prlimit', [`--pid=${pid}`, `--nofile=${files}:`])
  limit(readdirSync(`/proc/${pid}/fd`).length - 2)
  process.kill(victim!.pid, 'SIGKILL')
  await until(async () => ends(gateway).length > 1)
  limit(1024)
  await until(async () => replacements(gateway).length === 1)
  assert.doesNotMatch(gateway.stderr(), /internal error/)
  assert.match(ends(gateway)[1]!.reason!, /EMFILE/)
})

/** Resolves once the system has stopped it. */
async function stop(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  await until(async () => isStopped(pid))
}

const isStopped = (pid: number) => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))

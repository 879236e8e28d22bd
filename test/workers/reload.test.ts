import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { temporaryFolder } from '../support/process.ts'
import { eventually, renamed, servedNames, serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }
const FAILING = new URL('failing.js', import.meta.url).pathname

const DONE = '"msg":"reloaded"'
const FAILED = '"msg":"reload failed; keeping the current configuration"'

type How = 'throw' | 'abort' | 'kill' | 'stop'

/** A gateway whose workers of these numbers fail at a step of their next reload. */
async function failing(t: TestContext, at: 'prepare' | 'commit', how: How, workers: string) {
  const text = await toolsFile(t)
  const mark = join(temporaryFolder(t), 'failed-')
  const env = { FAIL_AT: at, FAIL_HOW: how, FAIL_WORKERS: workers, FAIL_MARK: mark }
  const gateway = await serveWorkers(t, { files: { tools: text }, env, node: ['--import', FAILING] })
  let reloads = 0
  const write = (name: string) => writeFileSync(join(gateway.folder, 'tools.yaml'), renamed(text, name))
  /** Not by a request, which the worker that ends may have. @returns what the log says of it */
  const reload = async (name: string) => {
    write(name)
    gateway.child.kill('SIGHUP')
    const line = await eventually(
      async () => gateway.stderr().match(/"msg":"reload(ed| failed)[^"]*"/g)?.[reloads],
    )
    reloads++
    return line
  }
  const before = (await gateway.workers()).map(({ pid }) => pid)
  /** Resolves when three workers serve, none of which has failed. */
  const replaced = () =>
    eventually(async () => {
      const pids = (await gateway.workers().catch(() => [])).map(({ pid }) => pid)
      return pids.length === 3 && workers.split(' ').every((worker) => !pids.includes(before[+worker - 1]!))
    })
  return {
    gateway,
    write,
    reload,
    replaced,
    failed: (worker: string) => existsSync(mark + worker) && Number(readFileSync(mark + worker, 'utf8')),
  }
}

for (const at of ['prepare', 'commit'] as const)
  for (const how of ['abort', 'kill', 'stop'] as const)
    test(`a worker that ends at ${at} (${how}) serves the reload when it is replaced`, TIMEOUT, async (t) => {
      const { gateway, reload, replaced, failed } = await failing(t, at, how, '2')
      const reloading = reload('second')
      if (how === 'stop') {
        const pid = await eventually(async () => failed('2'))
        // Until the system has stopped it, it goes on.
        await eventually(async () => / T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')))
        process.kill(pid, 'SIGKILL')
      }
      assert.equal(await reloading, DONE)
      await replaced()
      assert.deepEqual(await servedNames(gateway), ['second'])
      assert.equal(await reload('third'), DONE)
      assert.deepEqual(await servedNames(gateway), ['third'])
    })

test(
  'an exception in the build of one worker: none serves the reload, and the next one goes on',
  TIMEOUT,
  async (t) => {
    const { gateway, reload } = await failing(t, 'prepare', 'throw', '2')
    const pids = async () => (await gateway.workers()).map(({ pid }) => pid)
    const before = await pids()
    assert.equal(await reload('second'), FAILED)
    assert.deepEqual(await servedNames(gateway), ['echo'])
    assert.equal(await reload('third'), DONE)
    assert.deepEqual(await servedNames(gateway), ['third'])
    assert.deepEqual(await pids(), before)
  },
)

test('who asks for a reload that a worker cannot serve learns why', TIMEOUT, async (t) => {
  const { gateway, write } = await failing(t, 'prepare', 'throw', '2')
  write('second')
  const response = await fetch(`${gateway.origin}/_reload`, { method: 'POST' })
  const { error, message } = (await response.json()) as { error: number; message: string }
  assert.deepEqual([response.status, error], [503, 503])
  assert.match(message, /^The current configurations stay in service: worker 2 cannot serve it: ./)
})

test('a worker that cannot serve what it has prepared is replaced by one that does', TIMEOUT, async (t) => {
  const { gateway, reload, replaced } = await failing(t, 'commit', 'throw', '2')
  assert.equal(await reload('second'), DONE)
  await replaced()
  assert.deepEqual(await servedNames(gateway), ['second'])
})

test('a reload that ends every worker is not served: they begin again with what was', TIMEOUT, async (t) => {
  const { gateway, reload, replaced } = await failing(t, 'prepare', 'abort', '1 2 3')
  assert.equal(await reload('second'), FAILED)
  await replaced()
  assert.deepEqual(await servedNames(gateway), ['echo'])
})

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

const CONFIGURATION = `
name: a
routers: [{ server: s, prefix: /a }]
servers: [{ name: s, description: A test }]
tools: [{ name: now, description: A tool, method: GET, endpoint: "http://127.0.0.1:9/now" }]
`

/** A folder with a configuration and the settings of a gateway on a free port. */
async function prepare(t: TestContext) {
  const folder = temporaryFolder(t)
  const [file, pid, settings] = ['a.yaml', 'run/plantgw.pid', 'plantgw.yml'].map((name) => join(folder, name))
  writeFileSync(file!, CONFIGURATION)
  writeFileSync(settings!, `port: ${await freePort()}\npid: run/plantgw.pid\n`)
  const start = () => plantgw(t, ['serve', file!, '-s', settings!, '--log-format', 'json'])
  return { folder, file: file!, pid: pid!, settings: settings!, start }
}

/** A process that is no gateway and would be ended by SIGHUP. */
async function bystander(t: TestContext): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume(); console.log()'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout!, 'data')
  return child
}

test('plantgw reload makes the gateway of the settings read its configurations again', async (t) => {
  const { file, settings, pid, start } = await prepare(t)
  const gateway = start()
  await gateway.until(/plantgw serves/)
  writeFileSync(file, CONFIGURATION.replaceAll('now', 'then'))
  const sent = await run(t, ['reload', '-s', settings])
  assert.equal(sent.stdout, `sent SIGHUP to process ${gateway.child.pid}: its log says what changed\n`)
  assert.equal(sent.code, 0)
  await gateway.until(/"trigger":"SIGHUP",.*"changed":\["a"\]/)
  assert.equal((await run(t, ['reload', '--pid', pid])).code, 0)
})

test('a reload that comes while the gateway starts does not end it, and is done once it serves', async (t) => {
  const { pid, start } = await prepare(t)
  const gateway = start()
  while (!existsSync(pid)) {
    assert.equal(gateway.child.exitCode, null, gateway.stderr())
    await new Promise((resolve) => setImmediate(resolve))
  }
  gateway.child.kill('SIGHUP')
  await gateway.until(/"trigger":"SIGHUP"/)
  assert.equal(gateway.child.exitCode, null)
})

test('another process that was given the id of a gateway that crashed is left alone', async (t) => {
  const { pid, settings } = await prepare(t)
  const other = await bystander(t)
  const file = `${settings}.pid`
  writeFileSync(file, `${other.pid}\n`)
  const { code, stderr, stdout } = await run(t, ['reload', '--pid', file])
  assert.match(
    stderr,
    new RegExp(`is stale, process ${other.pid} is not \`plantgw serve\`: start the gateway`),
  )
  assert.deepEqual([code, stdout, existsSync(pid)], [2, '', false])
  // A SIGHUP would have come before the end of its input, and have ended it by signal.
  other.stdin!.end()
  assert.deepEqual(await once(other, 'exit'), [0, null])
})

test('without a pid file, with one of a process that has ended, or with none named, the cure is told', async (t) => {
  const { folder, settings } = await prepare(t)
  const absent = await run(t, ['reload', '-s', settings])
  assert.match(
    absent.stderr,
    /there is no process id in .*run\/plantgw\.pid: start `plantgw serve` with this `pid`/,
  )
  const ended = await bystander(t)
  ended.kill('SIGKILL')
  await once(ended, 'exit')
  const file = join(folder, 'stale.pid')
  writeFileSync(file, `${ended.pid}\n`)
  const stale = await run(t, ['reload', '--pid', file])
  assert.match(
    stale.stderr,
    /is stale, process \d+ (has ended|is not `plantgw serve`): start the gateway again/,
  )
  const none = await run(t, ['reload'])
  assert.match(none.stderr, /give --pid, or settings with a `pid`/)
  assert.deepEqual([absent.code, stale.code, none.code], [2, 2, 2])
})

import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, lstatSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { PidFileError, pidFault, readPid, takePidFile } from '../../src/notify/pidfile.ts'
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
  const [file, pid, settings] = ['a.yaml', 'plantgw.pid', 'plantgw.yml'].map((name) => join(folder, name))
  writeFileSync(file!, CONFIGURATION)
  writeFileSync(settings!, `port: ${await freePort()}\npid: plantgw.pid\n`)
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
  const how = `sent SIGHUP to process ${gateway.child.pid}`
  assert.equal(sent.stdout, `${how}: generation 2, changed a\n`)
  assert.equal(sent.code, 0)
  await gateway.until(/"trigger":"SIGHUP",.*"changed":\["a"\]/)
  assert.equal((await run(t, ['reload', '--pid', pid])).code, 0)
  writeFileSync(file, 'name: a\nprot: 1\n')
  const refused = await run(t, ['reload', '--pid', pid])
  assert.deepEqual([refused.code, refused.stdout], [1, `${how}: generation 2, nothing changed\n`])
  assert.match(refused.stderr, /^plantgw: it refused a: see its log\n.*: unknown key `prot`/)
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

test('a process that was given the id of a gateway that crashed stops no start, and gets no signal', async (t) => {
  const { pid, start } = await prepare(t)
  const crashed = start()
  await crashed.until(/plantgw serves/)
  crashed.child.kill('SIGKILL')
  await crashed.ended
  // What looks like a gateway by its arguments now has the id; when it was started tells it from the other.
  const code = 'process.stdin.resume(); console.log()'
  const other = spawn(process.execPath, ['-e', code, 'plantgw', 'serve'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => other.kill('SIGKILL'))
  await once(other.stdout!, 'data')
  const holder = JSON.parse(readFileSync(`${pid}.holder`, 'utf8'))
  assert.equal(holder.pid, crashed.child.pid)
  writeFileSync(pid, `${other.pid}\n`)
  writeFileSync(`${pid}.holder`, JSON.stringify({ ...holder, pid: other.pid }))
  const { code: exit, stderr } = await run(t, ['reload', '--pid', pid])
  assert.equal(exit, 2)
  assert.match(stderr, new RegExp(`is stale, process ${other.pid} is not \`plantgw serve\``))
  const gateway = start()
  await gateway.until(/plantgw serves/)
  // As scripts do it.
  execFileSync('/bin/sh', ['-c', 'kill -HUP $(cat "$0")', pid])
  await gateway.until(/"trigger":"SIGHUP"/)
  assert.equal((await run(t, ['reload', '--pid', pid])).code, 0)
  other.stdin!.end()
  assert.deepEqual(await once(other, 'exit'), [0, null])
})

test('processes that serve something else are left alone', async (t) => {
  const { settings } = await prepare(t)
  const code = 'process.stdin.resume(); console.log()'
  const other = spawn(process.execPath, ['-e', code, 'serve'], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => other.kill('SIGKILL'))
  await once(other.stdout!, 'data')
  const file = `${settings}.pid`
  writeFileSync(file, `${other.pid}\n`)
  assert.equal((await run(t, ['reload', '--pid', file])).code, 2)
  other.stdin!.end()
  assert.deepEqual(await once(other, 'exit'), [0, null])
})

test('without a pid file, with one of a process that has ended, or with none named, the cure is told', async (t) => {
  const { folder, settings } = await prepare(t)
  const absent = await run(t, ['reload', '-s', settings])
  assert.match(
    absent.stderr,
    /the pid file .*\/plantgw\.pid does not exist: start `plantgw serve` with this `pid`/,
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
  const none = await run(t, ['reload'], { cwd: folder, env: { PLANTGW_PORT: '1' } })
  assert.match(none.stderr, /^plantgw: http:\/\/127\.0\.0\.1:1 refused the connection/)
  assert.deepEqual([absent.code, stale.code, none.code], [2, 2, 2])
})

test('plantgw reload calls a gateway, with its admin token', async (t) => {
  const { folder, file, start, settings } = await prepare(t)
  const port = await freePort()
  const admin = { token: 'an-admin-token-of-32-characters!' }
  writeFileSync(settings, JSON.stringify({ port, admin }))
  const gateway = start()
  await gateway.until(/plantgw serves/)
  const reload = (api: object, ...args: string[]) => {
    const caller = join(folder, 'caller.yml')
    writeFileSync(caller, JSON.stringify({ notifier: { type: 'api', api: { token: admin.token, ...api } } }))
    return run(t, ['reload', '-s', caller, ...args])
  }
  const target_url = `http://127.0.0.1:${port}/_reload`
  writeFileSync(file, CONFIGURATION.replaceAll('now', 'then'))
  const sent = await reload({ target_url }, 'a')
  assert.equal(sent.stdout, `POST ${target_url}: generation 2, changed a\n`)
  assert.equal(sent.code, 0)
  // The port counts where the URL names none.
  const again = await reload({ target_url: 'http://127.0.0.1/_reload', port })
  assert.equal(again.stdout, `POST ${target_url}: generation 2, nothing changed\n`)

  writeFileSync(file, CONFIGURATION.replace('GET', 'GTE'))
  const refused = await reload({ target_url })
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /it refused a: see its log/)

  rmSync(file)
  const unreadable = await reload({ target_url })
  assert.deepEqual(
    [unreadable.code, unreadable.stderr],
    [1, `plantgw: ${file}: there is no such file or folder\n`],
  )

  const wrong = await reload({ target_url, token: 'no-such-token' })
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /answered 401: .+; the gateway requires its admin token/)
  assert.doesNotMatch(wrong.stderr, /no-such-token/)
  assert.match(
    (await reload({ target_url: `http://127.0.0.1:${port}/reload` })).stderr,
    /answered 404: (?:.+; )?no gateway/,
  )
  const nobody = await reload({ target_url: `http://127.0.0.1:${await freePort()}/_reload` })
  assert.match(nobody.stderr, /refused the connection/)
})

test('config apply tells of its own configurations only, as others may be of another tenant', async (t) => {
  const { folder, settings } = await prepare(t)
  const port = await freePort()
  const storage = { type: 'lowdb', file: 'store.json', poll: '0s' }
  const notifier = { type: 'api', api: { target_url: `http://127.0.0.1:${port}/_reload` } }
  const quiet = join(folder, 'quiet.yml')
  writeFileSync(quiet, JSON.stringify({ storage }))
  writeFileSync(settings, JSON.stringify({ port, storage, notifier }))
  const gateway = plantgw(t, ['serve', '-s', settings])
  await gateway.until(/plantgw serves/)
  const apply = (file: string, tenant: string, ...names: string[]) => {
    const paths = names.map((name) => join(folder, `${name}.yaml`))
    const text = CONFIGURATION.replace('/a', '/NAME').replace('name: a', `name: NAME\ntenant: ${tenant}`)
    for (const [i, path] of paths.entries()) writeFileSync(path, text.replaceAll('NAME', names[i]!))
    return run(t, ['config', 'apply', '-s', file, '--tenant', tenant, '-f', ...paths])
  }
  assert.equal((await apply(quiet, 'blue', 'hidden')).code, 0)
  const { stdout, stderr } = await apply(settings, 'green', 'b', 'c')
  assert.match(stdout, /generation 1, added green\/b, green\/c\n$/)
  assert.doesNotMatch(stdout + stderr, /hidden/)
})

test('a notifier may use another signal than SIGHUP', async (t) => {
  for (const signal of ['SIGUSR1', 'SIGUSR2']) {
    const { file, pid, settings, start } = await prepare(t)
    const gateway = start()
    await gateway.until(/plantgw serves/)
    writeFileSync(file, CONFIGURATION.replaceAll('now', 'then'))
    writeFileSync(settings, JSON.stringify({ notifier: { type: 'signal', signal: { signal, pid } } }))
    const sent = await run(t, ['reload', '-s', settings])
    assert.match(sent.stdout, new RegExp(`^sent ${signal} to process`))
    await gateway.until(new RegExp(`"trigger":"${signal}",.*"changed":\\["a"\\]`))
  }
})

test('with a pid file and `admin.listen`, reload waits for the outcome and shows what was refused', async (t) => {
  const { file, start, settings } = await prepare(t)
  const [port, own] = [await freePort(), await freePort()]
  writeFileSync(
    settings,
    JSON.stringify({ port, pid: './plantgw.pid', admin: { listen: `127.0.0.1:${own}` } }),
  )
  const gateway = start()
  await gateway.until(/plantgw serves/)
  writeFileSync(file, `${CONFIGURATION}\nprot: 1\n`)
  const { code, stdout, stderr } = await run(t, ['reload', '-s', settings])
  assert.equal(code, 1)
  assert.match(stdout, /^POST http:\/\/127\.0\.0\.1:\d+\/_reload: generation 1, nothing changed\n$/)
  assert.match(stderr, /^plantgw: it refused a: see its log\n.+: .*prot/)
})

test('links that others planted in a shared folder are not written through', (t) => {
  const folder = temporaryFolder(t)
  const [path, victim] = [join(folder, 'plantgw.pid'), join(folder, 'victim')]
  writeFileSync(victim, 'precious\n')
  // The name of the temporary file that was used once could be foreseen.
  for (let pid = process.pid - 1; pid <= process.pid + 1; pid++) symlinkSync(victim, `${path}.${pid}`)
  symlinkSync(join(folder, 'nowhere'), path)
  const release = takePidFile(path)
  assert.equal(readFileSync(victim, 'utf8'), 'precious\n')
  assert.equal(readPid(path), process.pid)
  assert.ok(lstatSync(path).isFile())
  release()
  assert.deepEqual(
    readdirSync(folder).filter((name) => !/^(?:victim|plantgw\.pid\.\d+)$/.test(name)),
    [],
  )
})

test('a pipe in the place of the pid file is refused, and nobody waits for it', (t) => {
  const path = join(temporaryFolder(t), 'plantgw.pid')
  execFileSync('mkfifo', [path])
  assert.equal(readPid(path), undefined)
  assert.throws(() => takePidFile(path), PidFileError)
  assert.match(pidFault(path) ?? '', /the file does not hold a process id/)
})

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'
import { mute, silent } from '../support/silent.ts'

const LIMIT = { timeout: 60_000 }

const CONFIGURATION = `
name: a
routers: [{ server: s, prefix: /a }]
servers: [{ name: s, description: A test }]
tools: [{ name: now, description: A tool, method: GET, endpoint: "http://127.0.0.1:9/now" }]
`

test('a SIGHUP that comes before the settings are read is done once the gateway serves', LIMIT, async (t) => {
  const folder = temporaryFolder(t)
  const [settings, file] = [join(folder, 'plantgw.yaml'), join(folder, 'a.yaml')]
  writeFileSync(file, CONFIGURATION)
  execFileSync('mkfifo', [settings])
  const gateway = plantgw(t, ['serve', file, '-s', settings, '--log-format', 'json'])
  // Opened at once with the gateway's own end.
  const pipe = await open(settings, 'w')
  gateway.child.kill('SIGHUP')
  await pipe.write(`port: ${await freePort()}\n`)
  await pipe.close()
  await gateway.until(/"trigger":"SIGHUP".*"msg":"reloaded"/)
  assert.equal(gateway.child.signalCode, null)
})

test('a SIGTERM that comes while the settings are read ends the gateway', LIMIT, async (t) => {
  const folder = temporaryFolder(t)
  const [settings, file] = [join(folder, 'plantgw.yaml'), join(folder, 'a.yaml')]
  writeFileSync(file, CONFIGURATION)
  execFileSync('mkfifo', [settings])
  const gateway = plantgw(t, ['serve', file, '-s', settings, '--log-format', 'json'])
  const pipe = await open(settings, 'w')
  gateway.child.kill('SIGTERM')
  await pipe.write(`port: ${await freePort()}\n`)
  await pipe.close()
  assert.equal(await gateway.ended, 0, gateway.stderr())
})

/** Sends the process a signal when it begins to import what it does. */
const whileImporting = (signal: string) => {
  const hooks = `export async function resolve(name, context, next) {
    if (name.endsWith('dist/bin/main.js')) process.kill(process.pid, '${signal}')
    return next(name, context)
  }`
  const data = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`
  return [
    '--import',
    data(`import { register } from 'node:module'; register(${JSON.stringify(data(hooks))})`),
  ]
}

test('a signal is handled from before the first import', LIMIT, async (t) => {
  const file = join(temporaryFolder(t), 'a.yaml')
  writeFileSync(file, CONFIGURATION)
  const args = ['serve', file, '--port', String(await freePort()), '--log-format', 'json']
  const gateway = plantgw(t, args, { node: whileImporting('SIGHUP') })
  const ended = plantgw(t, args, { node: whileImporting('SIGTERM') })
  await gateway.until(/"trigger":"SIGHUP".*"msg":"reloaded"/)
  assert.equal(await ended.ended, 0, ended.stderr())
})

for (const signal of ['SIGTERM', 'SIGINT'] as const)
  test(`${signal} while a database is waited for removes the pid file and exits 0`, LIMIT, async (t) => {
    const { port, next } = await silent(t)
    const folder = temporaryFolder(t)
    const [settings, pid] = [join(folder, 'plantgw.yaml'), join(folder, 'plantgw.pid')]
    const storage = { type: 'postgres', url: `postgres://a:b@127.0.0.1:${port}/c` }
    writeFileSync(settings, JSON.stringify({ port: await freePort(), pid, storage }))
    const gateway = plantgw(t, ['serve', '-s', settings, '--log-format', 'json'])
    await next()
    assert.ok(existsSync(pid))
    gateway.child.kill(signal)
    assert.equal(await gateway.ended, 0, gateway.stderr())
    assert.ok(!existsSync(pid))
  })

test('SIGTERM while a server starts ends its child, removes the pid file and exits 0', LIMIT, async (t) => {
  const { configuration, started } = await mute(t, 'a')
  const folder = temporaryFolder(t)
  const [file, pid] = [join(folder, 'a.yaml'), join(folder, 'plantgw.pid')]
  writeFileSync(file, JSON.stringify(configuration))
  const gateway = plantgw(t, [
    'serve',
    file,
    '--pid',
    pid,
    '--port',
    String(await freePort()),
    '--log-format',
    'json',
  ])
  const child = await started()
  gateway.child.kill('SIGTERM')
  assert.equal(await gateway.ended, 0, gateway.stderr())
  assert.ok(!existsSync(pid))
  child.resume()
  if (!child.closed) await once(child, 'close')
})

test('SIGTERM at the moment that "listening" is logged is a graceful end', LIMIT, async (t) => {
  const folder = temporaryFolder(t)
  const [file, pid] = [join(folder, 'a.yaml'), join(folder, 'plantgw.pid')]
  writeFileSync(file, CONFIGURATION)
  const args = ['serve', file, '--pid', pid, '--port', String(await freePort()), '--log-format', 'json']
  const gateway = plantgw(t, args)
  gateway.child.stderr!.once('data', () => gateway.child.kill('SIGTERM'))
  assert.equal(await gateway.ended, 0, gateway.stderr())
  assert.ok(!existsSync(pid))
})

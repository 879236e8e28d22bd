import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { BIN, freePort, ROOT, temporaryFolder } from '../support/process.ts'
import { served } from '../support/served.ts'

const LIMIT = { timeout: 60_000 }
const CONFIGURATION = {
  name: 'a',
  routers: [{ server: 's', prefix: '/a' }],
  servers: [{ name: 's', description: 'A test' }],
  tools: [{ name: 'now', description: 'A tool', method: 'GET', endpoint: 'http://127.0.0.1:9/now' }],
}

test('that no connection can be taken for want of open files is logged, once', LIMIT, async (t) => {
  const file = join(temporaryFolder(t), 'a.yaml')
  writeFileSync(file, JSON.stringify(CONFIGURATION))
  const port = await freePort()
  const args = ['serve', file, '--port', String(port), '--log-format', 'json']
  const limited = ['-c', 'ulimit -n 80; exec "$0" "$@"', process.execPath, BIN, ...args]
  const child = spawn('/bin/sh', limited, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let log = ''
  const heard = () => child.emit('heard')
  child.stdout.on('data', heard)
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
    heard()
  })
  const until = async (pattern: RegExp) => {
    while (!pattern.test(log)) await once(child, 'heard')
  }
  await until(/"msg":"listening"/)
  const sockets: Socket[] = []
  for (let i = 0; i < 100; i++) sockets.push(connect(port, '127.0.0.1').on('error', () => {}))
  await until(/"code":"EMFILE".*too many open files/)
  for (const socket of sockets) socket.destroy()
  await until(/files can be opened again/)
  assert.equal((await fetch(`http://127.0.0.1:${port}/_health`)).status, 200)
  assert.equal(log.match(/too many open files/g)?.length, 1)
})

test('the path of a trusted proxy stands before the path for messages', LIMIT, async (t) => {
  const endpointOf = async (port: number, prefix: string) => {
    const headers = { accept: 'text/event-stream', 'x-forwarded-prefix': prefix }
    const stream = await fetch(`http://127.0.0.1:${port}/a/sse`, { headers })
    const reader = stream.body!.getReader()
    const { value } = await reader.read()
    await reader.cancel()
    return /data: (.*)\?/.exec(new TextDecoder().decode(value))?.[1]
  }
  const trusting = await served(t, [CONFIGURATION], {
    settings: { trustedProxies: ['10.0.0.0/8', '127.0.0.1'] },
  })
  assert.equal(await endpointOf(trusting.port, '/tools'), '/tools/a/message')
  assert.equal(await endpointOf(trusting.port, '/outer/, /inner'), '/outer/inner/a/message')
  assert.equal(await endpointOf(trusting.port, '/'), '/a/message')
  for (const wrong of ['//evil.example', 'https://evil.example', '/a?b', '/a, b', `/${'a'.repeat(2_000)}`])
    assert.equal(await endpointOf(trusting.port, wrong), '/a/message', wrong)
  const other = await served(t, [CONFIGURATION], { settings: { trustedProxies: ['10.0.0.0/8', '::1'] } })
  assert.equal(await endpointOf(other.port, '/tools'), '/a/message')
})

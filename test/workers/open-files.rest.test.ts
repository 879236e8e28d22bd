import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { BIN, freePort, ROOT, temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'
import { ask } from './harness.ts'

test('a connection that no worker can take, for want of open files, is closed', {
  timeout: 120_000,
  skip: existsSync('/proc/self/fd') ? false : 'reads /proc',
}, async (t) => {
  const file = join(temporaryFolder(t), 'tools.yaml')
  writeFileSync(file, await toolsFile(t))
  const port = await freePort()
  const args = ['serve', file, '--port', String(port), '--workers', '3', '--log-format', 'json']
  const limited = ['-c', 'ulimit -n 80; exec "$0" "$@"', process.execPath, BIN, ...args]
  const child = spawn('/bin/sh', limited, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => child.kill('SIGKILL'))
  let [out, log] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
    if (/"worker":\d,"code":"EMFILE"/.test(log)) child.stderr.emit('short')
  })
  while (!/serves/.test(out)) await once(child.stdout, 'data')
  const files = () => readdirSync(`/proc/${child.pid}/fd`).length
  const before = files()
  const sockets: Socket[] = []
  const open = () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    return socket
  }
  const short = once(child.stderr, 'short').then(() => true)
  for (let isShort = false; !isShort; ) {
    const socket = open()
    socket.write('GET /_health HTTP/1.1\r\nHost: localhost\r\n\r\n')
    isShort = await Promise.race([short, once(socket, 'data').then(() => false)])
  }
  for (let i = 0; i < 20; i++) await once(open(), 'connect')
  for (const socket of sockets) socket.destroy()
  await until(async () => files() <= before + 5)
  assert.equal((await ask(`http://127.0.0.1:${port}/_health`, 'GET')).status, 200)
  child.kill('SIGINT')
  const [code] = await once(child, 'exit')
  assert.equal(code, 0)
})

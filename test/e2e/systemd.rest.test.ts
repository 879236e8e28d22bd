import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, plantgw, ROOT, temporaryFolder } from '../support/process.ts'

const CONFIGURATION = `
name: a
routers: [{ server: s, prefix: /a }]
servers: [{ name: s, description: A test }]
tools: [{ name: now, description: A tool, method: GET, endpoint: "http://127.0.0.1:9/now" }]
`

test('systemd is told that it serves, reloads, serves again and stops', { timeout: 60_000 }, async (t) => {
  const told: string[] = []
  const listener = createServer((socket) => {
    let text = ''
    socket.setEncoding('utf8').on('data', (part) => {
      text += part
    })
    socket.on('end', () => {
      told.push(text.trim().replace(/USEC=\d+/, 'USEC=…'))
      listener.emit('told')
    })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.after(() => listener.close())
  const until = async (count: number) => {
    while (told.length < count) await once(listener, 'told')
  }
  const folder = temporaryFolder(t)
  // In the place of the command that sends datagrams.
  const command = join(folder, 'systemd-notify')
  const { port } = listener.address() as AddressInfo
  writeFileSync(command, `#!/bin/bash\necho "$NOTIFY_SOCKET $*" > /dev/tcp/127.0.0.1/${port}\n`)
  chmodSync(command, 0o755)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, CONFIGURATION)
  const env = { PATH: `${folder}:${process.env.PATH}`, NOTIFY_SOCKET: '/run/notify' }
  const args = ['serve', file, '--port', String(await freePort()), '--log-format', 'json']
  const gateway = plantgw(t, args, { env })
  await until(1)
  gateway.child.kill('SIGHUP')
  await until(3)
  gateway.child.kill('SIGINT')
  assert.equal(await gateway.ended, 0)
  assert.deepEqual(told, [
    '/run/notify READY=1 STATUS=serving',
    '/run/notify RELOADING=1 MONOTONIC_USEC=… STATUS=reloading',
    '/run/notify READY=1 STATUS=serving',
    '/run/notify STOPPING=1 STATUS=waiting for calls in flight',
  ])
})

test('the unit waits to be told, and starts the gateway again whatever has ended it', () => {
  const unit = readFileSync(join(ROOT, 'deploy/systemd/plantgw.service'), 'utf8')
  for (const line of ['Type=notify', 'NotifyAccess=all', 'Restart=always'])
    assert.match(unit, new RegExp(`^${line}$`, 'm'))
})

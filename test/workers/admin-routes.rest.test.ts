import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { toolsFile } from '../cluster/harness.ts'
import { freePort } from '../support/process.ts'
import { until } from '../support/until.ts'
import { ask, openSession, post, serveWorkers } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }

test('a proxy that speaks HTTP/1.0 is no client of this machine', TIMEOUT, async (t) => {
  const { port } = await serveWorkers(t, { files: { tools: await toolsFile(t) } })
  for (const [version, status] of [
    ['1.1', '200'],
    ['1.0', '401'],
  ])
    for (const path of ['/_status', '/metrics']) {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(`GET ${path} HTTP/${version}\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`)
      assert.equal((await text(socket)).split(' ')[1], status, `${path} HTTP/${version}`)
    }
})

test('no tool of a worker reaches the listener of the own pages', TIMEOUT, async (t) => {
  const own = `127.0.0.1:${await freePort()}`
  const tools = (await toolsFile(t)).replace(/http:\/\/127\.0\.0\.1:\d+\//, `http://${own}/_status`)
  const gateway = await serveWorkers(t, { files: { tools }, settings: { admin: { listen: own } } })
  assert.equal((await fetch(`http://${own}/_status`)).status, 200)
  const { headers } = await openSession(gateway.url('tools'))
  const params = { name: 'echo', arguments: { text: 'x' } }
  for (let i = 0; i < 6; i++) {
    const { text } = await post(gateway.url('tools'), { id: i, method: 'tools/call', params }, headers)
    assert.match(text, /"isError":true/)
    assert.doesNotMatch(text, /generation/)
  }
})

test('without workers the gateway is not ready', TIMEOUT, async (t) => {
  const own = `127.0.0.1:${await freePort()}`
  const settings = { admin: { listen: own } }
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) }, settings })
  const ready = () => ask(`http://${own}/_ready`, 'GET')
  assert.equal((await ready()).status, 200)
  const { workers } = JSON.parse((await ask(`http://${own}/_status`, 'GET')).text) as {
    workers: { pid: number }[]
  }
  for (const { pid } of workers) process.kill(pid, 'SIGKILL')
  const answer = await until(async () => {
    const now = await ready()
    return now.status !== 200 && now
  })
  assert.equal(answer.status, 503)
  assert.match(answer.text, /no worker serves/)
  await until(async () => (await ready()).status === 200)
  assert.match(gateway.stderr(), /a worker has ended/)
})

test('each connection reaches the console of all workers', TIMEOUT, async (t) => {
  const token = 'an-admin-token-of-30-characters'
  const settings = { admin: { token }, workers: 2 }
  const gateway = await serveWorkers(t, { files: { tools: await toolsFile(t) }, settings })
  const console = `http://127.0.0.1:${gateway.port}/_console`
  const login = await fetch(`${console}/login`, {
    method: 'POST',
    body: new URLSearchParams({ token }),
    redirect: 'manual',
  })
  const cookie = login.headers.get('set-cookie')!.split(';')[0]!
  for (let i = 0; i < 8; i++) {
    // Each connection may reach another worker.
    const page = await fetch(console, { headers: { cookie, connection: 'close' } })
    assert.equal(page.status, 200)
    assert.match(await page.text(), /Overview/)
  }
  const call = await fetch(`${console}/call`, {
    method: 'POST',
    headers: { cookie, 'content-type': 'application/json' },
    body: '{}',
  })
  assert.equal(call.status, 404)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

const LIMIT = { timeout: 60_000 }
const CONFIGURATION = `
name: a
routers: [{ server: s, prefix: /a }]
servers: [{ name: s, description: A test }]
tools: [{ name: now, description: A tool, method: GET, endpoint: "http://127.0.0.1:9/now" }]
`

/** Serves with these settings and a folder `configs`, in which the configuration is if it is given. */
async function serve(t: TestContext, given: object, text?: string, ...args: string[]) {
  const folder = temporaryFolder(t)
  const [settings, configs] = [join(folder, 'plantgw.yml'), join(folder, 'configs')]
  mkdirSync(configs)
  const write = (text: string) => writeFileSync(join(configs, 'a.yaml'), text)
  if (text) write(text)
  const port = await freePort()
  writeFileSync(settings, JSON.stringify({ port, logger: { format: 'json' }, ...given }))
  const gateway = plantgw(t, ['serve', '-s', settings, ...args])
  await gateway.until(/plantgw serves/)
  const base = `http://127.0.0.1:${port}`
  const ready = async () => {
    const answer = await fetch(`${base}/_ready`)
    return [answer.status, ((await answer.json()) as { reason?: string }).reason]
  }
  const metric = async (pattern: RegExp) => pattern.exec(await (await fetch(`${base}/metrics`)).text())?.[1]
  return { ...gateway, port, settings, write, base, ready, metric }
}

const FOLDER = { storage: { type: 'directory', path: 'configs' } }

test('/_ready says that nothing is served, and that something is', LIMIT, async (t) => {
  const storage = { type: 'lowdb', file: 'store.json', poll: '100ms' }
  const gateway = await serve(t, { storage })
  assert.deepEqual(await gateway.ready(), [503, 'no prefix is served'])
  assert.equal(await gateway.metric(/^plantgw_ready (\d)$/m), '0')
  assert.equal((await fetch(`${gateway.base}/_health`)).status, 200)
  const file = join(temporaryFolder(t), 'a.yaml')
  writeFileSync(file, CONFIGURATION)
  assert.equal((await run(t, ['config', 'apply', '-s', gateway.settings, '-f', file])).code, 0)
  await gateway.until(/"added":\["a"\]/)
  assert.deepEqual(await gateway.ready(), [200, undefined])
  assert.equal(await gateway.metric(/^plantgw_ready (\d)$/m), '1')
  assert.equal(await gateway.metric(/^plantgw_store_connected\{.*\} (\d)$/m), '1')
})

test('/_ready says that the gateway is shutting down, during which it serves', LIMIT, async (t) => {
  const gateway = await serve(t, { ...FOLDER, drain: { grace: '10m' } }, CONFIGURATION)
  assert.deepEqual(await gateway.ready(), [200, undefined])
  gateway.child.kill('SIGTERM')
  await gateway.until(/shutting down/)
  assert.deepEqual(await gateway.ready(), [503, 'the gateway is shutting down'])
  assert.equal((await fetch(`${gateway.base}/_health`)).status, 200)
})

test('a store that is lost at the start, and a lost broker, are shown', LIMIT, async (t) => {
  const storage = { type: 'postgres', url: `postgres://a:b@127.0.0.1:${await freePort()}/c` }
  const addr = `127.0.0.1:${await freePort()}`
  const notifier = { type: 'redis', redis: { addr, topic: 'plantgw' } }
  const gateway = await serve(t, { storage, notifier }, undefined, '--skip-invalid')
  assert.deepEqual(await gateway.ready(), [503, 'the store of the configurations could not be read yet'])
  assert.equal(await gateway.metric(/^plantgw_store_connected\{.*\} (\d)$/m), '0')
  assert.equal(await gateway.metric(/^plantgw_broker_connected\{.*\} (\d)$/m), '0')
  assert.equal(await gateway.metric(/^plantgw_last_good_reload_timestamp_seconds (\S+)$/m), '0')
})

test('the time of the last good reload stays when one has errors', LIMIT, async (t) => {
  const gateway = await serve(t, FOLDER, CONFIGURATION)
  const last = () => gateway.metric(/^plantgw_last_good_reload_timestamp_seconds (\S+)$/m)
  const first = Number(await last())
  assert.ok(first > 0)
  const reload = async () => (await fetch(`${gateway.base}/_reload`, { method: 'POST' })).status
  gateway.write(CONFIGURATION.replace('GET', 'GTE'))
  assert.equal(await reload(), 422)
  assert.equal(Number(await last()), first)
  gateway.write(CONFIGURATION)
  assert.equal(await reload(), 200)
  assert.ok(Number(await last()) > first)
})

test('own pages answer load balancers that send no Host header, and nothing else does', LIMIT, async (t) => {
  const gateway = await serve(t, FOLDER, CONFIGURATION)
  const statusOf = async (request: string) => {
    const socket = connect(gateway.port, '127.0.0.1')
    socket.end(request)
    let text = ''
    socket.setEncoding('latin1').on('data', (part) => {
      text += part
    })
    await once(socket, 'end')
    return text.split('\r\n')[0]
  }
  for (const path of ['/_health', '/_ready'])
    assert.equal(await statusOf(`GET ${path} HTTP/1.0\r\n\r\n`), 'HTTP/1.1 200 OK')
  // Without an admin token the host has to be this machine's.
  assert.equal(await statusOf('GET /metrics HTTP/1.0\r\n\r\n'), 'HTTP/1.1 401 Unauthorized')
  assert.equal(
    await statusOf('GET /_ready HTTP/1.1\r\nHost: 10.0.0.7\r\nConnection: close\r\n\r\n'),
    'HTTP/1.1 200 OK',
  )
  for (const path of ['/a/mcp', '/nothing'])
    assert.equal(await statusOf(`GET ${path} HTTP/1.0\r\n\r\n`), 'HTTP/1.1 400 Bad Request')
  assert.equal(await statusOf('GET /_ready HTTP/1.1\r\n\r\n'), 'HTTP/1.1 400 Bad Request')
})

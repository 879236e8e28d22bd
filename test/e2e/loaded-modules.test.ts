import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'
import { ACCEPT, rpc } from '../support/wire.ts'

test('a gateway that serves calls, event streams, probes and metrics loads no interfaces of the web', async (t) => {
  const api = createServer((_, response) => response.end('fine')).listen(0, '127.0.0.1')
  await once(api, 'listening')
  t.after(() => api.close())
  const folder = temporaryFolder(t)
  const upstream = `http://127.0.0.1:${(api.address() as AddressInfo).port}/`
  const file = {
    name: 'a',
    routers: [{ server: 'a', prefix: '/a' }],
    servers: [{ name: 'a' }],
    tools: [{ name: 'get', description: 'Gets', method: 'GET', endpoint: upstream }],
  }
  writeFileSync(join(folder, 'a.yaml'), JSON.stringify(file))
  const [told, preload] = [join(folder, 'loaded'), join(folder, 'preload.cjs')]
  const all = '[...process.moduleLoadList, ...Object.keys(require.cache)]'
  writeFileSync(
    preload,
    `process.on('exit', () => require('node:fs').writeFileSync(${JSON.stringify(told)}, ${all}.join('\\n')))`,
  )
  const port = await freePort()
  // One process, of which is told what it has loaded.
  const args = ['serve', join(folder, 'a.yaml'), '--port', String(port)]
  const running = plantgw(t, args, { node: ['--require', preload], env: { PLANTGW_WORKERS: '1' } })
  await running.until(/plantgw serves/)

  const origin = `http://127.0.0.1:${port}`
  const call = (message: object, headers: object = {}) =>
    fetch(`${origin}/a/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: ACCEPT, ...headers },
      body: JSON.stringify(message),
    })
  const clientInfo = { name: 'test', version: '1' }
  const opened = await call(
    rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }),
  )
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
  const answer = await call(rpc('tools/call', { name: 'get', arguments: {} }), session)
  assert.match(await answer.text(), /fine/)
  const stream = await fetch(`${origin}/a/mcp`, { headers: { accept: 'text/event-stream', ...session } })
  assert.equal(stream.status, 200)
  await stream.body?.cancel()
  for (const page of ['/_ready', '/_health', '/metrics', '/nothing']) {
    const { status } = await fetch(origin + page)
    assert.equal(status, page === '/nothing' ? 404 : 200, page)
  }
  running.child.kill('SIGTERM')
  await running.ended
  const loaded = readFileSync(told, 'utf8')
  assert.match(loaded, /undici\/lib\/dispatcher\/pool\.js/)
  assert.doesNotMatch(loaded, /deps\/undici|webstreams\/readablestream|node_modules\/@?hono|undici\/lib\/web/)
})

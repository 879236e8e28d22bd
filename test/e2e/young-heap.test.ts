import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { freePort, plantgw, temporaryFolder } from '../support/process.ts'
import { ACCEPT, rpc } from '../support/wire.ts'

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const HEADERS = {
  'content-type': 'application/json',
  accept: ACCEPT,
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'get',
}

/** Bytes of the heap's young part after calls that make 100 MB of garbage. @param node options of it */
async function youngHeap(t: TestContext, node: readonly string[] = []): Promise<number> {
  const api = createServer((_, response) => response.end('fine')).listen(0, '127.0.0.1')
  await once(api, 'listening')
  t.after(() => api.close())
  const folder = temporaryFolder(t)
  const endpoint = `http://127.0.0.1:${(api.address() as AddressInfo).port}/`
  const file = {
    name: 'a',
    routers: [{ server: 'a', prefix: '/a' }],
    servers: [{ name: 'a' }],
    tools: [{ name: 'get', description: 'Gets', method: 'GET', endpoint }],
  }
  writeFileSync(join(folder, 'a.yaml'), JSON.stringify(file))
  const port = await freePort()
  const args = ['serve', join(folder, 'a.yaml'), '--port', String(port)]
  const running = plantgw(t, args, { node: [...node], env: { PLANTGW_WORKERS: '1' } })
  await running.until(/plantgw serves/)
  const origin = `http://127.0.0.1:${port}`
  const body = JSON.stringify(rpc('tools/call', { name: 'get', arguments: {}, _meta: META }))
  const call = async () => {
    const response = await fetch(`${origin}/a/mcp`, { method: 'POST', headers: HEADERS, body })
    assert.match(await response.text(), /fine/)
  }
  for (let i = 0; i < 60; i++) await Promise.all(Array.from({ length: 50 }, call))
  const metrics = await (await fetch(`${origin}/metrics`)).text()
  const [, size] = /^nodejs_heap_space_size_total_bytes\{space="new"\} (\d+)$/m.exec(metrics) ?? []
  return Number(size)
}

test('calls let the young part of the heap grow to 16 MiB at the most', async (t) => {
  const size = await youngHeap(t)
  assert.ok(size > 0 && size <= 16 * 2 ** 20, `${size} bytes`)
})

test('the young part of the heap grows as far as the user lets it', async (t) => {
  assert.ok((await youngHeap(t, ['--max-semi-space-size=16'])) > 16 * 2 ** 20)
})

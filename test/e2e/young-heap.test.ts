import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { MODERN_META, modernHeaders, served } from '../support/served.ts'

/** Bytes to which the young part of the heap grows. */
const YOUNG = 16 * 2 ** 20
const HEADERS = modernHeaders('tools/call', 'get')
const BODY = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get","arguments":{},${MODERN_META}}}`

/** Bytes of the heap's young part after 15,000 calls, or once it is larger than `YOUNG`. @param options of Node */
async function youngHeap(t: TestContext, options = ''): Promise<number> {
  const api = createServer((_, response) => response.end('fine')).listen(0, '127.0.0.1')
  await once(api, 'listening')
  t.after(() => api.close())
  const endpoint = `http://127.0.0.1:${(api.address() as AddressInfo).port}/`
  const tools = [{ name: 'get', description: 'Gets', method: 'GET', endpoint }]
  const routers = [{ server: 's', prefix: '/a' }]
  // One process: metrics are those of the parent of workers.
  const env = { PLANTGW_WORKERS: '1', NODE_OPTIONS: options }
  const { post, send } = await served(t, [{ name: 'a', routers, servers: [{ name: 's' }], tools }], { env })
  const call = async () => assert.match((await post('/a/mcp', BODY, HEADERS)).text, /fine/)
  let size = 0
  for (let i = 0; i < 30 && size <= YOUNG; i++) {
    for (let j = 0; j < 10; j++) await Promise.all(Array.from({ length: 50 }, call))
    const { text } = await send({ path: '/metrics', method: 'GET' })
    size = Number(/^nodejs_heap_space_size_total_bytes\{space="new"\} (\d+)$/m.exec(text)?.[1])
  }
  return size
}

test('calls let the young part of the heap grow to 16 MiB at the most', async (t) => {
  const size = await youngHeap(t)
  assert.ok(size > 0 && size <= YOUNG, `${size} bytes`)
})

test('the young part of the heap grows as far as the user lets it', async (t) => {
  assert.ok((await youngHeap(t, '--max-semi-space-size=16')) > YOUNG)
})

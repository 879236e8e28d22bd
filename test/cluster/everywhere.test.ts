import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { messages, open, send, until } from '../upstream/harness.ts'
import { type Replica, serveReplicas, toolsFile } from './harness.ts'

const TIMEOUT = { timeout: 90_000 }
const list = ({ url }: Replica, headers: Record<string, string>) =>
  send(url('tools'), { id: 'list', method: 'tools/list' }, headers).then(({ status }) => status)

/** Replicas in front of a tool `echo` whose API does not answer. */
async function serveSilent(t: TestContext, count: number) {
  const held: ServerResponse[] = []
  const server = createServer((_, response) => held.push(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const tools = (await toolsFile(t)).replace(/http:\/\/127\.0\.0\.1:\d+\//, `http://127.0.0.1:${port}/`)
  const { all } = await serveReplicas(t, { files: { tools }, count })
  const call = ({ url }: Replica, headers: Record<string, string>) => {
    const params = { name: 'echo', arguments: { text: 'x' } }
    return send(url('tools'), { id: 'c', method: 'tools/call', params }, headers).then(messages)
  }
  return { all: all as [Replica, Replica, Replica, Replica], held, call }
}

test('a call is cancelled through any replica, wherever it runs', TIMEOUT, async (t) => {
  const { all, held, call } = await serveSilent(t, 3)
  for (const opener of all)
    for (const runner of all)
      for (const canceller of all) {
        const { headers } = await open(opener.url('tools'))
        const running = call(runner, headers)
        await until(() => held.length > 0)
        const cancelled = { method: 'notifications/cancelled', params: { requestId: 'c' } }
        assert.equal((await send(canceller.url('tools'), cancelled, headers)).status, 202)
        assert.deepEqual(await running, [])
        held.length = 0
      }
})

test('a session ends in every replica, also where it was never used', TIMEOUT, async (t) => {
  const { all, held, call } = await serveSilent(t, 4)
  const [a, b, c, d] = all
  // Replicas know each other by the sessions that they go on with.
  const first = await open(d.url('tools'))
  assert.equal(await list(a, first.headers), 200)
  const { headers } = await open(a.url('tools'))
  const running = call(b, headers)
  await until(() => held.length > 0)
  const stream = await fetch(b.url('tools'), { headers: { ...headers, accept: 'text/event-stream' } })
  assert.equal((await fetch(c.url('tools'), { method: 'DELETE', headers })).status, 204)
  assert.match(JSON.stringify(await running), /session has ended/)
  await stream.text()
  for (const replica of all) assert.equal(await list(replica, headers), 404)
  assert.equal(await list(a, first.headers), 200)
})

test('a session ends in every replica, also when the one that opened it is gone', TIMEOUT, async (t) => {
  const { all } = await serveSilent(t, 3)
  const [a, b, c] = all
  const { headers } = await open(a.url('tools'))
  for (const replica of [b, c]) assert.equal(await list(replica, headers), 200)
  a.child.kill('SIGKILL')
  await a.ended
  assert.equal(await list(b, headers), 200)
  assert.equal((await fetch(c.url('tools'), { method: 'DELETE', headers })).status, 204)
  for (const replica of [b, c]) assert.equal(await list(replica, headers), 404)
})

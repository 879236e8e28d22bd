import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { ROWS, resultId, rowsServer, serverOf, WHOLE } from '../fixtures/rows.ts'
import { listening } from '../support/listening.ts'
import { freePort } from '../support/process.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { json, upstream } from '../tools/harness.ts'
import { type Client, inSession, modern, open } from '../upstream/harness.ts'
import { serveReplicas, startReplica } from './harness.ts'

/** Results of which a client got a part: the replica that made them keeps the rest. */

const api = await upstream((response) => json(response, ROWS))
const tools = stringify({
  name: 'kept',
  routers: [{ server: 'kept', prefix: '/kept' }],
  servers: [{ name: 'kept' }],
  tools: [
    {
      name: 'rows',
      description: 'Lists rows',
      endpoint: api.origin,
      response: { maxChars: 500, more: 'handle' },
    },
  ],
})

const read = async (client: Client, id: string) => client.call('read_result', { id })

test('a result is read through any replica, as long as the one that made it lives', async (t) => {
  const { a, b } = await serveReplicas(t, { files: { kept: tools } })
  const session = await open(a.url('kept'))
  // The same session, at the other replica.
  const elsewhere = async (method: string, params: object): Promise<Loose> => {
    const response = await fetch(b.url('kept'), {
      method: 'POST',
      headers: {
        ...session.headers,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return response.json()
  }
  const ids: string[] = []
  for (const client of [session, modern(a.url('kept'))]) {
    const { result } = await client.request('tools/call', { name: 'rows', arguments: {} })
    const id = resultId(result)
    assert.equal(await read(client, id), WHOLE)
    assert.equal(await read(modern(b.url('kept')), id), WHOLE)
    const { contents } = (
      await modern(b.url('kept')).request('resources/read', { uri: `plantgw-result:///${id}` })
    ).result
    assert.equal(contents[0].text, WHOLE)
    const told = await elsewhere('tools/call', {
      name: 'read_result',
      arguments: { id, path: '[].id', limit: 9 },
    })
    assert.equal(told.result.content[0].text, '[{"id":0}')
    ids.push(id)
  }
  a.child.kill('SIGTERM')
  await a.ended
  for (const id of [...ids, 'forged'])
    assert.match(await read(modern(b.url('kept')), id), /^No result with this `id` exists, or it has expired/)
})

test('a result can be read from another session of the same caller, held by another replica', async (t) => {
  const { a, b } = await serveReplicas(t, { upstreams: { held: rowsServer } })
  const made = await open(a.url('held'))
  const later = await open(b.url('held'))
  const { result } = await made.request('tools/call', { name: 'rows', arguments: {} })
  const id = resultId(result)
  // For `a`, the request first goes to the replica that holds the session.
  for (const url of [b.url('held'), a.url('held')]) {
    const client = inSession(url, later.headers)
    assert.equal(await read(client, id), WHOLE)
    assert.equal(
      await client.call('read_result', { id, grep: 'nothing like it' }),
      'Nothing in the result contains the text of `grep`.',
    )
    const { contents } = (await client.request('resources/read', { uri: `plantgw-result:///${id}` })).result
    assert.equal(contents[0].text, WHOLE)
    assert.match(await read(client, `${id}x`), /^No result with this `id` exists/)
  }
})

test('what another replica sends of a result counts as memory while it is read', async (t) => {
  // One argument of a process has at most 128 KiB.
  const large = 'x'.repeat(100_000)
  const port = await freePort()
  const { origin, release } = await halting(t, port, 50_000)
  const { a: other, folder } = await serveReplicas(t, { upstreams: { held: serverOf(large) }, count: 1 })
  const keeper = await startReplica(t, folder, { port, advertise: origin })
  const { result } = await modern(keeper.url('held')).request('tools/call', { name: 'rows', arguments: {} })
  const session = await open(other.url('held'))
  const reading = session.request('resources/read', { uri: `plantgw-result:///${resultId(result)}` })
  await until(async () => {
    const text = await (await fetch(`${other.origin}/metrics`)).text()
    return Number(/^plantgw_buffered_bytes (\d+)$/m.exec(text)?.[1]) >= 50_000
  })
  release()
  assert.equal((await reading).result.contents[0].text, large)
})

/** Passes bytes on to a port; once so many of an answer have come, the rest waits until `release`. */
async function halting(t: TestContext, port: number, most: number) {
  const halted: Socket[] = []
  const server = createServer((client) => {
    const replica = connect(port, '127.0.0.1')
    let passed = 0
    client.on('error', () => {}).pipe(replica)
    replica.on('error', () => {}).on('close', () => client.destroy())
    replica.on('data', (chunk: Buffer) => {
      client.write(chunk)
      const before = passed
      passed += chunk.length
      if (before > most || passed <= most) return
      replica.pause()
      halted.push(replica)
    })
  })
  return {
    origin: `http://127.0.0.1:${await listening(t, server)}`,
    release() {
      for (const replica of halted) replica.resume()
    },
  }
}

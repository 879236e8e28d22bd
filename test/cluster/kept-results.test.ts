import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { ROWS, resultId, rowsServer, WHOLE } from '../fixtures/rows.ts'
import type { Loose } from '../support/wire.ts'
import { json, upstream } from '../tools/harness.ts'
import { type Client, inSession, modern, open } from '../upstream/harness.ts'
import { serveReplicas } from './harness.ts'

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

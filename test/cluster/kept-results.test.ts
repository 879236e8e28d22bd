import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stringify } from 'yaml'
import type { Upstream } from '../fixtures/gateway.ts'
import type { Loose } from '../support/wire.ts'
import { json, upstream } from '../tools/harness.ts'
import { type Client, inSession, modern, open } from '../upstream/harness.ts'
import { serveReplicas } from './harness.ts'

/** Results of which a client got a part: the replica that made them keeps the rest. */

const ROWS = Array.from({ length: 60 }, (_, id) => ({ id, title: `plant ${id}` }))
const WHOLE = JSON.stringify(ROWS)
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
    const link = result.content.find(({ type }: Loose) => type === 'resource_link')
    const id = String(link.uri).replace('plantgw-result:///', '')
    assert.equal(await read(client, id), WHOLE)
    assert.equal(await read(modern(b.url('kept')), id), WHOLE)
    const { contents } = (await modern(b.url('kept')).request('resources/read', { uri: link.uri })).result
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

/** A server with sessions, whose one tool returns the rows. */
const SERVER = `
  const rows = ${JSON.stringify(WHOLE)}
  const answers = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
    'tools/list': { tools: [{ name: 'rows', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: rows }] },
  }
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] ?? {} }))
  })`

test('a result is read in another session of the same caller, which another replica holds', async (t) => {
  const response = { maxChars: 500, more: 'handle' }
  const server = { type: 'stdio', command: process.execPath, args: ['-e', SERVER] } as const
  const { a, b } = await serveReplicas(t, {
    upstreams: { held: { ...server, toolOverrides: { rows: { response } } } as Upstream },
  })
  const made = await open(a.url('held'))
  const later = await open(b.url('held'))
  const { result } = await made.request('tools/call', { name: 'rows', arguments: {} })
  const link = result.content.find(({ type }: Loose) => type === 'resource_link')
  const id = String(link.uri).replace('plantgw-result:///', '')
  // The replica that has the result passes what belongs to the session on to the one that holds it.
  for (const url of [b.url('held'), a.url('held')]) {
    const client = inSession(url, later.headers)
    assert.equal(await read(client, id), WHOLE)
    assert.equal(
      await client.call('read_result', { id, grep: 'nothing like it' }),
      'Nothing in the result contains the text of `grep`.',
    )
    const { contents } = (await client.request('resources/read', { uri: link.uri })).result
    assert.equal(contents[0].text, WHOLE)
    assert.match(await read(client, `${id}x`), /^No result with this `id` exists/)
  }
})

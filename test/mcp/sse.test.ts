import assert from 'node:assert/strict'
import { test } from 'node:test'
import { events, post, rpc, wire } from '../support/wire.ts'

test('HTTP with SSE: the stream names the address, answers come on it', async () => {
  const { app, registry } = await wire()
  const stream = await app.request('/one/sse', { headers: { accept: 'text/event-stream' } })
  assert.equal(stream.headers.get('content-type'), 'text/event-stream')
  const [endpoint] = await events(stream, 1)
  assert.equal(endpoint!.event, 'endpoint')
  assert.match(endpoint!.data, /^\/one\/message\?sessionId=[\w-]{36}$/)

  const send = async (body: unknown) => {
    const response = await post(app, endpoint!.data, body)
    assert.equal(response.status, 202)
  }
  await send(rpc('initialize', { protocolVersion: '2024-11-05', capabilities: {} }, 'i'))
  await send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await send(rpc('tools/call', { name: 'echo' }, 2))
  await send([rpc('ping', undefined, 3), rpc('ping', undefined, 4)])
  const answers = (await events(stream, 3)).map(({ data }) => JSON.parse(data))
  assert.equal(answers[0].result.protocolVersion, '2024-11-05')
  assert.deepEqual(answers[1], {
    jsonrpc: '2.0',
    id: 2,
    result: { content: [{ type: 'text', text: 'echo' }] },
  })
  assert.deepEqual(
    answers[2].map((answer: { id: number }) => answer.id),
    [3, 4],
  )

  await stream.body!.cancel()
  assert.deepEqual(registry.counts(), { sessions: 0, streams: 0 })
  const after = await post(app, endpoint!.data, rpc('ping'))
  assert.equal(after.status, 404)
})

test('messages need a known session of the same prefix', async () => {
  const { app, registry } = await wire()
  assert.equal((await post(app, '/one/message', rpc('ping'))).status, 400)
  assert.equal((await post(app, '/one/message?sessionId=x', rpc('ping'))).status, 404)
  const stream = await app.request('/one/sse')
  const [endpoint] = await events(stream, 1)
  assert.equal((await post(app, endpoint!.data.replace('/one', '/two'), rpc('ping'))).status, 404)
  assert.equal((await post(app, endpoint!.data, '{')).status, 400)
  await stream.body!.cancel()
  registry.close()
})

test('leaving the stream cancels its calls', async () => {
  const { app, waiting, cancelled } = await wire()
  const stream = await app.request('/one/sse')
  const [endpoint] = await events(stream, 1)
  await post(app, endpoint!.data, rpc('tools/call', { name: 'wait', arguments: { key: 'a' } }))
  while (!waiting.size) await new Promise(setImmediate)
  await stream.body!.cancel()
  assert.deepEqual(cancelled, ['a'])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INITIALIZE, post, rpc, serveHttp, serveSmall, until, WHOLE } from '../limits/harness.ts'

/** Characters of a description, with which twenty answers are more than a socket takes at once. */
const LONG = 'Farn – ä'.repeat(30_000)

/** The events of a session of HTTP with SSE, read one after the other. */
async function sse(origin: string) {
  const response = await fetch(`${origin}/shop/sse`)
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const next = async () => {
    while (!text.includes('\n\n')) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`the stream ended after ${text}`)
      text += value
    }
    const [event = '', ...rest] = text.split('\n\n')
    text = rest.join('\n\n')
    return event
  }
  return { response, messages: origin + (await next()).split('data: ')[1], next, reader }
}

test('a client that reads its event stream late gets all of it, and its session ends with the stream', async (t) => {
  const api = await serveHttp(t, (_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ name: LONG })),
  )
  const tool = { name: 'item', method: 'GET', endpoint: `${api}/item`, limits: WHOLE }
  const file = { routers: [{ server: 'shop', prefix: '/shop' }], servers: [{ name: 'shop' }], tools: [tool] }
  const { origin } = await serveSmall(t, [file], {})
  const { response, messages, next, reader } = await sse(origin)
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  await post(messages, INITIALIZE)
  await next()
  const ids = Array.from({ length: 20 }, (_, i) => i + 2)
  for (const id of ids) {
    const call = rpc('tools/call', { name: 'item', arguments: {} }, id)
    assert.equal((await post(messages, call)).status, 202)
  }
  const got: number[] = []
  for (const _ of ids) {
    const answer = await next()
    assert.ok(answer.length > LONG.length)
    got.push(JSON.parse(answer.split('data: ')[1]!).id)
  }
  assert.deepEqual(
    got.toSorted((a, b) => a - b),
    ids,
  )
  await reader.cancel()
  await until(async () => (await post(messages, rpc('ping'))).status === 404)
})

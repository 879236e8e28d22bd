import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { scripted } from '../support/scripted.ts'
import { open, proxied, send } from './harness.ts'

const notification = (method: string, params?: object) => JSON.stringify({ jsonrpc: '2.0', method, params })
const CHANGED = notification('notifications/tools/list_changed')

/** What a client without a stream finds once it opens one, of what a server has said during a call. */
async function foundLater(t: TestContext, said: string[]): Promise<string[]> {
  const { servers, scripts } = await scripted(t)
  const { url } = await proxied(t, [servers.stdio])
  const { headers } = await open(url)
  const answer = (id: string) => `{"jsonrpc":"2.0","id":${id},"result":{"content":[]}}`
  scripts.set('it', (id) => [...said, answer(id)])
  scripts.set('end', (id) => [notification('notifications/message', { data: 'end' }), answer(id)])
  // An answer as JSON takes no messages with it.
  const call = async (key: string) => {
    const params = { name: 'say', arguments: { key } }
    const message = { id: key, method: 'tools/call', params }
    await (await send(url, message, { ...headers, accept: 'application/json' })).text()
  }
  await call('it')
  const stream = await fetch(url, { headers: { ...headers, accept: 'text/event-stream' } })
  await call('end')
  let text = ''
  for await (const chunk of stream.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk
    if (/"end".*\n\n/.test(text)) break
  }
  const found = [...text.matchAll(/^data: ?(\{.*)$/gm)].map(([, data]) => JSON.parse(data as string))
  return found.map(({ method, params }) => params?.data ?? method).filter((each) => each !== 'end')
}

test('a few list changes of a server wait for a stream as they came', { timeout: 60_000 }, async (t) => {
  assert.deepEqual(
    await foundLater(t, [CHANGED, CHANGED, CHANGED]),
    Array(3).fill('notifications/tools/list_changed'),
  )
})

test('a thousand list changes displace no other message that waits', { timeout: 60_000 }, async (t) => {
  const told = ['first', 'last'].map((data) => notification('notifications/message', { data }))
  const found = await foundLater(t, [told[0]!, ...Array(1000).fill(CHANGED), told[1]!])
  assert.equal(found[0], 'first')
  assert.equal(found.at(-1), 'last')
  assert.ok(found.includes('notifications/tools/list_changed'))
  assert.ok(found.length < 100, `${found.length} messages`)
})

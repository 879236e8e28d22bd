import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { chatty } from './chatty.ts'
import { modernSend, openSse, proxied } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }
const CHANGED = 'notifications/tools/list_changed'

// What a server says on its own goes to nobody before its event stream is open.

for (const isolation of ['session', 'shared'])
  test(
    `a subscription is acknowledged once its changes arrive, isolation ${isolation}`,
    TIMEOUT,
    async (t) => {
      const server = await chatty(t, 'http')
      server.opening = setTimeout(50)
      const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url, isolation }])
      const response = await modernSend(url, 'subscriptions/listen', {
        notifications: { toolsListChanged: true },
      })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      t.after(() => reader.cancel())
      const first = await reader.read()
      assert.match(String(first.value), /acknowledged/)
      server.push(CHANGED)
      const second = await reader.read()
      assert.match(String(second.value), /tools\/list_changed/)
    },
  )

test('a request goes to the server once its event stream is open', TIMEOUT, async (t) => {
  const server = await chatty(t, 'http')
  server.opening = setTimeout(50)
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url }])
  const { request } = await openSse(t, url)
  await request('tools/list')
  assert.deepEqual(server.seen.slice(-3), ['GET', 'open', 'tools/list'])
})

test('a server that opens its event stream with the first event is used all the same', TIMEOUT, async (t) => {
  const server = await chatty(t, 'http')
  server.opening = new Promise(() => {})
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url }])
  for (let i = 0; i < 3; i++) {
    const { request } = await openSse(t, url)
    assert.ok((await request('tools/list')).result)
  }
})

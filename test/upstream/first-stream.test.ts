import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { chatty } from './chatty.ts'
import { modernSend, openSse, proxied } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }
/** Milliseconds that requests wait for an event stream. */
const OPENING = 500
const never = () => new Promise<void>(() => {})

// What a server says on its own goes to nobody before its event stream is open.

test('a request goes to the server once its event stream is open', TIMEOUT, async (t) => {
  const server = await chatty(t, 'http')
  server.opening = () => setTimeout(20)
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url }])
  const { request } = await openSse(t, url)
  await request('tools/list')
  assert.deepEqual(server.seen.slice(-3), ['GET', 'open', 'tools/list'])
})

for (const isolation of ['session', 'shared'])
  for (const isLate of [false, true])
    test(`a change after the acknowledgement is announced: ${isolation}, ${isLate}`, TIMEOUT, async (t) => {
      const server = await chatty(t, 'http')
      let open = () => {}
      const opened = new Promise<void>((resolve) => {
        open = resolve
      })
      server.opening = () => (isLate ? opened : setTimeout(20))
      const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url, isolation }])
      const notifications = { toolsListChanged: true }
      const response = await modernSend(url, 'subscriptions/listen', { notifications })
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      t.after(() => reader.cancel())
      assert.match(String((await reader.read()).value), /acknowledged/)
      server.push('notifications/tools/list_changed')
      open()
      assert.match(String((await reader.read()).value), /tools\/list_changed/)
    })

test('a server that opens its event stream with the first event is waited for once', TIMEOUT, async (t) => {
  const server = await chatty(t, 'http')
  server.opening = never
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url, isolation: 'session' }])
  const { mock } = t.mock.method(globalThis, 'setTimeout')
  for (let i = 0; i < 3; i++) {
    const client = await openSse(t, url)
    assert.ok((await client.request('tools/list')).result)
    // That it is over at once says nothing of how fast the server is.
    await client.close()
  }
  assert.equal(mock.calls.filter(({ arguments: [, ms] }) => ms === OPENING).length, 1)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forgetful } from './forgetful.ts'
import { open, proxied } from './harness.ts'

test('a server that has forgotten the session is initialised anew once, and only what may be is sent again', async (t) => {
  const server = await forgetful(t)
  const { url } = await proxied(t, [{ type: 'streamable-http', url: server.url }])
  const client = await open(url)
  await client.request('logging/setLevel', { level: 'warning' })
  await client.request('resources/subscribe', { uri: 'a:b' })
  server.seen.length = 0
  server.forget()
  assert.equal(await client.call('safe'), 'done in s2')
  assert.deepEqual(server.seen, [
    'initialize s2',
    'notifications/initialized s2',
    'logging/setLevel s2',
    'resources/subscribe s2',
    'tools/list s2',
    'tools/call s2',
  ])
  server.forget()
  assert.match(await client.call('unsafe'), /^error: .* A new session is open, but the call was not repeated/)
  assert.equal(await client.call('unsafe'), 'done in s3')
  server.forget()
  assert.equal((await client.request('tools/list')).result.tools.length, 2)
  server.seen.length = 0
  assert.equal((await fetch(url, { method: 'DELETE', headers: client.headers })).status, 204)
  while (!server.seen.includes('DELETE s4')) await new Promise((resolve) => setImmediate(resolve))
})

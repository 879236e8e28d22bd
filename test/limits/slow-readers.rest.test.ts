import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import {
  httpTool,
  LONG,
  listen,
  MIB,
  open,
  ping,
  post,
  proxied,
  raw,
  rpc,
  script,
  serveHttp,
  serveSmall,
  silent,
} from './harness.ts'

// Clients that do not read what they are sent.

const BIG = 'x'.repeat(9 * MIB)
const call = rpc('tools/call', { name: 'call', arguments: {} })

test('40 clients that never read answers of 9 MiB', LONG, async (t) => {
  let answered = 0
  const api = await serveHttp(t, (request, response) => {
    if (request.url === '/big') response.once('close', () => answered++)
    response.end(request.url === '/big' ? BIG : 'small')
  })
  const gateway = await serveSmall(t, [httpTool('/big', `${api}/big`), httpTool('/small', `${api}/small`)])
  const session = await open(`${gateway.origin}/big/mcp`)
  const other = await open(`${gateway.origin}/small/mcp`)
  for (let i = 0; i < 40; i++) await silent(t, gateway.port, raw('/big/mcp', call, session))
  await until(() => answered === 40)
  const calls = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const response = await post(`${gateway.origin}/small/mcp`, call, other)
      return [response.status, JSON.parse(await response.text()).result?.content[0].text]
    }),
  )
  assert.deepEqual(calls, Array(20).fill([200, 'small']))
  const { peak } = gateway.curve()
  assert.equal(gateway.child.exitCode, null)
  assert.ok(peak < 450, `peak of ${peak} MiB`)
})

test('a client that takes nothing for writeTimeout is disconnected, an idle one not', LONG, async (t) => {
  const api = await serveHttp(t, (_, response) => response.end(BIG))
  const gateway = await serveSmall(t, [httpTool('/big', api)], { limits: { writeTimeout: '1s' } })
  const url = `${gateway.origin}/big/mcp`
  const session = await open(url)
  const idle = await listen(t, url, session)
  const socket = await silent(t, gateway.port, raw('/big/mcp', call, session))
  const before = performance.now()
  // Its end is seen by who sends, as it does not read.
  const poke = setInterval(() => socket.write('\r\n'), 100)
  t.after(() => clearInterval(poke))
  await until(() => socket.destroyed)
  assert.ok(performance.now() - before < 30_000)
  assert.equal(idle.response.status, 200)
  const quiet = await Promise.race([idle.ended.then(() => 'ended'), ping(url, session)])
  assert.equal(quiet, 200)
  // A slow reader that reads gets it all.
  const response = await post(url, call, session)
  let size = 0
  for await (const chunk of response.body!) size += chunk.length
  assert.ok(size > BIG.length)
})

test('a GET stream that is not read: what floods it is bounded', LONG, async (t) => {
  const flood = `async ({ id, params }, send) => {
    for (let i = 0; i < 400; i++)
      await send({ method: 'notifications/message', params: { level: 'info', data: 'x'.repeat(1024 * 1024) } })
    send({ id, result: { content: [] } })
  }`
  const gateway = await serveSmall(t, [proxied('/s', script(t, flood)), proxied('/other', script(t, flood))])
  const url = `${gateway.origin}/s/mcp`
  const session = await open(url)
  const other = await open(`${gateway.origin}/other/mcp`)
  await silent(t, gateway.port, raw('/s/mcp', '', session, 'GET'))
  // Nobody reads its answer either: messages that name no call go to the only one, or to the stream.
  const call = (id: number) =>
    silent(t, gateway.port, raw('/s/mcp', rpc('tools/call', { name: 'x' }, id), session))
  await Promise.all([call(1), call(2)])
  await until(async () => (await ping(url, session)) !== 0 && gateway.rss() > 0)
  for (let i = 0; i < 40; i++) {
    assert.equal((await post(`${gateway.origin}/other/mcp`, rpc('tools/list'), other)).status, 200)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const { peak } = gateway.curve()
  assert.equal(gateway.child.exitCode, null, gateway.stderr().slice(-2000))
  assert.ok(peak < 450, `peak of ${peak} MiB`)
})

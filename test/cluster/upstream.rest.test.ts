import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { crash } from '../support/process.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { forgetful } from '../upstream/forgetful.ts'
import { messages, open, send } from '../upstream/harness.ts'
import { tiny } from '../upstream/tiny.ts'
import { serveReplicas } from './harness.ts'

/** Sessions with streamable HTTP servers, which any replica goes on with. */

let ids = 0
/** The text of a tool's answer, or the status of a refusal. */
async function call(url: string, headers: Record<string, string>, name: string, args = {}): Promise<string> {
  const params = { name, arguments: args }
  const response = await send(url, { id: `c${++ids}`, method: 'tools/call', params }, headers)
  if (response.status !== 200) {
    await response.text()
    return String(response.status)
  }
  const { result, error }: Loose = (await messages(response)).at(-1)
  return error ? `error: ${error.message}` : result.content[0].text
}

const serve = async (t: TestContext, more: object = {}) => {
  const server = await forgetful(t)
  const s: Loose = { type: 'streamable-http', url: server.url, ...more }
  return { ...(await serveReplicas(t, { upstreams: { s } })), server }
}

/** Requests that one replica has had from another. */
const forwards = ({ stderr }: { stderr(): string }) => stderr().match(/"msg":"forwarded"/g)?.length ?? 0

test('nothing is asked of the replica that opened the session, and its end ends nothing', async (t) => {
  const { a, b, server } = await serve(t)
  const { headers } = await open(a.url('s'))
  for (const { url } of [a, b, a, b]) assert.equal(await call(url('s'), headers, 'unsafe'), 'done in s1')
  assert.equal(forwards(b), 0)
  a.child.kill('SIGTERM')
  assert.equal(await a.ended, 0)
  assert.equal(await call(b.url('s'), headers, 'unsafe'), 'done in s1')
  assert.ok(!server.seen.includes('DELETE s1'))
  assert.equal((await fetch(b.url('s'), { method: 'DELETE', headers })).status, 204)
  await until(() => server.seen.includes('DELETE s1'))
  assert.equal(await call(b.url('s'), headers, 'unsafe'), '404')
})

test('the end of a session is told to the server once, wherever the client says it', async (t) => {
  const { a, b, server } = await serve(t)
  const { headers } = await open(a.url('s'))
  assert.equal(await call(b.url('s'), headers, 'safe'), 'done in s1')
  assert.equal((await fetch(b.url('s'), { method: 'DELETE', headers })).status, 204)
  await until(() => server.seen.includes('DELETE s1'))
  server.forget()
  for (const { url } of [a, b]) assert.equal(await call(url('s'), headers, 'safe'), '404')
  assert.equal(server.seen.filter((one) => one.startsWith('DELETE')).length, 1)
})

test('when the server forgets the session, the replica with the handshake opens another one for all', async (t) => {
  const { a, b, server } = await serve(t)
  const { headers } = await open(a.url('s'))
  await send(b.url('s'), { id: 'l', method: 'logging/setLevel', params: { level: 'error' } }, headers)
  assert.equal(await call(b.url('s'), headers, 'safe'), 'done in s1')
  server.seen.length = 0
  server.forget()
  assert.equal(await call(b.url('s'), headers, 'safe'), 'done in s2')
  assert.deepEqual(server.seen.filter((one) => !one.startsWith('GET')).slice(0, 3), [
    'initialize s2',
    'notifications/initialized s2',
    // Said through the other replica.
    'logging/setLevel s2',
  ])
  for (const { url } of [b, a, b]) assert.equal(await call(url('s'), headers, 'unsafe'), 'done in s2')
  assert.equal(server.seen.filter((one) => one.startsWith('initialize')).length, 1)
  await crash(a)
  assert.equal(await call(b.url('s'), headers, 'safe'), 'done in s2')
  server.forget()
  assert.equal(await call(b.url('s'), headers, 'safe'), '404')
})

test('a session is bound to what the templates of its server came to', async (t) => {
  const { a, b } = await serve(t, { headers: { 'x-key': '{{.Request.Headers.key}}' } })
  const { headers } = await open(a.url('s'), { key: 'mine' })
  for (const { url } of [a, b]) {
    assert.equal(await call(url('s'), headers, 'safe'), 'done in s1')
    assert.equal(await call(url('s'), { ...headers, key: 'yours' }, 'safe'), '404')
  }
})

test('a session goes on at another server after a reload, and never with the id of the former one', async (t) => {
  const { a, b, server, folder } = await serve(t)
  const { headers } = await open(a.url('s'))
  assert.equal(await call(b.url('s'), headers, 'safe'), 'done in s1')
  const next = await tiny(t, 'next')
  const text = (url: string) =>
    stringify({
      name: 's',
      routers: [{ server: 's', prefix: '/s' }],
      mcpServers: [{ name: 's', type: 'streamable-http', url }],
    })
  writeFileSync(`${folder}/s.yaml`, text(next.url))
  const reload = ({ origin }: { origin: string }) => fetch(`${origin}/_reload`, { method: 'POST' })
  for (const replica of [b, a]) {
    assert.equal((await reload(replica)).status, 200)
    const wanted = replica === b ? ['done in s1', 'done in s1'] : ['next', 'next']
    const answers = [await call(b.url('s'), headers, 'safe'), await call(a.url('s'), headers, 'safe')]
    assert.deepEqual(answers, wanted)
  }
  assert.deepEqual(next.seen.slice(0, 2), ['initialize', 'notifications/initialized'])
  await until(() => server.seen.includes('DELETE s1'))
})

test('a streamable server that becomes a child is forwarded to', async (t) => {
  const { a, b, folder } = await serveReplicas(t, {
    upstreams: { s: { type: 'streamable-http', url: await startEverything(t, 'http', 'session') } },
  })
  const { headers } = await open(a.url('s'))
  const stdio = everythingStdio('session')
  const mcpServers = [{ name: 's', type: 'stdio', ...stdio }]
  const routers = [{ server: 's', prefix: '/s' }]
  writeFileSync(`${folder}/s.yaml`, stringify({ name: 's', routers, mcpServers }))
  for (const { origin } of [a, b])
    assert.equal((await fetch(`${origin}/_reload`, { method: 'POST' })).status, 200)
  for (const { url } of [b, a])
    assert.match(await call(url('s'), headers, 'test_simple_text'), /simple text response/)
  assert.equal(forwards(b), 1)
})

test('server requests and their answers may take different replicas', async (t) => {
  const { a, b } = await serveReplicas(t, {
    upstreams: { s: { type: 'streamable-http', url: await startEverything(t, 'http', 'session') } },
  })
  const { headers } = await open(a.url('s'), {}, { elicitation: {} })
  const params = { name: 'test_elicitation', arguments: { message: 'Who?' } }
  const asked = await send(b.url('s'), { id: 7, method: 'tools/call', params }, headers)
  const reader = asked.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const read = async (pattern: RegExp) => {
    while (!pattern.test(text)) text += (await reader.read()).value ?? ''
    return JSON.parse(/^data: (.*elicitation\/create.*)$/m.exec(text)![1]!)
  }
  const { id } = await read(/elicitation\/create.*\n\n/)
  const result = { action: 'accept', content: { username: 'ann', email: 'a@b.de' } }
  assert.equal((await send(a.url('s'), { id, result }, headers)).status, 202)
  await read(/"id":7.*\n\n/)
  assert.match(text, /ann/)
  assert.equal(forwards(a) + forwards(b), 0)
})

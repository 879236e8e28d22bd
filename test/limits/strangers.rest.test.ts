import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { type TestContext, test } from 'node:test'
import { modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { META } from '../upstream/harness.ts'
import { LONG, proxied, rpc, script, serveSmall } from './harness.ts'

// Callers of 2026-07-28 of whom nothing is known, in front of a server with sessions.

/** Counts its calls; asks for the name of the caller where it is told to. */
const counting = `async ({ id, method, params, result }, send) => {
  globalThis.count ??= 0
  if (method === 'tools/call' && params.arguments?.ask) {
    globalThis.waiting = id
    await send({ id: 'q', method: 'elicitation/create', params: { message: 'Who?', requestedSchema: { type: 'object', properties: {} } } })
  } else if (method === 'tools/call')
    await send({ id, result: { content: [{ type: 'text', text: process.pid + '#' + ++count }] } })
  else if (result) await send({ id: waiting, result: { content: [{ type: 'text', text: process.pid + '#' + result.action } ] } })
}`

/** A client with one connection, which it keeps. */
function client(t: TestContext, origin: string, headers: Record<string, string> = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const send = (method: string, params: Loose = {}) =>
    new Promise<Loose>((resolve, reject) => {
      const capabilities = {
        'io.modelcontextprotocol/clientCapabilities': params.name ? { elicitation: {} } : {},
      }
      const body = JSON.stringify(rpc(method, { ...params, _meta: { ...META, ...capabilities } }))
      const all = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...modernHeaders(method, params.name),
        ...headers,
      }
      const sent = request(`${origin}/s/mcp`, { method: 'POST', agent, headers: all }, async (response) => {
        let text = ''
        for await (const chunk of response) text += chunk
        resolve(JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text).result)
      })
      sent.on('error', reject).end(body)
    })
  const call = async (args: object = {}) =>
    (await send('tools/call', { name: 'x', arguments: args })).content[0].text as string
  return { send, call, leave: () => agent.destroy() }
}

/** Process ids of the server's children. */
async function pids(origin: string): Promise<number[]> {
  const status: Loose = await (await fetch(`${origin}/_status`)).json()
  return (
    JSON.stringify(status)
      .match(/"pids":\[([\d,]*)\]/)?.[1]
      ?.split(',')
      .filter(Boolean)
      .map(Number) ?? []
  )
}

test('a connection has a session of its own, and nobody else has it', LONG, async (t) => {
  const gateway = await serveSmall(t, [proxied('/s', script(t, counting))])
  const [a, b] = [client(t, gateway.origin), client(t, gateway.origin)]
  const first = [await a.call(), await a.call()]
  const second = [await b.call(), await a.call()]
  const pid = first[0]!.split('#')[0]
  assert.deepEqual(first, [`${pid}#1`, `${pid}#2`])
  assert.match(second[0]!, /#1$/)
  assert.equal(second[1], `${pid}#3`)
  a.leave()
  await until(async () => !(await pids(gateway.origin)).includes(Number(pid)))
})

test('behind a proxy a request has a session of its own', LONG, async (t) => {
  const gateway = await serveSmall(t, [proxied('/s', script(t, counting))])
  const proxy = client(t, gateway.origin, { 'x-forwarded-for': '203.0.113.9' })
  const texts = [await proxy.call(), await proxy.call(), await proxy.call()]
  assert.equal(new Set(texts.map((text) => text.split('#')[0])).size, 3)
  assert.ok(texts.every((text) => text.endsWith('#1')))
})

test('isolation: shared is one session for all', LONG, async (t) => {
  const gateway = await serveSmall(t, [proxied('/s', { ...script(t, counting), isolation: 'shared' })])
  const [a, b] = [client(t, gateway.origin), client(t, gateway.origin)]
  const [one, two] = [await a.call(), await b.call()]
  assert.equal(one.split('#')[0], two.split('#')[0])
})

test('a question is answered on another connection, and lists cost no session', LONG, async (t) => {
  const gateway = await serveSmall(t, [proxied('/s', script(t, counting))])
  const [a, b] = [client(t, gateway.origin), client(t, gateway.origin)]
  const args = { name: 'x', arguments: { ask: true } }
  const asked = await a.send('tools/call', args)
  assert.equal(asked.resultType, 'input_required')
  a.leave()
  const [key] = Object.keys(asked.inputRequests) as [string]
  const { requestState } = asked
  const inputResponses = { [key]: { action: 'decline' } }
  const answered = await b.send('tools/call', { ...args, inputResponses, requestState })
  assert.match(answered.content[0].text, /#decline$/)
  const before = (await pids(gateway.origin)).length
  await Promise.all(Array.from({ length: 5 }, () => client(t, gateway.origin).send('tools/list')))
  assert.ok((await pids(gateway.origin)).length <= before + 1)
})

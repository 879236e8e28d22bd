import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCEPTS, askingPost } from '../support/person.ts'
import type { Loose } from '../support/wire.ts'
import { messages, modernSend, open, send } from '../upstream/harness.ts'
import { serveReplicas, toolsFile } from './harness.ts'

const TIMEOUT = { timeout: 120_000 }
const FORM = { elicitation: {} }
const CALL = { name: 'echo', arguments: { text: 'hi' } }
const ASKS = { 'io.modelcontextprotocol/clientCapabilities': FORM }

test('a person approves calls of HTTP tools, whichever replica gets the answer', TIMEOUT, async (t) => {
  const files = { tools: await toolsFile(t, { approval: 'elicitation' }) }
  const { a, b } = await serveReplicas(t, { files })
  const [at, other] = [a.url('tools'), b.url('tools')]
  const session = await open(at, {}, FORM)
  const call = { id: 'c1', method: 'tools/call', params: CALL }
  // The call goes to a replica that has not opened the session, the answer back to the one that has.
  const [question, answer] = await askingPost(other, call, session.headers, ACCEPTS, at)
  assert.equal(question.method, 'elicitation/create')
  assert.equal(answer.result.content[0].text, 'echo /?text=hi')
  const [, declined] = await askingPost(at, call, session.headers, () => ({ action: 'decline' }), other)
  assert.match(declined.result.content[0].text, /declined it/)
})

test('requestState is good once among all replicas, and made-up ones are not', TIMEOUT, async (t) => {
  const files = { tools: await toolsFile(t, { approval: 'elicitation' }) }
  const { a, b } = await serveReplicas(t, { files })
  const ask = async (url: string, more: object = {}): Promise<Loose> =>
    (await messages(await modernSend(url, 'tools/call', { ...CALL, _meta: ASKS, ...more }))).at(-1)
  const { requestState } = (await ask(a.url('tools'))).result
  const good = { requestState, inputResponses: { approval: { action: 'accept' } } }
  const forged = {
    ...good,
    requestState: `${requestState.slice(0, -1)}${requestState.endsWith('A') ? 'B' : 'A'}`,
  }
  assert.equal((await ask(b.url('tools'), forged)).error.code, -32602)
  assert.equal((await ask(b.url('tools'), good)).result.content[0].text, 'echo /?text=hi')
  for (const { url } of [a, b]) assert.equal((await ask(url('tools'), good)).error.code, -32602)
})

test('a session that searches does so at every replica, and the index is the same', TIMEOUT, async (t) => {
  const files = { tools: await toolsFile(t, { approval: 'elicitation' }) }
  const { a, b } = await serveReplicas(t, { files })
  const urls = [a, b].map(({ url }) => `${url('tools')}?discovery=search`) as [string, string]
  const { headers } = await open(urls[0], {}, FORM)
  const at = async (url: string, method: string, params: object = {}): Promise<Loose> =>
    (await messages(await send(url, { id: method, method, params }, headers))).at(-1)
  const search = { name: 'search_tools', arguments: { query: 'echo' } }
  const [one, two] = await Promise.all(
    urls.map(async (url) => [await at(url, 'tools/list'), await at(url, 'tools/call', search)]),
  )
  assert.deepEqual(one, two)
  assert.equal(one![0].result.tools.length, 4)
  // Who is to approve it is asked for the tool that is called.
  const params = { name: 'call_tool', arguments: CALL }
  const asked = { id: 'c', method: 'tools/call', params }
  const [question, answer] = await askingPost(urls[1], asked, headers, ACCEPTS, urls[0])
  assert.match(question.params.message, /tool: "echo"/)
  assert.equal(answer.result.content[0].text, 'echo /?text=hi')
  const retried = async (url: string, more: object = {}): Promise<Loose> =>
    (await messages(await modernSend(url, 'tools/call', { ...params, _meta: ASKS, ...more }))).at(-1)
  const { requestState } = (await retried(urls[0])).result
  const inputResponses = { approval: { action: 'accept' } }
  assert.equal(
    (await retried(urls[1], { requestState, inputResponses })).result.content[0].text,
    'echo /?text=hi',
  )
})

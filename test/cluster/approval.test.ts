import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCEPTS, askingPost } from '../support/person.ts'
import type { Loose } from '../support/wire.ts'
import { messages, modernSend, open } from '../upstream/harness.ts'
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

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { test } from 'node:test'
import { listening } from '../support/listening.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { messages, modernSend, open, proxied } from './harness.ts'

/** A server of SSE that asks for the roots of its client after the handshake and after each change, and says what it has. */
async function rooted(t: TestContext) {
  let events: ServerResponse | undefined
  const state = { roots: 'none', seen: [] as string[] }
  let asked = 0
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method === 'GET') {
      events = response.writeHead(200, { 'content-type': 'text/event-stream' })
      events.write('event: endpoint\ndata: /message\n\n')
      return
    }
    response.writeHead(202).end()
    const say = (message: object) =>
      events?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
    const { id, method, params, result }: Loose = JSON.parse(text)
    state.seen.push(method ?? (result ? 'answer' : 'refusal'))
    if (/initialized$|roots\/list_changed$/.test(method)) say({ id: `r${++asked}`, method: 'roots/list' })
    if (method === undefined && result) state.roots = result.roots[0].uri
    if (method === undefined || id === undefined) return
    const serverInfo = { name: 'rooted', version: '1' }
    const content = [{ type: 'text', text: state.roots }]
    if (params?.name === 'stray')
      for (const progressToken of ['other', 7])
        say({ method: 'notifications/progress', params: { progressToken, progress: 1 } })
    const told =
      method === 'initialize'
        ? { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo }
        : method === 'tools/list'
          ? { tools: [] }
          : { content }
    say({ id, result: told })
    if (params?.name === 'stray' && params._meta)
      say({
        method: 'notifications/progress',
        params: { progressToken: params._meta.progressToken, progress: 2 },
      })
  })
  const port = await listening(t, server)
  const url = `http://127.0.0.1:${port}/sse`
  return Object.assign(state, { server: { type: 'sse', url } })
}

for (const list of [false, true])
  test(`the roots of a client limit its first call${list ? ', in a list' : ''}`, async (t) => {
    const state = await rooted(t)
    const { url } = await proxied(t, [state.server], { list })
    const headers = { 'plantgw-session': randomUUID() }
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { roots: {} } }
    // The session is opened by a list, during which no client can be asked.
    await (await modernSend(url, 'tools/list', { _meta }, headers)).text()
    await until(() => state.seen.includes('refusal'))
    const params = { name: list ? 's1__where' : 'where', arguments: {}, _meta }
    const call = async (more = {}) =>
      (await messages(await modernSend(url, 'tools/call', { ...params, ...more }, headers))).at(-1)
    const { result } = await call()
    assert.equal(result.resultType, 'input_required')
    const [key] = Object.keys(result.inputRequests)
    const roots = { roots: [{ uri: 'file:///mine' }] }
    const { requestState } = result
    const answer = await call({ requestState, inputResponses: { [key as string]: roots } })
    assert.equal(answer.result.content[0].text, 'file:///mine')
    assert.equal((await call()).result.content[0].text, 'file:///mine')
  })

test('progress of no call, or after its answer, reaches no client', async (t) => {
  const state = await rooted(t)
  const { url, logged } = await proxied(t, [state.server])
  const client = await open(url)
  const params = { name: 'stray', arguments: {}, _meta: { progressToken: 'mine' } }
  const all = await client.all('tools/call', params)
  assert.deepEqual(
    all.filter(({ method }) => method === 'notifications/progress'),
    [],
  )
  const dropped = () => logged.filter(({ msg }) => msg === 'dropped progress that names no call under way')
  await until(() => dropped().length === 3)
})

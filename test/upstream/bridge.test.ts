import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namedCaller } from '../../src/access/bearer.ts'
import type { Authenticate } from '../../src/access/steps.ts'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { isThere } from '../support/process.ts'
import { until } from '../support/until.ts'
import { answering } from './answering.ts'
import { type Client, META, messages, modern, modernSend, open, proxied, send } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }
const ROOTS = { _meta: { ...META, 'io.modelcontextprotocol/clientCapabilities': { roots: {} } } }
const session = (more: object = {}) => ({ type: 'stdio', ...faultyStdio('session'), ...more })
const ask = (url: string, params: object, headers = {}) =>
  modernSend(url, 'tools/call', { name: 'ask', arguments: { about: 1 }, ...ROOTS, ...params }, headers).then(
    async (response) => (await messages(response)).at(-1),
  )

test(
  'what a server with sessions asks becomes input_required, and its call goes on with the answer',
  TIMEOUT,
  async (t) => {
    const { url, proxy } = await proxied(t, [session()], { authenticate: async () => namedCaller('me') })
    const { result } = await ask(url, {})
    assert.equal(result.resultType, 'input_required')
    const [key] = Object.keys(result.inputRequests) as [string]
    assert.equal(result.inputRequests[key].method, 'roots/list')
    const { requestState } = result
    // What is missing is asked for again, under a new handle.
    const again = (await ask(url, { requestState, inputResponses: {} })).result
    assert.equal(again.resultType, 'input_required')
    assert.notEqual(again.requestState, requestState)
    const inputResponses = { [key]: { roots: [{ uri: 'file:///a' }] } }
    const done = (await ask(url, { requestState: again.requestState, inputResponses })).result
    assert.equal(done.resultType, 'complete')
    assert.equal(done.content[0].text, '{"roots":[{"uri":"file:///a"}]}')
    assert.equal(proxy.status().connections, 1)
  },
)

test('a handle is good once, for the same request, of the same caller', TIMEOUT, async (t) => {
  const authenticate: Authenticate = async ({ headers }) => namedCaller(headers.authorization ?? '')
  const { url } = await proxied(t, [session()], { authenticate })
  const me = { authorization: 'Bearer me' }
  const { result } = await ask(url, {}, me)
  const { requestState } = result
  const inputResponses = { [Object.keys(result.inputRequests)[0]!]: { roots: [] } }
  const retry = { requestState, inputResponses }
  for (const [params, headers] of [
    [retry, { authorization: 'Bearer other' }],
    [{ ...retry, arguments: { about: 2 } }, me],
    [{ ...retry, requestState: 'made up' }, me],
  ] as const) {
    const { error } = await ask(url, params, headers)
    assert.equal(error.code, -32602)
    assert.match(error.message, /requestState was used, has expired, or belongs to another request/)
  }
  assert.equal((await ask(url, retry, me)).result.resultType, 'complete')
  assert.equal((await ask(url, retry, me)).error.code, -32602)
})

test('calls of one caller share a session, also those that may be asked things', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [session()], { authenticate: async () => namedCaller('me') })
  const plain = await Promise.all([1, 2, 3].map((n) => modern(url).call('reverse', { n, count: 3 })))
  assert.deepEqual(plain, ['{"n":1,"count":3}', '{"n":2,"count":3}', '{"n":3,"count":3}'])
  assert.equal(proxy.status().connections, 1)
  const asked = await Promise.all([ask(url, {}), ask(url, {})])
  assert.ok(asked.every(({ result }) => result.resultType === 'input_required'))
  assert.equal(proxy.status().connections, 1)
  const pids = proxy.status().pids
  await proxy.close()
  await until(() => !pids.some(isThere))
})

test('callers whose values differ never share a process', TIMEOUT, async (t) => {
  const env = { KEY: '{{.Request.Headers.Key}}' }
  for (const era of ['session', 'modern'] as const) {
    const { url } = await proxied(t, [{ type: 'stdio', ...faultyStdio(era), env }])
    const [a, b, c] = [modern(url, { key: 'a' }), modern(url, { key: 'b' }), modern(url, { key: 'a' })]
    const pids = [await a.call('pid'), await b.call('pid'), await c.call('pid')]
    assert.equal(pids[0], pids[2])
    assert.notEqual(pids[0], pids[1])
    assert.equal(JSON.parse(await b.call('environment')).KEY, 'b')
  }
})

test(
  'isolation: credential: sessions with equal values share a process, ids and answers do not mix',
  TIMEOUT,
  async (t) => {
    const { url, proxy } = await proxied(t, [
      session({ isolation: 'credential', env: { KEY: '{{.Request.Headers.Key}}' } }),
    ])
    const [a, b, c] = [
      await open(url, { key: 'x' }),
      await open(url, { key: 'x' }),
      await open(url, { key: 'y' }),
    ]
    assert.equal(await a.call('pid'), await b.call('pid'))
    assert.notEqual(await a.call('pid'), await c.call('pid'))
    const answers = await Promise.all([a, b].map((client, n) => client.call('reverse', { n })))
    assert.deepEqual(answers, ['{"n":0}', '{"n":1}'])
    assert.equal(proxy.status().connections, 2)
  },
)

test(
  'a shared server with sessions: the errors of a client with a session keep their codes',
  TIMEOUT,
  async (t) => {
    const { url } = await proxied(t, [{ type: 'stdio', ...everythingStdio('session'), isolation: 'shared' }])
    const params = { uri: 'test://no-such-resource' }
    const withSession = await (await open(url)).request('resources/read', params)
    assert.equal(withSession.error.code, -32002)
    // 2026-07-28 has another code for it.
    assert.equal((await modern(url).request('resources/read', params)).error.code, -32602)
  },
)

test('a session in front of a server of 2026-07-28: input is asked for as requests', TIMEOUT, async (t) => {
  for (const at of [
    { type: 'stdio', ...everythingStdio('modern') },
    { type: 'streamable-http', url: await startEverything(t, 'http', 'modern') },
  ]) {
    const { url } = await proxied(t, [at])
    const client = await open(url, {}, { elicitation: {}, sampling: {}, roots: {} })
    assert.ok(client.initialized.result.capabilities.tools)
    const message = {
      id: 'e',
      method: 'tools/call',
      params: { name: 'test_elicitation', arguments: { message: 'Who?' } },
    }
    const response = await send(url, message, client.headers)
    const reader = response.clone().body!.getReader()
    const asked = new TextDecoder().decode((await reader.read()).value)
    const request = JSON.parse(/data: (.+)/.exec(asked)![1]!)
    assert.equal(request.method, 'elicitation/create')
    const content = { username: 'me', email: 'me@example.com' }
    await send(url, { id: request.id, result: { action: 'accept', content } }, client.headers)
    const last = (await messages(response)).at(-1)
    assert.equal(last.id, 'e')
    assert.match(last.result.content[0].text, /me@example.com/)
    assert.equal(last.result.resultType, undefined)
    await reader.cancel()
  }
})

test('progress tokens of a shared child come back as they were', TIMEOUT, async (t) => {
  for (const era of ['modern', 'session'] as const) {
    const { url } = await proxied(t, [{ type: 'stdio', ...faultyStdio(era) }])
    const params = { name: 'chatty', arguments: { count: 3 }, _meta: { progressToken: 'mine' } }
    const all = await Promise.all([
      modern(url).all('tools/call', params),
      modern(url).all('tools/call', params),
    ])
    for (const each of all) {
      assert.deepEqual(
        each.slice(0, -1).map(({ params }) => [params.progressToken, params.progress]),
        [
          ['mine', 1],
          ['mine', 2],
          ['mine', 3],
        ],
      )
      assert.ok(each.at(-1).result)
    }
  }
})

test('a result without content has none in 2026-07-28, which requires the member', TIMEOUT, async (t) => {
  const { server } = await answering(t, 'session', (response, { id, params }) => {
    const result = params.name === 'silent' ? {} : { structuredContent: { a: 1 } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
  const { url } = await proxied(t, [server])
  const results = (client: Client) =>
    Promise.all(
      ['silent', 'structured'].map(async (name) => (await client.request('tools/call', { name })).result),
    )
  const [silent, structured] = await results(modern(url))
  assert.deepEqual([silent.content, structured.content], [[], []])
  assert.deepEqual(structured.structuredContent, { a: 1 })
  assert.deepEqual(await results(await open(url)), [{}, { structuredContent: { a: 1 } }])
})

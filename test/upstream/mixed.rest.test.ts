import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { connect, type Generation } from '../conformance/calls/clients.ts'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { temporaryFolder } from '../support/process.ts'
import { type Served, served } from '../support/served.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { messages, modern, modernSend, open, send } from './harness.ts'

// One endpoint of HTTP tools, an MCP server over stdio and one of 2026-07-28 over HTTP, each of another file.

const TIMEOUT = { timeout: 60_000 }
const WATCHED = 'test://watched-resource'
const GENERATIONS: [title: string, generation: Generation, path: string][] = [
  ['1.x', '1.x', '/mcp'],
  ['1.x over SSE', '1.x', '/sse'],
  ['2.x', '2.x', '/mcp'],
  ['2026-07-28', '2.x modern', '/mcp'],
]

const AUTH = {
  type: 'bearer',
  tokens: ['ann', 'bob'].map((caller) => ({ token: `token-of-${caller}-012345`, caller })),
}
const as = (caller: string) => ({ authorization: `Bearer token-of-${caller}-012345` })

interface Options {
  /** The first has the resources, as both have the same. */
  first?: 'ses' | 'mod'
  router?: object
}

/** The files of one endpoint. */
async function files(t: TestContext, { first = 'ses', router }: Options = {}): Promise<Loose[]> {
  const api = createServer((request, response) => response.end(`called ${request.url}`))
  const endpoint = `http://127.0.0.1:${await listening(t, api)}/find`
  const promptResponse = [{ role: 'user', content: { type: 'text', text: 'Hi' } }]
  const shop = {
    name: 'shop',
    servers: [{ name: 'api' }],
    tools: [
      { name: 'find', method: 'GET', endpoint, annotations: { readOnlyHint: true } },
      { name: 'pay', method: 'POST', endpoint },
    ],
    prompts: [{ name: 'hello', arguments: [], promptResponse }],
  }
  const ses = { name: 'ses', type: 'stdio', ...everythingStdio('session') }
  const mod = { name: 'mod', type: 'streamable-http', url: await startEverything(t, 'http', 'modern') }
  const order = first === 'ses' ? ['shop/*', 'local/ses', 'far/mod'] : ['far/mod', 'local/ses', 'shop/*']
  return [
    { name: 'all', routers: [{ prefix: '/', server: order, ...router }] },
    shop,
    { name: 'local', mcpServers: [ses] },
    { name: 'far', mcpServers: [mod] },
  ]
}

/** The whole gateway in this process. */
async function here(t: TestContext, options?: Options) {
  const [all, ...others] = await files(t, options)
  return gatewayHere(t, all, undefined, {}, others)
}

/** A client that answers all that it is asked; `ask` gives the response, with all that came before it. */
async function client(t: TestContext, generation: Generation, url: string) {
  const connected = await connect(generation, url, '/')
  t.after(() => connected.close().catch(() => {}))
  const ask = async (method: string, params: object = {}, withProgress = false) => {
    const before = connected.messages.length
    await connected.request(method, params as Record<string, unknown>, withProgress)
    const heard = connected.messages.slice(before) as Loose[]
    const answer = heard.findLast((one) => 'id' in one && !('method' in one))
    return { answer, heard: heard.filter((one) => one !== answer) }
  }
  const call = async (name: string, args: object = {}) => {
    const { answer } = await ask('tools/call', { name, arguments: args })
    return answer.result?.content[0].text ?? answer.error.message
  }
  return { ...connected, ask, call }
}

for (const [title, generation, path] of GENERATIONS)
  test(`lists, calls, prompts, completion and resources of all kinds: ${title}`, TIMEOUT, async (t) => {
    const { base } = await here(t)
    const { ask, call } = await client(t, generation, base + path)
    const list = async (kind: string, key = kind) =>
      (await ask(`${kind}/list`)).answer.result[key].map((one: Loose) => one.name as string)
    const tools: string[] = await list('tools')
    for (const name of ['api__find', 'ses__test_sampling', 'mod__test_sampling'])
      assert.ok(tools.includes(name), name)
    assert.equal(new Set(tools).size, tools.length)
    const prompts = await list('prompts')
    for (const name of ['api__hello', 'ses__test_simple_prompt', 'mod__test_simple_prompt'])
      assert.ok(prompts.includes(name), name)
    const resources = await list('resources')
    assert.equal(new Set(resources).size, resources.length, 'each resource once')
    assert.equal((await list('resources/templates', 'resourceTemplates')).length, 1)

    assert.equal(await call('api__find'), 'called /find')
    for (const server of ['ses', 'mod']) {
      assert.match(await call(`${server}__test_simple_text`), /simple text/)
      const args = { arg1: 'a', arg2: 'b' }
      const prompt = { name: `${server}__test_prompt_with_arguments`, arguments: args }
      const { answer } = await ask('prompts/get', prompt)
      assert.match(answer.result.messages[0].content.text, /arg1='a', arg2='b'/)
      const ref = { type: 'ref/prompt', name: `${server}__test_prompt_with_arguments` }
      const completed = await ask('completion/complete', { ref, argument: { name: 'arg1', value: 'par' } })
      assert.deepEqual(completed.answer.result.completion.values, ['paris', 'park', 'party'])
      assert.match(
        JSON.stringify((await ask('tools/call', { name: `${server}__test_image_content` })).answer.result),
        /image\/png/,
      )
      const said = await ask('tools/call', { name: `${server}__test_error_handling` })
      assert.equal(said.answer.result.isError, true)
    }
    const hello = await ask('prompts/get', { name: 'api__hello' })
    assert.equal(hello.answer.result.messages[0].content.text, 'Hi')
    const template = { type: 'ref/resource', uri: 'test://template/{id}/data' }
    const variable = await ask('completion/complete', {
      ref: template,
      argument: { name: 'id', value: 'py' },
    })
    assert.deepEqual(variable.answer.result.completion.values, ['python', 'pytorch'])
    for (const uri of ['test://static-text', 'test://template/7/data'])
      assert.equal((await ask('resources/read', { uri })).answer.result.contents[0].uri, uri)
    const missing = await ask('resources/read', { uri: 'test://none' })
    assert.ok([-32002, -32602].includes(missing.answer.error.code))
    for (const name of [
      'ses__none',
      'none',
      'mod__',
      '__proto__',
      'api__none',
      'ses__mod__test_simple_text',
    ]) {
      const { answer } = await ask('tools/call', { name, arguments: {} })
      assert.ok(answer.error ?? answer.result.isError, name)
    }
  })

for (const [title, generation, path] of GENERATIONS)
  test(`progress, questions and the log level of all kinds: ${title}`, TIMEOUT, async (t) => {
    const { base } = await here(t)
    const { ask, call, messages: heard } = await client(t, generation, base + path)
    for (const server of ['ses', 'mod']) {
      const progress = await ask('tools/call', { name: `${server}__test_tool_with_progress` }, true)
      assert.deepEqual(
        progress.heard
          .filter((one) => one.method === 'notifications/progress')
          .map((one) => one.params.progress),
        [0, 50, 100],
      )
      assert.match(await call(`${server}__test_sampling`, { prompt: 'x' }), /LLM response: sampled/)
      assert.match(await call(`${server}__test_elicitation`, { message: 'Who?' }), /"action":"accept"/)
      assert.equal(await call(`${server}__test_input_required_result_list_roots`), '1 roots')
      const question = { name: `${server}__test_input_required_result_prompt` }
      assert.ok((await ask('prompts/get', question)).answer, server)
    }
    const logs = () => heard.filter((one) => one.method === 'notifications/message').length
    const modernLog = { _meta: { 'io.modelcontextprotocol/logLevel': 'info' } }
    const isModern = generation === '2.x modern'
    for (const level of ['error', 'info']) {
      if (!isModern) assert.deepEqual((await ask('logging/setLevel', { level })).answer.result, {})
      for (const server of ['ses', 'mod']) {
        const before = logs()
        const meta = isModern && level === 'info' ? modernLog : {}
        await ask('tools/call', { name: `${server}__test_tool_with_logging`, arguments: {}, ...meta })
        assert.equal(logs() - before, level === 'info' ? 3 : 0, `${server} ${level}`)
      }
    }
  })

for (const first of ['ses', 'mod'] as const) {
  test(`updates of resources of ${first} reach clients with sessions`, TIMEOUT, async (t) => {
    const { base } = await here(t, { first })
    for (const [title, generation, path] of GENERATIONS.slice(0, 3)) {
      const { ask, messages: heard } = await client(t, generation, base + path)
      const updates = () => heard.filter((one: Loose) => one.method === 'notifications/resources/updated')
      assert.deepEqual((await ask('resources/subscribe', { uri: WATCHED })).answer.result, {}, title)
      const trigger = { name: `${first}__test_trigger_resource_update`, arguments: { uri: WATCHED } }
      await ask('tools/call', trigger)
      await until(() => updates().length > 0)
      assert.deepEqual((updates()[0] as Loose).params.uri, WATCHED)
      assert.deepEqual((await ask('resources/unsubscribe', { uri: WATCHED })).answer.result, {}, title)
    }
  })

  test(`updates of resources of ${first} reach subscriptions of 2026-07-28`, TIMEOUT, async (t) => {
    // Who is known has one session with a server, whatever its connections.
    const { base } = await here(t, { first, router: { auth: AUTH } })
    const url = `${base}/mcp`
    const ann = modern(url, as('ann'))
    // A subscription waits only briefly for a server that is starting.
    await until(async () => /simple text/.test(await ann.call(`${first}__test_simple_text`)))
    const aborted = new AbortController()
    t.after(() => aborted.abort())
    const notifications = { resourceSubscriptions: [WATCHED], toolsListChanged: true }
    const stream = await modernSend(url, 'subscriptions/listen', { notifications }, as('ann'), aborted.signal)
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
    let heard = ''
    const hears = async (what: string) => {
      while (!heard.includes(what)) heard += (await reader.read()).value ?? assert.fail(heard)
    }
    await hears('subscriptions/acknowledged')
    assert.match(heard, /"resourceSubscriptions":\["test:\/\/watched-resource"\]/)
    assert.match(heard, /"toolsListChanged":true/)
    await ann.call(`${first}__test_trigger_resource_update`, { uri: WATCHED })
    await hears('notifications/resources/updated')
    await ann.call(`${first}__test_trigger_tool_change`)
    await hears('notifications/tools/list_changed')
  })
}

test('a call of each kind is cancelled where it runs', TIMEOUT, async (t) => {
  const { base, logged } = await here(t)
  const url = `${base}/mcp`
  const session = await open(url)
  for (const server of ['ses', 'mod'])
    for (const kind of ['session', 'alone']) {
      const name = `${server}__test_until_cancelled`
      const params = { name, arguments: {}, _meta: { progressToken: 'w' } }
      const aborted = new AbortController()
      const answer =
        kind === 'session'
          ? await send(url, { id: 'w', method: 'tools/call', params }, session.headers)
          : await modernSend(url, 'tools/call', params, {}, aborted.signal)
      const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
      let said = ''
      while (!said.includes('notifications/progress')) said += (await reader.read()).value
      const before = logged.filter((line) => line.tool === name && /cancelled/.test(line.msg)).length
      if (kind === 'alone') aborted.abort()
      else {
        const cancelled = { method: 'notifications/cancelled', params: { requestId: 'w' } }
        await (await send(url, cancelled, session.headers)).text()
      }
      const after = () => logged.filter((line) => line.tool === name && /cancelled/.test(line.msg)).length
      await until(() => after() === before + 1)
      // The child says itself that it was.
      if (server === 'ses')
        await until(() =>
          logged.some((line) => JSON.stringify(line).includes('test_until_cancelled: cancelled')),
        )
    }
  assert.equal(await session.call('api__find'), 'called /find')
})

test('rules, rates and approval see the names of the endpoint', TIMEOUT, async (t) => {
  const authorize = {
    rules: [
      { tools: ['api__*', '*__test_simple_text'], prompts: ['*'] },
      { tools: ['ses__test_structured_content'], callers: ['ann'] },
      { resources: ['test://static-*'] },
    ],
  }
  const rate = [{ per: 'caller', tools: ['mod__*'], limit: 2, window: '1h' }]
  const { base } = await here(t, { router: { auth: AUTH, authorize, rate, approval: 'elicitation' } })
  const url = `${base}/mcp`
  const FORM = { elicitation: { form: {} } }
  for (const caller of ['ann', 'bob']) {
    const session = await open(url, as(caller), FORM)
    const alone = modern(url, as(caller))
    for (const one of [session, alone]) {
      const tools = (await one.request('tools/list')).result.tools.map(({ name }: Loose) => name)
      const own = caller === 'ann' ? ['ses__test_structured_content'] : []
      assert.deepEqual(
        tools.sort(),
        ['api__find', 'api__pay', 'mod__test_simple_text', 'ses__test_simple_text', ...own].sort(),
      )
      const uris = (await one.request('resources/list')).result.resources.map(({ uri }: Loose) => uri)
      assert.ok(uris.length > 0 && uris.every((uri: string) => uri.startsWith('test://static-')))
      // What only reads is not asked about, and what may not be called does not exist.
      assert.equal(await one.call('api__find'), 'called /find')
      assert.match(await one.call('ses__test_tool_with_progress'), /Unknown tool/)
      const isAnn = caller === 'ann'
      assert[isAnn ? 'doesNotMatch' : 'match'](
        await one.call('ses__test_structured_content', { value: 1 }),
        /Unknown tool/,
      )
      const read = await one.request('resources/read', { uri: WATCHED })
      assert.equal(read.result, undefined)
    }
    const asks = { 'io.modelcontextprotocol/clientCapabilities': FORM }
    const params = { name: 'mod__test_simple_text', arguments: {}, _meta: asks }
    const question = (await alone.request('tools/call', params)).result
    assert.equal(question.resultType, 'input_required')
    const [[key, asked]] = Object.entries(question.inputRequests) as [[string, Loose]]
    assert.match(asked.params.message, /mod__test_simple_text/)
    const inputResponses = { [key]: { action: 'accept', content: {} } }
    const { requestState } = question
    const approved = await alone.request('tools/call', { ...params, inputResponses, requestState })
    assert.match(approved.result.content[0].text, /simple text/)
    const over = await modernSend(url, 'tools/call', params, as(caller))
    assert.equal(over.status, 429)
    assert.equal((await modernSend(url, 'tools/call', { name: 'ses__none' }, as(caller))).status, 200)
  }
})

test('batches are taken apart, each message to its server', TIMEOUT, async (t) => {
  const { base } = await here(t)
  const url = `${base}/mcp`
  const session = await open(url, {}, {}, '2025-03-26')
  const call = (id: number, name: string) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: {} },
  })
  const names = ['api__find', 'ses__test_simple_text', 'mod__test_simple_text', 'ses__none', 'x__y']
  const batch = [
    ...names.map((name, i) => call(i, name)),
    { jsonrpc: '2.0', id: 90, method: 'tools/list', params: {} },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 12 } },
    { jsonrpc: '2.0', id: 91, method: 'ping' },
  ]
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...session.headers,
    },
    body: JSON.stringify(batch),
  })
  const answers = new Map(
    (await messages(response)).flat().flatMap((one: Loose) => (one.id === undefined ? [] : [[one.id, one]])),
  )
  assert.equal(answers.size, names.length + 2)
  assert.equal(answers.get(0).result.content[0].text, 'called /find')
  for (const id of [1, 2]) assert.match(answers.get(id).result.content[0].text, /simple text/)
  for (const id of [3, 4]) assert.ok(answers.get(id).error ?? answers.get(id).result.isError)
  assert.ok(answers.get(90).result.tools.length > 3)
})

test('the audit log and metrics have the names of the endpoint', TIMEOUT, async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'audit.jsonl')
  const configurations = await files(t)
  const settings = { audit: { to: 'file', path } }
  const gateway: Served = await served(t, configurations, { settings })
  const session = await gateway.open('')
  const names = ['api__find', 'ses__test_simple_text', 'mod__test_simple_text']
  for (const [i, name] of names.entries()) {
    const params = { name, arguments: {} }
    const answer = await gateway.post(
      '/mcp',
      { jsonrpc: '2.0', id: i, method: 'tools/call', params },
      session,
    )
    assert.equal(answer.status, 200)
  }
  const metrics = await gateway.send({ path: '/metrics', method: 'GET', headers: {} })
  const countOf = (line: string) => metrics.text.split('\n').find((one) => one.startsWith(line))
  assert.match(
    countOf('plantgw_tool_calls_total{tenant="default",prefix="/",tool="api__find"') ?? '',
    /outcome="ok"\} 1$/,
  )
  // Names that MCP servers choose would be metrics without number.
  assert.doesNotMatch(metrics.text, /test_simple_text/)
  gateway.child.kill('SIGTERM')
  await gateway.ended
  const audit = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Loose)
  for (const name of names)
    assert.ok(
      audit.some((line) => line.name === name || line.tool === name),
      name,
    )
})

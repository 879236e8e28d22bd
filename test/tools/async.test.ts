import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { check } from '../../src/build/check-configurations.ts'
import { messages, modernSend } from '../support/client.ts'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'

const EXTENSION = 'io.modelcontextprotocol/tasks'
const any = z.looseObject({})
const info = { name: 'test', version: '1' }

interface Api {
  origin: string
  /** `METHOD path` of each request, in order. */
  asked: string[]
  headers: IncomingMessage['headers'][]
}

type Respond = (request: IncomingMessage, response: ServerResponse, polls: number) => void

function json(response: ServerResponse, status: number, value: unknown, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}

/** An API that accepts exports, and is done with one at the third poll. */
async function api(t: TestContext, respond: Respond = byPolls): Promise<Api> {
  const asked: string[] = []
  const headers: IncomingMessage['headers'][] = []
  let polls = 0
  const server = createServer((request, response) => {
    request.resume()
    asked.push(`${request.method} ${request.url}`)
    headers.push(request.headers)
    if (request.method === 'GET') polls++
    respond(request, response, polls)
  })
  return { origin: `http://127.0.0.1:${await listening(t, server)}`, asked, headers }
}

const byPolls: Respond = ({ method }, response, polls) => {
  if (method === 'POST') json(response, 202, { id: 'j 1' }, { location: '/jobs/1' })
  else if (method === 'DELETE') response.writeHead(204).end()
  else if (polls < 3) json(response, 200, { status: 'running' })
  else json(response, 200, { status: 'succeeded', rows: 7 })
}

const DONE = '{{eq .Response.Data.status "succeeded"}}'
const SOON = { interval: '5ms', done: DONE }

function exporter(origin: string, slow: object = SOON, tool: object = {}, more: object = {}) {
  return {
    name: 'api',
    routers: [{ server: 'api', prefix: '/api' }],
    servers: [{ name: 'api' }],
    tools: [
      {
        name: 'export',
        method: 'POST',
        endpoint: `${origin}/exports`,
        args: [{ name: 'what', position: 'body' }],
        async: slow,
        ...tool,
      },
      { name: 'ping', method: 'GET', endpoint: `${origin}/ping` },
    ],
    ...more,
  }
}

/** One request of 2026-07-28, of a client with tasks unless said otherwise; its response. */
async function ask(
  base: string,
  method: string,
  params: Loose,
  { tasks = true, token }: { tasks?: boolean; token?: string } = {},
): Promise<Loose> {
  const _meta = {
    'io.modelcontextprotocol/clientCapabilities': tasks ? { extensions: { [EXTENSION]: {} } } : {},
  }
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await modernSend(`${base}/api/mcp`, method, { ...params, _meta }, headers)
  return (await messages(response)).at(-1)
}

const begin = { name: 'export', arguments: { what: 'plants' } }

test('a client of 2026-07-28 with tasks polls a task', async (t) => {
  const { origin, asked } = await api(t)
  const { base } = await gatewayHere(t, exporter(origin))
  const { result: task } = await ask(base, 'tools/call', begin)
  assert.equal(task.resultType, 'task')
  assert.deepEqual([task.status, task.ttlMs, task.pollIntervalMs], ['working', 3_600_000, 5])
  assert.ok(Math.abs(Date.parse(task.createdAt) - Date.now()) < 60_000)
  const { taskId } = task
  const capabilities = { extensions: { [EXTENSION]: {} } } as never
  const client = new ModernClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } }, capabilities })
  await client.connect(new ModernHttp(new URL(`${base}/api/mcp`)))
  t.after(() => client.close())
  assert.deepEqual((client.getServerCapabilities() as Loose).extensions, { [EXTENSION]: {} })
  assert.equal((await client.listTools()).tools.length, 3)
  const get = () =>
    client.request({ method: 'tasks/get', params: { taskId } } as never, any as never) as Promise<Loose>
  for (const status of ['working', 'working']) assert.equal((await get()).status, status)
  const done = await get()
  assert.equal(done.status, 'completed')
  assert.deepEqual(done.result.content, [{ type: 'text', text: '{"status":"succeeded","rows":7}' }])
  assert.deepEqual(asked, ['POST /exports', 'GET /jobs/1', 'GET /jobs/1', 'GET /jobs/1'])
  // Nothing is kept, so that it can be asked for again.
  assert.equal((await get()).status, 'completed')
  assert.deepEqual(
    (await ask(base, 'tasks/update', { taskId, inputResponses: {} })).result.resultType,
    'complete',
  )
  const { error } = await ask(base, 'tasks/get', { taskId }, { tasks: false })
  assert.equal(error.code, -32021)
  assert.deepEqual(error.data.requiredCapabilities, { extensions: { [EXTENSION]: {} } })
  assert.equal((await ask(base, 'tasks/result', { taskId })).error.code, -32601)
})

test('the 1.x SDK client makes a task, polls it and gets its result', async (t) => {
  const { origin } = await api(t)
  const outputSchema = { type: 'object', required: ['rows'], properties: { rows: { type: 'integer' } } }
  const { base } = await gatewayHere(t, exporter(origin, SOON, { outputSchema }))
  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/api/mcp`)) as never)
  t.after(() => client.close())
  assert.deepEqual(client.getServerCapabilities()?.tasks, { cancel: {}, requests: { tools: { call: {} } } })
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name, execution }) => [name, execution?.taskSupport]),
    [
      ['export', 'optional'],
      ['ping', undefined],
      ['get_operation_result', undefined],
    ],
  )
  const seen: string[] = []
  let result: Loose | undefined
  for await (const message of client.experimental.tasks.callToolStream(begin, undefined, {
    task: { ttl: 60_000 },
  })) {
    seen.push(message.type)
    if (message.type === 'taskCreated') assert.equal(message.task.ttl, 60_000)
    if (message.type === 'error') throw message.error
    if (message.type === 'result') result = message.result
  }
  assert.deepEqual(seen, ['taskCreated', 'taskStatus', 'taskStatus', 'taskStatus', 'result'])
  assert.deepEqual(result?.structuredContent, { status: 'succeeded', rows: 7 })
  assert.equal(typeof result?._meta['io.modelcontextprotocol/related-task'].taskId, 'string')
  const call = { method: 'tools/call', params: { name: 'ping', task: {} } }
  await assert.rejects(client.request(call as never, any as never), { code: -32601 })
})

test('a task of an API that responds at once has its result', async (t) => {
  const { origin } = await api(t, (_, response) => json(response, 400, { error: 'no' }))
  const { base } = await gatewayHere(t, exporter(origin, SOON, { outputSchema: { type: 'object' } }))
  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/api/mcp`)) as never)
  t.after(() => client.close())
  const { tasks } = client.experimental
  const types: string[] = []
  let taskId = ''
  for await (const message of tasks.callToolStream(begin, undefined, { task: {} })) {
    types.push(message.type)
    if (message.type === 'taskCreated') taskId = message.task.taskId
  }
  assert.equal((await tasks.getTask(taskId)).status, 'failed')
  const result = (await tasks.getTaskResult(taskId, CallToolResultSchema)) as Loose
  assert.equal(result.isError, true)
  assert.match(result.content[0].text, /answered 400/)
  await assert.rejects(tasks.cancelTask(taskId), { code: -32602 })
  // A client of 2026-07-28 gets no task for what is done.
  const { result: direct } = await ask(base, 'tools/call', begin)
  assert.deepEqual([direct.resultType, direct.isError], ['complete', true])
  const keys = ['io.modelcontextprotocol/serverInfo', 'plantgw/error']
  assert.deepEqual(Object.keys(direct._meta).sort(), keys)
  assert.deepEqual(Object.keys(result._meta).sort(), [
    'io.modelcontextprotocol/related-task',
    'plantgw/error',
  ])
})

for (const generation of ['1.x', '2.x'] as const)
  test(`a client without tasks waits, with progress: ${generation}`, async (t) => {
    const { origin } = await api(t)
    const { base } = await gatewayHere(t, exporter(origin))
    const url = new URL(`${base}/api/mcp`)
    const modern = new ModernClient(info, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    const old = new Client(info)
    if (generation === '1.x') await old.connect(new StreamableHTTPClientTransport(url) as never)
    else await modern.connect(new ModernHttp(url))
    t.after(() => (generation === '1.x' ? old : modern).close())
    const progress: number[] = []
    const onprogress = (one: { progress: number }) => void progress.push(one.progress)
    const { content } =
      generation === '1.x'
        ? await old.callTool(begin, undefined, { onprogress })
        : await modern.callTool(begin, { onprogress })
    assert.deepEqual(content, [{ type: 'text', text: '{"status":"succeeded","rows":7}' }])
    assert.deepEqual(progress, [2, 3])
  })

test('at the time limit a client without tasks gets a handle, and goes on with a tool', async (t) => {
  const { origin, asked } = await api(t)
  // No poll comes before the limit.
  const slow = exporter(origin, { ...SOON, interval: '1h' })
  const { base } = await gatewayHere(t, slow)
  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/api/mcp`)) as never)
  t.after(() => client.close())
  const first = (await client.callTool(begin)) as Loose
  assert.equal(first.isError, undefined)
  const [{ text }] = first.content
  assert.match(text, /^The operation was accepted and is still running\. Do not repeat the call/)
  const args = JSON.parse(/`get_operation_result` with (\{.*\})\.$/.exec(text)![1]!)
  assert.deepEqual(asked, ['POST /exports'])
  for (let i = 0; i < 2; i++) {
    const again = (await client.callTool({ name: 'get_operation_result', arguments: args })) as Loose
    assert.match(again.content[0].text, /is still running/)
  }
  const { content } = (await client.callTool({ name: 'get_operation_result', arguments: args })) as Loose
  assert.deepEqual(content, [{ type: 'text', text: '{"status":"succeeded","rows":7}' }])
  assert.equal(asked.length, 4)
  const unknown = (await client.callTool({ name: 'get_operation_result', arguments: { id: 'x' } })) as Loose
  assert.equal(unknown.isError, true)
  assert.match(unknown.content[0].text, /^No operation with this id exists, or it has expired/)
})

test('a handle of a tool with structured content is no result', async (t) => {
  const { origin } = await api(t)
  const outputSchema = { type: 'object', properties: { rows: { type: 'integer' } } }
  const { base } = await gatewayHere(t, exporter(origin, { interval: '1h' }, { outputSchema }))
  const { result } = await ask(base, 'tools/call', begin, { tasks: false })
  assert.equal(result.isError, true)
  assert.match(result.content[0].text, /get_operation_result/)
})

test('what goes on is polled with the headers and arguments of the call, and shaped like its result', async (t) => {
  const { origin, asked, headers } = await api(t, ({ method, url }, response, polls) => {
    if (method === 'POST') json(response, 202, { job: 'a/b' })
    else if (polls === 1) json(response, 202, {})
    else json(response, 200, { url, rows: [{ id: 1, secret: 's' }] })
  })
  const tool = {
    args: [
      { name: 'what', position: 'body' },
      { name: 'Region', position: 'header' },
      { name: 'label', position: 'body' },
    ],
    headers: { 'X-What': '{{.Args.what}}', Authorization: 'Bearer {{.Config.token}}' },
    response: { select: 'rows[].id' },
    responseBody: '{{.Args.label}}: {{toJSON .Response.Data}}',
  }
  const slow = {
    interval: '5ms',
    poll: '{{.Config.base}}/jobs/{{.Response.Data.job}}?region={{.Args.Region}}',
  }
  const servers = [{ name: 'api', config: { base: origin, token: 'very-secret-token' } }]
  const { base } = await gatewayHere(t, exporter(origin, slow, tool, { servers }))
  const call = { name: 'export', arguments: { what: 'plants', Region: 'eu', label: 'Rows' } }
  const { result } = await ask(base, 'tools/call', call, { tasks: false })
  assert.deepEqual(result.content, [{ type: 'text', text: 'Rows: {"rows":[{"id":1}]}' }])
  assert.deepEqual(asked, ['POST /exports', 'GET /jobs/a%2Fb?region=eu', 'GET /jobs/a%2Fb?region=eu'])
  const { region, 'x-what': what, authorization, 'content-type': type } = headers.at(-1)!
  assert.deepEqual(
    [region, what, authorization, type],
    ['eu', 'plants', 'Bearer very-secret-token', undefined],
  )
})

test('an operation that has failed is an error', async (t) => {
  const { origin } = await api(t, ({ method }, response, polls) => {
    if (method === 'POST') json(response, 202, {}, { location: 'jobs/1' })
    // A gateway of the API that is restarted says nothing of the operation.
    else if (polls === 1) json(response, 503, {})
    else json(response, 200, { status: 'failed', why: 'no plants' })
  })
  const slow = { ...SOON, failed: '{{eq .Response.Data.status "failed"}}' }
  const { base } = await gatewayHere(
    t,
    exporter(origin, slow, { errorBody: 'Failed: {{.Response.Data.why}}' }),
  )
  const { result } = await ask(base, 'tools/call', begin, { tasks: false })
  assert.deepEqual([result.isError, result.content[0].text], [true, 'Failed: no plants'])
  const { result: task } = await ask(base, 'tools/call', begin)
  const { result: done } = await ask(base, 'tasks/get', { taskId: task.taskId })
  // What is no fault of the protocol completes a task.
  assert.deepEqual([done.status, done.result.isError], ['completed', true])
})

test('a job that is gone is an error, and one that nobody can poll is told at once', async (t) => {
  const { origin } = await api(t, ({ method, url }, response) => {
    if (method !== 'POST') json(response, 404, { gone: true })
    else if (url === '/exports') json(response, 202, {}, { location: '/jobs/1' })
  })
  const { base, change } = await gatewayHere(t, exporter(origin))
  const { result: gone } = await ask(base, 'tools/call', begin, { tasks: false })
  assert.match(gone.content[0].text, /^GET http:\/\/127\.0\.0\.1:\d+\/jobs\/1 answered 404/)
  for (const headers of [{}, { location: 'http://[' }, { location: 'ftp://example.com/1' }]) {
    const bare = await api(t, (_, response) => json(response, 202, {}, headers))
    await change(exporter(bare.origin))
    const { result } = await ask(base, 'tools/call', begin, { tasks: false })
    assert.equal(result.isError, true)
    assert.match(result.content[0].text, /^http:\/\/127\.0\.0\.1:\d+ accepted the (?:request|operation)/)
    assert.deepEqual(bare.asked, ['POST /exports'])
  }
})

test('an operation is cancelled by its task, or with the call that waits for it', async (t) => {
  let stopped = () => {}
  const { origin, asked } = await api(t, ({ method, url = '' }, response) => {
    if (method === 'POST' && url === '/exports') json(response, 202, { id: 7 }, { location: '/jobs/7' })
    else if (url === '/jobs/7/stop') {
      json(response, 202, {})
      stopped()
    } else json(response, 202, { status: 'running' })
  })
  const cancel = { method: 'POST', endpoint: `${origin}/jobs/{{.Response.Data.id}}/stop` }
  const { base } = await gatewayHere(t, exporter(origin, { ...SOON, cancel }))
  const { result: task } = await ask(base, 'tools/call', begin)
  const { result: acknowledged } = await ask(base, 'tasks/cancel', { taskId: task.taskId })
  assert.deepEqual(Object.keys(acknowledged).sort(), ['_meta', 'resultType'])
  assert.equal(asked.at(-1), 'POST /jobs/7/stop')

  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/api/mcp`)) as never)
  t.after(() => client.close())
  const { tasks } = client.experimental
  for await (const { type, ...message } of tasks.callToolStream(begin, undefined, { task: {} }))
    if (type === 'taskCreated') {
      const { taskId } = (message as Loose).task
      assert.equal((await tasks.cancelTask(taskId)).status, 'cancelled')
      break
    }
  const before = asked.filter((one) => one === 'POST /jobs/7/stop').length
  const isStopped = new Promise<void>((resolve) => {
    stopped = resolve
  })
  const controller = new AbortController()
  const onprogress = () => controller.abort()
  await assert.rejects(client.callTool(begin, undefined, { signal: controller.signal, onprogress }))
  await isStopped
  assert.equal(asked.filter((one) => one === 'POST /jobs/7/stop').length, before + 1)
})

test('nothing of the tool goes to the origin to which a Location leads', async (t) => {
  const other = await api(t, (_, response) => json(response, 200, { status: 'succeeded' }))
  const { origin } = await api(t, (_, response) =>
    json(response, 202, {}, { location: `${other.origin}/jobs/1` }),
  )
  const tool = { headers: { Authorization: 'Bearer very-secret-token', 'X-Key': 'k', Accept: 'text/x-own' } }
  const host = other.origin.replace('http://', '')
  const settings = { outbound: { allowHosts: [host] } }
  const { base, change } = await gatewayHere(t, exporter(origin, SOON, tool), {}, settings)
  const { result } = await ask(base, 'tools/call', begin, { tasks: false })
  assert.deepEqual(result.content, [{ type: 'text', text: '{"status":"succeeded"}' }])
  const { authorization, 'x-key': key, accept } = other.headers[0]!
  assert.deepEqual([authorization, key, accept], [undefined, undefined, 'text/x-own'])
  const credentials = { type: 'static', header: 'X-Token', value: 'very-secret-token' }
  await change(exporter(origin, SOON, {}, { servers: [{ name: 'api', credentials }] }))
  await ask(base, 'tools/call', begin, { tasks: false })
  assert.equal(other.headers[1]!['x-token'], undefined)
})

test('nothing of the tool goes to the origin to which the call was redirected', async (t) => {
  const other = await api(t, ({ url }, response) =>
    url === '/accepted'
      ? json(response, 202, {}, { location: '/jobs/1' })
      : json(response, 200, { status: 'succeeded' }),
  )
  const { origin } = await api(t, (_, response) => {
    response.writeHead(303, { location: `${other.origin}/accepted` }).end()
  })
  const headers = { Authorization: 'Bearer very-secret-token', 'X-Key': 'k' }
  const settings = { outbound: { allowHosts: [other.origin.replace('http://', '')] } }
  const tool = { headers, followRedirects: true }
  const { base } = await gatewayHere(t, exporter(origin, SOON, tool), {}, settings)
  const { result } = await ask(base, 'tools/call', begin, { tasks: false })
  assert.deepEqual(result.content, [{ type: 'text', text: '{"status":"succeeded"}' }])
  assert.deepEqual(other.asked, ['GET /accepted', 'GET /jobs/1'])
  for (const one of other.headers) assert.deepEqual([one.authorization, one['x-key']], [undefined, undefined])
})

test('the fault of a poll does not show the secrets of the tool', async (t) => {
  const secret = 's3cret-token-of-the-tool'
  const { origin } = await api(t, (_, response) =>
    json(response, 202, {}, { location: `http://${secret}.example/jobs/${secret}` }),
  )
  const headers = { Authorization: `Bearer ${secret}` }
  const { base } = await gatewayHere(t, exporter(origin, SOON, { headers }))
  const { taskId } = (await ask(base, 'tools/call', begin)).result
  const polled = await ask(base, 'tasks/get', { taskId })
  assert.match(polled.result.result.content[0].text, /link to http:\/\/\*\*\*\.example, another origin/)
})

test('the outbound rules hold for the URL that is polled, as for a redirect', async (t) => {
  const other = await api(t)
  const { origin } = await api(t, (_, response) =>
    json(response, 202, {}, { location: `${other.origin}/jobs/1` }),
  )
  const { base } = await gatewayHere(t, exporter(origin))
  const { result } = await ask(base, 'tools/call', begin, { tasks: false })
  assert.equal(result.isError, true)
  assert.match(result.content[0].text, /^http:\S+ accepted the operation, but its state cannot be read: /)
  assert.match(result.content[0].text, /is at a loopback address, to which this gateway does not connect/)
  assert.deepEqual(other.asked, [])
})

test('ids that are changed, expired, of others or of another tool are one answer', async (t) => {
  const { origin } = await api(t)
  const auth = { type: 'bearer', tokens: ['one', 'two'].map((token) => ({ token, caller: token })) }
  const router = (prefix: string) => ({ server: 'api', prefix, auth })
  const routers = [router('/api'), router('/other')]
  const { base, change } = await gatewayHere(t, exporter(origin, SOON, {}, { routers }))
  const { result: task } = await ask(base, 'tools/call', begin, { token: 'one' })
  const { taskId } = task
  assert.equal((await ask(base, 'tasks/get', { taskId }, { token: 'one' })).result.status, 'working')
  const expected = { code: -32602, message: 'There is no such task, or it has expired' }
  const refused = async (id: string, token = 'one') => {
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
      assert.deepEqual((await ask(base, method, { taskId: id }, { token })).error, expected)
  }
  await refused(taskId, 'two')
  await refused('')
  await refused(`${taskId}A`)
  await refused(taskId.slice(0, -1))
  await refused(taskId.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A')))
  // The tool goes on under the same name without operations.
  await change(exporter(origin, SOON, { name: 'other' }, { routers }))
  await refused(taskId)
  await change(exporter(origin, { ...SOON, ttl: '1ms' }, {}, { routers }))
  const { result: short } = await ask(base, 'tools/call', begin, { token: 'one' })
  while (Date.now() <= Date.parse(short.createdAt) + 1) await new Promise(setImmediate)
  await refused(short.taskId)
})

test('any replica with the secret answers for a task, and no other gateway', async (t) => {
  const { origin } = await api(t)
  const cluster = (secret: string, port: number) => ({
    cluster: { secret, advertise: `http://127.0.0.1:${port}` },
  })
  const secret = 'a-secret-of-at-least-32-characters'
  const one = await gatewayHere(t, exporter(origin), {}, cluster(secret, 1))
  const two = await gatewayHere(t, exporter(origin), {}, cluster(secret, 2))
  const alone = await gatewayHere(t, exporter(origin))
  const { result: task } = await ask(one.base, 'tools/call', begin)
  assert.equal((await ask(two.base, 'tasks/get', { taskId: task.taskId })).result.status, 'working')
  assert.equal((await ask(alone.base, 'tasks/get', { taskId: task.taskId })).error.code, -32602)
})

test('the call is logged and counted once, and polls are requests of their own', async (t) => {
  const { origin } = await api(t)
  const { base, logged } = await gatewayHere(t, exporter(origin))
  const { result: task } = await ask(base, 'tools/call', begin)
  await ask(base, 'tasks/get', { taskId: task.taskId })
  const lines = logged.filter(({ msg }) => /^(?:tool call|request)/.test(msg))
  assert.deepEqual(
    lines.map(({ msg, tool, method, upstreamStatus }) => [msg, tool ?? method, upstreamStatus]),
    [
      ['tool call', 'export', 202],
      ['request', 'tasks/get', undefined],
    ],
  )
  assert.ok(!JSON.stringify(lines).includes(task.taskId))
})

test('tasks of proxied servers are passed on, alone and behind one prefix', async (t) => {
  const [one, other] = [await api(t), await api(t)]
  const behind = [await gatewayHere(t, exporter(one.origin)), await gatewayHere(t, exporter(other.origin))]
  const mcpServers = behind.map(({ base }, i) => ({
    name: `s${i}`,
    type: 'streamable-http',
    url: `${base}/api/mcp`,
  }))
  for (const server of ['s1', ['s0', 's1']]) {
    const { base } = await gatewayHere(t, { name: 'api', routers: [{ server, prefix: '/api' }], mcpServers })
    const { result: discovered } = await ask(base, 'server/discover', {})
    assert.deepEqual(discovered.capabilities.extensions, { [EXTENSION]: {} })
    const name = typeof server === 'string' ? 'export' : 's1__export'
    const { result: task } = await ask(base, 'tools/call', { ...begin, name })
    assert.equal(task.resultType, 'task')
    const { result } = await ask(base, 'tasks/get', { taskId: task.taskId })
    assert.ok(['working', 'completed'].includes(result.status), JSON.stringify(result))
    assert.equal((await ask(base, 'tasks/get', { taskId: 'x' })).error.code, -32602)
  }
  assert.deepEqual(one.asked, [])
  assert.equal(other.asked.filter((line) => line === 'GET /jobs/1').length, 2)
})

test('arguments too long for an id keep a client waiting, without a handle', async (t) => {
  const { origin } = await api(t)
  const tool = { responseBody: '{{.Args.what}} {{.Response.Data.rows}}' }
  const { base } = await gatewayHere(t, exporter(origin, { ...SOON, interval: '1h' }, tool))
  const call = { name: 'export', arguments: { what: 'x'.repeat(10_000) } }
  const { result } = await ask(base, 'tools/call', call)
  assert.equal(result.resultType, 'complete')
  assert.match(result.content[0].text, /is still running\. Its result cannot be retrieved later/)
})

test('a task whose operation does not fit into an id has the result in it', async (t) => {
  const { origin } = await api(t)
  const tool = { responseBody: '{{len .Args.what}} {{.Response.Data.rows}}' }
  const client = new Client(info)
  const { base, change } = await gatewayHere(t, exporter(origin, SOON, tool))
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/api/mcp`)) as never)
  t.after(() => client.close())
  const { tasks } = client.experimental
  const call = { name: 'export', arguments: { what: 'ü'.repeat(400_000) } }
  const resultOf = async () => {
    const { task } = (await client.request(
      { method: 'tools/call', params: { ...call, task: {} } },
      any as never,
    )) as Loose
    return (await tasks.getTaskResult(task.taskId, CallToolResultSchema)) as Loose
  }
  assert.equal((await resultOf()).content[0].text, '800000 7')
  await change(exporter(origin, { ...SOON, interval: '1h' }, tool))
  const { isError, content } = await resultOf()
  assert.equal(isError, true)
  assert.match(content[0].text, /is still running\. Its result cannot be retrieved later/)
})

test('validate finds what is wrong with `async`, at its place', async () => {
  const findings = async (slow: object, tool: object = {}) => {
    const text = JSON.stringify(exporter('http://localhost:1', slow, tool))
    const { findings } = await check(['-'], { env: {}, stdin: () => Buffer.from(text) })
    return findings.map(
      ({ code, range, message }) =>
        `${code} ${text.slice(range!.start.offset, range!.end.offset)}: ${message}`,
    )
  }
  assert.deepEqual(await findings(SOON), [])
  const poll = '{{.Config.base}}/jobs/{{.Response.Data.id}}'
  const cases: [object, object, RegExp][] = [
    [{ done: '{{eq .Response.Data.status' }, {}, /^template-syntax /],
    [{ poll: 'http://localhost:1/{{.Args.none}}' }, {}, /^template-argument .*none/],
    [{ poll }, {}, /^template-config .*base/],
    [{ interval: 0 }, {}, /^invalid-value 0: /],
    [{ accepted: 302 }, {}, /^invalid-value 302: /],
    [{ cancel: { method: 'GET' } }, {}, /^invalid-value "GET": /],
    [SOON, { name: 'get_operation_result' }, /^duplicate-name "get_operation_result": /],
  ]
  for (const [slow, tool, expected] of cases) {
    const found = await findings(slow, tool)
    assert.ok(
      found.some((one) => expected.test(one)),
      `${JSON.stringify(slow)}: ${found.join('; ')}`,
    )
  }
})

test('an API says how long to wait for the next poll, within bounds', async (t) => {
  const { origin, asked } = await api(t, ({ method }, response) => {
    if (method === 'POST') json(response, 202, {}, { location: '/jobs/1', 'retry-after': '70' })
    else json(response, 200, { status: 'running' }, { 'retry-after': '86400' })
  })
  const { base, change } = await gatewayHere(t, exporter(origin))
  const { result: task } = await ask(base, 'tools/call', begin)
  assert.equal(task.pollIntervalMs, 70_000)
  const { result: working } = await ask(base, 'tasks/get', { taskId: task.taskId })
  assert.deepEqual([working.status, working.pollIntervalMs], ['working', 300_000])
  // The pause is longer than the call may be, so that it ends with a handle.
  asked.length = 0
  await change(exporter(origin, SOON, { limits: { timeout: '60s' } }))
  const { result } = await ask(base, 'tools/call', begin, { tasks: false })
  assert.match(result.content[0].text, /is still running/)
  assert.deepEqual(asked, ['POST /exports'])
  for (const unread of ['soon', '-1', '1e9', '']) {
    const bare = await api(t, ({ method }, response, polls) => {
      const headers = { location: '/jobs/1', 'retry-after': unread }
      json(response, method === 'POST' ? 202 : 200, { status: polls > 1 ? 'succeeded' : 'running' }, headers)
    })
    await change(exporter(bare.origin))
    const { result: soon } = await ask(base, 'tools/call', begin, { tasks: false })
    assert.match(soon.content[0].text, /succeeded/, unread)
  }
})

test('tasks/result waits for the end of a task beyond the time of the tool', async (t) => {
  const { origin, asked } = await api(t)
  const { base } = await gatewayHere(
    t,
    exporter(origin, { ...SOON, interval: '1s' }, { limits: { timeout: '1s' } }),
  )
  const client = new Client(info)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/api/mcp`)) as never)
  t.after(() => client.close())
  const { tasks } = client.experimental
  for await (const message of tasks.callToolStream(begin, undefined, { task: {} })) {
    if (message.type !== 'taskCreated') continue
    const result = (await tasks.getTaskResult(message.task.taskId, CallToolResultSchema)) as Loose
    assert.equal(result.content[0].text, '{"status":"succeeded","rows":7}')
    break
  }
  assert.equal(asked.filter((one) => one === 'GET /jobs/1').length, 3)
})

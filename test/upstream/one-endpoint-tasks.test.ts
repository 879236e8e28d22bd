import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { startEverything } from '../fixtures/everything/start.ts'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'
import { messages, modernSend, open } from './harness.ts'

const TIMEOUT = { timeout: 60_000 }
const EXTENSION = 'io.modelcontextprotocol/tasks'
const RELATED = 'io.modelcontextprotocol/related-task'

/** An API that is done with an export at the third poll. */
async function exports(t: TestContext, slow: object = {}) {
  const asked: string[] = []
  let polls = 0
  const server = createServer((request, response) => {
    request.resume()
    asked.push(`${request.method} ${request.url}`)
    const isPoll = request.method === 'GET'
    if (isPoll) polls++
    const status = request.method === 'POST' ? 202 : 200
    response.writeHead(status, { 'content-type': 'application/json', location: '/jobs/1' })
    response.end(JSON.stringify(isPoll && polls >= 3 ? { status: 'done', rows: 7 } : { status: 'running' }))
  })
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  const async = { interval: '5ms', done: '{{eq .Response.Data.status "done"}}', ...slow }
  const tools = [{ name: 'export', method: 'POST', endpoint: `${origin}/exports`, async }]
  return { asked, configuration: { name: 'shop', servers: [{ name: 'api' }], tools } }
}

/** A server of 2025-11-25 whose tool `work` makes tasks, of which each is done when its result is wanted. */
async function taskServer(t: TestContext, name: string) {
  const tasks = new Map<string, string>()
  const seen: [method: string, taskId: unknown][] = []
  const server = createServer(async (request, response) => {
    const sent = await text(request)
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params = {} }: Loose = JSON.parse(sent)
    if (id === undefined) return response.writeHead(202).end()
    const { taskId } = params
    if (/^tasks\//.test(method)) seen.push([method, taskId])
    const task = (one: string) => ({
      taskId: one,
      status: tasks.get(one),
      createdAt: '2026-01-01T00:00:00Z',
      lastUpdatedAt: '2026-01-01T00:00:00Z',
      ttl: 60_000,
      pollInterval: 5,
    })
    const answers: Record<string, () => object> = {
      initialize: () => ({
        protocolVersion: '2025-11-25',
        capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
        serverInfo: { name, version: '1' },
      }),
      ping: () => ({}),
      'tools/list': () => ({
        tools: [{ name: 'work', inputSchema: { type: 'object' }, execution: { taskSupport: 'optional' } }],
      }),
      'tools/call': () => {
        tasks.set(`t${tasks.size + 1}`, 'working')
        return { task: task(`t${tasks.size}`) }
      },
      'tasks/list': () => ({ tasks: [...tasks.keys()].map(task) }),
      'tasks/get': () => task(taskId),
      'tasks/result': () => {
        tasks.set(taskId, 'completed')
        return { content: [{ type: 'text', text: name }], _meta: { [RELATED]: { taskId } } }
      },
      'tasks/cancel': () => {
        tasks.set(taskId, 'cancelled')
        return task(taskId)
      },
    }
    const error = { code: -32602, message: 'no such task' }
    const isKnown = taskId === undefined || tasks.has(taskId)
    const outcome = isKnown && answers[method] ? { result: answers[method]() } : { error }
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `of-${name}` })
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
  })
  const url = `http://127.0.0.1:${await listening(t, server)}/mcp`
  return { url, seen, server: { name, type: 'streamable-http', url } }
}

/** One endpoint of the export and these servers. */
async function together(t: TestContext, shop: object, mcpServers: readonly object[], router: object = {}) {
  const all = { name: 'all', routers: [{ prefix: '/', server: ['shop/*', 'mcp/*'], ...router }] }
  const { base } = await gatewayHere(t, all, undefined, {}, [shop, { name: 'mcp', mcpServers }])
  return `${base}/mcp`
}

/** One request of 2026-07-28. */
async function ask(url: string, method: string, params: Loose, tasks = true): Promise<Loose> {
  const capabilities = tasks ? { extensions: { [EXTENSION]: {} } } : {}
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities }
  return (await messages(await modernSend(url, method, { ...params, _meta }))).at(-1)
}

for (const names of ['prefixed', 'plain'])
  test(`tasks of 2026-07-28 through a mixed router, of both kinds: ${names}`, TIMEOUT, async (t) => {
    const { asked, configuration } = await exports(t)
    const server = { name: 'ev', type: 'streamable-http', url: await startEverything(t, 'http', 'modern') }
    const url = await together(t, configuration, [server], { names })
    const nameOf = (of: string, tool: string) => (names === 'plain' ? tool : `${of}__${tool}`)
    const { capabilities } = (await ask(url, 'server/discover', {})).result
    assert.deepEqual(capabilities.extensions, { [EXTENSION]: {} })
    const list = (await ask(url, 'tools/list', {})).result.tools.map(({ name }: Loose) => name)
    assert.ok(list.includes('get_operation_result') && list.includes(nameOf('ev', 'slow_compute')))

    const { result: local } = await ask(url, 'tools/call', { name: nameOf('api', 'export') })
    assert.deepEqual([local.resultType, local.status], ['task', 'working'])
    const { taskId } = local
    const statuses: string[] = []
    for (const _ of [1, 2, 3]) statuses.push((await ask(url, 'tasks/get', { taskId })).result.status)
    assert.deepEqual(statuses, ['working', 'working', 'completed'])
    assert.deepEqual(asked, ['POST /exports', 'GET /jobs/1', 'GET /jobs/1', 'GET /jobs/1'])
    assert.equal((await ask(url, 'tasks/cancel', { taskId })).result.resultType, 'complete')

    const compute = { name: nameOf('ev', 'slow_compute'), arguments: { seconds: 0, label: 'it' } }
    const { result: theirs } = await ask(url, 'tools/call', compute)
    assert.equal(theirs.resultType, 'task')
    assert.match(theirs.taskId, /^ev__/)
    const get = async () => (await ask(url, 'tasks/get', { taskId: theirs.taskId })).result
    let found = await get()
    while (found.status === 'working') found = await get()
    assert.deepEqual([found.taskId, found.status], [theirs.taskId, 'completed'])
    assert.equal(found.result.content[0].text, 'Computed it.')

    const job = { name: nameOf('ev', 'confirm_delete'), arguments: { filename: 'a' } }
    const { result: asking } = await ask(url, 'tools/call', job)
    const { inputRequests } = (await ask(url, 'tasks/get', { taskId: asking.taskId })).result
    assert.deepEqual(Object.keys(inputRequests), ['confirm'])
    const inputResponses = { confirm: { action: 'accept', content: { confirm: true } } }
    await ask(url, 'tasks/update', { taskId: asking.taskId, inputResponses })
    assert.equal((await ask(url, 'tasks/get', { taskId: asking.taskId })).result.status, 'completed')
    const { result: third } = await ask(url, 'tools/call', job)
    await ask(url, 'tasks/cancel', { taskId: third.taskId })
    assert.equal((await ask(url, 'tasks/get', { taskId: third.taskId })).result.status, 'cancelled')

    for (const forged of ['x', `${taskId}x`, 'ev__none', theirs.taskId.slice(4), '', 'api__x'])
      assert.equal((await ask(url, 'tasks/get', { taskId: forged })).error?.code, -32602, forged)
    assert.equal((await ask(url, 'tasks/get', { taskId }, false)).error.code, -32021)
  })

test('tasks of 2025-11-25 through a mixed router, of both kinds', TIMEOUT, async (t) => {
  const { configuration } = await exports(t)
  const [one, two] = [await taskServer(t, 'one'), await taskServer(t, 'two')]
  const url = await together(t, configuration, [one.server, two.server])
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never)
  t.after(() => client.close())
  assert.deepEqual(client.getServerCapabilities()?.tasks?.requests, { tools: { call: {} } })
  await client.listTools()
  const { tasks } = client.experimental
  const run = async (name: string) => {
    let taskId = ''
    let result: Loose
    for await (const message of tasks.callToolStream({ name, arguments: {} }, undefined, { task: {} })) {
      if (message.type === 'taskCreated') taskId = message.task.taskId
      else if (message.type === 'error') throw message.error
      else if (message.type === 'result') result = message.result
      // A server ends a task of this test when its result is asked for.
      if (message.type === 'taskStatus' && name.endsWith('work'))
        await tasks.getTaskResult(taskId, CallToolResultSchema)
    }
    assert.equal(result._meta[RELATED].taskId, taskId)
    return { taskId, said: result.content[0].text }
  }
  assert.equal((await run('api__export')).said, '{"status":"done","rows":7}')
  assert.deepEqual(await run('one__work'), { taskId: 'one__t1', said: 'one' })
  assert.deepEqual(await run('two__work'), { taskId: 'two__t1', said: 'two' })
  assert.ok([...one.seen, ...two.seen].every(([, taskId]) => taskId === 't1'))

  const stream = tasks.callToolStream({ name: 'two__work', arguments: {} }, undefined, { task: {} })
  for await (const message of stream) {
    if (message.type !== 'taskCreated') continue
    assert.equal((await tasks.cancelTask(message.task.taskId)).taskId, 'two__t2')
    break
  }
  assert.deepEqual(
    (await tasks.listTasks()).tasks.map(({ taskId, status }) => [taskId, status]),
    [
      ['one__t1', 'completed'],
      ['two__t1', 'completed'],
      ['two__t2', 'cancelled'],
    ],
  )
  for (const forged of ['x', 't1', 'one__t2', 'one__two__t1', 'three__t1'])
    await assert.rejects(tasks.getTask(forged), { code: -32602 }, forged)
  assert.ok(!one.seen.some(([, taskId]) => taskId === 'x' || taskId === 'three__t1'))
})

test('a client without tasks gets a handle of a mixed router, and its result', TIMEOUT, async (t) => {
  const { configuration } = await exports(t, { interval: '1h' })
  const { server } = await taskServer(t, 'one')
  const url = await together(t, configuration, [server])
  const session = await open(url)
  const handle = await session.call('api__export')
  const args = JSON.parse(/`get_operation_result` with (\{.*\})\.$/.exec(handle)![1]!)
  for (const _ of [1, 2]) assert.match(await session.call('get_operation_result', args), /is still running/)
  assert.equal(await session.call('get_operation_result', args), '{"status":"done","rows":7}')
  assert.match(await session.call('get_operation_result', { id: 'one__t1' }), /No operation with this id/)
})

test('where nothing has tasks there are no methods for them', TIMEOUT, async (t) => {
  const { configuration } = await exports(t)
  const { tools } = configuration
  const plain = { ...configuration, tools: tools.map(({ async: _, ...tool }) => tool) }
  const server = { name: 'ev', type: 'streamable-http', url: await startEverything(t, 'http', 'session') }
  const session = await open(await together(t, plain, [server]))
  assert.equal(session.initialized.result.capabilities.tasks, undefined)
  for (const method of ['tasks/list', 'tasks/get', 'tasks/result'])
    assert.equal((await session.request(method, { taskId: 'x' })).error?.code, -32601, method)
})

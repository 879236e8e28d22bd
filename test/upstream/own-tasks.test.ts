import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import type { Loose } from '../support/wire.ts'
import { type Client, modern, open } from './harness.ts'

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const EXTENSION = 'io.modelcontextprotocol/tasks'

/** A server of one revision that counts its tasks, and knows no callers. */
async function counting(t: TestContext, name: string, revision: string, more: object) {
  const isModern = revision === '2026-07-28'
  let count = 0
  const seen: [method: string, params: Loose][] = []
  const task = (taskId: string) => ({
    taskId,
    status: 'working',
    createdAt: '2026-01-01T00:00:00Z',
    lastUpdatedAt: '2026-01-01T00:00:00Z',
    ...(isModern ? { ttlMs: 60_000 } : { ttl: 60_000 }),
  })
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params = {} }: Loose = JSON.parse(text)
    if (id === undefined) return response.writeHead(202).end()
    seen.push([method, params])
    const tasks = isModern
      ? { extensions: { [EXTENSION]: {} } }
      : { tasks: { cancel: {}, requests: { tools: { call: {} } } } }
    const capabilities = { tools: {}, ...tasks }
    const { taskId } = params
    const results: Record<string, () => object> = {
      ...(isModern
        ? { 'server/discover': () => ({ supportedVersions: [revision], capabilities }) }
        : {
            initialize: () => ({
              protocolVersion: revision,
              capabilities,
              serverInfo: { name, version: '1' },
            }),
          }),
      'tools/list': () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
      'tools/call': () => {
        const made = task(`t${++count}`)
        return isModern ? { resultType: 'task', ...made } : { task: made }
      },
      'tasks/get': () => task(taskId),
      'tasks/cancel': () => task(taskId),
      'tasks/result': () => ({ content: [{ type: 'text', text: 'secret' }] }),
    }
    const result = results[method]?.()
    const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
    const whole = JSON.stringify({ jsonrpc: '2.0', id, ...answer })
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(whole),
      ...(!isModern && { 'mcp-session-id': 'one' }),
    }
    return response.writeHead(200, headers).end(whole)
  })
  const url = `http://127.0.0.1:${await listening(t, server)}/mcp`
  return { seen, entry: { name, type: 'streamable-http', url, ...more } }
}

const META = { _meta: { [CAPABILITIES]: { extensions: { [EXTENSION]: {} } } } }
const CLIENTS: Record<string, (url: string, caller: string) => Promise<Client> | Client> = {
  '2025-11-25': (url, caller) => open(url, authorized(caller)),
  '2026-07-28': (url, caller) => modern(url, authorized(caller)),
}
const authorized = (caller: string) => ({ authorization: `Bearer ${caller}-token` })
const tokens = ['ann', 'bob'].map((caller) => ({ token: `${caller}-token`, caller }))

const SERVERS: [revision: string, more: object][] = [
  ['2025-11-25', { isolation: 'shared' }],
  ['2025-11-25', { isolation: 'credential' }],
  ['2026-07-28', { isolation: 'shared' }],
  ['2026-07-28', {}],
]

for (const [revision, more] of SERVERS)
  test(`a task is unknown to all but its caller: ${revision} ${JSON.stringify(more)}`, async (t) => {
    const { seen, entry } = await counting(t, 's', revision, more)
    const auth = { type: 'bearer', tokens }
    const { base } = await gatewayHere(t, {
      name: 'p',
      routers: [
        { server: 's', prefix: '/one', auth },
        { server: ['s'], prefix: '/list', auth },
      ],
      mcpServers: [entry],
    })
    for (const prefix of ['/one', '/list'])
      for (const [era, connect] of Object.entries(CLIENTS)) {
        const url = `${base}${prefix}/mcp`
        const [ann, bob] = [await connect(url, 'ann'), await connect(url, 'bob')]
        const what = `${prefix} ${era}`
        const name = prefix === '/one' ? 'work' : 's__work'
        const { result } = await ann.request('tools/call', { name, arguments: {}, task: {}, ...META })
        const { taskId } = result.task ?? result
        assert.match(taskId, /^(?:s__)?t\d+$/, `${what} ${JSON.stringify(result)}`)
        const before = seen.length
        for (const method of ['tasks/get', 'tasks/cancel', 'tasks/result', 'tasks/update']) {
          const { error } = await bob.request(method, { taskId, ...META })
          assert.ok([-32601, -32602].includes(error?.code), `${what} ${method} ${JSON.stringify(error)}`)
        }
        const reached = seen.slice(before)
        assert.ok(
          !reached.some(([method]) => method.startsWith('tasks/')),
          `${what} ${JSON.stringify(reached)}`,
        )
        for (const method of ['tasks/get', 'tasks/cancel'])
          assert.equal((await ann.request(method, { taskId, ...META })).result?.taskId, taskId, what)
      }
  })

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { check } from '../../src/build/check-configurations.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { gatewayOver } from '../support/gateway.ts'
import { isThere, temporaryFolder } from '../support/process.ts'
import { modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import { body, events, INITIALIZE, type Loose, open, post, rpc } from '../support/wire.ts'
import { META, messages } from './harness.ts'
import { held } from './held.ts'
import { tiny } from './tiny.ts'

const TIMEOUT = { timeout: 60_000 }
const SERVER = { type: 'stdio', ...faultyStdio('session') }

async function gateway(t: TestContext) {
  const folder = temporaryFolder(t)
  const lines: string[] = []
  const to = { write: (line: string) => void lines.push(line) }
  const write = (name: string, server: object, more = {}) => {
    const routers = [{ server: name, prefix: `/${name}` }]
    const text = stringify({ name, routers, mcpServers: [{ name, ...SERVER, ...server }], ...more })
    writeFileSync(join(folder, `${name}.yaml`), text)
  }
  const start = async () => {
    const log = await createLog({ level: 'error', format: 'json', to })
    const env = { PATH: process.env.PATH, HOME: process.env.HOME }
    const made = await gatewayOver(t, [folder], {}, { env, log })
    const { app } = made.gateway
    const call = async (prefix: string, session: Record<string, string>, name: string) => {
      const response = await post(app, `${prefix}/mcp`, rpc('tools/call', { name, arguments: {} }), session)
      return response.status === 200 ? (await body(response)).result.content[0].text : response.status
    }
    return { ...made, call }
  }
  /** Errors of the log. */
  const logged = (): Loose[] => lines.map((line) => JSON.parse(line))
  return { folder, write, start, logged }
}

test(
  'a reload keeps the process of a server that did not change, and starts that of one that did anew',
  TIMEOUT,
  async (t) => {
    const { write, start } = await gateway(t)
    write('same', {})
    write('other', {})
    const { gateway: made, call } = await start()
    const [same, other] = [await open(made.app, '/same'), await open(made.app, '/other')]
    const pids = [Number(await call('/same', same, 'pid')), Number(await call('/other', other, 'pid'))]
    const headers = { accept: 'text/event-stream', ...other }
    const stream = await made.app.request('/other/mcp', { headers })
    write('same', {}, { 'x-note': 'the definition of the server is what it was' })
    write('other', { env: { NEW: 'yes' } })
    const { changed } = await made.reload()
    assert.deepEqual(changed, ['other', 'same'])
    const told = (await events(stream, 3)).map(({ data }) => JSON.parse(data).method.split('/')[1])
    assert.deepEqual(told.sort(), ['prompts', 'resources', 'tools'])
    assert.equal(Number(await call('/same', same, 'pid')), pids[0])
    await until(() => !isThere(pids[1]!))
    assert.match(String(await call('/other', other, 'environment')), /"NEW":"yes"/)
    pids[1] = Number(await call('/other', other, 'pid'))
    await made.close()
    assert.ok(!pids.some(isThere))
  },
)

test(
  'a call that is under way ends on the server it began with, its questions answered',
  TIMEOUT,
  async (t) => {
    const { write, start } = await gateway(t)
    write('a', {})
    const { gateway: made, call } = await start()
    const session = await open(made.app, '/a')
    const pid = Number(await call('/a', session, 'pid'))
    const asking = await post(
      made.app,
      '/a/mcp',
      rpc('tools/call', { name: 'ask', arguments: {} }, 'held'),
      session,
    )
    const reader = asking.body!.getReader()
    const decoder = new TextDecoder()
    let asked = ''
    while (!asked.includes('"ask-held"')) asked += decoder.decode((await reader.read()).value)
    write('a', { env: { NEW: 'yes' } })
    await made.reload()
    assert.ok(isThere(pid))
    const next = Number(await call('/a', session, 'pid'))
    assert.ok(next > 0 && next !== pid, 'the session goes on with the new server')
    assert.ok(isThere(pid))
    const answer = { jsonrpc: '2.0', id: 'ask-held', result: { roots: [] } }
    assert.equal((await post(made.app, '/a/mcp', answer, session)).status, 202)
    assert.match(new TextDecoder().decode((await reader.read()).value), /"id":"held","result"/)
    await until(() => !isThere(pid))
  },
)

test(
  'a session goes on when the url of its server changes, with what the client has said',
  TIMEOUT,
  async (t) => {
    const { write, start } = await gateway(t)
    const [one, two] = [await tiny(t, 'one'), await tiny(t, 'two')]
    const at = ({ url }: { url: string }) => ({
      type: 'streamable-http',
      url,
      command: undefined,
      args: undefined,
    })
    write('a', at(one))
    const { gateway: made, call } = await start()
    const session = await open(made.app, '/a')
    assert.equal(await call('/a', session, 'who'), 'one')
    await post(made.app, '/a/mcp', rpc('logging/setLevel', { level: 'error' }), session)
    write('a', at(two))
    await made.reload()
    assert.equal(await call('/a', session, 'who'), 'two')
    assert.equal(await call('/a', session, 'who'), 'two')
    assert.deepEqual(
      two.seen.filter((method) => method !== 'server/discover' && method !== 'GET'),
      ['initialize', 'notifications/initialized', 'logging/setLevel', 'tools/call', 'tools/call'],
    )
    await until(() => one.seen.includes('DELETE'))
  },
)

test(
  'preinstalled: a server that does not start is logged and shown, and the others are served',
  TIMEOUT,
  async (t) => {
    const { write, start, logged } = await gateway(t)
    write('good', { preinstalled: true })
    write('bad', { ...faultyStdio('session', { start: 'exit' }), preinstalled: true })
    write('varies', { preinstalled: true, env: { KEY: '{{.Request.Headers.Key}}' } })
    const { findings, gateway: made, call } = await start()
    assert.deepEqual(
      findings.map(({ code, severity }) => [code, severity]),
      [['upstream-start', 'warning']],
    )
    assert.match(findings[0]!.message, /"varies" cannot be started before a request/)
    made.startServers()
    assert.equal(await call('/good', await open(made.app, '/good'), 'echo'), '{}')
    await until(() => logged().length > 0)
    assert.deepEqual(
      logged().map(({ server, reason }) => [server, reason]),
      [['bad', 'The server bad ended with exit code 3; the call was not repeated']],
    )
    const { proxy } = made.table().routes.get('/bad')!
    assert.deepEqual(proxy!.proxy.status().state, 'failing')
    assert.match(proxy!.proxy.status().faults!.join(), /The server bad ended with exit code 3/)
  },
)

for (const change of ['changed', 'taken out'])
  test(
    `calls under way end on the server they began with, which is ${change} meanwhile`,
    TIMEOUT,
    async (t) => {
      const { folder, write, start } = await gateway(t)
      const [one, two] = [held(temporaryFolder(t)), held(temporaryFolder(t))]
      write('a', one.server)
      write('b', two.server)
      const { gateway: made } = await start()
      const call = rpc('tools/call', { name: 'any', arguments: {} })
      const session = await open(made.app, '/a')
      const alone = modernHeaders('tools/call', 'any')
      const standing = { ...call, params: { ...call.params, _meta: META } }
      const calls = [post(made.app, '/a/mcp', call, session), post(made.app, '/b/mcp', standing, alone)]
      await until(() => one.begun() && two.begun())
      for (const [name, { server }] of [
        ['a', one],
        ['b', two],
      ] as const)
        if (change === 'changed') write(name, { ...server, env: { NEW: 'yes' } })
        else rmSync(join(folder, `${name}.yaml`))
      const { changed, removed } = await made.reload()
      assert.deepEqual(change === 'changed' ? changed : removed, ['a', 'b'])
      one.release()
      two.release()
      for (const answer of await Promise.all(calls))
        assert.equal((await messages(answer)).at(-1)!.result?.content[0].text, 'done')
      if (change === 'changed') return
      assert.equal((await post(made.app, '/a/mcp', call, session)).status, 404)
      await until(() => made.registry.counts().sessions === 0)
    },
  )

test(
  'subscriptions of clients without sessions hear of a server that changed, and end with a result',
  TIMEOUT,
  async (t) => {
    const { folder, write, start } = await gateway(t)
    const url = await startEverything(t, 'http', 'modern')
    const servers = {
      bytes: { type: 'streamable-http', url, command: undefined, args: undefined },
      child: everythingStdio('modern'),
      session: everythingStdio('session'),
    }
    const names = Object.keys(servers)
    for (const [name, server] of Object.entries(servers)) write(name, server)
    const { gateway: made } = await start()
    const listen = (name: string) => {
      const params = { notifications: { toolsListChanged: true }, _meta: META }
      const headers = modernHeaders('subscriptions/listen')
      return post(made.app, `/${name}/mcp`, rpc('subscriptions/listen', params, `of ${name}`), headers)
    }
    /** What comes on each after it was acknowledged, once something has happened, until it ends. */
    async function heard(happens: () => Promise<unknown>): Promise<string[][]> {
      const streams = await Promise.all(names.map(listen))
      const firsts = await Promise.all(streams.map((stream) => events(stream, 1)))
      for (const [{ data } = { data: '' }] of firsts)
        assert.equal(JSON.parse(data).method, 'notifications/subscriptions/acknowledged')
      await happens()
      const all = await Promise.all(streams.map((stream) => events(stream, Number.POSITIVE_INFINITY)))
      return all.map((told, i) =>
        told.map(({ data }) => {
          const { id, method, params, result } = JSON.parse(data)
          const tag = (params ?? result)._meta['io.modelcontextprotocol/subscriptionId']
          assert.equal(tag, `of ${names[i]}`)
          return method ?? `${id === tag && result.resultType}`
        }),
      )
    }
    const changed = await heard(() => {
      for (const [name, server] of Object.entries(servers)) write(name, { ...server, startupTimeout: '20s' })
      return made.reload()
    })
    for (const told of changed) assert.deepEqual(told, ['notifications/tools/list_changed', 'complete'])
    for (const told of await heard(() => made.registry.drain())) assert.deepEqual(told, ['complete'])
    const removed = await heard(() => {
      for (const name of names) rmSync(join(folder, `${name}.yaml`))
      return made.reload()
    })
    for (const told of removed) assert.deepEqual(told, ['complete'])
  },
)

test('a call that is cut off as the gateway ends says so', TIMEOUT, async (t) => {
  const { write, start } = await gateway(t)
  let asked = 0
  const server = createServer((request, response) => {
    request.resume()
    asked++
    t.after(() => response.destroy())
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  write('a', { type: 'streamable-http', url: `http://127.0.0.1:${port}/mcp` })
  const { gateway: made } = await start()
  const call = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} })
  const answer = post(made.app, '/a/mcp', call)
  await until(() => asked > 0)
  await made.close()
  assert.match((await body(await answer)).error?.message ?? '', /The session with the server a has ended/)
})

test(
  'a reload does not wait for the servers that it starts; calls wait, and fail with them',
  TIMEOUT,
  async (t) => {
    const { folder, write, start, logged } = await gateway(t)
    write('a', { policy: 'onStart', isolation: 'shared' })
    write('b', {})
    const { gateway: made, call } = await start()
    const session = await open(made.app, '/a')
    await call('/a', session, 'pid')
    const starts = join(folder, 'starts')
    const mute = `require('node:fs').appendFileSync(process.argv[1], 'x'); process.stdin.resume()`
    const silent = { command: process.execPath, args: ['-e', mute, starts], startupTimeout: '1s' }
    write('a', { ...silent, policy: 'onStart' })
    write('b', {}, { 'x-note': 'changed' })
    const { refused, changed, generation, findings } = await made.reload()
    assert.deepEqual([refused, changed, generation, findings], [[], ['a', 'b'], 2, []])
    const status = () => made.table().routes.get('/a')!.proxy!.proxy.status()
    assert.equal(status().state, 'starting')
    // One deadline for the probe and the handshake, and one child for the start and the call.
    const answer = await post(made.app, '/a/mcp', INITIALIZE)
    assert.match((await body(answer)).error.message, /No response from the server a for 1 s/)
    assert.equal(readFileSync(starts, 'utf8'), 'x')
    await until(() => logged().length > 0)
    assert.match(logged()[0]!.reason, /No response from the server a for 1 s/)
    assert.equal(status().state, 'failing')
    write('a', { policy: 'onStart', isolation: 'shared', env: { NEW: 'yes' } })
    assert.deepEqual((await made.reload()).changed, ['a'])
    assert.match(String(await call('/a', await open(made.app, '/a'), 'environment')), /"NEW":"yes"/)
    assert.equal(status().faults, undefined)
  },
)

test('what is wrong with an MCP server is found without starting it', TIMEOUT, async (t) => {
  const { folder, write } = await gateway(t)
  write('a', { isolation: 'shared', env: { KEY: '{{.Request.Headers.Key}}' }, headers: { A: 'b' } })
  const { findings } = await check([folder], { env: {} })
  assert.deepEqual(findings.map(({ code }) => code).sort(), ['key-without-effect', 'upstream-shared'])
  assert.ok(findings.every(({ range }) => range))
})

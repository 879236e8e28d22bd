import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { connect, createServer as createSocketServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Client as ModernClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { stringify } from 'yaml'
import { everythingStdio } from '../fixtures/everything/start.ts'
import { listening } from '../support/listening.ts'
import { BIN, isThere, plantgw, temporaryFolder } from '../support/process.ts'
import { progressOf } from '../support/progress.ts'
import { restTest } from '../support/rest.ts'
import { ALONE, initialize, talk } from '../support/talk.ts'
import { until } from '../support/until.ts'

/** An API that answers `/now` at once, and anything else when the test says so. */
async function api(t: TestContext) {
  const waiting: ServerResponse[] = []
  let arrived = () => {}
  const server = createServer((request, response) => {
    if (request.url === '/now') return response.end('now')
    waiting.push(response)
    arrived()
  })
  const base = `http://127.0.0.1:${await listening(t, server)}`
  return {
    base,
    async next(): Promise<ServerResponse> {
      if (!waiting.length) await new Promise<void>((resolve) => (arrived = resolve))
      return waiting.shift()!
    },
  }
}

const http = (name: string, base: string, more: object = {}, tools = ['now', 'later']) => ({
  name,
  routers: [{ prefix: `/${name}`, server: name, ...more }],
  servers: [{ name }],
  tools: tools.map((tool) => ({
    name: tool,
    description: 'A tool.',
    method: 'GET',
    endpoint: `${base}/${tool}`,
    responseBody: '{{.Response.Body}}',
  })),
})

const everything = (era: 'session' | 'modern') => ({
  name: 'every',
  routers: [{ prefix: '/every', server: 'every' }],
  mcpServers: [{ name: 'every', type: 'stdio', ...everythingStdio(era) }],
})

function folderOf(t: TestContext, ...configurations: { name: string }[]): string {
  const folder = temporaryFolder(t)
  for (const one of configurations) write(folder, one)
  return folder
}

function write(folder: string, one: { name: string }): void {
  writeFileSync(join(folder, `${one.name}.yaml`), stringify(one))
}

const names = ({ result }: { result: { tools: { name: string }[] } }) => result.tools.map(({ name }) => name)

for (const era of ['session', 'modern'] as const)
  for (const generation of ['1.x', '2.x in 2026-07-28', '2.x in earlier revisions']) {
    const inGate = era === 'session' ? generation === '1.x' : generation.endsWith('2026-07-28')
    const run = inGate ? test : restTest
    run(
      `a client of the ${generation} SDK, before HTTP tools and a server of the era ${era}`,
      {},
      async (t) => {
        const { base } = await api(t)
        const folder = folderOf(t, http('web', base), everything(era))
        const command = { command: process.execPath, args: [BIN, 'serve', '--stdio', folder, '--quiet'] }
        const info = { name: 'test', version: '1' }
        const elicitation = { capabilities: { elicitation: { form: {} } } }
        const answer = async () => ({ action: 'accept' as const, content: { name: 'Ada', username: 'ada' } })
        let client: Client
        if (generation === '1.x') {
          const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js')
          client = new Client(info, elicitation)
          client.setRequestHandler(ElicitRequestSchema, answer as never)
          await client.connect(new StdioClientTransport(command))
        } else {
          const mode = generation.endsWith('2026-07-28') ? { pin: '2026-07-28' } : ('legacy' as const)
          const modern = new ModernClient(info, { ...elicitation, versionNegotiation: { mode } } as never)
          modern.setRequestHandler('elicitation/create', answer as never)
          await modern.connect(new ModernStdio(command))
          client = modern as never
        }
        t.after(() => client.close())
        const { tools } = await client.listTools()
        assert.ok(
          tools.some(({ name }) => name === 'web__now') &&
            tools.some(({ name }) => name === 'every__test_simple_text'),
        )
        const text = async (name: string, args: Record<string, unknown> = {}) =>
          JSON.stringify((await client.callTool({ name, arguments: args })).content)
        assert.match(await text('web__now'), /now/)
        assert.match(await text('every__test_simple_text'), /simple text response/)
        assert.match(await text('every__test_elicitation', { message: 'Who?' }), /accept/)
        const heard = progressOf(client)
        const onprogress = () => {}
        const telling = { name: 'every__test_tool_with_progress', arguments: {} }
        if (generation === '1.x') await client.callTool(telling, undefined as never, { onprogress })
        else await (client as never as ModernClient).callTool(telling, { onprogress } as never)
        assert.deepEqual(heard, [0, 50, 100])
      },
    )
  }

test('lines that are no messages, or too long, are answered by errors; what dependencies print is no message', async (t) => {
  const { base } = await api(t)
  const folder = folderOf(t, http('web', base))
  const settings = join(folder, 'settings.yml')
  writeFileSync(settings, 'limits: { maxRequestSize: 10000 }\n')
  const print =
    "data:text/javascript,setInterval(() => Object.hasOwn(process.stdout, 'write') && console.log('chatter'), 5).unref()"
  const it = talk(t, [join(folder, 'web.yaml'), '-s', settings], { node: ['--import', print] })
  const error = async () =>
    (await it.next((message) => 'error' in message)) as { id: unknown; error: { code: number } }
  it.send('nonsense')
  assert.deepEqual([(await error()).error.code], [-32700])
  // Blank lines are no messages, and a byte order mark belongs to none.
  for (const line of ['\r', '', ' \t\r', '\ufeff{"jsonrpc":"2.0","id":1}\r']) it.send(line)
  assert.equal((await error()).error.code, -32600)
  it.send({ jsonrpc: '2.0', id: 'early', method: 'tools/list' })
  assert.equal((await error()).id, 'early')
  const long = {
    method: 'tools/call',
    params: { name: 'now', arguments: { x: 'x'.repeat(20_000) } },
    jsonrpc: '2.0',
    id: 7,
  }
  it.send(long)
  const refused = await error()
  assert.deepEqual([refused.id, refused.error.code], [7, -32600])
  await initialize(it)
  assert.deepEqual(names(await it.ask(8, 'tools/list')), ['now', 'later'])
  await it.until(/chatter/)
  it.end()
  assert.equal(await it.ended, 0)
  assert.deepEqual(it.garbage, [])
})

test('batches where the revision has them, and nowhere else', async (t) => {
  const { base } = await api(t)
  const batch = JSON.stringify([
    { jsonrpc: '2.0', id: 1, method: 'ping' },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ])
  const folder = folderOf(t, http('web', base))
  const old = talk(t, [folder])
  assert.equal((await initialize(old, '2025-03-26')).result.protocolVersion, '2025-03-26')
  old.send(batch)
  const answers = await old.next((message) => Array.isArray(message))
  assert.deepEqual(answers.map(({ id }: { id: number }) => id).sort(), [1, 2])
  const fresh = talk(t, [folder])
  await initialize(fresh)
  fresh.send(batch)
  assert.equal((await fresh.next((message) => 'error' in message)).error.code, -32600)
})

test('at the end of the input calls are answered, questions are not waited for, and children end', async (t) => {
  const { base, next } = await api(t)
  const it = talk(t, [folderOf(t, http('web', base), everything('session')), '--log-level', 'debug'])
  await initialize(it, '2025-11-25', { elicitation: { form: {} } })
  it.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'web__later', arguments: {} } })
  it.send({
    jsonrpc: '2.0',
    id: 2,
    method: 'tools/call',
    params: { name: 'every__test_elicitation', arguments: { message: 'Who?' } },
  })
  it.send({
    jsonrpc: '2.0',
    id: 3,
    method: 'tools/call',
    params: { ...ALONE, name: 'web__later', arguments: {} },
  })
  await it.next((message) => message.method === 'elicitation/create')
  const child = Number(/"pid":(\d+)/.exec(it.stderr())?.[1])
  assert.ok(isThere(child))
  const held = [await next(), await next()]
  it.end()
  await it.until(/shutting down/)
  for (const response of held) response.end('late')
  assert.match(JSON.stringify(await it.next(({ id }) => id === 1)), /late/)
  assert.match(JSON.stringify(await it.next(({ id }) => id === 3)), /late/)
  assert.ok(await it.next(({ id }) => id === 2))
  assert.equal(await it.ended, 0)
  await until(() => !isThere(child))
})

test('SIGTERM after the end of the input ends calls at once; a client that has gone does no harm', async (t) => {
  const { base, next } = await api(t)
  const folder = folderOf(t, http('web', base))
  const it = talk(t, [folder])
  await initialize(it)
  it.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'later', arguments: {} } })
  await next()
  it.end()
  await it.until(/shutting down/)
  it.kill('SIGTERM')
  assert.match((await it.next(({ id }) => id === 1)).error.message, /shutting down/)
  assert.equal(await it.ended, 0)

  const deaf = talk(t, [folder])
  await initialize(deaf)
  deaf.deafen()
  for (let id = 0; id < 5; id++) deaf.send({ jsonrpc: '2.0', id, method: 'tools/list' })
  assert.equal(await deaf.ended, 0)
  assert.doesNotMatch(deaf.stderr(), /EPIPE/)
})

test('a client whose socket for the output is reset has gone: the command ends', async (t) => {
  const folder = folderOf(t, http('web', 'http://127.0.0.1:1'))
  const server = createSocketServer()
  const output = connect(await listening(t, server), '127.0.0.1')
  // It is reset here too.
  output.on('error', () => {})
  const [client] = (await once(server, 'connection')) as [Socket]
  const child = spawn(process.execPath, [BIN, 'serve', folder, '--stdio'], {
    stdio: ['pipe', output, 'ignore'],
  })
  t.after(() => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
  child.stdin!.write(ping)
  await once(client, 'data')
  client.resetAndDestroy()
  await once(client, 'close')
  child.stdin!.write(ping)
  assert.deepEqual(await ended, [0, null])
})

test('calls are cancelled by their ids, in a session and alone', async (t) => {
  const { base, next } = await api(t)
  const it = talk(t, [folderOf(t, http('web', base))])
  await initialize(it)
  for (const [id, meta] of [
    ['a', {}],
    ['b', ALONE],
  ] as const) {
    it.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { ...meta, name: 'later', arguments: {} } })
    const response = await next()
    it.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
    await once(response, 'close')
  }
  assert.ok((await it.ask('c', 'ping')).result)
  it.end()
  assert.equal(await it.ended, 0)
})

test('a reload notifies the client, and sessions go on with other kinds of servers', async (t) => {
  const { base } = await api(t)
  const folder = folderOf(t, http('a', base), http('b', base))
  const it = talk(t, [folder, '--log-level', 'debug'])
  await initialize(it)
  it.send({
    jsonrpc: '2.0',
    id: 'sub',
    method: 'subscriptions/listen',
    params: { ...ALONE, notifications: { toolsListChanged: true } },
  })
  await it.next(({ method }) => method === 'notifications/subscriptions/acknowledged')
  assert.deepEqual(names(await it.ask(1, 'tools/list')), ['a__now', 'a__later', 'b__now', 'b__later'])
  write(folder, http('c', base, {}, ['now']))
  it.kill('SIGHUP')
  const isChange = ({ method }: { method?: string }) => method === 'notifications/tools/list_changed'
  await it.next((message) => isChange(message) && message.params?._meta !== undefined)
  await it.next(isChange)
  assert.equal(names(await it.ask(2, 'tools/list')).length, 5)
  write(folder, everything('session'))
  it.kill('SIGHUP')
  await it.next(isChange)
  const after = names(await it.ask(3, 'tools/list'))
  assert.ok(after.includes('every__test_simple_text') && after.includes('a__now'), after.join())
})

test('--prefix chooses; rules of a router do not get lost in the one endpoint', async (t) => {
  const { base } = await api(t)
  const rules = { authorize: { default: 'deny', rules: [{ tools: ['now'] }] } }
  const folder = folderOf(t, http('a', base), http('b', base), http('c', base, rules))
  const all = talk(t, [folder])
  await initialize(all)
  assert.deepEqual(names(await all.ask(1, 'tools/list')), ['a__now', 'a__later', 'b__now', 'b__later'])
  await all.until(/"prefixes":\["\/c"\]/)
  const one = talk(t, [folder, '--prefix', 'c'])
  await initialize(one)
  assert.deepEqual(names(await one.ask(1, 'tools/list')), ['now'])
  assert.deepEqual(names(await one.ask(2, 'tools/list', ALONE)), ['now'])
  for (const [args, said] of [
    [['--stdio', '--prefix', '/d'], /no prefix \/d is served: did you mean \/a|there are/],
    [['--stdio', '--port', '1'], /cannot be used with/],
    [['--prefix', '/a'], /--stdio/],
  ] as const) {
    const wrong = plantgw(t, ['serve', folder, ...args])
    assert.equal(await wrong.ended, 2)
    assert.match(wrong.stderr(), said)
    assert.equal(wrong.stdout(), '')
  }
  writeFileSync(join(folder, 'bad.yaml'), 'name: bad\nrouters: [{ prefix: /bad, server: none }]\n')
  const broken = plantgw(t, ['serve', '--stdio', folder])
  assert.equal(await broken.ended, 1)
  assert.match(broken.stderr(), /bad\.yaml/)
  assert.equal(broken.stdout(), '')
})

test('servers of one name in the one endpoint are a warning that names both', async (t) => {
  const { base } = await api(t)
  const second = { ...http('b', base, { server: 'a' }), servers: [{ name: 'a' }] }
  const folder = folderOf(t, http('a', base), second)
  const it = talk(t, [folder])
  await initialize(it)
  assert.deepEqual(names(await it.ask(1, 'tools/list')), ['a__now', 'a__later'])
  await it.until(/"level":"warn".*"servers":\["a\/a","b\/a"\].*the same name/)
})

test('after an initialize that failed, other requests are told of it', async (t) => {
  const mcpServers = [{ name: 'gone', type: 'stdio', command: join(temporaryFolder(t), 'no-such-program') }]
  const gone = { name: 'gone', routers: [{ prefix: '/gone', server: 'gone' }], mcpServers }
  const folder = folderOf(t, gone)
  const it = talk(t, [folder, '--prefix', '/gone'])
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } }
  const early = await it.ask(1, 'tools/list')
  assert.match(early.error.message, /^Send initialize first, or name the revision/)
  const opened = await it.ask(2, 'initialize', params)
  assert.match(opened.error.message, /^The server gone could not be started/)
  const { error } = await it.ask(3, 'tools/list')
  assert.equal(error.code, -32600)
  assert.match(error.message, /^There is no session: the response to initialize is an error that says why/)
})

test('it runs beside a gateway with the same settings', async (t) => {
  const { base } = await api(t)
  const folder = folderOf(t, http('web', base))
  const settings = join(folder, 'plantgw.yml')
  const pid = join(folder, 'gateway.pid')
  const port = await listening(t, createServer())
  writeFileSync(
    settings,
    stringify({
      port,
      pid,
      plants: { file: join(folder, 'plants.json'), tokens: [{ token: 'a-token-of-plants', caller: 'me' }] },
    }),
  )
  const it = talk(t, ['-s', settings, join(folder, 'web.yaml')])
  await initialize(it)
  assert.deepEqual(names(await it.ask(1, 'tools/list')), ['now', 'later'])
  assert.ok(!existsSync(pid) && !existsSync(join(folder, 'plants.json')))
})

import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../src/telemetry/log.ts'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { gatewayOver } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { temporaryFolder } from '../support/process.ts'
import { modernHeaders } from '../support/served.ts'
import { body, events, type Loose, open, post, rpc } from '../support/wire.ts'
import { META } from './harness.ts'
import { tiny } from './tiny.ts'

const TIMEOUT = { timeout: 60_000 }

/** A gateway of the files of a folder. */
async function gateway(t: TestContext, files: Record<string, object>) {
  const folder = temporaryFolder(t)
  const logged: Loose[] = []
  const to = { write: (line: string) => void logged.push(JSON.parse(line)) }
  const write = (name: string, value: object) =>
    writeFileSync(join(folder, `${name}.yaml`), JSON.stringify({ name, ...value }))
  for (const [name, value] of Object.entries(files)) write(name, value)
  const log = await createLog({ level: 'debug', format: 'json', to })
  const env = { PATH: process.env.PATH, HOME: process.env.HOME }
  const made = await gatewayOver(t, [folder], {}, { env, log })
  if (!made.gateway) throw new Error(JSON.stringify(made.findings))
  const { app, reload } = made.gateway
  /** A request of 2026-07-28, or of the session whose headers are given. */
  const ask = async (
    prefix: string,
    method: string,
    params: Loose = {},
    headers: Record<string, string> = {},
  ) => {
    if (headers['mcp-session-id']) return body(await post(app, `${prefix}/mcp`, rpc(method, params), headers))
    const own = { ...modernHeaders(method, params.name), ...headers }
    return body(await post(app, `${prefix}/mcp`, rpc(method, { ...params, _meta: META }), own))
  }
  const call = async (prefix: string, name: string, headers?: Record<string, string>) => {
    const { result, error } = await ask(prefix, 'tools/call', { name, arguments: {} }, headers)
    return error ? error.message : result.content[0].text
  }
  const names = async (prefix: string, headers?: Record<string, string>, kind = 'tools') => {
    const { result } = await ask(prefix, `${kind}/list`, {}, headers)
    return result[kind].map(({ name }: Loose) => name)
  }
  const remove = (name: string) => rmSync(join(folder, `${name}.yaml`))
  return { app, reload, write, remove, logged, ask, call, names, findings: made.findings }
}

/** An HTTP API that says which path and which caller it was asked for. */
async function api(t: TestContext): Promise<string> {
  const server = createServer((request, response) =>
    response.end(`${request.url} for ${request.headers['x-caller']}`),
  )
  return `http://127.0.0.1:${await listening(t, server)}`
}

function httpService(base: string, server: string, tools: string[], more: object = {}) {
  return {
    servers: [{ name: server, description: `All ${server}` }],
    tools: tools.map((name) => ({
      name,
      description: `Does ${name}.`,
      method: 'GET',
      endpoint: `${base}/${name}`,
      headers: { 'X-Caller': '{{index .Request.Headers "X-Caller"}}' },
      annotations: { readOnlyHint: true },
    })),
    ...more,
  }
}

const at = ({ url }: { url: string }, name: string) => ({
  mcpServers: [{ name, type: 'streamable-http', url }],
})

for (const generation of ['2025-11-25', '2026-07-28'])
  test(`HTTP tools and MCP servers of several files are one endpoint, ${generation}`, TIMEOUT, async (t) => {
    const base = await api(t)
    const prompts = [
      {
        name: 'hello',
        arguments: [],
        promptResponse: [{ role: 'user', content: { type: 'text', text: 'Hi' } }],
      },
    ]
    const one = await gateway(t, {
      shop: httpService(base, 'orders', ['find', 'pay'], { prompts }),
      other: at(await tiny(t, 'one'), 'tiny'),
      all: { routers: [{ server: ['shop/*', 'other/tiny'], prefix: '/' }] },
    })
    assert.deepEqual(
      one.findings.filter(({ severity }) => severity !== 'info'),
      [],
    )
    const headers = generation === '2025-11-25' ? await open(one.app, '') : {}
    assert.deepEqual(await one.names('', headers), ['orders__find', 'orders__pay', 'tiny__who'])
    assert.deepEqual(await one.names('', headers, 'prompts'), ['orders__hello'])
    const { result } = await one.ask('', 'prompts/get', { name: 'orders__hello' }, headers)
    assert.equal(result.messages[0].content.text, 'Hi')
    assert.equal(await one.call('', 'tiny__who', headers), 'one')
    // Each call has the headers of its own request, also within a session.
    for (const caller of ['alice', 'bob'])
      assert.equal(
        await one.call('', 'orders__find', { ...headers, 'x-caller': caller }),
        `/find for ${caller}`,
      )
    assert.match(await one.call('', 'orders__none', headers), /Unknown tool/)
    assert.match(await one.call('', 'find', headers), /Unknown tool/)
    const lines = one.logged
      .filter(({ msg }) => msg === 'tool call')
      .map(({ tool, prefix }) => `${prefix} ${tool}`)
    assert.ok(lines.includes('/ orders__find') && lines.includes('/ tiny__who'), lines.join())
  })

test(
  'a reload of one file changes its tools at the router of another, and nothing else',
  TIMEOUT,
  async (t) => {
    const base = await api(t)
    const upstream = await tiny(t, 'one')
    const one = await gateway(t, {
      shop: httpService(base, 'orders', ['find']),
      stock: httpService(base, 'stock', ['count']),
      other: at(upstream, 'tiny'),
      all: { routers: [{ server: ['*/*'], prefix: '/all' }] },
    })
    const session = await open(one.app, '/all')
    const stream = await one.app.request('/all/mcp', { headers: { accept: 'text/event-stream', ...session } })
    assert.deepEqual(await one.names('/all', session), ['orders__find', 'stock__count', 'tiny__who'])
    const opened = () => upstream.seen.filter((method) => method === 'initialize').length
    const before = opened()

    one.write('shop', httpService(base, 'orders', ['find', 'pay']))
    assert.deepEqual((await one.reload()).changed, ['all', 'shop'])
    assert.match((await events(stream, 1))[0]!.data, /tools\/list_changed/)
    assert.deepEqual(await one.names('/all', session), [
      'orders__find',
      'orders__pay',
      'stock__count',
      'tiny__who',
    ])
    assert.equal(await one.call('/all', 'orders__pay', session), '/pay for undefined')

    one.remove('stock')
    await one.reload()
    assert.deepEqual(await one.names('/all', session), ['orders__find', 'orders__pay', 'tiny__who'])
    assert.match(await one.call('/all', 'stock__count', session), /Unknown tool/)

    // A broken file keeps what it served.
    one.write('shop', { servers: [{ name: 'orders', nonsense: 1 }] })
    assert.deepEqual((await one.reload()).refused, ['shop'])
    assert.equal(await one.call('/all', 'orders__find', session), '/find for undefined')
    assert.equal(await one.call('/all', 'tiny__who', session), 'one')
    assert.equal(opened(), before, 'the session with the MCP server is what it was')

    one.remove('other')
    await one.reload()
    assert.deepEqual(await one.names('/all'), ['orders__find', 'orders__pay'])
    one.write('other', at(upstream, 'tiny'))
    await one.reload()
    assert.deepEqual(await one.names('/all'), ['orders__find', 'orders__pay', 'tiny__who'])
  },
)

test('routers show different tools of the same servers, by their own names', TIMEOUT, async (t) => {
  const base = await api(t)
  const [one, two] = [await tiny(t, 'one'), await tiny(t, 'two')]
  const server = [
    {
      server: 'shop/orders',
      allowedTools: ['find', 'pay'],
      toolOverrides: { find: { name: 'search', title: 'Search' } },
    },
    { server: 'a/first' },
    { server: 'b/second', toolOverrides: { who: { name: 'who_else' } } },
  ]
  const made = await gateway(t, {
    shop: httpService(base, 'orders', ['find', 'pay', 'who']),
    a: at(one, 'first'),
    b: at(two, 'second'),
    plain: { routers: [{ server, prefix: '/plain', names: 'plain' }] },
    clash: { routers: [{ server: ['a/first', 'b/second'], prefix: '/clash', names: 'plain' }] },
    less: { routers: [{ server: [{ server: 'shop/*', blockedTools: ['pay'] }], prefix: '/less' }] },
  })
  for (const headers of [{}, await open(made.app, '/plain')]) {
    assert.equal(await made.call('/plain', 'who_else', headers), 'two')
    assert.deepEqual(await made.names('/plain', headers), ['search', 'pay', 'who', 'who_else'])
    assert.equal(await made.call('/plain', 'search', headers), '/find for undefined')
    assert.equal(await made.call('/plain', 'who', headers), 'one')
    assert.match(await made.call('/plain', 'find', headers), /Unknown tool/)
  }
  assert.deepEqual(await made.names('/less'), ['orders__find', 'orders__who'])
  assert.match(await made.call('/less', 'orders__pay'), /Unknown tool/)
  assert.deepEqual(await made.names('/clash'), ['who'])
  assert.equal(await made.call('/clash', 'who'), 'one')
  const clash = made.logged.find(({ tool, prefix }) => tool === 'who' && prefix === '/clash')
  assert.match(clash?.msg, /two servers have this tool/)
})

test('one process of a server serves every router that uses it', TIMEOUT, async (t) => {
  const shared = { name: 'files', type: 'stdio', ...faultyStdio('session'), isolation: 'shared' }
  const made = await gateway(t, {
    files: { mcpServers: [shared], routers: [{ server: 'files', prefix: '/files' }] },
    all: {
      routers: [
        { server: ['files/files'], prefix: '/all' },
        { server: ['files/*'], prefix: '/too', names: 'plain' },
      ],
    },
  })
  const pid = await made.call('/files', 'pid')
  assert.match(pid, /^\d+$/)
  assert.equal(await made.call('/all', 'files__pid'), pid)
  assert.equal(await made.call('/too', 'pid'), pid)
  assert.equal(await made.call('/too', 'pid', await open(made.app, '/too')), pid)
  // It is not replaced while a router still uses it.
  made.write('all', { routers: [{ server: ['files/files'], prefix: '/all' }] })
  await made.reload()
  assert.equal(await made.call('/all', 'files__pid'), pid)
})

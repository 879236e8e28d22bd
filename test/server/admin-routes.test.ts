import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { getRequestListener } from '@hono/node-server'
import { type ConfigurationSource, fromStore } from '../../src/build/source.ts'
import { readSettings } from '../../src/checks/index.ts'
import { openStore } from '../../src/store/index.ts'
import { gatewayOver } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { run, temporaryFolder } from '../support/process.ts'
import { modernHeaders } from '../support/served.ts'
import { INITIALIZE, type Loose, META, rpc } from '../support/wire.ts'

const ADMIN = 'an-admin-token-of-30-characters'

const plain = (name: string, more = '') => `
name: ${name}
${more}
routers: [{ server: ${name}, prefix: /${more ? 'green/' : ''}${name} }]
servers: [{ name: ${name}, description: The server ${name} }]
tools: [{ name: get_${name}, description: Gets, method: GET, endpoint: "http://127.0.0.1:9/" }]
`

/** A gateway on a real socket, as who calls is told by the connection. */
async function serve(
  t: TestContext,
  files: Record<string, string>,
  settingsText = '',
  source?: ConfigurationSource,
) {
  const folder = temporaryFolder(t)
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  for (const [name, text] of Object.entries(files)) write(name, text)
  const parts = { version: '9.9.9' }
  const { gateway, findings, settings } = await gatewayOver(t, source ?? [folder], settingsText, parts)
  assert.deepEqual(findings, [])
  const port = await listening(t, createServer(getRequestListener(gateway.app.fetch)))
  const origin = `http://127.0.0.1:${port}`
  const call = (path: string, init: RequestInit = {}) => fetch(origin + path, init)
  const json = async (path: string, init: RequestInit = {}) => {
    const response = await call(path, init)
    return { status: response.status, body: (await response.json()) as Loose }
  }
  // Who has a token in the settings sends it.
  const own = settings.admin?.token === undefined ? {} : { authorization: `Bearer ${settings.admin.token}` }
  const reload = (body = '') => json('/_reload', { method: 'POST', body, headers: own })
  return { gateway, folder, write, call, json, reload, remove: (name: string) => rmSync(join(folder, name)) }
}

test('POST /_reload says what was added, changed, removed and refused, and why', async (t) => {
  const { reload, write, remove } = await serve(t, { 'a.yaml': plain('a'), 'b.yaml': plain('b') })
  const none = { generation: 1, added: [], changed: [], removed: [], refused: [], findings: [] }
  assert.deepEqual(await reload(), { status: 200, body: none })
  write('c.yaml', plain('c'))
  write('a.yaml', plain('a').replace('Gets', 'Gets it'))
  remove('b.yaml')
  const changes = { generation: 2, added: ['c'], changed: ['a'], removed: ['b'] }
  assert.deepEqual(await reload(), { status: 200, body: { ...none, ...changes } })
  write('a.yaml', plain('a').replace('method: GET', 'methd: GET'))
  const { status, body } = await reload()
  assert.equal(status, 422)
  assert.deepEqual([body.generation, body.refused, body.changed], [2, ['a'], []])
  const [finding] = body.findings
  assert.deepEqual([finding.code, finding.severity, finding.line], ['unknown-key', 'error', 6])
  assert.match(finding.hint, /method/)
})

test('POST /_reload takes the name of one configuration, and no configuration', async (t) => {
  const { reload, write } = await serve(t, { 'a.yaml': plain('a'), 'b.yaml': plain('b') })
  write('a.yaml', plain('a').replace('Gets', 'Gets it'))
  write('b.yaml', plain('b').replace('Gets', 'Gets it'))
  assert.deepEqual((await reload('{"name":"b"}')).body.changed, ['b'])
  const unknown = await reload('{"name":"bb"}')
  assert.equal(unknown.status, 404)
  assert.match(unknown.body.message, /No configuration is named "bb": did you mean b\?/)
  for (const body of '{"name":1} [] {} null x {"name":"a","routers":[]} {"configuration":{}}'.split(' '))
    assert.equal((await reload(body)).status, 400, body)
  assert.equal((await reload(`{"name":"${'a'.repeat(5000)}"}`)).status, 413)
})

test('with an admin token every request needs it, also from this machine', async (t) => {
  const { json, call } = await serve(t, { 'a.yaml': plain('a') }, `admin: {token: ${ADMIN}}`)
  const paths = [
    ['/_reload', 'POST'],
    ['/_diff', 'GET'],
    ['/_status', 'GET'],
    ['/metrics', 'GET'],
  ] as const
  for (const [path, method] of paths) {
    const without = await json(path, { method })
    assert.equal(without.status, 401, path)
    assert.match(without.body.message, /Authorization: Bearer/)
    const wrong = await call(path, { method, headers: { authorization: `Bearer ${ADMIN}x` } })
    assert.equal(wrong.status, 401)
    assert.equal(wrong.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
    const authorization = `Bearer ${ADMIN}`
    const right = await call(path, { method, headers: { via: '1.1 proxy', authorization } })
    assert.equal(right.status, 200, path)
    const foreign = await json(path, { method, headers: { origin: 'https://evil.example', authorization } })
    assert.equal(foreign.status, 403, path)
  }
  const refused = await call('/_reload')
  assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'POST'])
  assert.equal((await call('/_health', { headers: { via: '1.1 proxy' } })).status, 200)
})

test('who guesses the admin token behind a trusted proxy keeps out nobody who comes from elsewhere', async (t) => {
  const { call } = await serve(
    t,
    { 'a.yaml': plain('a') },
    `admin: { token: ${ADMIN} }\ntrustedProxies: [127.0.0.1]\nlimits: { maxFailedLogins: 2 }`,
  )
  const status = async (token: string, client: string) => {
    const headers = { authorization: `Bearer ${token}`, 'x-forwarded-for': client }
    return (await call('/_status', { headers })).status
  }
  const guesses = []
  for (const token of ['a', 'b', 'c', ADMIN]) guesses.push(await status(token, '203.0.113.7'))
  assert.deepEqual(guesses, [401, 401, 429, 429])
  assert.equal(await status(ADMIN, '198.51.100.9'), 200)
})

test('GET /_status shows what is live', async (t) => {
  const { json, write, reload, gateway, call } = await serve(t, {
    'a.yaml': plain('a'),
    'm.yaml': `
name: m
routers: [{ server: m, prefix: /m }]
mcpServers: [{ name: m, type: stdio, command: node, args: [none.js] }]
`,
  })
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const opened = await call('/a/mcp', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify(rpc('initialize', params)),
  })
  assert.equal(opened.status, 200)
  write('a.yaml', plain('a').replace('method', 'methd'))
  await reload()
  const { body } = await json('/_status')
  assert.deepEqual([body.version, body.pid, body.generation, body.sessions], ['9.9.9', process.pid, 1, 1])
  const [a, m] = body.configurations
  assert.deepEqual([a.name, a.tenant, a.refused, m.name, m.refused], ['a', 'default', true, 'm', false])
  assert.match(a.version, /^[0-9a-f]{12}$/)
  assert.ok(Date.parse(a.since) > 0 && a.ageSeconds >= 0)
  const [first, second] = body.prefixes
  assert.deepEqual([first.prefix, first.tools, first.sessions], ['/a', ['get_a'], 1])
  assert.deepEqual([second.upstream.servers, second.upstream.state], [['m'], 'idle'])
  assert.deepEqual(
    [body.reloads.length, body.reloads[0].triggers, body.reloads[0].refused],
    [1, ['api'], ['a']],
  )
  assert.equal(body.reloads[0].findings[0].code, 'unknown-key')
  // People get the console.
  const page = await call('/_status', { headers: { accept: 'text/html' } })
  assert.match(page.url, /\/_console$/)
  assert.match(await page.text(), /The newest version of .* was\s+refused/)
  assert.equal(page.headers.get('x-frame-options'), 'DENY')
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(page.headers.get('referrer-policy'), 'same-origin')
  assert.equal(gateway.table().generation, 1)
})

test('the status names the versions that are served, and what is refused until it is mended', async (t) => {
  const file = join(temporaryFolder(t), 'store.json')
  const store = await openStore({ type: 'lowdb', file }, {})
  const put = (name: string, text: string, version?: string) =>
    store.apply([{ name, tenant: 'default', text, ...(version && { version }) }], { author: 'ann' })
  await put('a', plain('a'))
  await put('b', plain('b'))
  const { json, call, reload } = await serve(t, {}, '', fromStore(store))
  const shown = async () =>
    (await json('/_status')).body.configurations.map(({ name, version, refused }: Loose) => [
      name,
      version,
      refused,
    ])
  await put('a', plain('a').replace('method', 'methd'), '1')
  await put('b', plain('b').replace('Gets', 'Gets it'), '1')
  assert.equal((await reload('{"name":"a"}')).status, 422)
  const before = [
    ['a', '1', true],
    ['b', '1', false],
  ]
  assert.deepEqual(await shown(), before)
  await put('c', plain('c'))
  assert.equal((await reload('{"name":"c"}')).status, 200)
  assert.deepEqual(await shown(), [...before, ['c', '1', false]])
  assert.match(
    await (await call('/metrics')).text(),
    /configuration_refused\{configuration="a",tenant="default"\} 1/,
  )
  await put('a', plain('a'), '2')
  await reload()
  assert.deepEqual(await shown(), [
    ['a', '3', false],
    ['b', '2', false],
    ['c', '1', false],
  ])
  // The store may have told of the change before whoever made it asks for the reload.
  await store.apply([{ name: 'c', tenant: 'default', version: '1', deleted: true }], { author: 'ann' })
  assert.deepEqual((await reload()).body.removed, ['c'])
  assert.equal((await reload('{"name":"c"}')).status, 200)
})

/** Calls a tool without arguments or a session. */
async function callTool(call: Awaited<ReturnType<typeof serve>>['call'], path: string, name: string) {
  const body = rpc('tools/call', { name, _meta: META })
  const called = await call(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...modernHeaders('tools/call', name),
    },
    body: JSON.stringify(body),
  })
  return ((await called.json()) as Loose).result
}

test('/metrics counts reloads, calls and what is live', async (t) => {
  const { call, write, reload } = await serve(t, { 'a.yaml': plain('a') })
  write('b.yaml', plain('b'))
  await reload()
  write('b.yaml', 'name: b\nrouters: 1')
  await reload()
  assert.equal((await callTool(call, '/a/mcp', 'get_a')).isError, true)
  const response = await call('/metrics')
  assert.match(response.headers.get('content-type')!, /^text\/plain; version=0\.0\.4/)
  const text = await response.text()
  for (const line of [
    'plantgw_generation 2',
    'plantgw_configurations{tenant="default"} 2',
    'plantgw_reloads_total{trigger="api",outcome="applied"} 1',
    'plantgw_reloads_total{trigger="api",outcome="refused"} 1',
    'plantgw_configuration_refused{configuration="b",tenant="default"} 1',
    'plantgw_tool_calls_total{tenant="default",prefix="/a",tool="get_a",outcome="failed"} 1',
    'mcp_server_operation_duration_seconds_count{tenant="default",prefix="/a",mcp_method_name="tools/call",gen_ai_tool_name="get_a",mcp_protocol_version="2026-07-28",outcome="failed",error_type="tool_error"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), line)
  assert.match(text, /^process_resident_memory_bytes \d+/m)
})

test('a call whose response is above maxResponseSize was sent, and counts as failed', async (t) => {
  const answer = Buffer.alloc(64 * 1024, 'x')
  const upstream = createServer(({ url }, response) => {
    if (url === '/encoded') response.setHeader('content-encoding', 'gzip')
    response.end(url === '/encoded' ? gzipSync(answer) : answer)
  })
  const port = await listening(t, upstream)
  const origin = `http://127.0.0.1:${port}`
  const text = `
name: a
routers: [{ server: a, prefix: /a }]
servers: [{ name: a, description: The server, limits: { maxResponseSize: 16KiB } }]
tools:
  - { name: get_plain, description: Gets, method: GET, endpoint: "${origin}/plain" }
  - { name: get_encoded, description: Gets, method: GET, endpoint: "${origin}/encoded" }
`
  const { call } = await serve(t, { 'a.yaml': text })
  for (const name of ['get_plain', 'get_encoded']) {
    const result = await callTool(call, '/a/mcp', name)
    assert.match(result.content[0].text, /\(200\) is larger than the limit of 16 KiB \(maxResponseSize\)/)
  }
  const metrics = await (await call('/metrics')).text()
  const counted = [...metrics.matchAll(/^plantgw_tool_calls_total\{.*tool="(.*)",outcome="(.*)"\} (\d+)$/gm)]
  assert.deepEqual(counted.map(([, ...values]) => values).sort(), [
    ['get_encoded', 'failed', '1'],
    ['get_plain', 'failed', '1'],
  ])
})

const TENANTS = `
admin: {token: ${ADMIN}}
tenants:
  - {name: green, prefix: /green, tokens: [{token: green-secret, caller: gina}]}
  - {name: blue, prefix: /blue}
`

test("a tenant's credential reaches its prefixes and its part of the status, and no others", async (t) => {
  const { call, json, write, reload } = await serve(
    t,
    { 'a.yaml': plain('a'), 'g.yaml': plain('g', 'tenant: green') },
    TENANTS,
  )
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const body = JSON.stringify(INITIALIZE)
  const open = (path: string, token?: string) =>
    call(path, {
      method: 'POST',
      body,
      headers: { ...headers, ...(token && { authorization: `Bearer ${token}` }) },
    })
  assert.equal((await open('/green/g/mcp')).status, 401)
  assert.equal((await open('/green/g/mcp', 'blue-secret')).status, 401)
  assert.equal((await open('/green/g/mcp', 'green-secret')).status, 200)
  assert.equal((await open('/a/mcp')).status, 200)

  write('a.yaml', plain('a').replace('method', 'methd'))
  await reload()
  const authorization = 'Bearer green-secret'
  const { body: status } = await json('/_status', { headers: { authorization } })
  assert.deepEqual(
    [status.configurations.map((one: { name: string }) => one.name), status.prefixes.length, status.pid],
    [['g'], 1, undefined],
  )
  assert.ok(!JSON.stringify(status).includes('a.yaml'))
  assert.deepEqual([status.reloads[0].refused, status.reloads[0].findings], [[], []])
  for (const [path, method] of [
    ['/_reload', 'POST'],
    ['/metrics', 'GET'],
  ] as const)
    assert.equal((await call(path, { method, headers: { authorization } })).status, 403)
})

test('two tenants use the same name, and neither notices the other', async (t) => {
  const of = (tenant: string, more = '') =>
    plain('same', `tenant: ${tenant}\n${more}`).replace('/green/same', `/${tenant}/same`)
  const { call, write, reload, json } = await serve(
    t,
    { 'g.yaml': of('green'), 'b.yaml': of('blue'), 'a.yaml': plain('a') },
    TENANTS,
  )
  const admin = { headers: { authorization: `Bearer ${ADMIN}` } }
  const live = async () =>
    (await json('/_status', admin)).body.configurations.map((one: Record<string, unknown>) => [
      one.tenant,
      one.name,
      one.refused,
    ])
  assert.deepEqual((await live()).sort(), [
    ['blue', 'same', false],
    ['default', 'a', false],
    ['green', 'same', false],
  ])
  write('b.yaml', of('blue').replace('method', 'methd'))
  write('g.yaml', of('green', 'x-changed: true'))
  const one = await reload('{"name":"green/same"}')
  assert.deepEqual([one.status, one.body.changed, one.body.refused], [200, ['green/same'], []])
  assert.deepEqual(
    (await live()).map(([, , refused]: unknown[]) => refused),
    [false, false, false],
  )
  const all = await reload()
  assert.deepEqual([all.status, all.body.changed, all.body.refused], [422, [], ['blue/same']])
  const shown = (await json('/_status', { headers: { authorization: 'Bearer green-secret' } })).body
  assert.deepEqual(
    shown.configurations.map((each: { name: string; refused: boolean }) => [each.name, each.refused]),
    [['same', false]],
  )
  assert.deepEqual(
    shown.reloads.flatMap((each: { refused: string[] }) => each.refused),
    [],
  )
  assert.ok(!JSON.stringify(shown).includes('b.yaml'))
  assert.match(
    await (await call('/metrics', admin)).text(),
    /configuration_refused\{configuration="same",tenant="blue"\} 1/,
  )
  const both = await reload('{"name":"same"}')
  assert.deepEqual([both.status, both.body.refused], [422, ['blue/same']])
  // What has no tenant is meant by its name alone, whatever names tenants take.
  write('own.yaml', plain('same'))
  assert.deepEqual((await reload('{"name":"same"}')).body.added, ['same'])
})

test('prefixes of a tenant are enforced', async (t) => {
  const { write, reload } = await serve(t, { 'a.yaml': plain('a') }, TENANTS)
  write('g.yaml', plain('g', 'tenant: green').replace('/green/g', '/g'))
  write('b.yaml', plain('b', 'tenant: bleu'))
  write('c.yaml', plain('c').replace('/c', '/blue/c'))
  const { body } = await reload()
  const found = body.findings.map(({ code, message }: { code: string; message: string }) => [code, message])
  assert.deepEqual(found, [
    ['unknown-tenant', 'there is no tenant `bleu`'],
    ['tenant-prefix', 'the prefix `/blue/c` is reserved for a tenant'],
    ['tenant-prefix', 'the prefix `/g` is not below `/green`, the prefix of the tenant `green`'],
  ])
  assert.deepEqual(body.refused.sort(), ['bleu/b', 'c', 'green/g'])
})

test('what is wrong with tenants of the settings is told, and no token with it', () => {
  const { findings } = readSettings(
    {
      file: 'plantgw.yaml',
      text: `
tenants:
  - {name: green, prefix: /green, tokens: [{token: s3cret, caller: a}]}
  - {name: green, prefix: /other}
  - {name: below, prefix: /green/below, tokens: [{token: s3cret, caller: b}]}
`,
    },
    {},
  )
  const codes = findings.map(({ code }) => code).sort()
  assert.deepEqual(codes, ['duplicate-name', 'duplicate-prefix', 'duplicate-token'])
  assert.ok(!JSON.stringify(findings).includes('s3cret'))
  const admin = 'admin: {token: s3cret-of-the-admin}\n'
  const tenant = 'tenants: [{name: a, prefix: /a, tokens: [{token: s3cret-of-the-admin, caller: a}]}]'
  const shared = readSettings({ file: 'plantgw.yaml', text: admin + tenant }, {}).findings
  assert.deepEqual(
    shared.map(({ code }) => code),
    ['duplicate-token'],
  )
  for (const text of [
    'admin: {token: short}',
    'tenants: [{name: a, prefix: /a/}]',
    'tenants: [{name: a, prefix: a}]',
  ])
    assert.deepEqual(
      readSettings({ file: 'plantgw.yaml', text }, {}).findings.map(({ code }) => code),
      ['invalid-value'],
    )
})

test('serve --print-routes prints what would be served and starts nothing', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'a.yaml'), plain('a'))
  writeFileSync(join(folder, 'b.yaml'), plain('b').replace('method', 'methd'))
  const pid = join(folder, 'plantgw.pid')
  const { code, stdout, stderr } = await run(t, ['serve', folder, '--print-routes', '--pid', pid])
  assert.equal(code, 1)
  assert.match(stderr, /unknown-key/)
  assert.match(stdout, /^MCP .*\n\/a\/mcp +\/a\/sse +a +default +open +tools: get_a\n$/)
  assert.ok(!existsSync(pid))
})

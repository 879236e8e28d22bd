import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fill, smallDisk } from '../support/disk.ts'
import { listening } from '../support/listening.ts'
import { ROOT, temporaryFolder } from '../support/process.ts'
import { MODERN_META, modernHeaders, type Served, served } from '../support/served.ts'
import type { Loose } from '../support/wire.ts'
import { batching } from '../upstream/batching.ts'

const TIMEOUT = { timeout: 120_000 }
const ANN = { authorization: 'Bearer token-of-ann' }
const DECLARED = { name: 'say', inputSchema: { type: 'object' } }
/** An MCP server that declares one tool. */
const SERVER = `require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const serverInfo = { name: 's', version: '1' }
  const result = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools: [${JSON.stringify(DECLARED)}] },
  }[method]
  const answer = result ? { result } : { error: { code: -32601, message: 'Method not found' } }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
})`

async function api(t: TestContext, says = 'ok'): Promise<string> {
  const server = createServer((_, response) => response.end(says))
  const port = await listening(t, server)
  return `http://127.0.0.1:${port}/`
}

const shop = (endpoint: string) => ({
  name: 'shop',
  routers: [
    {
      server: 'shop',
      prefix: '/shop',
      auth: { type: 'bearer', tokens: [{ token: 'token-of-ann', caller: 'ann', scopes: ['read'] }] },
      authorize: {
        rules: [{ tools: ['get_*'] }, { tools: ['delete_*'], scopes: ['write'] }, { prompts: ['*'] }],
      },
    },
  ],
  servers: [{ name: 'shop' }],
  tools: ['get_item', 'delete_item', 'hidden'].map((name) => ({ name, method: 'GET', endpoint })),
  prompts: [{ name: 'advice', promptResponse: [{ role: 'user', content: { type: 'text', text: 'Buy.' } }] }],
})
const open = (endpoint: string, more: object = {}) => ({
  name: 'open',
  routers: [{ server: 'open', prefix: '/open', ...more }],
  servers: [{ name: 'open' }],
  tools: [
    { name: 'ping', method: 'GET', endpoint },
    { name: 'meta', method: 'GET', endpoint: 'http://169.254.169.254/' },
  ],
})

const parsed = (path: string): Loose[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))

/** A call that needs no session. */
const alone = (gateway: Served, name: string, args: object = {}, headers: Record<string, string> = {}) => {
  const params = JSON.stringify({ name, arguments: args }).slice(0, -1)
  return gateway.post(
    `/open/mcp`,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params},${MODERN_META}}}`,
    { ...modernHeaders('tools/call', name), ...headers },
  )
}

async function end(gateway: Served): Promise<void> {
  gateway.child.kill('SIGTERM')
  assert.equal(await gateway.ended, 0)
}

const settingsOf = (path: string, audit: object = {}, more: object = {}) => ({
  settings: { audit: { to: 'file', path, ...audit }, drain: { grace: '0s' }, ...more },
})

test('names that clients choose steer no terminal and end no line', TIMEOUT, async (t) => {
  const path = join(temporaryFolder(t), 'audit.jsonl')
  const gateway = await served(t, [open(await api(t))], settingsOf(path, { args: 'full' }))
  const name = '\u009b31m\u0085\u2028\u202e\u007f\u001b\n{"event":"call"}'
  const session = await gateway.open('/open', '2025-11-25')
  const params = { name, arguments: { [name]: name } }
  await gateway.post('/open/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, session)
  await end(gateway)
  const call = parsed(path).find((line) => line.method === 'tools/call')!
  assert.deepEqual([call.name, call.arguments], [name, { [name]: name }])
  for (const text of [readFileSync(path, 'utf8'), gateway.stderr()]) {
    assert.ok(text.includes('\\u009b31m'), text)
    assert.doesNotMatch(text, /[\u007f-\u009f\u2028\u202e\u001b]/)
  }
})

test('refused credentials that no limit counts do not fill the disk', TIMEOUT, async (t) => {
  const path = join(temporaryFolder(t), 'audit.jsonl')
  const auth = { type: 'jwt', issuers: [{ issuer: 'https://auth.example.com' }] }
  const more = { publicUrl: 'https://tools.example.com' }
  const gateway = await served(t, [open(await api(t), { auth })], settingsOf(path, {}, more))
  for (let i = 0; i < 200; i++) await gateway.post('/open/mcp?access_token=x', {})
  await end(gateway)
  const failed = parsed(path).filter(({ event }) => event === 'login-failed')
  assert.ok(failed.length >= 30 && failed.length < 100, String(failed.length))
})

/** The rows of docs/audit.md: members that an event always has, and those that it may have. */
function documented(): Map<string, { always: string[]; perhaps: string[] }> {
  const text = readFileSync(join(ROOT, 'docs/audit.md'), 'utf8')
  const names = (cell: string) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name as string)
  return new Map(
    [...text.matchAll(/^\| `([\w-]+)` \|([^|]*)\|([^|]*)\|$/gm)]
      .slice(1)
      .map(([, event, always, perhaps]) => [
        event as string,
        { always: names(always!), perhaps: names(perhaps!) },
      ]),
  )
}

test('a batch that is passed on has a line for each request, and meets pins', TIMEOUT, async (t) => {
  const path = join(temporaryFolder(t), 'audit.jsonl')
  const server = await batching(t, [DECLARED])
  const mcp = { name: 's', type: 'streamable-http', url: server.url, pin: 'warn' }
  const batches = { name: 'batches', routers: [{ server: 's', prefix: '/batches' }], mcpServers: [mcp] }
  const pinned = { say: { ...DECLARED, description: 'Says.' } }
  const gateway = await served(t, [batches], {
    ...settingsOf(path),
    lock: { version: 1, servers: { 'batches/s': { tools: pinned, prompts: {} } } },
  })
  const session = await gateway.open('/batches', '2025-03-26')
  const batch = [
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'say', arguments: {} } },
    { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: 1, progress: 1 } },
    { jsonrpc: '2.0', id: 2, method: 'tools/list' },
  ]
  const answer = await gateway.post('/batches/mcp', batch, { ...session, 'x-request-id': 'b1' })
  assert.equal(JSON.parse(answer.text).length, 2)
  await end(gateway)
  const lines = parsed(path)
  assert.deepEqual(
    lines
      .filter(({ requestId }) => requestId === 'b1')
      .map(({ event, method, name, outcome }) => [event, method, name, outcome]),
    [
      ['call', 'tools/call', 'say', 'ok'],
      ['call', 'tools/list', undefined, 'ok'],
    ],
  )
  assert.deepEqual(
    lines.filter(({ event }) => event === 'pin-change').map(({ kind, name, change }) => [kind, name, change]),
    [['tools', 'say', 'changed']],
  )
})

test('each event is one line with its documented members', TIMEOUT, async (t) => {
  const path = join(temporaryFolder(t), 'audit.jsonl')
  const endpoint = await api(t)
  const rate = [{ per: 'address', tools: ['ping'], limit: 1, window: '1h' }]
  const stdio = { name: 's', type: 'stdio', command: process.execPath, args: ['-e', SERVER], pin: 'block' }
  const pins = { name: 'pins', routers: [{ server: 's', prefix: '/pins' }], mcpServers: [stdio] }
  const lock = {
    version: 1,
    servers: { 'pins/s': { tools: { say: { ...DECLARED, description: 'Says.' } }, prompts: {} } },
  }
  const leaking = await api(t, `ghp_${'aB3'.repeat(12)}`)
  const more = { trustedProxies: ['127.0.0.1'], limits: { maxFailedLogins: 2 }, redact: 'patterns' }
  const gateway = await served(t, [open(endpoint, { rate }), pins, shop(leaking)], {
    ...settingsOf(path, {}, more),
    lock,
  })
  const FAR = { 'x-forwarded-for': '198.51.100.7' }
  const id = (requestId: string) => ({ 'x-request-id': requestId })
  const shopping = (method: string, params: object, headers: Record<string, string>) =>
    gateway.post('/shop/mcp', { jsonrpc: '2.0', id: 1, method, params }, { ...ANN, ...headers })

  await gateway.post('/shop/mcp', {}, FAR)
  for (let i = 0; i < 4; i++) await gateway.post('/shop/mcp', {}, { ...FAR, authorization: 'Bearer guess' })
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } }
  const opened = await shopping('initialize', params, id('r1'))
  const session = { 'mcp-session-id': String(opened.headers['mcp-session-id']) }
  await shopping('tools/call', { name: 'get_item' }, { ...session, ...id('r2') })
  assert.equal(
    (await shopping('tools/call', { name: 'delete_item' }, { ...session, ...id('r3') })).status,
    403,
  )
  await shopping('tools/call', { name: 'hidden' }, { ...session, ...id('r4') })
  await shopping('prompts/get', { name: 'advice' }, { ...session, ...id('r5') })
  await gateway.send({ path: '/shop/mcp', method: 'DELETE', headers: { ...ANN, ...session } })
  await alone(gateway, 'meta', {}, { ...FAR, ...id('r6') })
  await alone(gateway, 'ping', {}, { ...FAR, ...id('r7') })
  for (let i = 0; i < 2; i++) assert.equal((await alone(gateway, 'ping', {}, FAR)).status, 429)
  await gateway.post(
    '/pins/mcp',
    `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{${MODERN_META}}}`,
    { ...modernHeaders('tools/list'), ...id('r8') },
  )
  rmSync(join(gateway.folder, 'pins.yaml'))
  await gateway.send({ path: '/_reload' })
  writeFileSync(join(gateway.folder, 'open.yaml'), 'name: open\nroutes: []\n')
  await gateway.send({ path: '/_reload' })
  await end(gateway)

  const at = { tenant: 'default', prefix: '/shop', caller: 'ann', address: '127.0.0.1' }
  const far = { tenant: 'default', prefix: '/open', address: '198.51.100.7' }
  const login = { event: 'login-failed', tenant: 'default', prefix: '/shop', address: '198.51.100.7' }
  const call = { event: 'call', outcome: 'ok', ...at, session: 'S' }
  const denial = { event: 'denial', outcome: 'refused', ...at, method: 'tools/call', session: 'S' }
  const lines = parsed(path)
  const plain = lines.map(({ time, ms, ...line }) => {
    assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    assert.ok(ms === undefined || ms >= 0)
    assert.match(line.session ?? '0123456789abcdef', /^[\da-f]{16}$/)
    return line.session ? { ...line, session: 'S' } : line
  })
  assert.deepEqual(plain, [
    { event: 'change', generation: 1, added: ['open', 'pins', 'shop'], changed: [], removed: [] },
    { ...login, reason: 'unknown' },
    { ...login, reason: 'unknown' },
    { ...login, reason: 'limited' },
    { event: 'session-opened', ...at, session: 'S', requestId: 'r1' },
    { event: 'redacted', tenant: 'default', server: 'shop', kind: 'token', count: 1 },
    { ...call, method: 'tools/call', name: 'get_item', requestId: 'r2' },
    { ...denial, reason: 'scope', name: 'delete_item', requestId: 'r3' },
    { ...denial, reason: 'rule', name: 'hidden', requestId: 'r4' },
    { ...call, method: 'prompts/get', name: 'advice', requestId: 'r5' },
    { event: 'session-closed', ...at, session: 'S' },
    { event: 'outbound-refused', tenant: 'default', class: 'metadata', host: '169.254.169.254' },
    { event: 'call', outcome: 'refused', ...far, method: 'tools/call', name: 'meta', requestId: 'r6' },
    { event: 'call', outcome: 'ok', ...far, method: 'tools/call', name: 'ping', requestId: 'r7' },
    { event: 'rate-refused', ...far, per: 'address' },
    {
      event: 'pin-change',
      tenant: 'default',
      prefix: '/pins',
      server: 's',
      kind: 'tools',
      name: 'say',
      change: 'changed',
      blocked: true,
    },
    {
      event: 'call',
      outcome: 'ok',
      tenant: 'default',
      prefix: '/pins',
      address: '127.0.0.1',
      method: 'tools/list',
      requestId: 'r8',
    },
    { event: 'reload', outcome: 'applied', triggers: ['api'], refused: [] },
    { event: 'change', generation: 2, added: [], changed: [], removed: ['pins'] },
    { event: 'reload', outcome: 'refused', triggers: ['api'], refused: ['open'] },
  ])
  assert.equal(statSync(path).mode & 0o777, 0o600)
  assert.ok(!readFileSync(path, 'utf8').includes(session['mcp-session-id']))

  const events = documented()
  // Of logins: test/credentials/caller-logins.test.ts.
  const seen = new Set([...lines.map(({ event }) => event), 'lines-dropped', 'login', 'edit'])
  assert.deepEqual([...seen].sort(), [...events.keys()].sort())
  for (const { time: _, event, ...members } of lines) {
    const { always, perhaps } = events.get(event)!
    for (const name of always) assert.ok(name in members, `${event} has no ${name}`)
    for (const name in members) assert.ok([...always, ...perhaps].includes(name), `${event} has ${name}`)
  }
})

describe('of arguments', () => {
  const GIVEN = { id: 7, password: 'hunter2', deep: [{ apiKey: 'k', plain: 1.5 }] }
  const SECRET = 'a secret of at least 32 characters'
  const told = async (t: TestContext, audit: object, given: object = GIVEN) => {
    const path = join(temporaryFolder(t), 'audit.jsonl')
    const gateway = await served(t, [open(await api(t))], settingsOf(path, audit))
    await alone(gateway, 'ping', given)
    await end(gateway)
    const [{ argumentNames, argumentsHash, arguments: values, argumentsSize }] = parsed(path).filter(
      ({ event }) => event === 'call',
    ) as [Loose]
    return { argumentNames, argumentsHash, values, argumentsSize }
  }
  const NOTHING = {
    argumentNames: undefined,
    argumentsHash: undefined,
    values: undefined,
    argumentsSize: undefined,
  }

  test('nothing is told by default', TIMEOUT, async (t) => assert.deepEqual(await told(t, {}), NOTHING))
  test('names are told', TIMEOUT, async (t) =>
    assert.deepEqual(await told(t, { args: 'names' }), { ...NOTHING, argumentNames: Object.keys(GIVEN) }),
  )
  test('a hash is of the canonical JSON, with the secret', TIMEOUT, async (t) => {
    const canonical = '{"deep":[{"apiKey":"k","plain":1.5}],"id":7,"password":"hunter2"}'
    const argumentsHash = createHmac('sha256', SECRET).update(canonical).digest('hex')
    assert.deepEqual(await told(t, { args: 'hash', secret: SECRET }), { ...NOTHING, argumentsHash })
  })
  test('of values secrets are masked', TIMEOUT, async (t) => {
    const values = { id: 7, password: '***', deep: [{ apiKey: '***', plain: 1.5 }] }
    assert.deepEqual(await told(t, { args: 'full' }), { ...NOTHING, values })
  })
  test('values that are too large are not told', TIMEOUT, async (t) => {
    const argumentsSize = '{"text":""}'.length + 20_000
    const wanted = { ...NOTHING, argumentNames: ['text'], argumentsSize }
    assert.deepEqual(await told(t, { args: 'full' }, { text: 'x'.repeat(20_000) }), wanted)
  })
})

test('a renamed or removed file is made again, and half of a line is ended', TIMEOUT, async (t) => {
  const folder = temporaryFolder(t)
  const path = join(folder, 'audit.jsonl')
  writeFileSync(path, '{"event":"half')
  const gateway = await served(t, [open(await api(t))], settingsOf(path))
  const callUntilThere = async () => {
    let calls = 0
    do {
      await alone(gateway, 'ping')
      calls++
    } while (!readdirSync(folder).includes('audit.jsonl'))
    return calls
  }
  await alone(gateway, 'ping')
  renameSync(path, join(folder, 'audit.1'))
  const after = await callUntilThere()
  await end(gateway)
  const [half, ...rest] = readFileSync(join(folder, 'audit.1'), 'utf8').split('\n').slice(0, -1)
  assert.equal(half, '{"event":"half')
  const calls = [...rest.map((line) => JSON.parse(line)), ...parsed(path)].filter(
    ({ event }) => event === 'call',
  )
  assert.equal(calls.length, 1 + after)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a gateway that ends under load writes a line for each call that it answered', TIMEOUT, async (t) => {
  const path = join(temporaryFolder(t), 'audit.jsonl')
  const gateway = await served(t, [open(await api(t))], settingsOf(path))
  const answered: string[] = []
  let ending = false
  const client = async (name: number) => {
    for (let i = 0; ; i++) {
      const requestId = `${name}-${i}`
      const { status } = await alone(gateway, 'ping', {}, { 'x-request-id': requestId })
      if (status !== 200) return
      answered.push(requestId)
      if (answered.length >= 500 && !ending) {
        ending = true
        gateway.child.kill('SIGTERM')
      }
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, name) => client(name)))
  assert.equal(await gateway.ended, 0)
  const written = parsed(path).flatMap(({ event, requestId }) => (event === 'call' ? [requestId] : []))
  assert.equal(new Set(written).size, written.length)
  assert.deepEqual(
    answered.filter((requestId) => !written.includes(requestId)),
    [],
  )
})

test('standard output has the lines and nothing else', TIMEOUT, async (t) => {
  const settings = { audit: { to: 'stdout' }, drain: { grace: '0s' } }
  const gateway = await served(t, [open(await api(t))], { settings })
  await alone(gateway, 'ping')
  await end(gateway)
  const lines = gateway
    .stdout()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).event)
  assert.deepEqual(lines, ['change', 'call'])
})

describe('on a full disk', () => {
  const start = async (t: TestContext, audit: object) => {
    const disk = await smallDisk(t)
    if (!disk) return undefined
    const path = join(disk, 'audit.jsonl')
    const gateway = await served(t, [open(await api(t))], settingsOf(path, { args: 'full', ...audit }))
    await fill(disk)
    return { disk, path, gateway, free: () => rmSync(join(disk, 'ballast')) }
  }
  const LARGE = { text: 'x'.repeat(15_000) }
  const said = (gateway: Served, what: string) => gateway.stderr().split(`"msg":"${what}"`).length - 1

  test('fail: closed refuses until there is room, and loses no line', TIMEOUT, async (t) => {
    const started = await start(t, { fail: 'closed' })
    if (!started) return t.skip('only root may mount a small disk')
    const { path, gateway, free } = started
    let served = 0
    let answer = await alone(gateway, 'ping', LARGE)
    for (; answer.status === 200; answer = await alone(gateway, 'ping', LARGE)) served++
    const { status, headers, text } = answer
    assert.deepEqual(
      [status, headers['retry-after'], JSON.parse(text)],
      [
        503,
        '5',
        {
          jsonrpc: '2.0',
          error: {
            code: -32600,
            message:
              'The gateway refuses requests because it cannot write its audit log (audit.fail: closed): try again later',
          },
        },
      ],
    )
    assert.equal((await gateway.send({ path: '/_health', method: 'GET' })).status, 200)
    free()
    await gateway.until(/the audit log is written again/)
    assert.equal((await alone(gateway, 'ping')).status, 200)
    await end(gateway)
    assert.equal(parsed(path).filter(({ event }) => event === 'call').length, served + 1)
    assert.equal(said(gateway, 'cannot write the audit log'), 1)
  })

  test('fail: open serves, and counts the lines that it drops', TIMEOUT, async (t) => {
    const started = await start(t, { fail: 'open' })
    if (!started) return t.skip('only root may mount a small disk')
    const { disk, path, gateway } = started
    const dropped = async () => {
      const { text } = await gateway.send({ path: '/metrics', method: 'GET' })
      return Number(/^plantgw_audit_dropped_total (\d+)$/m.exec(text)![1])
    }
    let calls = 0
    do {
      await Promise.all(
        Array.from({ length: 50 }, async () =>
          assert.equal((await alone(gateway, 'ping', LARGE)).status, 200),
        ),
      )
      calls += 50
    } while (!(await dropped()))
    const lost = await dropped()
    // The folder below the disk has room.
    assert.equal(spawnSync('umount', ['--lazy', disk]).status, 0)
    await gateway.until(/the audit log is written again/)
    await end(gateway)
    assert.equal(said(gateway, 'cannot write the audit log'), 1)
    const told = parsed(path).flatMap(({ event, lines }) => (event === 'lines-dropped' ? [lines] : []))
    assert.deepEqual(told, [lost])
    assert.ok(lost > 0 && lost < calls)
  })
})

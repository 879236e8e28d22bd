import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { readSettings } from '../../src/config/index.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { temporaryFolder } from '../support/process.ts'
import { body, events, open, post, rpc } from '../support/wire.ts'

/** A gateway over a folder of configurations. */
async function gateway(t: TestContext, files: Record<string, string>, skipInvalid = false) {
  const folder = temporaryFolder(t)
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  for (const [name, text] of Object.entries(files)) write(name, text)
  const { settings } = readSettings(undefined, {})
  const log = await createLog({ level: 'silent' })
  const made = await createGateway({
    paths: [folder],
    settings: settings!,
    env: { TOKEN: 's3cret' },
    log,
    version: '9.9.9',
    skipInvalid,
  })
  t.after(() => made.gateway?.close())
  return { ...made, folder, write }
}

const plain = (name: string, prefix = `/${name}`) => `
name: ${name}
routers: [{ server: ${name}, prefix: ${prefix} }]
servers: [{ name: ${name}, description: The server ${name} }]
tools: [{ name: get, description: Gets, method: GET, endpoint: "http://127.0.0.1:9/" }]
`

test('prompts, the nearest tool, allowedTools in their order, and another prefix for SSE', async (t) => {
  const { gateway: made } = await gateway(t, {
    'garden.yaml': `
name: garden
routers: [{ server: garden, prefix: /garden, ssePrefix: /old/garden }]
servers: [{ name: garden, description: Knows plants, allowedTools: [water, find_plant] }]
tools:
  - { name: find_plant, description: Finds, method: GET, endpoint: "http://127.0.0.1:9/" }
  - { name: hidden, description: Hides, method: GET, endpoint: "http://127.0.0.1:9/" }
  - { name: water, description: Waters, method: POST, endpoint: "http://127.0.0.1:9/", meta: { team: green } }
prompts:
  - name: advice
    description: Advice for a plant
    arguments: [{ name: plant, description: Which, required: true }]
    promptResponse:
      - { role: user, content: { type: text, text: "How do I keep {{.Args.plant}} alive?" } }
`,
  })
  const { app } = made!
  const session = await open(app, '/garden')
  const ask = async (method: string, params = {}) =>
    body(post(app, '/garden/mcp', rpc(method, params), session))
  const { tools } = (await ask('tools/list')).result
  assert.deepEqual(
    tools.map(({ name }: { name: string }) => name),
    ['water', 'find_plant'],
  )
  assert.deepEqual(tools[0]._meta, { team: 'green' })
  const unknown = (await ask('tools/call', { name: 'find_plnat' })).error
  assert.deepEqual(unknown, {
    code: -32602,
    message: 'Unknown tool: find_plnat. Did you mean find_plant?',
  })
  assert.equal((await ask('tools/call', { name: 'hidden' })).error.code, -32602)
  assert.equal((await ask('tools/list', { cursor: 'x' })).error.code, -32602)
  assert.deepEqual((await ask('prompts/list')).result.prompts, [
    {
      name: 'advice',
      description: 'Advice for a plant',
      arguments: [{ name: 'plant', description: 'Which', required: true }],
    },
  ])
  const { messages } = (await ask('prompts/get', { name: 'advice', arguments: { plant: 'a fern' } })).result
  assert.deepEqual(messages, [
    { role: 'user', content: { type: 'text', text: 'How do I keep a fern alive?' } },
  ])
  assert.equal((await ask('prompts/get', { name: 'advice' })).error.code, -32602)
  assert.equal((await ask('prompts/get', { name: 'advise' })).error.code, -32602)

  assert.equal((await app.request('/garden/sse')).status, 404)
  const stream = await app.request('/old/garden/sse')
  const [endpoint] = await events(stream, 1)
  assert.match(endpoint!.data, /^\/old\/garden\/message\?sessionId=/)
  await stream.body!.cancel()
})

test('a router with bearer tokens lets in those who have one', async (t) => {
  const { gateway: made } = await gateway(t, {
    'locked.yaml': plain('locked').replace(
      'prefix: /locked',
      'prefix: /locked, auth: { mode: bearer, tokens: [{ token: "${TOKEN}", caller: me }] }',
    ),
  })
  const { app } = made!
  const initialize = rpc('initialize', { protocolVersion: '2025-11-25', capabilities: {} })
  const refused = await post(app, '/locked/mcp', initialize, { authorization: 'Bearer wrong' })
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
  const admitted = await post(app, '/locked/mcp', initialize, { authorization: 'bearer s3cret' })
  assert.equal(admitted.status, 200)
  for (const path of ['/locked/sse', '/locked/message']) assert.equal((await app.request(path)).status, 401)
})

test('paths that nobody serves are 404 and say what an endpoint is', async (t) => {
  const { gateway: made } = await gateway(t, { 'a.yaml': plain('a') })
  for (const path of ['/', '/a', '/a/', '/a/mcp/', '/b/mcp', '/mcp', '/A/mcp', '/plants']) {
    const response = await made!.app.request(path)
    assert.equal(response.status, 404, path)
    assert.match((await body(response)).message, /Nothing is served at/)
  }
})

test('a reload without changes makes no generation and compiles nothing', async (t) => {
  const { gateway: made } = await gateway(t, { 'a.yaml': plain('a'), 'b.yaml': plain('b') })
  const before = made!.table()
  const reload = await made!.reload()
  assert.deepEqual(
    [reload.generation, reload.added, reload.changed, reload.removed, reload.refused],
    [1, [], [], [], []],
  )
  assert.equal(made!.table(), before)
})

test('of two configurations that want a prefix or a name the one that has it keeps it', async (t) => {
  const { gateway: made, write } = await gateway(t, { 'm.yaml': plain('m', '/x') })
  const route = made!.table().routes.get('/x')
  write('a.yaml', plain('a', '/x'))
  write('z.yaml', plain('z', '/X'))
  write('copy.yaml', plain('m', '/copy'))
  const reload = await made!.reload()
  assert.equal(made!.table().routes.get('/x'), route)
  assert.deepEqual([...made!.table().routes.keys()], ['/x'])
  assert.deepEqual(reload.refused.sort(), ['a', 'm', 'z'])
  assert.ok(reload.findings.some(({ code }) => code === 'duplicate-prefix'))
})

test('prefixes can be swapped in one reload', async (t) => {
  const { gateway: made, write } = await gateway(t, {
    'a.yaml': plain('a', '/one'),
    'b.yaml': plain('b', '/two'),
  })
  write('a.yaml', plain('a', '/two'))
  write('b.yaml', plain('b', '/one'))
  const reload = await made!.reload()
  assert.deepEqual(reload.refused, [])
  assert.equal(made!.table().routes.get('/two')!.configuration, 'a')
  assert.equal(made!.table().routes.get('/one')!.configuration, 'b')
})

test('a folder that cannot be read for a moment takes nothing away', async (t) => {
  const { gateway: made, folder } = await gateway(t, { 'a.yaml': plain('a') })
  rmSync(folder, { recursive: true })
  const reload = await made!.reload()
  assert.deepEqual([...made!.table().routes.keys()], ['/a'])
  assert.ok(reload.findings.some(({ code }) => code === 'unreadable-file'))
})

test('reloads asked for at once run one after the other', async (t) => {
  const { gateway: made, write } = await gateway(t, { 'a.yaml': plain('a') })
  write('b.yaml', plain('b'))
  const reloads = await Promise.all([made!.reload(), made!.reload(), made!.reload()])
  assert.deepEqual(
    reloads.map(({ added }) => added),
    [['b'], [], []],
  )
})

test('errors at start leave no gateway behind; --skip-invalid serves the rest', async (t) => {
  const files = { 'a.yaml': plain('a'), 'b.yaml': plain('b').replace('{{', '').replace('9/', '9/{{.Args.x') }
  const strict = await gateway(t, files)
  assert.equal(strict.gateway, undefined)
  assert.ok(strict.findings.some(({ code, file }) => code === 'template-syntax' && file.endsWith('b.yaml')))
  const lenient = await gateway(t, files, true)
  assert.deepEqual([...lenient.gateway!.table().routes.keys()], ['/a'])
})

test('a list of 1,000 tools is the same text for every caller', async (t) => {
  const tools = Array.from(
    { length: 1000 },
    (_, i) =>
      `  - { name: tool_${i}, description: Does ${i}, method: GET, endpoint: "http://127.0.0.1:9/${i}" }`,
  )
  const many = plain('many').replace(/tools:.*\n/, `tools:\n${tools.join('\n')}\n`)
  const { gateway: made } = await gateway(t, { 'many.yaml': many })
  const texts = await Promise.all(
    ['2024-11-05', '2025-11-25'].map(async (revision) => {
      const session = await open(made!.app, '/many', revision)
      return (await post(made!.app, '/many/mcp', rpc('tools/list'), session)).text()
    }),
  )
  assert.equal(texts[0], texts[1])
  assert.equal(JSON.parse(texts[0]!).result.tools.length, 1000)
})

test('what the linter calls an error is not served, and at a reload replaces nothing', async (t) => {
  const wrong = plain('a').replace('127.0.0.1:9/', '127.0.0.1:9/{{.Args.nope}}')
  const strict = await gateway(t, { 'a.yaml': wrong })
  assert.equal(strict.gateway, undefined)
  assert.ok(strict.findings.some(({ code }) => code === 'template-argument'))
  const { gateway: made, write } = await gateway(t, { 'a.yaml': plain('a') })
  const before = made!.table()
  write('a.yaml', wrong)
  assert.deepEqual((await made!.reload()).refused, ['a'])
  assert.equal(made!.table(), before)
})

test('a tool that no server offers is checked with what the servers know', async (t) => {
  const { findings } = await gateway(t, {
    'a.yaml': plain('a')
      .replace('description: The', 'allowedTools: [], config: { u: "http://127.0.0.1:9" }, description: The')
      .replace('http://127.0.0.1:9/"', '{{.Config.u}}/"'),
  })
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['empty-allowed-tools'],
  )
})

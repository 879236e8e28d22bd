import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { check } from '../../src/build/check-configurations.ts'
import { type ConfigurationSource, fromPaths } from '../../src/build/source.ts'
import type { Finding } from '../../src/findings/index.ts'
import { gatewayOver } from '../support/gateway.ts'
import { temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'
import { body, events, INITIALIZE, open, post, rpc } from '../support/wire.ts'

/** A gateway over a folder of configurations. */
async function gateway(
  t: TestContext,
  files: Record<string, string>,
  skipInvalid = false,
  publicUrl?: string,
) {
  const folder = temporaryFolder(t)
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  for (const [name, text] of Object.entries(files)) write(name, text)
  const parts = { env: { TOKEN: 's3cret' }, version: '9.9.9', skipInvalid }
  const made = await gatewayOver(t, [folder], publicUrl === undefined ? {} : { publicUrl }, parts)
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
  assert.deepEqual(unknown, { code: -32602, message: 'Unknown tool: find_plnat. Did you mean find_plant?' })
  assert.deepEqual((await ask('tools/call', { name: 'hidden' })).error, {
    code: -32602,
    message: 'Unknown tool: hidden. The nearest name is water.',
  })
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
      'prefix: /locked, auth: { type: bearer, tokens: [{ token: "${TOKEN}", caller: me }] }',
    ),
  })
  const { app } = made!
  const refused = await post(app, '/locked/mcp', INITIALIZE, { authorization: 'Bearer wrong' })
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('www-authenticate'), 'Bearer error="invalid_token"')
  const admitted = await post(app, '/locked/mcp', INITIALIZE, { authorization: 'bearer s3cret' })
  assert.equal(admitted.status, 200)
  for (const path of ['/locked/sse', '/locked/message']) assert.equal((await app.request(path)).status, 401)
})

test('paths that nobody serves are 404 and say what an endpoint is', async (t) => {
  const { gateway: made } = await gateway(t, { 'a.yaml': plain('a') })
  for (const path of ['/a', '/a/', '/a/mcp//', '/b/mcp', '/mcp', '/A/mcp', '/plants']) {
    const response = await made!.app.request(path)
    assert.equal(response.status, 404, path)
    assert.match((await body(response)).message, /Nothing is served at/)
  }
  const home = await made!.app.request('/')
  assert.equal(home.status, 200)
  assert.deepEqual(Object.keys(await body(home)), ['name', 'message'])
  assert.equal((await made!.app.request('/', { method: 'POST' })).status, 404)
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

test('a reload changes what has changed, be it of the same size, and nothing else', async (t) => {
  const names = Array.from({ length: 40 }, (_, i) => `service-${i + 10}`)
  const texts = Object.fromEntries(names.map((name) => [`${name}.yaml`, plain(name)]))
  const { gateway: made, write } = await gateway(t, texts)
  const before = made!.table()
  write('service-23.yaml', plain('service-23', '/another-23'))
  write('service-42.yaml', plain('service-42').replace('Gets', 'Sets'))
  const reload = await made!.reload()
  assert.deepEqual(reload.changed.sort(), ['service-23', 'service-42'])
  assert.deepEqual([reload.added, reload.removed, reload.findings], [[], [], []])
  const after = made!.table()
  for (const name of names)
    assert.equal(after.prepared.get(name) === before.prepared.get(name), !reload.changed.includes(name), name)
  assert.deepEqual(
    ['/service-23', '/another-23'].map((prefix) => after.routes.has(prefix)),
    [false, true],
  )
  assert.match(after.routes.get('/service-42')!.lists.tools, /Sets/)
  write('service-23.yaml', plain('service-23'))
  assert.deepEqual((await made!.reload()).changed, ['service-23'])
})

test('after reloads without changes each change is seen, also of what is beside the text', async (t) => {
  const {
    gateway: made,
    folder,
    write,
  } = await gateway(
    t,
    { 'a.yaml': plain('a'), 'b.yaml': `${plain('b')}skills: skills\n`, 'c.yaml': plain('c') },
    true,
  )
  const skill = (name: string) => {
    mkdirSync(join(folder, 'skills', name), { recursive: true })
    writeFileSync(
      join(folder, 'skills', name, 'SKILL.md'),
      `---\nname: ${name}\ndescription: Does\n---\nDo.\n`,
    )
  }
  const reloaded = async () => {
    const { added, changed, removed } = await made!.reload()
    for (let i = 0; i < 2; i++) {
      const { generation } = made!.table()
      assert.equal((await made!.reload()).generation, generation)
    }
    return [...added.map((id) => `+${id}`), ...changed.sort(), ...removed.map((id) => `-${id}`)]
  }
  await reloaded()
  skill('one')
  assert.deepEqual(await reloaded(), ['+b'])
  skill('two')
  assert.deepEqual(await reloaded(), ['b'])
  write('c.yaml', plain('c', '/d'))
  assert.deepEqual(await reloaded(), ['c'])
  write('aa.yaml', plain('aa'))
  assert.deepEqual(await reloaded(), ['+aa'])
  assert.deepEqual(await reloaded(), [])
  write('c.yaml', plain('c'))
  rmSync(join(folder, 'a.yaml'))
  assert.deepEqual(await reloaded(), ['c', '-a'])
  write('aa.yaml', plain('aa', '/c'))
  assert.deepEqual((await made!.reload()).refused, ['aa'])
  assert.deepEqual((await made!.reload()).refused, ['aa'])
  write('c.yaml', plain('c', '/other'))
  assert.deepEqual(await reloaded(), ['aa', 'c'])
  assert.deepEqual([...made!.table().routes.keys()].sort(), ['/b', '/c', '/other'])
})

test('an error comes and goes with its file, and is told at every reload until then', async (t) => {
  const { gateway: made, write } = await gateway(t, { 'a.yaml': plain('a'), 'b.yaml': plain('b') })
  const [a] = [...made!.table().prepared.values()]
  write('b.yaml', plain('b').replace('endpoint:', 'enpoint:'))
  const codes = async () => (await made!.reload()).findings.map(({ code }) => code)
  const first = await codes()
  assert.ok(first.length > 0)
  assert.deepEqual(await codes(), first)
  write('b.yaml', plain('b'))
  assert.deepEqual(await codes(), [])
  assert.equal(made!.table().prepared.get('a'), a)
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

test('a newcomer that wants what another one has does not hold up the changes of that one', async (t) => {
  const { gateway: made, write } = await gateway(t, { 'm.yaml': plain('m', '/x'), 'n.yaml': plain('n') })
  write('a.yaml', plain('a', '/X'))
  write('b.yaml', plain('n', '/b'))
  write('m.yaml', plain('m', '/x').replace('Gets', 'Gets it'))
  write('n.yaml', plain('n').replace('Gets', 'Gets it'))
  const reload = await made!.reload()
  assert.deepEqual(
    [reload.changed, reload.refused.sort()],
    [
      ['m', 'n'],
      ['a', 'n'],
    ],
  )
  assert.deepEqual([...made!.table().routes.keys()].sort(), ['/n', '/x'])
  const at = reload.findings.map(({ code, file }) => [code, basename(file)])
  assert.deepEqual(at, [
    ['duplicate-prefix', 'a.yaml'],
    ['duplicate-configuration', 'b.yaml'],
  ])
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

test('a folder that is gone takes nothing away however it is written', async (t) => {
  const { folder, write } = await gateway(t, { 'a.yaml': plain('a') })
  for (const path of [`./${relative('.', folder)}`, `${folder}/../${basename(folder)}/`]) {
    write('a.yaml', plain('a'))
    const made = await gatewayOver(t, [path])
    rmSync(folder, { recursive: true })
    assert.deepEqual((await made.gateway.reload()).removed, [], path)
    mkdirSync(folder)
  }
})

test('while a folder is left half done nothing in it is said to be taken', async (t) => {
  const { gateway: made, write } = await gateway(t, { 'a.yaml': plain('a') })
  write('.plantgw.journal', '{')
  write('a.yaml', plain('a').replace('Gets', 'Gets it'))
  const { findings, refused } = await made!.reload()
  assert.deepEqual([findings.map(({ code }) => code), refused], [['unreadable-store'], ['a']])
})

test('a burst of reloads is one, and what is asked for while one runs is one more', async (t) => {
  const { gateway: made, write } = await gateway(t, { 'a.yaml': plain('a') })
  write('b.yaml', plain('b'))
  const burst = Array.from({ length: 50 }, (_, i) => made!.reloads.request(`burst ${i % 2}`))
  // Under way once the first has begun.
  await Promise.resolve()
  write('c.yaml', plain('c'))
  const more = Array.from({ length: 50 }, () => made!.reload())
  const results = new Set(await Promise.all([...burst, ...more]))
  const history = made!.reloads.history()
  assert.ok(results.size <= 2 && history.length === results.size)
  assert.deepEqual(history.flatMap(({ added }) => added).sort(), ['b', 'c'])
  assert.deepEqual(history.at(-1)!.triggers.slice(0, 2), ['burst 0', 'burst 1'])
})

test('the reload of one configuration leaves the others as they are', async (t) => {
  const { gateway: made, write } = await gateway(t, { 'a.yaml': plain('a'), 'b.yaml': plain('b') })
  const before = made!.table()
  write('a.yaml', plain('a', '/a2'))
  write('b.yaml', plain('b', '/b2'))
  write('c.yaml', 'name: [')
  const reload = await made!.reload('a')
  assert.deepEqual([reload.changed, reload.refused, reload.findings], [['a'], [], []])
  assert.deepEqual([...made!.table().routes.keys()].sort(), ['/a2', '/b'])
  assert.equal(made!.table().prepared.get('b'), before.prepared.get('b'))
  assert.deepEqual((await made!.reload()).changed, ['b'])
})

test('errors at start leave no gateway behind; --skip-invalid serves the rest', async (t) => {
  const files = { 'a.yaml': plain('a'), 'b.yaml': plain('b').replace('{{', '').replace('9/', '9/{{.Args.x') }
  const strict = await gateway(t, files)
  assert.equal(strict.gateway, undefined)
  assert.ok(strict.findings.some(({ code, file }) => code === 'template-syntax' && file.endsWith('b.yaml')))
  const lenient = await gateway(t, files, true)
  assert.deepEqual([...lenient.gateway!.table().routes.keys()], ['/a'])
})

test('a clash is told although one side has another error too, at a strict start and by validate', async (t) => {
  const broken = `${plain('a', '/x')}tols: []\n`
  for (const [other, code] of [
    [plain('b', '/X'), 'duplicate-prefix'],
    [plain('a', '/y'), 'duplicate-configuration'],
  ] as const) {
    const files = { 'a.yaml': broken, 'b.yaml': other }
    const strict = await gateway(t, files)
    const told = (findings: readonly Finding[]) =>
      findings.map(({ code, file, related = [] }) => [
        code,
        ...[file, ...related.map((at) => at.file)].map((at) => basename(at)),
      ])
    const expected = [
      ['unknown-key', 'a.yaml'],
      [code, 'b.yaml', 'a.yaml'],
    ]
    assert.deepEqual(told(strict.findings), expected)
    assert.deepEqual(told((await check([strict.folder], { env: {} })).findings), expected)
    // What is served is at fault with nothing.
    const lenient = await gateway(t, files, true)
    assert.deepEqual(told(lenient.findings), [['unknown-key', 'a.yaml']])
    assert.equal(lenient.gateway!.table().routes.size, 1)
  }
})

test('a prefix takes messages as large as the most generous of the tools that it serves', async (t) => {
  const { gateway: made } = await gateway(t, {
    'a.yaml': `
name: a
routers: [{ server: large, prefix: /large }, { server: small, prefix: /small }]
servers:
  - { name: large, description: Takes much }
  - { name: small, description: Takes little, allowedTools: [get], limits: { maxRequestSize: 1KiB } }
tools:
  - { name: get, description: Gets, method: GET, endpoint: "http://127.0.0.1:9/" }
  - { name: upload, description: Puts, method: PUT, endpoint: "http://127.0.0.1:9/", limits: { maxRequestSize: 6MiB } }
`,
  })
  const { app } = made!
  const status = async (prefix: string, bytes: number) => {
    const session = await open(app, prefix)
    return (await post(app, `${prefix}/mcp`, rpc('ping', { _meta: { pad: ' '.repeat(bytes) } }), session))
      .status
  }
  assert.equal(await status('/large', 5 * 2 ** 20), 200)
  assert.equal(await status('/large', 6 * 2 ** 20), 413)
  assert.equal(await status('/small', 2 ** 10), 413)
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

test('list changes wait for a stream, once each, and only those that the client was told of', async (t) => {
  const prompt =
    'prompts: [{ name: hi, promptResponse: [{ role: user, content: { type: text, text: hi } }] }]\n'
  const {
    gateway: made,
    write,
    folder,
  } = await gateway(t, { 'a.yaml': plain('a') + prompt, 'b.yaml': plain('b') })
  const { app, reload } = made!
  const [a, b] = [await open(app, '/a'), await open(app, '/b')]
  const tool = (name: string) =>
    `  - { name: ${name}, description: d, method: GET, endpoint: "http://127.0.0.1:9/" }\n`
  for (const name of ['one', 'two']) {
    const tools = plain('a').replace(/tools: .*\n/, `tools:\n${tool(name)}`)
    write('a.yaml', tools)
    write('b.yaml', plain('b').replace(/tools: .*\n/, `tools:\n${tool(name)}`) + prompt)
    await reload()
  }
  assert.deepEqual((await body(post(app, '/a/mcp', rpc('prompts/list'), a))).result, { prompts: [] })
  const stream = (prefix: string, session: Record<string, string>) =>
    app.request(`${prefix}/mcp/`, { headers: { ...session, accept: 'text/event-stream' } })
  const methods = (found: { data: string }[]) => found.map(({ data }) => JSON.parse(data).method)
  const [ofA, ofB] = [await stream('/a', a), await stream('/b', b)]
  assert.deepEqual(methods(await events(ofA, 2)), [
    'notifications/tools/list_changed',
    'notifications/prompts/list_changed',
  ])
  assert.deepEqual(methods(await events(ofB, 1)), ['notifications/tools/list_changed'])
  write('b.yaml', plain('b') + prompt)
  await reload()
  assert.deepEqual(methods(await events(ofB, 1)), ['notifications/tools/list_changed'])
  rmSync(join(folder, 'b.yaml'))
  await reload()
  assert.equal((await post(app, '/b/mcp/', rpc('ping'), b)).status, 404)
})

test('a stream of /sse names its address for messages so that it holds below the path of publicUrl', async (t) => {
  const addresses = async (publicUrl?: string) => {
    const { gateway: made } = await gateway(
      t,
      { 'a.yaml': plain('a'), 'b.yaml': plain('b', '/') },
      false,
      publicUrl,
    )
    const told = ['/a/sse', '/a/sse/', '/sse'].map(async (path) => {
      const abort = new AbortController()
      const response = await made!.app.request(path, { signal: abort.signal })
      const { value } = await response.body!.getReader().read()
      abort.abort()
      const [, address] = /data: ?(\S+)\?sessionId=/.exec(Buffer.from(value!).toString()) ?? []
      return new URL(address!, `https://example.com/tools${path}`).pathname
    })
    return Promise.all(told)
  }
  assert.deepEqual(await addresses('https://example.com/tools'), [
    '/tools/a/message',
    '/tools/a/message',
    '/tools/message',
  ])
  const plainly = ['/a/message', '/a/message', '/message']
  assert.deepEqual(await addresses('https://example.com'), plainly)
  assert.deepEqual(await addresses(), plainly)
})

test('a question what a reload would change leaves the reload under way its environment', async (t) => {
  const folder = temporaryFolder(t)
  const write = (text: string) =>
    writeFileSync(
      join(folder, 'a.yaml'),
      `${plain('a')}prompts: [{name: p, promptResponse: [{role: user, content: {text: '${text} {{env "WORD"}}'}}]}]`,
    )
  write('first')
  const read = fromPaths([folder])
  let hold: Promise<void> | undefined
  let release = () => {}
  const source: ConfigurationSource = async (...given) => {
    await hold
    return read(...given)
  }
  let readings = 0
  const readEnv = () => ({ WORD: `word ${++readings}` })
  const { gateway: made } = await gatewayOver(t, source, {}, { readEnv })
  write('second')
  hold = new Promise((resolve) => (release = resolve))
  const reload = made.reload()
  await until(() => readings === 2)
  hold = undefined
  assert.deepEqual((await made.diff()).changed, ['a'])
  release()
  await reload
  const session = await open(made.app, '/a')
  const { result } = await body(post(made.app, '/a/mcp', rpc('prompts/get', { name: 'p' }), session))
  assert.equal(result.messages[0].content.text, 'second word 2')
})

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { after, before, beforeEach, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { slowness } from '../budget/held.ts'
import { program } from '../fixtures/program.ts'
import { temporaryFolder } from '../support/process.ts'
import { type Script, type Scripted, scripted } from '../support/scripted.ts'
import { type Answer, MODERN_META, modernHeaders, type Served, served } from '../support/served.ts'
import type { Loose } from '../support/wire.ts'

// Hostile inputs over real sockets against the built binary: what must come back, while another caller is served.

const LENIENT = fileURLToPath(new URL('../fixtures/lenient/server.ts', import.meta.url))
const SECRET = 'a-credential-that-upstreams-repeat-0123456789'
const PARSE = -32700
const INVALID = -32600

/** Cleaned up after the file, as all tests share one gateway. */
const cleanups: (() => unknown)[] = []
const shared = { after: (run: () => unknown) => void cleanups.push(run) } as unknown as TestContext
let gateway: Served
let configurations: Loose[]
let upstreams: Scripted
let folder: string
/** Requests that reached the HTTP API: their URLs and cookies. */
const reached: { url: string; cookie: string | undefined }[] = []

before(async () => {
  folder = temporaryFolder(shared)
  upstreams = await scripted(shared)
  const api = createServer((request: IncomingMessage, response) => {
    reached.push({ url: request.url ?? '', cookie: request.headers.cookie })
    request.resume()
    const echoed = request.url?.startsWith('/secret')
      ? `you sent ${request.headers.authorization}`
      : '{"ok":true}'
    response.writeHead(200, { 'content-type': 'text/plain' }).end(echoed)
  }).listen(0, '127.0.0.1')
  shared.after(() => api.closeAllConnections())
  shared.after(() => api.close())
  await new Promise((resolve) => api.once('listening', resolve))
  const origin = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const arg = (name: string, position: string, more: object = {}) => ({
    name,
    position,
    type: 'string',
    ...more,
  })
  const tool = (name: string, path: string, more: object = {}) => ({
    name,
    description: 'A tool',
    method: 'GET',
    endpoint: origin + path,
    ...more,
  })
  const matching = (schema: object) => ({ inputSchema: { type: 'object', properties: { a: schema } } })
  const http = {
    name: 'http',
    routers: [{ server: 'api', prefix: '/http' }],
    servers: [{ name: 'api', description: 'A test' }],
    tools: [
      tool('echo', '/echo', { args: [arg('a', 'query')] }),
      tool('path', '/v1/{{.Args.a}}/end', { args: [arg('a', 'path')] }),
      tool('cookie', '/cookie', { args: [arg('a', 'query')], headers: { Cookie: 'c={{.Args.a}}; d=1' } }),
      tool('secret', '/secret', { headers: { Authorization: 'Bearer {{env "API_SECRET"}}' } }),
      tool('unique', '/unique', matching({ type: 'array', uniqueItems: true })),
      tool('pattern', '/pattern', matching({ type: 'string', pattern: '^(\\w+\\s?)*$' })),
      tool('digits', '/digits', matching({ type: 'string', pattern: '^\\d*\\d*\\d*\\d*\\d*\\d*x$' })),
      tool('url', '/url', matching({ type: 'string', format: 'url' })),
      tool('number', '/number?n={{float64 .Args.a}}', { args: [arg('a', 'query')] }),
    ],
  }
  const proxy = (name: string, server: object) => ({
    name,
    routers: [{ server: name, prefix: `/${name}` }],
    mcpServers: [{ name, ...server }],
  })
  const lenient = (how: string, more: object = {}) => ({
    type: 'stdio',
    ...program(LENIENT, [how, join(folder, how)]),
    ...more,
  })
  const { stdio, streamable } = upstreams.servers
  const several = {
    name: 'several',
    routers: [{ server: ['one', 'two'], prefix: '/several' }],
    mcpServers: [
      { name: 'one', ...stdio },
      { name: 'two', ...streamable },
    ],
  }
  configurations = [
    http,
    several,
    ...Object.entries(upstreams.servers).map(([name, server]) => proxy(name, server)),
    proxy('fold', lenient('fold', { blockedTools: ['delete_file'] })),
    proxy('first', lenient('first', { allowedTools: ['search'] })),
  ]
})
// What ended the gateway, or holds it for good, fails its own test only.
beforeEach(async () => {
  const health = await gateway?.send({ path: '/_health', method: 'GET' })
  if (health?.status === 200) return
  gateway?.child.kill('SIGKILL')
  gateway = await served(shared, configurations, { env: { API_SECRET: SECRET } })
})
after(async () => {
  for (const run of cleanups.reverse()) await run()
})

const deep = (levels: number, inner = '') => '['.repeat(levels) + inner + ']'.repeat(levels)
const call = (params: string, id = '1') =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{${params}}}`
const modernCall = (name: string, args: string) =>
  call(`"name":"${name}","arguments":{${args}},${MODERN_META}`)

/** Milliseconds that a process has had of the processor; 0 where the system does not say so as Linux does. */
function processorTime(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Behind the name, which may hold anything: in ticks of 10 ms, user and system.
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return (Number(user) + Number(system)) * 10
  } catch {
    return 0
  }
}

/**
 * Sends something hostile; meanwhile the gateway works no longer than a second before another caller is answered, on a
 * machine as fast as the one that this was set on, and answers afterwards as the same process.
 */
async function attack(send: () => Promise<Answer>): Promise<Answer> {
  const { pid } = gateway.child
  let answer: Answer | undefined
  const pending = send().then((given) => {
    answer = given
  })
  let longest = 0
  do {
    const started = performance.now()
    const worked = processorTime(pid as number)
    const health = await gateway.send({ path: '/_health', method: 'GET' })
    assert.equal(health.status, 200, 'another caller is not answered')
    const waited = performance.now() - started
    // Other programs on the machine do not count.
    const held = worked ? Math.min(waited, processorTime(pid as number) - worked) : waited
    longest = Math.max(longest, held > 1000 ? held / slowness() : held)
  } while (!answer)
  await pending
  assert.equal((await gateway.send({ path: '/_health', method: 'GET' })).status, 200, 'the gateway has gone')
  assert.ok(longest <= 1000, `another caller waited for ${longest.toFixed(0)} ms`)
  assert.equal(gateway.child.pid, pid)
  assert.equal(gateway.child.exitCode, null)
  assert.doesNotMatch(gateway.stderr() + gateway.stdout(), /uncaught|unhandled/i)
  return answer
}

function refused({ status, text }: Answer, code?: number): void {
  assert.equal(status, 400, text.slice(0, 300))
  const { jsonrpc, error } = JSON.parse(text)
  assert.equal(jsonrpc, '2.0')
  assert.ok(Number.isInteger(error?.code), text.slice(0, 300))
  if (code !== undefined) assert.equal(error.code, code, text.slice(0, 300))
  assert.ok(text.length < 2000, 'the refusal repeats what was sent')
}

/** The answer to a call, over JSON or a stream: it is an answer, and not one of the gateway's own failure. */
function answered({ text }: Answer): Loose {
  const data = text.startsWith('{') ? text : [...text.matchAll(/^data: (\{.*\})$/gm)].at(-1)?.[1]
  assert.ok(data, `no answer: ${text.slice(0, 200)}`)
  const message = JSON.parse(data)
  assert.ok(message.result !== undefined || message.error !== undefined)
  assert.doesNotMatch(data, /\n\s+at |file:\/\/|node:internal/)
  return message
}

const PREFIXES = ['http', 'stdio', 'streamable', 'sse', 'several', 'stdio-modern', 'streamable-modern']
const MIB4 = 4 * 1024 * 1024 - 2000

/** What is refused where it is parsed, whatever the prefix, with 400. */
const UNREADABLE: [string, string, number?][] = [
  ['nesting of 129', call(`"name":"echo","arguments":{"a":${deep(127)}}`), PARSE],
  [
    'nesting of 1,005 with an exact number',
    call(`"name":"echo","arguments":{"a":${deep(1005, '12345678901234567890')}}`),
    PARSE,
  ],
  ['nesting of 20,000', call(`"name":"echo","arguments":{"a":${deep(20_000)}}`), PARSE],
  [
    'nested objects',
    call(`"name":"echo","arguments":{"a":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}}`),
    PARSE,
  ],
  ['2 million brackets that do not close', '['.repeat(2_000_000), PARSE],
  ['2 million pairs of brackets', deep(2_000_000), PARSE],
  ['nesting in a batch', `[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${deep(20_000)}}}]`, PARSE],
  ['nesting in _meta', call(`"name":"echo","_meta":{"progressToken":${deep(500)}}`), PARSE],
  ['nesting in a response', `{"jsonrpc":"2.0","id":1,"result":{"x":${deep(20_000)}}}`, PARSE],
  ['an integer of 4 million digits', call(`"name":"echo","arguments":{"a":${'7'.repeat(4_000_000)}}`), PARSE],
  ['an integer of 500 digits', call(`"name":"echo","arguments":{"a":${'7'.repeat(500)}}`), PARSE],
  [
    'a fraction of 4 million digits',
    call(`"name":"echo","arguments":{"a":0.${'7'.repeat(4_000_000)}}`),
    PARSE,
  ],
  [
    'an exponent of a million digits',
    call(`"name":"echo","arguments":{"a":1e${'7'.repeat(1_000_000)}}`),
    PARSE,
  ],
  ['an id of 4 million digits', call('"name":"echo"', '7'.repeat(4_000_000)), PARSE],
  ['an id beyond 2^53', call('"name":"echo"', '9007199254740993'), PARSE],
  ['an id of -(2^53)', call('"name":"echo"', '-9007199254740992'), PARSE],
  ['an id of 257 characters', call('"name":"echo"', JSON.stringify('x'.repeat(257))), PARSE],
  ['an id of 4 million characters', call('"name":"echo"', JSON.stringify('x'.repeat(4_000_000))), PARSE],
  ['an id that is an object', call('"name":"echo"', '{"a":1}')],
  ['an empty batch', '[]', INVALID],
  ['a batch of 101', `[${Array(101).fill('{"jsonrpc":"2.0","id":1,"method":"ping"}').join()}]`, INVALID],
]
for (const [name, body, code] of UNREADABLE)
  test(`${name} is refused with 400, by every kind of prefix`, async () => {
    for (const prefix of PREFIXES) {
      const headers = prefix.endsWith('modern')
        ? modernHeaders('tools/call', 'echo')
        : await gateway.open(`/${prefix}`)
      refused(await attack(() => gateway.post(`/${prefix}/mcp`, body, headers)), code)
    }
  })

test('nesting of 20,000 in a call of 2026-07-28 is refused with 400, by every kind of prefix', async () => {
  for (const prefix of PREFIXES) {
    const body = modernCall('echo', `"a":${deep(20_000)}`)
    refused(
      await attack(() => gateway.post(`/${prefix}/mcp`, body, modernHeaders('tools/call', 'echo'))),
      PARSE,
    )
  }
})

test('a body with more keys than a message can need is refused with 400', async () => {
  const keys = Array.from({ length: 350_000 }, (_, i) => `"k${i}":0`).join()
  const session = await gateway.open('/stdio')
  refused(
    await attack(() => gateway.post('/stdio/mcp', call(`"name":"echo","arguments":{${keys}}`), session)),
    PARSE,
  )
})

test('ids of 256 characters and safe integers, nesting of 100 and numbers of 300 digits pass', async () => {
  const session = await gateway.open('/stdio')
  const args = `"name":"echo","arguments":{"a":${deep(100)},"b":${'7'.repeat(300)}}`
  for (const id of [JSON.stringify('x'.repeat(256)), '9007199254740991', '-9007199254740991', '0', '""']) {
    const answer = await gateway.post('/stdio/mcp', call(args, id), session)
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answered(answer).result.content[0].text, 'said')
  }
})

/** Spellings of `name` that lenient readers take for it. */
const SPELLINGS = (name: string) => [
  name[0]!.toUpperCase() + name.slice(1),
  name.toUpperCase(),
  String.fromCharCode(name.charCodeAt(0) + 0xfee0) + name.slice(1),
  `${name}\\u0000`,
  ` ${name}`,
  `${name}\u200b`,
  `\ufeff${name}`,
  `\\u${name.charCodeAt(0).toString(16).padStart(4, '0')}${name.slice(1)}`,
  ...(name.includes('s') ? [name.replace('s', '\u017f')] : []),
  name,
]

/** Messages in which a hidden tool stands beside what may be called. */
function smuggled(): [string, string][] {
  const shown = '"name":"search"'
  const found: [string, string][] = []
  const add = (what: string, spelled: string, text: string) =>
    found.push([`${what} as ${JSON.stringify(spelled)}`, text])
  for (const key of SPELLINGS('name')) {
    add('name', key, call(`${shown},"${key}":"delete_file"`))
    add('name, first', key, call(`"${key}":"delete_file",${shown}`))
  }
  const hidden = '{"name":"delete_file","arguments":{}}'
  for (const key of SPELLINGS('params')) {
    add(
      'params',
      key,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${shown}},"${key}":${hidden}}`,
    )
    add(
      'params, first',
      key,
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","${key}":${hidden},"params":{${shown}}}`,
    )
  }
  for (const key of SPELLINGS('method')) {
    add('method', key, `{"jsonrpc":"2.0","id":1,"method":"ping","${key}":"tools/call","params":${hidden}}`)
    add(
      'method, first',
      key,
      `{"jsonrpc":"2.0","id":1,"${key}":"tools/call","method":"ping","params":${hidden}}`,
    )
  }
  for (const key of SPELLINGS('result'))
    add('result', key, `{"jsonrpc":"2.0","id":1,"${key}":{},"result":{}}`)
  for (const key of SPELLINGS('jsonrpc'))
    add('jsonrpc', key, `{"jsonrpc":"2.0","${key}":"2.0","id":1,"method":"tools/call","params":{${shown}}}`)
  for (const key of SPELLINGS('id'))
    add('id', key, `{"jsonrpc":"2.0","id":1,"${key}":2,"method":"tools/call","params":{${shown}}}`)
  for (const key of SPELLINGS('arguments'))
    add('arguments', key, call(`${shown},"arguments":{},"${key}":{"x":1}`))
  for (const key of SPELLINGS('uri'))
    add(
      'uri',
      key,
      `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:b","${key}":"c:d"}}`,
    )
  for (const key of SPELLINGS('_meta')) add('_meta', key, call(`${shown},"_meta":{},"${key}":{}`))
  return found
}

const executed = (how: string) =>
  existsSync(join(folder, how)) ? readFileSync(join(folder, how), 'utf8') : ''

for (const how of ['fold', 'first'])
  test(`protocol keys that stand twice or are spelled otherwise are refused (a server that reads them by ${how})`, async () => {
    const session = await gateway.open(`/${how}`)
    for (const [name, body] of smuggled()) {
      const answer = await attack(() => gateway.post(`/${how}/mcp`, body, session))
      const wrong = answer.status === 400 ? '' : ` (${answer.status} ${answer.text.slice(0, 120)})`
      assert.equal(answer.status, 400, `${name} passed${wrong}`)
      assert.equal(JSON.parse(answer.text).error.code, INVALID, name)
    }
    assert.doesNotMatch(executed(how), /delete_file/)
    const served = await gateway.post(
      `/${how}/mcp`,
      call('"name":"search","arguments":{"Name":"x","id":1,"Method":"y"}'),
      session,
    )
    assert.equal(
      answered(served).result.content[0].text,
      'executed search',
      'keys of arguments are nobody’s concern',
    )
  })

test('a spelled key alone, in place of the right one, is refused too', async () => {
  const session = await gateway.open('/fold')
  for (const key of SPELLINGS('name').slice(0, -1)) {
    if (JSON.parse(`"${key}"`) === 'name') continue
    const answer = await gateway.post('/fold/mcp', call(`"${key}":"delete_file"`), session)
    assert.equal(answer.status, 400, `${key}: ${answer.text}`)
  }
  assert.doesNotMatch(executed('fold'), /delete_file/)
})

for (const how of ['fold', 'first'])
  test(`what is hidden stays uncallable: without an id, in batches, by its own name (${how})`, async () => {
    const session = await gateway.open(`/${how}`)
    const older = await gateway.open(`/${how}`, '2025-03-26')
    const bare = '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"delete_file"}}'
    const search = '{"jsonrpc":"2.0","id":7,"method":"ping"}'
    const tries: [string, Record<string, string>][] = [
      [bare, session],
      [bare.replace('}}', '},"id":null}'), session],
      [bare.replace('}}', '},"id":[]}'), session],
      [`[${bare}]`, older],
      [`[${search},${bare}]`, older],
      [`[${search},${call('"name":"delete_file"')}]`, older],
      [call('"name":"delete_file"'), session],
      [call('"name":"DELETE_FILE"'), session],
      [call('"name":"delete_file\\u0000"'), session],
      [call('"name":["delete_file"]'), session],
      [`{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"delete_file"}}`, session],
    ]
    for (const [body, headers] of tries) await attack(() => gateway.post(`/${how}/mcp`, body, headers))
    const answer = await gateway.post(`/${how}/mcp`, bare, session)
    refused(answer)
    // The server answers in order: what came before this has been read.
    await gateway.post(`/${how}/mcp`, call('"name":"search"'), session)
    assert.doesNotMatch(executed(how), /delete_file/i)
  })

test('a request without an id is refused, whatever its method; notifications pass', async () => {
  const session = await gateway.open('/stdio')
  for (const method of ['tools/call', 'tools/list', 'resources/read', 'x/y', 'Notifications/x'])
    refused(
      await gateway.post(
        '/stdio/mcp',
        `{"jsonrpc":"2.0","method":"${method}","params":{"name":"echo"}}`,
        session,
      ),
    )
  const passed = await gateway.post('/stdio/mcp', '{"jsonrpc":"2.0","method":"notifications/x"}', session)
  assert.equal(passed.status, 202)
})

/** Lines of an upstream that no reader should survive by luck. */
const BOMBS: [string, Script][] = [
  [
    'a result nested 20,000 deep',
    (id) => [`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":${deep(20_000)}}}`],
  ],
  [
    'a result nested 1,005 deep with an exact number',
    (id) => [
      `{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":${deep(1005, '12345678901234567890')}}}`,
    ],
  ],
  [
    'a result with a number of 4 million digits',
    (id) => [`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"x":${'7'.repeat(4_000_000)}}}`],
  ],
  [
    'an error nested 20,000 deep',
    (id) => [`{"jsonrpc":"2.0","id":${id},"error":{"code":1,"message":"x","data":${deep(20_000)}}}`],
  ],
  ['a result of 2 million brackets', (id) => [`{"jsonrpc":"2.0","id":${id},"result":${deep(2_000_000)}}`]],
]
/** Those that belong to no call come before an answer. */
const ASIDES: [string, string][] = [
  ['a batch line', `[{"jsonrpc":"2.0","method":"x","params":{"x":${deep(20_000)}}}]`],
  [
    'a notification',
    `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":${deep(20_000)}}}`,
  ],
  [
    'a progress',
    `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"x":${deep(1005, '0.12345678901234567890')}}}`,
  ],
  [
    'a question',
    `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":{"messages":${deep(20_000)}}}`,
  ],
  [
    'an elicitation',
    `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"x","requestedSchema":${deep(1005, '12345678901234567890')}}}`,
  ],
  [
    'a question with an id of a million digits',
    `{"jsonrpc":"2.0","id":${'7'.repeat(1_000_000)},"method":"ping"}`,
  ],
  ['a word', '7'],
]

for (const prefix of PREFIXES.slice(1))
  test(`whatever the server of /${prefix} writes, its call is answered and the gateway lives on`, async () => {
    const name = prefix === 'several' ? 'one__say' : 'say'
    const scripts: [string, Script][] = [
      ...BOMBS,
      ...ASIDES.map(([what, line]): [string, Script] => [
        `${what}, nested`,
        (id) => [line, `{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete","content":[]}}`],
      ]),
    ]
    for (const [what, script] of scripts) {
      upstreams.scripts.set('bomb', script)
      const session = await gateway.open(`/${prefix}`)
      const before = call(`"name":"${name}","arguments":{"key":"bomb"},"_meta":{"progressToken":1}`)
      const answer = await attack(() => gateway.post(`/${prefix}/mcp`, before, session))
      answered(answer)
      const after = modernCall(name, '"key":"bomb"')
      answered(await attack(() => gateway.post(`/${prefix}/mcp`, after, modernHeaders('tools/call', name))))
      assert.ok(what)
    }
  })

/** Calls of HTTP tools that once held the loop for seconds. */
const SLOW: [string, string, string][] = [
  [
    'uniqueItems of 16,000 objects',
    'unique',
    `[${Array.from({ length: 16_000 }, (_, i) => `{"i":${i}}`).join()}]`,
  ],
  ['a pattern with nested repetition', 'pattern', JSON.stringify(`${'a'.repeat(40)}!`)],
  ['a pattern with repetitions in a row', 'digits', JSON.stringify('1'.repeat(2000))],
  ['format url with 32 kB', 'url', JSON.stringify(`http://${'a:'.repeat(16_000)}`)],
  ['a number of 100,000 digits in a text', 'number', JSON.stringify(`${'1'.repeat(100_000)}x`)],
]
for (const [what, tool, value] of SLOW)
  test(`${what} holds nobody up`, { timeout: 120_000 }, async () => {
    const session = await gateway.open('/http')
    answered(
      await attack(() =>
        gateway.post('/http/mcp', call(`"name":"${tool}","arguments":{"a":${value}}`), session),
      ),
    )
  })

test('Accept with 15,000 spaces holds nobody up', async () => {
  const session = await gateway.open('/http')
  const accept = `a${' '.repeat(15_000)}b`
  const answer = await attack(() =>
    gateway.post('/http/mcp', '{"jsonrpc":"2.0","id":1,"method":"ping"}', { ...session, accept }),
  )
  assert.equal(answer.status, 406)
})

for (const value of (
  '../../admin ..\\..\\admin .. . %2e%2e %2e%2e%2fadmin %252e%252e%252fadmin a/../../b ./x x/. ' +
  '..%5c.. .%2e/x'
).split(' '))
  test(`a path argument ${JSON.stringify(value)} is refused, nothing is sent`, async () => {
    const session = await gateway.open('/http')
    const sent = reached.length
    const answer = await attack(() =>
      gateway.post('/http/mcp', call(`"name":"path","arguments":{"a":${JSON.stringify(value)}}`), session),
    )
    assert.equal(answered(answer).result.isError, true)
    assert.equal(reached.length, sent, `sent as ${reached.at(-1)?.url}`)
  })

for (const value of ['x; admin=1', 'x;admin=1; c=evil', 'x, y=1', '"x"; y="', 'x\r\nX-Admin: 1', 'x\u0000y'])
  test(`a cookie argument ${JSON.stringify(value)} stays one value`, async () => {
    const session = await gateway.open('/http')
    const sent = reached.length
    answered(
      await attack(() =>
        gateway.post(
          '/http/mcp',
          call(`"name":"cookie","arguments":{"a":${JSON.stringify(value)}}`),
          session,
        ),
      ),
    )
    if (reached.length === sent) return
    const [first = '', second, ...others] = reached.at(-1)!.cookie!.split(/; ?/)
    assert.ok(first.startsWith('c=') && !/[,"\0-\x1f]/.test(first), reached.at(-1)!.cookie)
    assert.deepEqual([second, others], ['d=1', []])
  })

test('a credential that an upstream repeats with status 200 does not reach the client', async () => {
  const session = await gateway.open('/http')
  const { text } = await attack(() =>
    gateway.post('/http/mcp', call('"name":"secret","arguments":{}'), session),
  )
  assert.match(text, /you sent/)
  assert.doesNotMatch(text, new RegExp(SECRET))
})

test('300 headers are refused with 431', async () => {
  const headers = Array.from({ length: 300 }, (_, i) => [`X-${i}`, 'x']).flat()
  const all = ['Host', `127.0.0.1:${gateway.port}`, 'Content-Type', 'application/json', ...headers]
  const answer = await attack(() => gateway.send({ path: '/http/mcp', headers: all, body: '{}' }))
  assert.equal(answer.status, 431)
})

test('headers beyond Node’s count do not hide those of a proxy', async () => {
  const padding = Array.from({ length: 1100 }, (_, i) => [`a${i}`, 'b']).flat()
  const all = [
    'Host',
    `127.0.0.1:${gateway.port}`,
    ...padding,
    'X-Forwarded-For',
    '203.0.113.7',
    'Via',
    '1.1 proxy',
  ]
  const answer = await attack(() => gateway.send({ path: '/_status', method: 'GET', headers: all }))
  assert.ok([401, 403, 431].includes(answer.status), String(answer.status))
})

test('a body that is larger than the limit is refused before it is read whole', async () => {
  const session = await gateway.open('/http')
  const answer = await attack(() => gateway.post('/http/mcp', 'x'.repeat(MIB4 + 10_000), session))
  assert.ok([413, 0].includes(answer.status), String(answer.status))
})

test('a client that goes away in the middle of a body harms nobody', async () => {
  const socket = connect(gateway.port, '127.0.0.1')
  socket.on('error', () => {})
  const head =
    'POST /stdio/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"jsonrpc"'
  await new Promise<void>((resolve) => socket.write(head, () => resolve()))
  socket.destroy()
  await attack(() => gateway.send({ path: '/_health', method: 'GET' }))
})

for (const token of ['x', '../../etc', '%00', 'a'.repeat(8000), '123e4567-e89b-42d3-a456-426614174000'])
  test(`a made-up session id ${token.slice(0, 40)} is unknown`, async () => {
    for (const prefix of PREFIXES) {
      const headers = { 'mcp-session-id': token, 'mcp-protocol-version': '2025-11-25' }
      const answer = await gateway.post(`/${prefix}/mcp`, '{"jsonrpc":"2.0","id":1,"method":"ping"}', headers)
      assert.equal(answer.status, 404, prefix)
    }
  })

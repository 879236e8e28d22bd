import assert from 'node:assert/strict'
import { test } from 'node:test'
import { namedCaller } from '../../src/access/bearer.ts'
import type { Authenticate } from '../../src/access/steps.ts'
import { startFaulty } from '../fixtures/faulty/start.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'
import { META, messages, modernSend, open, proxied, send } from './harness.ts'
import { stateful } from './stateful.ts'

// The calls of one caller stay with one session, and one process, of a server with state.

const TIMEOUT = { timeout: 60_000 }
const ALL = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const KEY = 'io.modelcontextprotocol/'
const NAMED = { 'plantgw-session': 'a-name-of-more-than-22-characters' }
const authenticate: Authenticate = async ({ headers }) => namedCaller(headers.authorization ?? 'me')

interface Asked {
  args?: Loose
  capabilities?: object
  level?: string
  headers?: Record<string, string>
  token?: string
  more?: object
  signal?: AbortSignal
}

/** Calls a tool in 2026-07-28; the messages of the answer. */
async function all(url: string, name: string, asked: Asked = {}): Promise<Loose[]> {
  const { args = {}, capabilities = {}, level, headers, token, more, signal } = asked
  const _meta = {
    ...META,
    [`${KEY}clientCapabilities`]: capabilities,
    ...(level && { [`${KEY}logLevel`]: level }),
    ...(token && { progressToken: token }),
  }
  return messages(
    await modernSend(url, 'tools/call', { name, arguments: args, ...more, _meta }, headers, signal),
  )
}

/** The text of the answer, what the client is asked, or the error. */
async function call(url: string, name: string, asked: Asked = {}): Promise<string> {
  return shown((await all(url, name, asked)).at(-1))
}

function shown({ result, error }: Loose): string {
  if (error) return `error ${error.code}: ${error.message}`
  if (result.resultType !== 'input_required') return result.content[0].text
  return Object.values<Loose>(result.inputRequests)
    .map(({ params }) => `asked ${params.message}`)
    .join()
}

const pidOf = (text: string) => text.split('#')[0]
/** What continues a call that was asked: the same answer to every question. */
const reply = ({ result }: Loose, said: string) => ({
  requestState: result.requestState,
  inputResponses: Object.fromEntries(
    Object.keys(result.inputRequests).map((key) => [key, { action: 'accept', content: { said } }]),
  ),
})

/** Opens a subscription of 2026-07-28; the methods that it has heard. */
async function listen(url: string, notifications: object, level?: string, headers = {}) {
  const abort = new AbortController()
  const _meta = { ...META, ...(level && { [`${KEY}logLevel`]: level }) }
  const response = await modernSend(
    url,
    'subscriptions/listen',
    { notifications, _meta },
    headers,
    abort.signal,
  )
  const heard: string[] = []
  const reading = read(response, (message) => heard.push(message.method)).catch(() => {})
  await until(() => heard.length > 0)
  const close = async () => {
    abort.abort()
    await reading
  }
  return { heard, close }
}

/** Reads a stream of events as they come. */
async function read(response: Response, take: (message: Loose) => void): Promise<void> {
  let rest = ''
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) take(JSON.parse(line.slice(6)))
  }
}

for (const [who, headers, auth] of [
  ['who is known', {}, authenticate],
  ['who names a session', NAMED, undefined],
] as const)
  test(`a caller ${who}: capabilities, levels and parallel calls stay in one process`, TIMEOUT, async (t) => {
    const { url, proxy } = await proxied(t, [stateful('session')], auth ? { authenticate: auth } : {})
    const kinds: Asked[] = [
      {},
      { capabilities: ALL },
      { level: 'info' },
      { capabilities: { roots: {} }, level: 'error' },
    ]
    const texts: string[] = []
    for (const kind of kinds) texts.push(await call(url, 'count', { ...kind, headers }))
    const parallel = Array.from({ length: 15 }, (_, i) => call(url, 'count', { ...kinds[i % 4], headers }))
    texts.push(...(await Promise.all(parallel)))
    assert.deepEqual(new Set(texts.map(pidOf)).size, 1)
    const counts = texts.map((text) => Number(text.split('#')[1])).sort((a, b) => a - b)
    assert.deepEqual(
      counts,
      Array.from({ length: 19 }, (_, i) => i + 1),
    )
    assert.equal(proxy.status().connections, 1)
  })

test(
  'a server over streamable HTTP and several servers behind a prefix: one session each',
  TIMEOUT,
  async (t) => {
    const http = await startFaulty(t, 'http')
    const at = { type: 'streamable-http', url: http.url }
    const { url, proxy } = await proxied(t, [at, stateful('session'), stateful('modern')], { list: true })
    const kinds: Asked[] = [{}, { capabilities: ALL }, { level: 'info' }]
    const names = ['s1__pid', 's2__count', 's3__count']
    const texts = await Promise.all(
      names.flatMap((name) => kinds.map((kind) => call(url, name, { ...kind, headers: NAMED }))),
    )
    assert.equal(new Set(texts.map(pidOf)).size, 3)
    assert.equal((await http.seen()).filter((method) => method === 'initialize').length, 1)
    assert.equal(proxy.status().connections, 3)
  },
)

test(
  'tools that a call makes appear are there for the others, and subscriptions hear of them',
  TIMEOUT,
  async (t) => {
    const { url, proxy } = await proxied(t, [stateful('session')], { authenticate })
    const { heard, close } = await listen(url, { toolsListChanged: true })
    const slow = call(url, 'hold', { args: { about: 'x' }, capabilities: ALL })
    const enabled = call(url, 'enable', { capabilities: ALL })
    // A list is no call: it waits for nobody, and ends the slow call.
    const list = () => modernSend(url, 'tools/list').then(messages)
    await until(async () => {
      await list()
      return heard.length > 1
    })
    assert.equal(await enabled, 'enabled')
    assert.match(await slow, /#x$/)
    assert.deepEqual(heard, ['notifications/subscriptions/acknowledged', 'notifications/tools/list_changed'])
    assert.ok((await list()).at(-1).result.tools.some(({ name }: Loose) => name === 'extra'))
    assert.match(await call(url, 'extra', { level: 'info' }), /#extra$/)
    await close()
    assert.equal(proxy.status().connections, 1)
  },
)

test(
  'a change that many sessions of unknown callers report is announced at once, and once more later',
  TIMEOUT,
  async (t) => {
    const { url } = await proxied(t, [stateful('session')])
    const { heard, close } = await listen(url, { toolsListChanged: true })
    await until(() => heard.length > 0)
    // Calls at the same time have connections of their own, and so have children of their own.
    const atOnce = (tool: string) =>
      Promise.all(Array.from({ length: 8 }, () => call(url, tool, { capabilities: ALL })))
    assert.equal(new Set((await atOnce('count')).map(pidOf)).size, 8)
    assert.deepEqual(await atOnce('enable'), Array(8).fill('enabled'))
    await until(() => heard.length > 2)
    await modernSend(url, 'tools/list').then(messages)
    assert.equal(new Set(heard.slice(1)).size, 1)
    assert.ok(heard.length <= 4, heard.join())
    await close()
  },
)

test('a question that nobody answers leaves the others in the same process', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stateful('session')], { authenticate })
  const capabilities = ALL
  const before = await call(url, 'count', { capabilities })
  // More than may wait: the oldest are given up, and cancelled in the server.
  for (let i = 0; i < 18; i++)
    assert.equal(await call(url, 'ask', { args: { about: `q${i}` }, capabilities }), `asked q${i}`)
  const after = [await call(url, 'count', { capabilities }), await call(url, 'count', { capabilities })]
  assert.deepEqual([before, ...after].map(pidOf), Array(3).fill(pidOf(before)))
  const seen = (await call(url, 'seen')).split(',')
  assert.equal(seen.filter((each) => each.startsWith('notifications/cancelled')).length, 2)
  assert.equal(proxy.status().connections, 1)
})

test('questions of parallel calls come to the calls that they belong to', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stateful('session')], { authenticate })
  const names = ['a', 'b', 'c']
  const ask = (about: string, more?: object) =>
    all(url, 'twice', { args: { about }, capabilities: ALL, ...(more && { more }) })
  const first = await Promise.all(names.map((about) => ask(about)))
  assert.deepEqual(
    first.map((each) => shown(each.at(-1))),
    ['asked a one', 'asked b one', 'asked c one'],
  )
  const second = await Promise.all(first.map((each, i) => ask(names[i]!, reply(each.at(-1), `${names[i]}1`))))
  assert.deepEqual(
    second.map((each) => shown(each.at(-1))),
    ['asked a two', 'asked b two', 'asked c two'],
  )
  const done = await Promise.all(second.map((each, i) => ask(names[i]!, reply(each.at(-1), `${names[i]}2`))))
  assert.deepEqual(
    done.map((each) => shown(each.at(-1))),
    ['a a1 a2', 'b b1 b2', 'c c1 c2'],
  )
  assert.equal(proxy.status().connections, 1)
})

test('a call that waits for another one and is cancelled is never sent', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stateful('session')], { authenticate })
  const capabilities = ALL
  const slow = call(url, 'hold', { args: { about: 'x' }, capabilities })
  await until(() => proxy.status().connections === 1)
  const abort = new AbortController()
  const cancelled = call(url, 'count', { capabilities, signal: abort.signal })
  const waiting = call(url, 'seen', { capabilities })
  abort.abort()
  await assert.rejects(cancelled)
  let seen: string | undefined
  waiting.then((text) => {
    seen = text
  }, assert.ifError)
  await until(async () => {
    await messages(await modernSend(url, 'tools/list'))
    return seen !== undefined
  })
  assert.match(await slow, /#x$/)
  assert.doesNotMatch(await waiting, /count/)
  assert.equal(proxy.status().connections, 1)
})

test('calls that wait for one that ends its server go to the next session, unharmed', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [stateful('session')], { authenticate })
  const capabilities = ALL
  const pid = pidOf(await call(url, 'count', { capabilities }))
  const [exit, ...counts] = await Promise.all([
    call(url, 'exit', { capabilities }),
    ...[1, 2, 3].map(() => call(url, 'count', { capabilities })),
  ])
  assert.match(exit, /error -32603/)
  assert.equal(new Set(counts.map(pidOf)).size, 1)
  assert.notEqual(pidOf(counts[0]!), pid)
})

test('a question that the calling client cannot answer is an error for the server', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [stateful('session')], { authenticate })
  const told = JSON.parse(await call(url, 'capabilities'))
  assert.deepEqual(Object.keys(told).sort(), ['elicitation', 'roots', 'sampling'])
  // A server may do without an answer; where it cannot, the client hears which capability it takes.
  assert.equal(await call(url, 'fallback'), 'without')
  const [{ error }] = (await all(url, 'needs', { capabilities: { roots: {} } })) as [Loose]
  assert.equal(error.code, -32021)
  assert.deepEqual(error.data, { requiredCapabilities: { elicitation: { form: {} } } })
  const asked = { args: { about: 'x', mode: 'url' }, capabilities: { elicitation: {} } }
  assert.match(await call(url, 'ask', asked), /#x error -32601$/)
  assert.equal(await call(url, 'ask', { ...asked, capabilities: ALL }), 'asked x')
})

test('isolation: shared is one process, whoever calls', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stateful('session', { isolation: 'shared' })])
  const sessions = [await open(url), await open(url, {}, ALL)]
  for (const { headers } of sessions)
    await messages(
      await send(url, { id: 's', method: 'logging/setLevel', params: { level: 'info' } }, headers),
    )
  const texts = await Promise.all([
    ...sessions.flatMap((client) => [client.call('count'), client.call('count')]),
    ...[{}, { capabilities: ALL }, { level: 'info' }].flatMap((kind) => [
      call(url, 'count', kind),
      call(url, 'count', kind),
    ]),
  ])
  assert.equal(new Set(texts.map(pidOf)).size, 1)
  assert.equal(new Set(texts).size, 10)
  assert.equal(proxy.status().connections, 1)
})

for (const isolation of ['credential', 'shared'] as const)
  test(`isolation: ${isolation}: sessions are asked what their own calls ask`, TIMEOUT, async (t) => {
    const { url, proxy } = await proxied(t, [stateful('session', { isolation })])
    const clients = [await open(url, {}, ALL), await open(url, {}, ALL)]
    const done = await Promise.all(
      clients.map(async ({ headers }, i) => {
        const params = { name: 'twice', arguments: { about: `c${i}` } }
        const response = await send(url, { id: 'call', method: 'tools/call', params }, headers)
        const asked: string[] = []
        let text = ''
        await read(response, ({ id, method, params, result }) => {
          if (result) text = result.content[0].text
          if (method !== 'elicitation/create') return
          asked.push(params.message)
          const answer = { action: 'accept', content: { said: `c${i}` } }
          send(url, { id, result: answer }, headers).catch(assert.ifError)
        })
        return { asked, text }
      }),
    )
    assert.deepEqual(
      done,
      [0, 1].map((i) => ({ asked: [`c${i} one`, `c${i} two`], text: `c${i} c${i} c${i}` })),
    )
    assert.equal(proxy.status().connections, 1)
  })

test('a session whose client does not answer keeps nobody waiting', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stateful('session', { isolation: 'shared' })])
  const leave: Record<string, (headers: Record<string, string>, question: unknown) => Promise<unknown>> = {
    refuses: (headers, id) => send(url, { id, error: { code: -1, message: 'No' } }, headers),
    cancels: (headers) =>
      send(url, { method: 'notifications/cancelled', params: { requestId: 'call' } }, headers),
    goes: (headers) => fetch(url, { method: 'DELETE', headers }),
  }
  const pids = new Set<string | undefined>()
  for (const [how, act] of Object.entries(leave)) {
    const { headers } = await open(url, {}, ALL)
    const params = { name: 'ask', arguments: { about: how } }
    const response = await send(url, { id: 'call', method: 'tools/call', params }, headers)
    const other = await open(url, {}, ALL)
    let counted: Promise<string> | undefined
    const reading = read(response, ({ method, id }) => {
      if (method !== 'elicitation/create') return
      counted = other.call('count')
      act(headers, id).catch(assert.ifError)
    }).catch(() => {})
    await until(() => counted !== undefined)
    pids.add(pidOf((await counted)!))
    await reading
  }
  assert.equal(pids.size, 1)
  const seen = (await (await open(url)).call('seen')).split(',')
  assert.equal(seen.filter((each) => each.startsWith('notifications/cancelled')).length, 3)
  assert.equal(proxy.status().connections, 1)
})

test('nobody is asked what belongs to a call of somebody else', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [stateful('session', { isolation: 'shared' })], { authenticate })
  const [mine, other] = [{ authorization: 'mine' }, { authorization: 'other' }]
  const args = { about: 'mine' }
  const asked = await all(url, 'ask', { args, capabilities: ALL, headers: mine })
  assert.equal(shown(asked.at(-1)), 'asked mine')
  // The other one's call cannot be asked, so it waits for nobody; its question is refused.
  assert.equal(await call(url, 'fallback', { headers: other }), 'without')
  // One that can be asked waits for the end of mine.
  const waiting = call(url, 'ask', { args: { about: 'other' }, capabilities: ALL, headers: other })
  const more = reply(asked.at(-1), 'yes')
  assert.match(await call(url, 'ask', { args, capabilities: ALL, headers: mine, more }), /#mine yes$/)
  assert.equal(await waiting, 'asked other')
})

test('2026-07-28 over stdio: one child, also with log levels', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stateful('modern')])
  const kinds: Asked[] = [{}, { level: 'info' }, { level: 'debug', capabilities: ALL }]
  const texts = await Promise.all(Array.from({ length: 12 }, (_, i) => call(url, 'count', kinds[i % 3])))
  assert.equal(new Set(texts.map(pidOf)).size, 1)
  const told = await Promise.all(
    ['error', 'info'].map((level) => all(url, 'noisy', { args: { about: level }, level })),
  )
  const data = told.map((each) => each.slice(0, -1).map(({ params }) => params.data))
  assert.deepEqual(
    data[0],
    ['error', 'critical', 'alert', 'emergency'].map((level) => `error ${level}`),
  )
  assert.equal(data[1]!.length, 7)
  assert.ok(data[1]!.every((each: string) => each.startsWith('info ')))
  assert.equal(proxy.status().connections, 1)
})

test(
  '2026-07-28 over stdio: a request that wants log messages waits for another one, but not for ever',
  TIMEOUT,
  async (t) => {
    const { url, proxy } = await proxied(t, [stateful('modern')])
    const slow = ['a', 'b'].map((about) => all(url, 'hold', { args: { about }, level: 'info' }))
    assert.match(await call(url, 'count', { level: 'info' }), /#1$/)
    await messages(await modernSend(url, 'tools/list'))
    const [a, b] = await Promise.all(slow)
    assert.match(shown(a!.at(-1)), /#a$/)
    assert.match(shown(b!.at(-1)), /#b$/)
    assert.equal(proxy.status().connections, 1)
  },
)

test('2026-07-28 over stdio: what a cancelled call logs is not told to the next one', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [stateful('modern')])
  for (let round = 0; round < 3; round++) {
    const abort = new AbortController()
    const params = {
      name: 'linger',
      arguments: { about: 'one' },
      _meta: { ...META, [`${KEY}logLevel`]: 'info' },
    }
    const begun = await modernSend(url, 'tools/call', params, {}, abort.signal)
    await begun.body!.getReader().read()
    abort.abort()
    const heard = await all(url, 'noisy', { args: { about: 'two' }, level: 'info' })
    const said = heard.flatMap((message) => message.params?.data ?? [])
    assert.equal(said.length, 7)
    assert.deepEqual(
      said.filter((data: string) => !data.startsWith('two')),
      [],
    )
  }
})

test('2026-07-28 over stdio: a level, then a subscription: updates come', TIMEOUT, async (t) => {
  const { url, proxy } = await proxied(t, [stateful('modern')])
  const client = await open(url)
  await client.request('logging/setLevel', { level: 'info' })
  await client.request('resources/subscribe', { uri: 'a:b' })
  const abort = new AbortController()
  const stream = await fetch(url, {
    headers: { ...client.headers, accept: 'text/event-stream' },
    signal: abort.signal,
  })
  const heard: string[] = []
  const reading = read(stream, ({ method }) => heard.push(method)).catch(() => {})
  // An update may also come on the stream of the call.
  for (let i = 0; i < 3; i++)
    for (const { method } of await client.all('tools/call', { name: 'touch', arguments: { uri: 'a:b' } }))
      if (method) heard.push(method)
  await until(() => heard.length === 3)
  abort.abort()
  await reading
  const modern = await listen(url, { resourceSubscriptions: ['a:b'] }, 'info')
  for (let i = 0; i < 3; i++) await call(url, 'touch', { args: { uri: 'a:b' }, level: 'info' })
  await until(() => modern.heard.length === 4)
  assert.equal(proxy.status().connections, 1)
  await modern.close()
})

test(
  'callers have sessions of their own, one for each name; a name that is not right is refused',
  TIMEOUT,
  async (t) => {
    const { url } = await proxied(t, [stateful('session')], { authenticate })
    const [a, b] = [{ authorization: 'a' }, { authorization: 'b' }]
    const name = (headers: object, value: string) => ({ headers: { ...headers, 'plantgw-session': value } })
    const asked: Asked[] = [{ headers: a }, name(a, 'x'), name(a, 'y'), { headers: b }, name(b, 'x')]
    const texts: string[] = []
    for (const each of asked) texts.push(await call(url, 'count', each))
    assert.equal(new Set(texts.map(pidOf)).size, 5)
    for (const [i, each] of asked.entries())
      assert.equal(await call(url, 'count', { ...each, capabilities: ALL }), `${pidOf(texts[i]!)}#2`)
    for (const wrong of ['', 'a b', 'ä'.repeat(3), '../x', 'x'.repeat(129)])
      assert.match(
        await call(url, 'count', name(a, wrong)),
        /^error -32020: the Plantgw-Session header/,
        wrong,
      )
  },
)

test(
  'callers of whom nothing is known: a name that could be guessed is refused, a connection is not shared',
  TIMEOUT,
  async (t) => {
    const { url, logged } = await proxied(t, [stateful('session')])
    const short = { headers: { 'plantgw-session': 'guess-me' } }
    assert.match(await call(url, 'count', short), /^error -32020: .*at least 22 characters/)
    assert.equal((await modernSend(url, 'tools/list', {}, short.headers)).status, 400)
    const mine = await call(url, 'count', { headers: NAMED })
    const other = await call(url, 'count', {
      headers: { 'plantgw-session': `${NAMED['plantgw-session']}-2` },
    })
    const behind = { headers: { 'x-forwarded-for': '203.0.113.9' } }
    const unnamed = [await call(url, 'count', behind), await call(url, 'count', behind)]
    assert.equal(new Set([mine, other, ...unnamed].map(pidOf)).size, 4)
    assert.equal(await call(url, 'count', { headers: { ...NAMED, ...behind.headers } }), `${pidOf(mine)}#2`)
    assert.equal(logged.filter(({ msg }) => /add auth or the header Plantgw-Session/.test(msg)).length, 1)
  },
)

test('sessions end as maxSessions and idleTimeout say', TIMEOUT, async (t) => {
  const name = (value: string) => ({ headers: { 'plantgw-session': value } })
  const few = await proxied(t, [stateful('session', { maxSessions: 2 })], { authenticate })
  const pids = new Set<string | undefined>()
  for (const each of ['a', 'b', 'c', 'a']) pids.add(pidOf(await call(few.url, 'count', name(each))))
  assert.equal(pids.size, 4)
  assert.ok(few.proxy.status().connections <= 2)
  const short = await proxied(t, [stateful('session', { idleTimeout: '50ms' })], { authenticate })
  const slow = call(short.url, 'hold', { args: { about: 'x' }, ...name('used') })
  assert.match(await call(short.url, 'count', name('left')), /#1$/)
  // What is in use does not end.
  await until(() => short.proxy.status().connections === 1)
  await messages(await modernSend(short.url, 'tools/list', {}, name('used').headers))
  assert.match(await slow, /#x$/)
  await until(() => short.proxy.status().connections === 0)
})

test('what a server sends while the client is asked waits for the retry', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [stateful('session')], { authenticate })
  const asked = { args: { about: 'x' }, capabilities: ALL, level: 'info' }
  const first = await all(url, 'tell', { ...asked, token: 'first' })
  assert.equal(shown(first.at(-1)), 'asked x')
  const rest = await all(url, 'tell', { ...asked, token: 'second', more: reply(first.at(-1), 'yes') })
  assert.equal(shown(rest.at(-1)), 'yes')
  const both = [...first, ...rest].filter(({ method }) => method)
  const progress = both.filter(({ method }) => method === 'notifications/progress')
  assert.deepEqual(
    progress.map(({ params }) => params.progress),
    [1, 2, 3, 4, 5],
  )
  // Each request of the client names a token of its own.
  const kept = rest.filter(({ method }) => method === 'notifications/progress')
  assert.ok(kept.every(({ params }) => params.progressToken === 'second'))
  const logs = both.filter(({ method }) => method === 'notifications/message')
  assert.deepEqual(
    logs.map(({ params }) => params.data),
    ['x1', 'x2', 'x3', 'x4', 'x5'],
  )
})

test('what waits for a retry is bounded: the oldest is dropped, and the log says so', TIMEOUT, async (t) => {
  const { url, logged } = await proxied(t, [stateful('session')], { authenticate })
  const asked = { args: { about: 'x', many: 2000 }, capabilities: ALL, token: 't' }
  const first = await all(url, 'tell', asked)
  // A list is answered after what came before.
  await messages(await modernSend(url, 'tools/list'))
  const rest = await all(url, 'tell', { ...asked, more: reply(first.at(-1), 'yes') })
  const progress = rest.slice(0, -1).map(({ params }) => params.progress)
  assert.equal(progress.at(-1), 2000)
  assert.ok(progress.length <= 256)
  assert.equal(logged.filter(({ msg }) => /were lost \(maxQueued\)/.test(msg)).length, 1)
})

test('log messages below the level that was asked for do not pass', TIMEOUT, async (t) => {
  const { url } = await proxied(t, [stateful('session')], { authenticate })
  const levels = async (level?: string) => {
    const told = await all(url, 'noisy', { args: { about: 'x' }, ...(level && { level }) })
    return told.slice(0, -1).map(({ params }) => params.level)
  }
  assert.deepEqual(await levels('error'), ['error', 'critical', 'alert', 'emergency'])
  assert.equal((await levels('debug')).length, 8)
  assert.deepEqual(await levels(), [])
})

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { approvalMessage } from '../../src/mcp/middleware/approval-message.ts'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { ACCEPTS, askingPost, type Person } from '../support/person.ts'
import { temporaryFolder } from '../support/process.ts'
import { MODERN_META, modernHeaders, served } from '../support/served.ts'
import type { Loose } from '../support/wire.ts'
import * as wires from '../support/wire.ts'
import { messages, modernSend, open, openSse, send } from '../upstream/harness.ts'

const TIMEOUT = { timeout: 60_000 }
const FORM = { elicitation: { form: {} } }
const ASKS = { 'io.modelcontextprotocol/clientCapabilities': FORM }
const TOKENS = {
  type: 'bearer',
  tokens: ['ann', 'bob'].map((caller) => ({ token: `${caller}-token`, caller })),
}
const ANN = { authorization: 'Bearer ann-token' }
const BOB = { authorization: 'Bearer bob-token' }
const HINTS: Record<string, object | undefined> = {
  read: { readOnlyHint: true },
  add: { destructiveHint: false },
  delete: { destructiveHint: true, title: 'Delete <b>it</b>' },
  bare: undefined,
}

interface Behind {
  /** What came to the server: tools that were called. */
  called: string[]
  router: object
  rest: object
}

/** HTTP tools. */
async function httpTools(t: TestContext): Promise<Behind> {
  const called: string[] = []
  const port = await listen(t, (incoming, outgoing) => {
    called.push(String(incoming.url).slice(1).split('?')[0]!)
    outgoing.writeHead(200, { 'content-type': 'text/plain' }).end('done')
  })
  const tools = Object.entries(HINTS).map(([name, annotations]) => ({
    name,
    endpoint: `http://127.0.0.1:${port}/${name}`,
    args: ['id', 'api_key'].map((arg) => ({ name: arg, position: 'query', type: 'string' })),
    ...(annotations && { annotations }),
  }))
  return { called, router: { server: 's' }, rest: { servers: [{ name: 's' }], tools } }
}

interface Declared {
  tools: Loose[]
}

const DECLARED = Object.entries(HINTS).map(([name, annotations]) => ({
  name,
  inputSchema: { type: 'object' },
  ...(annotations && { annotations }),
}))

/** An MCP server over streamable HTTP, of one era. The tool `more` asks for input of its own. */
async function mcpServer(
  t: TestContext,
  era: 'session' | 'stateless',
  { tools }: Declared = { tools: [...DECLARED, { name: 'more', inputSchema: { type: 'object' } }] },
): Promise<Behind> {
  const called: string[] = []
  const modern = era === 'stateless'
  const port = await listen(t, (incoming, outgoing, body) => {
    const { id, method, params }: Loose = body ? JSON.parse(body) : {}
    const write = (answer: object) =>
      outgoing
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    const result = (given: object) =>
      write({ result: { ...(modern && { resultType: 'complete' }), ...given } })
    if (incoming.method !== 'POST') return outgoing.writeHead(405).end()
    if (method === 'tools/list') return result({ tools, ...(modern && { ttlMs: 0, cacheScope: 'private' }) })
    if (method === 'tools/call') {
      called.push(params.name)
      if (params.name === 'more' && params.requestState !== 'inner') {
        const input = {
          method: 'elicitation/create',
          params: { message: 'Which?', requestedSchema: { type: 'object', properties: {} } },
        }
        return write({
          result: { resultType: 'input_required', inputRequests: { own: input }, requestState: 'inner' },
        })
      }
      return result({
        content: [{ type: 'text', text: `done ${JSON.stringify(params.inputResponses ?? null)}` }],
      })
    }
    if (modern && method === 'server/discover')
      return result({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } })
    if (!modern && method === 'initialize') {
      const { protocolVersion } = params
      return result({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'm', version: '1' } })
    }
    if (id === undefined) return outgoing.writeHead(202).end()
    return write({ error: { code: -32601, message: 'no such method' } })
  })
  const server = { name: 's', type: 'streamable-http', url: `http://127.0.0.1:${port}/mcp` }
  return { called, router: { server: 's' }, rest: { mcpServers: [server] } }
}

/** The same server and another one behind a prefix. */
async function twoServers(t: TestContext): Promise<Behind> {
  const [first, second] = [await mcpServer(t, 'session'), await mcpServer(t, 'stateless')]
  const [{ mcpServers: a }, { mcpServers: b }] = [first.rest, second.rest] as Loose[]
  const mcpServers = [
    { ...a[0], name: 'one' },
    { ...b[0], name: 'two' },
  ]
  return { called: first.called, router: { server: ['one', 'two'] }, rest: { mcpServers } }
}

async function listen(
  t: TestContext,
  answer: (
    incoming: import('node:http').IncomingMessage,
    outgoing: import('node:http').ServerResponse,
    body: string,
  ) => void,
): Promise<number> {
  const server = createServer(async (incoming, outgoing) => {
    let body = ''
    for await (const chunk of incoming) body += chunk
    answer(incoming, outgoing, body)
  })
  const port = await listening(t, server)
  return port
}

const configured = ({ router, rest }: Behind, more: object = {}) => ({
  name: 'test',
  routers: [{ prefix: '/p', approval: 'elicitation', ...router, ...more }],
  ...rest,
})

async function serving(t: TestContext, behind: Behind, more: object = {}) {
  const gateway = await gatewayHere(t, configured(behind, more))
  return { ...gateway, url: `${gateway.base}/p/mcp` }
}

let ids = 0

/** A call in a session of a client that asks; the messages of its answer. */
async function sessionCall(
  url: string,
  name: string,
  person: Person,
  { args = { id: '5' }, revision = '2025-11-25', headers = {} as Record<string, string> } = {},
): Promise<Loose[]> {
  const session = await open(url, headers, FORM, revision)
  const message = { id: `c${++ids}`, method: 'tools/call', params: { name, arguments: args } }
  return askingPost(url, message, session.headers, person)
}

/** A call of 2026-07-28. */
async function aloneCall(
  url: string,
  name: string,
  more: object = {},
  headers: Record<string, string> = {},
): Promise<Loose> {
  const params = { name, arguments: { id: '5' }, _meta: ASKS, ...more }
  return (await messages(await modernSend(url, 'tools/call', params, headers))).at(-1)
}

const retried = (asked: Loose, action: string) => ({
  requestState: asked.result.requestState,
  inputResponses: { approval: { action } },
})
const text = ({ result }: Loose) => result.content[0].text as string

const BACKENDS: Record<string, (t: TestContext) => Promise<Behind>> = {
  'HTTP tools': httpTools,
  'a server with sessions': (t) => mcpServer(t, 'session'),
  'a stateless server': (t) => mcpServer(t, 'stateless'),
}

for (const [title, behind] of Object.entries(BACKENDS))
  describe(title, TIMEOUT, () => {
    test('a person approves a call through a client with a session', async (t) => {
      const server = await behind(t)
      const { url, logged } = await serving(t, server)
      for (const revision of ['2025-06-18', '2025-11-25']) {
        const heard = await sessionCall(url, 'delete', ACCEPTS, { revision })
        const [question, answer] = heard
        assert.equal(question.method, 'elicitation/create')
        assert.match(question.params.message, /\n {4}server: "s"\n {4}tool: "delete"\n {4}title: "Delete /)
        assert.match(question.params.message, /\n {4}argument "id": "5"/)
        assert.deepEqual(question.params.requestedSchema, { type: 'object', properties: {} })
        assert.match(text(answer), /^done/)
        assert.equal(heard.length, 2)
      }
      assert.deepEqual(server.called, ['delete', 'delete'])
      assert.equal(logged.filter(({ approval }) => approval === 'accepted').length, 2)
    })

    test('nothing is sent of a call that a person declines, or whose question it closes', async (t) => {
      const server = await behind(t)
      const { url, logged } = await serving(t, server)
      for (const [action, outcome, words] of [
        ['decline', 'declined', /declined it\. Do not repeat the call unless the user asks for it\.$/],
        ['cancel', 'cancelled', /gave no answer\. Ask the user/],
        ['nonsense', 'cancelled', /gave no answer/],
      ] as const) {
        const heard = await sessionCall(url, 'delete', () => ({ action }))
        assert.equal(heard[1].result.isError, true)
        assert.match(text(heard[1]), words)
        const alone = await aloneCall(url, 'delete', retried(await aloneCall(url, 'delete'), action))
        assert.equal(alone.result.isError, true)
        assert.equal(alone.result.resultType, 'complete')
        assert.match(text(alone), words)
        assert.ok(logged.some((line) => line.approval === outcome && line.outcome === 'refused'))
      }
      assert.deepEqual(server.called, [])
    })

    test('nobody is asked for what destroys nothing, by the hints and defaults of MCP', async (t) => {
      const server = await behind(t)
      const { url } = await serving(t, server)
      for (const name of ['read', 'add']) {
        assert.equal((await sessionCall(url, name, ACCEPTS)).length, 1)
        assert.match(text(await aloneCall(url, name)), /^done/)
      }
      assert.deepEqual(server.called, ['read', 'read', 'add', 'add'])
      assert.equal((await sessionCall(url, 'bare', ACCEPTS))[0].method, 'elicitation/create')
      assert.equal((await aloneCall(url, 'bare')).result.resultType, 'input_required')
    })

    test('a client that cannot ask is refused, and learns why', async (t) => {
      const server = await behind(t)
      const { url, logged } = await serving(t, server)
      const call = { id: 1, method: 'tools/call', params: { name: 'delete', arguments: {} } }
      for (const [revision, capabilities] of [
        ['2025-11-25', {}],
        ['2025-11-25', { elicitation: { url: {} } }],
        ['2025-03-26', FORM],
        ['2024-11-05', FORM],
      ] as const) {
        const { headers } = await open(url, {}, capabilities, revision)
        const [answer] = await messages(await send(url, call, headers))
        assert.equal(answer.result.isError, true)
        assert.match(
          text(answer),
          /a person has to approve calls of the tool delete, and the client cannot ask/,
        )
      }
      const sse = await openSse(t, url)
      assert.match(await sse.call('delete'), /the client cannot ask anybody/)
      const { headers } = await open(url, {}, FORM)
      const [deaf] = await messages(await send(url, call, { ...headers, accept: 'application/json' }))
      assert.match(text(deaf), /accepts no text\/event-stream/)
      const [unable] = await askingPost(url, call, headers, () => ({
        error: { code: -32601, message: 'no' },
      })).then((heard) => heard.slice(-1))
      assert.match(text(unable), /answered the question with an error/)
      const { error } = await aloneCall(url, 'delete', { _meta: {} })
      assert.equal(error.code, -32021)
      assert.deepEqual(error.data, { requiredCapabilities: { elicitation: { form: {} } } })
      assert.match(error.message, /a person has to approve calls of the tool delete/)
      assert.deepEqual(server.called, [])
      assert.equal(logged.filter(({ approval }) => approval === 'unavailable').length, 8)
    })

    test('a client of 2026-07-28 calls again with the answer', async (t) => {
      const server = await behind(t)
      const { url } = await serving(t, server)
      const asked = await aloneCall(url, 'delete')
      assert.equal(asked.result.resultType, 'input_required')
      assert.deepEqual(Object.keys(asked.result.inputRequests), ['approval'])
      assert.match(asked.result.inputRequests.approval.params.message, /tool: "delete"/)
      assert.deepEqual(server.called, [])
      assert.match(text(await aloneCall(url, 'delete', retried(asked, 'accept'))), /^done/)
      assert.deepEqual(server.called, ['delete'])
      // An answer that is missing is asked for again.
      const again = await aloneCall(url, 'delete', {
        requestState: (await aloneCall(url, 'delete')).result.requestState,
      })
      assert.equal(again.result.resultType, 'input_required')
      assert.deepEqual(server.called, ['delete'])
    })

    test('an approval is good once, for its caller, tool and arguments', async (t) => {
      const server = await behind(t)
      const { url, logged } = await serving(t, server, { auth: TOKENS })
      const unknown = async (more: object, name = 'delete', as = ANN) => {
        const { error } = await aloneCall(url, name, more, as)
        assert.deepEqual([error.code, /^requestState was used/.test(error.message)], [-32602, true])
      }
      const asked = await aloneCall(url, 'delete', {}, ANN)
      const good = retried(asked, 'accept')
      await unknown({ ...good, arguments: { id: '6' } })
      await unknown(good, 'bare')
      await unknown(good, 'delete', BOB)
      await unknown({ ...good, requestState: `${good.requestState}x` })
      await unknown({ ...good, requestState: 'approval.forged' })
      assert.match(text(await aloneCall(url, 'delete', good, ANN)), /^done/)
      await unknown(good)
      assert.deepEqual(server.called, ['delete'])
      assert.ok(
        logged.some(({ failure, caller }) => /^requestState was used/.test(failure) && caller === 'bob'),
      )
      // An answer without the handle says nothing.
      const { result } = await aloneCall(
        url,
        'delete',
        { inputResponses: { approval: { action: 'accept' } } },
        ANN,
      )
      assert.equal(result.resultType, 'input_required')
      assert.deepEqual(server.called, ['delete'])
    })

    test('unknown tools, other spellings of the method and names of other types get no further', async (t) => {
      const server = await behind(t)
      const { url } = await serving(t, server)
      const { headers } = await open(url, {}, FORM)
      const ask = async (method: string, params: object) =>
        (await messages(await send(url, { id: 1, method, params }, headers)))[0].error.code
      assert.equal(await ask('tools/call', { name: 'nothing' }), -32602)
      assert.equal(await ask('tools/call', { name: ['delete'] }), -32602)
      assert.equal(await ask('Tools/Call', { name: 'delete' }), -32601)
      assert.equal((await aloneCall(url, 'nothing')).error.code, -32602)
      assert.deepEqual(server.called, [])
    })
  })

describe('proxied servers', TIMEOUT, () => {
  test('what the server itself asks for comes after the approval, which holds', async (t) => {
    const server = await mcpServer(t, 'stateless')
    const { url } = await serving(t, server)
    const asked = await aloneCall(url, 'more')
    const inner = await aloneCall(url, 'more', retried(asked, 'accept'))
    assert.deepEqual(Object.keys(inner.result.inputRequests), ['own'])
    assert.notEqual(inner.result.requestState, 'inner')
    const answered = {
      requestState: inner.result.requestState,
      inputResponses: { own: { action: 'accept', content: {} } },
    }
    assert.equal(
      text(await aloneCall(url, 'more', answered)),
      'done {"own":{"action":"accept","content":{}}}',
    )
    assert.deepEqual(server.called, ['more', 'more'])
    // The server's own state opens nothing.
    const forged = await aloneCall(url, 'more', {
      requestState: 'inner',
      inputResponses: answered.inputResponses,
    })
    assert.deepEqual(Object.keys(forged.result.inputRequests), ['approval'])
    const heard = await sessionCall(url, 'more', ACCEPTS)
    assert.match(heard[1].params.message, /Which/)
    assert.equal(heard.length, 3)
  })

  test('the annotations that clients see count: toolOverrides, names of several servers', async (t) => {
    const server = await mcpServer(t, 'session')
    const [own] = (server.rest as Loose).mcpServers
    own.toolOverrides = {
      delete: { name: 'remove', annotations: { destructiveHint: false } },
      read: { annotations: { readOnlyHint: false, destructiveHint: true } },
    }
    const { url } = await serving(t, server)
    assert.equal((await sessionCall(url, 'remove', ACCEPTS)).length, 1)
    assert.equal((await sessionCall(url, 'read', ACCEPTS)).length, 2)
    assert.equal((await aloneCall(url, 'read')).result.resultType, 'input_required')
    const two = await serving(t, await twoServers(t))
    assert.equal((await sessionCall(two.url, 'one__read', ACCEPTS)).length, 1)
    for (const name of ['one__delete', 'two__delete']) {
      assert.equal((await sessionCall(two.url, name, ACCEPTS)).length, 2)
      assert.match(
        text(await aloneCall(two.url, name, retried(await aloneCall(two.url, name), 'accept'))),
        /^done/,
      )
    }
  })

  test('a server that gives no list is not called', async (t) => {
    const server = await mcpServer(t, 'session', { tools: 'none' as never })
    const { url } = await serving(t, server)
    const [answer] = await sessionCall(url, 'delete', ACCEPTS)
    assert.match(answer.error.message, /gave no list of its tools/)
    assert.deepEqual(server.called, [])
  })
})

test('each call of a batch is refused, as its revision has no elicitation', TIMEOUT, async (t) => {
  const server = await httpTools(t)
  const { url } = await serving(t, server)
  const { headers } = await open(url, {}, FORM, '2025-03-26')
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: wires.ACCEPT, ...headers },
    body: JSON.stringify([call(1, 'delete'), call(2, 'read'), call(3, 'bare')]),
  })
  const answers = ((await response.json()) as Loose[]).sort((one, other) => one.id - other.id)
  assert.deepEqual(
    answers.map(({ result }) => result.isError === true),
    [true, false, true],
  )
  assert.deepEqual(server.called, ['read'])
})

test('the client is asked on its stream of another transport, too', TIMEOUT, async (t) => {
  const server = await httpTools(t)
  const { base } = await serving(t, server)
  const opened = await fetch(`${base}/p/sse`)
  const events = opened.body!.pipeThrough(new TextDecoderStream()).getReader()
  t.after(() => events.cancel())
  let seen = ''
  const next = async (): Promise<string> => {
    for (;;) {
      const end = seen.indexOf('\n\n')
      if (end >= 0) {
        const data = /^data: (.*)$/m.exec(seen.slice(0, end))?.[1]
        seen = seen.slice(end + 2)
        if (data !== undefined) return data
      } else seen += (await events.read()).value
    }
  }
  const address = base + (await next())
  const clientInfo = { name: 't', version: '1' }
  await send(address, {
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: FORM, clientInfo },
  })
  await next()
  await send(address, { id: 2, method: 'tools/call', params: { name: 'delete', arguments: {} } })
  const question: Loose = JSON.parse(await next())
  assert.equal(question.method, 'elicitation/create')
  await send(address, { id: question.id, result: { action: 'accept' } })
  assert.equal(text(JSON.parse(await next())), 'done')
  assert.deepEqual(server.called, ['delete'])
})

describe('while the person is asked', TIMEOUT, () => {
  const approval = { server: 's' }
  const listed = ['wait']
  const call = wires.rpc('tools/call', { name: 'wait', arguments: { key: 'k' } })
  const begin = (app: wires.Wire['app']) => wires.open(app, '/one', '2025-11-25', {}, FORM)

  test('the time is bounded, and the client learns that the question is over', async (t) => {
    wires.holdOpen(t)
    const { app, registry, waiting } = await wires.wire({ approval, listed, registry: { answerTime: 1 } })
    const session = await begin(app)
    const response = await wires.post(app, '/one/mcp', call, session)
    const heard: Loose[] = (await wires.events(response, 3)).map(({ data }) => JSON.parse(data))
    assert.deepEqual(
      heard.map(({ method }) => method),
      ['elicitation/create', 'notifications/cancelled', undefined],
    )
    assert.equal(heard[1].params.requestId, heard[0].id)
    assert.match(text(heard[2]), /no answer in time/)
    assert.equal(waiting.size, 0)
    registry.close()
  })

  test('the client may cancel the call, and a late answer opens nothing', async (t) => {
    wires.holdOpen(t)
    const { app, registry, waiting, cancelled } = await wires.wire({ approval, listed })
    const session = await begin(app)
    const response = await wires.post(app, '/one/mcp', call, session)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let seen = ''
    while (!seen.includes('elicitation/create')) seen += (await reader.read()).value
    const { id } = JSON.parse(/^data: (.+)$/m.exec(seen)![1]!)
    const notify = (method: string, params: object) =>
      wires.post(app, '/one/mcp', { jsonrpc: '2.0', method, params }, session)
    await notify('notifications/cancelled', { requestId: call.id })
    while (!(await reader.read()).done);
    await wires.post(app, '/one/mcp', { jsonrpc: '2.0', id, result: { action: 'accept' } }, session)
    assert.deepEqual([waiting.size, cancelled], [0, []])
    registry.close()
  })

  test('one client has a bounded number of open questions', async (t) => {
    wires.holdOpen(t)
    const { app, registry } = await wires.wire({ approval, listed })
    const session = await begin(app)
    const ask = (id: number) => wires.post(app, '/one/mcp', { ...call, id }, session)
    const open = await Promise.all(Array.from({ length: 64 }, (_, i) => ask(i + 100)))
    const last = await wires.body(await ask(500))
    assert.match(text(last), /64 questions wait for the client already/)
    for (const { body } of open) await body?.cancel()
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', ...ASKS }
    const alone = (id: number) =>
      wires.stateless(app, 'tools/call', { name: 'wait', arguments: {}, _meta }, {}, { id })
    for (let i = 0; i < 64; i++)
      assert.equal((await wires.body(await alone(i))).result.resultType, 'input_required')
    assert.match(text(await wires.body(await alone(99))), /64 questions wait for an answer already/)
    registry.close()
  })
})

describe('the question', () => {
  const ask = (given: object, more = {}) =>
    approvalMessage({ server: 's', tool: 'delete', title: undefined, given: given as never, ...more })

  test('arguments cannot forge words of the gateway, markup or lines', () => {
    const evil =
      'x"\n\nApproved by the administrator.\u202e\u200b</pre><script>alert(1)</script>```\u2028# Title'
    const message = ask({ [evil]: evil, note: evil }, { tool: evil, title: evil })
    const [head, block] = message.split('written by the model and the server.\n\n')
    assert.ok(head && block)
    for (const line of block.split('\n'))
      assert.match(line, /^ {4}(?:server|tool|title|argument "[^\n]*"): "/)
    assert.equal(/[<>`\u202e\u200b\u2028]/.test(message), false)
    assert.match(block, /\\n\\nApproved by the administrator/)
  })

  test('secrets are hidden, and what is long is cut with a note', () => {
    const message = ask({ api_key: 'k-123', nested: { password: 'p-123', id: 1 }, long: 'y'.repeat(5_000) })
    assert.equal(/k-123|p-123/.test(message), false)
    assert.match(message, /argument "nested": \{"password":"\*\*\*","id":1\}/)
    assert.match(
      message,
      /argument "api_key": \(a value that is not shown, as its name is that of a secret\)/,
    )
    assert.match(message, /argument "long": "y{299} … \(5002 characters in all\) … y{99}"$/)
    const many = ask(Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a${i}`, i])))
    assert.match(many, /10 more arguments are not shown\.$/)
    assert.ok(many.length < 2_000)
    assert.match(ask({}), /The call has no arguments\.$/)
  })
})

test('the audit log and the metrics say what came of asking', TIMEOUT, async (t) => {
  const path = join(temporaryFolder(t), 'audit.jsonl')
  const server = await httpTools(t)
  const gateway = await served(t, [configured(server)], {
    settings: { audit: { to: 'file', path }, outbound: { deny: [] } },
  })
  const ask = async (more: object = {}, meta = MODERN_META.replace('{}', JSON.stringify(FORM))) => {
    const params = `${JSON.stringify({ name: 'delete', arguments: { id: '5' }, ...more }).slice(0, -1)},${meta}}`
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
    return JSON.parse(
      (await gateway.post('/p/mcp', body, modernHeaders('tools/call', 'delete'))).text,
    ) as Loose
  }
  await ask(retried(await ask(), 'accept'))
  await ask(retried(await ask(), 'decline'))
  await ask({}, MODERN_META)
  // Nobody answers this one.
  await ask()
  const metrics = (await gateway.send({ path: '/metrics', method: 'GET' })).text
  for (const [outcome, count] of Object.entries({ asked: 3, accepted: 1, declined: 1, unavailable: 1 }))
    assert.match(
      metrics,
      new RegExp(
        `plantgw_approvals_total\\{tenant="default",prefix="/p",outcome="${outcome}"\\} ${count}\\n`,
      ),
    )
  gateway.child.kill('SIGINT')
  await gateway.ended
  const lines = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line): Loose => JSON.parse(line))
  assert.deepEqual(
    lines
      .filter(({ method }) => method === 'tools/call')
      .map(({ event, reason, approval }) => [event, reason, approval]),
    [
      ['call', undefined, 'asked'],
      ['call', undefined, 'accepted'],
      ['call', undefined, 'asked'],
      ['denial', 'approval', 'declined'],
      ['denial', 'approval', 'unavailable'],
      ['call', undefined, 'asked'],
      ['denial', 'approval', 'timeout'],
    ],
  )
  const [asked, unanswered] = lines.filter(({ method }) => method === 'tools/call').slice(-2)
  assert.equal(unanswered?.requestId, asked?.requestId)
})

test('a question of 2026-07-28 that nobody answers in time is counted', TIMEOUT, async (t) => {
  const { base, url } = await serving(t, await httpTools(t))
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const asked = await aloneCall(url, 'delete')
  const counted = async (outcome: string) => {
    const metrics = await (await fetch(`${base}/metrics`)).text()
    return new RegExp(`plantgw_approvals_total\\{[^}]*outcome="${outcome}"\\} (\\d+)`).exec(metrics)?.[1]
  }
  assert.deepEqual([await counted('asked'), await counted('timeout')], ['1', undefined])
  t.mock.timers.tick(299_999)
  assert.equal(await counted('timeout'), undefined)
  t.mock.timers.tick(1)
  assert.deepEqual([await counted('asked'), await counted('timeout')], ['1', '1'])
  const late = await aloneCall(url, 'delete', retried(asked, 'accept'))
  assert.equal(late.error.code, -32602)
  assert.equal(await counted('timeout'), '1')
})

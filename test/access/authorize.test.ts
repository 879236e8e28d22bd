import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { namedCaller } from '../../src/access/bearer.ts'
import { type AuthorizeRules, createAuthorize } from '../../src/access/permissions.ts'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { gatewayHere } from '../support/gateway.ts'
import { signed, testIssuer } from '../support/issuer.ts'
import { oauthWire, PUBLIC, TestClock } from '../support/oauth.ts'
import { modernHeaders } from '../support/served.ts'
import { until } from '../support/until.ts'
import { ACCEPT, type Loose, stateless } from '../support/wire.ts'
import { batching } from '../upstream/batching.ts'
import { CLIENTS, META, messages, modern, modernSend, open, send } from '../upstream/harness.ts'

const TIMEOUT = { timeout: 60_000 }
const READER = { authorization: 'Bearer reader-token' }
const OPS = { authorization: 'Bearer ops-token' }
const AUTH = {
  type: 'bearer',
  tokens: [
    { token: 'reader-token', caller: 'reader', scopes: ['read'] },
    { token: 'ops-token', caller: 'ops', scopes: ['read', 'write'] },
  ],
}
const RULES = {
  rules: [
    { tools: ['get_*'], scopes: ['read'] },
    { tools: ['delete_*'], scopes: ['read', 'write'] },
    { tools: ['secret'], callers: ['ops'] },
    { prompts: ['advice'] },
  ],
}

const tool = (name: string) => ({ name, endpoint: 'http://127.0.0.1:1/' })
const prompt = (name: string) => ({
  name,
  promptResponse: [{ role: 'user', content: { type: 'text', text: name } }],
})

/** HTTP tools behind rules. */
function http(t: TestContext, authorize: object = RULES, auth: object | null = AUTH) {
  return gatewayHere(t, {
    name: 'test',
    routers: [{ server: 's', prefix: '/p', ...(auth && { auth }), authorize }],
    servers: [{ name: 's' }],
    tools: ['get_one', 'get_all', 'delete_one', 'secret'].map(tool),
    prompts: ['advice', 'hidden'].map(prompt),
  })
}

/** Proxied MCP servers behind rules. */
function proxied(t: TestContext, servers: object[], authorize: object, more: object = {}) {
  const named = servers.map((server, i) => ({ name: `s${i + 1}`, ...server }))
  const server = named.length === 1 ? 's1' : named.map(({ name }) => name)
  return gatewayHere(t, {
    name: 'test',
    routers: [{ server, prefix: '/p', auth: AUTH, authorize, ...more }],
    mcpServers: named,
  })
}

const names = (list: Loose[], key = 'name') => list.map((item) => item[key])

describe('HTTP tools', TIMEOUT, () => {
  test('callers of both generations see and call what rules allow them', async (t) => {
    const { base } = await http(t)
    const url = `${base}/p/mcp`
    for (const as of [
      (headers: Record<string, string>) => open(url, headers),
      async (headers: Record<string, string>) => modern(url, headers),
    ]) {
      const [reader, ops] = [await as(READER), await as(OPS)]
      const list = async (client: typeof reader) => names((await client.request('tools/list')).result.tools)
      assert.deepEqual(await list(reader), ['get_one', 'get_all'])
      assert.deepEqual(await list(ops), ['get_one', 'get_all', 'delete_one', 'secret'])
      assert.deepEqual(names((await ops.request('prompts/list')).result.prompts), ['advice'])
      assert.equal((await ops.request('prompts/get', { name: 'advice' })).error, undefined)
      const { error: hidden } = await ops.request('prompts/get', { name: 'hidden' })
      assert.deepEqual(hidden, { code: -32602, message: 'Unknown prompt: hidden' })
      // The API is not there: the call came through.
      assert.equal((await reader.request('tools/call', { name: 'get_one' })).result.isError, true)
    }
  })

  test('a tool that no rule allows is answered as one that does not exist, byte for byte', async (t) => {
    const { base } = await http(t)
    const session = await open(`${base}/p/mcp`, READER)
    const ask = async (name: string, headers: Record<string, string>, meta?: object) => {
      const params = { name, ...(meta && { _meta: meta }) }
      const response = await send(`${base}/p/mcp`, { id: 7, method: 'tools/call', params }, headers)
      assert.equal(response.headers.get('www-authenticate'), null)
      return [response.status, await response.text()]
    }
    const standing = (name: string) => ({ ...READER, ...modernHeaders('tools/call', name) })
    for (const [hidden, absent] of [
      await Promise.all([ask('secret', session.headers), ask('sacred', session.headers)]),
      await Promise.all([ask('secret', standing('secret'), META), ask('sacred', standing('sacred'), META)]),
    ]) {
      assert.equal(String(hidden?.[1]).replace('secret', 'sacred'), absent?.[1])
      assert.equal(hidden?.[0], 200)
      assert.deepEqual(JSON.parse(String(hidden?.[1])).error, {
        code: -32602,
        message: 'Unknown tool: secret',
      })
    }
    // A name that is allowed and does not exist tells nothing of its neighbours.
    assert.match(String((await ask('get_ons', session.headers))[1]), /"Unknown tool: get_ons"/)
  })

  test('a missing scope is 403 with all scopes that the call needs', async (t) => {
    const { base } = await http(t)
    const session = await open(`${base}/p/mcp`, READER)
    const message = { id: 1, method: 'tools/call', params: { name: 'delete_one' } }
    for (const response of [
      await send(`${base}/p/mcp`, message, session.headers),
      await modernSend(`${base}/p/mcp`, 'tools/call', { name: 'delete_one' }, READER),
    ]) {
      assert.equal(response.status, 403)
      assert.equal(
        response.headers.get('www-authenticate'),
        'Bearer scope="read write", error="insufficient_scope"',
      )
      const { error } = (await response.json()) as Loose
      assert.deepEqual(error, {
        code: -32600,
        message: 'The token does not have all scopes that tools/call delete_one needs: read write',
      })
    }
  })

  test('a batch is judged one by one, without 403', async (t) => {
    const { base, logged } = await http(t)
    const { headers } = await open(`${base}/p/mcp`, READER, {}, '2025-03-26')
    const call = (id: number, name: unknown) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name },
    })
    const batch = [call(1, 'secret'), call(2, 'delete_one'), call(3, 'get_one'), call(4, ['get_one'])]
    const response = await fetch(`${base}/p/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: ACCEPT, ...headers },
      body: JSON.stringify([...batch, { jsonrpc: '2.0', id: 5, method: 'tools/list' }]),
    })
    assert.equal(response.status, 200)
    const answers = ((await response.json()) as Loose[]).sort((one, other) => one.id - other.id)
    assert.deepEqual(
      answers.map(({ error, result }) => error?.message ?? (result.tools ? names(result.tools) : 'called')),
      [
        'Unknown tool: secret',
        'The token does not have all scopes that tools/call delete_one needs: read write',
        'called',
        'params.name must be a string',
        ['get_one', 'get_all'],
      ],
    )
    const refused = logged.filter(({ outcome, tool }) => outcome === 'refused' && tool === 'secret')
    assert.equal(refused[0]?.failure, 'no rule of authorize allows the caller to use secret')
  })

  test('over SSE a missing scope is an error on the stream', async (t) => {
    const { base } = await http(t, { rules: [{ tools: ['get_*'] }, { tools: ['secret'], scopes: ['x'] }] })
    const response = await fetch(`${base}/p/sse`, { headers: READER })
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    t.after(() => reader.cancel())
    let text = ''
    const until = async (pattern: RegExp) => {
      while (!pattern.test(text)) text += (await reader.read()).value
      return pattern.exec(text)?.[1] as string
    }
    const address = base + (await until(/^data: (.*)\n/m))
    const params = {
      protocolVersion: '2024-11-05',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    await send(address, { id: 1, method: 'initialize', params }, READER)
    await send(address, { id: 2, method: 'tools/call', params: { name: 'secret' } }, READER)
    await send(address, { id: 3, method: 'tools/list' }, READER)
    assert.equal(JSON.parse(await until(/^data: (.*"id":2,.*)\n/m)).error.code, -32600)
    assert.deepEqual(names(JSON.parse(await until(/^data: (.*"id":3,.*)\n/m)).result.tools), [
      'get_one',
      'get_all',
    ])
  })

  test('default: allow opens what no rule names; other spellings are not open', async (t) => {
    const { base } = await http(t, { default: 'allow', rules: [{ tools: ['delete_*'], scopes: ['write'] }] })
    const reader = await open(`${base}/p/mcp`, READER)
    const { tools } = (await reader.request('tools/list')).result
    assert.deepEqual(names(tools), ['get_one', 'get_all', 'secret'])
    for (const name of ['Delete_one', 'delete_one\u0000', 'd\u200belete_one', 'ｄelete_one'])
      assert.match(await reader.call(name), /^error: (Unknown tool|The token does not have)/)
  })

  test('methods that rules do not know are refused unless the default is allow', async (t) => {
    const { base } = await http(t)
    const reader = await open(`${base}/p/mcp`, READER)
    for (const method of ['x/call', 'Tools/call', 'tools/Call', 'tasks/list'])
      assert.deepEqual((await reader.request(method, { name: 'secret' })).error, {
        code: -32601,
        message: `Method not found: ${method}${/^tools.call$/i.test(method) ? '. Did you mean tools/call?' : ''}`,
      })
    assert.deepEqual((await reader.request('ping')).result, {})
  })

  test('keys that are there twice, or nearly, are refused before rules judge', async (t) => {
    const { base } = await http(t)
    const { headers } = await open(`${base}/p/mcp`, READER)
    for (const params of [
      '{"name":"get_one","name":"secret"}',
      '{"name":"get_one","Name":"secret"}',
      '{"name":"get_one","n\\u0061me":"secret"}',
    ]) {
      const response = await fetch(`${base}/p/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: ACCEPT, ...headers },
        body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`,
      })
      assert.equal(response.status, 400)
    }
  })

  test('lists of 2026-07-28 are private; the rules of a reload hold for open sessions', async (t) => {
    const { base, change } = await http(t, { default: 'allow' }, null)
    const client = modern(`${base}/p/mcp`)
    for (const method of ['tools/list', 'prompts/list', 'server/discover'])
      assert.equal((await client.request(method)).result.cacheScope, 'private')
    const session = await open(`${base}/p/mcp`)
    assert.equal((await session.request('tools/list')).result.tools.length, 4)
    await change({
      name: 'test',
      routers: [{ server: 's', prefix: '/p', authorize: { rules: [{ tools: ['secret'] }] } }],
      servers: [{ name: 's' }],
      tools: ['get_one', 'secret'].map(tool),
    })
    assert.deepEqual(names((await session.request('tools/list')).result.tools), ['secret'])
  })
})

const EVERYTHING = {
  rules: [
    { tools: ['test_simple_text'] },
    { prompts: ['test_simple_prompt'] },
    { resources: ['test://static-text'] },
  ],
}

describe('proxied servers', TIMEOUT, () => {
  for (const [what, make] of [
    ['stdio, every revision', async () => ({ type: 'stdio', ...everythingStdio('dual') })],
    ['stdio, sessions', async () => ({ type: 'stdio', ...everythingStdio('session') })],
    [
      'streamable HTTP',
      async (t: TestContext) => ({ type: 'streamable-http', url: await startEverything(t, 'http', 'dual') }),
    ],
    [
      'streamable HTTP of 2026-07-28',
      async (t: TestContext) => ({
        type: 'streamable-http',
        url: await startEverything(t, 'http', 'modern'),
      }),
    ],
  ] as const)
    test(`nothing but what rules name is there: ${what}`, async (t) => {
      const { base } = await proxied(t, [await make(t)], EVERYTHING, { auth: undefined })
      for (const connect of Object.values(CLIENTS)) {
        const client = await connect(t, `${base}/p/mcp`)
        const listed = async (method: string, key: string, by = 'name') =>
          names((await client.request(method)).result[key], by)
        assert.deepEqual(await listed('tools/list', 'tools'), ['test_simple_text'])
        assert.deepEqual(await listed('prompts/list', 'prompts'), ['test_simple_prompt'])
        assert.deepEqual(await listed('resources/list', 'resources', 'uri'), ['test://static-text'])
        assert.deepEqual(await listed('resources/templates/list', 'resourceTemplates'), [])
        assert.match(await client.call('test_simple_text'), /simple text/)
        assert.equal(await client.call('test_image_content'), 'error: Unknown tool: test_image_content')
        const read = (uri: string) => client.request('resources/read', { uri })
        assert.equal((await read('test://static-text')).result.contents.length, 1)
        for (const uri of ['test://static-binary', 'test://nothing']) {
          const { error } = await read(uri)
          assert.deepEqual([error.message, error.data], ['Resource not found', { uri }])
        }
        const ref = { type: 'ref/prompt', name: 'test_prompt_with_arguments' }
        const argument = { name: 'arg1', value: 'a' }
        assert.deepEqual((await client.request('completion/complete', { ref, argument })).error, {
          code: -32602,
          message: 'Unknown prompt: test_prompt_with_arguments',
        })
        const template = { type: 'ref/resource', uri: 'test://template/{id}/data' }
        const { error } = await client.request('completion/complete', { ref: template, argument })
        assert.equal(error.message, 'Resource not found')
      }
      const session = await open(`${base}/p/mcp`)
      const { error } = await session.request('resources/subscribe', { uri: 'test://watched-resource' })
      assert.deepEqual([error.code, error.message], [-32002, 'Resource not found'])
      const notifications = { resourceSubscriptions: ['test://static-text', 'test://watched-resource'] }
      const listening = await modernSend(`${base}/p/mcp`, 'subscriptions/listen', { notifications })
      assert.equal((await messages(listening)).at(-1).error.message, 'Resource not found')
      const list = (await modern(`${base}/p/mcp`).request('tools/list')).result
      assert.equal(list.cacheScope, 'private')
    })

  test('rules judge the names that clients see, and what was judged is sent', async (t) => {
    const server = await batching(t)
    const renamed = { type: 'streamable-http', url: server.url, toolOverrides: { b: { name: 'greet' } } }
    const { base } = await proxied(t, [renamed], { rules: [{ tools: ['greet'], callers: ['ops'] }] })
    const reader = await open(`${base}/p/mcp`, READER, {}, '2025-03-26')
    const ops = await open(`${base}/p/mcp`, OPS, {}, '2025-03-26')
    assert.deepEqual((await reader.request('tools/list')).result.tools, [])
    assert.deepEqual(names((await ops.request('tools/list')).result.tools), ['greet'])
    for (const name of ['a', 'b', 'greet', 'secret'])
      assert.equal(await reader.call(name), `error: Unknown tool: ${name}`)
    const call = (id: number, name: string) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name },
    })
    const response = await fetch(`${base}/p/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: ACCEPT, ...ops.headers },
      body: JSON.stringify([call(1, 'a'), call(2, 'greet'), call(3, 'b'), call(4, 'secret')]),
    })
    const answers = ((await response.json()) as Loose[]).sort((one, other) => one.id - other.id)
    assert.deepEqual(
      answers.map(({ error, result }) => error?.message ?? result.content),
      ['Unknown tool: a', 'called b', 'Unknown tool: b', 'Unknown tool: secret'],
    )
    assert.deepEqual(server.called, ['b'])
  })

  test('several servers behind a prefix are judged by the names that tell the server', async (t) => {
    const servers = [
      { type: 'stdio', ...everythingStdio('dual') },
      { type: 'streamable-http', url: await startEverything(t, 'http', 'session') },
    ]
    const { base } = await proxied(t, servers, { rules: [{ tools: ['s2__test_simple_*'] }] })
    for (const client of [await open(`${base}/p/mcp`, READER), modern(`${base}/p/mcp`, READER)]) {
      const { tools } = (await client.request('tools/list')).result
      assert.deepEqual(names(tools), ['s2__test_simple_text'])
      assert.match(await client.call('s2__test_simple_text'), /simple text/)
      assert.equal(await client.call('s1__test_simple_text'), 'error: Unknown tool: s1__test_simple_text')
    }
  })

  test('rules that a reload brings judge a session that is open', async (t) => {
    const server = { name: 's1', type: 'streamable-http', url: (await batching(t)).url }
    const configuration = (more: object) => ({
      name: 'test',
      routers: [{ server: 's1', prefix: '/p', ...more }],
      mcpServers: [server],
    })
    const { base, change } = await gatewayHere(t, configuration({}))
    const client = await open(`${base}/p/mcp`, {}, {}, '2025-03-26')
    assert.equal((await client.request('tools/list')).result.tools.length, 3)
    await change(configuration({ authorize: { rules: [{ tools: ['a'] }] } }))
    assert.deepEqual(names((await client.request('tools/list')).result.tools), ['a'])
    assert.equal(await client.call('secret'), 'error: Unknown tool: secret')
  })

  test('a batch is judged although a server before the reload owes a part of it', TIMEOUT, async (t) => {
    const server = await batching(t)
    const configuration = (more: object) => ({
      name: 'test',
      routers: [{ server: 's1', prefix: '/p', ...more }],
      mcpServers: [{ name: 's1', type: 'streamable-http', url: server.url }],
    })
    const { base, change } = await gatewayHere(t, configuration({}))
    const client = await open(`${base}/p/mcp`, {}, {}, '2025-03-26')
    const slow = client.request('tools/call', { name: 'b', arguments: { wait: true } })
    await until(() => server.called.includes('b'))
    await change(configuration({ authorize: { rules: [{ tools: ['a'] }] } }))
    const call = (id: number, name: string) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name },
    })
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 99 } }
    const response = await fetch(`${base}/p/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: ACCEPT, ...client.headers },
      body: JSON.stringify([cancelled, call(1, 'secret'), call(2, 'a')]),
    })
    const answers = ((await response.json()) as Loose[]).sort((one, other) => one.id - other.id)
    assert.deepEqual(
      answers.map(({ error, result }) => error?.message ?? result.content),
      ['Unknown tool: secret', 'called a'],
    )
    server.release()
    await slow
    assert.deepEqual(server.called, ['b', 'a'])
  })
})

describe('rules of a tenant', TIMEOUT, () => {
  const TENANT = { name: 'green', prefix: '/p' }
  const SHARED = [
    { token: 'green-reader', caller: 'gina', scopes: ['read'] },
    { token: 'green-plain', caller: 'greg' },
  ]
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

  /** HTTP tools of the tenant, whose rules in the settings are these. */
  const bounded = (t: TestContext, bound: object, router: object, tokens: object[] = SHARED) =>
    gatewayHere(
      t,
      {
        name: 'test',
        tenant: 'green',
        routers: [{ server: 's', prefix: '/p', ...router }],
        servers: [{ name: 's' }],
        tools: ['get_one', 'get_all', 'delete_one', 'secret'].map(tool),
        prompts: ['advice', 'hidden'].map(prompt),
      },
      {},
      { tenants: [{ ...TENANT, authorize: bound, tokens }] },
    )

  test('bound those of the router, which cannot widen them', async (t) => {
    const bound = { rules: [{ tools: ['get_*', 'delete_*'] }, { prompts: ['*'] }] }
    const cases: [object | undefined, string[], string[]][] = [
      [undefined, ['get_one', 'get_all', 'delete_one'], ['advice', 'hidden']],
      [{ default: 'allow' }, ['get_one', 'get_all', 'delete_one'], ['advice', 'hidden']],
      [{ rules: [{ tools: ['*'] }] }, ['get_one', 'get_all', 'delete_one'], []],
      [{ rules: [{ tools: ['secret', 'get_one'] }] }, ['get_one'], []],
      [{ rules: [] }, [], []],
    ]
    for (const [authorize, tools, prompts] of cases) {
      const { base } = await bounded(t, bound, authorize ? { authorize } : {})
      const url = `${base}/p/mcp`
      for (const client of [await open(url, bearer('green-plain')), modern(url, bearer('green-plain'))]) {
        const list = (await client.request('tools/list')).result
        assert.deepEqual(names(list.tools), tools)
        assert.deepEqual(names((await client.request('prompts/list')).result.prompts), prompts)
        const { error } = await client.request('tools/call', { name: 'secret' })
        assert.deepEqual(error, { code: -32602, message: 'Unknown tool: secret' })
      }
    }
  })

  test('a missing scope is 403 with those of both, unless something else is missing', async (t) => {
    const bound = {
      rules: [
        { tools: ['get_*'], scopes: ['green'] },
        { tools: ['delete_*'], callers: ['ann'] },
      ],
    }
    const authorize = {
      rules: [
        { tools: ['get_*'], scopes: ['read'] },
        { tools: ['*'], scopes: ['write'] },
      ],
    }
    const { base } = await bounded(t, bound, { authorize })
    const ask = async (name: string, token: string) => {
      const response = await modernSend(`${base}/p/mcp`, 'tools/call', { name }, bearer(token))
      return [response.status, /scope="([^"]*)"/.exec(response.headers.get('www-authenticate') ?? '')?.[1]]
    }
    assert.deepEqual(await ask('get_one', 'green-plain'), [403, 'green read'])
    // What the token has already is among them: clients ask for a new one with all.
    assert.deepEqual(await ask('get_one', 'green-reader'), [403, 'green read'])
    assert.deepEqual(await ask('delete_one', 'green-reader'), [200, undefined])
    assert.deepEqual(await ask('secret', 'green-reader'), [200, undefined])
  })

  test('nothing of a caller counts that only the author of the router says', async (t) => {
    const bound = {
      rules: [
        { tools: ['get_one'], scopes: ['read'] },
        { tools: ['get_all'], callers: ['gina'] },
      ],
    }
    const tokens = [{ token: 'own', caller: 'gina', scopes: ['read'] }]
    const { base } = await bounded(t, bound, { auth: { type: 'bearer', tokens } })
    const list = async (token: string) =>
      names((await modern(`${base}/p/mcp`, bearer(token)).request('tools/list')).result.tools)
    assert.deepEqual(await list('own'), [])
    assert.deepEqual(await list('green-reader'), ['get_one', 'get_all'])
  })

  test('of tokens of an authorization server count those whose keys it publishes itself', async (t) => {
    const clock = new TestClock()
    const issuer = await testIssuer(t)
    const key = await issuer.addKey('ec')
    const bound = {
      rules: [
        { tools: ['by_issuer'], claims: { iss: [issuer.issuer] } },
        { tools: ['by_scope'], scopes: ['green'] },
        { tools: ['by_name'], callers: ['alice'] },
      ],
    }
    const nothing = { tokens: [], env: [], stdio: false, commands: [], notifier: false }
    const tenants = [{ ...TENANT, ...nothing, authorize: { default: 'deny' as const, ...bound } }]
    const token = await signed(
      key,
      { alg: 'ES256', kid: 'ec' },
      {
        iss: issuer.issuer,
        sub: 'alice',
        nick: 'alice',
        aud: `${PUBLIC}/one/mcp`,
        exp: clock.seconds + 60,
        scope: 'green',
      },
    )
    const other = await signed(
      key,
      { alg: 'ES256', kid: 'ec' },
      {
        iss: issuer.issuer,
        sub: 'mallory',
        nick: 'alice',
        aud: `${PUBLIC}/one/mcp`,
        exp: clock.seconds + 60,
        scope: 'green',
      },
    )
    const denied = async (auth: object, sent: string) => {
      const { app } = await oauthWire(t, auth, clock, { tenants, tenant: 'green' })
      const found: string[] = []
      for (const name of ['by_issuer', 'by_scope', 'by_name']) {
        const response = await stateless(app, 'tools/call', { name }, { authorization: `Bearer ${sent}` })
        const { error } = (await response.json()) as Loose
        if (error?.message === `Unknown tool: ${name}`) found.push(name)
      }
      return found
    }
    const jwt = { type: 'jwt', issuers: [{ issuer: issuer.issuer }] }
    assert.deepEqual(await denied(jwt, token), [])
    // Which claim is the name is the author's choice.
    assert.deepEqual(await denied({ ...jwt, caller: 'nick' }, other), ['by_name'])
    const forged = { type: 'jwt', issuers: [{ issuer: issuer.issuer, jwksUrl: `${issuer.issuer}/jwks` }] }
    assert.deepEqual(await denied(forged, token), ['by_issuer', 'by_scope', 'by_name'])
  })
})

test('a claim inside of others is named by a JSON Pointer, any other by its name', () => {
  const claims = {
    groups: ['ops'],
    'https://example.com/roles': ['url'],
    'a.b': 'dotted',
    '/odd': 'slash',
    '/a/b': 'slashes',
    realm_access: { roles: ['admin', 'user'], 'x/y': { 'm~n': true } },
    list: [{ role: 'first' }],
  }
  const identity = { ...namedCaller('me'), claims }
  const meets = (wanted: Record<string, string[]>) =>
    createAuthorize(
      [{ authorize: { default: 'deny', rules: [{ tools: ['x'], claims: wanted }] } }],
      [],
      () => '',
    )({ identity, path: '' }).allows('tools', 'x')
  for (const [name, value] of [
    ['groups', 'ops'],
    ['/groups', 'ops'],
    ['https://example.com/roles', 'url'],
    ['a.b', 'dotted'],
    ['/~1odd', 'slash'],
    ['/realm_access/roles', 'admin'],
    ['/realm_access/x~1y/m~0n', 'true'],
  ] as const)
    assert.equal(meets({ [name]: [value] }), true, name)
  for (const [name, value] of [
    ['realm_access.roles', 'admin'],
    ['realm_access/roles', 'admin'],
    ['/realm_access', 'admin'],
    ['/realm_access/roles/', 'admin'],
    ['/realm_access/toString', 'admin'],
    ['/odd', 'slash'],
    ['/', 'slash'],
    ['/__proto__/x', 'admin'],
    ['/groups', 'dev'],
    ['/missing/deep', 'undefined'],
  ] as const)
    assert.equal(meets({ [name]: [value] }), false, name)
})

describe('tokens of an authorization server', () => {
  const RULE = [
    { tools: ['echo'], scopes: ['plants:read'] },
    { tools: ['wipe'], scopes: ['plants:write', 'audit'], claims: { groups: ['ops', 'admins'], level: [3] } },
    { tools: ['mine'], callers: ['alice'] },
  ]

  test('rules judge claims and callers; 403 names the scopes of router and rule', async (t) => {
    const clock = new TestClock()
    const issuer = await testIssuer(t)
    const key = await issuer.addKey('ec')
    const auth = { type: 'jwt', issuers: [{ issuer: issuer.issuer }], scopes: ['base'] }
    const { app } = await oauthWire(t, auth, clock, { rules: RULE })
    const ask = async (name: string, claims: object) => {
      const all = { iss: issuer.issuer, sub: 'alice', aud: `${PUBLIC}/one/mcp`, exp: clock.seconds + 60 }
      const token = await signed(key, { alg: 'ES256', kid: 'ec' }, { scope: 'base', ...all, ...claims })
      const response = await stateless(app, 'tools/call', { name }, { authorization: `Bearer ${token}` })
      const { result, error } = (await response.json()) as Loose
      const challenge = response.headers.get('www-authenticate')
      return [response.status, error?.message ?? result.content[0].text, challenge]
    }
    const ops = { groups: ['dev', 'ops'], level: 3 }
    const unknown = (name: string) => [200, `Unknown tool: ${name}`, null]
    const lacks = (what: string, scope: string) => [
      403,
      `The token does not have all scopes that tools/call ${what} needs: ${scope}`,
      `Bearer resource_metadata="${PUBLIC}/.well-known/oauth-protected-resource/one/mcp", scope="${scope}", error="insufficient_scope", error_description="The token does not have all scopes that are needed here"`,
    ]
    const rows: [name: string, claims: object, expected: unknown[]][] = [
      ['echo', { scope: 'base plants:read' }, [200, 'echo', null]],
      ['echo', {}, lacks('echo', 'base plants:read')],
      ['echo', { scope: 'base plants:read2' }, lacks('echo', 'base plants:read')],
      ['wipe', { ...ops, scope: 'base plants:write audit' }, [200, 'wipe', null]],
      ['wipe', { ...ops, scope: 'base plants:write' }, lacks('wipe', 'base plants:write audit')],
      ['wipe', { scope: 'base plants:write audit' }, unknown('wipe')],
      ['wipe', { ...ops, level: 4, scope: 'base plants:write audit' }, unknown('wipe')],
      ['wipe', { ...ops, groups: 'admins', scope: 'base plants:write audit' }, [200, 'wipe', null]],
      ['wipe', { ...ops, groups: 'dev ops', scope: 'base plants:write audit' }, unknown('wipe')],
      ['wipe', { ...ops, groups: { ops: true } }, unknown('wipe')],
      ['wipe', { ...ops, groups: [['ops']] }, unknown('wipe')],
      ['wipe', { ...ops, groups: 'x'.repeat(20_000) }, unknown('wipe')],
      ['mine', {}, [200, 'mine', null]],
      ['mine', { sub: 'bob' }, unknown('mine')],
      ['other', { scope: 'base plants:read plants:write audit', ...ops }, unknown('other')],
    ]
    for (const [name, claims, expected] of rows)
      assert.deepEqual(await ask(name, claims), expected, JSON.stringify(claims).slice(0, 100))
  })
})

/** Whether rules that name these resources let a caller without anything read them, and protect them by `default: allow`. */
const URIS: readonly [glob: string, uri: string, allowed: boolean, named: boolean][] = [
  ['file:///public/**', 'file:///public/a/b.txt', true, true],
  ['file:///public/*', 'file:///public/a.txt', true, true],
  ['file:///public/*', 'file:///public/a/b.txt', false, true],
  ['file:///public/**', 'file:///publicity', false, false],
  ['file:///public/**', 'file:///public/../secret', false, true],
  ['file:///public/**', 'file:///public/%2e%2e/secret', false, true],
  ['file:///public/**', 'file:///public/%252e%252e%252fsecret', false, true],
  ['file:///public/**', 'file:///public/..%5csecret', false, true],
  ['file:///public/**', 'file:///public/..;/secret', false, true],
  ['file:///secret/**', 'file:///%73ecret/a', false, true],
  ['file:///secret/**', 'file:///%2573ecret/a', false, true],
  ['file:///secret/**', 'FILE:///Secret/a', false, true],
  ['file:///secret/**', 'file:////secret/a', false, true],
  ['file:///secret/**', 'file:\\\\\\secret/a', false, true],
  ['file:///secret/**', 'file:///x/../secret/a', false, true],
  ['file:///secret', 'file:///secret?x', false, true],
  ['file:///secret', 'file:///secret#x', false, true],
  ['*', 'https://example.com/a/b', true, true],
  ['**/a', 'https://example.com/a', true, true],
  ['*/a', 'https://example.com/a', false, true],
  ['test://{id}/data', 'test://{id}/data', true, true],
  ['test://1/*', 'test://1/', true, true],
  ['a*b*c', 'axxbxxc', true, true],
  ['a*b*c', 'axxbxx', false, false],
  ['**', 'x'.repeat(3_000), false, true],
]

test('names of resources are judged as the most lenient server reads them', () => {
  const judge = (rules: AuthorizeRules, uri: string) =>
    createAuthorize(
      [{ authorize: rules }],
      [],
      () => '',
    )({ identity: namedCaller('me'), path: '' }).allows('resources', uri)
  for (const [glob, uri, allowed, named] of URIS) {
    const rule = { resources: [glob] }
    assert.equal(
      judge({ default: 'deny', rules: [rule] }, uri),
      allowed,
      `${glob} allows ${uri.slice(0, 80)}`,
    )
    const open = judge({ default: 'allow', rules: [{ ...rule, callers: ['nobody'] }] }, uri)
    assert.equal(open, !named, `${glob} names ${uri.slice(0, 80)}`)
  }
})

test('many globs with many wildcards judge the longest name', () => {
  const globs = Array.from({ length: 10 }, () => `a${'*a'.repeat(8)}b`)
  const rules = Array.from({ length: 10 }, () => ({ tools: globs, resources: globs }))
  const { allows } = createAuthorize(
    [{ authorize: { default: 'allow', rules } }],
    [],
    () => '',
  )({ identity: undefined, path: '' })
  assert.equal(allows('tools', `${'a'.repeat(2_047)}c`), true)
  assert.equal(allows('resources', `${'a'.repeat(200)}c`), true)
})

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { after, before, describe, type TestContext, test } from 'node:test'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { crash } from '../support/process.ts'
import { events, type Loose } from '../support/wire.ts'
import { messages, modernSend, open, send } from '../upstream/harness.ts'
import { type Replicas, serveReplicas, startReplica, toolsFile } from './harness.ts'

const list = (url: string, headers: Record<string, string>) =>
  send(url, { id: 'list', method: 'tools/list' }, headers)
const BEARER = {
  auth: { type: 'bearer', tokens: ['me', 'you'].map((caller) => ({ token: `token-of-${caller}`, caller })) },
}
const as = (caller: string) => ({ authorization: `Bearer token-of-${caller}` })

test('a session id is worth something to its caller alone, at its prefix, and unchanged', async (t) => {
  const { a, b } = await serveReplicas(t, {
    files: {
      tools: await toolsFile(t, BEARER),
      twin: (await toolsFile(t, BEARER)).replaceAll('tools\n', 'twin\n').replace('/tools', '/twin'),
    },
    upstreams: { stdio: { type: 'stdio', ...everythingStdio('session') } },
  })
  const { headers } = await open(a.url('tools'), as('me'))
  const id = headers['mcp-session-id']!
  assert.match(id, /^[\x21-\x7e]{60,400}$/)
  const status = async (url: string, given: Record<string, string>) => {
    const response = await list(url, { ...headers, ...given })
    const { error }: Loose = await response.json()
    if (response.status === 404) assert.match(error.message, /send initialize again/)
    return response.status
  }
  for (const { url } of [a, b]) {
    assert.equal(await status(url('tools'), {}), 200)
    assert.equal(await status(url('tools'), as('you')), 404)
    assert.equal(await status(url('twin'), {}), 404)
    assert.equal(await status(url('tools'), { authorization: '' }), 401)
    assert.equal(await status(url('tools'), { 'mcp-session-id': `${id}x` }), 404)
    for (const i of [0, 40, id.length - 1]) {
      const other = id[i] === 'A' ? 'B' : 'A'
      const changed = id.slice(0, i) + other + id.slice(i + 1)
      assert.equal(await status(url('tools'), { 'mcp-session-id': changed }), 404)
    }
    assert.equal(await status(url('tools'), { 'mcp-session-id': crypto.randomUUID() }), 404)
  }
  // What one replica holds is not found through another one by anybody else, either.
  const held = await open(a.url('stdio'))
  assert.equal((await list(b.url('stdio'), held.headers)).status, 200)
  const elsewhere = { ...held.headers, ...as('me') }
  assert.equal(await status(b.url('tools'), elsewhere), 404)
})

test('replicas of another secret know nothing of each other', async (t) => {
  const { a, b } = await serveReplicas(t, {
    files: { tools: await toolsFile(t) },
    upstreams: { stdio: { type: 'stdio', ...everythingStdio('session') } },
    secrets: ['one secret of at least 32 characters', 'another one of at least 32 characters'],
  })
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const) {
    for (const name of ['tools', 'stdio']) {
      const { headers } = await open(one.url(name))
      assert.equal((await list(one.url(name), headers)).status, 200)
      assert.equal((await list(other.url(name), headers)).status, 404)
    }
    await other.until(/a session id was made with another cluster secret/)
    assert.equal(other.stderr().match(/another cluster secret/g)?.length, 1)
    assert.match(other.stderr(), /"hint":"Give all replicas the same/)
    assert.match(
      await (await fetch(`${other.origin}/metrics`)).text(),
      /plantgw_foreign_session_ids_total 2\n/,
    )
  }
})

test('a secret is changed without ending a session: both are accepted for a while', async (t) => {
  const [before, after] = ['the secret of before, long enough', 'the secret of after, long enough!']
  const { all } = await serveReplicas(t, {
    files: { tools: await toolsFile(t) },
    upstreams: { stdio: { type: 'stdio', ...everythingStdio('session') } },
    secrets: [before, [before, after], [after, before], after],
    count: 4,
  })
  // Each step of a change is beside the one before, while replicas are restarted one by one.
  for (let step = 0; step + 1 < all.length; step++) {
    const pair = [all[step]!, all[step + 1]!] as const
    for (const [one, other] of [pair, pair.toReversed()] as (typeof pair)[])
      for (const name of ['tools', 'stdio']) {
        const { headers } = await open(one.url(name))
        assert.equal((await list(other.url(name), headers)).status, 200, `${name} in step ${step}`)
      }
  }
  const { headers } = await open(all[0]!.url('tools'))
  assert.equal((await list(all[3]!.url('tools'), headers)).status, 404)
})

test('when a replica is killed, what it did not hold goes on, and the rest starts anew', async (t) => {
  const { a, b } = await serveReplicas(t, {
    files: { tools: await toolsFile(t) },
    upstreams: { stdio: { type: 'stdio', ...everythingStdio('session') } },
  })
  const tools = await open(a.url('tools'))
  const stdio = await open(a.url('stdio'))
  assert.equal((await list(b.url('stdio'), stdio.headers)).status, 200)
  const asked = await modernSend(b.url('stdio'), 'tools/call', {
    name: 'test_elicitation',
    arguments: { message: 'Who?' },
    _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } },
  })
  assert.equal((await messages(asked))[0].result.resultType, 'input_required')
  await crash(a)
  assert.equal((await list(b.url('tools'), tools.headers)).status, 200)
  const lost = await list(b.url('stdio'), stdio.headers)
  assert.equal(lost.status, 404)
  assert.match(await lost.text(), /send initialize again/)
  for (const method of ['GET', 'DELETE']) {
    const response = await fetch(b.url('stdio'), {
      method,
      headers: { ...stdio.headers, accept: 'text/event-stream' },
    })
    assert.equal(response.status, 404)
  }
  const metrics = await (await fetch(`${b.origin}/metrics`)).text()
  for (const line of ['outcome="ok"} 1', 'outcome="gone"} 3'])
    assert.match(metrics, new RegExp(`plantgw_forwarded_requests_total.prefix="/stdio",${line}`))
  const again = await open(b.url('stdio'))
  assert.equal(await again.call('test_simple_text'), 'This is a simple text response for testing.')
})

test('a replica that was started anew at its address knows that it is another one', async (t) => {
  const { a, b, folder } = await serveReplicas(t, {
    files: { tools: await toolsFile(t) },
    upstreams: { stdio: { type: 'stdio', ...everythingStdio('session') } },
  })
  const tools = await open(a.url('tools'))
  const stdio = await open(a.url('stdio'))
  await crash(a)
  const next = await startReplica(t, folder, { port: Number(new URL(a.origin).port) })
  for (const { url } of [next, b]) {
    assert.equal((await list(url('tools'), tools.headers)).status, 200)
    assert.equal((await list(url('stdio'), stdio.headers)).status, 404)
  }
})

test('a call that waits for input is answered through any replica, once, by its caller', async (t) => {
  const { a, b } = await serveReplicas(t, {
    upstreams: { stdio: { type: 'stdio', ...everythingStdio('session') } },
  })
  const call = (url: string, more: object = {}) =>
    modernSend(url, 'tools/call', {
      name: 'test_elicitation',
      arguments: { message: 'Who?' },
      _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } },
      ...more,
    }).then(messages)
  const [{ result }] = await call(a.url('stdio'))
  const [key] = Object.keys(result.inputRequests)
  const inputResponses = { [key!]: { action: 'accept', content: { username: 'ann', email: 'a@b' } } }
  const { requestState } = result
  const [forged] = await call(b.url('stdio'), { inputResponses, requestState: `${requestState}x` })
  assert.match(forged.error.message, /requestState was used/)
  const answer = (await call(b.url('stdio'), { inputResponses, requestState })).at(-1)
  assert.match(answer.result.content[0].text, /ann/)
  const [used] = await call(b.url('stdio'), { inputResponses, requestState })
  assert.match(used.error.message, /requestState was used/)
  const [{ result: second }] = await call(a.url('stdio'))
  await crash(a)
  const [gone] = await call(b.url('stdio'), { inputResponses, requestState: second.requestState })
  assert.match(gone.error.message, /requestState was used/)
})

test('open streams hold up the end of no replica', async (t) => {
  const { a, b } = await serveReplicas(t, {
    upstreams: {
      stdio: { type: 'stdio', ...everythingStdio('session') },
      http: { type: 'streamable-http', url: await startEverything(t, 'http', 'session') },
    },
  })
  const streams = ['stdio', 'http'].map(async (name) => {
    const { headers } = await open(a.url(name))
    return fetch(b.url(name), { headers: { ...headers, accept: 'text/event-stream' } })
  })
  const texts = (await Promise.all(streams)).map((response) => response.text())
  const started = performance.now()
  b.child.kill('SIGINT')
  assert.equal(await b.ended, 0)
  await Promise.all(texts)
  // Calls under way are waited for 30 seconds and more.
  assert.ok(performance.now() - started < 20_000)
})

describe('two replicas', () => {
  let pair: Replicas
  const ends: (() => unknown)[] = []
  before(async () => {
    const t = { after: (end: () => unknown) => void ends.unshift(end) } as TestContext
    pair = await serveReplicas(t, {
      files: { tools: await toolsFile(t) },
      upstreams: {
        stdio: { type: 'stdio', ...everythingStdio('session') },
        s: { type: 'stdio', ...everythingStdio('modern') },
      },
    })
  })
  after(async () => {
    for (const end of ends) await end()
  })

  test('streams pass through a replica, both ways', async () => {
    const { a, b } = pair
    const { headers, all, request } = await open(a.url('stdio'))
    const leaving = new AbortController()
    const stream = await fetch(b.url('stdio'), {
      headers: { ...headers, accept: 'text/event-stream' },
      signal: leaving.signal,
    })
    assert.equal(stream.headers.get('content-type'), 'text/event-stream')
    assert.equal(stream.headers.get('plantgw-hop-proof'), null)
    const streams = async () => ((await (await fetch(`${a.origin}/_status`)).json()) as Loose).streams
    assert.equal(await streams(), 1)
    assert.ok((await request('tools/list')).result)
    const told = send(
      b.url('stdio'),
      {
        id: 'p',
        method: 'tools/call',
        params: { name: 'test_tool_with_progress', arguments: {}, _meta: { progressToken: 'x' } },
      },
      headers,
    )
    assert.deepEqual(
      (await messages(await told)).map((message) => message.method ?? 'answer'),
      [...Array(3).fill('notifications/progress'), 'answer'],
    )
    assert.ok(await all('ping'))
    // The other replica hears that the client went away.
    leaving.abort()
    while ((await streams()) !== 0) await new Promise((resolve) => setImmediate(resolve))
    const ended = await fetch(b.url('stdio'), { method: 'DELETE', headers })
    assert.equal(ended.status, 204)
    for (const { url } of [a, b]) assert.equal((await list(url('stdio'), headers)).status, 404)
  })

  test('a client cannot pass for a replica', async () => {
    const { a, b } = pair
    const { headers } = await open(a.url('stdio'))
    for (const forged of ['true', 'a.b', '']) {
      const response = await list(b.url('stdio'), { ...headers, 'plantgw-hop': forged })
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('plantgw-hop-proof'), null)
    }
  })

  test('who ends a session ends it at both replicas that know of it', async () => {
    const { a, b } = pair
    const { headers } = await open(a.url('tools'))
    assert.equal((await fetch(b.url('tools'), { method: 'DELETE', headers })).status, 204)
    for (const { url } of [a, b]) assert.equal((await list(url('tools'), headers)).status, 404)
  })

  test('what changed is told on the stream, whichever replica holds it', async (t) => {
    const { a, b, folder } = pair
    const { headers } = await open(a.url('tools'))
    const stream = await fetch(b.url('tools'), { headers: { ...headers, accept: 'text/event-stream' } })
    writeFileSync(`${folder}/tools.yaml`, (await toolsFile(t)).replace('Says it again', 'Says it twice'))
    for (const { origin } of [a, b])
      assert.equal((await fetch(`${origin}/_reload`, { method: 'POST' })).status, 200)
    const [told] = await events(stream, 1)
    assert.match(told!.data, /notifications\/tools\/list_changed/)
    await stream.body!.cancel()
  })

  test('a server of 2026-07-28 gets its own state back, from the child that gave it', async () => {
    const { a, b } = pair
    const call = (url: string, more: object = {}) =>
      modernSend(url, 'tools/call', {
        name: 'test_input_required_result_multi_round',
        arguments: {},
        _meta: { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } },
        ...more,
      }).then(messages)
    const fill = (key: string, content: object) => ({ [key]: { action: 'accept', content } })
    const [first] = await call(a.url('s'))
    const second = await call(b.url('s'), {
      inputResponses: fill('step1', { name: 'ann' }),
      requestState: first.result.requestState,
    })
    const last = await call(b.url('s'), {
      inputResponses: fill('step2', { color: 'green' }),
      requestState: second.at(-1).result.requestState,
    })
    assert.equal(last.at(-1).result.content[0].text, 'ann likes green.')
  })
})

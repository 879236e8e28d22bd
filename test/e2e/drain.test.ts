import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { listening } from '../support/listening.ts'
import { temporaryFolder } from '../support/process.ts'
import { MODERN_META, modernHeaders, served } from '../support/served.ts'
import { until } from '../support/until.ts'
import { ACCEPT } from '../support/wire.ts'
import { held } from '../upstream/held.ts'

const LIMIT = { timeout: 60_000 }

/** Serves a tool whose API answers when it is told to. */
async function gateway(t: TestContext, drain: { grace?: string; timeout?: string }) {
  const waiting: ServerResponse[] = []
  const api = createServer((_, response) => {
    waiting.push(response)
    api.emit('waiting')
  })
  const port = await listening(t, api)
  const endpoint = `http://127.0.0.1:${port}/`
  const tools = [{ name: 'work', description: 'Works', method: 'GET', endpoint }]
  const routers = [{ server: 's', prefix: '/a' }]
  const servers = [{ name: 's', description: 'A test' }]
  const made = await served(t, [{ name: 'a', routers, servers, tools }], { settings: { drain } })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","arguments":{},${MODERN_META}}}`
  const headers = {
    'content-type': 'application/json',
    accept: ACCEPT,
    ...modernHeaders('tools/call', 'work'),
  }
  return {
    ...made,
    /** A call, on the one connection of its agent unless it is to have its own. */
    async call(own?: 'own') {
      const options = { host: '127.0.0.1', port: made.port, path: '/a/mcp', method: 'POST', headers }
      const sent = request({ ...options, agent: own ? new Agent() : agent })
      sent.end(body)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      let text = ''
      for await (const part of response) text += part
      return { text, connection: response.headers.connection, reused: sent.reusedSocket }
    },
    /** The response that a call of the tool waits for. */
    async held(): Promise<ServerResponse> {
      if (!waiting.length) await once(api, 'waiting')
      return waiting.shift()!
    },
    async end(signal: NodeJS.Signals = 'SIGTERM') {
      made.child.kill(signal)
      await made.until(/shutting down/)
    },
  }
}

test('in the grace period every connection is taken and answered, and told to close', LIMIT, async (t) => {
  const { call, held, end, child, ended } = await gateway(t, { grace: '10m' })
  const before = call()
  ;(await held()).end('before')
  assert.equal((await before).connection, 'keep-alive')
  await end()
  for (const own of [undefined, 'own'] as const) {
    let isTold = false
    while (!isTold) {
      const answer = call(own)
      ;(await held()).end('answered')
      const { text, connection, reused } = await answer
      assert.match(text, /answered/)
      assert.equal(reused, !own)
      isTold = connection === 'close'
      // Workers hear of the end a moment after the log says so.
      assert.ok(isTold || process.env.PLANTGW_WORKERS !== undefined, connection)
    }
  }
  // A second signal ends it at once.
  child.kill('SIGTERM')
  assert.equal(await ended, 1)
})

test('Ctrl-C skips the grace period', LIMIT, async (t) => {
  const { call, held, end, ended } = await gateway(t, { grace: '10m' })
  const answer = call()
  const response = await held()
  await end('SIGINT')
  response.end('answered')
  assert.match((await answer).text, /answered/)
  assert.equal(await ended, 0)
})

test('event streams end at the begin of the grace period, and can be opened anew', LIMIT, async (t) => {
  const { open, port, end } = await gateway(t, { grace: '10m' })
  const session = await open('/a')
  const listen = () =>
    fetch(`http://127.0.0.1:${port}/a/mcp`, { headers: { accept: 'text/event-stream', ...session } })
  const stream = await listen()
  await end()
  await stream.text()
  assert.equal((await listen()).status, 200)
})

for (const [half, text] of [
  ['its headers', 'POST /a/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n'],
  ['its body', 'POST /a/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{'],
] as const)
  test(`a request that is cut within ${half} does not hold up the end`, LIMIT, async (t) => {
    const { port, end, send, ended } = await gateway(t, { grace: '0s', timeout: '10m' })
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    socket.write(text)
    // It is there before what is sent on a later connection.
    assert.equal((await send({ path: '/_health', method: 'GET' })).status, 200)
    await end()
    assert.equal(await ended, 0)
    socket.destroy()
  })

const REASON = 'The gateway is shutting down: the call did not end within 0.1 s (drain.timeout)'

test('calls that take longer than the time to drain end with an error that says so', LIMIT, async (t) => {
  const { call, held, end, ended, open, post } = await gateway(t, { grace: '0s', timeout: '100ms' })
  const session = await open('/a')
  const message = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'work', arguments: {} } }
  const inSession = post('/a/mcp', message, session)
  await held()
  const alone = call()
  await held()
  await end()
  for (const { text } of [await inSession, await alone]) {
    const json = text.startsWith('{') ? text : (/^data: (\{.*)$/m.exec(text)?.[1] ?? '')
    assert.deepEqual(JSON.parse(json).error, { code: -32603, message: REASON })
  }
  assert.equal(await ended, 0)
})

test('a call in a session of a stdio server is told the same', LIMIT, async (t) => {
  const folder = temporaryFolder(t)
  const { server, begun } = held(folder)
  const mcpServers = [{ name: 's', ...server }]
  const configuration = { name: 'a', routers: [{ server: 's', prefix: '/a' }], mcpServers }
  const settings = { drain: { grace: '0s', timeout: '100ms' } }
  const { post, open, child, ended } = await served(t, [configuration], { settings })
  const session = await open('/a')
  const message = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'a', arguments: {} } }
  const cut = post('/a/mcp', message, session)
  await until(begun)
  child.kill('SIGTERM')
  assert.match((await cut).text, /did not end within 0.1 s \(drain.timeout\)/)
  assert.equal(await ended, 0)
})

for (const client of ['session', 'stateless'])
  for (const begun of [false, true])
    test(`so does one of a streamable server: ${client}, ${begun ? '' : 'not '}begun`, LIMIT, async (t) => {
      const server = createServer(async (request, response) => {
        let text = ''
        for await (const part of request) text += part
        const { id, method } = text === '' ? { id: undefined, method: request.method } : JSON.parse(text)
        const json = { 'content-type': 'application/json' }
        if (id === undefined) response.writeHead(method === 'GET' ? 405 : 202).end()
        else if (method === 'tools/call') {
          if (begun) response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': soon\n\n')
          server.emit('called')
        } else {
          const serverInfo = { name: 's', version: '1' }
          const both = { supportedVersions: ['2026-07-28'], protocolVersion: '2025-11-25' }
          const result = { ...both, capabilities: { tools: {} }, serverInfo }
          response.writeHead(200, json).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
        }
      })
      const port = await listening(t, server)
      const url = `http://127.0.0.1:${port}/mcp`
      const mcpServers = [{ name: 's', type: 'streamable-http', url }]
      const configuration = { name: 'a', routers: [{ server: 's', prefix: '/a' }], mcpServers }
      const settings = { drain: { grace: '0s', timeout: '100ms' } }
      const { post, open, child, ended, stderr } = await served(t, [configuration], { settings })
      const isModern = client === 'stateless'
      const headers = isModern ? modernHeaders('tools/call', 'work') : await open('/a')
      const called = once(server, 'called')
      const meta = isModern ? `,${MODERN_META}` : ''
      const params = `{"name":"work","arguments":{}${meta}}`
      const cut = post('/a/mcp', `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":${params}}`, headers)
      await called
      child.kill('SIGTERM')
      const { text } = await cut
      const json = text.startsWith('{') ? text : /^data: (\{.*)$/m.exec(text)?.[1]
      assert.deepEqual(JSON.parse(json ?? ''), {
        jsonrpc: '2.0',
        id: 7,
        error: { code: -32603, message: REASON },
      })
      assert.equal(await ended, 0)
      const line = stderr()
        .split('\n')
        .find((each) => each.includes('tool call failed'))
      assert.equal(JSON.parse(line ?? '{}').failure, REASON)
    })

test('a server that never answers does not hold up the end', LIMIT, async (t) => {
  const server = createServer((request) => request.resume())
  const port = await listening(t, server)
  const url = `http://127.0.0.1:${port}/mcp`
  const mcpServers = [{ name: 's', type: 'streamable-http', url, startupTimeout: '10m' }]
  const configuration = { name: 'a', routers: [{ server: 's', prefix: '/a' }], mcpServers }
  const settings = { drain: { grace: '0s', timeout: '100ms' } }
  const { post, child, ended } = await served(t, [configuration], { settings })
  const asked = once(server, 'request')
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  }
  const cut = post('/a/mcp', { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  await asked
  child.kill('SIGTERM')
  assert.equal(await ended, 0)
  assert.equal((await cut).status, 0)
})

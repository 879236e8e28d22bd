import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listening } from '../support/listening.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'
import { noRedis, redisServer } from '../support/redis.ts'
import { modernHeaders } from '../support/served.ts'
import { META } from '../support/wire.ts'

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** An upstream that answers when it is told to. */
async function upstream(t: TestContext) {
  const waiting: ServerResponse[] = []
  let arrived = () => {}
  const server = createServer((request, response) => {
    if (request.url === '/now') return response.end('now')
    waiting.push(response)
    arrived()
  })
  const port = await listening(t, server)
  return {
    base: `http://127.0.0.1:${port}`,
    /** The next request that waits for its answer. */
    async next(): Promise<ServerResponse> {
      if (!waiting.length) await new Promise<void>((resolve) => (arrived = resolve))
      return waiting.shift()!
    },
  }
}

const configuration = (name: string, base: string, tools: Record<string, string>) => `
name: ${name}
routers: [{ server: s, prefix: /${name} }]
servers: [{ name: s, description: A test }]
tools:
${Object.entries(tools)
  .map(
    ([tool, path]) =>
      `  - { name: ${tool}, description: A tool, method: GET, endpoint: "${base}${path}", headers: { X-Secret: s3cret } }`,
  )
  .join('\n')}
`

/** Serves a folder of configurations on a free port. */
async function serve(t: TestContext, files: Record<string, string>, args: string[] = []) {
  const folder = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const port = await freePort()
  const flags = ['--port', String(port), '--log-format', 'json', ...args]
  const running = plantgw(t, ['serve', folder, ...flags])
  await running.until(/plantgw serves/)
  const url = (prefix: string) => `http://127.0.0.1:${port}/${prefix}/mcp`
  const post = (prefix: string, method: string, params: object = {}, headers = {}) =>
    fetch(url(prefix), {
      method: 'POST',
      headers: { ...HEADERS, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
  const open = async (prefix: string) => {
    const response = await post(prefix, 'initialize', { protocolVersion: '2025-11-25', capabilities: {} })
    await response.text()
    return { 'mcp-session-id': response.headers.get('mcp-session-id')! }
  }
  return { ...running, folder, port, url, post, open }
}

test('SIGTERM lets calls in flight finish, removes the pid file, and exits 0', async (t) => {
  const { base, next } = await upstream(t)
  const pid = join(temporaryFolder(t), 'plantgw.pid')
  const gateway = await serve(t, { 'a.yaml': configuration('a', base, { slow: '/slow' }) }, ['--pid', pid])
  assert.equal(readFileSync(pid, 'utf8'), `${gateway.child.pid}\n`)
  const session = await gateway.open('a')
  const stream = await fetch(gateway.url('a'), { headers: { accept: 'text/event-stream', ...session } })
  const answer = gateway.post('a', 'tools/call', { name: 'slow' }, session)
  const held = await next()
  gateway.child.kill('SIGTERM')
  await gateway.until(/shutting down; waiting for calls in flight/)
  held.end('slow answer')
  // As a stream where it took long.
  assert.match(await (await answer).text(), /"text":"slow answer"/)
  assert.equal(await gateway.ended, 0)
  await stream.text()
  assert.ok(!existsSync(pid))
})

test('a client that subscribes anew does not hold up the end', { timeout: 30_000 }, async (t) => {
  const { base } = await upstream(t)
  const settings = join(temporaryFolder(t), 'plantgw.yaml')
  writeFileSync(settings, 'drain: {grace: 500ms}')
  const file = { 'a.yaml': configuration('a', base, { now: '/now' }) }
  const gateway = await serve(t, file, ['--settings', settings])
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.after(() => agent.destroy())
  const method = 'subscriptions/listen'
  const params = { _meta: META, notifications: { toolsListChanged: true } }
  const headers = { ...HEADERS, ...modernHeaders(method) }
  /** Ends when no connection can be had any more. */
  const subscribe = async (acknowledged = () => {}): Promise<void> => {
    const asked = request(gateway.url('a'), { method: 'POST', agent, headers })
    asked.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.once('data', acknowledged)
    await once(answer, 'end')
    return subscribe()
  }
  let ended: Promise<void> | undefined
  await new Promise<void>((resolve) => {
    ended = assert.rejects(subscribe(resolve), /ECONNREFUSED|ECONNRESET|socket hang up/)
  })
  gateway.child.kill('SIGTERM')
  assert.equal(await gateway.ended, 0)
  await ended
})

test('a pid file of a living gateway is refused, and a file of something else, and a stale one taken over', async (t) => {
  const folder = temporaryFolder(t)
  const pid = join(folder, 'plantgw.pid')
  const { base } = await upstream(t)
  const file = join(folder, 'a.yaml')
  writeFileSync(file, configuration('a', base, { now: '/now' }))
  const mistaken = await run(t, ['serve', file, '--pid', file, '--port', String(await freePort())])
  assert.equal(mistaken.code, 2)
  assert.match(mistaken.stderr, /a\.yaml: the file does not hold a process id: choose another file/)
  assert.equal(readFileSync(file, 'utf8'), configuration('a', base, { now: '/now' }))
  // Also that of a process that is no gateway.
  for (const stale of [4194303, process.pid]) {
    writeFileSync(pid, `${stale}\n`)
    const taken = plantgw(t, ['serve', file, '--pid', pid, '--port', String(await freePort())])
    await taken.until(/plantgw serves/)
    assert.equal(readFileSync(pid, 'utf8'), `${taken.child.pid}\n`)
    const refused = await run(t, ['serve', file, '--pid', pid, '--port', String(await freePort())])
    assert.equal(refused.code, 2)
    assert.match(
      refused.stderr,
      new RegExp(`pid file .* is held by the running process ${taken.child.pid}: stop`),
    )
    assert.equal(readFileSync(pid, 'utf8'), `${taken.child.pid}\n`)
    taken.child.kill('SIGINT')
    assert.equal(await taken.ended, 0)
    assert.deepEqual(readdirSync(folder), ['a.yaml'])
  }
})

test('a port in use is told with its cure', async (t) => {
  const { base } = await upstream(t)
  const gateway = await serve(t, { 'a.yaml': configuration('a', base, { now: '/now' }) })
  const second = await run(t, ['serve', gateway.folder, '--port', String(gateway.port)])
  assert.equal(second.code, 2)
  assert.match(
    second.stderr,
    /port \d+ on 127.0.0.1 is in use: stop the process that uses it, or choose another port \(--host and --port\)/,
  )
})

test('SIGHUP applies what is valid, keeps the last good version of what is not, and loses no session', async (t) => {
  const { base } = await upstream(t)
  const gateway = await serve(t, {
    'a.yaml': configuration('a', base, { now: '/now' }),
    'b.yaml': configuration('b', base, { now: '/now' }),
    'gone.yaml': configuration('gone', base, { now: '/now' }),
  })
  const tools = async (prefix: string, session: object) => {
    const { result } = (await (await gateway.post(prefix, 'tools/list', {}, session)).json()) as {
      result: { tools: { name: string }[] }
    }
    return result.tools.map(({ name }) => name)
  }
  const [a, b, gone] = [await gateway.open('a'), await gateway.open('b'), await gateway.open('gone')]
  const stream = await fetch(gateway.url('a'), { headers: { accept: 'text/event-stream', ...a } })
  writeFileSync(join(gateway.folder, 'a.yaml'), configuration('a', base, { now: '/now', other: '/now' }))
  writeFileSync(join(gateway.folder, 'b.yaml'), 'name: b\nrouters: [{ server: nobody, prefix: /b }]\n')
  writeFileSync(join(gateway.folder, 'c.yaml'), configuration('c', base, { now: '/now' }))
  writeFileSync(join(gateway.folder, 'd.yaml'), configuration('d', base, { now: '/now' }).replace('/d', '/a'))
  rmSync(join(gateway.folder, 'gone.yaml'))
  gateway.child.kill('SIGHUP')
  await gateway.until(/"trigger":"SIGHUP"/)

  assert.deepEqual(await tools('a', a), ['now', 'other'])
  assert.deepEqual(await tools('b', b), ['now'])
  assert.deepEqual(await tools('c', await gateway.open('c')), ['now'])
  assert.equal((await gateway.post('gone', 'tools/list', {}, gone)).status, 404)
  const line = gateway
    .stderr()
    .split('\n')
    .find((text) => text.includes('"trigger"'))!
  const { generation, added, changed, removed, refused } = JSON.parse(line)
  assert.deepEqual(
    { generation, added, changed, removed },
    { generation: 2, added: ['c'], changed: ['a'], removed: ['gone'] },
  )
  assert.deepEqual([...refused].sort(), ['b', 'd'])
  assert.match(gateway.stderr(), /"code":"dangling-server"/)
  const reader = stream.body!.getReader()
  let told = ''
  while (!told.includes('notifications/tools/list_changed'))
    told += new TextDecoder().decode((await reader.read()).value)
  gateway.child.kill('SIGHUP')
  await gateway.until(/"generation":2,.*\n(.*\n)*.*"generation":2,/)
})

test('without paths, configs/ of the working folder is served, or init is named', async (t) => {
  const cwd = temporaryFolder(t)
  const none = await run(t, ['serve'], { cwd })
  assert.equal(none.code, 2)
  assert.match(none.stderr, /give configuration files or folders.*plantgw init/)
  mkdirSync(join(cwd, 'configs'))
  writeFileSync(join(cwd, 'configs', 'a.yaml'), configuration('a', 'http://127.0.0.1:1', { x: '/x' }))
  const routes = await run(t, ['serve', '--print-routes'], { cwd })
  assert.equal(routes.code, 0, routes.stderr)
  assert.match(routes.stderr, /no paths are given: serving configs\//)
  assert.match(routes.stdout, /\/a\b/)
})

test('with reload_switch the configurations are read again at every reload_interval', async (t) => {
  const { base } = await upstream(t)
  const settings = join(temporaryFolder(t), 'plantgw.yaml')
  writeFileSync(settings, 'reload_switch: true\nreload_interval: 1s\n')
  const gateway = await serve(t, { 'a.yaml': configuration('a', base, { now: '/now' }) }, ['-s', settings])
  writeFileSync(join(gateway.folder, 'b.yaml'), configuration('b', base, { now: '/now' }))
  await gateway.until(/"trigger":"interval",.*"added":\["b"\]/)
})

test('a broken configuration at start is told whole; --skip-invalid serves the others', async (t) => {
  const { base } = await upstream(t)
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'sub'))
  writeFileSync(join(folder, 'good.yaml'), configuration('good', base, { now: '/now' }))
  writeFileSync(join(folder, 'bad.yaml'), 'name: bad\nroutes: []\n')
  writeFileSync(join(folder, 'sub/worse.yaml'), 'name: [\n')
  const port = String(await freePort())
  const all = await run(t, ['serve', folder, '--port', port])
  assert.equal(all.code, 1)
  assert.match(all.stderr, /bad\.yaml:2:1/)
  assert.match(all.stderr, /worse\.yaml/)
  assert.equal(all.stdout, '')
  const some = plantgw(t, ['serve', folder, '--port', port, '--skip-invalid'])
  await some.until(/plantgw serves 1 prefix/)
  assert.match(some.stderr(), /bad\.yaml:2:1/)
})

test('the log has a line for each call and nothing secret in it', async (t) => {
  const { base } = await upstream(t)
  const gateway = await serve(t, { 'a.yaml': configuration('a', base, { now: '/now' }) })
  const session = await gateway.open('a')
  const headers = { ...session, authorization: 'Bearer hush', 'x-request-id': 'req-7' }
  const response = await gateway.post('a', 'tools/call', { name: 'now', arguments: {} }, headers)
  assert.equal(response.headers.get('x-request-id'), 'req-7')
  await response.text()
  gateway.child.kill('SIGINT')
  await gateway.ended
  const line = gateway
    .stderr()
    .split('\n')
    .map((text) => (text ? JSON.parse(text) : {}))
    .find(({ msg }) => msg === 'tool call')
  const { time, ms, ...rest } = line
  assert.ok(typeof ms === 'number' && !Number.isNaN(Date.parse(time)))
  assert.deepEqual(rest, {
    level: 'info',
    tenant: 'default',
    prefix: '/a',
    address: '127.0.0.1',
    tool: 'now',
    revision: '2025-11-25',
    upstreamStatus: 200,
    requestId: 'req-7',
    msg: 'tool call',
  })
  assert.doesNotMatch(gateway.stderr(), /hush|s3cret/)
})

test('a start that fails closes what it has opened, so the process ends', {
  skip: noRedis,
  timeout: 60_000,
}, async (t) => {
  const folder = temporaryFolder(t)
  const { addr } = await redisServer(t)
  writeFileSync(join(folder, 'a.yaml'), 'name: a\n')
  const settings = { port: 0, redis: { addr }, plants: { file: 'folder' } }
  writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify(settings))
  mkdirSync(join(folder, 'folder'))
  const gateway = plantgw(t, ['serve', 'a.yaml'], { cwd: folder })
  assert.equal(await gateway.ended, 2)
  assert.match(gateway.stderr(), /cannot read the plant store/)
})

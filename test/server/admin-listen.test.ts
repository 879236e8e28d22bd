import assert from 'node:assert/strict'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { createAdminAccess } from '../../src/access/admin.ts'
import { readSettings } from '../../src/checks/index.ts'
import { listening } from '../support/listening.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

const ADMIN = 'an-admin-token-of-30-characters'
const CONFIGURATION = {
  name: 'a',
  routers: [{ server: 'a', prefix: '/a' }],
  servers: [{ name: 'a' }],
  tools: [{ name: 'get_a', description: 'Gets', endpoint: 'http://127.0.0.1:9/' }],
}
const PAGES = ['/_reload', '/_diff', '/_status', '/metrics'] as const

interface Sent {
  host?: string
  port?: number
  socketPath?: string
  path: string
  /** Names and values in turn. */
  headers?: string[]
}

function ask({
  path,
  headers = [],
  ...where
}: Sent): Promise<{ status: number; headers: IncomingHttpHeaders }> {
  const method = path === '/_reload' ? 'POST' : 'GET'
  const host = headers.some((name, i) => i % 2 === 0 && name === 'Host') ? [] : ['Host', 'localhost']
  return new Promise((resolve, reject) => {
    const options = {
      host: '127.0.0.1',
      ...where,
      path,
      method,
      headers: [...host, ...headers],
      agent: false,
    }
    const sent = request(options, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode!, headers: response.headers }))
    })
    sent.on('error', reject).end()
  })
}

const statusOf = async (sent: Sent) => (await ask(sent)).status

/** @param first line of a request, as it stands */
async function statusOverSocket(port: number, first: string): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${first}\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`)
  return Number((await text(socket)).split(' ')[1])
}

async function gatewayOf(t: TestContext, more: object) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  const write = (tool: string) =>
    writeFileSync(
      join(folder, 'configs', 'a.yaml'),
      JSON.stringify({ ...CONFIGURATION, tools: [{ ...CONFIGURATION.tools[0], name: tool }] }),
    )
  write('get_a')
  const port = await freePort()
  const drain = { grace: '0s' }
  const storage = { type: 'directory', path: 'configs' }
  writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify({ port, drain, storage, ...more }))
  const start = () => plantgw(t, ['serve', '-s', 'plantgw.yaml', '--log-format', 'json'], { cwd: folder })
  const gateway = start()
  await gateway.until(/plantgw serves/)
  const cli = (...args: string[]) => run(t, [...args, '-s', 'plantgw.yaml'], { cwd: folder })
  return { port, folder, write, gateway, start, cli }
}

test('on a port of their own the pages are there, and nowhere else', async (t) => {
  const own = await freePort()
  const { port, write, cli, gateway } = await gatewayOf(t, { admin: { listen: `127.0.0.1:${own}` } })
  await gateway.until(new RegExp(`"admin":"127.0.0.1:${own}"`))
  for (const path of PAGES) {
    assert.equal(await statusOf({ port, path }), 404, path)
    assert.equal(await statusOf({ port: own, path }), 200, path)
  }
  for (const path of ['/_health', '/_ready'])
    for (const each of [port, own]) assert.equal(await statusOf({ port: each, path }), 200, path)
  for (const path of ['/a/mcp', '/a/sse', '/plants']) assert.equal(await statusOf({ port: own, path }), 404)
  write('get_b')
  const diff = await cli('diff')
  assert.match(diff.stdout, /~ a changed\n {4}~ \/a: tools \+get_b -get_a\n/)
  const reload = await cli('reload')
  assert.equal(reload.stdout, `POST http://127.0.0.1:${own}/_reload: generation 2, changed a\n`)
})

test('on a Unix socket they are for its owner, and the commands find them', async (t) => {
  const { port, folder, write, cli, gateway, start } = await gatewayOf(t, {
    admin: { listen: 'unix:admin.sock' },
  })
  const socketPath = join(folder, 'admin.sock')
  assert.equal(statSync(socketPath).mode & 0o777, 0o600)
  for (const path of PAGES) {
    assert.equal(await statusOf({ port, path }), 404, path)
    assert.equal(await statusOf({ socketPath, path }), 200, path)
    assert.equal(await statusOf({ socketPath, path, headers: ['X-Forwarded-For', '10.0.0.1'] }), 401, path)
    assert.equal(await statusOf({ socketPath, path, headers: ['Host', 'evil.example'] }), 403, path)
  }
  write('get_b')
  assert.match((await cli('diff')).stdout, /would make generation 2/)
  assert.match((await cli('reload')).stdout, /admin\.sock \/_reload: generation 2, changed a\n/)
  const caller = join(folder, 'caller.yaml')
  writeFileSync(caller, JSON.stringify({ notifier: { type: 'api', api: { target_url: 'unix:admin.sock' } } }))
  const notified = await run(t, ['reload', '-s', caller])
  assert.match(notified.stdout, /admin\.sock \/_reload: generation 2, nothing changed\n/)

  const second = await run(t, ['serve', '-s', 'plantgw.yaml', '--port', '0'], { cwd: folder })
  assert.equal(second.code, 2)
  assert.match(second.stderr, /the socket .*admin\.sock is in use, by another gateway.*\(admin\.listen\)/)

  // One that was killed leaves its socket behind; the next one takes the place.
  gateway.child.kill('SIGKILL')
  await gateway.ended
  assert.ok(existsSync(socketPath))
  const gone = await cli('diff')
  assert.deepEqual(
    [gone.code, /no process listens there\. Is the gateway running\?/.test(gone.stderr)],
    [2, true],
  )
  const next = start()
  await next.until(/plantgw serves/)
  assert.equal(await statusOf({ socketPath, path: '/_status' }), 200)
  next.child.kill('SIGTERM')
  assert.equal(await next.ended, 0)
  assert.equal(existsSync(socketPath), false)
  assert.match((await cli('diff')).stderr, /the socket does not exist/)
})

test('a socket is never made where another file is', async (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'admin.sock'), 'mine')
  writeFileSync(join(folder, 'a.yaml'), JSON.stringify(CONFIGURATION))
  writeFileSync(join(folder, 's.yml'), JSON.stringify({ port: 0, admin: { listen: 'unix:admin.sock' } }))
  const { code, stderr } = await run(t, ['serve', 'a.yaml', '-s', 's.yml'], { cwd: folder })
  assert.deepEqual([code, /is in use, by another gateway or as another file/.test(stderr)], [2, true])
  assert.ok(existsSync(join(folder, 'admin.sock')))
})

test('a token is needed on their own listener too, by the commands as well', async (t) => {
  const { folder, cli } = await gatewayOf(t, { admin: { listen: 'unix:admin.sock', token: ADMIN } })
  const socketPath = join(folder, 'admin.sock')
  for (const path of PAGES) {
    assert.equal(await statusOf({ socketPath, path }), 401, path)
    assert.equal(
      await statusOf({ socketPath, path, headers: ['Authorization', `Bearer ${ADMIN}`] }),
      200,
      path,
    )
  }
  assert.equal((await cli('diff')).code, 0)
  assert.match((await cli('reload')).stdout, /nothing changed/)
})

test('shutting down, the pages say so until the last call has ended', async (t) => {
  const own = await freePort()
  const { gateway } = await gatewayOf(t, { admin: { listen: `[::1]:${own}` }, drain: { grace: '20s' } })
  const at = { host: '::1', port: own, path: '/_ready' }
  assert.equal(await statusOf(at), 200)
  gateway.child.kill('SIGTERM')
  await gateway.until(/shutting down/)
  assert.equal(await statusOf(at), 503)
  assert.equal(await statusOf({ ...at, path: '/_status' }), 200)
})

/** Requests without a token to a gateway on 127.0.0.1 that has none, and their status. */
const REFUSED: [string, number, string[]][] = [
  ...(
    'Forwarded X-Forwarded-For X-Forwarded-Host X-Forwarded-Proto X-Forwarded-Client-Cert ' +
    'x-forwarded X_Forwarded_For Via X-Real-IP X-Client-IP X-Cluster-Client-IP ' +
    'X-Original-Forwarded-For X-Originating-IP X-Remote-Addr X-ProxyUser-Ip Client-IP ' +
    'CF-Connecting-IP CF-Ray True-Client-IP Fastly-Client-IP Fly-Client-IP X-Azure-ClientIP ' +
    'X-Appengine-User-IP X-Envoy-External-Address X-Amzn-Trace-Id CDN-Loop Proxy-Connection ' +
    'WL-Proxy-Client-IP X-ClientIP X-RealIP X-Forward-For Forwarded-Host HTTP_X_FORWARDED_FOR ' +
    'Surrogate-Capability X-Scheme Front-End-Https X-Request-Start SSL-Client-Cert ' +
    'X-SSL-Client-Verify Remote-User X-Auth-Request-User Tailscale-User-Login ' +
    'X-Goog-Iap-Jwt-Assertion X-Kong-Request-Id X-Sucuri-ClientIP Cdn-Src-Ip Early-Data'
  )
    .split(' ')
    .map((name): [string, number, string[]] => [`${name} of a proxy`, 401, [name, '203.0.113.9']]),
  ['the Host of somebody else', 403, ['Host', 'evil.example']],
  ['an address of somebody else as Host', 403, ['Host', '8.8.8.8']],
  ['an allowed Host that is not this machine', 401, ['Host', 'gateway.lan']],
  ['two Hosts', 400, ['Host', 'localhost', 'Host', 'evil.example']],
  ['the page of another site', 403, ['Origin', 'http://evil.example']],
  ['a page of another port of this machine', 401, ['Origin', 'http://localhost:3000']],
  ['a page of a site that may use MCP', 401, ['Origin', 'https://ui.lan']],
  ['a link of another site', 401, ['Sec-Fetch-Site', 'cross-site']],
  ['a page of the same site on another port', 401, ['Sec-Fetch-Site', 'same-site']],
  ['a wrong token', 401, ['Authorization', 'Bearer guess']],
  ['200 headers before that of a proxy', 431, [...Array(200).fill(['X-A', '1']).flat(), 'Via', '1.1 p']],
  ['998 headers before that of a proxy', 431, [...Array(998).fill(['X', '1']).flat(), 'Via', '1.1 p']],
]

test('without a token they answer this machine, and nobody who could be another', async (t) => {
  const more = { allowedHosts: ['gateway.lan'], allowedOrigins: ['https://ui.lan'] }
  const { port } = await gatewayOf(t, more)
  for (const path of PAGES) {
    for (const [what, status, headers] of REFUSED)
      assert.equal(await statusOf({ port, path, headers }), status, `${path} with ${what}`)
    for (const host of ['localhost', `127.0.0.1:${port}`, '[::1]:5235'])
      assert.equal(await statusOf({ port, path, headers: ['Host', host] }), 200, host)
    const same = ['Host', 'localhost:1', 'Origin', 'http://localhost:1', 'Sec-Fetch-Site', 'same-origin']
    assert.equal(await statusOf({ port, path, headers: same }), 200)
  }
  for (const [version, status] of [
    ['1.1', 200],
    ['1.0', 401],
  ])
    assert.equal(await statusOverSocket(port, `GET /_status HTTP/${version}`), status, `HTTP/${version}`)
  assert.equal(await statusOf({ port, path: '/_health', headers: REFUSED.at(-1)![2] }), 431)
  assert.equal(await statusOf({ port, path: '/a/mcp', headers: REFUSED.at(-1)![2] }), 431)
})

test('beyond this machine they need a token, whoever asks', async (t) => {
  const { port } = await gatewayOf(t, { host: '0.0.0.0', allowUnauthenticated: true })
  for (const path of PAGES) assert.equal(await statusOf({ port, path }), 401, path)
  for (const host of ['evil.example', `127.0.0.1:${port}`])
    assert.equal(await statusOf({ port, path: '/_status', headers: ['Host', host] }), 401, host)
})

test('headers that any client sends are no sign of a proxy', () => {
  const access = createAdminAccess(undefined)
  const names = 'accept user-agent content-type content-length connection accept-encoding cookie'.split(' ')
  const more = 'x-request-id traceparent cache-control dnt referer sec-fetch-mode upgrade te'.split(' ')
  const headers = Object.fromEntries([
    ['host', 'localhost'],
    ...[...names, ...more].map((name) => [name, '1']),
  ])
  assert.deepEqual(access({ headers, isLocal: true }), { tenant: undefined })
  assert.equal(access({ headers, isLocal: false }), undefined)
})

test('what is wrong with admin.listen is told', async () => {
  const told = (admin: object, more = {}) =>
    readSettings({ file: 's.yml', text: JSON.stringify({ admin, ...more }) }, {}).findings.map(
      ({ code, message }) => `${code}: ${message}`,
    )
  assert.deepEqual(told({ listen: '5236' }), [
    'invalid-value: `5236` is neither `address:port` nor `unix:path`',
  ])
  for (const listen of ['http://127.0.0.1:5236', '127.0.0.1', '127.0.0.1:65536', '::1:5236', 'unix:'])
    assert.equal(told({ listen }).length, 1, listen)
  assert.deepEqual(told({ listen: `unix:/${'a'.repeat(107)}` }), [
    'invalid-value: the path of the socket has more than 107 bytes',
  ])
  assert.deepEqual(told({ listen: '127.0.0.1:5235' }), [
    'invalid-value: `admin.listen` has the port of the main listener',
  ])
  assert.deepEqual(told({ listen: '0.0.0.0:5236' }), [
    'missing-key: `admin.listen` is `0.0.0.0:5236`, which other machines reach, and `admin` has no `token`',
  ])
  for (const listen of ['127.0.0.1:5236', '[::1]:5236', 'localhost:0', 'unix:/run/plantgw/admin.sock'])
    assert.deepEqual(told({ listen }), [], listen)
  assert.deepEqual(told({ listen: '0.0.0.0:5236', token: ADMIN }), [])
})

test('a port that is taken is told with the setting that names it', async (t) => {
  const taken = createServer()
  const port = await listening(t, taken)
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'a.yaml'), JSON.stringify(CONFIGURATION))
  writeFileSync(join(folder, 's.yml'), JSON.stringify({ port: 0, admin: { listen: `127.0.0.1:${port}` } }))
  const { code, stderr } = await run(t, ['serve', 'a.yaml', '-s', 's.yml'], { cwd: folder })
  assert.equal(code, 2)
  assert.match(stderr, /port \d+ on 127\.0\.0\.1 is in use: .* \(admin\.listen\)/)
})

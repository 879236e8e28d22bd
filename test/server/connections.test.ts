import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer as createPlain, type RequestListener } from 'node:http'
import { createServer as createSecure } from 'node:https'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import type { TLSSocket } from 'node:tls'
import { type Logger, silentLog } from '../../src/telemetry/log.ts'
import { type Authority, authority, selfSigned, skipWithoutOpenssl } from '../support/certificates.ts'
import { gatewayOver } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { run, temporaryFolder } from '../support/process.ts'
import { served } from '../support/served.ts'
import { body, type Loose, open, post, rpc } from '../support/wire.ts'

const ADMIN = 'an-admin-token-of-30-characters'

/** Says whose certificate it was shown and which name was asked for; over POST it is an MCP server that says so in its tool. */
const saying: RequestListener = async (request, response) => {
  const socket = request.socket as TLSSocket
  const peer = socket.getPeerCertificate?.()
  const said = `${peer?.subject?.CN ?? 'nobody'} at ${socket.servername || 'no name'}`
  if (request.url === '/sse' && request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('event: endpoint\ndata: /message\n\n')
    streams.push(response)
    return
  }
  if (request.method !== 'POST') {
    response.end(said)
    return
  }
  let text = ''
  for await (const chunk of request) text += chunk
  const { id, method }: Loose = JSON.parse(text)
  const info = {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 's', version: '1' },
  }
  const result = method === 'initialize' ? info : { content: [{ type: 'text', text: said }] }
  const answer = JSON.stringify({ jsonrpc: '2.0', id, result })
  if (request.url === '/message') {
    response.writeHead(202).end()
    if (id !== undefined) streams.at(-1)?.write(`data: ${answer}\n\n`)
  } else if (id === undefined) response.writeHead(202).end()
  else if (method === 'server/discover') response.writeHead(404).end()
  else response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' }).end(answer)
}
const streams: { write(text: string): void }[] = []

/** An HTTPS server that asks for certificates of an authority, or one that does not. */
async function secure(t: TestContext, own: Authority, clients?: Authority, host = 'DNS:localhost') {
  const { cert, key } = own.issue(`server-${host.replace(/\W/g, '-')}`, host)
  const asks = clients && { ca: clients.cert, requestCert: true, rejectUnauthorized: true }
  const server = createSecure({ cert, key, ...asks }, saying)
  const port = await listening(t, server)
  return { port, origin: `https://localhost:${port}` }
}

/** An HTTP proxy that makes tunnels, to anywhere or to one port, for whoever logs in. */
async function proxy(t: TestContext, login?: string, to?: number) {
  const seen = { asked: [] as string[], logins: [] as (string | undefined)[], port: 0 }
  const server = createPlain((_, response) => response.writeHead(400).end())
  server.on('connect', (request, socket: Socket) => {
    seen.asked.push(request.url!)
    const given = request.headers['proxy-authorization']
    seen.logins.push(given)
    if (login !== undefined && given !== `Basic ${Buffer.from(login).toString('base64')}`) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n')
      return
    }
    const port = to ?? Number(/\d+$/.exec(request.url!)![0])
    const through = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(through).pipe(socket)
    })
    for (const one of [socket, through]) one.on('error', () => one.destroy())
  })
  seen.port = await listening(t, server)
  return seen
}

interface Options {
  settings?: object
  env?: Record<string, string>
  findings?: string[]
}

/** A gateway of configurations, each with a server of tools and what is given of it, at `/{name}`. */
async function world(
  t: TestContext,
  all: Record<string, Loose>,
  { settings = {}, env = {}, findings = [] }: Options = {},
) {
  const folder = temporaryFolder(t)
  const write = (name: string, { tools, server, mcp, tenant }: Loose) => {
    const prefix = tenant ? `/${tenant}/${name}` : `/${name}`
    const configuration = {
      name,
      ...(tenant && { tenant }),
      routers: [{ server: name, prefix }],
      ...(mcp
        ? { mcpServers: [{ name, type: 'streamable-http', ...mcp }] }
        : { servers: [{ name, ...server }], tools: [{ name: 'get', method: 'GET', ...tools }] }),
    }
    writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(configuration))
  }
  for (const [name, one] of Object.entries(all)) write(name, one)
  const lines: string[] = []
  const say = (...line: unknown[]) => void lines.push(JSON.stringify(line))
  const levels = { debug: say, info: say, warn: say, error: say, isLevelEnabled: () => true }
  const log = { ...silentLog, ...levels, child: () => log } as unknown as Logger
  const given = { admin: { token: ADMIN }, ...settings }
  const { gateway, ...made } = await gatewayOver(t, [folder], given, { env, log })
  assert.deepEqual(
    made.findings.map(({ code, message }) => `${code}: ${message}`),
    findings,
  )
  const sessions = new Map<string, ReturnType<typeof open>>()
  const call = async (name: string, args: object = {}) => {
    const prefix = all[name]!.tenant ? `/${all[name]!.tenant}/${name}` : `/${name}`
    const session = sessions.get(name) ?? open(gateway.app, prefix)
    sessions.set(name, session)
    const message = rpc('tools/call', { name: 'get', arguments: args })
    const { result, error } = await body(post(gateway.app, `${prefix}/mcp`, message, await session))
    return String(result?.content[0].text ?? error.message)
  }
  const own = async (path: string, method = 'GET') => {
    const headers = { host: 'localhost', authorization: `Bearer ${ADMIN}` }
    const answer = await gateway.app.request(path, { method, headers })
    return { status: answer.status, text: await answer.text() }
  }
  return { gateway, lines, call, own, write, folder }
}

const at = (origin: string, more: object = {}) => ({ endpoint: `${origin}/`, ...more })

describe('tls of a server', { skip: skipWithoutOpenssl }, () => {
  test('trusts the authorities of `ca`, and no others', async (t) => {
    const folder = temporaryFolder(t)
    const [one, other] = [authority(folder, 'one'), authority(folder, 'other')]
    const { origin } = await secure(t, one)
    const { call } = await world(
      t,
      {
        none: { tools: at(origin) },
        text: { tools: at(origin), server: { tls: { ca: one.cert } } },
        file: { tools: at(origin), server: { tls: { ca: one.file } } },
        variable: { tools: at(origin), server: { tls: { ca: '${CA}' } } },
        wrong: { tools: at(origin), server: { tls: { ca: other.cert } } },
      },
      { env: { CA: one.cert } },
    )
    const untrusted = new RegExp(
      `TLS certificate of ${origin} is signed by an authority that is not trusted here`,
    )
    assert.match(await call('none'), untrusted)
    for (const name of ['text', 'file', 'variable']) assert.equal(await call(name), 'nobody at localhost')
    assert.match(await call('wrong'), untrusted)
    // Nor does one use the connection of another.
    assert.match(await call('none'), untrusted)
  })

  test('shows each host the certificate of the configuration that calls it', async (t) => {
    const folder = temporaryFolder(t)
    const own = authority(folder, 'own')
    const { origin, port } = await secure(t, own, own)
    const [ann, ben] = ['ann', 'ben'].map((name) => own.issue(name))
    const tls = ({ cert, key }: { cert: string; key: string } = { cert: '', key: '' }) => ({
      tls: { ca: own.cert, ...(cert && { cert, key }) },
    })
    const { call } = await world(t, {
      ann: { tools: at(origin), server: tls(ann) },
      ben: { tools: at(origin), server: tls(ben) },
      eve: { tools: at(origin), server: tls() },
      mcp: { mcp: { url: `${origin}/mcp`, ...tls(ann) } },
      bare: { mcp: { url: `${origin}/mcp`, ...tls() } },
      sse: { mcp: { type: 'sse', url: `https://localhost:${port}/sse`, ...tls(ben) } },
    })
    const wanted = Array.from({ length: 20 }, (_, i) => (i % 2 ? 'ann' : 'ben'))
    const got = await Promise.all(wanted.map((name) => call(name)))
    assert.deepEqual(
      got,
      wanted.map((name) => `${name} at localhost`),
    )
    // TLS 1.3 tells of a missing certificate after the handshake.
    assert.match(await call('eve'), /TLS|closed the connection/)
    assert.equal(await call('mcp'), 'ann at localhost')
    assert.equal(await call('sse'), 'ben at localhost')
    assert.doesNotMatch(await call('bare'), / at localhost/)
  })

  test('asks for the name of `serverName`', async (t) => {
    const own = authority(temporaryFolder(t), 'own')
    const { port } = await secure(t, own, undefined, 'DNS:shop.internal')
    const origin = `https://127.0.0.1:${port}`
    const headers = { Host: 'other.internal' }
    const tls = { ca: own.cert, serverName: 'shop.internal' }
    const { call } = await world(t, {
      named: { tools: at(origin), server: { tls } },
      host: { tools: at(origin, { headers }), server: { tls } },
      bare: { tools: at(origin), server: { tls: { ca: own.cert } } },
    })
    assert.equal(await call('named'), 'nobody at shop.internal')
    assert.equal(await call('host'), 'nobody at shop.internal')
    assert.match(await call('bare'), /is for another host/)
  })

  test('shows no certificate to another origin', async (t) => {
    const own = authority(temporaryFolder(t), 'own')
    const { cert, key } = own.issue('ann')
    const asking = { ca: own.cert, requestCert: true, rejectUnauthorized: false }
    const there = await listening(t, createSecure({ ...own.issue('there'), ...asking }, saying))
    const first = createSecure({ ...own.issue('here'), ...asking }, (_, response) =>
      response.writeHead(302, { location: `https://localhost:${there}/` }).end(),
    )
    const here = await listening(t, first)
    const tls = { ca: own.cert, cert, key }
    const { call } = await world(
      t,
      {
        direct: { tools: at(`https://localhost:${there}`), server: { tls } },
        away: { tools: at(`https://localhost:${here}`, { followRedirects: true }), server: { tls } },
        named: {
          tools: at(`https://localhost:${here}`, { followRedirects: true }),
          server: { tls: { ca: own.cert } },
        },
      },
      { settings: { outbound: { allowHosts: ['localhost'] } } },
    )
    assert.equal(await call('direct'), 'ann at localhost')
    assert.equal(await call('away'), 'nobody at localhost')
    assert.equal(await call('named'), 'nobody at localhost')
  })

  test('is read again at a reload; a bad file keeps what is served', async (t) => {
    const folder = temporaryFolder(t)
    const own = authority(folder, 'own')
    const { origin } = await secure(t, own, own)
    const [cert, key] = [join(folder, 'client.crt'), join(folder, 'client.key')]
    const install = (name: string) => {
      const made = own.issue(name)
      writeFileSync(cert, made.cert)
      writeFileSync(key, made.key)
    }
    install('ann')
    const tls = { ca: own.file, cert, key }
    const all = { tools: { tools: at(origin), server: { tls } }, mcp: { mcp: { url: `${origin}/mcp`, tls } } }
    const { call, own: page } = await world(t, all)
    const names = ['tools', 'mcp'] as const
    for (const name of names) assert.equal(await call(name), 'ann at localhost')
    const reload = async () => JSON.parse((await page('/_reload', 'POST')).text)
    const generation = (await reload()).generation

    writeFileSync(key, own.issue('other').key)
    const refused = await reload()
    assert.deepEqual([refused.generation, refused.refused.sort()], [generation, ['mcp', 'tools']])
    for (const { code, message, line } of refused.findings) {
      assert.equal(code, 'tls-file')
      assert.equal(message, `${key} is not the key of the certificate ${cert}`)
      assert.equal(line, 1)
    }
    for (const name of names) assert.equal(await call(name), 'ann at localhost')

    install('ben')
    assert.deepEqual((await reload()).changed.sort(), ['mcp', 'tools'])
    for (const name of names) assert.equal(await call(name), 'ben at localhost')
    assert.equal((await reload()).generation, generation + 1)
  })
})

describe('proxy of a server', () => {
  test('is logged in to, and TLS goes through it to the server', { skip: skipWithoutOpenssl }, async (t) => {
    const own = authority(temporaryFolder(t), 'own')
    const { origin } = await secure(t, own, own)
    const seen = await proxy(t, 'gw:pa:ss word')
    const { cert, key } = own.issue('ann')
    const how = {
      tls: { ca: own.cert, cert, key },
      proxy: {
        type: 'http',
        host: '127.0.0.1',
        port: seen.port,
        username: 'gw',
        password: '${PROXY_PASSWORD}',
      },
    }
    const { call } = await world(
      t,
      { tools: { tools: at(origin), server: how }, mcp: { mcp: { url: `${origin}/mcp`, ...how } } },
      { env: { PROXY_PASSWORD: 'pa:ss word' } },
    )
    assert.equal(await call('tools'), 'ann at localhost')
    assert.equal(await call('mcp'), 'ann at localhost')
    assert.deepEqual(new Set(seen.asked), new Set([new URL(origin).host]))
  })

  test('separates connections by who logs in, and shows no password', async (t) => {
    const target = createPlain((_, response) => response.end('here'))
    const origin = `http://127.0.0.1:${await listening(t, target)}`
    const seen = await proxy(t, 'gw:right-password')
    const by = (password: string) => ({
      proxy: { type: 'http', host: '127.0.0.1', port: seen.port, username: 'gw', password },
    })
    const { call, lines, own } = await world(t, {
      right: { tools: at(origin), server: by('right-password') },
      wrong: { tools: at(origin), server: by('wrong-password') },
      mcp: { mcp: { url: `${origin}/mcp`, ...by('wrong-password') } },
      none: { tools: at(origin) },
      tool: {
        tools: at(origin, { proxy: { type: 'http', host: '127.0.0.1', port: 1 } }),
        server: by('right-password'),
      },
    })
    assert.equal(await call('right'), 'here')
    const refused = `The proxy could not connect to ${origin} (status 407).`
    const said = [await call('wrong'), await call('wrong'), await call('mcp').catch(String)]
    assert.equal(said[0], refused)
    assert.equal(said[1], refused)
    assert.equal(await call('right'), 'here')
    assert.equal(await call('none'), 'here')
    assert.match(await call('tool'), /The proxy could not connect/)
    const pages = [await own('/_status'), await own('/metrics'), await own('/_diff')]
    const shown = JSON.stringify([said, lines, pages])
    for (const password of ['right-password', 'wrong-password'])
      for (const form of [password, Buffer.from(`gw:${password}`).toString('base64')])
        assert.ok(!shown.includes(form), shown)
  })

  test('of type https speaks TLS with the proxy too', {
    skip: skipWithoutOpenssl,
    timeout: 60_000,
  }, async (t) => {
    const own = authority(temporaryFolder(t), 'own')
    const { origin } = await secure(t, own)
    const server = createSecure(own.issue('proxy'))
    let tunnels = 0
    server.on('connect', (request, socket: Socket) => {
      tunnels++
      const through = connect(Number(/\d+$/.exec(request.url!)![0]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.pipe(through).pipe(socket)
      })
      for (const one of [socket, through]) one.on('error', () => one.destroy())
    })
    const port = await listening(t, server)
    const configuration = {
      name: 'x',
      routers: [{ server: 'x', prefix: '/x' }],
      servers: [{ name: 'x', proxy: { type: 'https', host: 'localhost', port } }],
      tools: [{ name: 'get', method: 'GET', ...at(origin) }],
    }
    // The proxy is nothing of the configuration's `tls`: whoever runs the gateway trusts it.
    const gateway = await served(t, [configuration], { env: { NODE_EXTRA_CA_CERTS: own.file } })
    const headers = await gateway.open('/x')
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get', arguments: {} } }
    assert.match((await gateway.post('/x/mcp', message, headers)).text, /nobody at localhost/)
    assert.equal(tunnels, 1)
  })

  test('is judged as hosts are, and so is the host behind it', async (t) => {
    const target = createPlain((_, response) => response.end('here'))
    const port = await listening(t, target)
    const seen = await proxy(t, undefined, port)
    const by = { proxy: { type: 'http', host: '127.0.0.1', port: seen.port } }
    const tenants = (outbound: object) => ({
      tenants: [
        {
          name: 'green',
          prefix: '/green',
          tokens: [{ token: 'a-token-of-the-tenant-green', caller: 'ann' }],
          outbound,
        },
      ],
    })
    const make = async (origin: string, outbound: object) => {
      const one = { tenant: 'green', tools: at(origin), server: by }
      const other = { tenant: 'green', mcp: { url: `${origin}/mcp`, ...by } }
      const { own, lines, gateway } = await world(t, { x: one, y: other }, { settings: tenants(outbound) })
      const headers = { authorization: 'Bearer a-token-of-the-tenant-green' }
      const session = { ...headers, ...(await open(gateway.app, '/green/x', '2025-11-25', headers)) }
      const message = rpc('tools/call', { name: 'get', arguments: {} })
      const { result } = await body(post(gateway.app, '/green/x/mcp', message, session))
      await open(gateway.app, '/green/y', '2025-11-25', headers)
      return { said: String(result.content[0].text), lines, own }
    }
    const allowed = { allowHosts: [`127.0.0.1:${seen.port}`] }
    const refusal = /to which this gateway does not connect \(outbound\)/
    assert.match((await make('http://example.com', {})).said, refusal)
    assert.match(
      (await make('http://10.0.0.1', allowed)).said,
      /10\.0\.0\.1 is at an address of a private network/,
    )
    assert.match(
      (await make(`http://localhost:${port}`, allowed)).said,
      /localhost:\d+ is at a loopback address/,
    )
    assert.match((await make('http://metadata.google.internal', allowed)).said, /metadata service/)
    assert.deepEqual(seen.asked, [])
    // Only the proxy knows the name.
    assert.equal((await make('http://inside.invalid', allowed)).said, 'here')
    assert.ok(seen.asked.every((asked) => asked === 'inside.invalid:80'))
  })
})

describe('findings', { skip: skipWithoutOpenssl }, () => {
  /** What `validate` says of a server, as `line:column code message`. */
  async function found(t: TestContext, text: string, settings?: string) {
    const folder = temporaryFolder(t)
    mkdirSync(join(folder, 'c'))
    writeFileSync(join(folder, 'c', 'x.yaml'), text)
    const args = ['validate', join(folder, 'c'), '--format', 'json']
    if (settings !== undefined) {
      writeFileSync(join(folder, 'plantgw.yaml'), settings)
      args.push('--settings', join(folder, 'plantgw.yaml'))
    }
    const { stdout, code } = await run(t, args, {
      env: { BAD_PEM: '-----BEGIN CERTIFICATE-----\nx\n-----END' },
    })
    const { findings } = JSON.parse(stdout)
    const lines = findings.map(
      ({ severity, code, message, range }: Loose) => `${range.start.line} ${severity} ${code}: ${message}`,
    )
    return { code, lines }
  }
  const configuration = (member: string, tenant = '') => `name: x
${tenant}routers: [{server: x, prefix: ${tenant ? '/green' : ''}/x}]
servers:
  - name: x
    ${member}
tools:
  - {name: get, description: Gets, method: GET, endpoint: "https://example.com/"}
`

  test('name the member, and show no key', async (t) => {
    const folder = temporaryFolder(t)
    const own = authority(folder, 'own')
    const { key, file } = own.issue('ann')
    const other = join(folder, 'other.key')
    writeFileSync(other, own.issue('other').key)
    const keyFile = file.replace('.crt', '.key')
    const junk = join(folder, 'junk.pem')
    writeFileSync(junk, 'junk')
    const old = selfSigned(folder, 'old', -1)
    const cases: [member: string, finding: string | undefined][] = [
      [`tls: {ca: ${own.file}, cert: ${file}, key: ${keyFile}}`, undefined],
      [`tls: {ca: ${folder}/none.crt}`, `error tls-file: cannot read ${folder}/none.crt: no such file`],
      [`tls: {ca: ${junk}}`, `error tls-file: ${junk} holds no certificate in PEM form`],
      ['tls: {ca: "${BAD_PEM}"}', 'error tls-file: `ca` holds no certificate in PEM form'],
      ['tls: {ca: certs/ca.crt}', 'error invalid-value: `ca` is neither PEM text nor an absolute path'],
      [
        `tls: {cert: ${file}, key: ${other}}`,
        `error tls-file: ${other} is not the key of the certificate ${file}`,
      ],
      [
        `tls: {cert: ${file}, key: ${junk}}`,
        `error tls-file: ${junk} holds no private key in PEM form without a passphrase`,
      ],
      [`tls: {cert: ${file}}`, 'error missing-key: `cert` needs `key`'],
      [`tls: {key: ${keyFile}}`, 'error missing-key: `key` needs `cert`'],
      ['tls: {serverName: 10.0.0.1}', 'error invalid-value: `10.0.0.1` is not a host name'],
      [
        'proxy: {type: http, host: "u:p@h", port: 1}',
        'error invalid-value: `u:p@h` is neither a host name nor an address',
      ],
      [
        'proxy: {type: http, host: h, port: 1, password: "${PROXY_PASSWORD:x}"}',
        'error missing-key: `password` needs `username`',
      ],
    ]
    for (const [member, finding] of cases) {
      const { lines, code } = await found(t, configuration(member))
      assert.deepEqual(lines, finding === undefined ? [] : [`5 ${finding}`], member)
      assert.equal(code, finding === undefined ? 0 : 1)
    }
    const { lines, code } = await found(t, configuration(`tls: {ca: ${old.file}}`))
    assert.match(lines.join(), new RegExp(`^5 warning tls-file: the certificate of ${old.file} expired on `))
    assert.equal(code, 0)
    assert.ok(key.includes('PRIVATE KEY'))
  })

  test('refuse files to tenants, and say nothing of them', async (t) => {
    const own = authority(temporaryFolder(t), 'own')
    const settings =
      'tenants: [{name: green, prefix: /green, tokens: [{token: a-token-of-the-tenant-green, caller: ann}]}]'
    for (const file of [own.file, '/nowhere/at.all']) {
      const { lines, code } = await found(t, configuration(`tls: {ca: ${file}}`, 'tenant: green\n'), settings)
      assert.deepEqual(lines, [
        '6 error tenant-file: the tenant `green` may not have files of the gateway read',
      ])
      assert.equal(code, 1)
    }
    const free = await found(t, configuration(`tls: {ca: ${own.file}}`, 'tenant: green\n'))
    assert.deepEqual(free.lines, [])
  })
})

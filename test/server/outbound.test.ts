import assert from 'node:assert/strict'
import dns, { type LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type Logger, silentLog } from '../../src/telemetry/log.ts'
import { gatewayOver } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { run, temporaryFolder } from '../support/process.ts'
import { served } from '../support/served.ts'
import { body, type Loose, open, post, rpc } from '../support/wire.ts'

/** An upstream on an address of this machine that counts its requests and connections. */
async function upstream(t: TestContext, handle?: RequestListener, address = '127.0.0.1', port = 0) {
  const seen = { requests: 0, connections: 0, port: 0, origin: '' }
  const server = createServer((request, response) => {
    seen.requests++
    if (handle) handle(request, response)
    else response.end(`from ${address}`)
  })
  server.on('connection', () => seen.connections++)
  server.listen(port, address)
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  seen.port = (server.address() as AddressInfo).port
  seen.origin = `http://${address}:${seen.port}`
  return seen
}

const ADMIN = 'an-admin-token-of-30-characters'

interface Line {
  level: 'warn'
  tenant?: string
  class?: string
  host?: string
  issuer?: string
  reason?: string
}

/** A gateway of one configuration whose tools have these endpoints, by name. */
async function world(
  t: TestContext,
  tools: Record<string, object>,
  settings: object = {},
  more: object = {},
) {
  const folder = temporaryFolder(t)
  const { tenant = 'default' } = more as { tenant?: string }
  const prefix = tenant === 'default' ? '/x' : `/${tenant}/x`
  const configuration = {
    name: 'x',
    routers: [{ server: 'x', prefix }],
    servers: [{ name: 'x' }],
    tools: Object.entries(tools).map(([name, tool]) => ({ name, method: 'GET', ...tool })),
    ...more,
  }
  writeFileSync(join(folder, 'x.yaml'), JSON.stringify(configuration))
  const lines: Line[] = []
  const warn = (line: object) => lines.push({ level: 'warn', ...line })
  const log = { ...silentLog, warn } as unknown as Logger
  const given = { admin: { token: ADMIN }, ...settings }
  const { gateway, findings } = await gatewayOver(t, [folder], given, { log })
  assert.deepEqual(findings, [])
  let session: ReturnType<typeof open> | undefined
  const call = async (name: string, args: object = {}) => {
    session ??= open(gateway.app, prefix)
    const message = rpc('tools/call', { name, arguments: args })
    const { result } = await body(post(gateway.app, `${prefix}/mcp`, message, await session))
    return { text: String(result.content[0].text), failed: result.isError === true }
  }
  return { gateway, lines, call, prefix }
}

/** A tool that follows the redirect of an upstream to wherever its argument says. */
async function redirecting(t: TestContext) {
  const { origin } = await upstream(t, (request, response) => {
    const to = new URL(request.url!, 'http://x').searchParams.get('to')!
    response.writeHead(302, { location: to }).end()
  })
  const args = [{ name: 'to', position: 'query', type: 'string' }]
  return { endpoint: `${origin}/`, followRedirects: true, args }
}

/** A tool whose argument chooses between two hosts. */
const choosing = (one: string, other: string) => ({
  endpoint: `{{if eq .Args.where "one"}}${one}{{else}}${other}{{end}}/data`,
  args: [{ name: 'where', position: 'path', type: 'string' }],
})

/** Gives names these addresses, one list for each lookup; the last for all that follow. */
function resolving(t: TestContext, ...answers: string[][]) {
  let asked = 0
  t.mock.method(dns, 'lookup', (_: string, _options: object, callback: Callback) => {
    const found = answers[Math.min(asked++, answers.length - 1)]!
    const all = found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    setImmediate(() => callback(null, all))
  })
  return () => asked
}
type Callback = (error: null, found: LookupAddress[]) => void

const refusal = (origin: string, what: string) =>
  `${origin.includes('://') ? origin : `http://${origin}`} ${what}, to which this gateway does not connect (outbound).`
const WHAT = {
  own: 'is this gateway itself',
  metadata: 'is at the address of a metadata service',
  linkLocal: 'is at a link-local address',
  loopback: 'is at a loopback address',
  private: 'is at an address of a private network',
  multicast: 'is at a multicast address',
  reserved: 'is at a reserved address',
  port: 'is at a port',
}

/** Every notation in which a URL can lead to an address, and what the address is. */
const NOTATIONS: [as: string, is: keyof typeof WHAT, origin?: string][] = [
  ['127.0.0.1', 'loopback'],
  ['127.0.0.2', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['127.1', 'loopback', '127.0.0.1'],
  ['127.0.1', 'loopback', '127.0.0.1'],
  ['2130706433', 'loopback', '127.0.0.1'],
  ['0x7f000001', 'loopback', '127.0.0.1'],
  ['0x7f.0.0.1', 'loopback', '127.0.0.1'],
  ['0177.0.0.1', 'loopback', '127.0.0.1'],
  ['017700000001', 'loopback', '127.0.0.1'],
  ['0x7F.1', 'loopback', '127.0.0.1'],
  ['127.0.0.1.', 'loopback', '127.0.0.1'],
  ['①②⑦.0.0.1', 'loopback', '127.0.0.1'],
  ['127。0。0。1', 'loopback', '127.0.0.1'],
  ['0', 'loopback', '0.0.0.0'],
  ['0.0.0.0', 'loopback'],
  ['[::1]', 'loopback'],
  ['[::]', 'loopback'],
  ['[0:0:0:0:0:0:0:1]', 'loopback', '[::1]'],
  ['[0000::0001]', 'loopback', '[::1]'],
  ['[::ffff:127.0.0.1]', 'loopback', '[::ffff:7f00:1]'],
  ['[::ffff:7f00:1]', 'loopback'],
  ['[::ffff:0:0]', 'loopback'],
  ['[::127.0.0.1]', 'loopback', '[::7f00:1]'],
  ['[::ffff:0:127.0.0.1]', 'loopback', '[::ffff:0:7f00:1]'],
  ['[64:ff9b::127.0.0.1]', 'loopback', '[64:ff9b::7f00:1]'],
  ['[64:ff9b::7f00:1]', 'loopback'],
  ['[2002:7f00:1::]', 'loopback'],
  ['[2002:7f00:1:1::2]', 'loopback'],
  ['localhost', 'loopback'],
  ['LOCALHOST', 'loopback', 'localhost'],
  ['169.254.169.254', 'metadata'],
  ['2852039166', 'metadata', '169.254.169.254'],
  ['0xA9FEA9FE', 'metadata', '169.254.169.254'],
  ['169.254.43518', 'metadata', '169.254.169.254'],
  ['0251.0376.0251.0376', 'metadata', '169.254.169.254'],
  ['[::ffff:169.254.169.254]', 'metadata', '[::ffff:a9fe:a9fe]'],
  ['[64:ff9b::a9fe:a9fe]', 'metadata'],
  ['[2002:a9fe:a9fe::]', 'metadata'],
  ['[fd00:ec2::254]', 'metadata'],
  ['[fd00:0ec2:0::0254]', 'metadata', '[fd00:ec2::254]'],
  ['100.100.100.200', 'metadata'],
  ['[::ffff:100.100.100.200]', 'metadata', '[::ffff:6464:64c8]'],
  ['169.254.170.2', 'metadata'],
  ['168.63.129.16', 'metadata'],
  ['192.0.0.192', 'metadata'],
  ['169.254.1.1', 'linkLocal'],
  ['[fe80::1]', 'linkLocal'],
  ['[febf::1]', 'linkLocal'],
  ['[::ffff:169.254.1.1]', 'linkLocal', '[::ffff:a9fe:101]'],
  ['10.0.0.1', 'private'],
  ['10.1', 'private', '10.0.0.1'],
  ['167772161', 'private', '10.0.0.1'],
  ['012.0.0.1', 'private', '10.0.0.1'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.0.1', 'private'],
  ['0xc0a80001', 'private', '192.168.0.1'],
  ['100.64.0.1', 'private'],
  ['[fc00::1]', 'private'],
  ['[fd12:3456::1]', 'private'],
  ['[fec0::1]', 'private'],
  ['[::ffff:10.0.0.1]', 'private', '[::ffff:a00:1]'],
  ['[::10.0.0.1]', 'private', '[::a00:1]'],
  ['[64:ff9b::10.0.0.1]', 'private', '[64:ff9b::a00:1]'],
  ['[2002:a00:1::]', 'private'],
  ['[2002:c0a8:1::1]', 'private'],
  ['224.0.0.1', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['[ff02::1]', 'multicast'],
  ['[::ffff:224.0.0.1]', 'multicast', '[::ffff:e000:1]'],
  ['0.1.2.3', 'reserved'],
  ['192.0.2.1', 'reserved'],
  ['198.18.0.1', 'reserved'],
  ['198.51.100.1', 'reserved'],
  ['203.0.113.1', 'reserved'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'reserved'],
  ['[64:ff9b:1::1]', 'reserved'],
  ['[100::1]', 'reserved'],
  ['[2001::1]', 'reserved'],
  ['[2001:db8::1]', 'reserved'],
]

const inAscii = (text: string) => text.replace(/[^\x00-\x7f]/g, encodeURIComponent)

describe('a redirect to another origin', () => {
  test('leads to no address of a denied class, in any notation', async (t) => {
    const { call, lines, gateway } = await world(t, { fetch: await redirecting(t) })
    for (const [as, is, origin = as] of NOTATIONS) {
      const { text, failed } = await call('fetch', { to: `http://${inAscii(as)}:9/` })
      assert.deepEqual([as, text, failed], [as, refusal(`${origin}:9`, WHAT[is]), true])
      const { level, tenant, class: denied } = lines.pop()!
      assert.deepEqual([level, tenant, denied], ['warn', 'default', is])
    }
    const headers = { host: 'localhost', authorization: `Bearer ${ADMIN}` }
    const metrics = await (await gateway.app.request('/metrics', { headers })).text()
    for (const is of ['loopback', 'metadata', 'linkLocal', 'private', 'multicast', 'reserved'] as const) {
      const count = NOTATIONS.filter((one) => one[1] === is).length
      const line = `plantgw_outbound_refused_total{tenant="default",class="${is}"} ${count}`
      assert.ok(metrics.split('\n').includes(line), line)
    }
  })

  test('is followed where the settings allow it by name or network', async (t) => {
    const { port } = await upstream(t)
    for (const outbound of [
      { allowHosts: ['127.0.0.1'] },
      { allowHosts: [`127.0.0.1:${port}`] },
      { allowCidrs: ['127.0.0.0/8'] },
      { allowCidrs: ['127.0.0.1'] },
    ]) {
      const { call } = await world(t, { fetch: await redirecting(t) }, { outbound })
      for (const as of ['127.0.0.1', '127.1', '0x7f000001'])
        assert.equal((await call('fetch', { to: `http://${as}:${port}` })).text, 'from 127.0.0.1')
    }
  })

  test('is refused where only another port, host or network is allowed', async (t) => {
    const { port } = await upstream(t)
    const outbound = { allowHosts: ['127.0.0.1:1', '*.example.com'], allowCidrs: ['127.0.0.2'] }
    const { call } = await world(t, { fetch: await redirecting(t) }, { outbound })
    const { text } = await call('fetch', { to: `http://127.0.0.1:${port}` })
    assert.equal(text, refusal(`127.0.0.1:${port}`, WHAT.loopback))
  })

  test('does not use a connection that a tool of the operator keeps open', async (t) => {
    const seen = await upstream(t)
    const tools = { fixed: { endpoint: `${seen.origin}/data` }, fetch: await redirecting(t) }
    const { call } = await world(t, tools)
    assert.equal((await call('fixed')).text, 'from 127.0.0.1')
    assert.equal((await call('fetch', { to: seen.origin })).text, refusal(seen.origin, WHAT.loopback))
    assert.equal((await call('fixed')).text, 'from 127.0.0.1')
    assert.deepEqual([seen.requests, seen.connections], [2, 1])
  })

  test('within the origin of the tool is one of its own requests', async (t) => {
    const seen = await upstream(t, (request, response) => {
      if (request.url === '/') response.writeHead(302, { location: '/there' })
      response.end('there')
    })
    const { call } = await world(t, { fetch: { endpoint: `${seen.origin}/`, followRedirects: true } })
    assert.deepEqual(await call('fetch'), { text: 'there', failed: false })
  })
})

describe('an endpoint with branches', () => {
  test('leads to the hosts that the operator writes', async (t) => {
    const seen = await upstream(t)
    const outbound = { deny: ['private'] }
    const tools = {
      choose: choosing(seen.origin, 'http://10.0.0.1'),
      branch: {
        endpoint: `${seen.origin}/{{if .Args.q}}a{{else}}b{{end}}`,
        args: [{ name: 'q', position: 'path', type: 'string' }],
      },
    }
    const { call } = await world(t, tools, { outbound })
    assert.equal((await call('choose', { where: 'one' })).text, 'from 127.0.0.1')
    assert.equal((await call('choose', { where: 'x' })).text, refusal('10.0.0.1', WHAT.private))
    assert.equal((await call('branch', { q: 'x' })).text, 'from 127.0.0.1')
  })

  test('leads to the host of its `baseUrl`, whatever the branches need', async (t) => {
    const { origin } = await upstream(t)
    const listed = {
      endpoint: '/x{{range .Args.q}}/{{.}}{{end}}',
      args: [{ name: 'q', position: 'path' }],
      inputSchema: { type: 'object', properties: { q: { type: 'array', items: { type: 'string' } } } },
    }
    const { call } = await world(t, { listed }, {}, { servers: [{ name: 'x', baseUrl: `${origin}/v1` }] })
    assert.equal((await call('listed', { q: ['a', 'b'] })).text, 'from 127.0.0.1')
  })
})

describe('a host that the operator writes', () => {
  const refused = async (t: TestContext, endpoint: string, outbound: object, what: string) => {
    const { call } = await world(t, { get: { endpoint } }, { outbound })
    assert.deepEqual(await call('get'), { text: refusal(new URL(endpoint).origin, what), failed: true })
  }

  test('may be on this machine and in its network, but no metadata service', async (t) => {
    const { origin, port } = await upstream(t)
    for (const as of [origin, `http://127.1:${port}`, `http://0.0.0.0:${port}`, `http://localhost:${port}`]) {
      const { call } = await world(t, { get: { endpoint: `${as}/` } })
      assert.equal((await call('get')).text, 'from 127.0.0.1')
    }
    for (const [as, is] of NOTATIONS)
      if (is === 'metadata' || is === 'linkLocal') await refused(t, `http://${as}/`, {}, WHAT[is])
    await refused(t, 'http://169.254.169.254/', { deny: [] }, WHAT.metadata)
  })

  test('is denied what the settings deny', async (t) => {
    const { origin, port } = await upstream(t)
    await refused(t, `${origin}/`, { deny: ['loopback'] }, WHAT.loopback)
    await refused(t, `http://localhost:${port}/`, { deny: ['loopback'] }, WHAT.loopback)
    await refused(t, 'http://10.0.0.1/', { deny: ['private'] }, WHAT.private)
    await refused(t, `${origin}/`, { ports: [443] }, WHAT.port)
    await refused(t, `${origin}/`, { ports: [443], allowHosts: ['127.0.0.1'] }, WHAT.port)
    const { call } = await world(t, { get: { endpoint: `${origin}/` } }, { outbound: { ports: [443, port] } })
    assert.equal((await call('get')).text, 'from 127.0.0.1')
  })
})

describe('a name', () => {
  test('is resolved once for a connection, and judged again for the next', async (t) => {
    const closing: RequestListener = (_, response) => {
      response.writeHead(200, { connection: 'close' }).end('from 127.0.0.2')
    }
    const { port } = await upstream(t, closing, '127.0.0.2')
    const inside = await upstream(t, undefined, '127.0.0.1', port)
    const asked = resolving(t, ['127.0.0.2'], ['127.0.0.1'])
    const outbound = { deny: ['loopback'], allowCidrs: ['127.0.0.2'] }
    const endpoint = `http://rebinding.test:${port}/`
    const { call } = await world(t, { get: { endpoint } }, { outbound })
    assert.equal((await call('get')).text, 'from 127.0.0.2')
    assert.equal(asked(), 1)
    assert.equal((await call('get')).text, refusal(`rebinding.test:${port}`, WHAT.loopback))
    assert.deepEqual([asked(), inside.connections], [2, 0])
  })

  test('with several addresses leads only to those that are allowed', async (t) => {
    const { port } = await upstream(t, undefined, '127.0.0.2')
    const inside = await upstream(t, undefined, '127.0.0.1', port)
    resolving(t, ['127.0.0.1', '::1', '127.0.0.2'])
    const outbound = { deny: ['loopback'], allowCidrs: ['127.0.0.2'] }
    const { call } = await world(t, { get: { endpoint: `http://many.test:${port}/` } }, { outbound })
    assert.equal((await call('get')).text, 'from 127.0.0.2')
    assert.equal(inside.connections, 0)
  })

  test('that only denied addresses belong to is refused, with a zone too', async (t) => {
    resolving(t, ['fe80::1%lo', '169.254.169.254'])
    const { call } = await world(t, { get: { endpoint: 'http://meta.test/' } })
    assert.equal((await call('get')).text, refusal('meta.test', WHAT.linkLocal))
  })

  test('is allowed by its suffix', async (t) => {
    const { port } = await upstream(t)
    resolving(t, ['127.0.0.1'])
    const outbound = { deny: ['loopback'], allowHosts: ['*.Inside.test'] }
    const get = (host: string) => ({ endpoint: `http://${host}:${port}/` })
    const tools = { below: get('a.b.inside.test'), dot: get('a.inside.test.'), bare: get('inside.test') }
    const { call } = await world(t, tools, { outbound })
    assert.equal((await call('below')).text, 'from 127.0.0.1')
    assert.equal((await call('dot')).text, 'from 127.0.0.1')
    assert.equal((await call('bare')).text, refusal(`inside.test:${port}`, WHAT.loopback))
  })
})

describe('a proxy', () => {
  const tunnels = async (t: TestContext) => {
    const asked: string[] = []
    const proxy = createServer().on('connect', (request, socket) => {
      asked.push(request.url!)
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
    })
    const port = await listening(t, proxy)
    return { asked, proxy: { type: 'http', host: '127.0.0.1', port: port } }
  }

  test('is asked for no address that the tool may not reach', async (t) => {
    const { asked, proxy } = await tunnels(t)
    resolving(t, ['169.254.1.1'])
    const { call } = await world(t, {
      literal: { endpoint: 'http://169.254.169.254/', proxy },
      name: { endpoint: 'http://inside.test/', proxy },
      metadata: { endpoint: 'http://metadata.google.internal/', proxy },
    })
    assert.equal((await call('literal')).text, refusal('169.254.169.254', WHAT.metadata))
    assert.equal((await call('name')).text, refusal('inside.test', WHAT.linkLocal))
    assert.equal((await call('metadata')).text, refusal('metadata.google.internal', WHAT.metadata))
    assert.deepEqual(asked, [])
  })

  test('is judged itself', async (t) => {
    const { asked, proxy } = await tunnels(t)
    for (const one of [proxy, { ...proxy, type: 'socks5' }]) {
      const endpoint = 'http://api.example.com/'
      const { call } = await world(t, { get: { endpoint, proxy: one } }, { outbound: { deny: ['loopback'] } })
      assert.equal((await call('get')).text, refusal(`${one.type}://127.0.0.1:${proxy.port}`, WHAT.loopback))
    }
    assert.deepEqual(asked, [])
  })
})

describe('a tenant', () => {
  const green = { tenant: 'green' }
  const settings = (outbound: object = {}, of: object = {}) => ({
    tenants: [{ name: 'green', prefix: '/green', outbound }],
    outbound: of,
  })

  test('reaches no address of any class', async (t) => {
    const tools = Object.fromEntries(
      NOTATIONS.map(([as], i) => [`tool${i}`, { endpoint: `http://${as}:9/` }]),
    )
    const allowed = { allowHosts: ['localhost', '127.0.0.1'], allowCidrs: ['10.0.0.0/8'] }
    const { call, lines } = await world(t, tools, settings({}, allowed), green)
    for (const [i, [as, is, origin = as]] of NOTATIONS.entries())
      assert.deepEqual([as, (await call(`tool${i}`)).text], [as, refusal(`${origin}:9`, WHAT[is])])
    assert.deepEqual(new Set(lines.map(({ tenant }) => tenant)), new Set(['green']))
  })

  test('reaches what the settings allow to it', async (t) => {
    const { origin, port } = await upstream(t)
    for (const outbound of [{ allowCidrs: ['127.0.0.1/32'] }, { allowHosts: [`127.0.0.1:${port}`] }]) {
      const { call } = await world(t, { get: { endpoint: `${origin}/` } }, settings(outbound), green)
      assert.equal((await call('get')).text, 'from 127.0.0.1')
    }
    const narrow = settings({ allowCidrs: ['127.0.0.1/32'] }, { ports: [443] })
    const { call } = await world(t, { get: { endpoint: `${origin}/` } }, narrow, green)
    assert.equal((await call('get')).text, refusal(origin, WHAT.port))
  })
})

describe('an MCP server', () => {
  const listed = async (t: TestContext, server: object, settings: object = {}, more: object = {}) => {
    const { tenant } = more as { tenant?: string }
    const prefix = tenant ? `/${tenant}/m` : '/m'
    const mcp = {
      name: 'm',
      routers: [{ server: 'm', prefix }],
      mcpServers: [{ name: 'm', ...server }],
      ...more,
    }
    const { gateway } = await world(t, {}, settings, { servers: [], tools: [], ...mcp })
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    }
    const answer = await body(post(gateway.app, `${prefix}/mcp`, rpc('initialize', params)))
    return `${String(answer.error?.message).replace('; the call was not repeated', '')}.`
  }

  test('is at no denied address, over either transport', async (t) => {
    for (const type of ['streamable-http', 'sse']) {
      const { origin, requests } = await upstream(t)
      assert.equal(
        await listed(t, { type, url: 'http://169.254.169.254/mcp' }),
        `The server m: ${refusal('169.254.169.254', WHAT.metadata)}`,
      )
      const tenants = [{ name: 'green', prefix: '/green' }]
      const message = await listed(t, { type, url: `${origin}/mcp` }, { tenants }, { tenant: 'green' })
      assert.equal(message, `The server m: ${refusal(origin, WHAT.loopback)}`)
      assert.equal(requests, 0)
    }
  })
})

describe('the gateway itself', () => {
  test('is out of reach of tools in every notation, but for its plants, and where a port is allowed', async (t) => {
    const hosts = ['127.0.0.1', 'localhost', '0.0.0.0', '127.1', '[::ffff:127.0.0.1]', '[64:ff9b::127.0.0.1]']
    const port = '${PLANTGW_PORT}'
    const tool = (name: string, endpoint: string) => ({ name, method: 'GET', endpoint })
    const configuration = {
      name: 'x',
      routers: [{ server: 'x', prefix: '/x' }],
      servers: [{ name: 'x' }],
      tools: [
        ...hosts.map((host, i) => tool(`t${i}`, `http://${host}:${port}/_status`)),
        tool('plants', `http://127.0.0.1:${port}/plants`),
        tool('beside', `http://127.0.0.1:${port}/plantsx`),
      ],
    }
    const folder = temporaryFolder(t)
    const plants = { file: join(folder, 'plants.json'), tokens: [] }
    const texts = async (settings: object) => {
      const gateway = await served(t, [configuration], { settings })
      const headers = await gateway.open('/x')
      const call = async (name: string) => {
        const { text } = await gateway.post('/x/mcp', rpc('tools/call', { name, arguments: {} }), headers)
        const { result } = JSON.parse(text.replace(/^[^{]*/, '')) as Loose
        return String(result.content[0].text)
      }
      return { call, port: gateway.port }
    }
    const closed = await texts({ plants })
    for (const i of hosts.keys())
      assert.match(
        await closed.call(`t${i}`),
        / is this gateway itself, to which this gateway does not connect/,
      )
    assert.match(await closed.call('beside'), / is this gateway itself/)
    assert.match(await closed.call('plants'), /answered 401 Unauthorized/)
    const network = await texts({ outbound: { allowCidrs: ['127.0.0.0/8'], allowHosts: ['127.0.0.1'] } })
    assert.match(await network.call('t0'), / is this gateway itself/)
  })
})

test('an address of the gateway itself is opened with its port', async (t) => {
  const { origin, port } = await upstream(t)
  const allowed = async (outbound: object, listening: string) => {
    const { gateway, call } = await world(t, { get: { endpoint: `${origin}/` } }, { outbound })
    gateway.ownAddresses.add({ address: listening, port })
    return (await call('get')).text
  }
  for (const listening of ['127.0.0.1', '0.0.0.0', '::']) {
    assert.equal(await allowed({ allowHosts: ['127.0.0.1'] }, listening), refusal(origin, WHAT.own))
    assert.equal(await allowed({ allowHosts: [`127.0.0.1:${port}`] }, listening), 'from 127.0.0.1')
  }
})

describe('an authorization server', () => {
  const login = async (t: TestContext, issuer: string, jwksUrl?: string, tenant = 'default') => {
    const auth = { type: 'jwt', issuers: [{ issuer, ...(jwksUrl && { jwksUrl }) }] }
    const prefix = tenant === 'default' ? '/x' : `/${tenant}/x`
    const settings = { publicUrl: 'https://gateway.test', tenants: [{ name: 'green', prefix: '/green' }] }
    const routers = [{ server: 'x', prefix, auth }]
    const { gateway, lines } = await world(t, {}, settings, { tenant, routers, tools: [] })
    const [header, payload] = [
      { alg: 'ES256', kid: 'a' },
      { iss: issuer, sub: 'a', exp: 9e9 },
    ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    const authorization = `Bearer ${header}.${payload}.${'a'.repeat(86)}`
    const { status } = await post(gateway.app, `${prefix}/mcp`, rpc('ping'), { authorization })
    return { status, reason: lines.find((line) => line.issuer)?.reason }
  }

  test('is asked where its configuration names it, at the addresses that its tenant may reach', async (t) => {
    const { origin } = await upstream(t, (_, response) => response.end('{"keys":[]}'))
    assert.equal((await login(t, 'https://issuer.test', `${origin}/jwks`)).reason, undefined)
    const { reason } = await login(t, 'https://issuer.test', `${origin}/jwks`, 'green')
    assert.equal(reason, refusal(origin, WHAT.loopback).slice(0, -1))
  })

  test('does not say where its keys are inside', async (t) => {
    const inside = await upstream(t)
    const jwks = `${inside.origin}/jwks`
    const issuer = await upstream(t, (_, response) =>
      response.end(JSON.stringify({ issuer: issuer.origin, jwks_uri: jwks })),
    )
    const { reason } = await login(t, issuer.origin)
    assert.equal(reason, refusal(inside.origin, WHAT.loopback).slice(0, -1))
    assert.equal(inside.requests, 0)
  })
})

describe('plantgw import', () => {
  test('reads what it is told to, and follows no redirect to where only this machine reaches', async (t) => {
    const inside = await upstream(t, (_, response) => response.end('{"openapi": "3.1.0"}'))
    const { origin } = await upstream(t, (_, response) => {
      response.writeHead(302, { location: `${inside.origin}/openapi.json` }).end()
    })
    const { code, stderr } = await run(t, ['import', 'openapi', `${origin}/openapi.json`])
    assert.equal(code, 2)
    const told = `cannot fetch ${origin}/openapi.json: it redirects, and ${inside.origin} is at a loopback address, to which this gateway does not connect (outbound): give the URL of the description itself`
    assert.ok(stderr.includes(told), stderr)
    assert.equal(inside.requests, 0)
  })
})

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, type TestContext, test } from 'node:test'
import { stringify } from 'yaml'
import { everythingStdio, startEverything } from '../fixtures/everything/start.ts'
import { faultyStdio } from '../fixtures/faulty/start.ts'
import { type Certificate, selfSigned, skipWithoutOpenssl } from '../support/certificates.ts'
import { BIN, freePort, plantgw, run, temporaryFolder } from '../support/process.ts'

interface Check {
  type: string
  endpoint: string
  status: string
  attempts: number
  usedBy: { name: string; range: { start: { line: number } } }[]
  steps: { name: string; status: string; detail: string; hint?: string; code?: string }[]
}

type Tool = Record<string, unknown>

/** A configuration file with these tools and MCP servers. */
function configuration(
  t: TestContext,
  { tools = [], mcp = [], config = {} }: { tools?: Tool[]; mcp?: Tool[]; config?: Record<string, string> },
): string {
  const file = join(temporaryFolder(t), 'a.yaml')
  const routers = [
    ...(tools.length ? [{ server: 'a', prefix: '/a' }] : []),
    ...mcp.map(({ name }) => ({ server: name, prefix: `/${name}` })),
  ]
  const servers = tools.length ? [{ name: 'a', config }] : []
  writeFileSync(file, stringify({ name: 'a', routers, servers, tools, mcpServers: mcp }))
  return file
}

const tool = (endpoint: string, more: Tool = {}): Tool => ({
  name: 'one',
  description: 'One',
  endpoint,
  ...more,
})

async function check(t: TestContext, args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await run(t, ['check-endpoints', ...args, '--format', 'json'], { env })
  assert.ok(stdout, stderr)
  return { code, stderr, checks: JSON.parse(stdout).checks as Check[] }
}

/** The one check of one thing, with the step that ended it. */
async function checkOne(t: TestContext, args: string[], env: Record<string, string> = {}) {
  const { code, checks } = await check(t, [...args, '--retries', '0'], env)
  assert.equal(checks.length, 1, JSON.stringify(checks))
  return { code, ...checks[0]!, last: checks[0]!.steps.at(-1)! }
}

async function listen(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    ;(server as { closeAllConnections?: () => void }).closeAllConnections?.()
  })
  return (server.address() as AddressInfo).port
}

/** An API, and what it was asked: `HEAD /x`. */
async function api(t: TestContext, answer: RequestListener) {
  const asked: string[] = []
  const seen: IncomingMessage[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    seen.push(request)
    answer(request, response)
  })
  return { asked, seen, url: `http://127.0.0.1:${await listen(t, server)}` }
}

const answering = (status: number, type = 'application/json', body = '{}') =>
  ((_: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': type }).end(body)
  }) as RequestListener

describe('origins of tools', () => {
  test('one host is asked once, by a method that changes nothing', async (t) => {
    const { asked, url } = await api(t, answering(200))
    const id = { name: 'id', position: 'path', required: true, description: 'x' }
    const tools = [
      tool(`${url}/plants`, { name: 'add', method: 'POST' }),
      tool(`${url}/plants/{{.Args.id}}`, { name: 'remove', method: 'DELETE', args: [id] }),
      tool(`${url}/plants/{{.Args.id}}`, { name: 'get', args: [id] }),
    ]
    const { code, checks } = await check(t, [configuration(t, { tools })])
    assert.equal(code, 0)
    assert.deepEqual(asked, ['HEAD /plants/sample'])
    assert.deepEqual(
      checks[0]!.usedBy.map(({ name }) => name),
      ['add', 'remove', 'get'],
    )
    const unsafe = await api(t, answering(404))
    const { status } = await checkOne(t, [
      configuration(t, { tools: [tool(`${unsafe.url}/x`, { method: 'PUT' })] }),
    ])
    assert.deepEqual([status, unsafe.asked], ['ok', ['OPTIONS /x']])
  })

  test('GET confirms what HEAD does not know', async (t) => {
    const { asked, url } = await api(t, (request, response) => {
      answering(request.method === 'HEAD' ? 404 : 200)(request, response)
    })
    const { status } = await checkOne(t, [configuration(t, { tools: [tool(`${url}/x`)] })])
    assert.deepEqual([status, asked], ['ok', ['HEAD /x', 'GET /x']])
  })

  test('a wrong path, a refused credential, a service that is not ready', async (t) => {
    const found = async (status: number, more: Tool = {}) => {
      const { url } = await api(t, answering(status))
      return checkOne(t, [configuration(t, { tools: [tool(`${url}/x`, more)], config: { key: 'secret' } })])
    }
    const wrong = await found(404)
    assert.deepEqual(
      [wrong.code, wrong.last.code, wrong.last.hint],
      [1, 'endpoint-answer', 'Check the path of the endpoint'],
    )
    const headers = { Authorization: 'Bearer {{.Config.key}}' }
    const refused = await found(401, { headers })
    assert.deepEqual([refused.code, refused.last.code], [1, 'endpoint-credentials'])
    assert.match(refused.last.hint!, /headers of the tool `one`/)
    assert.doesNotMatch(JSON.stringify(refused), /secret/)
    assert.equal((await found(401)).status, 'warning')
    const ofCaller = { headers: { Authorization: '{{.Request.Headers.Authorization}}' } }
    assert.equal((await found(401, ofCaller)).status, 'ok')
    assert.match((await found(503)).last.detail, /not ready/)
  })

  test('only headers without arguments and callers are sent', async (t) => {
    const { seen, url } = await api(t, answering(200))
    const headers = {
      Authorization: 'Bearer {{.Config.key}}',
      'X-Fixed': 'yes',
      'X-Caller': '{{.Request.Headers.X-Caller}}',
      'X-Id': '{{.Args.id}}',
    }
    const args = [
      { name: 'id', position: 'path', required: true, description: 'x' },
      { name: 'X-Arg', position: 'header', required: true, description: 'x' },
    ]
    const tools = [tool(`${url}/{{.Args.id}}`, { headers, args })]
    await checkOne(t, [configuration(t, { tools, config: { key: 'abc' } })], {
      HTTP_PROXY: 'http://127.0.0.1:1',
      http_proxy: 'http://127.0.0.1:1',
    })
    const [request] = seen
    assert.equal(request!.headers.authorization, 'Bearer abc')
    assert.equal(request!.headers['x-fixed'], 'yes')
    for (const name of ['x-caller', 'x-id', 'x-arg']) assert.equal(request!.headers[name], undefined)
  })

  test('nothing listens, no such name, silence, a closed connection, no HTTP', async (t) => {
    const found = async (endpoint: string, ...flags: string[]) =>
      checkOne(t, [configuration(t, { tools: [tool(endpoint)] }), ...flags])
    const refused = await found(`http://127.0.0.1:${await freePort()}/x`)
    assert.match(refused.last.detail, /refused the connection/)
    assert.equal(refused.code, 1)
    assert.equal(refused.usedBy[0]!.range.start.line, 11)
    const unknown = await found('http://plantgw-test.invalid/x')
    assert.deepEqual([unknown.last.name, unknown.last.code], ['name', 'endpoint-unreachable'])
    const silent = await api(t, () => {})
    assert.match((await found(`${silent.url}/x`, '--timeout', '1s')).last.detail, / within 1 s$/)
    const closes = await listen(
      t,
      createTcpServer((socket) => socket.destroy()),
    )
    assert.match((await found(`http://127.0.0.1:${closes}/x`)).last.detail, /closed the connection/)
    const speaks = await listen(
      t,
      createTcpServer((socket) => socket.end('220 mail\r\n\r\n')),
    )
    assert.match((await found(`http://127.0.0.1:${speaks}/x`)).last.detail, /invalid HTTP response/)
  })

  test('what fails for a while is tried again', async (t) => {
    let count = 0
    const { url } = await api(t, (request, response) => {
      answering(++count <= 2 ? 503 : 200)(request, response)
    })
    const { code, checks } = await check(t, [
      configuration(t, { tools: [tool(`${url}/x`)] }),
      '--retries',
      '1',
    ])
    assert.deepEqual([code, checks[0]!.attempts, checks[0]!.status], [0, 2, 'ok'])
  })

  test('--call calls the tool it names, and no other', async (t) => {
    const { asked, url } = await api(t, (request, response) => {
      answering(request.url === '/bad' ? 500 : 200)(request, response)
    })
    const args = [{ name: 'id', position: 'query', required: true, type: 'integer', description: 'x' }]
    const tools = [
      tool(`${url}/good`, { name: 'good', method: 'POST', args }),
      tool(`${url}/bad`, { name: 'bad', method: 'DELETE' }),
    ]
    const file = configuration(t, { tools })
    const { code, checks } = await check(t, [file, '--call', 'good', '--call', 'bad'])
    assert.equal(code, 1)
    assert.deepEqual(asked.toSorted(), ['DELETE /bad', 'OPTIONS /bad', 'POST /good?id=1'])
    const calls = checks.filter(({ type }) => type === 'call')
    assert.deepEqual(
      calls.map(({ endpoint, status }) => [endpoint, status]),
      [
        ['good', 'ok'],
        ['bad', 'failed'],
      ],
    )
    const wrong = await run(t, ['check-endpoints', file, '--call', 'god'])
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /no tool god: did you mean good\?/)
  })
})

describe('TLS', { skip: skipWithoutOpenssl }, () => {
  const certificates: Record<string, Certificate> = {}
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-test-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  before(() => {
    for (const [name, days] of [
      ['good', 90],
      ['short', 5],
      ['expired', -2],
    ] as const)
      certificates[name] = selfSigned(folder, name, days)
  })

  /** Checks a server with a certificate, which the client may trust. */
  async function found(t: TestContext, name: string, trusted: boolean, host = 'localhost') {
    const { key, cert, file } = certificates[name]!
    const server = createTlsServer({ key, cert }, answering(200))
    // Both loopback addresses, whichever `localhost` means.
    await new Promise<void>((resolve) => server.listen(0, resolve))
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo
    const tools = [tool(`https://${host}:${port}/x`)]
    return checkOne(t, [configuration(t, { tools })], trusted ? { NODE_EXTRA_CA_CERTS: file } : {})
  }

  test('days left on a good certificate, and on one that ends soon', async (t) => {
    const good = await found(t, 'good', true)
    assert.deepEqual([good.code, good.status], [0, 'ok'], good.last.detail)
    assert.match(good.steps.find(({ name }) => name === 'TLS')!.detail, /has (89|90) days left/)
    const short = await found(t, 'short', true)
    assert.deepEqual([short.code, short.status], [0, 'warning'])
    assert.equal(short.steps.find(({ name }) => name === 'TLS')!.code, 'certificate-expires')
    assert.equal(short.last.name, 'HTTP')
  })

  test('expired, self-signed, for another host, none at all', async (t) => {
    const expired = await found(t, 'expired', false)
    assert.match(expired.last.detail, /has expired, on \d{4}-\d\d-\d\d/)
    const own = await found(t, 'good', false)
    assert.match(own.last.detail, /is self-signed/)
    assert.match(own.last.hint!, /NODE_EXTRA_CA_CERTS/)
    const other = await found(t, 'good', true, '127.0.0.1')
    assert.match(other.last.detail, /is for another host/)
    const plain = await api(t, answering(200))
    const url = plain.url.replace('http:', 'https:')
    const none = await checkOne(t, [configuration(t, { tools: [tool(url)] })])
    assert.match(none.last.detail, /does not speak TLS/)
    for (const { code, last } of [expired, own, other, none])
      assert.deepEqual([code, last.name, last.code], [1, 'TLS', 'endpoint-tls'])
    assert.deepEqual(plain.asked, [])
  })
})

describe('MCP servers', () => {
  for (const [transport, era, revision] of [
    ['http', 'session', '2025-11-25 (sessions)'],
    ['http', 'modern', '2026-07-28 (stateless)'],
    ['sse', 'session', '(sessions)'],
  ] as const)
    test(`the handshake and the tools: ${transport}, ${era}`, async (t) => {
      const url = await startEverything(t, transport, era)
      const type = transport === 'sse' ? 'sse' : 'streamable-http'
      const { code, steps } = await checkOne(t, [configuration(t, { mcp: [{ name: 'm', type, url }] })])
      assert.equal(code, 0, JSON.stringify(steps))
      const detail = (name: string) => steps.find((step) => step.name === name)!.detail
      assert.ok(detail('handshake').endsWith(revision), detail('handshake'))
      assert.match(detail('tools'), /^\d+ tools$/)
    })

  test('tools that clients could not read are named', async (t) => {
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      },
      'tools/list': { tools: [{ name: 'bare' }, { name: 'odd', inputSchema: { type: 'array' } }] },
    }
    const { url } = await api(t, async (request, response) => {
      const body = await text(request)
      if (!body) return response.writeHead(405).end()
      const { id, method } = JSON.parse(body)
      const result = results[method]
      if (id === undefined) return response.writeHead(202).end()
      response.setHeader('content-type', 'application/json')
      const error = { code: -32601, message: 'Method not found' }
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...(result ? { result } : { error }) }))
    })
    const file = configuration(t, { mcp: [{ name: 'm', type: 'streamable-http', url: `${url}/mcp` }] })
    const { code, last } = await checkOne(t, [file])
    assert.deepEqual(
      [code, last.detail],
      [0, '2 tools; `bare`: it was repaired; `odd`: its inputSchema is not of an object'],
    )
  })

  test('stdio: the command, and with --start the handshake', async (t) => {
    const mcp = (['session', 'modern'] as const).map((era) => ({
      name: era,
      type: 'stdio',
      ...everythingStdio(era),
    }))
    const file = configuration(t, { mcp })
    const looked = await check(t, [file])
    assert.deepEqual(
      looked.checks.map(({ steps }) => steps.map(({ name }) => name)),
      [['command'], ['command']],
    )
    const { code, checks } = await check(t, [file, '--start'])
    assert.equal(code, 0, JSON.stringify(checks))
    for (const { steps } of checks) assert.match(steps.at(-1)!.detail, /^\d+ tools$/)
    const missing = configuration(t, {
      mcp: [{ name: 'm', type: 'stdio', command: 'plantgw-no-such-program' }],
    })
    const none = await checkOne(t, [missing])
    assert.deepEqual([none.code, none.last.code], [1, 'command-not-found'])
  })

  test('stdio: a server that ends, and one that is silent', async (t) => {
    for (const start of ['exit', 'silent'] as const) {
      const file = configuration(t, {
        mcp: [{ name: 'm', type: 'stdio', ...faultyStdio('session', { start }) }],
      })
      const { code, last } = await checkOne(t, [file, '--start', '--timeout', '1s'])
      assert.deepEqual([code, last.name, last.code], [1, 'handshake', 'mcp-handshake'], last.detail)
    }
  })

  test('HTML, 401, a wrong path, a redirect, silence', async (t) => {
    const found = async (answer: RequestListener, more: Tool = {}, ...flags: string[]) => {
      const { url } = await api(t, answer)
      const mcp = [{ name: 'm', type: 'streamable-http', url: `${url}/mcp`, ...more }]
      return checkOne(t, [configuration(t, { mcp }), ...flags])
    }
    const html = await found(answering(200, 'text/html', '<html>'))
    assert.match(html.last.detail, /an HTML page where MCP was expected/)
    const refused = await found(answering(401))
    assert.deepEqual([refused.last.code, refused.code], ['endpoint-credentials', 1])
    const ofCaller = await found(answering(401), {
      headers: { Authorization: '{{.Request.Headers.Authorization}}' },
    })
    assert.deepEqual([ofCaller.status, ofCaller.code], ['warning', 0])
    const wrong = await found(answering(404))
    assert.match(wrong.last.hint!, /it usually ends in \/mcp/)
    const { url } = await api(t, answering(404))
    const sse = await checkOne(t, [
      configuration(t, { mcp: [{ name: 'm', type: 'streamable-http', url: `${url}/sse` }] }),
    ])
    assert.match(sse.last.hint!, /type: sse/)
    const moved = await found((_, response) =>
      response.writeHead(308, { location: 'https://example.com/mcp?k=1' }).end(),
    )
    assert.match(moved.last.hint!, /\(https:\/\/example.com\/mcp\)/)
    const silent = await found(() => {}, {}, '--timeout', '1s')
    assert.match(silent.last.detail, / within 1 s$/)
    const page = await api(t, answering(200, 'text/html', '<html>'))
    const overSse = await checkOne(t, [
      configuration(t, { mcp: [{ name: 'm', type: 'sse', url: `${page.url}/sse` }] }),
    ])
    assert.match(overSse.last.detail, /HTML/)
  })

  test('of a path that comes from the caller the origin is checked', async (t) => {
    const { asked, url } = await api(t, answering(200))
    const of = async (origin: string) =>
      checkOne(t, [
        configuration(t, {
          mcp: [
            {
              name: 'm',
              type: 'streamable-http',
              url: `${origin}/{{.Request.Headers.Team}}/mcp`,
              isolation: 'credential',
            },
          ],
        }),
      ])
    const { code, status, last } = await of(url)
    assert.deepEqual([code, status, last.name, asked], [0, 'skipped', 'handshake', []])
    assert.equal((await of(`http://127.0.0.1:${await freePort()}`)).last.code, 'endpoint-unreachable')
  })
})

describe('the command', () => {
  test('text and JUnit', async (t) => {
    const { url } = await api(t, answering(200))
    const tools = [tool(`${url}/x`), tool(`http://127.0.0.1:${await freePort()}/<&`, { name: 'two' })]
    const file = configuration(t, { tools })
    const text = await run(t, ['check-endpoints', file, '--retries', '0'])
    assert.match(
      text.stdout,
      /^STATUS +ENDPOINT +USED BY +FOUND\nok .*HEAD answered 200\nfailed .*\n +hint: .*\n\n2 endpoints: 1 ok, 1 failed\n$/,
    )
    assert.equal(text.stderr, '')
    const { stdout } = await run(t, ['check-endpoints', file, '--retries', '0', '--format', 'junit'])
    assert.match(stdout, /<testsuites tests="2" failures="1" errors="0" skipped="0">/)
    assert.match(stdout, /<failure type="endpoint-unreachable" message=".*refused the connection/)
  })

  test('Ctrl-C ends it at once, with what was found', async (t) => {
    let came = () => {}
    const asked = new Promise<void>((resolve) => {
      came = resolve
    })
    const { url } = await api(t, () => came())
    const running = plantgw(t, [
      'check-endpoints',
      configuration(t, { tools: [tool(url)] }),
      '--timeout',
      '5m',
    ])
    await asked
    running.child.kill('SIGINT')
    assert.equal(await running.ended, 2)
    assert.match(running.stderr(), /cancelled/)
    assert.equal(running.stdout(), '')
  })

  test('a progress bar on a terminal, none in CI', {
    skip: !existsSync('/usr/bin/script') && 'needs script',
  }, async (t) => {
    const { url } = await api(t, answering(200))
    const file = configuration(t, { tools: [tool(url)] })
    const shown = async (env: Record<string, string>) => {
      const command = `"${process.execPath}" "${BIN}" check-endpoints "${file}"`
      const child = spawn('script', ['-qec', command, '/dev/null'], {
        env: { PATH: process.env.PATH ?? '', TERM: 'xterm', ...env },
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      let text = ''
      child.stdout.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
      })
      await new Promise((resolve) => child.once('close', resolve))
      return text
    }
    assert.match(await shown({}), /█ 1\/1 http/)
    assert.doesNotMatch(await shown({ CI: 'true' }), /█/)
  })

  test('tokens of `credentials` are fetched as for calls, and a refused client fails', async (t) => {
    const { url } = await api(t, answering(200))
    for (const [status, expected] of [
      [200, 'ok'],
      [401, 'failed'],
    ] as const) {
      const server = createServer((_, response) =>
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(
            JSON.stringify(
              status === 200
                ? { access_token: 'x', token_type: 'Bearer', expires_in: 60 }
                : { error: 'invalid_client' },
            ),
          ),
      )
      const tokenUrl = `http://127.0.0.1:${await listen(t, server)}/token`
      const credentials = { type: 'clientCredentials', clientId: 'a', clientSecret: 'b', tokenUrl }
      const file = join(temporaryFolder(t), 'a.yaml')
      const servers = [{ name: 'a', credentials }]
      writeFileSync(
        file,
        stringify({ name: 'a', routers: [{ server: 'a', prefix: '/a' }], servers, tools: [tool(url)] }),
      )
      const { status: whole, steps } = await checkOne(t, [file])
      assert.deepEqual(
        [whole, steps.find(({ name }) => name === 'token')?.status],
        [expected, expected],
        JSON.stringify(steps),
      )
    }
  })

  test('validate --endpoints finds the same, and comments silence it', async (t) => {
    const endpoint = `http://127.0.0.1:${await freePort()}/x`
    const file = configuration(t, { tools: [tool(endpoint), tool(endpoint, { name: 'two' })] })
    const silenced = readFileSync(file, 'utf8').replace(
      /^(.*endpoint:.*)$/m,
      '$1 # plantgw-ignore endpoint-unreachable: not up yet',
    )
    assert.equal((await run(t, ['validate', file])).code, 0)
    const found = await run(t, ['validate', file, '--endpoints', '--format', 'json'])
    assert.equal(found.code, 1)
    const [one, ...more] = JSON.parse(found.stdout).findings
    assert.deepEqual([one.code, one.range.start.line, more], ['endpoint-unreachable', 11, []])
    assert.match(one.message, /; one other tool or server of these files needs it too$/)
    writeFileSync(file, silenced)
    for (const flags of [[], ['--endpoints']]) {
      const { code, stdout } = await run(t, ['validate', file, ...flags])
      assert.deepEqual([code, stdout], [0, '1 file, nothing wrong\n'])
    }
  })

  test('a configuration with errors is told, and what can be checked is', async (t) => {
    const { url } = await api(t, answering(200))
    const file = configuration(t, { tools: [tool(url), tool('{{.Config', { name: 'two' })] })
    const { code, stderr, checks } = await check(t, [file])
    assert.equal(code, 1)
    assert.match(stderr, /template-syntax/)
    assert.deepEqual(checks.map(({ status }) => status).toSorted(), ['ok', 'skipped'])
  })

  test('a file of a tenant reads only its own variables; `secrets` of the settings are variables', async (t) => {
    const folder = temporaryFolder(t)
    // A host is asked once, so each file has its own.
    const apis = await Promise.all(['bad', 'good', 'own'].map(() => api(t, answering(200))))
    mkdirSync(join(folder, 'secrets'))
    writeFileSync(join(folder, 'secrets/API_KEY'), 'ofsecrets')
    const settings = join(folder, 'plantgw.yaml')
    const tokens = [{ token: 'abcdefghijklmnop1', caller: 'a' }]
    const tenants = [{ name: 'green', prefix: '/green', env: ['GREEN_*'], tokens }]
    writeFileSync(settings, stringify({ secrets: [join(folder, 'secrets')], tenants }))
    const file = (at: number, variable: string, tenant = {}) => {
      const name = `a${at}`
      const path = join(folder, `${name}.yaml`)
      const routers = [{ server: 'a', prefix: `/green/${name}`, auth: { mode: 'none' } }]
      const tools = [tool(`${apis[at]!.url}/?k={{env "${variable}"}}`)]
      writeFileSync(path, stringify({ name, ...tenant, routers, servers: [{ name: 'a' }], tools }))
      return path
    }
    const tenant = { tenant: 'green' }
    const files = [file(0, 'PLANTGW_VAULT_KEY', tenant), file(1, 'GREEN_KEY', tenant), file(2, 'API_KEY')]
    const env = { PLANTGW_VAULT_KEY: 'ofthegateway', GREEN_KEY: 'ofgreen' }
    await run(t, ['check-endpoints', ...files, '-s', settings], { env })
    await run(t, ['validate', '--endpoints', ...files, '-s', settings], { env })
    const all = apis.map(({ asked }) => asked.join()).join('\n')
    assert.match(all, /k=ofsecrets/)
    assert.match(all, /k=ofgreen/)
    assert.doesNotMatch(all, /ofthegateway/)
  })
})

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ConnectionOptions, connect } from 'node:tls'
import { readTls } from '../../src/net/index.ts'
import { selfSigned, skipWithoutOpenssl } from '../support/certificates.ts'
import { heldApi } from '../support/held-api.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'
import { until } from '../support/until.ts'
import { INITIALIZE, rpc } from '../support/wire.ts'

const skip = { skip: skipWithoutOpenssl }

const CONFIGURATION = {
  name: 'shop',
  routers: [{ server: 'shop', prefix: '/shop' }],
  servers: [{ name: 'shop' }],
}

/** A folder with `server.crt` and `server.key`, and settings that name them. */
function prepare(t: TestContext, settings: object, tls: object = {}) {
  const folder = temporaryFolder(t)
  const made = selfSigned(folder, 'first', 10)
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text)
  const install = ({ cert, key }: { cert: string; key: string }) => {
    write('server.crt', cert)
    write('server.key', key)
  }
  install(made)
  mkdirSync(join(folder, 'configs'))
  write('configs/shop.yaml', JSON.stringify(CONFIGURATION))
  const all = { drain: { grace: '0s' }, ...settings, tls: { cert: 'server.crt', key: 'server.key', ...tls } }
  write('plantgw.yaml', JSON.stringify(all))
  const args = ['serve', 'configs', '-s', 'plantgw.yaml', '--log-format', 'json', '--log-level', 'debug']
  const start = () => plantgw(t, args, { cwd: folder })
  return { folder, made, write, install, start }
}

interface Answer {
  status: number
  text: string
  session: string | undefined
}

/** Opens a session, or sends what is given. @throws the error of the connection */
function post(port: number, tls: ConnectionOptions, body?: object, headers: Record<string, string> = {}) {
  const message = body ?? INITIALIZE
  return new Promise<Answer>((resolve, reject) => {
    const all = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
    }
    const options = {
      host: 'localhost',
      port,
      path: '/shop/mcp',
      method: 'POST',
      headers: all,
      agent: false,
      ...tls,
    }
    const sent = request(options as object, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => {
        text += part
      })
      response.on('end', () => {
        const session = response.headers['mcp-session-id'] as string | undefined
        resolve({ status: response.statusCode!, text, session })
      })
    })
    sent.on('error', reject).end(JSON.stringify(message))
  })
}

const codeOf = (sent: Promise<unknown>) =>
  sent.then(
    () => 'answered',
    ({ code }: NodeJS.ErrnoException) => code,
  )

/** The certificate that a listener shows, and the version of TLS. */
async function shown(port: number, options: ConnectionOptions = {}) {
  const socket = connect({ port, host: 'localhost', rejectUnauthorized: false, ...options })
  await once(socket, 'secureConnect')
  const seen = { fingerprint: socket.getPeerX509Certificate()!.fingerprint256, version: socket.getProtocol() }
  socket.destroy()
  return seen
}

test('the listener speaks TLS 1.2 and 1.3, and nothing else', skip, async (t) => {
  const port = await freePort()
  const { made, start } = prepare(t, { port, host: 'localhost' })
  const gateway = start()
  await gateway.until(/plantgw serves 1 prefix on https:\/\/localhost/)
  assert.equal((await post(port, { ca: made.cert })).status, 200)
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
    assert.equal((await shown(port, { minVersion: version, maxVersion: version })).version, version)
  const old = shown(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
  assert.match(String(await codeOf(old)), /ERR_SSL/)
  const plain = connectPlain(port, 'localhost', () =>
    plain.write('GET /_health HTTP/1.1\r\nHost: localhost\r\n\r\n'),
  )
  const [told] = await Promise.race([
    once(plain, 'data').catch(() => ['']),
    once(plain, 'close').then(() => ['']),
  ])
  assert.doesNotMatch(String(told), /ok/)
  await gateway.until(/no TLS connection: the handshake failed/)
  gateway.child.kill('SIGTERM')
  assert.equal(await gateway.ended, 0)
})

test('renewed files are served from a reload on, bad ones never', skip, async (t) => {
  const port = await freePort()
  const { folder, made, start, install, write } = prepare(t, { port, host: 'localhost' })
  const gateway = start()
  await gateway.until(/plantgw serves/)
  const first = await shown(port)
  const kept = async (what: RegExp) => {
    gateway.child.kill('SIGHUP')
    await gateway.until(what)
    assert.equal((await shown(port)).fingerprint, first.fingerprint)
  }
  const next = selfSigned(folder, 'next', 20)
  write('server.crt', next.cert)
  await kept(/server\.key is not the key of the certificate .*server\.crt"/)
  write('server.crt', 'not a certificate')
  await kept(/server\.crt holds no certificate in PEM form/)
  install(selfSigned(folder, 'over', -1))
  await kept(/the certificate of .*server\.crt expired on/)
  install(next)
  gateway.child.kill('SIGHUP')
  await gateway.until(/the certificate was renewed/)
  assert.notEqual((await shown(port)).fingerprint, first.fingerprint)
  assert.equal((await post(port, { ca: next.cert })).status, 200)
  assert.match(String(await codeOf(post(port, { ca: made.cert }))), /SELF_SIGNED|UNABLE_TO_VERIFY|DEPTH_ZERO/)
  assert.doesNotMatch(gateway.stderr(), /PRIVATE KEY/)
})

/** Makes a client's certificate that an authority has signed. */
function clientOf(folder: string, ca: { file: string }, name: string) {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd, stdio: 'pipe' })
  openssl(
    ...['req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-keyout', 'key.pem', '-out', 'csr.pem', '-subj', `/O=Acme/CN=${name}`],
  )
  openssl(
    ...['x509', '-req', '-in', 'csr.pem', '-CA', ca.file, '-CAkey', join(ca.file, '../key.pem')],
    ...['-CAcreateserial', '-days', '10', '-out', 'cert.pem'],
  )
  return {
    key: readFileSync(join(cwd, 'key.pem'), 'utf8'),
    cert: readFileSync(join(cwd, 'cert.pem'), 'utf8'),
  }
}

/** A self-signed authority. */
function authority(folder: string, name: string) {
  const cwd = join(folder, name)
  mkdirSync(cwd)
  const file = join(cwd, 'cert.pem')
  execFileSync(
    'openssl',
    [
      ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 10'.split(' '),
      ...['-keyout', 'key.pem', '-out', 'cert.pem', '-subj', `/CN=${name}`],
    ],
    { cwd, stdio: 'pipe' },
  )
  return { file }
}

test('clientCa answers only who has a certificate of it, and open routers are served', skip, async (t) => {
  const port = await freePort()
  const own = await freePort()
  const settings = { port, host: '0.0.0.0', admin: { listen: `127.0.0.1:${own}` } }
  const { folder, made, write, start } = prepare(t, settings, { clientCa: 'clients.crt' })
  const { origin, waiting } = await heldApi(t)
  const tools = [{ name: 'wait', method: 'GET', endpoint: origin }]
  write('configs/shop.yaml', JSON.stringify({ ...CONFIGURATION, tools }))
  const [ours, theirs] = [authority(folder, 'ours'), authority(folder, 'theirs')]
  copyFileSync(ours.file, join(folder, 'clients.crt'))
  const [ada, bob, eve] = [
    clientOf(folder, ours, 'ada'),
    clientOf(folder, ours, 'bob'),
    clientOf(folder, theirs, 'eve'),
  ]
  const gateway = start()
  await gateway.until(/plantgw serves/)
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const trust = { ca: made.cert, maxVersion }
    assert.notEqual(await codeOf(post(port, trust)), 'answered', maxVersion)
    assert.notEqual(await codeOf(post(port, { ...trust, ...eve })), 'answered', maxVersion)
    assert.equal((await post(port, { ...trust, ...ada })).status, 200)
  }
  const { session } = await post(port, { ca: made.cert, ...ada })
  const list = rpc('tools/list', {})
  const headers = { 'mcp-session-id': session!, 'mcp-protocol-version': '2025-11-25' }
  assert.equal((await post(port, { ca: made.cert, ...ada }, list, headers)).status, 200)
  // A session belongs to who opened it.
  assert.equal((await post(port, { ca: made.cert, ...bob }, list, headers)).status, 404)
  await gateway.until(/"caller":"O=Acme, CN=ada"/)
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
  // Each connection may reach another worker, which passes the cancellation on with the certificate.
  for (let i = 0; i < 3; i++) {
    const running = post(port, { ca: made.cert, ...ada }, rpc('tools/call', { name: 'wait' }), headers)
    await until(() => waiting.length > i)
    assert.equal((await post(port, { ca: made.cert, ...ada }, cancelled, headers)).status, 202)
    assert.doesNotMatch((await running).text, /result|error/)
  }
  // Probes have no certificate, and ask the other listener.
  assert.equal((await fetch(`http://127.0.0.1:${own}/_health`)).status, 200)
})

test('a token says more of a caller than the certificate', skip, async (t) => {
  const port = await freePort()
  const { folder, made, write, start } = prepare(t, { port, host: '0.0.0.0' }, { clientCa: 'clients.crt' })
  const auth = { type: 'bearer', tokens: [{ token: 'a-token-of-the-only-agent', caller: 'agent' }] }
  write(
    'configs/shop.yaml',
    JSON.stringify({ ...CONFIGURATION, routers: [{ ...CONFIGURATION.routers[0], auth }] }),
  )
  const ours = authority(folder, 'ours')
  copyFileSync(ours.file, join(folder, 'clients.crt'))
  const tls = { ca: made.cert, ...clientOf(folder, ours, 'ada') }
  const gateway = start()
  await gateway.until(/plantgw serves/)
  assert.equal((await post(port, tls)).status, 401)
  const known = { authorization: 'Bearer a-token-of-the-only-agent' }
  const { session } = await post(port, tls, undefined, known)
  const headers = { ...known, 'mcp-session-id': session!, 'mcp-protocol-version': '2025-11-25' }
  assert.equal((await post(port, tls, rpc('tools/list', {}), headers)).status, 200)
  await gateway.until(/"caller":"agent"/)
})

test('what is wrong with the files is told, by validate and at the start', skip, async (t) => {
  const { folder, write, install } = prepare(t, { port: 0, host: 'localhost' }, { clientCa: 'clients.crt' })
  const told = async () => {
    const { stdout } = await run(t, ['validate', 'configs', '-s', 'plantgw.yaml', '--format', 'json'], {
      cwd: folder,
    })
    const { findings } = JSON.parse(stdout) as { findings: { code: string; message: string }[] }
    return findings
      .filter(({ code }) => code === 'tls-file')
      .map(({ message }) => message.replaceAll(`${folder}/`, ''))
  }
  assert.deepEqual(await told(), ['cannot read clients.crt: no such file'])
  const started = await run(t, ['serve', 'configs', '-s', 'plantgw.yaml'], { cwd: folder })
  assert.equal(started.code, 2)
  assert.match(started.stderr, /tls: cannot read .*clients\.crt: no such file/)
  copyFileSync(authority(folder, 'ours').file, join(folder, 'clients.crt'))
  assert.deepEqual(await told(), [])
  write('server.key', 'nothing')
  assert.deepEqual(await told(), ['server.key holds no private key in PEM form without a passphrase'])
  install({ cert: 'nothing', key: selfSigned(folder, 'other', 10).key })
  assert.deepEqual(await told(), ['server.crt holds no certificate in PEM form'])
  install(selfSigned(folder, 'over', -1))
  assert.match((await told()).join(), /^the certificate of server\.crt expired on /)
})

test('a certificate of the future, and a key of another one', skip, (t) => {
  const folder = temporaryFolder(t)
  const [one, other] = [selfSigned(folder, 'one', 10), selfSigned(folder, 'other', 10)]
  const files = { cert: one.file, key: join(other.file, '../key.pem') }
  const [fault] = readTls(files).faults
  assert.deepEqual([fault!.member, / is not the key of the certificate /.test(fault!.message)], ['key', true])
  const right = { cert: one.file, key: join(one.file, '../key.pem') }
  assert.deepEqual(readTls(right).faults, [])
  assert.equal(readTls(right).context!.cert, one.cert)
  const early = readTls(right, Date.now() - 200 * 86_400_000)
  assert.match(early.faults[0]!.message, /is not valid before/)
})

test('limits of connections and the shutdown count those of TLS', skip, async (t) => {
  const port = await freePort()
  const limits = { writeTimeout: '1s', maxConnections: 4 }
  const { made, write, start } = prepare(t, { port, host: 'localhost', limits })
  const tools = [{ name: 'long', description: 'x'.repeat(1_000_000), endpoint: 'http://localhost/' }]
  write('configs/shop.yaml', JSON.stringify({ ...CONFIGURATION, tools }))
  const gateway = start()
  await gateway.until(/plantgw serves/)
  const open = async () => {
    const socket = connect({ port, host: 'localhost', ca: made.cert })
    await once(socket, 'secureConnect')
    return socket
  }
  const slow = await open()
  const body =
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}'
  const lines = [
    ...['POST /shop/mcp HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'],
    ...['Accept: application/json, text/event-stream', 'Mcp-Protocol-Version: 2026-07-28'],
    ...['Mcp-Method: tools/list', `Content-Length: ${body.length}`],
  ]
  slow.pause()
  for (let i = 0; i < 30; i++) slow.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  const idle = await open()
  // The third one is closed during the handshake.
  const third = connect({ port, host: 'localhost', ca: made.cert })
  assert.equal((await once(third, 'error').catch((error) => [error]))[0] instanceof Error, true)
  const ended = once(slow, 'close')
  slow.on('error', () => {})
  // What had not been delivered is gone, so the stream breaks once what has been is read.
  const other = async (): Promise<Answer> =>
    post(port, { ca: made.cert }).catch(() => new Promise((resolve) => setImmediate(() => resolve(other()))))
  assert.equal((await other()).status, 200)
  slow.resume()
  await ended
  gateway.child.kill('SIGTERM')
  await once(idle.resume(), 'close')
  assert.equal(await gateway.ended, 0)
})

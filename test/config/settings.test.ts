import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { readSettings } from '../../src/checks/index.ts'
import { parseDuration, parseSize } from '../../src/config/index.ts'

const read = (text: string, env = {}, flags = {}) =>
  readSettings({ file: 'etc/plantgw.yaml', text }, env, flags)
const codes = (result: ReturnType<typeof read>) =>
  result.findings.map(({ code, message }) => `${code}: ${message}`)

test('without a file there are the defaults', () => {
  const { settings, findings } = readSettings(undefined, {})
  assert.deepEqual(findings, [])
  assert.deepEqual(settings, {
    port: 5235,
    host: '127.0.0.1',
    allowUnauthenticated: false,
    reload_interval: 600_000,
    reload_switch: false,
    secrets: [],
    watch: false,
    workers: '1',
    logger: { level: 'info' },
    limits: {
      connectTimeout: 5000,
      timeout: 30_000,
      maxResponseSize: 10 * 2 ** 20,
      maxRequestSize: 4 * 2 ** 20,
      resultChars: 100_000,
      maxConnections: 10_000,
      maxSessions: 100_000,
      maxCallsPerPrefix: 4_000,
      maxFailedLogins: 30,
      maxEventLoopDelay: 250,
      requestTimeout: 60_000,
      writeTimeout: 30_000,
    },
    drain: { grace: 5_000 },
    allowedHosts: [],
    allowedOrigins: [],
    trustedProxies: [],
    outbound: { deny: ['own', 'metadata', 'linkLocal'], allowHosts: [], allowCidrs: [] },
    rate: [],
    redact: 'own',
  })
})

test('an origin that no browser sends is a warning', () => {
  const result = read('allowedOrigins: [gateway.lan, https://gateway.lan]')
  assert.ok(result.settings)
  assert.deepEqual(codes(result), ['cors-origin: no browser sends the origin `gateway.lan`'])
})

test('the files of tls are beside the settings, and replicas cannot show certificates of clients', () => {
  const tls = 'tls: {cert: a.crt, key: /etc/a.key, clientCa: ca.crt}'
  const { settings, findings } = read(tls)
  assert.deepEqual(findings, [])
  const files = { cert: resolve('etc/a.crt'), key: '/etc/a.key', clientCa: resolve('etc/ca.crt') }
  assert.deepEqual(settings!.tls, files)
  const secret = 'a-secret-of-32-characters-or-more'
  const cluster = (advertise: string) =>
    `host: 0.0.0.0\ncluster: {secret: ${secret}, advertise: "${advertise}"}\n`
  assert.deepEqual(codes(read(cluster('https://10.0.0.7:5235') + tls)), [
    'invalid-value: client certificates do not work with `cluster`: a replica cannot show that of a client to another one',
  ])
  const plain = 'tls: {cert: a.crt, key: a.key}'
  assert.deepEqual(codes(read(cluster('http://10.0.0.7:5235') + plain)), [
    'invalid-value: `advertise` is an http URL of a listener that speaks TLS',
  ])
  assert.deepEqual(codes(read(cluster('https://10.0.0.7:5235') + plain)), [])
  assert.deepEqual(codes(read('tls: {cert: a.crt}')), ['missing-key: `tls` requires `key`'])
})

test('the audit log is beside the settings, and keys of it without effect are told', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plantgw-settings-'))
  const text = 'audit: {to: file, path: a.jsonl}'
  const { settings } = readSettings({ file: join(folder, 'plantgw.yaml'), text }, {})
  rmSync(folder, { recursive: true })
  assert.deepEqual(settings!.audit, { to: 'file', path: join(folder, 'a.jsonl'), args: 'none', fail: 'open' })
  const idle = read('audit: {to: stdout, path: a.jsonl, secret: "a secret of thirty-two characters"}')
  assert.deepEqual(codes(idle), [
    'key-without-effect: `path` has no effect with `to: stdout`',
    'key-without-effect: `secret` has no effect with `args: none`',
  ])
})

test('telemetry takes the URL of a collector, and what is absent from the environment of OpenTelemetry', () => {
  const { settings, findings } = read('telemetry: {otlp: {}}')
  assert.deepEqual(findings, [])
  assert.deepEqual(settings!.telemetry, { otlp: { signals: ['traces', 'metrics'] } })
  assert.deepEqual(codes(read('telemetry: {}')), ['missing-key: `telemetry` requires `otlp`'])
  for (const endpoint of ['collector:4318', 'ftp://a', 'http://u:secret@a', 'http://a/?key=secret', 'no'])
    assert.deepEqual(codes(read(`telemetry: {otlp: {endpoint: "${endpoint}"}}`)), [
      'invalid-value: `endpoint` is not an http or https URL without credentials and query',
    ])
  for (const part of ['sampling: 2', 'signals: []', 'signals: [logs]', 'endpont: a'])
    assert.equal(read(`telemetry: {otlp: {${part}}}`).settings, undefined, part)
})

test('flags win over the environment, that over the file', () => {
  const file = 'port: 1\nhost: file\npid: file.pid\nlogger: {level: "${LEVEL:warn}", format: pretty}'
  const { settings } = read(
    file,
    { PLANTGW_PORT: '2', PLANTGW_HOST: 'env', PLANTGW_PID: '' },
    { port: '3', reloadSwitch: true },
  )
  assert.deepEqual(
    [settings!.port, settings!.host, settings!.pid, settings!.logger.level, settings!.reload_switch],
    [3, 'env', resolve('etc/file.pid'), 'warn', true],
  )
  // What is said outside of the file is seen from the working folder.
  assert.equal(read(file, { PLANTGW_PID: 'env.pid' }).settings!.pid, 'env.pid')
  assert.equal(read(file, { PLANTGW_PID: 'env.pid' }, { pid: 'flag.pid' }).settings!.pid, 'flag.pid')
})

test('the store of plants is beside the settings', () => {
  const { settings } = read('plants: {tokens: [{token: "${T}", caller: a}]}', { T: 's' })
  assert.deepEqual(settings!.plants!.storage, { type: 'lowdb', file: resolve('etc/data/plants.json') })
  assert.deepEqual(settings!.plants!.tokens, [{ token: 's', caller: 'a', access: 'own' }])
  assert.equal(settings!.plants!.basePath, '/')
})

test('plants are kept in a file or on a server, with credentials from the environment', () => {
  const storage = (text: string, env = {}) => read(`plants: ${text}`, env).settings?.plants?.storage
  assert.deepEqual(storage('{file: x.json}'), { type: 'lowdb', file: resolve('etc/x.json') })
  assert.deepEqual(storage('{storage: {type: lowdb, file: /x.json}}'), { type: 'lowdb', file: '/x.json' })
  assert.deepEqual(storage('{storage: {type: lowdb}}'), {
    type: 'lowdb',
    file: resolve('etc/data/plants.json'),
  })
  const url = '"postgres://me:${PW}@db:5432/plants?sslmode=verify-full"'
  assert.deepEqual(storage(`{storage: {type: postgres, url: ${url}}}`, { PW: 's3cret' }), {
    type: 'postgres',
    url: 'postgres://me:s3cret@db:5432/plants?sslmode=verify-full',
  })
  assert.deepEqual(storage('{storage: {type: "${KIND}", url: "mariadb://db/plants"}}', { KIND: 'mysql' }), {
    type: 'mysql',
    url: 'mariadb://db/plants',
  })
})

test('what has no effect for the storage of plants is told', () => {
  for (const [text, wanted] of [
    ['{file: a, storage: {type: lowdb, file: b}}', /`file` has no effect beside `storage`/],
    [
      '{storage: {type: lowdb, url: "mysql://db/plants"}}',
      /`url` has no effect for a storage of type `lowdb`/,
    ],
    ['{storage: {type: mysql, file: b, url: "mysql://db/plants"}}', /`file` has no effect for a storage of/],
  ] as const)
    assert.match(codes(read(`plants: ${text}`)).join('\n'), wanted)
})

describe('what is wrong is told', () => {
  const cases: [
    text: string,
    wanted: RegExp,
    env?: Record<string, string>,
    flags?: Record<string, string>,
  ][] = [
    ['prot: 1', /unknown-key: unknown key `prot`/],
    ['port: 70000', /invalid-value: `port` must be from 0 to 65535; got 70000/],
    ['port: abc', /wrong-type: `port` must be an integer; got "abc"/],
    ['', /wrong-type: `port` must be an integer; got "abc"/, { PLANTGW_PORT: 'abc' }],
    ['', /invalid-value: `level` must be one of .*; got "wran"/, {}, { logLevel: 'wran' }],
    ['', /`reload_interval` must be a duration; got "often"/, {}, { reloadInterval: 'often' }],
    ['reload_interval: soon', /must be a duration; got "soon"/],
    ['reload_interval: 0', /out of range/],
    ['drain: {timeout: 0s}', /`timeout` is too small/],
    ['trustedProxies: [proxy.example.com]', /`proxy.example.com` is not an address or a network/],
    ['rate: [{per: caller, limit: 60, window: 0s}]', /`window` is too small/],
    ['rate: [{per: ip, limit: 60, window: 1m}]', /`per` must be one of .*; got "ip"/],
    ['rate: [{per: caller, limit: 0, window: 1m}]', /`limit` must be /],
    ['rate: [{per: caller, limit: 60}]', /missing-key: a rate requires `window`/],
    [
      'rate: [{per: caller, limit: 1, window: 1h, burst: 5000}]',
      /`burst` is so large that it takes .* to fill it again/,
    ],
    ['audit: {to: file}', /missing-key: `to: file` needs `path`/],
    ['audit: {path: /tmp/a}', /missing-key: `audit` requires `to`/],
    ['audit: {to: disk}', /`to` must be one of `file`, `stdout`, `stderr`; got "disk"/],
    ['audit: {to: file, path: /nowhere/a}', /invalid-value: the folder `\/nowhere` does not exist/],
    ['audit: {to: file, path: /tmp}', /invalid-value: `\/tmp` is not a file/],
    ['audit: {to: file, path: /dev/null}', /invalid-value: `\/dev\/null` is not a file/],
    ['audit: {to: stdout, args: hash, secret: short}', /`secret` has fewer than 32 characters/],
    [
      'allowedHosts: [gateway.lan, https://gateway.lan]',
      /item 2 of `allowedHosts` must be a host name or an/,
    ],
    ['host: http://localhost', /`host` must be a host name or an address, without scheme and port/],
    [
      'plants: {basePath: "/a?b"}',
      /the path `\/a\?b` contains characters that are not allowed in a URL path/,
    ],
    ['tenants: [{name: green, prefix: /a/../b}]', /the path `\/a\/..\/b` has a dot segment/],
    ['host: "[::1]"', /`host` must be a host name or an address/],
    ['host: localhost:5235', /`host` must be a host name or an address/],
    [
      'redis: {addr: "${URL}"}',
      /`redis:\/\/:\*\*\*@localhost` is not/,
      { URL: 'redis://:hunter2@localhost' },
    ],
    ['plants: {tokens: [t0kent0kent0ken]}', /item 1 of `tokens` must be an object; got a string/],
    ['redis: {addr: localhost}', /`localhost` is not `host:port`/],
    ['redis: {addr: "a:1,b:2"}', /a single server has one address/],
    ['trustedProxies: [10.0.0.0/33]', /`10.0.0.0\/33` is not an address or a network/],
    ['outbound: {allowHosts: ["http://a.example"]}', /`http:\/\/a.example` is not a host/],
    ['outbound: {allowHosts: [10.0.0.0/8]}', /`10.0.0.0\/8` is not a host\n?/],
    ['outbound: {allowCidrs: [a.example]}', /`a.example` is not an address or a network/],
    ['outbound: {deny: [privat]}', /must be one of .*; got "privat"/],
    [
      'tenants: [{name: a, prefix: /a, outbound: {allowCidrs: [10.0.0.0/33]}}]',
      /`10.0.0.0\/33` is not an address or a network/,
    ],
    ['tenants: [{name: a, prefix: /a, env: ["A*B"]}]', /`A\*B` is not the name of an environment variable/],
    ['tenants: [{name: a, prefix: /a, stdio: true}]', /`stdio: true` needs `commands`/],
    ['limits: {timeout: 0}', /`timeout` is too small/],
    ['plants: {tokens: [{token: "", caller: a}]}', /`token` is empty/],
    ['plants: {tokens: [{token: "${EMPTY}", caller: a}]}', /`token` is empty/, { EMPTY: '' }],
    ['admin: {token: short}', /`token` must have at least 16 characters/],
    ['plants: {tokens: [{token: s, caller: a}, {token: s, caller: b}]}', /duplicate-token/],
    ['plants: {basePath: store}', /must be a path that starts/],
    ['plants: {storage: {type: postgres}}', /missing-key: `storage` of type `postgres` requires `url`/],
    ['plants: {storage: {url: "mysql://db/x"}}', /missing-key: `storage` requires `type`/],
    ['plants: {storage: {type: sqlite}}', /`type` must be one of .*; got "sqlite"/],
    ['plants: {storage: {type: mysql, url: "postgres://db/x"}}', /`url` is not a mysql URL that names/],
    ['plants: {storage: {type: postgres, url: "postgres://db"}}', /`url` is not a postgres URL that/],
    ['plants: {storage: {type: postgres, url: "host=db"}}', /`url` is not a postgres URL that names/],
    ['[1]', /wrong-type/],
  ]
  for (const [text, wanted, env = {}, flags = {}] of cases) {
    test(`${text} ${JSON.stringify({ ...env, ...flags })}`, () => {
      const result = read(text, env, flags)
      assert.match(codes(result).join('\n'), wanted)
      assert.equal(result.settings, undefined)
    })
  }

  test('a flag or variable is named in place of the file', () => {
    assert.equal(read('', { PLANTGW_PORT: 'x' }).findings[0]!.file, 'PLANTGW_PORT')
    assert.equal(read('', {}, { port: 'x' }).findings[0]!.file, '--port')
  })

  test('a token is never shown', () => {
    const { findings } = read('plants: {tokens: [{token: s3cret, caller: a}, {token: s3cret, caller: b}]}')
    assert.ok(!JSON.stringify(findings).includes('s3cret'))
    const url = read('plants: {storage: {type: mysql, url: "postgres://me:s3cret@db/x"}}')
    assert.equal(url.findings.length, 1)
    assert.ok(!JSON.stringify(url.findings).includes('s3cret'))
  })
})

test('durations and sizes', () => {
  const durations = ['600s', '10m', '500ms', '1h30m', '5', '1.5s', '', '5 s', '-1s', '1x', '1e3']
  assert.deepEqual(durations.map(parseDuration), [
    600_000,
    600_000,
    500,
    5_400_000,
    5000,
    1500,
    ...Array(5).fill(undefined),
  ])
  const sizes = ['4MiB', '10MB', '512', '1 kB', '1KB', '1.5KiB', '2GiB', '', 'MB', '-1', '1TB', '1mb']
  assert.deepEqual(sizes.map(parseSize), [
    2 ** 22,
    1e7,
    512,
    1000,
    1000,
    1536,
    2 ** 31,
    ...Array(5).fill(undefined),
  ])
})

test('a cluster has a secret and an address at which others reach the replica', () => {
  const cluster = (text: string, env = {}) => read(`host: 0.0.0.0\ncluster: ${text}`, env)
  const secret = '0123456789abcdef0123456789abcdef'
  const env = { SECRET: secret, POD_IP: '10.0.0.7' }
  const { settings, findings } = cluster('{secret: "${SECRET}", advertise: "http://${POD_IP}:5235/"}', env)
  assert.deepEqual(findings, [])
  assert.deepEqual(settings!.cluster, { secret, advertise: 'http://10.0.0.7:5235' })
  const short = cluster('{secret: "${SECRET}", advertise: "http://a"}', { SECRET: secret.slice(1) })
  assert.equal(short.settings, undefined)
  assert.match(codes(short).join(), /`secret` has fewer than 32 characters/)
  assert.doesNotMatch(JSON.stringify(short.findings), new RegExp(secret.slice(1)))
  const second = (acceptedSecret: string) =>
    cluster(`{secret: "${secret}", acceptedSecret: "${acceptedSecret}", advertise: "http://a"}`)
  assert.equal(second(`${secret}2`).settings!.cluster!.acceptedSecret, `${secret}2`)
  assert.match(codes(second(secret)).join(), /`acceptedSecret` is the same as `secret`/)
  assert.match(codes(second(secret.slice(1))).join(), /`acceptedSecret` has fewer than 32 characters/)
  assert.doesNotMatch(JSON.stringify(second(secret.slice(1)).findings), new RegExp(secret.slice(1)))
  for (const [advertise, wanted] of [
    ['10.0.0.7:5235', /is not a URL|neither http nor https/],
    ['ws://a:1', /neither http nor https/],
    ['http://u:geheim@a:1', /user name or password/],
    ['http://a:1/mcp', /more than scheme, host and port/],
    ['http://0.0.0.0:1', /an address to listen on/],
    ['http://[::]:1', /an address to listen on/],
  ] as const) {
    const found = codes(cluster(`{secret: ${secret}, advertise: "${advertise}"}`)).join()
    assert.match(found, wanted)
    assert.doesNotMatch(found, /geheim/)
  }
  const local = read(`cluster: {secret: ${secret}, advertise: "http://10.0.0.7:1"}`)
  assert.match(codes(local).join(), /listens only on 127.0.0.1/)
  assert.deepEqual(read(`cluster: {secret: ${secret}, advertise: "http://127.0.0.1:1"}`).findings, [])
})

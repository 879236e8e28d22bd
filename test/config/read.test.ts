import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readConfiguration } from '../../src/checks/index.ts'
import { ExactNumber, stringify } from '../../src/json/index.ts'

const read = (text: string, env = {}) => readConfiguration({ file: 'a.yaml', text }, env)
const sound = (text: string, env = {}) => {
  const { configuration, findings } = read(text, env)
  assert.deepEqual(findings, [])
  return configuration!
}

describe('scalars', () => {
  test('are taken as written where a text is wanted', () => {
    const written = '1.10 0x1F 1e3 true yes 007 12345678901234567890 2026-01-31 .nan'.split(' ')
    const text = `name: 123\nservers:\n  - name: 1.0\n    config:\n${written.map((one, i) => `      k${i}: ${one}`).join('\n')}`
    const { name, servers } = sound(text)
    assert.equal(name, '123')
    assert.equal(servers[0]!.name, '1.0')
    assert.deepEqual(Object.values(servers[0]!.config), written)
  })

  test('that are empty are empty texts in a map of texts', () => {
    const { servers } = sound('name: a\nservers: [{name: s, config: {a: , b: ~, c: null, d: ""}}]')
    assert.deepEqual(servers[0]!.config, { a: '', b: '', c: '', d: '' })
  })

  test('keep exact numbers where any value may stand', () => {
    const { tools } = sound(
      'name: a\ntools: [{name: t, endpoint: e, meta: {a: 9223372036854775807, b: 0.12345678901234567890, c: 0x10, d: +1.5, e: .5}}]',
    )
    const { a, b, c, d, e } = tools[0]!.meta!
    assert.equal(a, 9223372036854775807n)
    assert.ok(b instanceof ExactNumber)
    assert.equal(stringify([b, c, d, e]), '[0.12345678901234567890,16,1.5,0.5]')
  })

  test('of variables get the type that is wanted', () => {
    const env = { YES: 'true', PORT: '3128', NUMBER: '5' }
    const tool = 'followRedirects: "${YES}"\n    proxy: {type: http, host: h, port: "${PORT}"}'
    const meta = 'meta:\n      plain: ${NUMBER}\n      quoted: "${NUMBER}"\n      text: $${NUMBER}'
    const { tools } = sound(`name: a\ntools:\n  - name: t\n    endpoint: e\n    ${tool}\n    ${meta}`, env)
    assert.equal(tools[0]!.followRedirects, true)
    assert.equal(tools[0]!.proxy!.port, 3128)
    assert.deepEqual(tools[0]!.meta, { plain: 5, quoted: '5', text: '${NUMBER}' })
  })

  test('of variables are no keys', () => {
    assert.deepEqual(
      sound('name: a\nservers: [{name: s, config: {"${A}": b}}]', { A: 'x' }).servers[0]!.config,
      { '${A}': 'b' },
    )
  })
})

test('the defaults are filled in', () => {
  const { tenant, tools, servers, mcpServers, routers } = sound(
    'name: a\nrouters: [{server: s, prefix: /s, cors: {allowOrigins: [], allowMethods: [get]}, auth: {type: bearer, tokens: [{token: t}]}}]\nservers: [{name: s, limits: {timeout: 1m30s, maxRequestSize: 2KiB}}]\ntools: [{name: t, method: post, endpoint: e, args: [{name: x, position: body}]}]\nmcpServers: [{type: stdio, name: m, command: c}]',
  )
  assert.equal(tenant, 'default')
  assert.deepEqual(servers, [{ name: 's', config: {}, limits: { timeout: 90_000, maxRequestSize: 2048 } }])
  assert.deepEqual(tools, [
    {
      name: 't',
      method: 'POST',
      endpoint: 'e',
      headers: {},
      args: [{ name: 'x', position: 'body', required: false, type: 'string' }],
      followRedirects: false,
    },
  ])
  assert.deepEqual(mcpServers, [
    {
      type: 'stdio',
      name: 'm',
      command: 'c',
      args: [],
      env: {},
      headers: {},
      pin: 'off',
      policy: 'onDemand',
      preinstalled: false,
      isolation: 'session',
      startupTimeout: 30_000,
      idleTimeout: 1_800_000,
      maxSessions: 100,
      blockedTools: [],
      toolOverrides: {},
    },
  ])
  assert.deepEqual(routers[0]!.cors!.allowMethods, ['GET'])
  assert.ok(routers[0]!.cors!.allowHeaders.includes('Mcp-Session-Id'))
  assert.deepEqual(routers[0]!.auth, {
    type: 'bearer',
    tokens: [{ token: 't', caller: 'caller-1' }],
    issuers: [],
    scopes: [],
    caller: 'sub',
    cacheTtl: 30_000,
  })
})

describe('defaults of arguments', () => {
  const cases: [type: string, given: string, value: unknown][] = [
    ['boolean', '"false"', false],
    ['boolean', 'true', true],
    ['boolean', '""', undefined],
    ['integer', '"42"', 42],
    ['integer', '9223372036854775807', 9223372036854775807n],
    ['integer', '""', undefined],
    ['number', '"1.5"', 1.5],
    ['array', '"[]"', []],
    ['array', '[1, a]', [1, 'a']],
    ['array', '""', undefined],
    ['object', '"{}"', {}],
    ['object', '{a: {b: 1}}', { a: { b: 1 } }],
    ['string', '""', ''],
    ['string', '1.10', '1.10'],
    ['string', 'false', 'false'],
    ['string', '', undefined],
  ]
  for (const [type, given, value] of cases) {
    test(`${type} of ${given || 'nothing'}`, () => {
      const { tools } = sound(
        `name: a\ntools:\n  - name: t\n    endpoint: e\n    args:\n      - name: x\n        position: query\n        type: ${type}\n        default: ${given}`,
      )
      assert.deepEqual(tools[0]!.args[0]!.default, value)
    })
  }

  test('enum and nested enum hold texts as written for strings', () => {
    const { tools } = sound(
      'name: a\ntools: [{name: t, endpoint: e, args: [{name: x, position: query, enum: [1.10, yes]}, {name: y, position: query, type: array, items: {type: string, enum: [1.10, true]}}, {name: z, position: query, type: integer, enum: [1, "2"]}]}]',
    )
    const [x, y, z] = tools[0]!.args
    assert.deepEqual(x!.enum, ['1.10', 'yes'])
    assert.deepEqual(y!.items, { type: 'string', enum: ['1.10', 'true'] })
    assert.deepEqual(z!.enum, [1, 2])
  })
})

test('merged keys: own keys win, then the first of the list', () => {
  const text =
    'name: a\nx-a: &a {server: one, prefix: /one}\nx-b: &b {server: two, ssePrefix: /sse}\nrouters:\n  - prefix: /own\n    <<: [*a, *b]\nservers: [{name: one}]'
  assert.deepEqual(sound(text).routers, [
    {
      server: 'one',
      prefix: '/own',
      ssePrefix: '/sse',
      names: 'prefixed',
      approval: 'none',
      discovery: { type: 'list', above: 8000, pin: [] },
    },
  ])
})

test('a list that is merged by its alias: its maps count, its places are known, and it cannot stand for itself', () => {
  const list = 'name: a\nx-l: &l [{server: one}, {server: two, prefix: no}]\nrouters: [{<<: *l}]\n'
  assert.equal(sound(`${list}servers: [{name: one}]`.replace('no', '/x')).routers[0]!.server, 'one')
  assert.equal(read(list).locate(['routers', 0, 'prefix'])?.start.offset, list.indexOf('no}'))
  const told = (text: string) => read(`name: a\n${text}`).findings.map(({ code }) => code)
  assert.deepEqual(told('x-l: &l [{<<: *l}]'), ['bad-alias'])
  assert.deepEqual(told('x-l: {<<: [[{a: 1}]]}'), ['wrong-type'])
  // Each of these lists stands for two of the one before it.
  const doubled = Array.from({ length: 60 }, (_, i) => `x-${i + 1}: &l${i + 1} [*l${i}, *l${i}]\n`)
  assert.deepEqual(told(`x-0: &l0 [{a: 1}]\n${doubled.join('')}x-z: {<<: *l60}`), ['bad-alias'])
})

test('the key __proto__ is a key like any other', () => {
  const { servers } = sound('name: a\nservers: [{name: s, config: {__proto__: x, constructor: y}}]')
  assert.equal(Object.getPrototypeOf(servers[0]!.config), Object.prototype)
  assert.deepEqual(Object.entries(servers[0]!.config), [
    ['__proto__', 'x'],
    ['constructor', 'y'],
  ])
  const { findings } = read(
    'name: a\n__proto__: {tenant: x}\nrouters: [{<<: {__proto__: {server: a}}, prefix: /a}]',
  )
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['unknown-key', 'unknown-key', 'missing-key'],
  )
  assert.equal(({} as { server?: string }).server, undefined)
})

test('of a great many findings the first are told, and that there are more', () => {
  const { findings } = read(`name: a\ntools:\n${'  - {naem: 1}\n'.repeat(20_000)}`)
  assert.ok(findings.length > 100 && findings.length <= 1002)
  assert.equal(findings[0]!.code, 'too-many-findings')
})

test('a broken file has no configuration, a faulty one has', () => {
  assert.equal(read('name: [').configuration, undefined)
  assert.equal(read('[name]').configuration, undefined)
  assert.equal(read('routers: []').configuration?.name, 'a.yaml')
  assert.equal(read('name: a\nnmae: b').configuration?.name, 'a')
})

test('what a variable gives is never shown', () => {
  const secret = 's3cr3t'
  const text = `name: a
tools:
  - name: t
    endpoint: e
    followRedirects: \${S}
    limits: {timeout: "\${S}"}
    proxy: {type: "\${S}", host: h, port: "\${S}"}
    args: [{name: x, position: "\${S}", type: integer, default: "\${S}", enum: ["\${S}"]}]
`
  const { findings } = read(text, { S: secret })
  assert.equal(findings.length, 7)
  assert.ok(!JSON.stringify(findings).includes(secret))
})

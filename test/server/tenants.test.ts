import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { readSettings } from '../../src/checks/index.ts'
import { identityOf, named, qualifiedName } from '../../src/config/index.ts'
import { gatewayOver } from '../support/gateway.ts'
import { run, temporaryFolder } from '../support/process.ts'
import { body, open, post, rpc } from '../support/wire.ts'

const ENV = { GREEN_TOKEN: 'green-secret', BLUE_TOKEN: 'blue-secret', PLANTGW_ADMIN_TOKEN: 'admin-secret' }

interface World {
  settings?: object
  env?: Record<string, string>
}

/** Settings with the tenant `green`, which may do so much. */
const green = (may: object = {}, more: object = {}) => ({
  tenants: [{ name: 'green', prefix: '/green', ...may }],
  ...more,
})

/** What is said against a configuration of the tenant, by code, with the message and hint. */
async function told(t: TestContext, text: string, { settings = green(), env = ENV }: World = {}) {
  const made = await load(t, { 'green.yaml': text }, settings, env)
  await made.gateway?.close()
  return made.findings.map(({ code, message }) => [code, message])
}

async function load(
  t: TestContext,
  files: Record<string, string>,
  settings: object,
  env: Record<string, string>,
  skipInvalid = false,
) {
  const folder = temporaryFolder(t)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return { ...(await gatewayOver(t, [folder], settings, { env, skipInvalid })), folder }
}

const configuration = (more = '', tenant = 'tenant: green') => `name: x
${tenant}
routers: [{server: x, prefix: /green/x}]
servers: [{name: x}]
tools: [{name: get, method: GET, endpoint: "https://api.example.com/"}]
${more}
`
const tool = (endpoint: string, more = '') =>
  configuration().replace(/^tools.*$/m, `tools: [{name: get, method: GET, endpoint: '${endpoint}'${more}}]`)
const proxied = (server: string) => `name: x
tenant: green
routers: [{server: m, prefix: /green/m}]
mcpServers: [{name: m, ${server}}]
`
const withheld = (name: string) => [
  'env-withheld',
  `the tenant may not read the environment variable ${name}`,
]

describe('environment variables', () => {
  test('are none for a tenant, and the finding does not tell whether they are set', async (t) => {
    for (const name of ['BLUE_TOKEN', 'PLANTGW_ADMIN_TOKEN', 'GREEN_TOKEN', 'NOT_SET', 'PATH']) {
      const places = [
        tool(`https://api.example.com/\${${name}}`),
        tool(`https://api.example.com/{{env "${name}"}}`),
        tool('https://api.example.com/', `, headers: {X-A: '{{env "${name}"}}'}`),
        configuration(`x-mine: "\${${name}}"`),
        proxied(`type: sse, url: "https://mcp.example.com/\${${name}}"`),
        proxied(`type: sse, url: 'https://mcp.example.com/', headers: {X-A: '{{env "${name}"}}'}`),
      ]
      for (const text of places) assert.deepEqual(await told(t, text), [withheld(name)], text)
    }
  })

  test('are those that the settings name, others of them are not set', async (t) => {
    const settings = green({ env: ['GREEN_*', 'SHARED'] })
    const two = (name: string) => tool(`https://api.example.com/\${${name}}/{{env "${name}"}}`)
    assert.deepEqual(await told(t, two('GREEN_TOKEN'), { settings }), [])
    for (const name of ['GREEN', 'SHARED_TOO', 'green_token', 'BLUE_TOKEN'])
      assert.deepEqual(await told(t, two(name), { settings }), [withheld(name), withheld(name)])
    for (const name of ['GREEN_OTHER', 'SHARED']) {
      const codes = (await told(t, two(name), { settings })).map(([code]) => code)
      assert.deepEqual(codes, ['env-unset', 'env-unset'])
    }
  })

  test('give their defaults, also by a name that is made up in a template', async (t) => {
    const text = tool('https://api.example.com/${BLUE_TOKEN:plain}/{{env "BLUE_TOKEN" "other"}}')
    assert.deepEqual(await told(t, text), [])
    const settings = green({ outbound: { allowHosts: ['127.0.0.1'] } })
    const dynamic = tool('http://127.0.0.1:1/{{env (printf "BLUE_%s" "TOKEN")}}')
    const { gateway, findings } = await load(t, { 'green.yaml': dynamic }, settings, ENV, true)
    t.after(() => gateway!.close())
    assert.ok(!JSON.stringify(findings).includes('blue-secret'))
    const message = rpc('tools/call', { name: 'get', arguments: {} })
    const answer = await body(
      post(gateway!.app, '/green/x/mcp', message, await open(gateway!.app, '/green/x')),
    )
    assert.ok(!JSON.stringify(answer).includes('blue-secret'), JSON.stringify(answer))
  })

  test('do not decide whose a configuration is', async (t) => {
    const decides = ['tenant-variable', 'an environment variable decides the tenant']
    for (const line of [
      'tenant: ${T:green}',
      'tenant: "\\u0024{T:green}"',
      'x-t: &t ${T:green}\ntenant: *t',
    ]) {
      const env = { ...ENV, T: 'default' }
      const text = configuration('x-mine: "${BLUE_TOKEN}"', line)
      const codes = (await told(t, text, { env })).map(([code]) => code)
      // With the default of the variable it is green's, which may read neither of the two.
      assert.deepEqual(codes, ['env-withheld'], line)
    }
    const text = configuration('', 'tenant: ${T:default}').replace('/green/x', '/x')
    assert.deepEqual(await told(t, text, { env: { T: 'green' } }), [
      decides,
      ['tenant-prefix', 'the prefix `/x` is not below `/green`, the prefix of the tenant `green`'],
    ])
    const settings = green({ env: ['T'] })
    const own = configuration('', 'tenant: ${T:green}')
    assert.ok(
      (await told(t, own, { settings, env: { T: 'default' } })).some(([code]) => code === 'tenant-variable'),
    )
  })

  test('are all there for the default tenant, and without tenants in the settings', async (t) => {
    const text = tool('https://api.example.com/${BLUE_TOKEN}/{{env "PLANTGW_ADMIN_TOKEN"}}')
    assert.deepEqual(await told(t, text, { settings: {} }), [])
    const own = text.replace('tenant: green', 'tenant: default').replace('/green/x', '/x')
    assert.deepEqual(await told(t, own), [])
  })
})

describe('processes', () => {
  const may = green({
    stdio: true,
    commands: ['/usr/bin/tools', { command: 'tools', env: ['TOKEN', 'T_*'] }],
  })

  test('are started for no tenant, unless the settings name the command', async (t) => {
    const shell = proxied('type: stdio, command: sh, args: [-c, id]')
    assert.deepEqual(await told(t, shell), [['tenant-process', 'the tenant `green` may not start processes']])
    for (const command of ['sh', '/usr/bin/../bin/tools', './tools', 'Tools', '/bin/tools'])
      assert.deepEqual(await told(t, proxied(`type: stdio, command: ${command}`), { settings: may }), [
        ['tenant-process', `the tenant \`green\` may not run \`${command}\``],
      ])
    for (const command of ['tools', '/usr/bin/tools'])
      assert.deepEqual(await told(t, proxied(`type: stdio, command: ${command}`), { settings: may }), [])
  })

  test('have only the variables that the settings name for their command', async (t) => {
    const findings = (command: string, env: string) =>
      told(t, proxied(`type: stdio, command: ${command}, env: {${env}}`), { settings: may })
    for (const name of ['PATH', 'LD_PRELOAD', 'JDK_JAVA_OPTIONS', 'LUA_INIT', 'TOKEN_', 'token', 'XT_A'])
      assert.deepEqual(await findings('tools', `${name}: /tmp/x`), [
        ['tenant-process', `the tenant \`green\` may not set \`${name}\` for \`tools\``],
      ])
    assert.deepEqual(await findings('tools', 'TOKEN: a, T_B: b'), [])
    assert.deepEqual(await findings('/usr/bin/tools', 'TOKEN: a'), [
      ['tenant-process', 'the tenant `green` may not set `TOKEN` for `/usr/bin/tools`'],
    ])
  })
})

test('notifiers are for the settings, unless they allow them', async (t) => {
  const text = configuration('notifier: {type: signal, signal: {signal: SIGHUP, pid: /tmp/a.pid}}')
  assert.deepEqual(await told(t, text), [['tenant-notifier', 'the tenant `green` may not have notifiers']])
  assert.deepEqual(await told(t, text, { settings: green({ notifier: true }) }), [])
})

test('limits are at most those of the tenant, else of the settings', async (t) => {
  const text = (timeout: string) =>
    configuration()
      .replace('{name: x}', `{name: x, limits: {timeout: ${timeout}}}`)
      .replace('.com/"}', `.com/", limits: {timeout: ${timeout}, maxResponseSize: 1MiB}}`)
  const larger = (most: string) => [
    'tenant-limits',
    `\`timeout\` is larger than the ${most} that the settings allow to the tenant`,
  ]
  assert.deepEqual(await told(t, text('30s')), [])
  assert.deepEqual(await told(t, text('31s')), [larger('30 s'), larger('30 s')])
  const settings = green({ limits: { timeout: '5s' } })
  assert.deepEqual(await told(t, text('5s'), { settings }), [])
  assert.deepEqual(await told(t, text('6s'), { settings }), [larger('5 s'), larger('5 s')])
})

test('a tenant that goes too far at a reload keeps its last good version, and the others go on', async (t) => {
  const blue = configuration('', '').replace('name: x', 'name: b').replace('/green/x', '/b')
  const { gateway, folder } = await load(t, { 'green.yaml': configuration(), 'b.yaml': blue }, green(), ENV)
  t.after(() => gateway!.close())
  writeFileSync(join(folder, 'green.yaml'), tool('https://api.example.com/${BLUE_TOKEN}'))
  const { refused, findings } = await gateway!.reload()
  assert.deepEqual([refused, findings.map(({ code }) => code)], [['green/x'], ['env-withheld']])
  assert.deepEqual([...gateway!.table().routes.keys()].sort(), ['/b', '/green/x'])
  assert.ok(!JSON.stringify(findings).includes('blue-secret'))
})

test('rules of a tenant that ask for callers find routers whose callers nobody vouches for', async (t) => {
  const demanding = { rules: [{ tools: ['*'], scopes: ['a'] }] }
  const mixed = { rules: [{ tools: ['*'], scopes: ['a'] }, { prompts: ['*'] }] }
  const at = (auth: string) => configuration().replace('/green/x}', `/green/x${auth && `, auth: ${auth}`}}`)
  const severities = async (auth: string, authorize: object, more: object = {}, tenant: object = {}) => {
    const settings = green({ authorize, ...tenant }, { publicUrl: 'https://tools.example.com', ...more })
    const { gateway, findings } = await load(t, { 'green.yaml': at(auth) }, settings, ENV)
    await gateway?.close()
    return findings.map(({ code, severity }) => `${code} ${severity}`)
  }
  const [error, warning] = ['authorize-without-login error', 'authorize-without-login warning']
  const issuer = 'issuer: "https://auth.example.com"'
  const token =
    '{type: bearer, tokens: [{token: "${OWN_TOKEN:some-secret-of-green}", caller: a, scopes: [a]}]}'
  assert.deepEqual(await severities('', demanding), [error])
  assert.deepEqual(await severities('', mixed), [warning])
  assert.deepEqual(await severities('', { rules: [{ tools: ['*'] }] }), [])
  assert.deepEqual(await severities('', { default: 'allow', ...demanding }), [warning])
  const ofGreen = { env: ['OWN_TOKEN'] }
  assert.ok((await severities(token, demanding, {}, ofGreen)).includes(error))
  assert.deepEqual(await severities(`{type: jwt, issuers: [{${issuer}}]}`, demanding), [])
  const keys = `{type: jwt, issuers: [{${issuer}, jwksUrl: "https://auth.example.com/jwks"}]}`
  assert.deepEqual(await severities(keys, demanding), [error])
  const tokens = [{ token: 'one-that-the-settings-give', caller: 'a' }]
  assert.deepEqual(await severities('', demanding, {}, { tokens }), [])
  const tls = { cert: 'cert.pem', key: 'key.pem', clientCa: 'ca.pem' }
  assert.deepEqual(await severities('', demanding, { tls }), [])
})

test('rules of a tenant are checked as those of routers', () => {
  const authorize = {
    rules: [{ scopes: ['a'] }, { tools: ['*'], scopes: ['a b'], claims: { '/a~b': ['x'], '/a~1b': ['x'] } }],
  }
  const text = JSON.stringify(green({ authorize }))
  assert.deepEqual(
    readSettings({ file: 'plantgw.yaml', text }, {}).findings.map(({ code, message }) => [code, message]),
    [
      ['missing-key', 'the rule names neither `tools` nor `prompts` nor `resources`'],
      ['invalid-value', '`a b` is not a scope: those have no spaces, quotes and backslashes'],
      ['invalid-value', '`/a~b` is not a JSON Pointer of at most 256 characters'],
    ],
  )
})

test('rules about callers know client certificates and tokens of the tenant', async (t) => {
  const rules = (rule: string) =>
    configuration().replace('/green/x}', `/green/x, authorize: {rules: [{tools: [get], ${rule}}]}}`)
  const nobody = (key: string) => [
    'authorize-without-login',
    `the rule asks for \`${key}\`, but the router does not authenticate its callers`,
  ]
  const tls = { cert: 'cert.pem', key: 'key.pem', clientCa: 'ca.pem' }
  const settings = green({}, { tls })
  assert.deepEqual(await told(t, rules('callers: ["CN=ann"]')), [nobody('callers')])
  assert.deepEqual(await told(t, rules('callers: ["CN=ann"]'), { settings }), [])
  assert.deepEqual(await told(t, rules('scopes: [a]'), { settings }), [
    ['authorize-without-login', 'the rule asks for `scopes`, which client certificates do not have'],
  ])
  const tokens = [{ token: 'one-that-the-settings-give', caller: 'ann', scopes: ['a'] }]
  assert.deepEqual(await told(t, rules('scopes: [a], callers: [ann]'), { settings: green({ tokens }) }), [])
})

const TWO = {
  tenants: [
    { name: 'green', prefix: '/green', env: ['GREEN_*'] },
    { name: 'blue', prefix: '/blue', env: ['BLUE_*'] },
  ],
}

test('no prefix leads out of that of the tenant, however it is written', async (t) => {
  const at = (prefix: string, tenant = 'tenant: green') =>
    configuration('', tenant).replace('prefix: /green/x', `prefix: ${JSON.stringify(prefix)}`)
  const first = async (prefix: string, tenant?: string) =>
    (await told(t, at(prefix, tenant), { settings: TWO })).map(([code]) => code)
  for (const prefix of ['/green', '/green/x', '/GREEN/x', '/gr%65en/x', '/green/a%20b', '/green/_status'])
    assert.deepEqual(await first(prefix), [], prefix)
  for (const prefix of (
    '/ /x /greenx /blue/x /BLUE /bl%75e/x /.well-known/oauth-protected-resource/green/x /_reload ' +
    '/metrics'
  ).split(' '))
    assert.ok((await first(prefix)).includes('tenant-prefix'), prefix)
  for (const prefix of (
    '/green/../blue /green/%2e%2e/blue /green/.%2E/blue /green/..%2fblue /green/%5c..%5Cblue ' +
    '/green/%2E /green//x /green/x?y /green/x#y /green/:any /green/*'
  ).split(' '))
    assert.ok((await first(prefix)).includes('prefix-form'), prefix)
  for (const prefix of ['/green/x', '/Green', '/gr%65en/x'])
    assert.deepEqual(await first(prefix, ''), ['tenant-prefix'], prefix)
  const sse = configuration().replace('prefix: /green/x', 'prefix: /green/x, ssePrefix: /blue/x')
  assert.deepEqual(
    (await told(t, sse, { settings: TWO })).map(([code]) => code),
    ['tenant-prefix'],
  )
})

test('what was found out of the text of one tenant is not taken for that of another', async (t) => {
  const env = { BLUE_TOKEN: 'blue-secret' }
  const texts = [
    `headers: {X-A: '{{env "BLUE_TOKEN"}}'}`,
    `headers: {X-A: '{{.Config.T}}'}`,
    `requestBody: '{"a": "{{env "BLUE_TOKEN"}}"}', method: POST`,
  ]
  for (const more of texts) {
    const of = (tenant: string, prefix: string) =>
      `name: x\n${tenant}\nrouters: [{server: x, prefix: ${prefix}}]
servers: [{name: x${more.includes('Config') ? `, config: {T: '{{env "BLUE_TOKEN"}}'}` : ''}}]
tools: [{name: get, endpoint: "https://api.example.com/", ${more}}]\n`
    const files = {
      'a.yaml': of('', '/a'),
      'b.yaml': of('tenant: blue', '/blue/b'),
      'c.yaml': of('tenant: green', '/green/c'),
      'd.yaml': of('tenant: blue', '/blue/d').replace('name: x\n', 'name: y\n'),
    }
    const { gateway, findings } = await load(t, files, TWO, env, true)
    t.after(() => gateway!.close())
    assert.deepEqual(
      findings.map(({ code, file }) => [code, file.split('/').at(-1)]),
      [['env-withheld', 'c.yaml']],
    )
    assert.deepEqual([...gateway!.table().routes.keys()], ['/a', '/blue/b', '/blue/d'])
  }
})

test('a schema refers to nothing outside of itself', async (t) => {
  const schema = (name: string, tenant: string, inner: string) =>
    configuration('', `tenant: ${tenant}`)
      .replace('name: x', `name: ${name}`)
      .replace('/green/x', `/${tenant}/${name}`)
      .replace('.com/"}', `.com/", position: body, inputSchema: {${inner}}}`)
      .replace(', position: body', '')
  const files = {
    'a.yaml': schema(
      'a',
      'blue',
      '$id: "https://blue.example.com/s", type: object, required: [secret_of_blue]',
    ),
    'b.yaml': schema('b', 'green', 'type: object, allOf: [{$ref: "https://blue.example.com/s"}]'),
    'c.yaml': schema('c', 'green', 'type: object, allOf: [{$ref: "file:///etc/passwd"}]'),
    'd.yaml': schema('d', 'green', '$id: "https://blue.example.com/s", type: object'),
  }
  const { gateway, findings } = await load(t, files, TWO, ENV, true)
  t.after(() => gateway!.close())
  assert.deepEqual(
    findings
      .filter(({ severity }) => severity === 'error')
      .map(({ code, file }) => [code, file.split('/').at(-1)]),
    [
      ['invalid-schema', 'b.yaml'],
      ['invalid-schema', 'c.yaml'],
    ],
  )
  assert.ok(!JSON.stringify(findings).includes('secret_of_blue'))
})

test('no pin of one server is that of another, however they are named', () => {
  const identities = [
    ['default', 'a', 'b/c'],
    ['default', 'a/b', 'c'],
    ['a', 'b', 'c'],
    ['default', 'a%2Fb', 'c'],
    ['a/b', 'c', 'd'],
    ['a', 'b/c', 'd'],
    ['a', 'b', 'c/d'],
    ['default', 'a', 'b/c/d'],
  ] as const
  const pins = identities.map(([tenant, name, server]) => qualifiedName({ tenant, name }, server))
  assert.equal(new Set(pins).size, pins.length, pins.join(' '))
  for (const [tenant, name] of identities)
    assert.deepEqual(identityOf(qualifiedName({ tenant, name })), { tenant, name })
})

test('a name means what is without a tenant first, and no name of a tenant hides another', () => {
  const green = { tenant: 'green', name: 'x' }
  const blue = { tenant: 'blue', name: 'x' }
  const own = { tenant: 'default', name: 'x' }
  const trap = { tenant: 'blue', name: 'green/x' }
  assert.deepEqual(named('x', [green, blue, own, trap]), [own])
  assert.deepEqual(named('x', [green, trap]), [green])
  assert.deepEqual(named('x', [green, blue]), [green, blue])
  assert.deepEqual(named('green/x', [trap, green]), [green])
  assert.deepEqual(named('green/x', [trap]), [trap])
})

test('keys for authors have no effect on what has no tenant', () => {
  const text = JSON.stringify({
    tenants: [{ name: 'default', prefix: '/d', env: [], authorize: { rules: [] } }],
  })
  assert.deepEqual(
    readSettings({ file: 'plantgw.yaml', text }, {}).findings.map(({ code, message }) => [code, message]),
    [
      [
        'key-without-effect',
        '`env` has no effect for the tenant `default`, that of configurations which name none',
      ],
    ],
  )
})

test('names of tenants steer no terminal', async (t) => {
  const folder = temporaryFolder(t)
  const name = 'a\u001b[2J\nb added'
  writeFileSync(join(folder, 'a.yaml'), configuration().replace('name: x', `name: ${JSON.stringify(name)}`))
  writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify(green()))
  const routes = await run(t, ['serve', folder, '--print-routes', '-s', join(folder, 'plantgw.yaml')])
  assert.match(routes.stdout, /a.*\[2J.*b added/)
  assert.ok(!(routes.stdout + routes.stderr).includes('\u001b'))
})

test('names are per tenant where the settings list tenants, and unique over all elsewhere', async (t) => {
  const blue = configuration('', 'tenant: blue').replace('/green/x', '/blue/x')
  const tenants = [
    { name: 'green', prefix: '/green' },
    { name: 'blue', prefix: '/blue' },
  ]
  const files = {
    'a.yaml': configuration(),
    'b.yaml': blue,
    'c.yaml': configuration('', '').replace('/green/x', '/x'),
  }
  const { gateway, findings } = await load(t, files, { tenants }, ENV)
  t.after(() => gateway!.close())
  assert.deepEqual(findings, [])
  assert.deepEqual([...gateway!.table().prepared.keys()].sort(), ['blue/x', 'green/x', 'x'])

  const second = configuration().replace('/green/x', '/green/y')
  const twice = await load(t, { ...files, 'd.yaml': second }, { tenants }, ENV)
  assert.deepEqual(
    twice.findings.map(({ code, file, message }) => [code, file.split('/').at(-1), message]),
    [['duplicate-configuration', 'd.yaml', 'two configurations of the tenant `green` have the name `x`']],
  )
  const labels = await load(t, { 'a.yaml': configuration(), 'b.yaml': blue }, {}, ENV)
  assert.deepEqual(
    labels.findings.map(({ code, message }) => [code, message]),
    [
      [
        'duplicate-configuration',
        'the tenants `green` and `blue` both have a configuration named `x`, but only tenants listed in the settings may share a name',
      ],
    ],
  )
})

test('no tenant takes a name from another, however names are written', async (t) => {
  const tenants = [
    { name: 'green', prefix: '/green' },
    { name: 'blue', prefix: '/blue' },
  ]
  const called = (name: string, tenant: string, prefix: string) =>
    configuration('', tenant)
      .replace('name: x', `name: ${JSON.stringify(name)}`)
      .replace('/green/x', prefix)
  const names = ['x', 'X', 'blue/x', 'default', 'name x', '__proto__', '/mcp', '../x', 'x\u0000y']
  const files = Object.fromEntries(
    names.flatMap((name, i) => [
      [`g${i}.yaml`, called(name, 'tenant: green', `/green/${i}`)],
      [`b${i}.yaml`, called(name, 'tenant: blue', `/blue/${i}`)],
      [`d${i}.yaml`, called(name, '', `/${i}`)],
    ]),
  )
  const { gateway, findings } = await load(t, files, { tenants }, ENV)
  t.after(() => gateway!.close())
  assert.deepEqual(findings, [])
  assert.equal(gateway!.table().prepared.size, 3 * names.length)
})

test('validate --settings finds it, without the value', async (t) => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  writeFileSync(join(folder, 'configs/green.yaml'), tool('https://api.example.com/${BLUE_TOKEN}'))
  writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify(green()))
  const args = ['validate', join(folder, 'configs'), '--settings', join(folder, 'plantgw.yaml')]
  const { code, stdout, stderr } = await run(t, args, { env: ENV })
  const output = stdout + stderr
  assert.equal(code, 1)
  assert.match(output, /error: the tenant may not read the environment variable BLUE_TOKEN \[env-withheld\]/)
  assert.match(output, /hint: Use another variable, or add BLUE_TOKEN to `env` of the tenant in the settings/)
  assert.ok(!output.includes('blue-secret'))
})

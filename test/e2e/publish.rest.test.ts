import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { run, temporaryFolder } from '../support/process.ts'

const CARD = { name: 'com.example/shop', version: '1.2.0', description: 'Orders of the shop', title: 'Shop' }
const AUTH = { type: 'bearer', tokens: [{ token: 'a-very-long-token-of-ann', caller: 'ann' }] }

interface Given {
  card?: object | undefined
  router?: object
  publicUrl?: string | undefined
}

function project(
  t: TestContext,
  { card = CARD, router = {}, publicUrl = 'https://tools.example.com' }: Given = {},
) {
  const cwd = temporaryFolder(t)
  mkdirSync(join(cwd, 'configs'))
  const tool = { name: 'hello', method: 'GET', endpoint: 'http://127.0.0.1:1/', description: 'Says hello' }
  const configuration = {
    name: 'shop',
    routers: [
      { server: 's', prefix: '/shop', card, ...router },
      { server: 's', prefix: '/other' },
    ],
    servers: [{ name: 's', allowedTools: ['hello'] }],
    tools: [tool],
  }
  const storage = { type: 'directory', path: 'configs' }
  writeFileSync(join(cwd, 'configs/shop.json'), JSON.stringify(configuration))
  writeFileSync(join(cwd, 'plantgw.yaml'), JSON.stringify({ storage, publicUrl }))
  return { cwd, publish: (...args: string[]) => run(t, ['publish', ...args], { cwd }) }
}

const TEXT = (most: number) => (value: unknown) =>
  typeof value === 'string' && value.length > 0 && value.length <= most
/** What the registry's schema of 2025-12-11 and its validators demand of what publish writes. */
const MEMBERS: Record<string, (value: unknown) => boolean> = {
  $schema: (value) =>
    value === 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
  name: (value) =>
    /^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]\/[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$/.test(String(value)),
  version: TEXT(255),
  description: TEXT(100),
  title: TEXT(100),
  websiteUrl: (value) => String(value).startsWith('https://'),
  remotes: Array.isArray,
}

test('the entry of a registry is made of the card of a prefix', async (t) => {
  const { cwd, publish } = project(t, { router: { auth: AUTH, ssePrefix: '/shop-sse' } })
  const { code, stdout, stderr } = await publish()
  assert.equal(code, 0, stderr)
  const entry = JSON.parse(stdout)
  for (const [key, value] of Object.entries(entry)) assert.ok(MEMBERS[key]?.(value), `${key}: ${value}`)
  const token = { description: 'Bearer token of the gateway', isRequired: true, isSecret: true }
  const headers = [{ name: 'Authorization', ...token, value: 'Bearer {token}', variables: { token } }]
  assert.deepEqual(entry, {
    ...CARD,
    $schema: entry.$schema,
    remotes: [
      { type: 'streamable-http', url: 'https://tools.example.com/shop/mcp', headers },
      { type: 'sse', url: 'https://tools.example.com/shop-sse/sse', headers },
    ],
  })
  assert.equal((await publish('/shop', '-o', 'server.json')).code, 0)
  assert.deepEqual(JSON.parse(readFileSync(join(cwd, 'server.json'), 'utf8')), entry)
  const again = await publish('/shop', '-o', 'server.json')
  assert.match(again.stderr, /server\.json already exists; nothing was written/)
  assert.equal((await publish('-o', 'server.json', '--force')).code, 0)
})

test('what the registry would refuse is reported, each with its cure', async (t) => {
  const refused = async (given: Given) => {
    const { code, stdout, stderr } = await project(t, given).publish()
    assert.deepEqual([code, stdout], [1, ''])
    return stderr
  }
  assert.match(
    await refused({ publicUrl: 'http://localhost:5235' }),
    /only takes https URLs of public hosts; got http:/,
  )
  assert.match(await refused({ publicUrl: 'https://localhost:8443' }), /change `publicUrl` of the settings/)
  for (const version of ['latest', '^1.2.3', '>=1.0', '1.x', '1.2.*', '1.0 - 2.0', '1 || 2'])
    assert.match(
      await refused({ card: { ...CARD, version } }),
      /must be one version, not `latest` or a range/,
      version,
    )
})

test('a prefix without a card, and one that is not served', async (t) => {
  const { publish } = project(t)
  assert.match(
    (await publish('/other')).stderr,
    /the router of \/other has no `card`\. Add one to its router, such as/,
  )
  assert.match((await publish('/shpo')).stderr, /the gateway has no prefix \/shpo: did you mean \/shop\?/)
})

test('names, lengths and a missing publicUrl are findings of the configuration', async (t) => {
  const findings = async (card: object) => {
    const { cwd } = project(t, { card: { ...CARD, ...card } })
    return (await run(t, ['validate', '--settings', 'plantgw.yaml', 'configs'], { cwd })).stdout
  }
  assert.match(await findings({}), /1 file, nothing wrong/)
  for (const name of ['shop', 'com.example/', 'com.example/a/b', '-x/shop', 'com.example/s'])
    assert.match(await findings({ name }), /error: .*`?name`?/, name)
  assert.match(await findings({ description: 'x'.repeat(101) }), /error: .*description/)
  assert.match(await findings({ websiteUrl: 'http://example.com' }), /error: .*websiteUrl/)
  const { cwd } = project(t)
  writeFileSync(join(cwd, 'none.yaml'), 'port: 5235\n')
  const without = await run(t, ['validate', '--settings', 'none.yaml', 'configs'], { cwd })
  assert.match(without.stdout, /error: a `card` needs `publicUrl` in the settings \[missing-public-url\]/)
})

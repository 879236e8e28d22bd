import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { checkTogether, readConfiguration, readSettings } from '../../src/checks/index.ts'
import { gatewayOver } from '../support/gateway.ts'
import { testIssuer } from '../support/issuer.ts'
import { temporaryFolder } from '../support/process.ts'
import { post, rpc } from '../support/wire.ts'

const configuration = (issuer: string) => ({
  name: 'plants',
  routers: [
    {
      server: 'a',
      prefix: '/plants',
      ssePrefix: '/old/plants',
      auth: { type: 'jwt', issuers: [{ issuer }], scopes: ['plants:read'] },
    },
    {
      server: 'a',
      prefix: '/asked',
      cors: { allowOrigins: ['https://app.example.com'] },
      auth: { type: 'introspection', issuers: [{ issuer, clientId: 'a', clientSecret: 'b' }] },
    },
    { server: 'a', prefix: '/open' },
  ],
  servers: [{ name: 'a' }],
})

async function gateway(t: TestContext, settings: object) {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'configs'))
  const { issuer } = await testIssuer(t)
  writeFileSync(join(folder, 'configs/a.yaml'), JSON.stringify(configuration(issuer)))
  return { ...(await gatewayOver(t, [join(folder, 'configs')], settings)), issuer }
}

test('metadata is at the paths of RFC 9728, open to every page', async (t) => {
  const { gateway: made, issuer } = await gateway(t, { publicUrl: 'https://Tools.example.com:443/gateway/' })
  const { app } = made!
  const base = 'https://tools.example.com/gateway'
  const of = (path: string, init: { method?: string; headers?: Record<string, string> } = {}) =>
    app.request(`/.well-known/oauth-protected-resource${path}`, {
      ...init,
      headers: { host: 'localhost', ...init.headers },
    })
  const common = {
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
    resource_name: 'plants',
  }
  const plants = await of('/plants/mcp')
  assert.equal(plants.status, 200)
  assert.equal(plants.headers.get('content-type'), 'application/json')
  assert.equal(plants.headers.get('access-control-allow-origin'), '*')
  const scopes = { scopes_supported: ['plants:read'] }
  assert.deepEqual(await plants.json(), { resource: `${base}/plants/mcp`, ...scopes, ...common })
  const sse = await of('/old/plants/sse')
  assert.deepEqual(await sse.json(), { resource: `${base}/old/plants/sse`, ...scopes, ...common })
  const asked = await of('/asked/mcp')
  assert.deepEqual(await asked.json(), { resource: `${base}/asked/mcp`, ...common })
  assert.equal((await of('/asked/sse')).status, 200)
  for (const none of ['', '/plants', '/plants/sse', '/plants/message', '/open/mcp', '/none/mcp'])
    assert.equal((await of(none)).status, 404, none)
  const page = { origin: 'https://app.example.com' }
  const read = await of('/plants/mcp', { headers: page })
  assert.equal(read.status, 200)
  assert.equal(read.headers.get('access-control-allow-origin'), '*')
  const preflight = await of('/plants/mcp', {
    method: 'OPTIONS',
    headers: { ...page, 'access-control-request-headers': 'mcp-protocol-version' },
  })
  assert.equal(preflight.status, 204)
  assert.equal(preflight.headers.get('access-control-allow-origin'), '*')
  assert.equal(preflight.headers.get('access-control-allow-headers'), '*')
  assert.equal((await of('/plants/mcp', { method: 'HEAD' })).status, 200)
  assert.equal((await of('/plants/mcp', { method: 'POST' })).status, 405)
  // What is not open is still refused to pages of other sites.
  assert.equal((await post(app, '/plants/mcp', rpc('tools/list'), page)).status, 403)
})

test('the challenge names the metadata by publicUrl, whatever Host says', async (t) => {
  const { gateway: made } = await gateway(t, {
    publicUrl: 'https://tools.example.com',
    allowedHosts: ['evil.example'],
  })
  const response = await post(made!.app, '/plants/mcp', rpc('tools/list'), {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
  })
  assert.equal(
    response.headers.get('www-authenticate'),
    'Bearer resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/plants/mcp", scope="plants:read"',
  )
})

test('pages that cors allows can read the challenge', async (t) => {
  const { gateway: made } = await gateway(t, { publicUrl: 'https://tools.example.com' })
  const refused = await post(made!.app, '/asked/mcp', rpc('tools/list'), {
    origin: 'https://app.example.com',
  })
  assert.equal(refused.status, 401)
  assert.equal(refused.headers.get('access-control-allow-origin'), 'https://app.example.com')
  assert.match(refused.headers.get('access-control-expose-headers')!, /(^|, )WWW-Authenticate$/)
})

test('without publicUrl nothing is served', async (t) => {
  const { gateway: made, findings } = await gateway(t, {})
  assert.equal(made, undefined)
  assert.deepEqual(
    findings.map(({ code }) => code),
    ['missing-public-url', 'missing-public-url'],
  )
})

test('a publicUrl that is none is a finding', () => {
  const codes = (publicUrl: string) =>
    readSettings({ file: 'a', text: JSON.stringify({ publicUrl }) }, {}).findings.map(({ code }) => code)
  assert.deepEqual(codes('http://localhost:5235'), [])
  assert.deepEqual(codes('https://tools.example.com/gateway'), [])
  assert.deepEqual(codes('http://tools.example.com'), ['insecure-url'])
  for (const none of ['tools.example.com', 'ftp://a', 'https://a:b@c', 'https://a/?b', 'https://a/#b'])
    assert.deepEqual(codes(none), ['invalid-value'], none)
})

test('the examples of the page on authentication are sound', () => {
  const page = readFileSync(new URL('../../docs/authentication.md', import.meta.url), 'utf8')
  const examples = [...page.matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text]) => text as string)
  const isSettings = (text: string) => /^(?:# plantgw\.yaml|publicUrl)/m.test(text)
  const configurations = examples.filter((text) => !isSettings(text))
  const settings = examples.filter(isSettings)
  const read = settings.map((text) => readSettings({ file: 'plantgw.yaml', text }, {}))
  // The files of certificates are those of the reader's machine.
  const findings = read.flatMap((one) => one.findings).filter(({ code }) => code !== 'tls-file')
  assert.deepEqual(findings, [])
  const publicUrl = read.map((one) => one.settings?.publicUrl).find((url) => url !== undefined)
  const modes = configurations.map((text) => {
    const read = readConfiguration(
      { file: 'a.yaml', text },
      { AGENT_TOKEN: 'x', INTROSPECTION_SECRET: 'x', API_TOKEN: 'x' },
    )
    assert.deepEqual([...read.findings, ...checkTogether([read], { publicUrl: publicUrl! })], [])
    return read.configuration!.routers[0]!.auth!.type
  })
  assert.deepEqual([...new Set(modes)], ['bearer', 'jwt', 'introspection'])
})

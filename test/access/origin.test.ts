import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cors } from '../../src/config/model.ts'
import { appOn, memory } from '../plants/helpers.ts'
import { INITIALIZE, post, rpc, wire } from '../support/wire.ts'

const CORS: Cors = {
  allowOrigins: ['https://app.example'],
  allowMethods: ['GET', 'POST', 'OPTIONS'],
  allowHeaders: ['Content-Type', 'Mcp-Session-Id'],
  exposeHeaders: ['Mcp-Session-Id'],
  allowCredentials: true,
}

test('on loopback only loopback names and allowed ones may be the Host or the Origin', async () => {
  const { app } = await wire({ allowedHosts: ['gateway.lan'], allowedOrigins: ['https://ui.lan'] })
  const status = async (headers: Record<string, string>) =>
    (await post(app, '/one/mcp', INITIALIZE, headers)).status
  for (const host of 'localhost localhost:5235 127.0.0.1:1 [::1]:5235 a.localhost gateway.lan:80'.split(' '))
    assert.equal(await status({ host }), 200, host)
  for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '8.8.8.8'])
    assert.equal(await status({ host }), 403, host)
  for (const origin of ['http://localhost:3000', 'http://127.0.0.1', 'https://ui.lan'])
    assert.equal(await status({ origin }), 200, origin)
  for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example', 'file://localhost'])
    assert.equal(await status({ origin }), 403, origin)
})

test('on loopback the name of publicUrl may be the Host and the Origin', async () => {
  const { app } = await wire({ publicUrl: 'https://gw.example/gateway' })
  const status = async (headers: Record<string, string>) =>
    (await post(app, '/one/mcp', INITIALIZE, headers)).status
  assert.equal(await status({ host: 'gw.example' }), 200)
  assert.equal(await status({ host: 'gw.example', origin: 'https://gw.example' }), 200)
  assert.equal(await status({ host: 'a.gw.example' }), 403)
  assert.equal(await status({ host: 'gw.example', origin: 'https://a.gw.example' }), 403)
})

test('the plant store refuses them too, with the body of its errors', async () => {
  const owns = (path: string) => path.startsWith('/plants')
  const { app } = await wire({ plants: { app: appOn(memory().store), owns } })
  for (const [header, value, setting] of [
    ['host', 'evil.example', 'allowedHosts'],
    ['origin', 'https://evil.example', 'allowedOrigins'],
  ] as const) {
    const response = await app.request('/plants', { headers: { host: 'localhost', [header]: value } })
    assert.equal(response.status, 403)
    const name = header === 'host' ? 'Host' : 'Origin'
    const message = `${name} ${value} is not allowed; allow it by ${setting} of the settings`
    assert.deepEqual(await response.json(), { error: 403, message })
  }
})

test('bound to all addresses any Host will do, and an Origin must be the same and a known name, or allowed', async () => {
  const { app } = await wire({ bind: '0.0.0.0' })
  const status = async (headers: Record<string, string>) =>
    (await post(app, '/one/mcp', INITIALIZE, headers)).status
  assert.equal(await status({ host: 'gw.example' }), 200)
  assert.equal(await status({ host: 'gw.example', origin: 'https://evil.example' }), 403)
  // Whoever owns a name can have it mean this address (DNS rebinding); nobody can so with an address.
  assert.equal(await status({ host: 'evil.example:5235', origin: 'http://evil.example:5235' }), 403)
  for (const host of ['10.0.0.7:5235', '[fd00::7]:5235', 'localhost:5235'])
    assert.equal(await status({ host, origin: `http://${host}` }), 200, host)
  assert.equal(await status({ host: '10.0.0.7:5235', origin: 'http://10.0.0.8:5235' }), 403)
  const { app: named } = await wire({ bind: '0.0.0.0', publicUrl: 'https://gw.example' })
  const same = { host: 'gw.example', origin: 'https://gw.example' }
  assert.equal((await post(named, '/one/mcp', INITIALIZE, same)).status, 200)
})

test('preflight: before authentication, only for allowed origins, with what the router allows', async () => {
  const { app } = await wire({ cors: CORS, token: 'x' })
  const preflight = (origin: string) =>
    app.request('/one/mcp', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', host: 'localhost' },
    })
  const allowed = await preflight('https://app.example')
  assert.equal(allowed.status, 204)
  const sent = Object.fromEntries([...allowed.headers].filter(([name]) => /^(access|vary)/.test(name)))
  assert.deepEqual(sent, {
    'access-control-allow-credentials': 'true',
    'access-control-allow-headers': 'Content-Type, Mcp-Session-Id',
    'access-control-allow-methods': 'GET, POST, OPTIONS',
    'access-control-allow-origin': 'https://app.example',
    'access-control-max-age': '600',
    vary: 'Origin',
  })
  // The other answers depend on the origin as well, so caches must tell them apart.
  const foreign = await preflight('https://evil.example')
  assert.equal(foreign.status, 403)
  const local = await preflight('http://localhost:3000')
  assert.equal(local.status, 204)
  for (const refused of [foreign, local]) {
    assert.equal(refused.headers.get('access-control-allow-origin'), null)
    assert.equal(refused.headers.get('vary'), 'Origin')
  }
})

test('answers to an allowed origin carry CORS headers, errors too, and say that they vary', async () => {
  const { app } = await wire({ cors: CORS })
  const headers = { origin: 'https://app.example' }
  for (const response of [
    await post(app, '/one/mcp', INITIALIZE, headers),
    await post(app, '/one/mcp', '{', headers),
    await post(app, '/one/mcp', rpc('ping'), { ...headers, 'mcp-session-id': 'gone' }),
  ]) {
    assert.equal(response.headers.get('access-control-allow-origin'), 'https://app.example')
    assert.equal(response.headers.get('access-control-expose-headers'), 'Mcp-Session-Id')
    assert.equal(response.headers.get('vary'), 'Origin')
  }
  const without = await post(app, '/one/mcp', INITIALIZE)
  assert.equal(without.headers.get('access-control-allow-origin'), null)
  assert.equal(without.headers.get('vary'), 'Origin')
})

test('`*` is sent as it is, and never together with credentials', async () => {
  const open = await wire({ cors: { ...CORS, allowOrigins: ['*'], allowCredentials: false } })
  const any = await post(open.app, '/one/mcp', INITIALIZE, { origin: 'https://anyone.example' })
  assert.equal(any.headers.get('access-control-allow-origin'), '*')
  const wrong = await wire({ cors: { ...CORS, allowOrigins: ['*'] } })
  const response = await post(wrong.app, '/one/mcp', INITIALIZE, { origin: 'https://anyone.example' })
  assert.equal(response.headers.get('access-control-allow-credentials'), null)
})

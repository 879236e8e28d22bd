import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'

const card = { name: 'com.example/shop', version: '1.2.0', description: 'Orders of the shop' }
const auth = { type: 'bearer', tokens: [{ token: 'a-very-long-token-of-ann', caller: 'ann' }] }
const configuration = {
  name: 'shop',
  routers: [
    { server: 's', prefix: '/shop', card, auth },
    { server: 's', prefix: '/quiet' },
  ],
  servers: [{ name: 's', allowedTools: ['buy'] }],
  tools: [{ name: 'buy', method: 'POST', endpoint: 'http://127.0.0.1:1/', description: 'Buys' }],
}

test('a prefix with a card answers everyone with it, and tells nothing of its tools', async (t) => {
  const { base } = await gatewayHere(t, configuration)
  const url = `${base}/shop/mcp/server-card`
  const answer = await fetch(url, { headers: { origin: 'https://elsewhere.example' } })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/mcp-server-card+json')
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
  assert.match(answer.headers.get('access-control-expose-headers') ?? '', /ETag/i)
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=3600')
  const text = await answer.text()
  assert.equal(/buy|a-very-long-token|127\.0\.0\.1/.test(text), false)
  const { $schema, remotes, ...rest } = JSON.parse(text)
  assert.equal($schema, 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json')
  assert.deepEqual(rest, card)
  assert.deepEqual(
    remotes.map(({ type, url }: Record<string, string>) => [type, url]),
    [
      ['streamable-http', 'https://tools.example.com/shop/mcp'],
      ['sse', 'https://tools.example.com/shop/sse'],
    ],
  )
  assert.equal(remotes[0].supportedProtocolVersions[0], '2026-07-28')
  assert.deepEqual(
    remotes[0].headers.map(({ name, isSecret }: Record<string, unknown>) => [name, isSecret]),
    [['Authorization', true]],
  )
})

test('a card that a client has is not sent again; only GET and HEAD read it', async (t) => {
  const { base, change } = await gatewayHere(t, configuration)
  const url = `${base}/shop/mcp/server-card`
  const etag = (await fetch(url)).headers.get('etag') ?? ''
  const known = (value: string) => fetch(url, { headers: { 'if-none-match': value } })
  for (const value of [etag, `W/${etag}`, `"x", ${etag}`, '*'])
    assert.equal((await known(value)).status, 304, value)
  assert.equal((await known('"x"')).status, 200)
  assert.equal((await fetch(url, { method: 'POST' })).status, 405)
  const origin = 'https://elsewhere.example'
  const preflight = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'if-none-match',
    },
  })
  assert.deepEqual([preflight.status, preflight.headers.get('access-control-allow-origin')], [204, '*'])
  const [shop, quiet] = configuration.routers
  await change({ ...configuration, routers: [{ ...shop, card: { ...card, version: '1.3.0' } }, quiet] })
  const changed = await known(etag)
  assert.deepEqual([changed.status, JSON.parse(await changed.text()).version], [200, '1.3.0'])
})

test('a prefix without a card answers as if the path were not there', async (t) => {
  const { base } = await gatewayHere(t, configuration)
  for (const path of [
    '/quiet/mcp/server-card',
    '/shop/server-card',
    '/none/mcp/server-card',
    '/shop/sse/server-card',
  ])
    assert.equal((await fetch(base + path)).status, 404, path)
})

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type TestContext, test } from 'node:test'
import { gatewayHere } from '../support/gateway.ts'
import { signed, testIssuer } from '../support/issuer.ts'
import { listening } from '../support/listening.ts'
import { modern, open } from '../upstream/harness.ts'
import { stateful } from '../upstream/stateful.ts'

const AUTH = {
  type: 'bearer',
  tokens: [
    { token: 'token-a', caller: 'alice', scopes: ['read', 'write'] },
    { token: 'token-b', caller: 'bob' },
  ],
}
const as = (token: string) => ({ authorization: `Bearer ${token}` })

/** An API that says which headers it was sent. */
async function echo(t: TestContext) {
  const server = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.headers))
  })
  const port = await listening(t, server)
  return `http://127.0.0.1:${port}/`
}

function api(t: TestContext, url: string, auth: object | null) {
  const headers = {
    'X-Who': '{{.Caller.subject}}|{{.Caller.issuer}}|{{.Caller.clientId}}|{{join "," .Caller.scopes}}',
    'X-Email': '{{.Caller.claims.email}}',
    'X-All': '{{range $name, $value := .Request.Headers}}{{$name}} {{end}}',
    'X-Any': '{{index .Request.Headers .Args.name}}',
  }
  const args = [{ name: 'name', position: 'query', type: 'string', default: 'Authorization' }]
  return gatewayHere(t, {
    name: 'test',
    routers: [{ server: 's', prefix: '/p', ...(auth && { auth }) }],
    servers: [{ name: 's' }],
    tools: [{ name: 'who', endpoint: url, headers, args }],
  })
}

test('templates read who calls, and never the token', async (t) => {
  const { base } = await api(t, await echo(t), AUTH)
  for (const client of [modern(`${base}/p/mcp`, as('token-a')), await open(`${base}/p/mcp`, as('token-a'))]) {
    const text = await client.call('who')
    const sent = JSON.parse(text)
    assert.equal(sent['x-who'], 'alice|||read,write')
    assert.equal(sent['x-email'], undefined)
    assert.match(sent['x-all'], /Content-Type/)
    assert.doesNotMatch(sent['x-all'], /authorization/i)
    assert.doesNotMatch(text, /token-a/)
  }
})

test('claims of a token of an authorization server are values like others', async (t) => {
  const issuer = await testIssuer(t)
  const key = await issuer.addKey('ec')
  const auth = { type: 'jwt', issuers: [{ issuer: issuer.issuer }], audience: 'api://test' }
  const { base } = await api(t, await echo(t), auth)
  const claims = { iss: issuer.issuer, sub: 'u-1', aud: 'api://test', azp: 'app', email: 'a@example.com' }
  const exp = Math.floor(Date.now() / 1000) + 300
  const token = await signed(key, { alg: 'ES256', kid: 'ec' }, { ...claims, exp, scope: 'x y' })
  const text = await modern(`${base}/p/mcp`, as(token)).call('who')
  const sent = JSON.parse(text)
  assert.equal(sent['x-who'], `u-1|${issuer.issuer}|app|x,y`)
  assert.equal(sent['x-email'], 'a@example.com')
  assert.equal(text.includes(token), false)
})

test('where nobody is known it is empty, and the header is the caller’s own', async (t) => {
  const { base } = await api(t, await echo(t), null)
  const text = await modern(`${base}/p/mcp`, as('of-the-upstream')).call('who')
  const sent = JSON.parse(text)
  // A header of which nothing but the author's own text is left is not sent.
  assert.equal(sent['x-who'], undefined)
  assert.equal(sent['x-any'], 'Bearer of-the-upstream')
})

test('callers never share a session of a server whose templates read the caller', async (t) => {
  const server = {
    ...stateful('session'),
    name: 's',
    isolation: 'credential',
    // It comes to the same for everybody.
    env: { ISSUER: 'x{{.Caller.issuer}}' },
  }
  const { base } = await gatewayHere(t, {
    name: 'test',
    routers: [{ server: 's', prefix: '/p', auth: AUTH }],
    mcpServers: [server],
  })
  const pids = new Map<string, Set<string>>()
  for (const token of ['token-a', 'token-b', 'token-a'])
    for (const client of [
      open,
      async (url: string, headers: Record<string, string>) => modern(url, headers),
    ]) {
      const own = pids.get(token) ?? new Set()
      pids.set(
        token,
        own.add((await (await client(`${base}/p/mcp`, as(token))).call('count')).split('#')[0] as string),
      )
    }
  const [alice, bob] = [...pids.values()]
  assert.ok([...(alice ?? []), ...(bob ?? [])].every((pid) => /^\d+$/.test(pid)))
  assert.deepEqual(
    [...(alice ?? [])].filter((pid) => bob?.has(pid)),
    [],
  )
})

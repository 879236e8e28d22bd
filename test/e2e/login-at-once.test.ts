import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type TestContext, test } from 'node:test'
import { plantgw, temporaryFolder } from '../support/process.ts'
import { restartable } from '../support/restartable.ts'
import { json } from '../support/tokens.ts'
import { until } from '../support/until.ts'
import type { Loose } from '../support/wire.ts'

interface Server {
  url: string
  /** Of the refresh token that is good, once, and of its access token. */
  good: number
  /** Access tokens that have ended. */
  ended: number
  /** How many requests it refused, and how often a refresh token was spent. */
  refused: number
  refreshed: number
  /** Resolves when a refresh may be answered. */
  hold(): Promise<unknown>
}

/** An MCP server and its authorization server, at which everyone is logged in. */
async function server(t: TestContext): Promise<Server> {
  async function answer(request: IncomingMessage, response: ServerResponse, body: string) {
    const { pathname, searchParams } = new URL(request.url!, origin)
    if (pathname === '/mcp') return serveMcp(made, request, response, body)
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return json(response, 200, { resource: made.url, authorization_servers: [origin] })
    if (pathname.startsWith('/.well-known/'))
      return json(response, 200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      })
    if (pathname === '/register') return json(response, 201, { client_id: 'c', ...JSON.parse(body) })
    if (pathname === '/authorize') {
      const back = new URL(searchParams.get('redirect_uri')!)
      back.search = String(new URLSearchParams({ code: 'c', state: searchParams.get('state')! }))
      return response.writeHead(302, { location: back.href }).end()
    }
    const form = new URLSearchParams(body)
    if (form.get('grant_type') === 'refresh_token') {
      const isGood = form.get('refresh_token') === `r${made.good}`
      if (isGood) made.good++
      made.refreshed++
      await made.hold()
      if (!isGood) return json(response, 400, { error: 'invalid_grant' })
    }
    const { good } = made
    return json(response, 200, {
      access_token: `t${good}`,
      refresh_token: `r${good}`,
      token_type: 'Bearer',
      expires_in: 3600,
    })
  }
  const { origin } = await restartable(t, answer)
  const made: Server = {
    url: `${origin}/mcp`,
    good: 1,
    ended: 0,
    refused: 0,
    refreshed: 0,
    hold: async () => {},
  }
  return made
}

function serveMcp(made: Server, request: IncomingMessage, response: ServerResponse, body: string) {
  const [, number] = /^Bearer t(\d+)$/.exec(request.headers.authorization ?? '') ?? []
  if (Number(number ?? 0) <= made.ended) {
    made.refused++
    return response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end()
  }
  if (request.method !== 'POST') return response.writeHead(405).end()
  const { id, method, params }: Loose = JSON.parse(body)
  if (id === undefined) return response.writeHead(202).end()
  const results: Loose = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'm', version: '1' },
    },
    'tools/list': { tools: [{ name: 'water', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'watered' }] },
  }
  const result = results[method]
  return json(response, 200, {
    jsonrpc: '2.0',
    id,
    ...(result ? { result } : { error: { code: -32601, message: 'no' } }),
  })
}

test('commands that run at once spend a refresh token once', { timeout: 120_000 }, async (t) => {
  const made = await server(t)
  const env = { XDG_STATE_HOME: temporaryFolder(t) }
  const start = (...more: string[]) => plantgw(t, ['call', made.url, 'water', ...more], { env })
  const first = start('--no-browser')
  const [address] = await until(() => /^http\S+$/m.exec(first.stderr()))
  await (await fetch(address)).text()
  assert.equal(await first.ended, 0, first.stderr())
  assert.equal(first.stdout(), 'watered\n')

  // The token ends; the first refresh is answered when every command has met that.
  made.ended = 1
  const before = made.refused
  const commands = [start(), start(), start()]
  made.hold = () => until(() => made.refused >= before + commands.length)
  for (const { ended, stdout, stderr } of commands)
    assert.deepEqual([await ended, stdout(), stderr()], [0, 'watered\n', ''])
  assert.equal(made.refreshed, 1)
})

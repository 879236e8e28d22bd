import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { listening } from '../support/listening.ts'
import { run, temporaryFolder } from '../support/process.ts'
import { CLIENT, type TokenServer, tokenServer } from '../support/tokens.ts'
import type { Loose } from '../support/wire.ts'

const TIMEOUT = { timeout: 60_000 }

interface World {
  tokens: TokenServer
  /** A configuration of an MCP server and an API that take only tokens of the authorization server. */
  file: string
  lock: string
  /** Credentials with which the server was asked. */
  given: (string | undefined)[]
}

async function world(t: TestContext, secret = CLIENT.clientSecret, more: object = {}): Promise<World> {
  const tokens = await tokenServer(t)
  const given: World['given'] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { authorization } = request.headers
    given.push(authorization)
    if (!tokens.live.has(authorization?.replace(/^Bearer /, '') ?? ''))
      return response.writeHead(401, { 'www-authenticate': 'Bearer' }).end()
    return request.url === '/mcp' ? mcp(request, response, body) : json(response, { ok: true })
  })
  const port = await listening(t, server)
  const origin = `http://127.0.0.1:${port}`
  const credentials = { type: 'clientCredentials', tokenUrl: tokens.url, ...CLIENT, clientSecret: secret }
  const folder = temporaryFolder(t)
  const file = join(folder, 'shop.yaml')
  const value = {
    name: 'shop',
    routers: [
      { server: 'm', prefix: '/m' },
      { server: 'a', prefix: '/a' },
    ],
    mcpServers: [{ name: 'm', type: 'streamable-http', url: `${origin}/mcp`, credentials, ...more }],
    servers: [{ name: 'a', credentials }],
    tools: [{ name: 'one', description: 'One', method: 'GET', endpoint: `${origin}/one` }],
  }
  writeFileSync(file, JSON.stringify(value))
  return { tokens, file, lock: join(folder, 'plantgw.lock'), given }
}

function mcp({ method: verb }: IncomingMessage, response: ServerResponse, body: string) {
  if (verb !== 'POST') return response.writeHead(405).end()
  const { id, method, params }: Loose = JSON.parse(body)
  if (id === undefined) return response.writeHead(202).end()
  const serverInfo = { name: 'm', version: '1' }
  const results: Record<string, object> = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
    'tools/list': { tools: [{ name: 'say', inputSchema: { type: 'object' } }] },
  }
  const result = results[method]
  return json(response, {
    jsonrpc: '2.0',
    id,
    ...(result ? { result } : { error: { code: -32601, message: 'no' } }),
  })
}

function json(response: ServerResponse, value: object) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

describe('credentials of servers that commands ask', TIMEOUT, () => {
  test('check-endpoints fetches a token for the server and for the tool that it calls', async (t) => {
    const { tokens, file } = await world(t)
    const { code, stdout, stderr } = await run(t, [
      'check-endpoints',
      file,
      '--call',
      'one',
      '--format',
      'json',
    ])
    const checks: Loose[] = JSON.parse(stdout).checks
    assert.equal(code, 0, stdout + stderr)
    assert.ok(
      checks.every(({ status }) => status !== 'failed'),
      stdout,
    )
    assert.ok(
      checks.some(({ steps }) => steps.some(({ detail }: Loose) => /1 tool/.test(detail))),
      stdout,
    )
    assert.ok(tokens.asked.every(({ form }) => form.get('grant_type') === 'client_credentials'))
    assert.ok(tokens.asked.length >= 2)
    for (const secret of [CLIENT.clientSecret, ...tokens.live.keys()])
      assert.ok(!(stdout + stderr).includes(secret))
  })

  test('check-endpoints names credentials that the authorization server refuses', async (t) => {
    const { file, given } = await world(t, 'wrong')
    const { code, stdout } = await run(t, ['check-endpoints', file, '--format', 'json', '--retries', '0'])
    assert.equal(code, 1)
    const { steps } = JSON.parse(stdout).checks.find(({ type }: Loose) => type === 'streamable-http')
    assert.match(steps.at(-1).hint, /^Correct `credentials` of `m`/)
    assert.ok(given.every((one) => one === undefined))
  })

  test('pin asks with the token, and leaves no secret in the lock', async (t) => {
    const { tokens, file, lock } = await world(t, CLIENT.clientSecret, { pin: 'block' })
    const pinned = await run(t, ['pin', file])
    assert.equal(pinned.code, 0, pinned.stdout + pinned.stderr)
    const text = readFileSync(lock, 'utf8')
    assert.deepEqual(Object.keys(JSON.parse(text).servers['shop/m'].tools), ['say'])
    for (const secret of [CLIENT.clientSecret, ...tokens.live.keys()]) assert.ok(!text.includes(secret))
    assert.equal((await run(t, ['pin', file, '--check'])).code, 0)
    tokens.respond = (response) => response.writeHead(401).end('{"error":"invalid_client"}')
    const refused = await run(t, ['pin', file, '--check'])
    assert.notEqual(refused.code, 0)
    assert.match(refused.stdout + refused.stderr, /invalid_client|refused|401/)
  })
})

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { authority, skipWithoutOpenssl } from '../support/certificates.ts'
import { base64url, signed, type TestIssuer, testIssuer } from '../support/issuer.ts'
import { freePort, plantgw, run, temporaryFolder } from '../support/process.ts'
import { restartable } from '../support/restartable.ts'
import { APP, bearer, type GatewayName, PUBLIC, type Sent } from './refusal.ts'

type Test = Parameters<typeof temporaryFolder>[0]

export interface World {
  /** Requests that reached what is behind the gateways. */
  reached(): number
  /** Undefined: it cannot be served here. */
  send(gateway: GatewayName, sent: Sent): Promise<Got> | undefined
}

export interface Got {
  /** 0: the connection ended without an answer. */
  status: number
  /** Names in lower case. */
  headers: Record<string, string>
  body: string
}

const FIXED: Readonly<Record<string, string>> = {
  agent: 'a-token-of-the-agent-0123456789',
  digest: 'a-token-known-by-its-digest-012',
  ops: 'a-token-of-the-operators-012345',
  admin: 'the-admin-token-0123456789abcde',
  green: 'a-token-of-the-tenant-green-012',
  blue: 'a-token-of-the-tenant-blue-0123',
  plants: 'a-token-of-the-plant-store-0123',
  'other plants': 'another-one-of-the-plant-store-',
}
const DIGEST = createHash('sha256').update(FIXED.digest!).digest('hex')

/** Everything that rows name: gateways, an authorization server, an API, an MCP server. */
export async function world(t: Test): Promise<World> {
  let reached = 0
  const pinned = { description: 'As it was reviewed' }
  const api = await restartable(t, (request, response, body) => {
    if (request.url !== '/mcp') reached++
    serveApi(request, response, body, pinned)
  })
  const issuer = await testIssuer(t)
  const foreign = await testIssuer(t)
  const many = await testIssuer(t)
  many.keys = Array.from({ length: 101 }, (_, i) => ({
    kty: 'EC',
    crv: 'P-256',
    x: 'x',
    y: 'y',
    kid: `${i}`,
  }))
  const mixup = await testIssuer(t)
  mixup.metadata.issuer = 'https://evil.example'
  issuer.tokens.set('large-token', { active: true, pad: 'x'.repeat(10_000_000) })
  const others = { many: many.issuer, mixup: mixup.issuer }
  const tokens: Record<string, string> = { ...FIXED, ...(await accessTokens(issuer, foreign, others)) }
  const certificates = skipWithoutOpenssl ? undefined : authority(temporaryFolder(t), 'clients')
  const ports: Partial<Record<GatewayName, number>> = {}
  const parts = {
    ...others,
    api: api.origin,
    issuer: issuer.issuer,
    down: `http://127.0.0.1:${await freePort()}`,
  }
  for (const [name, settings] of Object.entries(settingsOf(temporaryFolder(t)))) {
    const more = name === 'tls' && certificates ? tlsOf(temporaryFolder(t), certificates) : {}
    if (name === 'tls' && !certificates) continue
    const all = configurations(parts, name as GatewayName)
    ports[name as GatewayName] = await serve(t, all, { ...settings, ...more }, () => {
      pinned.description = 'As it is now'
    })
  }
  const sessions: Record<string, string> = {}
  const resolve = (text: string) =>
    text
      .replace(/<token ([^>]+)>/g, (_, name) => tokens[name] ?? name)
      .replace(/<session ([^>]+)>/g, (_, name) => sessions[name] ?? 'nobody')
      .replace('<digest>', DIGEST)
  const send = (gateway: GatewayName, sent: Sent) => {
    const port = ports[gateway]
    return port === undefined ? undefined : exchange(port, gateway === 'tls', sent, resolve)
  }
  const open = async (
    name: string,
    path: string,
    version: string,
    token?: string,
    gateway: GatewayName = 'main',
  ) => {
    const params = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
    const got = await send(gateway, { path: `${path}/mcp`, body, ...(token && { headers: bearer(token) }) })
    sessions[name] = got?.headers['mcp-session-id'] ?? `no session: ${got?.status} ${got?.body}`
  }
  await open('one', '/open', '2025-11-25')
  await open('agent', '/bearer', '2025-11-25', 'agent')
  await open('rules', '/rules', '2025-11-25', 'good')
  await open('batches', '/rules', '2025-03-26', 'good')
  await open('proxied', '/proxied', '2025-11-25', 'good')
  await open('small', '/batches', '2025-03-26', undefined, 'small')
  return { reached: () => reached, send }
}

/** `/redirect` leads elsewhere, `/fail` fails, `/mcp` is an MCP server, everything else is there. */
function serveApi(
  { url = '', method }: IncomingMessage,
  response: ServerResponse,
  body: string,
  pinned: object,
): void {
  const to = new URL(url, 'http://api').searchParams.get('to')
  if (to) return void response.writeHead(302, { location: to }).end()
  if (url === '/fail') return void response.writeHead(500).end()
  if (url !== '/mcp') return void response.end('x'.repeat(4_096))
  if (method !== 'POST') return void response.writeHead(405).end()
  const { id, method: asked } = JSON.parse(body)
  if (id === undefined) return void response.writeHead(202).end()
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, resources: { subscribe: true } },
      serverInfo: { name: 'files', version: '1' },
    },
    'tools/list': { tools: [{ name: 'get_item', inputSchema: { type: 'object' }, ...pinned }] },
    'resources/list': { resources: [{ uri: 'file:///public/a', name: 'a' }] },
    'resources/templates/list': { resourceTemplates: [] },
    'prompts/list': { prompts: [] },
  }
  const answer = results[asked]
    ? { result: results[asked] }
    : { error: { code: -32099, message: 'this should not have been asked' } }
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
}

async function accessTokens(
  issuer: TestIssuer,
  foreign: TestIssuer,
  others: Record<string, string>,
): Promise<Record<string, string>> {
  const key = await issuer.addKey('ec')
  await issuer.addKey('rsa', 'RS256')
  const forged = await foreign.addKey('ec')
  const now = Math.floor(Date.now() / 1000)
  const endpoints = ['jwt', 'jwt-down', 'rules', 'proxied', 'introspection'].map(
    (name) => `${PUBLIC}/${name}/mcp`,
  )
  const claims = { iss: issuer.issuer, sub: 'ann', aud: endpoints, exp: now + 3600, scope: 'plants:read' }
  const token = (more: object = {}, header: object = {}, by = key) =>
    signed(by, { alg: 'ES256', kid: 'ec', ...header }, { ...claims, ...more })
  const good = await token()
  const [head = '', payload = '', signature = ''] = good.split('.')
  /** The signature of another header: it is refused before that is looked at. */
  const headed = (header: object) => `${base64url({ kid: 'ec', ...header })}.${payload}.${signature}`
  issuer.tokens.set('introspected-aud', { active: true, ...claims, aud: 'https://other.example/mcp' })
  issuer.tokens.set('introspected-expired', { active: true, ...claims, exp: now - 3600 })
  issuer.tokens.set('introspected-scopeless', { active: true, ...claims, scope: 'other' })
  issuer.tokens.set('introspected-refresh', { active: true, ...claims, token_type: 'refresh_token' })
  issuer.tokens.set('revoked-token', { active: false })
  return {
    good,
    none: `${base64url({ alg: 'none' })}.${payload}.`,
    HS256: headed({ alg: 'HS256' }),
    forged: await token({}, {}, forged),
    changed: `${head}.${base64url({ ...claims, sub: 'bob' })}.${signature}`,
    kid: await token({}, { kid: 'nobody' }),
    alg: headed({ alg: 'RS256' }),
    crit: headed({ alg: 'ES256', crit: ['x'], x: 1 }),
    iss: await token({ iss: 'https://evil.example' }),
    'no iss': await token({ iss: undefined }),
    aud: await token({ aud: 'https://other.example/mcp' }),
    slash: await token({ aud: `${PUBLIC}/jwt/mcp/` }),
    host: await token({ aud: PUBLIC }),
    'no aud': await token({ aud: undefined }),
    'object aud': await token({ aud: { 0: endpoints[0] } }),
    expired: await token({ exp: now - 3600 }),
    'no exp': await token({ exp: undefined }),
    'text exp': await token({ exp: String(now + 3600) }),
    nbf: await token({ nbf: now + 3600 }),
    'no sub': await token({ sub: undefined }),
    'id token': await token({ aud: 'client-of-ann', nonce: 'n' }, { typ: 'JWT' }),
    logout: await token({}, { typ: 'logout+jwt' }),
    scopeless: await token({ scope: 'other' }),
    case: await token({ scope: 'Plants:Read' }),
    many: await token({ iss: others.many }),
    mixup: await token({ iss: others.mixup }),
    large: 'large-token',
    unknown: 'unknown-token',
    revoked: 'revoked-token',
    'introspected aud': 'introspected-aud',
    'introspected expired': 'introspected-expired',
    'introspected scopeless': 'introspected-scopeless',
    'introspected refresh': 'introspected-refresh',
    bound: await token({ cnf: { jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I' } }),
  }
}

function settingsOf(folder: string): Record<GatewayName, object> {
  const plants = {
    file: join(folder, 'plants.json'),
    tokens: [
      { token: FIXED.plants, caller: 'ann' },
      { token: FIXED['other plants'], caller: 'bob' },
    ],
  }
  const tenants = ['green', 'blue'].map((name) => ({
    name,
    prefix: `/${name}`,
    tokens: [
      { token: FIXED[name], caller: name },
      { token: `the-old-token-of-${name}-0123456789`, caller: name, expires: '2020-01-01' },
    ],
  }))
  return {
    main: {
      publicUrl: PUBLIC,
      admin: { token: FIXED.admin },
      limits: { maxFailedLogins: 10_000, maxEventLoopDelay: '10m' },
      tenants,
      plants,
    },
    small: {
      publicUrl: PUBLIC,
      admin: { listen: `unix:${join(folder, 'admin.sock')}` },
      limits: {
        maxFailedLogins: 3,
        maxEventLoopDelay: '10m',
        maxRequestSize: '4KiB',
        maxResponseSize: '1KiB',
        maxSessions: 20,
        maxCallsPerPrefix: 12,
      },
    },
    open: { publicUrl: PUBLIC },
    tls: { publicUrl: PUBLIC },
  }
}

function tlsOf(folder: string, clients: ReturnType<typeof authority>): object {
  const { cert, key } = clients.issue('gateway', 'IP:127.0.0.1')
  writeFileSync(join(folder, 'tls.crt'), cert)
  writeFileSync(join(folder, 'tls.key'), key)
  return { tls: { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key'), clientCa: clients.file } }
}

interface Behind {
  api: string
  issuer: string
  /** Where nothing listens. */
  down: string
  /** An issuer with more keys than are read. */
  many: string
  /** An issuer whose metadata is that of another one. */
  mixup: string
}

const cors = {
  allowOrigins: [APP],
  allowMethods: ['GET', 'POST', 'DELETE', 'OPTIONS'],
  allowHeaders: ['Content-Type', 'Authorization', 'Mcp-Session-Id', 'Mcp-Protocol-Version'],
  exposeHeaders: ['WWW-Authenticate'],
}

function configurations({ api, issuer, down, many, mixup }: Behind, gateway: GatewayName): object[] {
  const name = { name: 'id', position: 'path', type: 'number', required: true, description: 'Which' }
  const tool = (name: string, path = '', more: object = {}) => ({
    name,
    description: 'A tool',
    method: 'GET',
    endpoint: `${api}/${path}`,
    ...more,
  })
  const argument = (name: string, position: string) => ({
    name,
    position,
    type: 'string',
    required: true,
    description: 'Any',
  })
  const getItem = tool('get_item', 'items/{{.Args.id}}', { args: [name] })
  const items = [
    getItem,
    tool('get_file', 'files/{{.Args.path}}', { args: [argument('path', 'path')] }),
    tool('get_header', '', { args: [argument('X-Note', 'header')] }),
  ]
  const http = (
    prefix: string,
    tools: object[],
    router: object = {},
    server: object = {},
    more: object = {},
  ) => ({
    name: prefix.slice(1).replaceAll('/', '-'),
    routers: [{ server: 's', prefix, ...router }],
    servers: [{ name: 's', ...server }],
    tools,
    ...more,
  })
  const tokens = [
    { token: FIXED.agent, caller: 'agent' },
    { token: `sha256:${DIGEST}`, caller: 'digest' },
    { token: 'the-old-token-of-the-agent', caller: 'agent', expires: '2020-01-01' },
  ]
  const open = http('/open', items, { cors })
  const byToken = http('/bearer', [getItem], { auth: { type: 'bearer', tokens } })
  if (gateway === 'small') return [open, byToken, http('/batches', [getItem])]
  if (gateway !== 'main') return [open]
  const jwt = (url: string, more: object = {}) => ({
    auth: { type: 'jwt', issuers: [{ issuer, jwksUrl: `${url}/jwks` }], scopes: ['plants:read'], ...more },
    cors,
  })
  const introspection = (url: string) => ({
    auth: {
      type: 'introspection',
      issuers: [
        {
          issuer,
          introspectionUrl: `${url}/introspect`,
          clientId: 'gateway',
          clientSecret: 'a-secret-of-the-gateway',
        },
      ],
      scopes: ['plants:read'],
    },
  })
  const authorize = {
    rules: [
      { tools: ['get_*'], scopes: ['plants:read'] },
      { tools: ['delete_item'], scopes: ['plants:write'] },
      { tools: ['own_item'], callers: ['ops'] },
      { prompts: ['public'] },
      { resources: ['file:///public/*'] },
    ],
  }
  const prompt = (name: string) => ({
    name,
    description: 'A prompt',
    arguments: [{ name: 'a', description: 'Any' }],
    promptResponse: [{ role: 'user', content: { type: 'text', text: 'Hello' } }],
  })
  const rated = (rule: object) => ({ rate: [{ per: 'address', window: '1h', limit: 1, ...rule }] })
  const files = { name: 's', type: 'streamable-http', url: `${api}/mcp` }
  const proxied = (prefix: string, server: object, router: object = {}) => ({
    name: prefix.slice(1),
    routers: [{ server: 's', prefix, ...router }],
    mcpServers: [{ ...files, ...server }],
  })
  return [
    open,
    byToken,
    http('/jwt', [getItem], jwt(issuer)),
    http('/jwt-down', [getItem], jwt(down)),
    http('/jwt-many', [getItem], { auth: { type: 'jwt', issuers: [{ issuer: many }] } }),
    http('/jwt-mixup', [getItem], { auth: { type: 'jwt', issuers: [{ issuer: mixup }] } }),
    http('/introspection', [getItem], introspection(issuer)),
    http('/introspection-down', [getItem], introspection(down)),
    http(
      '/rules',
      [...items, ...['hidden', 'own_item', 'delete_item'].map((name) => tool(name))],
      { ...jwt(issuer), authorize },
      {},
      { prompts: [prompt('public'), prompt('secret')] },
    ),
    proxied('/proxied', {}, { ...jwt(issuer), authorize }),
    proxied('/pinned', { pin: 'block' }),
    http('/limited', [getItem, tool('delete_item')], {}, { allowedTools: ['get_item'] }),
    http('/web', [tool('fetch', 'redirect', { followRedirects: true, args: [argument('to', 'query')] })]),
    http('/failing', [tool('get_item', 'fail')], {}, { breaker: { failures: 1, pause: '1h' } }),
    http('/rated', [getItem], rated({})),
    http('/rated-tool', [getItem, tool('delete_item')], rated({ tools: ['delete_*'], window: '1m' })),
    http('/green/tools', [tool('get_item')], {}, {}, { tenant: 'green' }),
  ]
}

/** @param onPinned runs once what is pinned is in the lock file */
async function serve(t: Test, all: object[], settings: object, onPinned: () => void): Promise<number> {
  const folder = temporaryFolder(t)
  const port = await freePort()
  mkdirSync(join(folder, 'configs'))
  for (const one of all)
    writeFileSync(join(folder, 'configs', `${(one as { name: string }).name}.yaml`), JSON.stringify(one))
  writeFileSync(join(folder, 'plantgw.yaml'), JSON.stringify({ ...settings, port }))
  const pinned = join(folder, 'configs', 'pinned.yaml')
  if (existsSync(pinned)) {
    assert.equal((await run(t, ['pin', pinned])).code, 0)
    onPinned()
  }
  const gateway = plantgw(t, ['serve', join(folder, 'configs'), '-s', join(folder, 'plantgw.yaml')])
  await gateway.until(/plantgw serves/)
  return port
}

/** Sends the bytes of a request, and reads until the connection ends. */
function exchange(port: number, tls: boolean, sent: Sent, resolve: (text: string) => string): Promise<Got> {
  const { method = 'POST', path, headers = {}, body } = sent
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body)
  const bytes = Buffer.from(text).toString('latin1').replace('<bytes ff>', '\xff')
  const all: Sent['headers'] = {
    host: `127.0.0.1:${port}`,
    connection: 'close',
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
    accept: 'application/json, text/event-stream',
    ...headers,
  }
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === null ? [] : [value].flat().map((one) => `${name}: ${resolve(one)}`),
  )
  const raw = `${method} ${resolve(path)} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${bytes}`
  return new Promise((done) => {
    const socket: Socket = tls
      ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
      : connect(port, '127.0.0.1')
    let got = ''
    socket.setEncoding('latin1').on('data', (part) => {
      got += part
    })
    // A server that refuses what it has not read whole may reset the connection after its answer.
    socket.on('error', () => {})
    socket.on('close', () => done(answerOf(got)))
    socket.write(raw, 'latin1')
  })
}

function answerOf(text: string): Got {
  const end = text.indexOf('\r\n\r\n')
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(':')
      return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
    }),
  )
  const rest = text.slice(end + 4)
  // A refusal is one chunk.
  const body = headers['transfer-encoding']
    ? rest.slice(rest.indexOf('\r\n') + 2, rest.indexOf('\r\n0\r\n'))
    : rest
  return { status: Number(first.split(' ')[1] ?? 0), headers, body }
}

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { PIECE } from '../../src/text/index.ts'
import { maskKnown, maskKnownInPieces, SHOWN, streamMaskKnown } from '../../src/tools/mask.ts'
import { modern } from '../support/client.ts'
import { gatewayHere } from '../support/gateway.ts'
import { listening } from '../support/listening.ts'
import { temporaryFolder } from '../support/process.ts'
import { served } from '../support/served.ts'
import type { Loose } from '../support/wire.ts'

const A = 'aB3'.repeat(200)
const take = (count: number) => A.slice(0, count)
const hex = (count: number) => '0a1b2c3d'.repeat(20).slice(0, count)
const pem = (text: string) => `-----BEGIN RSA PRIVATE KEY-----\n${text}\n-----END RSA PRIVATE KEY-----`
const BODY = Array.from({ length: 30 }, () => take(64)).join('\n')

/** Texts, each with the part that must not be shown. */
const SECRETS: [text: string, secret: string][] = [
  `ghp_${take(36)}`,
  `github_pat_${take(82)}`,
  `glpat-${take(20)}`,
  `xoxb-1234567890-${take(24)}`,
  'AKIAIOSFODNN7ABCDEFG',
  `AIza${take(35)}`,
  `sk-ant-api03-${take(90)}`,
  `sk_live_${take(24)}`,
  `npm_${take(36)}`,
  `SG.${take(22)}.${take(43)}`,
  `hf_${take(34)}`,
  `dop_v1_${hex(64)}`,
  `hvs.${take(90)}`,
  `eyJ${take(40)}.eyJ${take(120)}.${take(43)}`,
  pem(BODY),
].map((secret) => [secret, secret])
SECRETS.push(['https://gw:s3cret-of-a-db@db.internal/x', 's3cret-of-a-db'])

const HARMLESS = [
  'a plain text',
  'AKIA',
  'eyJ.eyJ.',
  'https://example.com/a:b@c',
  '-----BEGIN CERTIFICATE-----',
  'ghp_short',
]

const BASE64 = ['base64', 'base64url'] as const

function through(text: string, sizes: () => number): string {
  const mask = streamMaskKnown()
  const bytes = Buffer.from(text)
  const out: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const size = sizes()
    out.push(mask.push(bytes.subarray(at, at + size)))
    at += size
  }
  return Buffer.concat([...out, mask.end()]).toString()
}

test('known forms of secrets are taken out of text and JSON, which stays JSON', () => {
  for (const [text, secret] of SECRETS)
    for (const around of [text, `a ${text} b`, `x\n${text}\ny`, `"${text}"`, `k=${text}`, `\t${text}`]) {
      const shown = maskKnown(around)
      assert.ok(!shown.includes(secret), around)
      assert.ok(shown.includes('***'), around)
      const json = maskKnown(JSON.stringify({ a: [around, 1.5e300], b: around }), true)
      const { a, b } = JSON.parse(json)
      assert.ok(!b.includes(secret) && b.includes('***'), json)
      assert.deepEqual(a, [b, 1.5e300])
    }
  for (const text of HARMLESS) assert.equal(maskKnown(text), text)
  // An escape is not the beginning of a token.
  for (const text of [`\npm_${take(36)}`, `\\npm_${take(36)}`, `"\\"${pem(BODY)}\\"`])
    JSON.parse(maskKnown(JSON.stringify(text), true))
})

test('known forms of secrets are found in Base64, which is taken out as a whole', () => {
  for (const [secret] of SECRETS)
    for (const encoding of BASE64)
      for (const before of ['', '?', '??', `a text of ÿ\n`]) {
        const encoded = Buffer.from(`${before} ${secret} `).toString(encoding)
        for (const around of [encoded, `a ${encoded} b`, `k: "${encoded}"`]) {
          const shown = maskKnown(around)
          assert.ok(!shown.includes(encoded) && shown.includes('***'), around)
          assert.deepEqual(JSON.parse(maskKnown(JSON.stringify([around]), true)), [shown])
        }
        // As MIME and PHP write it in JSON.
        const lines = JSON.stringify(encoded.match(/.{1,60}/g)?.join('\n')).replaceAll('/', '\\/')
        if (encoded.length < 4000) assert.equal(maskKnown(lines, true), '"***"', lines)
        assert.equal(
          through(lines, () => 7),
          maskKnown(lines, true),
        )
      }
  const harmless = Buffer.from(HARMLESS.join(' ')).toString('base64')
  assert.equal(maskKnown(harmless), harmless)
  // Backslashes of a text stay whole.
  const word = Buffer.from(`ghp_${take(36)}`).toString('base64')
  for (const text of [`\\${word}`, `\\n${word}`, `x\\${word}\\n`])
    JSON.parse(maskKnown(JSON.stringify(text), true))
})

test('in bytes that come in pieces nothing of a secret is shown, wherever they are cut', () => {
  for (const [text, secret] of SECRETS) {
    const whole = JSON.stringify({ a: `x ${text}`, b: ['y', text], c: 'z' })
    const wanted = maskKnown(whole, true)
    const step = Math.max(1, Math.floor(whole.length / 150))
    for (let cut = 1; cut < whole.length; cut += step) {
      let first = true
      const shown = through(whole, () => {
        const size = first ? cut : whole.length
        first = false
        return size
      })
      assert.equal(shown, wanted)
    }
    assert.equal(
      through(whole, () => 1),
      wanted,
    )
    assert.ok(!wanted.includes(JSON.stringify(secret).slice(1, -1)))
  }
})

test('a seeded mixture of secrets and other text comes out the same in pieces of any size', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
    return Math.floor((seed / 2 ** 32) * below)
  }
  for (let run = 0; run < 60; run++) {
    const parts = Array.from({ length: 1 + random(8) }, () => {
      const kind = random(5)
      if (kind === 4)
        return ` ${Buffer.from(SECRETS[random(SECRETS.length)]![0]).toString(BASE64[random(2)])} `
      if (kind === 0) return 'word '.repeat(random(50))
      // As the data of an image.
      if (kind === 1) return ` ${'QUJD'.repeat(random(6000))} `
      return ` ${SECRETS[random(SECRETS.length)]![0]} `
    })
    const whole = `data: ${JSON.stringify(parts)}\n\n`
    assert.equal(
      through(whole, () => 1 + random(run % 2 ? 40 : 5000)),
      maskKnown(whole, true),
    )
  }
})

test('an event passes on whole as soon as it is there', () => {
  const mask = streamMaskKnown()
  const event = `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"ghp_${take(36)}"}}\n\n`
  assert.equal(mask.push(Buffer.from(event)).toString(), event.replace(/ghp_\w+/, '***'))
  assert.equal(mask.end().length, 0)
})

/** An HTTP API, and an MCP server, that say what they were sent, and a secret of their own. */
async function leaking(t: TestContext) {
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const said = `${request.headers.authorization} and ghp_${take(36)}`
    if (request.method !== 'POST')
      return request.url === '/mcp' ? response.writeHead(405).end() : response.end(said)
    const { id, method }: Loose = JSON.parse(text)
    if (id === undefined) return response.writeHead(202).end()
    if (method === 'server/discover') return response.writeHead(404).end()
    const info = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 's', version: '1' },
    }
    const result = method === 'initialize' ? info : { content: [{ type: 'text', text: said }] }
    const answer = JSON.stringify({ jsonrpc: '2.0', id, result })
    response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 's' })
    // In the middle of the secret.
    const cut = answer.indexOf('ghp_') + 9
    response.write(`data: ${answer.slice(0, cut)}`)
    setImmediate(() => response.end(`${answer.slice(cut)}\n\n`))
    return undefined
  })
  const port = await listening(t, server)
  return `http://127.0.0.1:${port}`
}

test('`redact` of a server says what is taken out', { timeout: 60_000 }, async (t) => {
  const origin = await leaking(t)
  const credentials = { type: 'static', value: 'Bearer own-secret-1' }
  const modes = [undefined, 'off', 'own', 'patterns'] as const
  const configurations = modes.flatMap((redact, i) => {
    const more = { credentials, ...(redact && { redact }) }
    const tools = [{ name: 'get', method: 'GET', endpoint: `${origin}/` }]
    return [
      {
        name: `t${i}`,
        routers: [{ server: 's', prefix: `/t${i}` }],
        servers: [{ name: 's', ...more }],
        tools,
      },
      {
        name: `m${i}`,
        routers: [{ server: 's', prefix: `/m${i}` }],
        mcpServers: [{ name: 's', type: 'streamable-http', url: `${origin}/mcp`, ...more }],
      },
    ]
  })
  const gateway = await served(t, configurations)
  const wanted = { off: [true, true], own: [false, true], patterns: [false, false] }
  for (const [i, redact = 'own'] of modes.entries())
    for (const prefix of [`/t${i}`, `/m${i}`]) {
      const headers = await gateway.open(prefix)
      const params = { name: 'get', arguments: {} }
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      const { text } = await gateway.post(`${prefix}/mcp`, call, headers)
      assert.deepEqual(
        [text.includes('own-secret-1'), text.includes(take(36))],
        wanted[redact],
        `${prefix} ${text}`,
      )
      assert.match(text, / and /)
    }
})

test('a variable named like a secret is taken out where its place does not say so; added arguments are logged', async (t) => {
  const api = createServer(({ headers }, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end(`said ${headers['x-place']}`)
  })
  const endpoint = `http://127.0.0.1:${await listening(t, api)}/`
  const tool = { name: 'get', method: 'GET', endpoint, headers: { 'X-Place': '${PLACE_TOKEN}' } }
  const env = { PLACE_TOKEN: 'secret-of-a-place-1' }
  const configuration = { name: 'a', prefix: '/a', servers: [{}], tools: [tool] }
  const { base, logged } = await gatewayHere(t, configuration, env)
  assert.equal(await modern(`${base}/a/mcp`).call('get', { toolCallId: 'c' }), 'said ***')
  const [dropped] = logged.filter(({ msg }) => msg === 'arguments that the client added were dropped')
  assert.deepEqual([dropped?.tool, dropped?.arguments], ['get', ['toolCallId']])
})

test('the settings and a tenant say what is taken out where a server does not', {
  timeout: 60_000,
}, async (t) => {
  const origin = await leaking(t)
  const of = (prefix: string, tenant: string | undefined, more: object = {}) => ({
    name: `at${prefix.replaceAll('/', '-')}`,
    ...(tenant && { tenant }),
    routers: [
      { server: 's', prefix: `${prefix}/t` },
      { server: 'm', prefix: `${prefix}/m` },
    ],
    servers: [{ name: 's', ...more }],
    tools: [{ name: 'get', method: 'GET', endpoint: `${origin}/` }],
    mcpServers: [{ name: 'm', type: 'streamable-http', url: `${origin}/mcp`, ...more }],
  })
  const outbound = { allowHosts: ['127.0.0.1'] }
  const file = join(temporaryFolder(t), 'audit.jsonl')
  const gateway = await served(
    t,
    [of('/a', undefined), of('/b', undefined, { redact: 'off' }), of('/green', 'green'), of('/red', 'red')],
    {
      settings: {
        redact: 'patterns',
        tenants: [
          { name: 'green', prefix: '/green', redact: 'own', outbound },
          { name: 'red', prefix: '/red', outbound },
        ],
        audit: { to: 'file', path: file },
      },
    },
  )
  const isShown: Record<string, boolean> = {}
  for (const prefix of ['/a', '/b', '/green', '/red'])
    for (const kind of ['t', 'm']) {
      const path = `${prefix}/${kind}`
      const headers = await gateway.open(path)
      const params = { name: 'get', arguments: {} }
      const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params }
      const { text } = await gateway.post(`${path}/mcp`, call, headers)
      isShown[path] = text.includes(take(36))
      assert.match(text, / and /)
    }
  assert.deepEqual(isShown, {
    '/a/t': false,
    '/a/m': false,
    '/b/t': true,
    '/b/m': true,
    '/green/t': true,
    '/green/m': true,
    '/red/t': false,
    '/red/m': false,
  })
  const metrics = (await gateway.send({ method: 'GET', path: '/metrics' })).text.split('\n')
  assert.deepEqual(metrics.filter((line) => line.startsWith('plantgw_redacted_secrets_total')).sort(), [
    'plantgw_redacted_secrets_total{tenant="default",server="m",kind="token"} 1',
    'plantgw_redacted_secrets_total{tenant="default",server="s",kind="token"} 1',
    'plantgw_redacted_secrets_total{tenant="red",server="m",kind="token"} 1',
    'plantgw_redacted_secrets_total{tenant="red",server="s",kind="token"} 1',
  ])
  gateway.child.kill('SIGINT')
  await gateway.ended
  const lines = readFileSync(file, 'utf8')
  assert.ok(!lines.includes('ghp_'))
  const redacted = lines.split('\n').flatMap((line) => {
    const { time: _, ...event }: Loose = JSON.parse(line || '{}')
    return event.event === 'redacted' ? [event] : []
  })
  assert.deepEqual(redacted, [
    { event: 'redacted', tenant: 'default', server: 's', kind: 'token', count: 1 },
    { event: 'redacted', tenant: 'default', server: 'm', kind: 'token', count: 1 },
    { event: 'redacted', tenant: 'red', server: 's', kind: 'token', count: 1 },
    { event: 'redacted', tenant: 'red', server: 'm', kind: 'token', count: 1 },
  ])
})

test('a large text is masked piece by piece as it is at once, wherever a piece ends', async () => {
  const secret = `ghp_${take(36)}`
  for (const offset of [-secret.length, -20, -1, 0, 1]) {
    const text = `${'ä '.repeat(PIECE / 2)}`.slice(0, PIECE + offset)
    const large = `${text}"${secret}" ${'b '.repeat(PIECE)}"${secret}"`
    const shown = await maskKnownInPieces(large)
    assert.equal(shown, maskKnown(large))
    assert.ok(!shown.includes(secret) && shown.includes(SHOWN))
  }
})

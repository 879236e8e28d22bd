import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { CompactSign, exportJWK, generateKeyPair, type JWK } from 'jose'

type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey']

/** An authorization server that publishes keys and answers introspection, over a real socket. */
export interface TestIssuer {
  issuer: string
  /** What `/jwks` serves; a text is served as it is. */
  keys: JWK[] | string
  /** What the metadata says besides. */
  metadata: Record<string, unknown>
  /** Paths that respond with a status of their own. */
  broken: Map<string, number>
  /** What introspection says of a token; others are not active. */
  tokens: Map<string, Record<string, unknown>>
  /** Requests so far, by path. */
  asked(path: string): number
  /** Headers and body of the last introspection. */
  introspected: { authorization: string | undefined; body: string } | undefined
  /** Makes a key and publishes it. */
  addKey(kid: string | undefined, alg?: string): Promise<Key>
  stop(): Promise<void>
  start(): Promise<void>
}

export async function testIssuer(t: Pick<TestContext, 'after'>, path = ''): Promise<TestIssuer> {
  const asked = new Map<string, number>()
  const server = createServer((request, response) => {
    respond(request, response).catch((error) => response.destroy(error as Error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const made: TestIssuer = {
    issuer: origin + path,
    keys: [],
    metadata: { jwks_uri: `${origin}/jwks`, introspection_endpoint: `${origin}/introspect` },
    broken: new Map(),
    tokens: new Map(),
    asked: (path) => asked.get(path) ?? 0,
    introspected: undefined,
    async addKey(kid, alg = 'ES256') {
      const pair = await generateKeyPair(alg, { extractable: true })
      const jwk = { ...(await exportJWK(pair.publicKey)), alg, use: 'sig', ...(kid !== undefined && { kid }) }
      made.keys = [...(typeof made.keys === 'string' ? [] : made.keys), jwk]
      return pair.privateKey
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
    async start() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }

  async function respond(request: IncomingMessage, response: ServerResponse) {
    const { url = '' } = request
    asked.set(url, made.asked(url) + 1)
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const status = made.broken.get(url)
    if (status !== undefined) return response.writeHead(status, { location: '/jwks' }).end()
    const json = (value: unknown) => response.end(typeof value === 'string' ? value : JSON.stringify(value))
    response.setHeader('content-type', 'application/json')
    if (url === '/jwks') return json(typeof made.keys === 'string' ? made.keys : { keys: made.keys })
    if (url === '/introspect') {
      made.introspected = { authorization: request.headers.authorization, body }
      return json(made.tokens.get(new URLSearchParams(body).get('token') ?? '') ?? { active: false })
    }
    if (url.includes('/.well-known/')) return json({ issuer: made.issuer, ...made.metadata })
    return response.writeHead(404).end()
  }

  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return made
}

/** A token with any header and payload. */
export function signed(key: Key, header: { alg: string; [name: string]: unknown }, payload: unknown) {
  const bytes = new TextEncoder().encode(typeof payload === 'string' ? payload : JSON.stringify(payload))
  return new CompactSign(bytes).setProtectedHeader(header).sign(key)
}

export function base64url(value: unknown): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
}

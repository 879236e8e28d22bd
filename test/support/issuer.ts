import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { CompactSign, exportJWK, generateKeyPair, type JWK } from 'jose'
import { type Restartable, restartable } from './restartable.ts'

type Key = Awaited<ReturnType<typeof generateKeyPair>>['privateKey']

/** An authorization server that publishes keys and answers introspection, over a real socket. */
export interface TestIssuer extends Omit<Restartable, 'origin'> {
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
}

export async function testIssuer(t: Pick<TestContext, 'after'>, path = ''): Promise<TestIssuer> {
  const asked = new Map<string, number>()
  const { origin, stop, start } = await restartable(t, respond)
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
    stop,
    start,
  }

  function respond(request: IncomingMessage, response: ServerResponse, body: string) {
    const { url = '' } = request
    asked.set(url, made.asked(url) + 1)
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

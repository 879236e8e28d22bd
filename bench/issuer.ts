import { createServer } from 'node:http'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'

const AUDIENCE = 'https://bench.example.com'

export interface Issuer {
  /** `auth` of a router that accepts its tokens. */
  auth: object
  token(subject: string): Promise<string>
  close(): void
}

/** Serves the keys of an issuer at a port of this machine. */
export async function issuer(port: number): Promise<Issuer> {
  const url = `http://127.0.0.1:${port}`
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const keys = JSON.stringify({
    keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256', use: 'sig' }],
  })
  const server = createServer((_, response) =>
    response.setHeader('content-type', 'application/json').end(keys),
  ).listen(port, '127.0.0.1')
  return {
    auth: { type: 'jwt', issuers: [{ issuer: url, jwksUrl: `${url}/jwks` }], audience: AUDIENCE },
    async token(subject) {
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: url, sub: subject, aud: AUDIENCE, exp: now + 86_400, iat: now, scope: 'read' }
      return new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
        .setProtectedHeader({ alg: 'ES256', kid: 'k', typ: 'at+jwt' })
        .sign(privateKey)
    },
    close: () => server.close(),
  }
}

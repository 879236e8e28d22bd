import { hash, timingSafeEqual } from 'node:crypto'
import type { Authenticate } from './steps.ts'

/** Authorization = scheme, spaces, token; the scheme in any case (RFC 9110 section 11.1, RFC 6750 section 2.1). */
const BEARER = /^bearer +([\x21-\x7e\x80-\xff]+) *$/i

/**
 * Makes the look-up of bearer tokens: `Authorization` header → the entry that holds its token, else undefined.
 * Tokens are compared by SHA-256 digest, every entry each time, so that the time tells nothing of a token.
 * Of two entries with the same token the first counts.
 */
export function bearerTable<Entry extends { token: string }>(
  entries: readonly Entry[],
): (authorization: string | undefined) => Entry | undefined {
  const table = entries.map((entry) => ({ entry, digest: sha256(Buffer.from(entry.token)) }))
  return (authorization) => {
    const token = authorization && BEARER.exec(authorization)?.[1]
    if (!token) return undefined
    // A header's characters are bytes, so a token in UTF-8 compares by what was sent.
    const digest = sha256(Buffer.from(token, 'latin1'))
    let found: Entry | undefined
    for (const row of table) if (timingSafeEqual(row.digest, digest)) found ??= row.entry
    return found
  }
}

/** Tells callers apart by their bearer tokens. */
export function bearerAuthentication(tokens: readonly { token: string; caller: string }[]): Authenticate {
  const table = bearerTable(tokens)
  return ({ headers: { authorization } }) =>
    table(authorization) ?? {
      status: 401,
      message: 'A known bearer token is required: send the header "Authorization: Bearer <token>"',
      headers: { 'www-authenticate': bearerChallenge(authorization) },
    }
}

/** The `WWW-Authenticate` value for a refused request (RFC 6750 section 3): no error code when none was tried. */
export function bearerChallenge(authorization: string | undefined): string {
  return authorization && /^bearer(?: |$)/i.test(authorization) ? 'Bearer error="invalid_token"' : 'Bearer'
}

function sha256(bytes: Buffer): Buffer {
  return hash('sha256', bytes, 'buffer')
}

import { hash } from 'node:crypto'

const DIGEST = /^sha256:([\da-f]{64})$/i
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/**
 * The SHA-256 digest of a token, for comparison; the file may have the digest in place of the token.
 * Undefined: malformed digest.
 */
export function tokenDigest(token: string): Buffer | undefined {
  if (!token.startsWith('sha256:')) return hash('sha256', token, 'buffer')
  const hex = DIGEST.exec(token)?.[1]
  return hex === undefined ? undefined : Buffer.from(hex, 'hex')
}

/** Time of expiry in milliseconds since 1970; NaN: `expires` is neither a date nor a time. */
export function tokenExpiry(expires: string): number {
  return TIME.test(expires) ? Date.parse(expires) : Number.NaN
}

import { hash, timingSafeEqual } from 'node:crypto'
import { tokenDigest, tokenExpiry } from '../config/index.ts'
import type { Identity } from './identity.ts'
import type { ScopeChallenge } from './permissions.ts'
import type { Authenticate, Denial } from './steps.ts'

/** Authorization = scheme, spaces, token; the scheme in any case (RFC 9110 section 11.1, RFC 6750 section 2.1). */
const BEARER = /^bearer +([\x21-\x7e\x80-\xff]+) *$/i

/** The token of an `Authorization` header, one character for each byte; undefined: none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization && BEARER.exec(authorization)?.[1]
}

/** Digest for comparing sent tokens with those of a file. */
function sentDigest(token: string): Buffer {
  return hash('sha256', Buffer.from(token, 'latin1'), 'buffer')
}

/** A token or its digest (`sha256:…`), and its expiry in ISO 8601. */
export interface KnownToken {
  token: string
  expires?: string | undefined
}

/**
 * Creates the lookup of bearer tokens: `Authorization` header → the entry with its token, else undefined. SHA-256
 * digests are compared with every entry each time, so that timing reveals nothing. The first of equal tokens counts.
 */
export function bearerTable<Entry extends KnownToken>(
  entries: readonly Entry[],
  now: () => number = Date.now,
): (authorization: string | undefined) => Entry | undefined {
  const table = entries.flatMap((entry) => {
    const digest = tokenDigest(entry.token)
    const end = entry.expires === undefined ? Number.POSITIVE_INFINITY : tokenExpiry(entry.expires)
    return digest ? [{ entry, digest, end }] : []
  })
  if (!table.length) return () => undefined
  return (authorization) => {
    const token = bearerToken(authorization)
    if (!token) return undefined
    const digest = sentDigest(token)
    let found: (typeof table)[number] | undefined
    for (const row of table) if (timingSafeEqual(row.digest, digest)) found ??= row
    // Tokens without expiry need no comparison.
    if (found === undefined || found.end === Number.POSITIVE_INFINITY) return found?.entry
    return now() < found.end ? found.entry : undefined
  }
}

/** A token of a file, and its caller. */
interface CallerToken extends KnownToken {
  caller: string
  /** Default: none. */
  scopes?: readonly string[]
  /** The token comes from the settings. */
  bySettings?: boolean
}

/** A caller known only by name and scopes. */
export function namedCaller(
  caller: string,
  scopes: readonly string[] = [],
  bySettings: boolean | undefined = undefined,
): Identity {
  return { caller, subject: caller, scopes: new Set(scopes), claims: {}, ...(bySettings && { bySettings }) }
}

/** Creates the lookup of callers: `Authorization` header → the owner of its token, or that it has expired, else undefined. */
export function bearerCallers(
  tokens: readonly CallerToken[],
): (authorization: string | undefined) => Identity | Denial | undefined {
  const table = bearerTable(
    tokens.map(({ token, expires, caller, scopes, bySettings }) => ({
      token,
      end: expires === undefined ? Number.POSITIVE_INFINITY : tokenExpiry(expires),
      identity: namedCaller(caller, scopes, bySettings),
    })),
  )
  return (authorization) => {
    const found = table(authorization)
    return found && (Date.now() < found.end ? found.identity : EXPIRED)
  }
}

const UNKNOWN: Denial = {
  status: 401,
  message: 'A known bearer token is required: send the header "Authorization: Bearer <token>"',
}
/** Its owner guesses nothing, so it is another reason. */
const EXPIRED: Denial = {
  status: 401,
  reason: 'expired',
  message: 'The bearer token has expired: ask the operator of the gateway for another one',
}

export function bearerAuthentication(tokens: readonly CallerToken[]): Authenticate {
  const known = bearerCallers(tokens)
  return async ({ headers: { authorization } }) => {
    const found = known(authorization) ?? UNKNOWN
    if (!('status' in found)) return found
    return { ...found, headers: { 'www-authenticate': bearerChallenge(authorization) } }
  }
}

/** The challenge for a file token that lacks scopes (RFC 6750, 3.1). */
export const bearerScopeChallenge: ScopeChallenge = (_path, scopes) =>
  `Bearer scope="${scopes.join(' ')}", error="insufficient_scope"`

/**
 * The `WWW-Authenticate` value for a refused request (RFC 6750 section 3): without an error code if no token was sent.
 */
export function bearerChallenge(authorization: string | undefined): string {
  return authorization && /^bearer(?: |$)/i.test(authorization) ? 'Bearer error="invalid_token"' : 'Bearer'
}

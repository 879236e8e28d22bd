import { stringify } from '../json/index.ts'
import type { Grant, Judge } from './grant.ts'
import type { Identity } from './identity.ts'
import type { ScopeChallenge } from './permissions.ts'
import { RETRY_AFTER } from './refusals.ts'
import type { Authenticate, Denial } from './steps.ts'

/** An endpoint as an OAuth protected resource (RFC 9728). */
interface ProtectedResource {
  /** Its identifier: the URL for clients. */
  url: string
  path: string
  metadataUrl: string
}

/** @param path of the endpoint, such as `/plants/mcp` */
export function protectedResource(publicUrl: string, endpoint: string): ProtectedResource {
  const path = `/.well-known/oauth-protected-resource${endpoint}`
  return { url: publicUrl + endpoint, path, metadataUrl: publicUrl + path }
}

/** Its metadata (RFC 9728, 2). */
export function resourceMetadata(
  { url }: ProtectedResource,
  { name, issuers, scopes }: { name: string; issuers: readonly string[]; scopes: readonly string[] },
): string {
  return stringify({
    resource: url,
    authorization_servers: [...issuers],
    ...(scopes.length > 0 && { scopes_supported: [...scopes] }),
    bearer_methods_supported: ['header'],
    resource_name: name,
  })
}

interface OAuthRoute {
  mcp: ProtectedResource
  /** Metadata of `/sse` and `/message`. */
  sse: ProtectedResource
  /** Required scopes of a token. */
  scopes: readonly string[]
  judge: Judge
  /** Callers with a token of the settings. */
  known: (authorization: string | undefined) => Identity | Denial | undefined
}

/** The challenge with the scopes that one operation requires. */
export function scopeChallenge({ mcp, sse }: Pick<OAuthRoute, 'mcp' | 'sse'>): ScopeChallenge {
  return (path, scopes) => refusedBy(SCOPE, challengeOf((isMcp(path) ? mcp : sse).metadataUrl, scopes))
}

function isMcp(path: string): boolean {
  return /\/mcp\/?$/.test(path)
}

/** Scheme, and the permitted characters of a token (RFC 6750, 2.1). */
const BEARER = /^bearer +([A-Za-z\d._~+/-]+=*) *$/i

/** A resource server of OAuth 2.1, as specified by the authorization chapter of MCP (2025-06-18 to 2026-07-28). */
export function oauthAuthentication({ mcp, sse, scopes, judge, known }: OAuthRoute): Authenticate {
  const challenges = [mcp, sse].map(({ metadataUrl }) => challengeOf(metadataUrl, scopes))
  return async (request) => {
    const { path, headers } = request
    const { authorization } = headers
    const challenge = challenges[isMcp(path) ? 0 : 1] as string
    if (request.parameter('access_token') !== undefined) return refusal(IN_QUERY, challenge)
    const caller = known(authorization)
    if (caller) return 'status' in caller ? refusal(caller, challenge) : caller
    const token = authorization && BEARER.exec(authorization)?.[1]
    if (!token) return refusal(/^bearer(?: |$)/i.test(authorization ?? '') ? MALFORMED : MISSING, challenge)
    const verdict = await judge(token)
    return 'status' in verdict
      ? refusal(verdict, challenge)
      : (lacking(verdict, scopes, challenge) ?? verdict.identity)
  }
}

const MISSING: Denial = {
  status: 401,
  reason: 'missing',
  message: 'An access token is required: send the header "Authorization: Bearer <token>"',
}
const MALFORMED: Denial = { status: 401, reason: 'unknown', message: 'The access token is malformed' }
const IN_QUERY: Denial = {
  status: 400,
  reason: 'unknown',
  message: 'An access token must be sent in the Authorization header, not in the query',
}
const SCOPE: Denial = {
  status: 403,
  reason: 'scope',
  message: 'The token does not have all scopes that are needed here',
}

/** Error codes (RFC 6750, 3.1) by status; none without a token, and for server errors. */
const ERRORS: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'invalid_token',
  403: 'insufficient_scope',
}

function challengeOf(metadataUrl: string, scopes: readonly string[]): string {
  return `Bearer resource_metadata="${metadataUrl}"${scopes.length ? `, scope="${scopes.join(' ')}"` : ''}`
}

function refusal(denial: Denial, challenge: string): Denial {
  if (denial.reason === 'unavailable') return { ...denial, headers: { 'retry-after': RETRY_AFTER } }
  return { ...denial, headers: { 'www-authenticate': refusedBy(denial, challenge) } }
}

function refusedBy({ status, reason, message }: Denial, challenge: string): string {
  const error = reason === 'missing' ? '' : `, error="${ERRORS[status]}", error_description="${message}"`
  return challenge + error
}

function lacking(
  { identity: { scopes } }: Grant,
  needed: readonly string[],
  challenge: string,
): Denial | undefined {
  return needed.every((scope) => scopes.has(scope)) ? undefined : refusal(SCOPE, challenge)
}

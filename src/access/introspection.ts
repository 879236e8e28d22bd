import { hash } from 'node:crypto'
import type { Issuer } from '../config/index.ts'
import { RecentMap } from '../text/index.ts'
import { basicLogin, FormEndpoint, type IssuerParts, objectOf } from './authorization-server.ts'
import {
  CLOCK_SKEW,
  denied,
  type Grant,
  type GrantRules,
  grantOf,
  type Judge,
  otherClaim,
  type Verdict,
} from './grant.ts'
import type { Claims } from './identity.ts'

interface IntrospectionRules extends GrantRules {
  /** One of them must be in `aud`. */
  audience: readonly string[]
  /** Milliseconds for which an answer is cached. */
  cacheTtl: number
}

/** Token types usable as `Bearer`: the type of RFC 6749, 5.1; some servers state the kind of token instead. */
const TYPES = /^(?:bearer|access_token)$/i

/** Checks tokens by asking the authorization server (RFC 7662). */
export function introspectionJudge(issuer: Issuer, rules: IntrospectionRules, parts: IssuerParts): Judge {
  const { log, now, steady } = parts
  // By digest, so that tokens themselves are not stored.
  const judged = new RecentMap<string, { grant: Grant; until: number }>(5_000)
  /** Introspections under way, which requests with the same token share. */
  const asked = new Map<string, Promise<Verdict>>()
  const ask = asker(issuer, parts)

  async function introspect(token: string, digest: string): Promise<Verdict> {
    try {
      const verdict = verdictOf(await ask(token), issuer.issuer, rules, now())
      // Refusals are not cached, as invented tokens would displace valid ones.
      if (!('status' in verdict)) judged.set(digest, { grant: verdict, until: steady() + rules.cacheTtl })
      return verdict
    } catch (error) {
      const reason = (error as Error).message
      log.warn({ issuer: issuer.issuer, reason }, 'an authorization server could not be asked about a token')
      return denied('The token cannot be checked at the moment', 'unavailable')
    }
  }

  /** The cached grant of a token, while both the answer and the token are valid. */
  function cached(digest: string): Grant | undefined {
    const { grant, until } = judged.get(digest) ?? {}
    const isValid =
      until !== undefined && steady() < until && now() < (grant?.until ?? Number.POSITIVE_INFINITY)
    return isValid ? grant : undefined
  }

  return async (token) => {
    const digest = hash('sha256', token, 'base64')
    const known = cached(digest) ?? asked.get(digest)
    if (known) return known
    if (asked.size >= 100) return denied('Too many tokens are being checked at the moment', 'unavailable')
    const answer = introspect(token, digest).finally(() => asked.delete(digest))
    asked.set(digest, answer)
    return answer
  }
}

/** @returns a function that introspects a token and throws an Error with the reason if that fails */
function asker(issuer: Issuer, parts: IssuerParts): (token: string) => Promise<Claims> {
  const { clientId = '', clientSecret = '', introspectionUrl: url } = issuer
  const login = basicLogin(clientId, clientSecret)
  const member = 'introspection_endpoint'
  const endpoint = new FormEndpoint(parts, { issuer: issuer.issuer, url, member, login })
  return async (token) => {
    const { answer } = await endpoint.post(new URLSearchParams({ token, token_type_hint: 'access_token' }))
    const { status, body } = answer
    const claims = status === 200 ? objectOf(body.toString()) : undefined
    if (claims) return claims
    endpoint.forget()
    const advice = status === 401 ? ': look at `clientId` and `clientSecret`' : ''
    throw new Error(
      `the introspection endpoint responded with ${status === 200 ? 'no JSON object' : `status ${status}${advice}`}`,
    )
  }
}

function verdictOf(claims: Claims, issuer: string, rules: IntrospectionRules, now: number): Verdict {
  const { active, aud, iss, token_type: type = 'Bearer' } = claims
  if (active !== true) return denied('The token is not active')
  // Refresh tokens are active too.
  if (typeof type !== 'string' || !TYPES.test(type)) return denied('The token is not a Bearer access token')
  const [exp, nbf] = [timeOf(claims.exp), timeOf(claims.nbf)]
  if (Number.isNaN(exp) || Number.isNaN(nbf)) return denied('The token has a time that is no number')
  if (exp !== undefined && exp * 1000 + CLOCK_SKEW <= now) return denied('The token has expired', 'expired')
  if (nbf !== undefined && nbf * 1000 - CLOCK_SKEW > now) return denied('The token is not valid yet')
  if (iss !== undefined && iss !== issuer) return otherClaim('The token is of another issuer', iss, [issuer])
  if (![aud].flat().some((one) => typeof one === 'string' && rules.audience.includes(one)))
    return otherClaim('The token was issued for another audience', aud, rules.audience)
  return grantOf({ ...claims, ...(exp !== undefined && { exp }) }, issuer, rules)
}

/** Seconds, which some servers write as text; NaN if invalid. */
function timeOf(claim: unknown): number | undefined {
  if (claim === undefined || claim === null) return undefined
  return typeof claim === 'number' || (typeof claim === 'string' && claim !== '') ? Number(claim) : Number.NaN
}

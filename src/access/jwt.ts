import { hash } from 'node:crypto'
import type { JWTHeaderParameters, JWTPayload } from 'jose'
import { RecentMap } from '../text/index.ts'
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
import { type IssuerKeys, jose, type Keys } from './issuer-keys.ts'
import type { Denial } from './steps.ts'

/** Asymmetric algorithms: with a shared secret, every verifier could create tokens. */
const ALGORITHMS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ')

interface TrustedIssuer {
  issuer: string
  keys: IssuerKeys
  /** Default: all of `ALGORITHMS`. */
  algorithms?: readonly string[]
}

interface JwtRules extends GrantRules {
  /** One of them must be in `aud`. */
  audience: readonly string[]
  now: () => number
}

/** Explanations of jose's errors. */
const FAULTS: Readonly<Record<string, string>> = {
  ERR_JOSE_ALG_NOT_ALLOWED: 'The signature algorithm of the token is not accepted',
  ERR_JOSE_NOT_SUPPORTED: 'The token demands an extension that is not supported',
  ERR_JWKS_NO_MATCHING_KEY: 'The issuer does not publish the key that the token names',
  ERR_JWKS_MULTIPLE_MATCHING_KEYS: 'The token does not say which key of its issuer it is signed with',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'The signature of the token is wrong',
}
/** Explanations of invalid claims. */
const CLAIM_FAULTS: Readonly<Record<string, string>> = {
  aud: 'The token was issued for another audience',
  exp: 'The token does not say when it expires',
  nbf: 'The token is not valid yet',
}
/** Types of access tokens (RFC 9068, 4), including older servers: not of logout tokens, proofs and events. */
const TYPES = /^(?:application\/)?(?:at\+)?jwt$/i
/** Header, payload and signature (RFC 7515, 7.1). */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]+$/
const UNUSABLE = 'The key with which the token is signed cannot be used'
const MALFORMED = 'The token is not a valid JSON Web Token'
/** Errors after which the key may be newer than the fetched keys. */
const NEW_KEY = new Set(['ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED'])

/** Checks JSON Web Tokens with the keys of their issuers (RFC 7519, RFC 8725). */
export function jwtJudge(issuers: readonly TrustedIssuer[], rules: JwtRules): Judge {
  const byName = new Map(issuers.map((one) => [one.issuer, one]))
  // By digest, so that tokens themselves are not stored.
  const judged = new RecentMap<string, { grant: Grant; keys: Keys; source: IssuerKeys }>(5_000)

  async function judge(token: string, digest: string): Promise<Verdict> {
    if (!COMPACT.test(token)) return denied(MALFORMED)
    const { decodeJwt } = await jose()
    let issuer: TrustedIssuer | undefined
    try {
      const { iss = '' } = decodeJwt(token)
      issuer = byName.get(iss)
      if (!issuer)
        return otherClaim('The issuer of the token is not one that is trusted here', iss, [...byName.keys()])
    } catch {
      return denied(MALFORMED)
    }
    const source = issuer.keys
    const keys = source.current() ?? (await source.refresh())
    if (!keys) return unavailable()
    const { verdict, code, used } = await withNewKeys(token, issuer, keys)
    if ('status' in verdict) return code && NEW_KEY.has(code) && source.failed ? unavailable() : verdict
    judged.set(digest, { grant: verdict, keys: used, source })
    return verdict
  }

  /** Retries if the issuer may have new keys. */
  async function withNewKeys(token: string, issuer: TrustedIssuer, keys: Keys) {
    const first = await verify(token, issuer, keys)
    if (!first.code || !NEW_KEY.has(first.code) || !(await mayBeNew(token, first.code)))
      return { ...first, used: keys }
    const fresh = await issuer.keys.refresh()
    if (!fresh || fresh === keys) return { ...first, used: keys }
    return { ...(await verify(token, issuer, fresh)), used: fresh }
  }

  async function verify(token: string, { issuer, algorithms }: TrustedIssuer, { find }: Keys) {
    const { jwtVerify } = await jose()
    try {
      const { payload, protectedHeader } = await jwtVerify(token, find, {
        issuer,
        audience: [...rules.audience],
        algorithms: [...(algorithms ?? ALGORITHMS)],
        requiredClaims: ['exp', 'aud', 'iss'],
        clockTolerance: CLOCK_SKEW / 1000,
        currentDate: new Date(rules.now()),
      })
      return { verdict: headerFault(protectedHeader) ?? grantOf(payload, issuer, rules) }
    } catch (error) {
      const { code, claim, payload } = error as { code?: string; claim?: string; payload?: JWTPayload }
      if (code === 'ERR_JWT_EXPIRED') return { verdict: denied('The token has expired', 'expired'), code }
      // Errors of the key itself have no code of jose.
      if (typeof code !== 'string')
        return { verdict: { ...denied(UNUSABLE), note: (error as Error).message } }
      const fault = FAULTS[code] ?? CLAIM_FAULTS[claim ?? ''] ?? MALFORMED
      const verdict = claim === 'aud' ? otherClaim(fault, payload?.aud, rules.audience) : denied(fault)
      return { verdict, code }
    }
  }

  return async (token) => {
    const digest = hash('sha256', token, 'base64')
    const known = judged.get(digest)
    // With other keys the token is checked again, as its own may have been withdrawn.
    if (known && known.source.current() === known.keys && rules.now() < (known.grant.until ?? 0))
      return known.grant
    return judge(token, digest)
  }
}

/** Why a valid token's header is not that of a plain access token. */
function headerFault({ typ = 'JWT', crit }: JWTHeaderParameters): Denial | undefined {
  // jose supports one extension (RFC 7797), which no token needs.
  if (crit !== undefined) return denied(FAULTS.ERR_JOSE_NOT_SUPPORTED!)
  return typeof typ === 'string' && TYPES.test(typ) ? undefined : denied('The token is not an access token')
}

/** A wrong signature may mean a new key only if the token does not name its key. */
async function mayBeNew(token: string, code: string): Promise<boolean> {
  if (code === 'ERR_JWKS_NO_MATCHING_KEY') return true
  const { decodeProtectedHeader } = await jose()
  return decodeProtectedHeader(token).kid === undefined
}

function unavailable() {
  return denied('The keys of the issuer of the token cannot be fetched at the moment', 'unavailable')
}

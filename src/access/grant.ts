import { stringify } from '../json/index.ts'
import { shorten } from '../text/index.ts'
import type { Claims, Identity } from './identity.ts'
import type { Denial } from './steps.ts'

/** The access granted by an authorization server's token. */
export interface Grant {
  identity: Identity
  /** Milliseconds since 1970 until which it is valid; absent: unknown. */
  until?: number
}

export type Verdict = Grant | Denial

/** Checks a token. Never rejects. */
export type Judge = (token: string) => Promise<Verdict>

export interface GrantRules {
  /** The claim that identifies the caller. */
  caller: string
}

/** Milliseconds by which the clocks of the issuer and the gateway may differ, in `exp` and `nbf`. */
export const CLOCK_SKEW = 30_000

export function denied(message: string, reason: Denial['reason'] = 'unknown'): Denial {
  return { status: reason === 'unavailable' ? 503 : 401, reason, message }
}

/** The denial for an unexpected claim: the log shows both values, as they may differ only in a slash. */
export function otherClaim(message: string, value: unknown, wanted: readonly string[]): Denial {
  const said = shorten(stringify(value ?? null), 200)
  return {
    ...denied(message),
    note: `it has ${said}, and the router accepts ${shorten(stringify(wanted), 200)}`,
  }
}

/** The token's owner and access. */
export function grantOf(claims: Claims, issuer: string, { caller }: GrantRules): Verdict {
  const { sub, client_id: client, azp = client, exp, cnf } = claims
  // A stolen token could be used without its key (RFC 8705, 3; RFC 9449, 7).
  if (cnf !== undefined) return denied('The token is bound to a key of its client, which is not checked here')
  const subject = isName(sub) ? [sub] : isName(client) ? [null, client] : undefined
  if (!subject) return denied('The token has no subject')
  const name = claims[caller] ?? (caller === 'sub' ? client : undefined)
  if (!isName(name)) return denied('The token does not have the claim that names the caller')
  return {
    identity: {
      caller: JSON.stringify([issuer, ...subject]),
      callerName: shorten(name, 200),
      subject: subject.at(-1) as string,
      issuer,
      ...(isName(azp) && { clientId: isName(client) ? client : azp }),
      scopes: new Set(scopesOf(claims)),
      claims: bounded(claims),
    },
    ...(typeof exp === 'number' && { until: exp * 1000 + CLOCK_SKEW }),
  }
}

/** The claims that fit. Omitted ones grant nothing, because rules require claims, never their absence. */
function bounded(claims: Claims): Claims {
  // Maximum characters of the kept claims as JSON; up to 5,000 tokens are kept for each router.
  let left = 16 * 1024
  const kept = Object.entries(claims).filter(([name, value]) => {
    const size = name.length + stringify(value).length
    const fits = size <= left
    if (fits) left -= size
    return fits
  })
  return Object.fromEntries(kept)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** `scope` (RFC 9068, 2.2.3), or `scp` of older servers, as a text or a list. */
function scopesOf({ scope, scp }: Claims): string[] {
  return [scope, scp].flat().flatMap((value) => (isName(value) ? value.split(' ').filter(Boolean) : []))
}

import { stringify } from '../json/index.ts'
import { shorten } from '../text/index.ts'
import type { Claims, Denial, Identity } from './steps.ts'

/** What a token of an authorization server gives. */
export interface Grant {
  identity: Identity
  /** Milliseconds since 1970 until which it may be used; absent: nothing says. */
  until?: number
}

export type Verdict = Grant | Denial

/** Judges a token, without a promise where it was judged before. Never rejects. */
export type Judge = (token: string) => Verdict | Promise<Verdict>

export interface GrantRules {
  /** The claim that names the caller. */
  caller: string
  /** Milliseconds. */
  clockSkew: number
}

/** Characters of a name in the log. */
const MAX_NAME = 200
/** Characters of the JSON text of all claims that are kept: up to 5,000 tokens are kept for each router. */
const MAX_CLAIMS = 16 * 1024

export function denied(message: string, reason: Denial['reason'] = 'unknown'): Denial {
  return { status: reason === 'unavailable' ? 503 : 401, reason, message }
}

/** A claim that has another value than the router wants: the log names both, as they may differ in a slash only. */
export function otherClaim(message: string, value: unknown, wanted: readonly string[]): Denial {
  const said = shorten(stringify(value ?? null), MAX_NAME)
  return {
    ...denied(message),
    note: `it has ${said}, and the router accepts ${shorten(stringify(wanted), MAX_NAME)}`,
  }
}

/** Who has the token, and what it allows. */
export function grantOf(claims: Claims, issuer: string, { caller, clockSkew }: GrantRules): Verdict {
  const { sub, client_id: client, azp = client, exp, cnf } = claims
  // Whoever has stolen it does not have the key (RFC 8705, 3; RFC 9449, 7).
  if (cnf !== undefined) return denied('The token is bound to a key of its client, which is not checked here')
  const subject = isName(sub) ? [sub] : isName(client) ? [null, client] : undefined
  if (!subject) return denied('The token has no subject')
  const name = claims[caller] ?? (caller === 'sub' ? client : undefined)
  if (!isName(name)) return denied('The token does not have the claim that names the caller')
  return {
    identity: {
      caller: JSON.stringify([issuer, ...subject]),
      callerName: shorten(name, MAX_NAME),
      subject: subject.at(-1) as string,
      issuer,
      ...(isName(azp) && { clientId: isName(client) ? client : azp }),
      scopes: new Set(scopesOf(claims)),
      claims: bounded(claims),
    },
    ...(typeof exp === 'number' && { until: exp * 1000 + clockSkew }),
  }
}

/** What fits of the claims. Whatever is left out gives nobody anything: rules demand claims, and never their absence. */
function bounded(claims: Claims): Claims {
  let left = MAX_CLAIMS
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

/** `scope` (RFC 9068, 2.2.3), or `scp` of servers that are older than it, as a text or a list. */
function scopesOf({ scope, scp }: Claims): string[] {
  return [scope, scp].flat().flatMap((value) => (isName(value) ? value.split(' ').filter(Boolean) : []))
}

/** Tokens that were judged, by digest: a token itself is not kept. */
export class JudgedTokens<Entry> {
  private readonly entries = new Map<string, Entry>()

  get(digest: string): Entry | undefined {
    return this.entries.get(digest)
  }
  set(digest: string, entry: Entry): void {
    this.entries.delete(digest)
    this.entries.set(digest, entry)
    if (this.entries.size > MAX_ENTRIES) this.entries.delete(this.entries.keys().next().value as string)
  }
}

const MAX_ENTRIES = 5_000

import { shorten } from '../text/index.ts'
import type { Denial, Identity } from './steps.ts'

/** What a token of an authorization server gives. */
export interface Grant {
  identity: Identity
  scopes: ReadonlySet<string>
  /** Milliseconds since 1970 until which it may be used; absent: nothing says. */
  until?: number
}

export type Verdict = Grant | Denial

/** Judges a token, without a promise where it was judged before. Never rejects. */
export type Judge = (token: string) => Verdict | Promise<Verdict>

/** The claims of a token that was found to be sound (RFC 7519, 4.1; RFC 7662, 2.2). */
export type Claims = Readonly<Record<string, unknown>>

export interface GrantRules {
  /** The claim that names the caller. */
  caller: string
  /** Milliseconds. */
  clockSkew: number
}

/** Characters of a name in the log. */
const MAX_NAME = 200

export function denied(message: string, reason: Denial['reason'] = 'unknown'): Denial {
  return { status: reason === 'unavailable' ? 503 : 401, reason, message }
}

/** Who has the token, and what it allows. */
export function grantOf(claims: Claims, issuer: string, { caller, clockSkew }: GrantRules): Verdict {
  const { sub, client_id: client, exp } = claims
  const subject = isName(sub) ? [sub] : isName(client) ? [null, client] : undefined
  if (!subject) return denied('The token has no subject')
  const name = claims[caller] ?? (caller === 'sub' ? client : undefined)
  if (!isName(name)) return denied('The token does not have the claim that names the caller')
  return {
    identity: { caller: JSON.stringify([issuer, ...subject]), callerName: shorten(name, MAX_NAME) },
    scopes: new Set(scopesOf(claims)),
    ...(typeof exp === 'number' && { until: exp * 1000 + clockSkew }),
  }
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

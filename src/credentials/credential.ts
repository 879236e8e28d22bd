import { bearerToken } from '../access/bearer.ts'
import type { IssuerParts } from '../access/discovery.ts'
import type { Identity } from '../access/identity.ts'
import type { Credentials as CredentialSettings } from '../config/model.ts'
import { Fault } from '../mcp/fault.ts'
import { type SentHeader, TokenCache } from './token-cache.ts'
import { tokenAsker } from './token-endpoint.ts'

export type { SentHeader } from './token-cache.ts'

/** The known facts about a caller. */
export interface CallerFacts {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Absent: the caller is unknown. */
  readonly identity?: Identity | undefined
}

/** The credential for one caller's requests to a server. */
export interface Credential {
  /** Equal for callers that share it; part of the key of sessions. */
  readonly key: string
  /** Without a promise if the header is cached. */
  header(): SentHeader | Fault | Promise<SentHeader | Fault>
  /** A new header after a server refused the old one (401); undefined: there is none. */
  renew(refused: SentHeader): Promise<SentHeader | Fault | undefined>
  /** Recently sent values; a new list object when they change. */
  sent(): readonly string[]
}

/** The `credentials` of one server. */
export interface Credentials {
  /** Whether each caller has its own credential. */
  readonly perCaller: boolean
  of(facts: CallerFacts): Credential | Fault
}

/** A server with `credentials`: of HTTP tools, or an MCP server. */
interface Owner {
  name: string
  credentials?: CredentialSettings
}

export type CredentialParts = Pick<IssuerParts, 'http' | 'guards' | 'log'> &
  Partial<Pick<IssuerParts, 'steady'>>

/** The credentials of a server, created once. Undefined if a server has none. */
export type CredentialsOf = (server: Owner) => Credentials | undefined

/** @param given guards: of connections to authorization servers. `steady`: a monotonic clock; default the process's */
export function credentialsFor(given: CredentialParts): CredentialsOf {
  const parts = { steady: () => performance.now(), ...given }
  const made = new WeakMap<Owner, Credentials>()
  return (server) => {
    const { name, credentials } = server
    if (!credentials) return undefined
    const one = made.get(server) ?? createCredentials(name, credentials, parts)
    made.set(server, one)
    return one
  }
}

function createCredentials(
  server: string,
  settings: CredentialSettings,
  parts: CredentialParts & Pick<IssuerParts, 'steady'>,
): Credentials {
  const { type, header: name, value = '' } = settings
  if (type === 'static') {
    const header = { name: name.toLowerCase(), value }
    const sent = [value]
    const credential = { key: '', header: () => header, renew: async () => undefined, sent: () => sent }
    return { perCaller: false, of: () => credential }
  }
  const tokens = new TokenCache(server, tokenAsker(server, settings, parts), parts)
  if (type === 'clientCredentials') {
    const credential = credentialOf(tokens, '', undefined)
    return { perCaller: false, of: () => credential }
  }
  return {
    perCaller: true,
    of({ headers, identity }) {
      const token = bearerToken(headers.authorization)
      if (identity?.issuer === undefined || token === undefined)
        return new Fault(
          'refused',
          `The server ${server} is called with a token for the caller, who has not logged in with one of an authorization server`,
        )
      return credentialOf(tokens, keyOf(identity), token)
    },
  }
}

/** Part of the key are scopes and client: tokens of the same person with others may permit other actions. */
function keyOf({ caller, clientId = '', scopes }: Identity): string {
  return JSON.stringify([caller, clientId, [...scopes].sort()])
}

/** @param subject the caller's own token, newer than the cached one */
function credentialOf(tokens: TokenCache, key: string, subject: string | undefined): Credential {
  tokens.update(key, subject)
  return {
    key,
    header: () => tokens.header(key, subject),
    renew: (refused) => tokens.renew(key, subject, refused),
    sent: () => tokens.sent(key),
  }
}

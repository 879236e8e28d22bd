/** The caller according to its credentials. */
export interface Identity {
  /** Unique key, which owns sessions and a share of the limits. */
  caller: string
  /** Name for the log, if different. */
  callerName?: string
  /** `sub` of the token, or its `client_id`; the name of a file token. */
  subject: string
  /** Issuer of the token; absent for a file token. */
  issuer?: string
  /** `client_id` or `azp` of the token, if any. */
  clientId?: string
  scopes: ReadonlySet<string>
  /** Whether the settings define it, not the router's configuration. */
  bySettings?: boolean
  /** Claims of the token, at most 16 KiB of JSON; those that do not fit are omitted. */
  claims: Claims
}

/** The claims of a valid token (RFC 7519, 4.1; RFC 7662, 2.2). */
export type Claims = Readonly<Record<string, unknown>>

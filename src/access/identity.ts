/** Who calls, as far as credentials tell. */
export interface Identity {
  /** Owns sessions and a share of the limits: nobody else has the same. */
  caller: string
  /** For the log, where it is another one. */
  callerName?: string
  /** `sub` of the token, else its `client_id`; the name of a token of a file. */
  subject: string
  /** Who issued the token; absent for a token of a file. */
  issuer?: string
  /** `client_id` or `azp` of the token, where it has one. */
  clientId?: string
  scopes: ReadonlySet<string>
  /** The settings say who it is, and not the configuration of the router. */
  bySettings?: boolean
  /** Of the token, at most 16 KiB of JSON in all: one that does not fit is left out. */
  claims: Claims
}

/** The claims of a token that was found to be sound (RFC 7519, 4.1; RFC 7662, 2.2). */
export type Claims = Readonly<Record<string, unknown>>

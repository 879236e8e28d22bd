import { randomUUID } from 'node:crypto'
import type { FetchLike, OAuthTokens } from '@modelcontextprotocol/client'
import type { IssuerParts } from '../../access/authorization-server.ts'
import { Fault } from '../../mcp/fault.ts'
import { StoreError } from '../../store/store-error.ts'
import type { FetchedToken } from '../token-cache.ts'
import {
  type AtServer,
  type Client,
  guardedFetch,
  LoginError,
  type Metadata,
  refreshTokens,
  revokeTokens,
  sdk,
} from './client.ts'
import {
  type Attempt,
  beginLogin,
  finishLogin,
  type LoginServer,
  loginName,
  type ReturnTarget,
} from './flow.ts'
import { type Vault, vaultId } from './vault.ts'

/** The tokens of a login; secret. */
interface Tokens {
  access: string
  /** Milliseconds since 1970; absent: the authorization server does not say. */
  expiresAt?: number | undefined
  /** Milliseconds. */
  lifetime?: number | undefined
  refresh?: string | undefined
  scope?: string | undefined
}

/** A login as the vault has it; secret. */
interface StoredLogin extends Tokens {
  tenant: string
  configuration: string
  server: string
  /** Differs for each login. */
  id: string
  /** When the person logged in: ISO 8601, UTC. */
  at: string
  metadata: Metadata
  client: Client
  resource?: string | undefined
  /** Scopes that the server has asked for besides. */
  wanted?: string[] | undefined
  /** Why it is over. */
  ended?: string | undefined
}

export type LoginState = 'present' | 'missing' | 'ended'

export interface LoginParts extends Pick<IssuerParts, 'http' | 'guards' | 'log' | 'now'> {
  vault: Vault
  /** `publicUrl` of the settings. */
  publicUrl?: string | undefined
  /** Called with each change of a login. */
  onLogin?: ((event: LoginEvent) => void) | undefined
}

/** A change of a login. */
export interface LoginEvent {
  what: 'granted' | 'denied' | 'refreshed' | 'ended' | 'revoked'
  tenant: string
  configuration: string
  server: string
  /** The caller who has the login; absent: the operator has it. */
  caller?: string | undefined
  reason?: string | undefined
}

/** A caller, as the gateway knows it. */
export interface LoginCaller {
  /** Unique among the callers of the configuration. */
  key: string
  name: string
  /** The issuer of the caller's token; absent: no authorization server issued the token. */
  issuer?: string | undefined
  subject?: string | undefined
}

/** A token is refreshed so many milliseconds before it expires, or at the last fifth of its lifetime if that is shorter. */
const MARGIN = 60_000
const MARGIN_PART = 0.2
/** Milliseconds after which the vault is read again: a login may have ended on another replica. */
const RECHECK = 20_000
/** Errors after which the authorization server will not accept the login again (RFC 6749, 5.2). */
const FINAL: ReadonlySet<string | undefined> = new Set([
  'invalid_grant',
  'invalid_client',
  'unauthorized_client',
])

/** The logins of persons at one server. */
export class ServerLogin {
  /** Called when this process has made or ended the login, or that of a caller. */
  onChange: (caller: LoginCaller | undefined) => void = () => {}
  /** Used while the vault cannot be read. */
  #last: StoredLogin | undefined
  /** Refreshed tokens that could not be written, and the access token that they replace. */
  #unsaved: { replaced: string; tokens: Tokens } | undefined

  constructor(
    readonly server: LoginServer,
    readonly parts: LoginParts,
    /** The caller who has the login; absent: the operator has it. */
    readonly caller?: LoginCaller,
  ) {}

  /** The login of a caller. */
  of(caller: LoginCaller): ServerLogin {
    const own = new ServerLogin(this.server, this.parts, caller)
    own.onChange = this.onChange
    return own
  }

  /** Differs for each login that can be used with the scopes that the server asked for; undefined: none. */
  async current(): Promise<string | undefined> {
    const login = await this.parts.vault.readable<StoredLogin>(this.#id)
    return login && login.ended === undefined && !login.wanted?.length ? login.id : undefined
  }

  /** Reports a change of the login. */
  tell(what: LoginEvent['what'], reason?: string): void {
    const { tenant, configuration, name } = this.server
    const about = { tenant, configuration, server: name, caller: this.caller?.name }
    this.parts.onLogin?.({ what, ...about, reason })
  }

  /** @throws StoreError */
  async state(): Promise<LoginState> {
    const login = await this.parts.vault.get<StoredLogin>(this.#id)
    if (!login) return 'missing'
    return login.ended === undefined ? 'present' : 'ended'
  }

  /** Begins a login with the scopes that were missing. @throws LoginError, StoreError */
  async begin(to: ReturnTarget): Promise<Attempt> {
    const { vault, now } = this.parts
    const { wanted = [], scope = '' } = (await vault.readable<StoredLogin>(this.#id)) ?? {}
    const scopes = wanted.length ? [...scope.split(' '), ...wanted] : []
    return beginLogin(this.server, to, scopes.filter(Boolean), { vault, now, fetchFn: this.#fetchFn() })
  }

  /** Ends a login that was begun, and keeps it. @throws LoginError, StoreError; nothing is kept then */
  async finish(attempt: Attempt, response: URLSearchParams): Promise<void> {
    const { vault, now } = this.parts
    const tokens = await finishLogin(this.server, attempt, response, { vault, now, fetchFn: this.#fetchFn() })
    const { tenant, configuration, name } = this.server
    const { metadata, client, resource, scope } = attempt
    const login: StoredLogin = {
      tenant,
      configuration,
      server: name,
      id: randomUUID(),
      at: new Date(now()).toISOString(),
      metadata,
      client,
      resource,
      scope,
      ...this.#tokensOf(tokens),
    }
    await vault.put(this.#id, login)
    this.onChange(this.caller)
    this.tell('granted')
  }

  /**
   * A token of the login, refreshed if necessary, by one process at a time. Never rejects.
   * @param refused the header value that the server refused
   */
  async token(refused?: string): Promise<FetchedToken | Fault> {
    const { vault } = this.parts
    try {
      const known = await vault.get<StoredLogin>(this.#id)
      this.#last = known
      const usable = this.#usable(known, refused)
      if (usable) return usable
      return await vault.change<StoredLogin, FetchedToken | Fault>(this.#id, async (stored, write) => {
        const login = await this.#saved(stored, write)
        this.#last = login
        // Another process may have refreshed it meanwhile.
        const other = this.#usable(login, refused)
        return other ?? this.#refreshed(login as StoredLogin, write, refused)
      })
    } catch (error) {
      const last = this.#last
      const isGood = last?.ended === undefined && refused === undefined
      if (last && isGood && this.#left(last) > 0) return this.#fetched(last)
      const text = `The login at the server ${this.server.name} cannot be read: ${(error as Error).message}`
      const isDamaged = error instanceof StoreError && error.kind === 'damaged'
      return isDamaged ? new Fault('refused', `${text}: ${this.#advice}`) : new Fault('unreachable', text)
    }
  }

  /**
   * Notes the scopes of a challenge (403, `insufficient_scope`) for the next login.
   * @param refused the header value that was refused
   * @returns `other`: the login has another token meanwhile. Undefined: it is no such challenge, or it has these scopes
   */
  async widen(challenge: string, refused: string): Promise<Fault | 'other' | undefined> {
    const { extractWWWAuthenticateParams, computeScopeUnion, isStrictScopeSuperset } = await sdk()
    const headers = { 'www-authenticate': challenge }
    const { error, scope } = extractWWWAuthenticateParams(new Response(null, { headers }))
    if (error !== 'insufficient_scope' || scope === undefined) return undefined
    const found = await this.parts.vault
      .change<StoredLogin, 'other' | 'wider' | undefined>(this.#id, async (login, write) => {
        if (login && refused !== `Bearer ${login.access}`) return 'other'
        if (!login || !isStrictScopeSuperset(scope, login.scope)) return undefined
        const wanted = computeScopeUnion(login.wanted?.join(' '), scope)?.split(' ')
        await write({ ...login, wanted })
        return 'wider'
      })
      .catch(() => undefined)
    if (found !== 'wider') return found
    return new Fault(
      'refused',
      `The server ${this.server.name} needs a login with more permissions (${scope}): ${this.#advice}`,
    )
  }

  /**
   * Ends the login: it is removed, and its tokens are revoked.
   * @returns what came of it, for people; undefined: there was no login
   * @throws LoginError if its tokens could not be revoked, or the login could not be read; StoreError
   */
  async logout(): Promise<string | undefined> {
    const { vault } = this.parts
    const damage = await this.state().then(
      () => undefined,
      ({ message }: Error) => message,
    )
    const login = await vault.change<StoredLogin, StoredLogin | undefined>(this.#id, async (known, write) => {
      await write(undefined)
      return known
    })
    this.onChange(this.caller)
    if (!login && damage !== undefined) throw new LoginError(damage)
    if (!login) return undefined
    const { access: access_token, refresh: refresh_token, metadata } = login
    this.tell('revoked')
    if (login.ended !== undefined) return 'it had ended before'
    const isRevoked = await revokeTokens(this.#at(login), { access_token, refresh_token })
    return isRevoked
      ? `its tokens are revoked at ${metadata.issuer}`
      : 'its tokens are valid until they expire, as the authorization server revokes none'
  }

  get #id(): string {
    const { tenant, configuration, name, url, settings } = this.server
    const { clientId, tokenUrl } = settings
    const at = [url ?? tokenUrl ?? null, clientId ?? null]
    return vaultId(['login', tenant, configuration, name, ...at, this.caller?.key ?? null])
  }

  get #advice(): string {
    const isCaller = this.caller !== undefined
    return isCaller
      ? 'the caller has to log in'
      : `run \`plantgw login ${loginName(this.server)}\` where the gateway runs`
  }

  /** The token, if it need not be refreshed; undefined: it must be. */
  #usable(login: StoredLogin | undefined, refused: string | undefined): FetchedToken | Fault | undefined {
    const { name } = this.server
    if (!login) return new Fault('refused', `The server ${name} needs a login: ${this.#advice}`)
    if (login.ended !== undefined)
      return new Fault(
        'refused',
        `The login at the server ${name} has ended (${login.ended}): ${this.#advice}`,
      )
    const { lifetime = 0 } = login
    const margin = Math.min(MARGIN, lifetime * MARGIN_PART)
    if (refused === `Bearer ${login.access}` || this.#left(login) <= margin) return undefined
    return this.#fetched(login)
  }

  /** Milliseconds until the token expires. */
  #left({ expiresAt = Number.POSITIVE_INFINITY }: StoredLogin): number {
    return expiresAt - this.parts.now()
  }

  #fetched(login: StoredLogin): FetchedToken {
    return { token: login.access, lifetime: Math.min(this.#left(login), RECHECK), login: login.id }
  }

  async #refreshed(
    login: StoredLogin,
    write: (login: StoredLogin) => Promise<void>,
    refused: string | undefined,
  ): Promise<FetchedToken | Fault> {
    const { name } = this.server
    const { log } = this.parts
    const isGood = refused !== `Bearer ${login.access}` && this.#left(login) > 0
    if (login.refresh === undefined) {
      if (isGood) return this.#fetched(login)
      if (this.#left(login) <= 0)
        return this.#ended(login, write, 'it has expired, and there is no refresh token')
      const why = 'the server refuses its token'
      return new Fault('refused', `The login at the server ${name} has ended (${why}): ${this.#advice}`)
    }
    try {
      const tokens = this.#tokensOf(await refreshTokens(this.#at(login), login.refresh, login.resource))
      // The refresh token before may be invalid from now on.
      this.#unsaved = { replaced: login.access, tokens }
      const next = await this.#saved(login, write)
      log.info({ server: name }, 'a login was refreshed')
      this.tell('refreshed')
      return this.#fetched(next)
    } catch (error) {
      if (!(error instanceof LoginError)) throw error
      const { message } = error
      if (FINAL.has(error.code)) return this.#ended(login, write, message)
      // The authorization server may answer again before the token expires.
      if (isGood) return this.#fetched(login)
      return new Fault('unreachable', `The login at the server ${name} could not be refreshed: ${message}`)
    }
  }

  async #ended(
    { refresh: _, ...login }: StoredLogin,
    write: (login: StoredLogin) => Promise<void>,
    why: string,
  ): Promise<Fault> {
    const { name } = this.server
    await write({ ...login, access: '', ended: why })
    this.parts.log.warn({ server: name, reason: why }, 'a login has ended')
    this.tell('ended', why)
    return new Fault('refused', `The login at the server ${name} has ended (${why}): ${this.#advice}`)
  }

  /** The login with the tokens that could not be written before, which it keeps; as it is if it has others meanwhile. */
  async #saved<Login extends StoredLogin | undefined>(
    login: Login,
    write: (login: StoredLogin) => Promise<void>,
  ): Promise<Login> {
    const { replaced, tokens } = this.#unsaved ?? {}
    const next = login && login.access === replaced ? { ...login, ...tokens } : login
    if (next && next !== login) {
      this.#last = next
      await write(next)
    }
    this.#unsaved = undefined
    return next
  }

  #tokensOf({ access_token, refresh_token, expires_in, scope }: OAuthTokens): Tokens {
    // Some servers say 0 for a token that does not expire; the caller would log in again and again.
    const lifetime = expires_in !== undefined && expires_in > 0 ? expires_in * 1000 : undefined
    return {
      access: access_token,
      ...(refresh_token !== undefined && { refresh: refresh_token }),
      lifetime,
      expiresAt: lifetime === undefined ? undefined : this.parts.now() + lifetime,
      ...(scope !== undefined && { scope }),
    }
  }

  #fetchFn(): FetchLike {
    const { url, settings } = this.server
    return guardedFetch(this.parts, [url, settings.issuer, settings.tokenUrl])
  }

  /** A client of the configuration takes precedence, as its secret may have changed. */
  #at({ metadata, client }: StoredLogin): AtServer {
    const { settings } = this.server
    const { clientId, clientSecret, tokenUrl } = settings
    const own =
      clientId === undefined
        ? client
        : { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) }
    const at = { ...metadata, ...(tokenUrl !== undefined && { token_endpoint: tokenUrl }) }
    return { settings, metadata: at, client: own, fetchFn: this.#fetchFn() }
  }
}

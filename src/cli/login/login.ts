import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'
import {
  auth,
  ClientCredentialsProvider,
  computeScopeUnion,
  discoverAuthorizationServerMetadata,
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams,
  type FetchLike,
  isStrictScopeSuperset,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client'
import { serverMessage } from '../../net/index.ts'
import { isSameSecret, printableLines } from '../../text/index.ts'
import { KeptLogin } from './kept-login.ts'

export interface LoginFlags {
  clientId?: string
  clientSecret?: string
  clientCredentials?: boolean
  issuer?: string
  redirectPort?: number
  browser: boolean
}

/** A server's challenge: scopes and metadata URL from `WWW-Authenticate`. */
interface Challenge {
  status: number
  scope: string | undefined
  resourceMetadataUrl: URL | undefined
  /** The server's message, if any. */
  said: string | undefined
}

/**
 * Logs a command in at a server by OAuth 2.1, as specified in the authorization part of MCP: discovery, registration,
 * PKCE and issuer checks come from the SDK; browser, storage and timing are handled here.
 */
export class Login {
  /** The last challenge, as the SDK's timeouts must not limit a login. */
  needed: Challenge | undefined

  private constructor(
    private readonly server: URL,
    private readonly provider: OAuthClientProvider,
    private readonly person: Person | undefined,
  ) {}

  /** @throws Error for conflicting flags */
  static async of(server: URL, flags: LoginFlags, env: NodeJS.ProcessEnv = process.env): Promise<Login> {
    const { clientId, clientSecret, clientCredentials, issuer } = flags
    if (!clientCredentials) {
      const person = new Person(await KeptLogin.open(server, clientId, env), flags)
      return new Login(server, person.provider, person)
    }
    if (clientId === undefined || clientSecret === undefined)
      throw new Error('--client-credentials needs --client-id and --client-secret (or PLANTGW_CLIENT_SECRET)')
    const own = { clientId, clientSecret, clientName: 'plantgw', ...(issuer && { expectedIssuer: issuer }) }
    return new Login(server, new ClientCredentialsProvider(own), undefined)
  }

  /** Sends requests to the server with the token, and records its challenges. */
  fetch(send: FetchLike): FetchLike {
    return async (url, init = {}) => {
      const headers = new Headers(init.headers)
      const tokens = await this.provider.tokens()
      // The token is sent only to this server.
      if (tokens && new URL(url).origin === this.server.origin)
        headers.set('authorization', `Bearer ${tokens.access_token}`)
      const response = await send(url, { ...init, headers })
      const { scope, resourceMetadataUrl, error } = extractWWWAuthenticateParams(response)
      const { status } = response
      if (status === 401 || (status === 403 && error === 'insufficient_scope'))
        this.needed = {
          status,
          scope,
          resourceMetadataUrl,
          said: serverMessage(await response.clone().text()),
        }
      return response
    }
  }

  /**
   * Obtains a token that satisfies the challenge.
   * @returns false if the server offers no login, or a new token would be the same
   * @throws Error with the reason
   */
  async authorize(send: FetchLike, signal: AbortSignal): Promise<boolean> {
    const { server, provider, person, needed } = this
    if (!needed) return false
    this.needed = undefined
    const { status, resourceMetadataUrl, said } = needed
    if (person && !(await offersLogin(server, resourceMetadataUrl, send))) return false
    const granted = (await provider.tokens())?.scope
    const scope = computeScopeUnion(status === 403 ? granted : undefined, needed.scope)
    const isWider = isStrictScopeSuperset(scope, granted)
    if (status === 403 && !isWider) return false
    const options = {
      serverUrl: server,
      fetchFn: send,
      forceReauthorization: status === 403,
      ...(scope !== undefined && { scope }),
      ...(resourceMetadataUrl && { resourceMetadataUrl }),
    }
    try {
      if (person) await person.authorize(options, status === 403, signal)
      else await auth(provider, options)
    } catch (error) {
      if (signal.aborted) throw new Error('cancelled')
      const first = said === undefined ? '' : `${printableLines(said)} (status ${status}); `
      throw new Error(`${server.href}: ${first}login failed: ${printableLines((error as Error).message)}`)
    }
    return true
  }
}

/** Whether a challenge names metadata for OAuth, or they are at a well-known place. */
async function offersLogin(server: URL, named: URL | undefined, send: FetchLike): Promise<boolean> {
  if (named) return true
  const none = () => undefined
  const resource = await discoverOAuthProtectedResourceMetadata(server, {}, send).catch(none)
  if (resource) return true
  return !!(await discoverAuthorizationServerMetadata(server.origin, { fetchFn: send }).catch(none))
}

type AuthOptions = Parameters<typeof auth>[1]

/** Login of a person with a browser. */
class Person {
  readonly provider: OAuthClientProvider
  private readonly isInteractive: boolean
  private loopback: Loopback | undefined
  private verifier = ''
  private state = ''
  private discovered: OAuthDiscoveryState | undefined

  constructor(
    private readonly login: KeptLogin,
    private readonly flags: LoginFlags,
  ) {
    // Without a browser, the user opens the URL.
    this.isInteractive = process.stderr.isTTY === true || !flags.browser
    this.provider = this.asProvider()
  }

  /** @param isWider whether more consent is needed, so that refreshing is useless */
  async authorize(options: AuthOptions, isWider: boolean, signal: AbortSignal): Promise<void> {
    const { provider, login } = this
    const canRefresh = login.kept.tokens?.refresh_token !== undefined && !isWider
    const refresh = async () => (await auth(provider, options)) === 'AUTHORIZED'
    if (canRefresh && (await login.refresh(refresh))) return
    if (!this.isInteractive) throw new Error(NO_TERMINAL)
    this.loopback = await this.listen()
    try {
      if ((await auth(provider, options)) === 'AUTHORIZED') return
      const back = await this.loopback.wait(this.state, signal).catch(async (error) => {
        // An authorization server that has forgotten the client reports it only in the browser.
        await login.save({ client: undefined })
        throw error
      })
      await back.conclude(async (said) => auth(provider, { ...options, ...this.codeOf(said) }))
    } finally {
      this.loopback.close()
    }
  }

  /** The SDK's interface to stored credentials. */
  private asProvider(): OAuthClientProvider {
    const { login, flags } = this
    const { kept } = login
    const own = flags.clientId !== undefined && {
      client_id: flags.clientId,
      ...(flags.clientSecret !== undefined && { client_secret: flags.clientSecret }),
      ...(flags.issuer !== undefined && { issuer: flags.issuer }),
    }
    const redirectUrl = () => this.loopback?.url ?? 'http://127.0.0.1/callback'
    return {
      get redirectUrl() {
        return redirectUrl()
      },
      get clientMetadata() {
        return {
          client_name: 'plantgw',
          redirect_uris: [redirectUrl()],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
          token_endpoint_auth_method: 'none',
          application_type: 'native',
        }
      },
      state: () => {
        this.state = randomBytes(32).toString('base64url')
        return this.state
      },
      clientInformation: () => own || kept.client,
      ...(!own && {
        saveClientInformation: (client) => login.save({ client, port: this.loopback?.port }),
      }),
      // Tokens of another issuer than requested are ignored.
      tokens: () =>
        flags.issuer === undefined || kept.tokens?.issuer === flags.issuer ? kept.tokens : undefined,
      saveTokens: (tokens) => login.save({ tokens }),
      saveCodeVerifier: (verifier) => {
        this.verifier = verifier
      },
      codeVerifier: () => this.verifier,
      discoveryState: () => this.discovered,
      saveDiscoveryState: (found) => this.discover(found),
      invalidateCredentials: async (what) => {
        if (what === 'all' || what === 'client') await login.save({ client: undefined })
        if (what === 'all' || what === 'tokens') await login.save({ tokens: undefined })
      },
      redirectToAuthorization: (url) => this.send(url),
    }
  }

  private discover(found: OAuthDiscoveryState): void {
    const { issuer } = this.flags
    const named = found.authorizationServerMetadata?.issuer ?? found.authorizationServerUrl
    if (issuer !== undefined && named !== issuer)
      throw new Error(`the server names the authorization server ${named}, not the one of --issuer`)
    this.discovered = found
  }

  /** The redirect address: as registered, if its port is free. */
  private async listen(): Promise<Loopback> {
    const { login, flags } = this
    if (flags.redirectPort !== undefined) return Loopback.open(flags.redirectPort)
    const { client, port = 0 } = login.kept
    try {
      return await Loopback.open(port)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
      // Some authorization servers accept only the registered port.
      if (client) await login.save({ client: undefined })
      return Loopback.open(0)
    }
  }

  /** Sends the person to the authorization server. */
  private send(url: URL): void {
    // Refreshing failed, and there is no listener yet for the redirect.
    if (!this.loopback) return
    if (!/^https?:$/.test(url.protocol)) throw new Error(`the login page ${url.href} is not a web page`)
    showLogin(url, this.flags.browser)
  }

  /** The authorization code; accepted only from the server that was asked (RFC 9207). */
  private codeOf(said: URLSearchParams): { authorizationCode: string; iss?: string } {
    const code = said.get('code')
    const iss = said.get('iss') ?? undefined
    if (code) return { authorizationCode: code, ...(iss !== undefined && { iss }) }
    const metadata = this.discovered?.authorizationServerMetadata
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: metadata?.issuer,
      issParameterSupported: metadata?.authorization_response_iss_parameter_supported === true,
    })
    const about = [said.get('error') ?? 'no code', said.get('error_description')].filter(Boolean).join(': ')
    throw new Error(`the authorization server answered ${about.slice(0, 300)}`)
  }
}

const NO_TERMINAL =
  'the server asks for a login (OAuth), and this is not a terminal. Run the command once in a terminal, or with --no-browser and ' +
  'open the address that it prints; or pass --token (or PLANTGW_TOKEN), --header, or --client-credentials with --client-id and --client-secret'

const OPENERS: Partial<Record<NodeJS.Platform, readonly string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Shows a person the address of a login. */
export function showLogin(url: URL, opens: boolean): void {
  process.stderr.write(`Log in at this address:\n${printableLines(url.href)}\n`)
  if (opens) openBrowser(url)
}

/** Opens a page in the user's browser if possible; the URL is also printed. */
export function openBrowser({ href }: URL): void {
  const [command = 'xdg-open', ...args] = OPENERS[process.platform] ?? []
  spawn(command, [...args, href], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}

/** Time for a person to log in. */
const MINUTES = 5
const ORIGIN = 'http://127.0.0.1'
const PATH = '/callback'
const PAGE = (text: string) =>
  `<!doctype html><meta charset="utf-8"><title>plantgw</title><p>${text} You can close this window.</p>`
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  connection: 'close',
}

/** A browser that came back with the authorization response, and waits. */
export interface Back {
  /** Works on the response, and shows the browser whether that succeeded. */
  conclude<T>(work: (said: URLSearchParams) => Promise<T>): Promise<T>
}

async function conclude<T>(response: ServerResponse, work: () => Promise<T>): Promise<T> {
  const show = (text: string) => {
    response.writeHead(200, HEADERS).end(PAGE(text))
    // The browser may be gone.
    return finished(response).catch(() => {})
  }
  try {
    const result = await work()
    await show('The login is complete.')
    return result
  } catch (error) {
    await show('The login has failed: the command says why.')
    throw error
  }
}

/** Redirect target on the loopback interface (RFC 8252, 7.3). Close it. */
export class Loopback {
  private constructor(private readonly server: Server) {}

  /** @param port 0: any free port @throws NodeJS.ErrnoException */
  static async open(port: number): Promise<Loopback> {
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    return new Loopback(server)
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}${PATH}`
  }

  /**
   * Waits for the authorization response; responses with another `state` are ignored.
   * @throws Error `cancelled`, or after the time that a person has
   */
  wait(state: string, cancelled: AbortSignal): Promise<Back> {
    const { server } = this
    const signal = AbortSignal.any([cancelled, AbortSignal.timeout(MINUTES * 60_000)])
    let isHere = false
    return new Promise((resolve, reject) => {
      const abort = () =>
        reject(new Error(cancelled.aborted ? 'cancelled' : `no login within ${MINUTES} minutes`))
      if (signal.aborted) abort()
      signal.addEventListener('abort', abort, { once: true })
      server.on('request', ({ method, url = '' }, response) => {
        // A path such as `//` is not a URL.
        const called = URL.canParse(url, ORIGIN) ? new URL(url, ORIGIN) : undefined
        if (method !== 'GET' || called?.pathname !== PATH)
          return response.writeHead(404, HEADERS).end(PAGE('Nothing is here.'))
        const { searchParams } = called
        if (!isSameSecret(searchParams.get('state') ?? '', state))
          return response.writeHead(400, HEADERS).end(PAGE('This is not the answer to the login.'))
        if (isHere) return response.writeHead(400, HEADERS).end(PAGE('The login was answered before.'))
        isHere = true
        signal.removeEventListener('abort', abort)
        resolve({ conclude: (work) => conclude(response, () => work(searchParams)) })
      })
    })
  }

  close(): void {
    this.server.close()
    this.server.closeIdleConnections()
  }
}

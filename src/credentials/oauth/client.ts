import type {
  AuthorizationServerMetadata,
  FetchLike,
  OAuthClientInformationFull,
  OAuthClientProvider,
  OAuthTokens,
} from '@modelcontextprotocol/client'
import {
  addressOf,
  basicLogin,
  guardFor,
  type IssuerParts,
  objectOf,
} from '../../access/authorization-server.ts'
import type { Credentials as CredentialSettings } from '../../config/model.ts'
import { NetFault, urlFault } from '../../net/index.ts'
import { errorIn, MAX_TOKEN, serverWords } from '../token-endpoint.ts'

/**
 * The MCP SDK, which finds authorization servers as MCP orders it and checks their answers (RFC 7591, 7636, 8414, 8707, 9207,
 * 9728). It is loaded when a login needs it.
 */
export const sdk = () => import('@modelcontextprotocol/client')

/** Why a login failed: a clause for people, without secrets. */
export class LoginError extends Error {
  /** @param code of OAuth, from the authorization server */
  constructor(
    message: string,
    readonly code?: string,
  ) {
    super(message)
  }
}

/** How the gateway is known at an authorization server. */
export type Client = Pick<OAuthClientInformationFull, 'client_id'> &
  Partial<Omit<OAuthClientInformationFull, 'client_id'>>

/** The known facts of an authorization server; plain data. */
export type Metadata = Pick<AuthorizationServerMetadata, 'issuer' | 'token_endpoint'> &
  Partial<AuthorizationServerMetadata>

/** Requests to one authorization server. */
export interface AtServer {
  settings: Pick<CredentialSettings, 'clientAuthentication'>
  metadata: Metadata
  client: Client
  fetchFn: FetchLike
}

/** Milliseconds that one step of a login has for all its requests. Two steps end within a lease of the vault. */
const STEP_TIMEOUT = 14_000

/** A `fetch` for one step, that judges every address. @param named URLs that the configuration names */
export function guardedFetch(
  { http, guards }: Pick<IssuerParts, 'http' | 'guards'>,
  named: readonly (string | undefined)[],
): FetchLike {
  const limit = { timeout: STEP_TIMEOUT, begin: performance.now() }
  return async (to, { method = 'GET', headers, body } = {}) => {
    const url = String(to)
    const request = {
      method,
      ...addressOf(url),
      headers: Object.fromEntries(new Headers(headers)),
      ...((typeof body === 'string' || body instanceof URLSearchParams) && { body: String(body) }),
    }
    const guard = guardFor(guards, url, named)
    const answer = await http.fetch(request, { ...limit, maxSize: 256 * 1024, guard })
    const own = Object.entries(answer.headers).flatMap(([name, value]) =>
      value === undefined || name.startsWith('content-') ? [] : [[name, String(value)] as [string, string]],
    )
    const isBare = [204, 205, 304].includes(answer.status)
    return new Response(isBare ? null : new Uint8Array(answer.body), { status: answer.status, headers: own })
  }
}

/** Status and body, in the message of the SDK. */
const UNREAD = /^(?:HTTP (\d+): )?Invalid OAuth error response: .*?Raw body: (.*)$/s

/** Minimum characters of a secret that is masked: shorter ones are parts of words. */
const MIN_SECRET = 8

/**
 * Does something at a server; its failures become clauses.
 * @param who names the server
 * @param sent secrets of the request, which the server may repeat in its error
 * @throws LoginError
 */
export async function asking<T>(
  who: string,
  work: () => Promise<T>,
  sent: readonly string[] = [],
): Promise<T> {
  const secrets = sent.filter(({ length }) => length >= MIN_SECRET)
  try {
    return await work()
  } catch (error) {
    if (error instanceof LoginError) throw error
    if (error instanceof NetFault && error.kind === 'outbound')
      throw new LoginError(`${who}: ${error.clause}: write \`issuer\`, or allow the address in \`outbound\``)
    if (error instanceof NetFault) throw new LoginError(error.clause)
    const { name, message } = error as Error
    const { OAuthError, IssuerMismatchError, RegistrationRejectedError } = await sdk()
    if (error instanceof RegistrationRejectedError)
      throw new LoginError(`${who} does not let the gateway register itself (status ${error.status})`)
    if (error instanceof IssuerMismatchError)
      throw new LoginError(`${who} is not what it claims: ${serverWords(message)}`)
    // The SDK repeats the whole body of an answer that it cannot read.
    const [isUnread, status = 200, body = ''] = UNREAD.exec(message) ?? []
    if (isUnread) {
      const said = objectOf(body) ?? {}
      const code = typeof said.error === 'string' ? said.error : undefined
      throw new LoginError(`${who} responded with status ${status}${errorIn(said, secrets)}`, code)
    }
    if (error instanceof OAuthError) {
      const { code } = error
      throw new LoginError(
        `${who} responded with ${serverWords(code === message ? code : `${code}: ${message}`, secrets)}`,
        code,
      )
    }
    if (name === 'SyntaxError' || /zod/i.test(name))
      throw new LoginError(`${who} responded with something that OAuth does not allow, such as a web page`)
    throw new LoginError(`${who}: ${serverWords(message, secrets)}`)
  }
}

/** With which a client logs in, in both ways. */
export function secretsOf({ client_id: id, client_secret: secret }: Client): string[] {
  return secret ? [secret, basicLogin(id, secret).replace('Basic ', '')] : []
}

/** Adds the credentials of the client to a form (RFC 6749, 2.3.1). */
export async function clientAuthentication(
  { clientAuthentication: chosen }: AtServer['settings'],
  client: Client,
  supported: readonly string[] = [],
): Promise<NonNullable<OAuthClientProvider['addClientAuthentication']>> {
  const { selectClientAuthMethod } = await sdk()
  const { client_id, client_secret } = client
  const method = chosen ?? selectClientAuthMethod(client, [...supported])
  return (headers, form) => {
    if (client_secret !== undefined && method.endsWith('basic'))
      return void headers.set('authorization', basicLogin(client_id, client_secret))
    form.set('client_id', client_id)
    if (client_secret !== undefined && method.endsWith('post')) form.set('client_secret', client_secret)
  }
}

/** @throws LoginError for tokens that cannot be sent, or not masked */
export function soundTokens(who: string, tokens: OAuthTokens): OAuthTokens {
  const { access_token: token, token_type: type } = tokens
  if (type.toLowerCase() !== 'bearer') throw new LoginError(`${who} gave a token that is not a Bearer token`)
  if (!/^[\x21-\x7e]+$/.test(token)) throw new LoginError(`${who} gave a token that no header can hold`)
  if (token.length > MAX_TOKEN)
    throw new LoginError(`${who} gave a token of more than ${MAX_TOKEN} characters`)
  return tokens
}

/** How people are told of an authorization server. @param url of it, or of one of its endpoints */
export function serverAt(url: string): string {
  return `the authorization server at ${new URL(url).origin}`
}

/** @throws LoginError */
export async function refreshTokens(
  { settings, metadata, client, fetchFn }: AtServer,
  refresh: string,
  resource: string | undefined,
): Promise<OAuthTokens> {
  const { refreshAuthorization } = await sdk()
  const { issuer, token_endpoint, token_endpoint_auth_methods_supported: methods } = metadata
  const addClientAuthentication = await clientAuthentication(settings, client, methods)
  const who = serverAt(token_endpoint)
  const tokens = await asking(
    who,
    () =>
      refreshAuthorization(issuer, {
        metadata: metadata as AuthorizationServerMetadata,
        clientInformation: client,
        refreshToken: refresh,
        ...(resource !== undefined && { resource }),
        addClientAuthentication,
        fetchFn,
      }),
    [refresh, ...secretsOf(client)],
  )
  return soundTokens(who, tokens)
}

/** Tokens to revoke, the refresh token first, as it could create another access token meanwhile. */
interface Revoked {
  refresh_token?: string | undefined
  access_token?: string | undefined
}

/**
 * Revokes tokens (RFC 7009).
 * @returns false: the authorization server revokes none
 * @throws LoginError
 */
export async function revokeTokens(
  { settings, metadata, client, fetchFn }: AtServer,
  { refresh_token, access_token }: Revoked,
): Promise<boolean> {
  const { revocation_endpoint: endpoint, revocation_endpoint_auth_methods_supported: methods } =
    metadata as Record<string, unknown>
  if (typeof endpoint !== 'string' || urlFault(endpoint) || !client.client_id) return false
  const supported = Array.isArray(methods) ? methods.map(String) : []
  const authenticate = await clientAuthentication(settings, client, supported)
  for (const [token_type_hint, token] of Object.entries({ refresh_token, access_token })) {
    if (token === undefined) continue
    const form = new URLSearchParams({ token, token_type_hint })
    const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' })
    await authenticate(headers, form, endpoint)
    const response = await asking(serverAt(endpoint), () =>
      Promise.resolve(fetchFn(endpoint, { method: 'POST', headers, body: form })),
    )
    if (response.status === 200) continue
    // A signed token may be good until it expires, whatever the authorization server does (RFC 7009, 2.2.1).
    const said = objectOf(await response.text()) ?? {}
    const isSigned = said.error === 'unsupported_token_type'
    if (isSigned && token === access_token && refresh_token !== undefined) continue
    const why = errorIn(said, [token, ...secretsOf(client)])
    throw new LoginError(`${endpoint} responded with status ${response.status}${why}`)
  }
  return true
}

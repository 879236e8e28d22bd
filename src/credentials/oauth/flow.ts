import { randomBytes } from 'node:crypto'
import type { AuthorizationServerMetadata, FetchLike, OAuthTokens } from '@modelcontextprotocol/client'
import { type Credentials as CredentialSettings, DEFAULT_TENANT, type McpServer } from '../../config/model.ts'
import { qualifiedName } from '../../config/qualified-name.ts'
import { urlFault } from '../../net/index.ts'
import { isSameSecret } from '../../text/index.ts'
import { serverWords } from '../token-endpoint.ts'
import {
  asking,
  type Client,
  clientAuthentication,
  LoginError,
  type Metadata,
  sdk,
  secretsOf,
  serverAt,
  soundTokens,
} from './client.ts'
import { type Vault, vaultId } from './vault.ts'

/** A server whose requests need the login of a person. */
export interface LoginServer {
  tenant: string
  /** Name of its configuration. */
  configuration: string
  name: string
  /** The `type` of an MCP server; `person`: an authorization server that says who logs in. Absent: an API. */
  type?: McpServer['type'] | 'person' | undefined
  /** Absent: its tools have whole URLs. */
  url?: string | undefined
  settings: CredentialSettings
}

/**
 * The unique name of a server for `plantgw login`: `configuration/server`, or one name if both are the same; a tenant comes
 * first.
 */
export function loginName({ tenant, configuration, name }: Omit<LoginServer, 'type' | 'settings'>): string {
  const inside = tenant === DEFAULT_TENANT && name === configuration ? [] : [name]
  return qualifiedName({ tenant, name: configuration }, ...inside)
}

/** An authorization server, and what to ask of it; plain data. */
interface Authorization {
  metadata: Metadata
  /** Whether `metadata.issuer` is known, so that `iss` of a response is compared with it. */
  knowsIssuer: boolean
  resource?: string | undefined
  scope?: string | undefined
}

/** A login that a person has begun; plain data. */
export interface Attempt extends Authorization {
  /** Where the person logs in. */
  url: string
  state: string
  verifier: string
  redirectUri: string
  client: Client
  /** Id of the kept registration of `client`, if any. */
  registration?: string | undefined
}

interface FlowParts {
  vault: Vault
  fetchFn: FetchLike
  /** Milliseconds since 1970. */
  now: () => number
}

/** Where a person comes back from the authorization server. */
export interface ReturnTarget {
  redirectUri: string
  /** URL of the gateway's Client ID Metadata Document, if it serves one. */
  clientMetadataUrl?: string | undefined
  /** Whether the address is good only for this login, so that a registration with it is not kept. */
  isTransient?: boolean
  /** Begins the `state`, by which the response is found. */
  state?: string
}

/**
 * Finds the authorization server, makes the gateway known to it, and makes the URL at which a person logs in.
 * @param wanted scopes beside those of the settings or the server
 * @throws LoginError, StoreError
 */
export async function beginLogin(
  server: LoginServer,
  to: ReturnTarget,
  wanted: readonly string[],
  parts: FlowParts,
): Promise<Attempt> {
  const found = await findAuthorization(server, parts.fetchFn)
  const { metadata, resource } = found
  const who = serverAt(metadata.issuer)
  const { startAuthorization, computeScopeUnion } = await sdk()
  const { client, registration } = await clientFor(server, metadata, to, parts)
  const isLasting = server.type !== 'person' && metadata.scopes_supported?.includes('offline_access')
  const offline = isLasting ? 'offline_access' : undefined
  const scope = computeScopeUnion(found.scope, wanted.join(' '), offline)
  const state = `${to.state === undefined ? '' : `${to.state}.`}${randomBytes(32).toString('base64url')}`
  const { authorizationUrl, codeVerifier: verifier } = await asking(who, () =>
    startAuthorization(metadata.issuer, {
      metadata: metadata as AuthorizationServerMetadata,
      clientInformation: client,
      redirectUrl: to.redirectUri,
      state,
      ...(scope !== undefined && { scope }),
      ...(resource !== undefined && { resource }),
    }),
  )
  if (urlFault(authorizationUrl.href))
    throw new LoginError(`${who} names a page for logins that is not an https URL`)
  const { redirectUri } = to
  return { ...found, scope, url: authorizationUrl.href, state, verifier, redirectUri, client, registration }
}

/**
 * Takes the response with which a person comes back, and fetches the tokens.
 * @throws LoginError, StoreError
 */
export async function finishLogin(
  server: LoginServer,
  attempt: Attempt,
  response: URLSearchParams,
  { vault, fetchFn }: FlowParts,
): Promise<OAuthTokens> {
  const { metadata, knowsIssuer, state, client, registration, verifier, redirectUri, resource } = attempt
  const who = serverAt(metadata.issuer)
  if (!isSameSecret(response.get('state') ?? '', state))
    throw new LoginError('this is not the answer to the login')
  const { validateAuthorizationResponseIssuer, exchangeAuthorization } = await sdk()
  const iss = knowsIssuer ? (response.get('iss') ?? undefined) : undefined
  const own = metadata as AuthorizationServerMetadata
  const code = response.get('code')
  if (code === null) {
    // The text of another server is not shown (RFC 9207).
    const issParameterSupported = knowsIssuer && own.authorization_response_iss_parameter_supported === true
    await asking(who, async () =>
      validateAuthorizationResponseIssuer({ iss, expectedIssuer: own.issuer, issParameterSupported }),
    )
    const said = [response.get('error') ?? 'no code', response.get('error_description')].filter(Boolean)
    throw new LoginError(`${who} responded with ${serverWords(said.join(': '))}`)
  }
  const methods = metadata.token_endpoint_auth_methods_supported
  const addClientAuthentication = await clientAuthentication(server.settings, client, methods)
  try {
    const exchanged = () =>
      exchangeAuthorization(metadata.issuer, {
        metadata: knowsIssuer ? own : { ...own, authorization_response_iss_parameter_supported: false },
        clientInformation: client,
        authorizationCode: code,
        ...(iss !== undefined && { iss }),
        codeVerifier: verifier,
        redirectUri,
        ...(resource !== undefined && { resource }),
        addClientAuthentication,
        fetchFn,
      })
    const tokens = await asking(who, exchanged, [code, verifier, ...secretsOf(client)])
    await checkToken(server, soundTokens(who, tokens).access_token, fetchFn)
    return tokens
  } catch (error) {
    if (registration !== undefined && error instanceof LoginError && error.code === 'invalid_client')
      await vault.put(registration, undefined)
    throw error
  }
}

/** Whether the server takes the token, which may have been issued for another one. @throws LoginError */
async function checkToken(server: LoginServer, token: string, fetchFn: FetchLike): Promise<void> {
  // A stream would not end.
  if (server.type === 'sse' || server.type === 'person') return
  const response = await probe(server, fetchFn, token).catch(() => undefined)
  if (response?.status === 401)
    throw new LoginError(
      `the server ${server.name} refuses the token that the authorization server gave: it may be for another audience, or the clocks of both may differ`,
    )
}

/** Asks a server for something harmless. */
async function probe({ url = '', type }: LoginServer, fetchFn: FetchLike, token?: string): Promise<Response> {
  const login = { ...(token !== undefined && { authorization: `Bearer ${token}` }) }
  if (type !== 'streamable-http') return fetchFn(url, { headers: { accept: '*/*', ...login } })
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...login,
  }
  return fetchFn(url, { method: 'POST', headers, body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' })
}

/** As MCP orders it: what the configuration says, then the challenge of the server, then the well-known places. */
async function findAuthorization(server: LoginServer, fetchFn: FetchLike): Promise<Authorization> {
  const { url, name, settings } = server
  const { authorizationUrl, tokenUrl, issuer, scopes, resource: named } = settings
  const [resource] = [named ?? []].flat()
  const own = {
    ...(resource !== undefined && { resource }),
    ...(scopes.length && { scope: scopes.join(' ') }),
  }
  if (authorizationUrl !== undefined && tokenUrl !== undefined) {
    const known = issuer ?? new URL(authorizationUrl).origin
    const metadata = {
      issuer: known,
      authorization_endpoint: authorizationUrl,
      token_endpoint: tokenUrl,
      response_types_supported: ['code'],
    }
    return { metadata, knowsIssuer: issuer !== undefined, ...own }
  }
  const { discoverAuthorizationServerMetadata, discoverOAuthServerInfo, extractWWWAuthenticateParams } =
    await sdk()
  if (issuer !== undefined) {
    const metadata = await asking(issuer, () => discoverAuthorizationServerMetadata(issuer, { fetchFn }))
    if (!metadata) throw new LoginError(`${issuer} has no metadata of an authorization server`)
    return { metadata: sound(metadata), knowsIssuer: true, ...own }
  }
  if (url === undefined)
    throw new LoginError(`the server ${name} has no URL where its authorization server could be found`)
  const challenge = await probe(server, fetchFn).then(extractWWWAuthenticateParams, () => undefined)
  const { resourceMetadataUrl, scope } = challenge ?? {}
  const found = await asking(`the server ${name}`, () =>
    discoverOAuthServerInfo(url, { ...(resourceMetadataUrl && { resourceMetadataUrl }), fetchFn }),
  )
  const { authorizationServerMetadata: metadata, resourceMetadata: about } = found
  if (!metadata)
    throw new LoginError(
      `the server ${name} names no authorization server: write \`issuer\`, or \`authorizationUrl\` and \`tokenUrl\``,
    )
  if (about) await checkResource(server, url, about.resource)
  const scopesOfServer = scope ?? about?.scopes_supported?.join(' ')
  return {
    metadata: sound(metadata),
    knowsIssuer: true,
    ...(about && { resource: about.resource }),
    ...(scopesOfServer && { scope: scopesOfServer }),
    ...own,
  }
}

/** Metadata about another server could lead to tokens for it. @throws LoginError */
async function checkResource({ name }: LoginServer, url: string, resource: string): Promise<void> {
  const { checkResourceAllowed } = await sdk()
  if (checkResourceAllowed({ requestedResource: new URL(url), configuredResource: resource })) return
  throw new LoginError(`the metadata of the server ${name} are about another one, ${serverWords(resource)}`)
}

/** @throws LoginError */
function sound(metadata: AuthorizationServerMetadata): Metadata {
  if (urlFault(metadata.token_endpoint))
    throw new LoginError(`${metadata.issuer} has a token endpoint that is not an https URL`)
  return metadata
}

/** The client of the configuration, the gateway's own document, or a registration, which is kept. */
async function clientFor(
  { tenant, settings }: LoginServer,
  metadata: Metadata,
  { redirectUri, clientMetadataUrl, isTransient = false }: ReturnTarget,
  { vault, fetchFn, now }: FlowParts,
): Promise<{ client: Client; registration?: string }> {
  const { clientId, clientSecret } = settings
  if (clientId !== undefined)
    return {
      client: { client_id: clientId, ...(clientSecret !== undefined && { client_secret: clientSecret }) },
    }
  if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true)
    return { client: { client_id: clientMetadataUrl } }
  if (isTransient) return { client: await register(metadata, redirectUri, fetchFn) }
  const registration = vaultId(['registration', tenant, metadata.issuer, redirectUri])
  return vault.change<Client, { client: Client; registration: string }>(
    registration,
    async (known, write) => {
      const ends = known?.client_secret_expires_at || Number.POSITIVE_INFINITY
      if (known && ends * 1000 > now() + REGISTRATION_MARGIN) return { client: known, registration }
      const client = await register(metadata, redirectUri, fetchFn)
      await write(client)
      return { client, registration }
    },
  )
}

/** Milliseconds that a registration has to be good for. */
const REGISTRATION_MARGIN = 3_600_000

async function register(metadata: Metadata, redirectUri: string, fetchFn: FetchLike): Promise<Client> {
  const { registration_endpoint: endpoint, issuer, token_endpoint_auth_methods_supported: methods } = metadata
  if (endpoint === undefined)
    throw new LoginError(
      `${issuer} lets no client register itself: register the gateway there, and write its \`clientId\``,
    )
  const { registerClient } = await sdk()
  const known = ['client_secret_basic', 'client_secret_post'].find((method) => methods?.includes(method))
  const isPublic = !methods || methods.includes('none') || known === undefined
  return asking(serverAt(issuer), () =>
    registerClient(issuer, {
      metadata: metadata as AuthorizationServerMetadata,
      clientMetadata: clientMetadata([redirectUri], isPublic ? 'none' : known),
      fetchFn,
    }),
  )
}

/** Path of the gateway's Client ID Metadata Document, below its `publicUrl`. */
export const CLIENT_DOCUMENT = '/_login/client.json'
/** Path to which a browser comes back, below `publicUrl`. */
export const CALLBACK = '/_login/callback'
/** Where a command listens; authorization servers accept any port of it (RFC 8252, 7.3). */
const LOOPBACK = 'http://127.0.0.1/callback'

/** Undefined: an authorization server could not fetch it. */
export function clientDocumentUrl(publicUrl: string | undefined): string | undefined {
  return publicUrl?.startsWith('https:') ? publicUrl + CLIENT_DOCUMENT : undefined
}

/** The gateway's Client ID Metadata Document (draft-ietf-oauth-client-id-metadata-document). */
export function clientDocument(clientDocument: string) {
  const callback = clientDocument.replace(CLIENT_DOCUMENT, CALLBACK)
  return { client_id: clientDocument, ...clientMetadata([callback, LOOPBACK], 'none') }
}

/** How the gateway describes itself (RFC 7591, 2). */
function clientMetadata(redirectUris: string[], method: string) {
  const isNative = redirectUris.every((uri) => uri.startsWith('http://127.0.0.1'))
  return {
    client_name: 'plantgw',
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
    application_type: isNative ? 'native' : 'web',
  }
}

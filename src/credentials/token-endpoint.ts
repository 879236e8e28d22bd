import { basicLogin, FormEndpoint, type IssuerParts, objectOf } from '../access/discovery.ts'
import type { Credentials as CredentialSettings } from '../config/model.ts'
import { Fault, type FaultKind } from '../mcp/fault.ts'
import { type HttpAnswer, NetFault } from '../net/index.ts'
import type { AskToken, FetchedToken } from './token-cache.ts'

/** Characters: what is longer is not found again in answers, to be masked there. */
const MAX_TOKEN = 8_000
/** Seconds, where an answer does not say how long its token lives (RFC 6749, 5.1). */
const DEFAULT_LIFETIME = 300
/** Seconds: what a timer and a clock can be trusted with. */
const MAX_LIFETIME = 86_400

/** What servers say of a request (RFC 6749, 5.2; RFC 8693, 2.2.2). Other words may be anything. */
const ERRORS = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
  'invalid_target',
])

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:'

/** Why there is no token. */
class TokenFault extends Error {
  constructor(
    readonly kind: FaultKind,
    message: string,
  ) {
    super(message)
  }
}

/** Asks for tokens: for the gateway (RFC 6749, 4.4), or in exchange for those of callers (RFC 8693, 2.1). */
export function tokenAsker(
  server: string,
  settings: CredentialSettings,
  parts: Pick<IssuerParts, 'http' | 'guards'>,
): AskToken {
  const { issuer = '', tokenUrl: url, clientAuthentication, clientId = '', clientSecret = '' } = settings
  const login = clientAuthentication === 'basic' ? basicLogin(clientId, clientSecret) : undefined
  const endpoint = new FormEndpoint(parts, { issuer, url, member: 'token_endpoint', login })

  return async (subject) => {
    try {
      const { answer, origin } = await endpoint.post(formOf(settings, subject))
      return tokenOf(answer, origin)
    } catch (error) {
      endpoint.forget()
      return faultOf(server, error)
    }
  }
}

function formOf(settings: CredentialSettings, subject: string | undefined): URLSearchParams {
  const { clientAuthentication, clientId = '', clientSecret = '', scopes } = settings
  const form = new URLSearchParams()
  if (subject === undefined) form.set('grant_type', 'client_credentials')
  else {
    form.set('grant_type', EXCHANGE)
    form.set('subject_token', subject)
    form.set('subject_token_type', TOKEN_TYPE + settings.subjectTokenType)
    form.set('requested_token_type', `${TOKEN_TYPE}access_token`)
  }
  for (const key of ['resource', 'audience'] as const)
    for (const one of [settings[key] ?? []].flat()) form.append(key, one)
  if (scopes.length > 0) form.set('scope', scopes.join(' '))
  if (clientAuthentication === 'post') {
    form.set('client_id', clientId)
    form.set('client_secret', clientSecret)
  }
  return form
}

/** @throws TokenFault */
function tokenOf({ status, body }: HttpAnswer, origin: string): FetchedToken {
  const answer = objectOf(body.toString()) ?? {}
  const who = `the token endpoint at ${origin}`
  if (status !== 200) {
    const code = ERRORS.has(String(answer.error)) ? ` (${answer.error})` : ''
    throw new TokenFault('status', `${who} responded with status ${status}${code}`)
  }
  const { access_token: token, token_type: type, expires_in: lifetime } = answer
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new TokenFault('invalid', `${who} responded without an access token`)
  if (token.length > MAX_TOKEN)
    throw new TokenFault('invalid', `the access token of ${who} is longer than ${MAX_TOKEN} characters`)
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer')
    throw new TokenFault('invalid', `the access token of ${who} is not a Bearer token`)
  // Some servers write the number as a text.
  const seconds = lifetime === undefined || lifetime === null ? DEFAULT_LIFETIME : Number(lifetime)
  const known = Number.isFinite(seconds) ? seconds : DEFAULT_LIFETIME
  return { token, lifetime: Math.min(Math.max(known, 0), MAX_LIFETIME) * 1000 }
}

/** What a fault of the network is for those who wait for a token. */
const KINDS: Partial<Record<NetFault['kind'], FaultKind>> = {
  timeout: 'timeout',
  'connect-timeout': 'timeout',
  'too-large': 'invalid',
  encoding: 'invalid',
  protocol: 'invalid',
  outbound: 'refused',
  'no-room': 'busy',
}

/** Neither a secret nor a token is in it: texts of foreign servers are not shown. */
function faultOf(server: string, error: unknown): Fault {
  const [kind, reason] =
    error instanceof NetFault
      ? [KINDS[error.kind] ?? 'unreachable', error.clause]
      : [error instanceof TokenFault ? error.kind : 'invalid', (error as Error).message]
  return new Fault(kind, `No token for the server ${server} could be fetched: ${reason}`)
}

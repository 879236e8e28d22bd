import { basicLogin, FormEndpoint, type IssuerParts, objectOf } from '../access/authorization-server.ts'
import type { Credentials as CredentialSettings } from '../config/model.ts'
import { Fault, type FaultKind } from '../mcp/fault.ts'
import { visibleLine } from '../mcp/visible.ts'
import { type HttpAnswer, NetFault } from '../net/index.ts'
import type { AskToken, FetchedToken } from './token-cache.ts'

/** Maximum characters of a token: longer ones could not be masked in answers. */
export const MAX_TOKEN = 8_000
/** Lifetime in seconds of a token without `expires_in` (RFC 6749, 5.1). */
const DEFAULT_LIFETIME = 300

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

/** Requests tokens for the gateway (RFC 6749, 4.4), or in exchange for callers' tokens (RFC 8693, 2.1). */
export function tokenAsker(
  server: string,
  settings: CredentialSettings,
  parts: Pick<IssuerParts, 'http' | 'guards'>,
): AskToken {
  const { issuer = '', tokenUrl: url, clientId = '', clientSecret = '' } = settings
  const endpoint = new FormEndpoint(parts, { issuer, url, member: 'token_endpoint' })

  return async (subject) => {
    try {
      const form = formOf(settings, subject)
      const login = basicLogin(clientId, clientSecret)
      const isPosted = postsLogin(settings, (await endpoint.find()).methods)
      if (isPosted) {
        form.set('client_id', clientId)
        form.set('client_secret', clientSecret)
      }
      const { answer, origin } = await endpoint.post(form, isPosted ? undefined : login)
      const secrets = [clientSecret, login.replace('Basic ', ''), subject ?? '']
      return tokenOf(answer, origin, secrets.filter(Boolean))
    } catch (error) {
      endpoint.forget()
      return faultOf(server, error)
    }
  }
}

/** Whether client credentials go into the form: by the settings, or as the server supports only that (RFC 8414, 2). */
function postsLogin({ clientAuthentication }: CredentialSettings, methods: readonly unknown[] = []): boolean {
  if (clientAuthentication !== undefined) return clientAuthentication === 'post'
  return methods.includes('client_secret_post') && !methods.includes('client_secret_basic')
}

function formOf(settings: CredentialSettings, subject: string | undefined): URLSearchParams {
  const { scopes } = settings
  const form = new URLSearchParams()
  if (subject === undefined) form.set('grant_type', 'client_credentials')
  else {
    form.set('grant_type', EXCHANGE)
    form.set('subject_token', subject)
    form.set('subject_token_type', `${TOKEN_TYPE}access_token`)
    form.set('requested_token_type', `${TOKEN_TYPE}access_token`)
  }
  for (const key of ['resource', 'audience'] as const)
    for (const one of [settings[key] ?? []].flat()) form.append(key, one)
  if (scopes.length > 0) form.set('scope', scopes.join(' '))
  return form
}

/** The words of a server, on one line. @param secrets that the request held, masked in them */
export function serverWords(text: string, secrets: readonly string[] = []): string {
  const masked = secrets
    .flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      new URLSearchParams({ '': secret }).toString().slice(1),
    ])
    .reduce((rest, form) => rest.replaceAll(form, '***'), text)
  return visibleLine(masked, 200)
}

/**
 * The error in a server's answer (RFC 6749, 5.2), also in nonstandard members: in brackets, after a space; empty if there is none.
 * @param secrets masked in it
 */
export function errorIn(answer: Record<string, unknown>, secrets: readonly string[]): string {
  const { error, error_description: description, message, detail } = answer
  const words = [error, description, message, detail].filter((one) => typeof one === 'string' && one !== '')
  const text = serverWords(words.slice(0, 2).join(': '), secrets)
  return text && ` (${text})`
}

/** @param secrets that the request held @throws TokenFault */
function tokenOf({ status, body }: HttpAnswer, origin: string, secrets: readonly string[]): FetchedToken {
  const answer = objectOf(body.toString()) ?? {}
  const who = `the token endpoint at ${origin}`
  const { access_token: token, token_type: type, expires_in: lifetime } = answer
  // GitHub answers errors with 200.
  if (status < 200 || status > 299 || (token === undefined && answer.error !== undefined))
    throw new TokenFault('status', `${who} responded with status ${status}${errorIn(answer, secrets)}`)
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))
    throw new TokenFault('invalid', `${who} responded without an access token`)
  if (token.length > MAX_TOKEN)
    throw new TokenFault('invalid', `the access token of ${who} is longer than ${MAX_TOKEN} characters`)
  // Some servers leave the type out, and mean the only one that there is in practice.
  if (type !== undefined && type !== null && String(type).toLowerCase() !== 'bearer')
    throw new TokenFault('invalid', `the access token of ${who} is not a Bearer token`)
  // Some servers write the number as a text.
  const seconds = lifetime === undefined || lifetime === null ? DEFAULT_LIFETIME : Number(lifetime)
  const known = Number.isFinite(seconds) ? seconds : DEFAULT_LIFETIME
  // Maximum lifetime in seconds, as timers and clocks drift.
  return { token, lifetime: Math.min(Math.max(known, 0), 86_400) * 1000 }
}

/** Converts a network fault for callers that wait for a token. */
const KINDS: Partial<Record<NetFault['kind'], FaultKind>> = {
  timeout: 'timeout',
  'connect-timeout': 'timeout',
  'too-large': 'invalid',
  encoding: 'invalid',
  protocol: 'invalid',
  outbound: 'refused',
  'no-room': 'busy',
}

/** Neither a secret nor a token is in it. */
function faultOf(server: string, error: unknown): Fault {
  const [kind, reason] =
    error instanceof NetFault
      ? [KINDS[error.kind] ?? 'unreachable', error.clause]
      : [error instanceof TokenFault ? error.kind : 'invalid', (error as Error).message]
  return new Fault(kind, `No token for the server ${server} could be fetched: ${reason}`)
}

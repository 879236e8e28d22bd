import {
  assertSecureTokenEndpoint,
  discoverAuthorizationServerMetadata,
  type FetchLike,
  selectClientAuthMethod,
} from '@modelcontextprotocol/client'
import { Command, Option } from 'commander'
import { DEFAULT_LIMITS } from '../../config/index.ts'
import { HttpClient } from '../../net/index.ts'
import { httpFetch } from '../call/client.ts'
import { printable } from '../call/printable.ts'
import { urlOf } from '../call/target.ts'
import { untilInterrupted } from '../options.ts'
import { settingsOption } from '../settings.ts'
import { type Kept, KeptLogin } from './kept-login.ts'

interface LogoutFlags {
  settings?: string
  clientSecret?: string
}

/** Milliseconds allowed for the answers of one authorization server. */
const LOGOUT_TIMEOUT = 30_000

export function logoutCommand(exit: (code: number) => void): Command {
  return new Command('logout')
    .description('Remove saved logins and revoke their tokens.')
    .argument('[url|prefix]', 'server to log out of, such as /garden; absent: all of them')
    .addOption(settingsOption("settings file that gives the gateway's host and port"))
    .addOption(
      new Option('--client-secret <secret>', 'secret of the client of `--client-id`').env(
        'PLANTGW_CLIENT_SECRET',
      ),
    )
    .action(async (target: string | undefined, flags: LogoutFlags) => exit(await logout(target, flags)))
}

/** @returns 1 if a token could not be revoked although its authorization server supports that */
async function logout(target: string | undefined, { settings, clientSecret }: LogoutFlags): Promise<number> {
  const url = target === undefined ? undefined : urlOf(target, settings)
  const logins = await KeptLogin.all(url, process.env)
  if (logins.length === 0) process.stdout.write('no login is kept\n')
  let code = 0
  await untilInterrupted(async (interrupted) => {
    const http = new HttpClient({ connectTimeout: DEFAULT_LIMITS.connectTimeout })
    try {
      for (const login of logins) {
        const signal = AbortSignal.any([interrupted, AbortSignal.timeout(LOGOUT_TIMEOUT)])
        const send: FetchLike = (to, init) => httpFetch(http)(to, { ...init, signal })
        const { url: server } = login.kept
        try {
          const outcome = await revoke(login.kept, clientSecret, send)
          process.stdout.write(printable(`logged out of ${server}: ${outcome}\n`))
        } catch (error) {
          code = 1
          const reason = signal.aborted ? 'no answer in time' : (error as Error).message
          const what = 'the login is removed, but its tokens are valid until they expire'
          process.stderr.write(printable(`${server}: ${what}: ${reason}\n`))
        }
        // Logging out always removes local secrets, even if the server fails.
        await login.remove()
      }
    } finally {
      await http.close()
    }
  })
  return code
}

/**
 * Revokes the tokens of a login (RFC 7009).
 * @returns the result for people
 * @throws Error on failure
 */
async function revoke(
  { tokens, client, clientId }: Kept,
  clientSecret: string | undefined,
  send: FetchLike,
): Promise<string> {
  if (!tokens) return 'there was no token'
  const { issuer, refresh_token, access_token } = tokens
  const own = client ?? {
    client_id: clientId ?? '',
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
  }
  const found = issuer && (await discoverAuthorizationServerMetadata(issuer, { fetchFn: send }))
  // Members of RFC 8414 that OpenID Connect lacks.
  const { revocation_endpoint: endpoint, revocation_endpoint_auth_methods_supported: supported } = (found ||
    {}) as Record<string, unknown>
  if (typeof endpoint !== 'string' || !own.client_id)
    return 'its tokens are valid until they expire, as the authorization server revokes none'
  const method = selectClientAuthMethod(own, Array.isArray(supported) ? supported.map(String) : [])
  const to = assertSecureTokenEndpoint(endpoint)
  // The refresh token first, as it could create another access token meanwhile.
  for (const [hint, token] of Object.entries({ refresh_token, access_token })) {
    if (token === undefined) continue
    const { status } = await send(to, {
      method: 'POST',
      ...authenticated({ token, token_type_hint: hint }, own, method),
    })
    if (status !== 200) throw new Error(`${to.href} answered ${status}`)
  }
  return `its tokens are revoked at ${issuer}`
}

interface OwnClient {
  client_id: string
  client_secret?: string | undefined
}

/** Header and body of a request with client credentials (RFC 6749, 2.3.1). */
function authenticated(
  form: Record<string, string>,
  { client_id, client_secret = '' }: OwnClient,
  method: string,
): { headers: Record<string, string>; body: URLSearchParams } {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  if (method === 'client_secret_basic') {
    const [user, password] = [client_id, client_secret].map(encodeURIComponent)
    const basic = Buffer.from(`${user}:${password}`).toString('base64')
    return { headers: { ...type, authorization: `Basic ${basic}` }, body: new URLSearchParams(form) }
  }
  const secret = method === 'client_secret_post' && { client_secret }
  return { headers: type, body: new URLSearchParams({ ...form, client_id, ...secret }) }
}

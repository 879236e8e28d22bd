import { discoverAuthorizationServerMetadata, type FetchLike } from '@modelcontextprotocol/client'
import { Command, Option } from 'commander'
import { DEFAULT_LIMITS } from '../../config/index.ts'
import { LoginError, revokeTokens } from '../../credentials/oauth/client.ts'
import { HttpClient } from '../../net/index.ts'
import { printableLines } from '../../text/index.ts'
import { httpFetch } from '../call/client.ts'
import { HOST_AND_PORT, urlOf } from '../call/target.ts'
import { untilInterrupted } from '../options.ts'
import { settingsOption } from '../settings.ts'
import { type Kept, KeptLogin } from './kept-login.ts'
import { withServerLogin } from './server-logins.ts'

interface LogoutFlags {
  settings?: string
  clientSecret?: string
}

export function logoutCommand(exit: (code: number) => void): Command {
  return new Command('logout')
    .description('Remove saved logins and revoke their tokens.')
    .argument(
      '[url|prefix|server]',
      'a server that you logged in at, such as /garden, or one that the gateway is logged in at, by its name; absent: all of yours',
    )
    .argument('[paths...]', 'with a name: configuration files or folders (default: those that `serve` reads)')
    .addOption(settingsOption("settings file that gives the gateway's host and port"))
    .addOption(
      new Option('--client-secret <secret>', 'secret of the client of `--client-id`').env(
        'PLANTGW_CLIENT_SECRET',
      ),
    )
    .action(async (target: string | undefined, paths: string[], flags: LogoutFlags) => {
      const isName = target !== undefined && isServerName(target)
      exit(isName ? await logoutServer(target, paths, flags) : await logout(target, flags))
    })
}

/** Whether a text is neither a URL nor a prefix. */
function isServerName(text: string): boolean {
  return !text.startsWith('/') && !/^https?:/i.test(text) && !HOST_AND_PORT.test(text)
}

/** Ends the gateway's own login at a server. */
function logoutServer(name: string, paths: readonly string[], { settings }: LogoutFlags): Promise<number> {
  return withServerLogin(name, paths, settings, async (login) => {
    try {
      const outcome = await login.logout()
      const text =
        outcome === undefined ? `there is no login at ${name}` : `logged out of ${name}: ${outcome}`
      process.stdout.write(printableLines(`${text}\n`))
      return 0
    } catch (error) {
      if (!(error instanceof LoginError)) throw error
      process.stderr.write(printableLines(`${name}: ${NOT_REVOKED}: ${error.message}\n`))
      return 1
    }
  })
}

const NOT_REVOKED = 'the login is removed, but its tokens are valid until they expire'

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
        const signal = AbortSignal.any([interrupted, AbortSignal.timeout(30_000)])
        const send: FetchLike = (to, init) => httpFetch(http)(to, { ...init, signal })
        const { url: server } = login.kept
        try {
          const outcome = await revoke(login.kept, clientSecret, send)
          process.stdout.write(printableLines(`logged out of ${server}: ${outcome}\n`))
        } catch (error) {
          code = 1
          const reason = signal.aborted ? 'no answer in time' : (error as Error).message
          process.stderr.write(printableLines(`${server}: ${NOT_REVOKED}: ${reason}\n`))
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
  const metadata = issuer && (await discoverAuthorizationServerMetadata(issuer, { fetchFn: send }))
  const at = { settings: {}, client: own, fetchFn: send }
  const isRevoked = metadata && (await revokeTokens({ ...at, metadata }, { refresh_token, access_token }))
  return isRevoked
    ? `its tokens are revoked at ${issuer}`
    : 'its tokens are valid until they expire, as the authorization server revokes none'
}

import { Command } from 'commander'
import { clientDocumentUrl } from '../../credentials/oauth/flow.ts'
import type { ServerLogin } from '../../credentials/oauth/server-login.ts'
import { printableLines } from '../../text/index.ts'
import { untilInterrupted, wholeNumber } from '../options.ts'
import { settingsOption } from '../settings.ts'
import { Loopback, showLogin } from './login.ts'
import { withServerLogin } from './server-logins.ts'

interface LoginFlags {
  settings?: string
  redirectPort: number
  browser: boolean
}

export function loginCommand(exit: (code: number) => void): Command {
  return new Command('login')
    .description('Log the gateway in at a server whose `credentials` are `type: oauth`, with your browser.')
    .argument(
      '<server>',
      'name of the server; where several have it: configuration/name or tenant/configuration/name',
    )
    .argument('[paths...]', 'configuration files or folders (default: those that `serve` reads)')
    .addOption(settingsOption('settings file of the gateway, with its `vault`'))
    .option('--redirect-port <port>', 'local port for the OAuth redirect', wholeNumber(0, 65_535), 0)
    .option('--no-browser', 'print the address of the login only')
    .action(async (server: string, paths: string[], flags: LoginFlags) =>
      exit(
        await withServerLogin(server, paths, flags.settings, (login, { publicUrl }) =>
          logIn(login, publicUrl, flags),
        ),
      ),
    )
}

async function logIn(
  login: ServerLogin,
  publicUrl: string | undefined,
  { redirectPort, browser }: LoginFlags,
): Promise<number> {
  const loopback = await Loopback.open(redirectPort)
  try {
    const attempt = await login.begin({
      redirectUri: loopback.url,
      clientMetadataUrl: clientDocumentUrl(publicUrl),
      isTransient: true,
    })
    showLogin(new URL(attempt.url), browser)
    const back = await untilInterrupted((interrupted) => loopback.wait(attempt.state, interrupted))
    await back.conclude((said) => login.finish(attempt, said))
    const { name } = login.server
    process.stdout.write(printableLines(`logged in to ${name} at ${attempt.metadata.issuer}\n`))
    return 0
  } finally {
    loopback.close()
  }
}

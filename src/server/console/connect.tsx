import {
  CLIENT_NAMES,
  type ClientName,
  clientOf,
  entryNamer,
  newFile,
  TOKEN_ENV,
} from '../../import/clients/index.ts'
import { shellWord } from '../../text/index.ts'
import type { PrefixStatus } from '../status.ts'
import { at, Choice, More, Page } from './layout.tsx'

/** Maximum prefixes of a page. */
const MAX_PREFIXES = 200

interface ConnectProps {
  prefixes: readonly PrefixStatus[]
  client: ClientName
  /** System of the browser, where the client is expected too. */
  platform: NodeJS.Platform
}

/** Folders of a user, as Windows expands them. */
const WINDOWS = { home: '%USERPROFILE%', env: { APPDATA: '%APPDATA%' } }

/** How a client connects to each prefix: a link, the text of its configuration file, and a command. */
export function ConnectPage({ prefixes, client: name, platform }: ConnectProps) {
  const client = clientOf(name)
  const nameOf = entryNamer()
  const file = client.file(platform === 'win32' ? { platform, ...WINDOWS } : { platform, home: '~', env: {} })
  return (
    <Page title="Connect" page="connect">
      <form method="get" action={at('connect')} class="filter">
        <Choice label="Client" name="client" options={CLIENT_NAMES} chosen={name} />
        <button type="submit">Show</button>
      </form>
      {prefixes.slice(0, MAX_PREFIXES).map(({ prefix, url, access }) => {
        const base = url.slice(0, -`${prefix === '/' ? '' : prefix}/mcp`.length)
        const tokenEnv = access === 'token' ? TOKEN_ENV : undefined
        const endpoint = { name: nameOf(prefix), url, tokenEnv }
        return (
          <section aria-label={prefix}>
            <h2>
              <code>{prefix}</code>
            </h2>
            <p>
              URL <code>{url}</code>, {ACCESS[access]}.
            </p>
            {client.installLink && (
              <p>
                <a href={client.installLink(endpoint)}>{`Add ${endpoint.name} to ${client.label}`}</a>
              </p>
            )}
            <p>
              In <code>{file}</code>:
            </p>
            <pre tabindex={0}>{newFile(client, [endpoint], platform)}</pre>
            <p>Or let this command write it:</p>
            <pre tabindex={0}>
              {`plantgw connect ${name} ${shellWord(prefix)} --url ${shellWord(base)}${tokenEnv ? ` --token-env ${tokenEnv}` : ''}`}
            </pre>
          </section>
        )
      })}
      <More count={prefixes.length - MAX_PREFIXES} />
      <p>The last step: {client.next}</p>
    </Page>
  )
}

const ACCESS = {
  open: 'open to all who reach it',
  token: `callers need a token, which the client reads from ${TOKEN_ENV} or asks for`,
  oauth: 'callers log in at the authorization server, and the client opens the browser for it',
} as const

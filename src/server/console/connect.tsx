import { CLIENT_NAMES, TOKEN_ENV } from '../../import/clients/index.ts'
import { shellWord } from '../../text/index.ts'
import type { PrefixStatus } from '../status.ts'
import { at, Choice, More, Page } from './layout.tsx'

/** Maximum prefixes of a page. */
const MAX_PREFIXES = 200

/** How clients connect to each prefix. */
export function ConnectPage({ prefixes, client }: { prefixes: readonly PrefixStatus[]; client: string }) {
  return (
    <Page title="Connect" page="connect">
      <form method="get" action={at('connect')} class="filter">
        <Choice label="Client" name="client" options={CLIENT_NAMES} chosen={client} />
        <button type="submit">Show</button>
      </form>
      {prefixes.slice(0, MAX_PREFIXES).map((one) => {
        const { prefix, url, access } = one
        const base = url.slice(0, -`${prefix === '/' ? '' : prefix}/mcp`.length)
        const token = access === 'token' ? ` --token-env ${TOKEN_ENV}` : ''
        return (
          <section aria-label={prefix}>
            <h2>
              <code>{prefix}</code>
            </h2>
            <p>
              URL <code>{url}</code>, {ACCESS[access]}.
            </p>
            <pre
              tabindex={0}
            >{`plantgw connect ${client} ${shellWord(prefix)} --url ${shellWord(base)}${token}`}</pre>
          </section>
        )
      })}
      <More count={prefixes.length - MAX_PREFIXES} />
    </Page>
  )
}

const ACCESS = {
  open: 'open to all who reach it',
  token: `callers need a token, which the client reads from ${TOKEN_ENV}`,
  oauth: 'callers log in at the authorization server, and the client opens the browser for it',
} as const

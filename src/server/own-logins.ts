import type { Context } from 'hono'
import { html } from 'hono/html'
import type { HttpResponse } from '../access/http-response.ts'
import { LoginError } from '../credentials/oauth/client.ts'
import { loginName } from '../credentials/oauth/flow.ts'
import type { LoginState, ServerLogin } from '../credentials/oauth/server-login.ts'
import { loginChanged, type Person, personIn } from '../credentials/oauth/tickets.ts'
import type { Vault } from '../credentials/oauth/vault.ts'
import type { RequestHeaders } from '../mcp/index.ts'
import { cookieOf, formOf, type Html, page } from './login-html.ts'

export interface OwnLoginsParts {
  vault: Vault
  publicUrl: string
  /** Milliseconds since 1970. */
  now: () => number
  /** The logins of callers at the servers that are served. */
  logins: () => readonly ServerLogin[]
}

/** The page where a person sees and ends its logins, in a browser that has proved whose it is. */
export function createOwnLogins({ vault, publicUrl, now, logins }: OwnLoginsParts) {
  /** The logins of the person whose browser it is. @throws LoginError, StoreError */
  async function ownLogins(cookie: string | undefined): Promise<{ person: Person; own: ServerLogin[] }> {
    const person = cookie === undefined ? undefined : await personIn(vault, cookie, now())
    if (!person)
      throw new LoginError(
        'this browser has not shown in the last ten minutes whose logins it may see. Call the tool `login_…` of the server in your MCP client, and open the page that it names',
      )
    const { tenant, configuration, caller } = person
    // A token of a file is of one configuration.
    const isEverywhere = caller.issuer !== undefined
    const own = logins()
      .filter(({ server }) => server.tenant === tenant)
      .filter(({ server }) => isEverywhere || server.configuration === configuration)
    return { person, own: own.map((login) => login.of(caller)) }
  }

  async function list(cookie: string | undefined, said?: string): Promise<HttpResponse> {
    const { person, own } = await ownLogins(cookie)
    const states = await Promise.all(
      own.map(async (login) => ({ login, state: await login.state().catch(() => 'unknown' as const) })),
    )
    return page(
      200,
      listOf(
        person,
        states.filter(({ state }) => state !== 'missing'),
        said,
      ),
    )
  }

  async function end(c: Context, { origin, cookie: cookies }: RequestHeaders): Promise<HttpResponse> {
    const cookie = cookieOf(cookies)
    const name = (await formOf(c, new URL(publicUrl).origin, origin)).get('end')
    const { person, own } = await ownLogins(cookie)
    const login = own.find(({ server }) => loginName(server) === name)
    if (!login) return list(cookie)
    const said = await login.logout().catch((error) => {
      if (error instanceof LoginError) return error.message
      throw error
    })
    loginChanged(login, person.caller)
    return list(cookie, `The login at ${login.server.name} has ended: ${said ?? 'there was none'}.`)
  }

  return { list, end }
}

interface Listed {
  login: ServerLogin
  state: LoginState | 'unknown'
}

function listOf({ caller }: Person, listed: readonly Listed[], said: string | undefined): Html {
  const rows = listed.map(({ login: { server }, state }) => {
    const label = `End the login at ${server.name}`
    return html`<li><b>${server.name}</b> (${state}) <button name="end" value="${loginName(server)}" aria-label="${label}">End</button></li>`
  })
  return html`<p>Logins of <b>${caller.name}</b>:</p>${said && html`<p role="status">${said}</p>`}
${rows.length ? html`<form method="post" action="./"><ul>${rows}</ul></form>` : html`<p>There are none.</p>`}`
}

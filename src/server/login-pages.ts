import { randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import { html } from 'hono/html'
import { parse } from 'hono/utils/cookie'
import { HttpResponse } from '../access/http-response.ts'
import { memory } from '../access/memory.ts'
import { LoginError } from '../credentials/oauth/client.ts'
import { CALLBACK, loginName } from '../credentials/oauth/flow.ts'
import {
  comeBack,
  enter,
  GONE,
  idOf,
  idOfState,
  LOGIN_PAGES,
  loginChanged,
  type Person,
  personIn,
  type StoredPage,
  type Turn,
} from '../credentials/oauth/pages.ts'
import type { LoginState, ServerLogin } from '../credentials/oauth/server-login.ts'
import type { Vault } from '../credentials/oauth/vault.ts'
import { type RequestHeaders, readBody } from '../mcp/index.ts'
import { StoreError } from '../store/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { type Html, plainPages } from './page.ts'

interface LoginPagesParts {
  vault: Vault
  publicUrl: string
  /** Milliseconds since 1970. */
  now: () => number
  /** The logins of callers at the servers that are served. */
  logins: () => readonly ServerLogin[]
  log: Logger
}

/** Answers a request for a page where a caller logs in, or sees its logins; undefined for other paths. */
export type LoginPages = (c: Context, headers: RequestHeaders) => Promise<HttpResponse | undefined>

/** Seconds that a browser keeps it. */
const COOKIE_AGE = 600
const TOKEN = /^[\w-]{32}$/

export function createLoginPages(parts: LoginPagesParts): LoginPages {
  const { vault, publicUrl, log, logins } = parts
  const { list, end } = ownLoginsPage(parts)
  const { protocol, pathname } = new URL(publicUrl)
  const attributes = `Path=${pathname.replace(/\/$/, '')}/_login; Max-Age=${COOKIE_AGE}; HttpOnly; SameSite=Lax${protocol === 'https:' ? '; Secure' : ''}`

  /** @throws LoginError, StoreError */
  async function found(id: string): Promise<{ stored: StoredPage; login: ServerLogin }> {
    const stored = await vault.get<StoredPage>(id)
    const login = logins().find(
      ({ server }) =>
        server.name === stored?.server &&
        server.configuration === stored.configuration &&
        server.tenant === stored.tenant,
    )
    if (!stored || !login) throw new LoginError(GONE)
    return { stored, login: login.of(stored.caller) }
  }

  async function show(id: string): Promise<HttpResponse> {
    const { stored } = await found(id)
    return page(200, form(stored))
  }

  async function post(
    c: Context,
    id: string,
    { origin, cookie: cookies }: RequestHeaders,
  ): Promise<HttpResponse> {
    const cookie = cookieOf(cookies)
    const { stored, login } = await found(id)
    const code = (await formOf(c, new URL(publicUrl).origin, origin)).get('code') ?? ''
    const own = cookie ?? randomBytes(24).toString('base64url')
    return answerOf(await enter(login, id, own, code), stored, `${COOKIE}=${own}; ${attributes}`)
  }

  async function back(query: URLSearchParams, cookie: string | undefined): Promise<HttpResponse> {
    const id = idOfState(query.get('state') ?? '')
    const { stored, login } = await found(id)
    return answerOf(await comeBack(login, id, cookie ?? '', query), stored)
  }

  async function answer(c: Context, headers: RequestHeaders): Promise<HttpResponse> {
    const { method, path, url } = c.req
    const token = path.slice(LOGIN_PAGES.length)
    try {
      if (path === CALLBACK && method === 'GET')
        return await back(new URL(url).searchParams, cookieOf(headers.cookie))
      if (path === LOGIN_PAGES && method === 'GET') return await list(cookieOf(headers.cookie))
      if (path === LOGIN_PAGES && method === 'POST') return await end(c, headers)
      if (TOKEN.test(token) && method === 'GET') return await show(idOf(token))
      if (TOKEN.test(token) && method === 'POST') return await post(c, idOf(token), headers)
      return page(404, html`<p>Nothing is here.</p>`)
    } catch (error) {
      if (!(error instanceof LoginError || error instanceof StoreError)) throw error
      const reason =
        error instanceof LoginError ? error.message : 'logins cannot be kept at the moment: try again later'
      log.warn({ reason: error.message }, 'the login of a caller failed')
      return page(
        error instanceof LoginError ? 403 : 503,
        html`<p class="bad">${path === LOGIN_PAGES ? 'The logins cannot be shown' : 'The login failed'}: ${reason}.</p>`,
      )
    }
  }

  return async (c, headers) => (c.req.path.startsWith(LOGIN_PAGES) ? answer(c, headers) : undefined)
}

function answerOf(turn: Turn, stored: StoredPage, cookie?: string): HttpResponse {
  const set = cookie === undefined ? {} : { 'set-cookie': cookie }
  if ('to' in turn) return new HttpResponse(303, { ...PAGE_HEADERS, ...set, location: turn.to }, '')
  if ('wrong' in turn) return page(403, form(stored, turn.wrong))
  return page(
    200,
    html`<p>You are logged in at <b>${stored.server}</b>. You can close this page and go back to your MCP client.</p>
<p><a href="./">Your logins</a></p>`,
  )
}

/** Only a click uses the page: programs that look at addresses in messages do not. */
function form({ server, code, caller, sees }: StoredPage, wrong = ''): Html {
  const input =
    code === undefined
      ? html`<p>You log in as yourself first: the page is only for the person whose MCP client asks.</p>`
      : html`<p><label>Code that your MCP client shows: <input name="code" autocomplete="off" autofocus required></label></p>
<p>Do not enter a code that somebody sent you: that person would get your login.</p>`
  const asks = sees
    ? html`The logins of <b>${caller.name}</b>.`
    : html`An MCP client asks to log in at <b>${server}</b> for <b>${caller.name}</b>.`
  return html`<p>${asks}</p>
<form method="post">${input}<p class="bad">${wrong}</p><p><button>${sees ? 'Show them' : 'Log in'}</button></p></form>`
}

/** The page where a person sees and ends its logins, in a browser that has proved whose it is. */
function ownLoginsPage({ vault, publicUrl, now, logins }: Omit<LoginPagesParts, 'log'>) {
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

const COOKIE = 'plantgw-login'
/** Maximum bytes of a form, which holds a code. */
const MAX_FORM = 1024

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;margin:3rem auto;max-width:32rem;padding:0 1rem;color:#222;background:#fff}h1{font-size:1.3rem}input,button{font:inherit;padding:.4rem .7rem}.bad{color:#b00020}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}.bad{color:#ff8a80}}'
/** Browsers apply `form-action` to the redirect to the authorization server, too, so it is not set. */
const PAGES = plainPages('plantgw: login', STYLE)
const PAGE_HEADERS = { ...PAGES.headers, 'cache-control': 'no-store' }

function page(status: number, content: Html): HttpResponse {
  return new HttpResponse(status, PAGE_HEADERS, PAGES.text(html`<main><h1>Login</h1>${content}</main>`))
}

/** Undefined also for a value that the gateway never sets: decoded, it may hold what no header can. */
function cookieOf(header = ''): string | undefined {
  const value = parse(header, COOKIE)[COOKIE]
  return value !== undefined && TOKEN.test(value) ? value : undefined
}

/**
 * The form that a page sends.
 * @param site origin of `publicUrl`
 * @param origin of the page
 * @throws LoginError
 */
async function formOf(c: Context, site: string, origin: string | undefined): Promise<URLSearchParams> {
  // Another site could send its own code with the browser of a person who never saw the page.
  if (origin !== site) throw new LoginError('the form did not come from this page')
  const reservation = memory.reserve()
  const body = await readBody(c, MAX_FORM, reservation)
  reservation.free()
  return new URLSearchParams('text' in body ? body.text : '')
}

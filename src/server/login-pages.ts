import { randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import { html } from 'hono/html'
import { HttpResponse } from '../access/http-response.ts'
import { LoginError } from '../credentials/oauth/client.ts'
import { CALLBACK } from '../credentials/oauth/flow.ts'
import type { ServerLogin } from '../credentials/oauth/server-login.ts'
import {
  comeBack,
  enter,
  GONE,
  idOf,
  idOfState,
  LOGIN_PAGES,
  type Ticket,
  type Turn,
} from '../credentials/oauth/tickets.ts'
import type { RequestHeaders } from '../mcp/index.ts'
import { StoreError } from '../store/index.ts'
import type { Logger } from '../telemetry/log.ts'
import { COOKIE, cookieOf, formOf, type Html, PAGE_HEADERS, page } from './login-html.ts'
import { createOwnLogins, type OwnLoginsParts } from './own-logins.ts'

export interface LoginPagesParts extends OwnLoginsParts {
  log: Logger
}

/** Answers a request for a page where a caller logs in, or sees its logins; undefined for other paths. */
export type LoginPages = (c: Context, headers: RequestHeaders) => Promise<HttpResponse> | undefined

/** Seconds that a browser keeps it. */
const COOKIE_AGE = 600
const TOKEN = /^[\w-]{32}$/

export function createLoginPages(parts: LoginPagesParts): LoginPages {
  const { vault, publicUrl, log, logins } = parts
  const { list, end } = createOwnLogins(parts)
  const { protocol, pathname } = new URL(publicUrl)
  const attributes = `Path=${pathname.replace(/\/$/, '')}/_login; Max-Age=${COOKIE_AGE}; HttpOnly; SameSite=Lax${protocol === 'https:' ? '; Secure' : ''}`

  /** @throws LoginError, StoreError */
  async function found(id: string): Promise<{ ticket: Ticket; login: ServerLogin }> {
    const ticket = await vault.get<Ticket>(id)
    const login = logins().find(
      ({ server }) =>
        server.name === ticket?.server &&
        server.configuration === ticket.configuration &&
        server.tenant === ticket.tenant,
    )
    if (!ticket || !login) throw new LoginError(GONE)
    return { ticket, login: login.of(ticket.caller) }
  }

  async function show(id: string): Promise<HttpResponse> {
    const { ticket } = await found(id)
    return page(200, form(ticket))
  }

  async function post(
    c: Context,
    id: string,
    { origin, cookie: cookies }: RequestHeaders,
  ): Promise<HttpResponse> {
    const cookie = cookieOf(cookies)
    const { ticket, login } = await found(id)
    const code = (await formOf(c, new URL(publicUrl).origin, origin)).get('code') ?? ''
    const own = cookie ?? randomBytes(24).toString('base64url')
    return answerOf(await enter(login, id, own, code), ticket, `${COOKIE}=${own}; ${attributes}`)
  }

  async function back(query: URLSearchParams, cookie: string | undefined): Promise<HttpResponse> {
    const id = idOfState(query.get('state') ?? '')
    const { ticket, login } = await found(id)
    return answerOf(await comeBack(login, id, cookie ?? '', query), ticket)
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

  return (c, headers) => (c.req.path.startsWith(LOGIN_PAGES) ? answer(c, headers) : undefined)
}

function answerOf(turn: Turn, ticket: Ticket, cookie?: string): HttpResponse {
  const set = cookie === undefined ? {} : { 'set-cookie': cookie }
  if ('to' in turn) return new HttpResponse(303, { ...PAGE_HEADERS, ...set, location: turn.to }, '')
  if ('wrong' in turn) return page(403, form(ticket, turn.wrong))
  return page(
    200,
    html`<p>You are logged in at <b>${ticket.server}</b>. You can close this page and go back to your MCP client.</p>
<p><a href="./">Your logins</a></p>`,
  )
}

/** Only a click uses the page: programs that look at addresses in messages do not. */
function form({ server, code, caller, sees }: Ticket, wrong = ''): Html {
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

import type { Context } from 'hono'
import { type AdminPrincipal, isFromOtherSite, type Sender } from '../access/admin.ts'
import type { FailedLogins } from '../access/failed-logins.ts'
import { HttpResponse } from '../access/http-response.ts'
import { memory } from '../access/memory.ts'
import { type RequestHeaders, readBody } from '../mcp/index.ts'
import type { Console } from './console/console.ts'
import { CONSOLE } from './console/layout.tsx'
import { clientAddress, otherEndOf, type Proxies } from './http-context.ts'

/** Whether a path belongs to the console. */
export function isConsole(path: string): boolean {
  return path === CONSOLE || path.startsWith(`${CONSOLE}/`)
}

interface ConsoleRoutesParts {
  access: (sender: Sender) => AdminPrincipal | undefined
  console: Console
  logins: FailedLogins
  proxies?: Proxies
}

/** Logs a browser in or out, or serves a page of the console. */
export async function consolePage(
  c: Context,
  headers: RequestHeaders,
  sender: Sender,
  { access, console, logins, proxies }: ConsoleRoutesParts,
): Promise<HttpResponse> {
  const { path, method } = c.req
  const below = path.slice(CONSOLE.length).replace(/^\//, '')
  if (method !== 'GET' && method !== 'HEAD' && isFromOtherSite(headers))
    return HttpResponse.json({ error: 403, message: 'A page of another origin sent the request' }, 403)
  const file = console.file(below)
  if (file) return file
  /** @returns the refusal of one login too many */
  const counted = (isAdmitted: boolean) => {
    const address = clientAddress(otherEndOf(c), headers, proxies)
    const limited = isAdmitted ? logins.succeeded(address, path) : logins.failed(address)
    return limited && HttpResponse.json({ error: 429, message: limited.message }, 429, limited.headers)
  }
  const withToken = (token: string) =>
    access({ ...sender, headers: { ...headers, authorization: `Bearer ${token}` } })
  const isSecure = new URL(c.req.url).protocol === 'https:'
  const home = { location: CONSOLE, 'cache-control': 'no-store' }
  const loggedIn = (token: string | undefined) =>
    new HttpResponse(303, { ...home, 'set-cookie': console.logins.login(token, isSecure) })
  const code = c.req.query('code')
  if (code !== undefined && method === 'GET') {
    const isGood = console.logins.redeem(code)
    return (
      counted(isGood) ??
      (isGood
        ? loggedIn(undefined)
        : console.loginPage('The link was used already, or is too old: use the token'))
    )
  }
  if (below === 'login' && method === 'POST') {
    const { token = '' } = await formOf(c)
    const isGood = withToken(token) !== undefined
    return (
      counted(isGood) ??
      (isGood ? loggedIn(token) : console.loginPage('This is no token of an administrator'))
    )
  }
  if (below === 'logout' && method === 'POST')
    return new HttpResponse(303, { ...home, 'set-cookie': console.logins.logout(headers.cookie) })
  const principal = console.logins.of(headers.cookie, withToken) ?? access(sender)
  const limited = headers.authorization === undefined ? undefined : counted(principal !== undefined)
  if (limited) return limited
  return principal ? console.answer(c, below, principal) : console.loginPage()
}

/** The fields of a form; empty if it is none. */
async function formOf(c: Context): Promise<Record<string, string>> {
  const reservation = memory.reserve()
  const body = await readBody(c, 4096, reservation)
  reservation.free()
  return 'text' in body ? Object.fromEntries(new URLSearchParams(body.text)) : {}
}

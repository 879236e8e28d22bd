import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { parse } from 'hono/utils/cookie'
import type { AdminPrincipal } from '../../access/admin.ts'
import { CONSOLE } from './layout.tsx'

/** Milliseconds for which a browser stays logged in, and a login link is good. */
const STAY = 12 * 3_600_000
const LINK = 3_600_000
const MAX_LOGINS = 100

export const COOKIE = 'plantgw_console'

/** The login of one browser. */
interface Login {
  /** Its token, which may expire; undefined: it used the link of `serve`. */
  token: string | undefined
  until: number
}

/** Logins of browsers, by cookie; they end with the process. */
export class ConsoleLogins {
  readonly #logins = new Map<string, Login>()
  #code: { hash: Buffer; until: number } | undefined

  /** A code for one login as administrator of all tenants; an earlier code becomes invalid. */
  code(): string {
    const code = randomBytes(24).toString('base64url')
    this.#code = { hash: digest(code), until: performance.now() + LINK }
    return code
  }

  /** Uses a code. @returns false: it is wrong, used or too old */
  redeem(code: string): boolean {
    const known = this.#code
    if (!known || performance.now() > known.until || !timingSafeEqual(digest(code), known.hash)) return false
    this.#code = undefined
    return true
  }

  /** Logs a browser in. @returns the value of `Set-Cookie` */
  login(token: string | undefined, isSecure: boolean): string {
    const id = randomBytes(24).toString('base64url')
    this.#logins.set(digest(id).toString('hex'), { token, until: performance.now() + STAY })
    if (this.#logins.size > MAX_LOGINS) this.#logins.delete(this.#logins.keys().next().value as string)
    return cookie(id, STAY / 1000, isSecure)
  }

  /**
   * The administrator whose browser sent these cookies.
   * @param judge whether a token is still good
   */
  of(
    cookies: string | undefined,
    judge: (token: string) => AdminPrincipal | undefined,
  ): AdminPrincipal | undefined {
    const login = this.#logins.get(keyIn(cookies))
    if (!login || performance.now() > login.until) return undefined
    return login.token === undefined ? { tenant: undefined } : judge(login.token)
  }

  /** @returns the value of `Set-Cookie` that deletes the cookie */
  logout(cookies: string | undefined): string {
    this.#logins.delete(keyIn(cookies))
    return cookie('', 0, false)
  }
}

function cookie(id: string, seconds: number, isSecure: boolean): string {
  const secure = isSecure ? '; Secure' : ''
  return `${COOKIE}=${id}; Path=${CONSOLE}; HttpOnly; SameSite=Strict; Max-Age=${seconds}${secure}`
}

function keyIn(cookies = ''): string {
  return digest(parse(cookies, COOKIE)[COOKIE] ?? '').toString('hex')
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

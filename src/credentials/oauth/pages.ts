import { createHash, randomBytes, randomInt } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import { Fault, type LoginQuestion } from '../../mcp/fault.ts'
import type { CancelSignal } from '../../net/index.ts'
import { unexpected } from '../../telemetry/unexpected.ts'
import { guardedFetch, LoginError } from './client.ts'
import {
  type Attempt,
  beginLogin,
  CALLBACK,
  clientDocumentUrl,
  finishLogin,
  type LoginServer,
} from './flow.ts'
import type { LoginCaller, LoginParts, ServerLogin } from './server-login.ts'
import { type Vault, vaultId } from './vault.ts'

/**
 * Pages where callers log in at servers. A page is for one login within ten minutes, of one caller at one server, and only for
 * the caller's own person: a caller could send its address to another person to get a login of that person (2025-11-25,
 * Elicitation, Phishing).
 */

/** The path of all pages, below `publicUrl`. */
export const LOGIN_PAGES = '/_login/'
/** Milliseconds for which a page can be used. */
const LIFETIME = 600_000
/** Open pages of one process. */
const MAX_OPEN = 1_000
/** Wrong codes after which a page cannot be used any more. */
const MAX_WRONG = 5
/** Without letters and digits that look alike. */
const ALPHABET = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
/** Milliseconds between two looks for a login, which may be made on another replica. */
const LOOK = 500

/** A page, as the vault has it. */
export interface StoredPage {
  tenant: string
  configuration: string
  server: string
  caller: LoginCaller
  /** The client shows it, and the person enters it; absent: the person logs in where the caller did. */
  code?: string
  /** Milliseconds since 1970. */
  expires: number
  wrong: number
  /** Digest of the cookie of the browser that uses it. */
  browser?: string
  step?: { of: 'person' | 'server'; attempt: Attempt }
  /** It leads to the logins of the caller, and not to a new one. */
  sees?: true
}

/** The next step of a browser: it goes to another address, enters the code again, or is done. */
export type Turn = { to: string } | { wrong: string } | { done: StoredPage }

/** The message for a page that has ended. */
export const GONE =
  'this page cannot be used any more: its login has succeeded or failed, or the page is older than ten minutes. Call the tool again to get another page'

interface Open {
  page: Page
  expires: number
  question?: LoginQuestion
}

/** A page, as its caller gets it. */
interface Page {
  id: string
  url: string
  code: string | undefined
}

/** The pages of a vault that this process has made, by caller and server. */
interface Pages {
  /** A client that asks again gets the same page. */
  open: Map<string, Open>
  /** The pages under construction. */
  making: Map<string, Promise<Open | Fault>>
  /** Sessions that wait for a login. */
  waiting: Map<string, Set<() => void>>
}

const pages = new WeakMap<object, Pages>()

function pagesIn(vault: Vault): Pages {
  const known = pages.get(vault) ?? { open: new Map(), making: new Map(), waiting: new Map() }
  pages.set(vault, known)
  return known
}

function keyOf({ server }: ServerLogin, caller: LoginCaller, ...purpose: string[]): string {
  return vaultId([server.tenant, server.configuration, server.name, caller.key, ...purpose])
}

/** Calls `listener` when a caller logs in or out at a server, as far as this process has made the page. @returns ends that */
export function onLoginChange(login: ServerLogin, caller: LoginCaller, listener: () => void): () => void {
  const { waiting } = pagesIn(login.parts.vault)
  const key = keyOf(login, caller)
  const own = waiting.get(key) ?? new Set()
  waiting.set(key, own.add(listener))
  return () => {
    own.delete(listener)
    if (own.size === 0 && waiting.get(key) === own) waiting.delete(key)
  }
}

/** Tells the sessions that wait for a login. */
export function loginChanged(login: ServerLogin, caller: LoginCaller): void {
  for (const listener of [...(pagesIn(login.parts.vault).waiting.get(keyOf(login, caller)) ?? [])]) listener()
}

/** Makes the page where a caller logs in; the same one while it can be used. */
export async function askCaller(login: ServerLogin, caller: LoginCaller): Promise<LoginQuestion | Fault> {
  const own = login.of(caller)
  const made = await openPage(own, caller)
  if (made instanceof Fault) return made
  const last = await own.current().catch(() => undefined)
  if (made.question) return made.question
  made.question = questionOf(own, made.page, last)
  // The login may be made on another replica.
  made.question.completed
    .then(() => forgetPage(login.parts.vault, made.page.id))
    .catch(unexpected('the page of a login'))
  return made.question
}

/** A sentence with the address of a page where a caller sees its logins. */
export async function showLogins(login: ServerLogin, caller: LoginCaller): Promise<string> {
  const made = await openPage(login.of(caller), caller, { sees: true })
  if (made instanceof Fault) return made.message
  const { name } = login.server
  return `The user is logged in at the server ${name}. To see or end logins, the user opens ${visitTo(made.page)}`
}

function visitTo({ url, code }: Page): string {
  return `${url} within ten minutes${code === undefined ? '' : ` and enters the code ${code} there`}`
}

async function openPage(
  own: ServerLogin,
  caller: LoginCaller,
  purpose: Pick<StoredPage, 'sees'> = {},
): Promise<Open | Fault> {
  const { making } = pagesIn(own.parts.vault)
  const key = keyOf(own, caller, ...Object.keys(purpose))
  const made = making.get(key) ?? pageOf(own, caller, key, purpose)
  making.set(key, made)
  try {
    return await made
  } finally {
    making.delete(key)
  }
}

/** The open page of a key, or a new one. */
async function pageOf(
  own: ServerLogin,
  caller: LoginCaller,
  key: string,
  purpose: Pick<StoredPage, 'sees'>,
): Promise<Open | Fault> {
  const { server, parts } = own
  const { vault, publicUrl, now } = parts
  if (publicUrl === undefined)
    return new Fault('refused', 'The settings have no `publicUrl`, at which callers could log in')
  const { open: known, making } = pagesIn(vault)
  for (const [each, { expires }] of known) if (expires <= now()) known.delete(each)
  const before = known.get(key)
  if (!before && known.size + making.size >= MAX_OPEN)
    return new Fault('busy', 'Too many callers are logging in at the moment: try again later')
  const isFresh = before && before.expires - now() > LIFETIME / 2
  if (isFresh && (await vault.get(before.page.id).catch(() => undefined))) return before
  const token = randomBytes(24).toString('base64url')
  const id = idOf(token)
  try {
    const step = await personStep(own, id)
    const code = step ? undefined : newCode()
    const { tenant, configuration, name } = server
    const expires = now() + LIFETIME
    const stored: StoredPage = { tenant, configuration, server: name, caller, expires, wrong: 0, ...purpose }
    await vault.put(id, { ...stored, ...(step ? { step } : { code }) })
    setTimeout(() => vault.put(id, undefined).catch(() => {}), LIFETIME).unref()
    const made: Open = { page: { id, url: publicUrl + LOGIN_PAGES + token, code }, expires }
    known.set(key, made)
    return made
  } catch (error) {
    return new Fault(
      'unreachable',
      `The server ${server.name} needs a login, which cannot be begun: ${(error as Error).message}`,
    )
  }
}

/** A page that is over does not count among the open ones. */
async function end(vault: Vault, id: string, write: (stored: undefined) => Promise<void>): Promise<void> {
  await write(undefined)
  forgetPage(vault, id)
}

function forgetPage(vault: Vault, id: string): void {
  const { open } = pagesIn(vault)
  for (const [key, { page }] of open) if (page.id === id) open.delete(key)
}

/** @param last the login before */
function questionOf(login: ServerLogin, { id, url, code }: Page, last: string | undefined): LoginQuestion {
  const { name } = login.server
  const completed = completionOf(login, last)
  const entered = code === undefined ? '' : ` It asks for the code ${code}, which only you can see here.`
  const told = code === undefined ? '' : ` and enter the code ${code} there`
  return {
    id,
    server: name,
    url,
    message: `The server ${name} needs your login. Open this page in your browser.${entered}`,
    advice: `The server ${name} needs a login of the user. Ask the user to open ${url} within ten minutes${told}; then call the tool again`,
    completed,
    async done(signal: CancelSignal, patience = LIFETIME) {
      const stopping = new AbortController()
      const stop = () => stopping.abort()
      signal.addEventListener('abort', stop)
      if (signal.aborted) stop()
      const late = delay(patience, false, { signal: stopping.signal }).catch(() => false)
      const isDone = await Promise.race([completed, late])
      signal.removeEventListener('abort', stop)
      stop()
      return isDone
    },
  }
}

/** Looks for the login while its page can be used. @param last the login before */
async function completionOf(login: ServerLogin, last: string | undefined): Promise<boolean> {
  const caller = login.caller as LoginCaller
  const begin = performance.now()
  let wake = () => {}
  const stop = onLoginChange(login, caller, () => wake())
  try {
    while (performance.now() - begin < LIFETIME) {
      const woken = new AbortController()
      wake = () => woken.abort()
      const now = await login.current().catch(() => undefined)
      if (now !== undefined && now !== last) {
        loginChanged(login, caller)
        return true
      }
      await delay(LOOK, undefined, { ref: false, signal: woken.signal }).catch(() => {})
    }
    return false
  } finally {
    stop()
  }
}

/** The login at the caller's own authorization server; undefined: the gateway cannot be its client. */
async function personStep(login: ServerLogin, id: string): Promise<StoredPage['step']> {
  const { issuer, subject } = login.caller ?? {}
  if (issuer === undefined || subject === undefined) return undefined
  const person = personOf(login, issuer)
  try {
    return {
      of: 'person',
      attempt: await beginLogin(person.server, returnTo(login.parts, id), [], person.parts),
    }
  } catch (error) {
    if (error instanceof LoginError) return undefined
    throw error
  }
}

function personOf({ server, parts }: ServerLogin, issuer: string) {
  const settings = { type: 'oauth' as const, header: '', issuer, scopes: ['openid'] }
  const at: LoginServer = { ...server, name: issuer, type: 'person', url: undefined, settings }
  return { server: at, parts: { vault: parts.vault, now: parts.now, fetchFn: guardedFetch(parts, [issuer]) } }
}

function returnTo({ publicUrl = '' }: LoginParts, state: string) {
  return { redirectUri: publicUrl + CALLBACK, clientMetadataUrl: clientDocumentUrl(publicUrl), state }
}

/** The id of a page in the vault, by the last part of its address. */
export function idOf(token: string): string {
  return vaultId(['ticket', token])
}

/** The id of a page, by the `state` of a response. */
export function idOfState(state: string): string {
  return state.split('.', 1)[0] as string
}

/**
 * Begins to use a page.
 * @param cookie of the browser, which alone may go on
 * @param entered the code that the person entered
 * @throws LoginError with the reason; StoreError
 */
export async function enter(login: ServerLogin, id: string, cookie: string, entered: string): Promise<Turn> {
  const { vault, now } = login.parts
  return vault.change<StoredPage, Turn>(id, async (stored, write) => {
    if (!stored || stored.expires <= now()) throw new LoginError(GONE)
    if (stored.browser !== undefined && stored.browser !== digest(cookie))
      throw new LoginError('this page was used in another browser already')
    const { code } = stored
    if (code !== undefined && plain(entered) !== plain(code)) {
      const wrong = stored.wrong + 1
      if (wrong < MAX_WRONG) {
        await write({ ...stored, wrong })
        return { wrong: 'That is not the code.' }
      }
      await end(vault, id, write)
      login.tell('denied', 'wrong code')
      throw new LoginError('that was not the code, too often. Call the tool again to get another page')
    }
    if (code !== undefined) {
      const shown = await proved(login, stored, cookie, () => end(vault, id, write))
      if (shown) return shown
    }
    const step = code === undefined ? stored.step : await serverStep(login, id)
    if (!step) throw new LoginError(GONE)
    await write({ ...stored, browser: digest(cookie), step })
    return { to: step.attempt.url }
  })
}

/** Remembers whose the browser is. @returns the way to the logins, if the page is for that */
async function proved(
  { parts: { vault, publicUrl = '', now } }: ServerLogin,
  { tenant, configuration, caller, sees }: StoredPage,
  cookie: string,
  over: () => Promise<void>,
): Promise<Turn | undefined> {
  const person: Person = { tenant, configuration, caller, expires: now() + LIFETIME }
  await vault.put(personId(cookie), person)
  if (!sees) return undefined
  await over()
  return { to: publicUrl + LOGIN_PAGES }
}

/** A caller whose browser has proved that it is its own. */
export interface Person {
  tenant: string
  configuration: string
  caller: LoginCaller
  /** Milliseconds since 1970. */
  expires: number
}

function personId(cookie: string): string {
  return vaultId(['person', digest(cookie)])
}

/** The caller who uses a browser; undefined: the browser has not proved it, or too long ago. @throws StoreError */
export async function personIn(vault: Vault, cookie: string, now: number): Promise<Person | undefined> {
  const person = await vault.get<Person>(personId(cookie))
  return person && person.expires > now ? person : undefined
}

async function serverStep(login: ServerLogin, id: string): Promise<NonNullable<StoredPage['step']>> {
  return { of: 'server', attempt: await login.begin(returnTo(login.parts, id)) }
}

/**
 * Takes a response with which the browser comes back.
 * @throws LoginError with the reason, after which the page cannot be used any more; StoreError
 */
export async function comeBack(
  login: ServerLogin,
  id: string,
  cookie: string,
  response: URLSearchParams,
): Promise<Turn> {
  const { vault, now } = login.parts
  return vault.change<StoredPage, Turn>(id, async (stored, write) => {
    if (!stored?.step || stored.expires <= now()) throw new LoginError(GONE)
    // Another person's browser would log in for this caller.
    if (stored.browser === undefined || stored.browser !== digest(cookie))
      throw new LoginError('this login was begun in another browser')
    const { of, attempt } = stored.step
    try {
      if (of === 'server') {
        await login.finish(attempt, response)
        await end(vault, id, write)
        loginChanged(login, stored.caller)
        return { done: stored }
      }
      await checkPerson(login, attempt, response)
      const shown = await proved(login, stored, cookie, () => end(vault, id, write))
      if (shown) return shown
      const step = await serverStep(login, id)
      await write({ ...stored, step })
      return { to: step.attempt.url }
    } catch (error) {
      await end(vault, id, write)
      login.tell('denied', (error as Error).message)
      throw error
    }
  })
}

/** @throws LoginError if somebody else than the caller has logged in */
async function checkPerson(login: ServerLogin, attempt: Attempt, response: URLSearchParams): Promise<void> {
  const { issuer = '', subject } = login.caller ?? {}
  const person = personOf(login, issuer)
  const { id_token: token } = await finishLogin(person.server, attempt, response, person.parts)
  if (token === undefined) throw new LoginError(`${issuer} does not say who has logged in`)
  // It came from the token endpoint, whose certificate vouches for it (OpenID Connect Core, 3.1.3.7).
  const { iss, aud, exp = 0, sub } = decodeJwt(token)
  if (iss !== issuer || ![aud].flat().includes(attempt.client.client_id))
    throw new LoginError(`${issuer} gave a token that is not for this gateway`)
  if (exp * 1000 < login.parts.now() - SKEW)
    throw new LoginError(
      `${issuer} gave a token that has expired already: compare the clocks of both machines`,
    )
  if (sub !== subject)
    throw new LoginError(
      'you are not the person whose MCP client asked for this login. Do not open such pages from others: they would get your login',
    )
}

/** Milliseconds by which the clock of an authorization server may be behind. */
const SKEW = 300_000

function digest(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}

function newCode(): string {
  const letters = Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)])
  return `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`
}

function plain(code: string): string {
  return code.toUpperCase().replace(/[^A-Z\d]/g, '')
}

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { loginOf } from '../../src/credentials/credential.ts'
import { openVault } from '../../src/credentials/oauth/vault.ts'
import { Fault } from '../../src/mcp/fault.ts'
import { HttpClient } from '../../src/net/index.ts'
import { silentLog } from '../../src/telemetry/log.ts'
import type { AuthorizationServer } from '../fixtures/authorization-server.ts'
import type { ProtectedServer } from '../fixtures/protected-server.ts'
import { open } from './client.ts'
import { temporaryFolder } from './process.ts'

/** `publicUrl` of the gateways. */
export const PUBLIC = 'https://tools.example.com'
export const KEY = 'a key of the vault with 32 characters'

/** An API that lets in people, each with a login of its own, and a tool that says whose the token is. */
export function apiOf(server: ProtectedServer, as: AuthorizationServer) {
  return {
    servers: [
      {
        name: 'api',
        baseUrl: `${server.origin}/api`,
        credentials: {
          type: 'oauth',
          for: 'caller',
          issuer: as.issuer,
          resource: `${server.origin}/mcp`,
          scopes: ['plants:read'],
        },
      },
    ],
    tools: [{ name: 'me', description: 'Says whose the token is', method: 'GET', endpoint: '/me' }],
  }
}

/** A person's browser: it is logged in at the authorization server as `account`. */
export class Browser {
  cookie = ''
  private turn = 0
  /** Of the page whose form is sent. */
  origin = PUBLIC

  constructor(
    private readonly as: AuthorizationServer,
    private readonly account: string,
    private readonly bases: readonly string[],
  ) {}

  /** One request to the gateway; each goes to another replica. */
  async ask(
    url: string | URL,
    form?: Record<string, string>,
  ): Promise<{ status: number; text: string; to: string | null }> {
    const at = String(url).replace(PUBLIC, this.bases[this.turn++ % this.bases.length]!)
    const response = await fetch(at, {
      redirect: 'manual',
      headers: { cookie: this.cookie, ...(form && { origin: this.origin }) },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    const [set] = response.headers.getSetCookie()
    if (set !== undefined) {
      assert.match(
        set,
        /^plantgw-login=[\w-]{32}; Path=\/_login; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
      )
      this.cookie = set.split(';')[0]!
    }
    return { status: response.status, text: await response.text(), to: response.headers.get('location') }
  }

  /** What the person does at the authorization server, until it leads back. */
  async consent(to: string): Promise<URL> {
    this.as.account = this.account
    return this.as.visit(new URL(to))
  }

  /** Goes through a page to its end; the text of the last page. */
  async logIn(url: string, code?: string): Promise<string> {
    const shown = await this.ask(url)
    assert.equal(shown.status, 200, shown.text)
    let { text, to } = await this.ask(url, code === undefined ? {} : { code })
    while (to !== null) ({ text, to } = await this.ask(to.startsWith(PUBLIC) ? to : await this.consent(to)))
    return text.replace(/<style>.*<\/style>|<[^>]+>/gs, '').trim()
  }
}

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
export const codeIn = (text: string) => /code (\w{4}-\w{4})/.exec(text)?.[1]
export const urlIn = (text: string) => /https:\/\/\S+\/_login\/[\w-]{32}/.exec(text)![0]

/** A token with which a person logs in at the gateway. */
export async function tokenOf(t: TestContext, as: AuthorizationServer, account: string): Promise<string> {
  const vault = await openVault({ key: KEY, storage: { type: 'folder', path: temporaryFolder(t) } })
  const http = new HttpClient()
  t.after(() => http.close())
  const settings = {
    type: 'oauth',
    for: 'gateway',
    header: '',
    issuer: as.issuer,
    resource: PUBLIC,
    scopes: ['plants:read'],
  } as const
  const own = { ...settings, scopes: [...settings.scopes] }
  const parts = { vault, http, guards: undefined, log: silentLog }
  const login = loginOf({ name: 'gateway' }, { tenant: '', name: '' }, own, parts)
  const attempt = await login.begin({ redirectUri: 'http://127.0.0.1/callback' })
  as.account = account
  await login.finish(attempt, (await as.visit(new URL(attempt.url))).searchParams)
  const token = await login.token()
  assert.ok(!(token instanceof Fault))
  return token.token
}

/** A raw `tools/call` in a session of a revision. */
export async function rawCall(
  base: string,
  path: string,
  token: string,
  revision: string,
  capabilities: object = {},
  name = 'me',
) {
  const { request } = await open(`${base}${path}/mcp`, bearer(token), capabilities, revision)
  return { call: () => request('tools/call', { name, arguments: {} }) }
}

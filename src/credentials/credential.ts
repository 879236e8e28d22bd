import type { IssuerParts } from '../access/authorization-server.ts'
import { bearerToken } from '../access/bearer.ts'
import type { Identity } from '../access/identity.ts'
import type { Configuration, Credentials as CredentialSettings, McpServer } from '../config/model.ts'
import { type CallerLogins, Fault, type LoginNeed } from '../mcp/fault.ts'
import type { StreamedAnswer } from '../net/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import { RecentMap } from '../text/index.ts'
import { loginName } from './oauth/flow.ts'
import { askCaller, onLoginChange, showLogins } from './oauth/pages.ts'
import { type LoginCaller, type LoginParts, ServerLogin } from './oauth/server-login.ts'
import type { Vault } from './oauth/vault.ts'
import { type AskToken, type SentHeader, TokenCache } from './token-cache.ts'
import { tokenAsker } from './token-endpoint.ts'

export type { SentHeader } from './token-cache.ts'

/** The known facts about a caller. */
interface CallerFacts {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Absent: the caller is unknown. */
  readonly identity?: Identity | undefined
}

type Header = SentHeader | Fault | undefined

/** The credential for one caller's requests to a server. */
export interface Credential {
  /** Equal for callers that share it; part of the key of sessions. */
  readonly key: string
  /** Undefined: requests are sent without one until the server refuses that. */
  header(): Promise<Header>
  /** The header once a server has refused a request without one (401). Absent: `header` gives it. */
  asked?(): Promise<Header>
  /** A new header after a server refused the old one (401); undefined: none. */
  renew(refused: SentHeader): Promise<Header>
  /** The same after it refused the old one for lack of scopes (403). Absent: no login can help. */
  widen?(refused: SentHeader, challenge: string): Promise<SentHeader | Fault | undefined>
  /** Notes that a server has taken a header. */
  taken?(header: SentHeader): void
  /** Recently sent values; a new list object when they change. */
  sent(): readonly string[]
  /** Calls `listener` when the caller logs in or out; returns what ends that. Absent: it is no login of a caller. */
  onLoginChange?(listener: () => void): () => void
}

/**
 * Another header, or a fault, after an answer that refused a request; undefined: none, or the answer is no refusal.
 * A request refused with 401 or 403 was not executed (RFC 9110, 15.5.2 and 15.5.4), so it is safe to repeat.
 */
export async function afterRefusal(
  credential: Credential,
  sent: SentHeader | undefined,
  { status, headers }: Pick<StreamedAnswer, 'status' | 'headers'>,
): Promise<Header> {
  if (!sent) return status === 401 ? credential.asked?.() : undefined
  if (status === 401) return credential.renew(sent)
  if (status < 400) credential.taken?.(sent)
  return status === 403 ? credential.widen?.(sent, String(headers['www-authenticate'] ?? '')) : undefined
}

/** The `credentials` of one server. */
export interface Credentials {
  /** Whether each caller has its own credential. */
  readonly perCaller: boolean
  /** The login of the operator; absent: they need none. */
  readonly login?: ServerLogin
  /** Logins of callers; absent: they need none. */
  readonly callerLogins?: ServerLogin
  /** The login that a caller lacks, and how it sees its logins; absent: callers need none. */
  readonly ofCallers?: Omit<CallerLogins, 'server'>
  of(facts: CallerFacts): Credential | Fault
}

/** A server with `credentials`: of HTTP tools, or an MCP server. */
interface Owner {
  name: string
  /** Absent: HTTP tools. */
  type?: McpServer['type']
  url?: string
  baseUrl?: string
  credentials?: CredentialSettings
}

/** The configuration of a server. */
export type OwnerOf = Pick<Configuration, 'tenant' | 'name'>

/**
 * `guards`: of connections to authorization servers. `steady`: a monotonic clock; default the process's. `vault`: of logins;
 * absent: there are none.
 */
type CredentialParts = Pick<IssuerParts, 'http' | 'guards' | 'log'> &
  Partial<Pick<IssuerParts, 'steady' | 'now'> & Pick<LoginParts, 'publicUrl' | 'onLogin'>> & {
    vault?: Vault | undefined
  }

type CacheParts = Pick<IssuerParts, 'log' | 'steady'>

/** The credentials of a server, created once. Undefined if a server has none. */
export type CredentialsOf = (server: Owner, of: OwnerOf) => Credentials | undefined

export function credentialsFor(given: CredentialParts): CredentialsOf {
  const parts = { steady: () => performance.now(), ...given }
  const made = new WeakMap<Owner, Credentials>()
  return (server, of) => {
    const { credentials } = server
    if (!credentials) return undefined
    const one = made.get(server) ?? createCredentials(server, of, credentials, parts)
    made.set(server, one)
    return one
  }
}

/** The login of a server with `type: oauth`. */
export function loginOf(
  { name, type, url, baseUrl = url }: Owner,
  { tenant, name: configuration }: OwnerOf,
  settings: CredentialSettings,
  { vault, now = Date.now, ...parts }: CredentialParts & { vault: Vault },
): ServerLogin {
  const isConstant = baseUrl !== undefined && URL.canParse(baseUrl) && !baseUrl.includes('{{')
  const at = isConstant ? { url: baseUrl } : {}
  const server = {
    tenant,
    configuration,
    name,
    type,
    ...at,
    settings,
  } as const
  return new ServerLogin(server, { vault, now, ...parts })
}

function createCredentials(
  owner: Owner,
  of: OwnerOf,
  settings: CredentialSettings,
  parts: CredentialParts & Pick<IssuerParts, 'steady'>,
): Credentials {
  const { type, header: name, value = '' } = settings
  const { name: server } = owner
  if (type === 'static') {
    const header = { name: name.toLowerCase(), value }
    const sent = [value]
    const credential = { key: '', header: async () => header, renew: async () => undefined, sent: () => sent }
    return { perCaller: false, of: () => credential }
  }
  if (type === 'oauth') {
    const { vault } = parts
    const isAsked = owner.type !== undefined && settings.for !== 'caller'
    if (!vault) {
      const fault = new Fault('refused', noVault({ tenant: of.tenant, configuration: of.name, name: server }))
      return { perCaller: false, of: () => (isAsked ? lacking(fault) : fault) }
    }
    const login = loginOf(owner, of, settings, { ...parts, vault })
    if (settings.for === 'caller') return callerCredentials(login, parts)
    const credential = operatorCredential(login, parts)
    return { perCaller: false, login, of: () => (isAsked ? onceAsked(credential, login) : credential) }
  }
  const tokens = new TokenCache(server, tokenAsker(server, settings, parts), parts)
  if (type === 'clientCredentials') {
    const credential = credentialOf(tokens, '', undefined)
    return { perCaller: false, of: () => credential }
  }
  return {
    perCaller: true,
    of({ headers, identity }) {
      const token = bearerToken(headers.authorization)
      if (identity?.issuer === undefined || token === undefined)
        return new Fault(
          'refused',
          `The server ${server} is called with a token for the caller, who has not logged in with one of an authorization server`,
        )
      return credentialOf(tokens, keyOf(identity), token)
    },
  }
}

/** One login for all callers. */
function operatorCredential(login: ServerLogin, parts: CacheParts): Credential {
  const tokens = new TokenCache(login.server.name, (_, refused) => login.token(refused), parts)
  login.onChange = () => tokens.forget('')
  return withWiden(credentialOf(tokens, '', undefined), login)
}

/** A login that an MCP server asks for by a 401 (2025-11-25, Authorization): until there is one, requests are sent without. */
function onceAsked(credential: Credential, login: ServerLogin): Credential {
  const isMissing = async () => (await login.state().catch(() => 'unknown')) === 'missing'
  return {
    ...credential,
    async header() {
      const header = await credential.header()
      return header instanceof Fault && header.kind === 'refused' && (await isMissing()) ? undefined : header
    },
    asked: () => credential.header(),
  }
}

/** The same without a vault, where there cannot be a login. */
function lacking(fault: Fault): Credential {
  return {
    key: '',
    header: async () => undefined,
    asked: async () => fault,
    renew: async () => undefined,
    sent: () => [],
  }
}

function tokensOfCallers(logins: ServerLogin, parts: CacheParts): TokenCache {
  // Each remembers its login for when the vault cannot be read.
  const known = new RecentMap<string, ServerLogin>(1_000)
  // The cache passes text.
  const askToken: AskToken = (caller = '', refused) => {
    const own = known.get(caller) ?? logins.of(JSON.parse(caller) as LoginCaller)
    known.set(caller, own)
    return own.token(refused)
  }
  const tokens = new TokenCache(logins.server.name, askToken, parts)
  logins.onChange = (caller) => {
    if (!caller) return
    known.delete(JSON.stringify(caller))
    tokens.forget(caller.key)
  }
  return tokens
}

const USELESS = 'a server refuses the tokens of new logins: they may be for another audience'

/** @param isAgain whether the server refused another login before, so that one more would not help */
function refusalOf(name: string, isAgain: boolean): Fault {
  const text = `The server ${name} refuses the token of the login`
  if (!isAgain) return new Fault('refused', `${text}: the caller has to log in`)
  return new Fault(
    'status',
    `${text}, as it refused that of the login before: it may be for another audience. Another login would not help; the operator of the gateway has to look at \`credentials\` of the server`,
  )
}

/** A login for each caller; one that is missing can be asked for. */
function callerCredentials(logins: ServerLogin, parts: CacheParts): Credentials {
  const { name } = logins.server
  const tokens = tokensOfCallers(logins, parts)
  const needOf = (caller: LoginCaller): LoginNeed => ({
    async ask() {
      const question = await askCaller(logins, caller)
      if (!(question instanceof Fault))
        question.completed.then(() => tokens.forget(caller.key)).catch(unexpected('a login'))
      return question
    },
  })
  const refusal = (isAgain: boolean) => {
    if (isAgain) parts.log.warn({ server: name }, USELESS)
    return refusalOf(name, isAgain)
  }
  const of = (caller: LoginCaller): Credential => {
    const need = needOf(caller)
    const asking = async <T>(header: () => Promise<T>) => {
      const got = await header()
      const isMissing = got instanceof Fault && got.kind === 'refused'
      return isMissing ? new Fault(got.kind, got.message, { login: need }) : got
    }
    const own = withWiden(credentialOf(tokens, caller.key, JSON.stringify(caller)), logins.of(caller))
    // A server that refuses a new token, too, may take that of another login.
    const renewed = async (refused: SentHeader) => {
      const other = await own.renew(refused)
      const isMissing = other === undefined || (other instanceof Fault && other.kind === 'refused')
      return isMissing ? tokens.giveUp(caller.key, refused, refusal) : other
    }
    return {
      ...own,
      taken: (header) => tokens.taken(caller.key, header),
      header: () => asking(own.header) as ReturnType<Credential['header']>,
      renew: (refused) => asking(() => renewed(refused)),
      widen: (refused, challenge) =>
        asking(() => own.widen(refused, challenge)) as ReturnType<typeof own.widen>,
      onLoginChange: (listener) =>
        onLoginChange(logins, caller, () => {
          tokens.forget(caller.key)
          listener()
        }),
    }
  }
  return {
    perCaller: true,
    callerLogins: logins,
    of({ identity }) {
      if (identity) return of(callerOf(identity))
      return new Fault('refused', `The server ${name} needs a login of the caller, who is not known here`)
    },
    ofCallers: {
      show: async (identity) => identity && showLogins(logins, callerOf(identity)),
      async missing(identity) {
        if (!identity) return undefined
        const caller = callerOf(identity)
        const header = await of(caller).header()
        if (header instanceof Fault) return header.login
        // More scopes may be wanted.
        const isWhole =
          (await logins
            .of(caller)
            .current()
            .catch(() => '')) !== undefined
        return isWhole ? undefined : needOf(caller)
      },
    },
  }
}

function withWiden(
  credential: Credential,
  login: ServerLogin,
): Credential & Required<Pick<Credential, 'widen'>> {
  return {
    ...credential,
    async widen(refused, challenge) {
      const wider = await login.widen(challenge, refused.value)
      return wider === 'other' ? credential.renew(refused) : wider
    },
  }
}

/** Names of tokens in files are unique in their configuration or in the settings only. */
function callerOf({
  caller,
  callerName = caller,
  issuer,
  subject,
  bySettings = false,
}: Identity): LoginCaller {
  const key = JSON.stringify([bySettings, caller])
  return { key, name: callerName, ...(issuer !== undefined && { issuer, subject }) }
}

function noVault(server: Parameters<typeof loginName>[0]): string {
  return `The server ${server.name} needs a login: add \`vault\` to the settings, then run \`plantgw login ${loginName(server)}\``
}

/** Part of the key are scopes and client: tokens of the same person with others may permit other actions. */
function keyOf({ caller, clientId = '', scopes }: Identity): string {
  return JSON.stringify([caller, clientId, [...scopes].sort()])
}

/** @param subject the caller's own token, newer than the cached one */
function credentialOf(tokens: TokenCache, key: string, subject: string | undefined): Credential {
  tokens.update(key, subject)
  return {
    key,
    header: () => tokens.header(key, subject),
    renew: (refused) => tokens.renew(key, subject, refused),
    sent: () => tokens.sent(key),
  }
}

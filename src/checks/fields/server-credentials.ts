import {
  type Configuration,
  type Credentials,
  isOpen,
  type McpServer,
  oauthOf,
  offers,
  routersTo,
  type Server,
  type Tool,
} from '../../config/index.ts'
import { headerOf, wireName } from '../../config/model.ts'
import { asksOwnHost, writtenOrigin } from '../../config/short-form.ts'
import { TRANSPORTS } from '../../config/transports.ts'
import type { Path, Reporter } from '../../findings/index.ts'
import { quote, quoteAll } from '../../text/index.ts'
import { type Context, withoutEffect } from '../check.ts'
import { checkScopes, reportIdle, reportUrl } from './value-rules.ts'

type Type = Credentials['type']

const FETCHED: readonly Type[] = ['clientCredentials', 'tokenExchange']
const OAUTH: readonly Type[] = [...FETCHED, 'oauth']
/** Types that use a key. */
const USED_BY: Partial<Record<keyof Credentials, readonly Type[]>> = {
  header: ['static'],
  value: ['static'],
  for: ['oauth'],
  authorizationUrl: ['oauth'],
  issuer: OAUTH,
  tokenUrl: OAUTH,
  clientId: OAUTH,
  clientSecret: OAUTH,
  clientAuthentication: OAUTH,
  scopes: OAUTH,
  resource: OAUTH,
  audience: FETCHED,
}
/** Framing and hop-by-hop headers, and those of the MCP transport (RFC 9110, 6.4.1 and 7.6.1). */
const OWN_HEADERS =
  /^(?:mcp-.*|host|connection|content-.*|transfer-encoding|accept|te|trailer|upgrade|keep-alive|expect|proxy-.*)$/i
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/

export function checkServerCredentials(server: Server, report: Reporter, context: Context) {
  const { credentials, headers = {}, name } = server
  if (!credentials) return
  checkCredentials(server, credentials, report, context)
  reportHeaders(headers, credentials, name, report)
}

export function checkMcpServerCredentials(server: McpServer, report: Reporter, context: Context) {
  const { credentials, type, headers, name } = server
  if (!credentials || context.isRepaired([...context.path, 'type'])) return
  // Credentials are sent in headers.
  if (!TRANSPORTS[type].keys.includes('headers'))
    return report(
      withoutEffect(
        ['credentials'],
        `for the MCP server ${quote(name)} of type \`${type}\``,
        'Give the process its credential in `env`',
      ),
    )
  checkCredentials(server, credentials, report, context)
  reportHeaders(headers, credentials, name, report)
}

/** A server of either kind. */
interface Owner extends Pick<Server, 'name' | 'baseUrl'> {
  url?: string
}

type Missing = (key: string, hint: string, other?: string) => void

function checkCredentials(
  { name, baseUrl, url = baseUrl }: Owner,
  credentials: Credentials,
  report: Reporter,
  context: Context,
) {
  const { read, path, isRepaired, configuration } = context
  const { type } = credentials
  if (isRepaired([...path, 'credentials', 'type'])) return
  const isGiven = (key: string) => read.locate.has([...path, 'credentials', key])
  const idle = Object.entries(USED_BY).filter(([key, types]) => !types.includes(type) && isGiven(key))
  reportIdle(
    idle.map(([key]) => key),
    '`credentials`',
    type,
    ['credentials'],
    report,
  )
  const missing: Missing = (key, hint, other = key) =>
    report({
      code: 'missing-key',
      path: ['credentials', 'type'],
      missing: [key, other],
      message: `\`credentials\` of type \`${type}\` needs \`${key}\``,
      hint,
    })
  if (type === 'static') {
    if (credentials.value === undefined) missing('value', 'Write it like `value: Bearer ${SHOP_TOKEN}`')
    checkHeader(credentials, report)
    return
  }
  if (type === 'oauth') {
    checkLogin(credentials, url, missing, report)
    if (credentials.for === 'caller') checkCallers(name, report, context)
    checkWants(credentials, report)
    if (context.options.hasVault === false)
      report({
        code: 'missing-vault',
        path: ['credentials', 'type'],
        message: '`type: oauth` needs `vault` in the settings',
        hint: 'Add it: `vault: { key: "${PLANTGW_VAULT_KEY}" }`, with a key of `openssl rand -base64 32`',
      })
    return
  }
  for (const key of ['clientId', 'clientSecret'] as const)
    if (credentials[key] === undefined)
      missing(key, 'Register the gateway as a client at the authorization server')
  checkEndpoint(credentials, missing, report)
  checkWants(credentials, report)
  if (type === 'tokenExchange') checkLogins(name, configuration, report)
}

function checkHeader({ header, value }: Credentials, report: Reporter) {
  if (!HEADER_NAME.test(header) || OWN_HEADERS.test(header))
    report({
      code: 'forbidden-header',
      path: ['credentials', 'header'],
      message: HEADER_NAME.test(header)
        ? `the header ${quote(header)} belongs to the transport`
        : `${quote(header)} is not a header name`,
      hint: 'Write the name of the header in which the server wants its credential',
    })
  if (value !== undefined && !HEADER_VALUE.test(value))
    report({
      code: 'invalid-value',
      path: ['credentials', 'value'],
      message:
        '`value` is not the value of a header: it has a line break, a space around it, or a character that is not ASCII',
      hint: 'Write it on one line, such as `Bearer ${SHOP_TOKEN}`',
    })
}

/** @param at URL of the server, at which its authorization server is found */
function checkLogin(credentials: Credentials, at: string | undefined, missing: Missing, report: Reporter) {
  const { issuer, authorizationUrl, tokenUrl, clientId, clientSecret, resource } = credentials
  if (credentials.for === undefined)
    missing('for', 'Write `for: gateway`: one login for all callers; or `for: caller`')
  if ((authorizationUrl === undefined) !== (tokenUrl === undefined))
    missing(
      tokenUrl === undefined ? 'tokenUrl' : 'authorizationUrl',
      'Write both, or `issuer` in their place',
    )
  const isFound = at !== undefined && URL.canParse(at) && !at.includes('{{')
  if (authorizationUrl === undefined && tokenUrl === undefined && issuer === undefined && !isFound)
    missing('issuer', 'The server has no constant URL at which its authorization server could be found')
  for (const [key, url] of Object.entries({ issuer, authorizationUrl, tokenUrl }))
    if (url !== undefined) reportUrl(url, ['credentials', key], report)
  if (clientId === undefined && clientSecret !== undefined)
    missing('clientId', 'Write the client that the secret belongs to')
  if (Array.isArray(resource) && resource.length > 1)
    report({
      code: 'invalid-value',
      path: ['credentials', 'resource'],
      message: '`credentials` of type `oauth` are good for one `resource`',
      hint: 'Write one URI',
    })
}

/** Callers must be known, and reach the page where they log in. */
function checkCallers(name: string, report: Reporter, { configuration, options }: Context) {
  const { publicUrl, tenants, clientCertificates = false } = options
  const path = ['credentials', 'for']
  if (publicUrl === null)
    report({
      code: 'missing-public-url',
      path,
      message: '`for: caller` needs `publicUrl` in the settings',
      hint: 'Add it: the URL at which browsers of callers reach the gateway, such as `https://tools.example.com`',
    })
  for (const router of clientCertificates ? [] : routersTo(name, configuration))
    if (isOpen(router, configuration, tenants))
      report({
        code: 'login-without-caller',
        path,
        message: `callers at the router ${quote(router.prefix)} are not known, so that none can have a login of its own`,
        hint: 'Give the router `auth`, or write `for: gateway`',
      })
}

function checkEndpoint({ issuer, tokenUrl }: Credentials, missing: Missing, report: Reporter) {
  if (issuer === undefined && tokenUrl === undefined)
    missing('issuer', 'Write `issuer: https://…` of the authorization server, or `tokenUrl`', 'tokenUrl')
  for (const [key, url] of Object.entries({ issuer, tokenUrl }))
    if (url !== undefined) reportUrl(url, ['credentials', key], report)
  if (issuer !== undefined && tokenUrl !== undefined)
    report(withoutEffect(['credentials', 'issuer'], 'beside `tokenUrl`', 'Remove one of the two'))
}

function checkWants({ scopes, resource = [] }: Credentials, report: Reporter) {
  checkScopes(scopes, ['credentials', 'scopes'], report)
  for (const [i, uri] of [resource].flat().entries())
    if (!URL.canParse(uri) || uri.includes('#'))
      report({
        code: 'invalid-value',
        path: ['credentials', 'resource', ...(Array.isArray(resource) ? [i] : [])],
        message: `${quote(uri)} is not an absolute URI without a fragment (RFC 8707, 2)`,
        hint: 'Write the URL of the server, or `audience` for a name',
      })
}

function checkLogins(name: string, configuration: Configuration, report: Reporter) {
  for (const router of routersTo(name, configuration))
    if (!oauthOf(router))
      report({
        code: 'exchange-without-login',
        path: ['credentials', 'type'],
        message: `callers at the router ${quote(router.prefix)} do not log in with a token that could be exchanged`,
        hint: 'Give the router `auth` with `type: jwt` or `type: introspection`, or write `type: clientCredentials`',
      })
}

export function checkToolHeaders(
  { name, headers, args }: Tool,
  report: Reporter,
  { configuration }: Context,
) {
  for (const server of configuration.servers) {
    const { credentials } = server
    if (!credentials || !offers(server, name)) continue
    reportHeaders(headers, credentials, server.name, report)
    for (const [i, arg] of args.entries())
      if (isCredentialHeader(headerOf(arg) ?? '', credentials))
        reportHeader(wireName(arg), server.name, ['args', i, arg.as === undefined ? 'name' : 'as'], report)
  }
}

function reportHeaders(
  headers: Readonly<Record<string, string>>,
  credentials: Credentials,
  server: string,
  report: Reporter,
) {
  for (const header of Object.keys(headers))
    if (isCredentialHeader(header, credentials)) reportHeader(header, server, ['headers', header], report)
}

function isCredentialHeader(name: string, { type, header }: Credentials): boolean {
  return name.toLowerCase() === (type === 'static' ? header : 'Authorization').toLowerCase()
}

function reportHeader(header: string, server: string, path: Path, report: Reporter) {
  report({
    code: 'key-without-effect',
    path,
    message: `the header ${quote(header)} has no effect: the \`credentials\` of the server ${quote(server)} set it`,
    hint: 'Remove one of the two',
  })
}

/** The hosts that get the `headers` of a server. */
export function checkHosts({ servers, tools }: Configuration, report: Reporter) {
  for (const [i, server] of servers.entries()) {
    const { name, headers = {}, baseUrl } = server
    const names = Object.keys(headers)
    if (names.length === 0) continue
    const own = [...tools.entries()].filter(([, tool]) => offers(server, tool.name))
    const hosts = [...new Set(own.map(([, { endpoint }]) => writtenOrigin(endpoint)))]
    if (baseUrl === undefined && hosts.length > 1)
      report({
        code: 'shared-headers',
        path: ['servers', i, 'headers'],
        message: `the headers of the server ${quote(name)} are sent to ${hosts.length} hosts: ${quoteAll(hosts.slice(0, 3))}`,
        hint: 'Write the `baseUrl` of the host that they are for, or write them into the tools',
      })
    for (const [j, tool] of own) {
      const isOverridden = (header: string) =>
        Object.keys(tool.headers).some((one) => one.toLowerCase() === header.toLowerCase())
      if (asksOwnHost(tool, server) || names.every(isOverridden)) continue
      report({
        code: 'key-without-effect',
        path: ['tools', j, 'endpoint'],
        message: `the headers of the server ${quote(name)} are not sent to ${quote(writtenOrigin(tool.endpoint))}, which is not the host of its \`baseUrl\``,
        hint: 'Write those that the tool needs into its own `headers`',
        severity: 'info',
      })
    }
  }
}

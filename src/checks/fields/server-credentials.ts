import {
  type Configuration,
  type Credentials,
  oauthOf,
  ownServers,
  type Server,
  type Tool,
} from '../../config/index.ts'
import type { Reporter } from '../../findings/index.ts'
import { quote } from '../../text/index.ts'
import type { Check, Context } from '../check.ts'
import { checkScopes, reportIdle, reportUrl } from './value-rules.ts'

type Type = Credentials['type']

const FETCHED: readonly Type[] = ['clientCredentials', 'tokenExchange']
/** Types that use a key. */
const USED_BY: Partial<Record<keyof Credentials, readonly Type[]>> = {
  header: ['static'],
  value: ['static'],
  issuer: FETCHED,
  tokenUrl: FETCHED,
  clientId: FETCHED,
  clientSecret: FETCHED,
  clientAuthentication: FETCHED,
  scopes: FETCHED,
  resource: FETCHED,
  audience: FETCHED,
  subjectTokenType: ['tokenExchange'],
}
/** Framing and hop-by-hop headers, and those of the MCP transport (RFC 9110, 6.4.1 and 7.6.1). */
const OWN_HEADERS =
  /^(?:mcp-.*|host|connection|content-.*|transfer-encoding|accept|te|trailer|upgrade|keep-alive|expect|proxy-.*)$/i
const HEADER_NAME = /^[!#$%&'*+.^_`|~\dA-Za-z-]+$/
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/

const CODES = [
  'missing-key',
  'key-without-effect',
  'invalid-value',
  'insecure-url',
  'forbidden-header',
  'exchange-without-login',
] as const

export const CREDENTIALS_CHECKS: readonly Check[] = [
  { codes: CODES, on: 'server', check: checkCredentials },
  {
    codes: CODES,
    on: 'mcpServer',
    check(server, report, context) {
      const { credentials, type, headers, name } = server
      if (!credentials || context.doubtful([...context.path, 'type'])) return
      if (type === 'stdio') {
        report({
          code: 'key-without-effect',
          path: ['credentials'],
          message: `\`credentials\` has no effect for the MCP server ${quote(name)} of type \`stdio\``,
          hint: 'Give the process its credential in `env`',
        })
        return
      }
      checkCredentials(server, report, context)
      for (const header of Object.keys(headers))
        if (isThat(header, credentials)) reportHeader(header, name, ['headers', header], report)
    },
  },
  { codes: ['key-without-effect'], on: 'tool', check: checkTool },
]

/** @param owner a server of either kind */
function checkCredentials(
  { name, credentials }: Pick<Server, 'name' | 'credentials'>,
  report: Reporter,
  context: Context,
) {
  if (!credentials) return
  const { read, path, doubtful, configuration } = context
  const { type } = credentials
  if (doubtful([...path, 'credentials', 'type'])) return
  const isGiven = (key: string) => read.locate.has([...path, 'credentials', key])
  const idle = Object.entries(USED_BY).filter(([key, types]) => !types.includes(type) && isGiven(key))
  reportIdle(
    idle.map(([key]) => key),
    '`credentials`',
    type,
    ['credentials'],
    report,
  )
  const missing = (key: string, hint: string) =>
    report({
      code: 'missing-key',
      path: ['credentials', 'type'],
      message: `\`credentials\` of type \`${type}\` needs \`${key}\``,
      hint,
    })
  if (type === 'static') {
    if (credentials.value === undefined) missing('value', 'Write it like `value: Bearer ${SHOP_TOKEN}`')
    checkHeader(credentials, report)
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

function checkEndpoint(
  { issuer, tokenUrl }: Credentials,
  missing: (key: string, hint: string) => void,
  report: Reporter,
) {
  if (issuer === undefined && tokenUrl === undefined)
    missing('issuer', 'Write `issuer: https://…` of the authorization server, or `tokenUrl`')
  for (const [key, url] of Object.entries({ issuer, tokenUrl }))
    if (url !== undefined) reportUrl(url, ['credentials', key], report)
  if (issuer !== undefined && tokenUrl !== undefined)
    report({
      code: 'key-without-effect',
      path: ['credentials', 'issuer'],
      message: '`issuer` has no effect beside `tokenUrl`',
      hint: 'Remove one of the two',
    })
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
  for (const router of configuration.routers)
    if (ownServers(router, configuration).includes(name) && !oauthOf(router))
      report({
        code: 'exchange-without-login',
        path: ['credentials', 'type'],
        message: `callers at the router ${quote(router.prefix)} do not log in with a token that could be exchanged`,
        hint: 'Give the router `auth` with `mode: jwt` or `mode: introspection`, or write `type: clientCredentials`',
      })
}

function checkTool({ name, headers, args }: Tool, report: Reporter, { configuration }: Context) {
  for (const { name: server, credentials, allowedTools } of configuration.servers) {
    if (!credentials || !(allowedTools?.includes(name) ?? true)) continue
    for (const header of Object.keys(headers))
      if (isThat(header, credentials)) reportHeader(header, server, ['headers', header], report)
    for (const [i, { name: header, position }] of args.entries())
      if (position === 'header' && isThat(header, credentials))
        reportHeader(header, server, ['args', i, 'name'], report)
  }
}

function isThat(name: string, { type, header }: Credentials): boolean {
  return name.toLowerCase() === (type === 'static' ? header : 'Authorization').toLowerCase()
}

function reportHeader(header: string, server: string, path: (string | number)[], report: Reporter) {
  report({
    code: 'key-without-effect',
    path,
    message: `the header ${quote(header)} has no effect: the \`credentials\` of the server ${quote(server)} set it`,
    hint: 'Remove one of the two',
  })
}

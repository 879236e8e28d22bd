import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import {
  isRepeatable,
  type McpServer,
  offers,
  type ProxySettings,
  type Server,
  type ServerTls,
  type Tool,
} from '../../config/index.ts'
import type { Reporter } from '../../findings/index.ts'
import { isPem } from '../../net/tls-files.ts'
import { quote } from '../../text/index.ts'
import { type Context, withoutEffect } from '../check.ts'

/** Members of `tls` with PEM text or paths of PEM files. */
export const PEM_MEMBERS = ['ca', 'cert', 'key'] as const

export function checkTlsUrl({ name, url = '', tls }: McpServer, report: Reporter) {
  if (!tls || !/^http:/i.test(url)) return
  report(
    withoutEffect(
      ['tls'],
      `for the MCP server ${quote(name)}, whose \`url\` is not https`,
      'Write an https URL, or remove `tls`',
    ),
  )
}

export function checkConnection(server: Pick<Server | McpServer, 'tls' | 'proxy'>, report: Reporter) {
  if (server.tls) checkTls(server.tls, report)
  checkProxy(server, report)
}

function checkTls(tls: ServerTls, report: Reporter) {
  const { cert, key, serverName } = tls
  for (const member of PEM_MEMBERS) {
    const value = tls[member]
    // The value is not shown, because it may be a key.
    if (value !== undefined && !isPem(value) && !isAbsolute(value))
      report({
        code: 'invalid-value',
        path: ['tls', member],
        message: `\`${member}\` is neither PEM text nor an absolute path`,
        hint: 'Write the whole path of a PEM file, or text that begins with `-----BEGIN `',
      })
  }
  if ((cert === undefined) !== (key === undefined)) {
    const [given, missing] = cert === undefined ? (['key', 'cert'] as const) : (['cert', 'key'] as const)
    report({
      code: 'missing-key',
      path: ['tls', given],
      missing: [missing],
      message: `\`${given}\` needs \`${missing}\``,
      hint: 'Write both: the certificate that the server is shown, and its key',
    })
  }
  if (serverName !== undefined && (isIP(serverName) || !isHost(serverName)))
    report({
      code: 'invalid-value',
      path: ['tls', 'serverName'],
      message: `${quote(serverName)} is not a host name`,
      hint: 'Write the name for which the certificate of the server is, such as `shop.internal`',
    })
}

export function checkProxy({ proxy }: { proxy?: ProxySettings }, report: Reporter) {
  if (!proxy) return
  const { host, username, password } = proxy
  if (!isHost(host) && !isIP(host.replace(/^\[|\]$/g, '')))
    report({
      code: 'invalid-value',
      path: ['proxy', 'host'],
      message: `${quote(host)} is neither a host name nor an address`,
      hint: 'Write the host alone; `type`, `port`, `username` and `password` have keys of their own',
    })
  if (password !== undefined && username === undefined)
    report({
      code: 'missing-key',
      path: ['proxy', 'password'],
      missing: ['username'],
      message: '`password` needs `username`',
      hint: 'Write the user whose password it is',
    })
}

function isHost(text: string): boolean {
  return /^[\w.-]+$/.test(text) && URL.canParse(`http://${text}/`)
}

/** Attempts that a server's other settings prevent. */
export function checkAttempts(
  { name, retry, breaker }: Pick<Server, 'name' | 'retry' | 'breaker'>,
  report: Reporter,
) {
  if (!retry) return
  if (retry.attempts === 1)
    report({
      code: 'key-without-effect',
      path: ['retry', 'attempts'],
      message: `\`attempts: 1\` repeats no request of the server ${quote(name)}`,
      hint: 'Write 2 or more, or remove `retry`',
    })
  if (breaker && breaker.failures < retry.attempts)
    report({
      code: 'key-without-effect',
      path: ['retry', 'attempts'],
      message: `the server ${quote(name)} is no longer called after ${breaker.failures} failures (\`breaker\`), so no request is sent ${retry.attempts} times`,
      hint: 'Write fewer `attempts`, or more `failures`',
    })
}

export function checkServerRetry(server: Server, report: Reporter, { configuration, isRepaired }: Context) {
  const { name, retry } = server
  checkAttempts(server, report)
  if (!retry) return
  const { tools } = configuration
  if (isRepaired(['tools']) || tools.some((_, i) => isRepaired(['tools', i]))) return
  const own = tools.filter((tool) => offers(server, tool.name))
  if (own.length && !own.some((tool) => isRepeatable(tool.method, tool)))
    report(
      withoutEffect(
        ['retry'],
        `for the server ${quote(name)}: no request of its tools may be sent twice`,
        'Write `annotations: {idempotentHint: true}` for tools that do no harm when they are called twice, or remove `retry`',
      ),
    )
}

export function checkToolRetry(tool: Tool, report: Reporter) {
  const { name, method, retry } = tool
  if (retry && retry.attempts > 1 && !isRepeatable(method, tool))
    report(
      withoutEffect(
        ['retry'],
        `for the tool ${quote(name)}: its ${method} request may not be sent twice`,
        'If sending it twice does no harm, write `annotations: {idempotentHint: true}`, otherwise remove `retry`',
      ),
    )
}

import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import type { McpServer, ProxySettings, Server, ServerTls } from '../../config/index.ts'
import type { Reporter } from '../../findings/index.ts'
import { isPem } from '../../net/tls-files.ts'
import { quote } from '../../text/index.ts'
import type { Check } from '../check.ts'

/** Members of `tls` with PEM text or paths of PEM files. */
export const PEM_MEMBERS = ['ca', 'cert', 'key'] as const

/** Checks of `tls` and `proxy` of servers. */
export const CONNECTION_CHECKS: readonly Check[] = [
  { codes: ['missing-key', 'invalid-value'], on: 'server', check: checkConnection },
  { codes: ['missing-key', 'invalid-value'], on: 'mcpServer', check: checkConnection },
  {
    codes: ['missing-key', 'invalid-value'],
    on: 'tool',
    check: ({ proxy }, report) => checkProxy(proxy, report),
  },
  {
    codes: ['key-without-effect'],
    on: 'mcpServer',
    check({ name, url = '', tls }, report) {
      if (!tls || !/^http:/i.test(url)) return
      report({
        code: 'key-without-effect',
        path: ['tls'],
        message: `\`tls\` has no effect for the MCP server ${quote(name)}, whose \`url\` is not https`,
        hint: 'Write an https URL, or remove `tls`',
      })
    },
  },
]

function checkConnection({ tls, proxy }: Pick<Server | McpServer, 'tls' | 'proxy'>, report: Reporter) {
  if (tls) checkTls(tls, report)
  checkProxy(proxy, report)
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

function checkProxy(proxy: ProxySettings | undefined, report: Reporter) {
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
      message: '`password` needs `username`',
      hint: 'Write the user whose password it is',
    })
}

function isHost(text: string): boolean {
  return /^[\w.-]+$/.test(text) && URL.canParse(`http://${text}/`)
}

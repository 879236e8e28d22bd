import type { Route, Table } from '../../build/types.ts'
import { exposedAt, isLocal, type ListenAddress, originOf, type Settings } from '../../config/index.ts'
import type { Finding } from '../../findings/index.ts'
import { CLIENT_NAMES, TOKEN_ENV } from '../../import/clients/index.ts'
import { CONSOLE } from '../../server/console/layout.tsx'
import type { Logger } from '../../telemetry/log.ts'
import { counted, firstOf, printableLines, shellWord, withoutEndSlashes } from '../../text/index.ts'
import { table } from '../output.ts'

/** Flags of `serve` that other commands need too. */
interface BannerFlags {
  /** Settings file, if named. */
  settings?: string
  /** How users run plantgw, such as `npx plantgw`. */
  command: string
  /** Logs one browser in to the console; absent: it needs no login. */
  code?: string
  /** Flags that other commands lack. */
  host?: string
  port?: number | string
}

/** Output of `serve` when ready: what is served, how to connect a client, and one line to try. */
export function banner({ routes }: Table, settings: Settings, port: number, flags: BannerFlags): string {
  const { plants } = settings
  const base = originOf({ ...settings, port })
  const lines = [`plantgw serves ${counted(routes.size, 'prefix', 'prefixes')} on ${base}`, '']
  for (const { prefix, tools, proxy } of routes.values()) {
    const behind = proxy ? `MCP server: ${proxy.servers.join(', ')}` : `tools: ${tools.join(', ') || 'none'}`
    lines.push(`  ${prefix || '/'}  ${base}${prefix}/mcp`, `    ${behind}`)
  }
  if (plants) lines.push('', `  plant store  ${base}${withoutEndSlashes(plants.basePath)}/plants`)
  const console = consoleUrl(settings, base)
  if (console !== undefined)
    lines.push('', `  console  ${console}${flags.code === undefined ? '' : `?code=${flags.code}`}`)
  const all = [...routes.values()]
  const [first] = all
  if (!first) return `${lines.join('\n')}\n`
  const shown = all.slice(0, 5).map((route) => `  ${connectLine(route, base, settings, flags)}`)
  const others = all.length > 5 ? [`  … and ${all.length - 5} more, or all of them without a prefix`] : []
  lines.push('', `Connect a client (${CLIENT_NAMES.join(', ')}):`, '', ...shown, ...others)
  const open = all.find(({ access }) => access === 'open')
  if (open) lines.push('', 'Try it:', '', `  ${flags.command} tools ${target(open.prefix, base, flags)}`)
  return `${lines.join('\n')}\n`
}

/** Where the console can be opened; undefined: at no URL, or only with settings that are missing. */
function consoleUrl({ admin, host, port }: Settings, base: string): string | undefined {
  const bind: ListenAddress = admin?.listen ?? { host, port }
  if (bind.path !== undefined || !(isLocal(bind) || admin?.token)) return undefined
  const origin = admin?.listen ? originOf(bind) : base
  return `${origin}${CONSOLE}`
}

function connectLine(
  { prefix, access }: Route,
  base: string,
  { publicUrl }: Settings,
  flags: BannerFlags,
): string {
  const isMoved = publicUrl === undefined && (flags.host ?? flags.port) !== undefined
  return [
    `${flags.command} connect claude-code ${shellWord(prefix || '/')}`,
    ...(flags.settings === undefined ? [] : [`--settings ${shellWord(flags.settings)}`]),
    ...(isMoved ? [`--url ${base}`] : []),
    // At another address, it is unknown whether the prefix requires a token.
    ...(isMoved && access === 'token' ? [`--token-env ${TOKEN_ENV}`] : []),
  ].join(' ')
}

/** The argument of `tools` and `call`: a prefix, if the settings suffice. */
function target(prefix: string, base: string, { settings, host, port }: BannerFlags): string {
  if ((host ?? port) !== undefined) return shellWord(`${base}${prefix}/mcp`)
  const named = shellWord(prefix || '/')
  return settings === undefined ? named : `${named} --settings ${shellWord(settings)}`
}

/** The served prefixes, one line each. */
export function printedRoutes({ routes }: Pick<Table, 'routes'>): string {
  const rows = [...routes.values()].map(
    ({ prefix, ssePrefix, configuration, tenant, tools, proxy, authenticate }) => [
      `${prefix}/mcp`,
      `${ssePrefix}/sse`,
      configuration,
      tenant,
      authenticate ? 'token' : 'open',
      proxy ? `MCP server: ${proxy.servers.join(', ')}` : `tools: ${tools.join(', ') || 'none'}`,
    ],
  )
  return table(['MCP', 'SSE', 'CONFIGURATION', 'TENANT', 'ACCESS', 'BEHIND IT'], rows)
}

/** Why `serve` refuses to start if other machines could reach routers without authentication, with the alternatives. */
export function refusal(open: readonly Finding[]): string {
  const named = open.map(({ file, range, message }) => {
    const { line, column } = range?.start ?? {}
    return `${[file, line, column].filter((part) => part !== undefined).join(':')}: ${message}`
  })
  const lines = [
    'plantgw: not started: other machines could call tools without saying who they are',
    ...firstOf(named, 10).map((line) => `  ${line}`),
    'Do one of these:',
    '  - add `auth` to these routers; `plantgw explain open-router` shows how',
    '  - have clients show a certificate (mTLS): `tls: {cert, key, clientCa}` in the settings',
    '  - if everyone who reaches the address may call them: `allowUnauthenticated: true` in the settings, or --allow-unauthenticated',
    '  - if only this machine calls them: `host: 127.0.0.1`, or --host 127.0.0.1',
  ]
  return `${lines.map(printableLines).join('\n')}\n`
}

/** Warns about routers opened by `allowUnauthenticated`. */
export function warnOfOpen({ routes }: Table, settings: Settings, log: Logger): void {
  const { host } = settings
  if (exposedAt({ ...settings, allowUnauthenticated: false }) === undefined) return
  const prefixes = [...routes.values()].flatMap(({ prefix, authenticate }) =>
    authenticate ? [] : prefix || '/',
  )
  if (prefixes.length)
    log.warn(
      { host, prefixes },
      'everyone who reaches this address can call these prefixes (allowUnauthenticated)',
    )
}

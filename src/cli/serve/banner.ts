import type { Route, Table } from '../../build/types.ts'
import { CLIENT_NAMES, TOKEN_ENV } from '../../clients/index.ts'
import { originOf, type Settings } from '../../config/index.ts'
import { shellWord } from '../../text/index.ts'
import { table } from '../output.ts'

/** Flags of `serve` that other commands need too. */
export interface BannerFlags {
  /** Settings file, if named. */
  settings?: string
  /** How users run plantgw, such as `npx plantgw`. */
  command: string
  /** Flags that other commands lack. */
  host?: string
  port?: number | string
}

/** Maximum lines about connecting; users can derive the rest. */
const MAX_LINES = 5

/** Output of `serve` when ready: what is served, how to connect a client, and one line to try. */
export function banner({ routes }: Table, settings: Settings, port: number, flags: BannerFlags): string {
  const { plants } = settings
  const base = originOf({ ...settings, port })
  const lines = [`plantgw serves ${count(routes.size, 'prefix', 'prefixes')} on ${base}`, '']
  for (const { prefix, tools, proxy } of routes.values()) {
    const behind = proxy ? `MCP server: ${proxy.servers.join(', ')}` : `tools: ${tools.join(', ') || 'none'}`
    lines.push(`  ${prefix || '/'}  ${base}${prefix}/mcp`, `    ${behind}`)
  }
  if (plants) lines.push('', `  plant store  ${base}${plants.basePath.replace(/(?<!\/)\/+$/, '')}/plants`)
  const all = [...routes.values()]
  const [first] = all
  if (!first) return `${lines.join('\n')}\n`
  const shown = all.slice(0, MAX_LINES).map((route) => `  ${connectLine(route, base, settings, flags)}`)
  const others =
    all.length > MAX_LINES ? [`  … and ${all.length - MAX_LINES} more, or all of them without a prefix`] : []
  lines.push('', `Connect a client (${CLIENT_NAMES.join(', ')}):`, '', ...shown, ...others)
  const open = all.find(({ access }) => access === 'open')
  if (open) lines.push('', 'Try it:', '', `  ${flags.command} tools ${target(open.prefix, base, flags)}`)
  return `${lines.join('\n')}\n`
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`
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

import type {
  Arg,
  Configuration,
  Limits,
  McpServer,
  Path,
  Prompt,
  ReadConfiguration,
  Router,
  Server,
  TenantSettings,
  Tool,
} from '../config/index.ts'
import { type Finding, type Report, type Reporter, toFinding, unsetValues } from '../findings/index.ts'

/** A configuration of valid shape. */
export type Read = ReadConfiguration & { configuration: Configuration }

/** Nodes that checks examine. */
interface Nodes {
  configuration: Configuration
  router: Router
  server: Server
  mcpServer: McpServer
  tool: Tool
  arg: Arg
  prompt: Prompt
}

/** Context of checks beyond the file. */
export interface CheckOptions {
  /** Paths of the gateway itself, such as `/_reload`, which prefixes must not equal or be below. */
  reserved?: readonly string[]
  /** Tenants of the settings; absent: any tenant may use any prefix. */
  tenants?: readonly TenantSettings[] | undefined
  /** Limits of the settings; absent: unknown. */
  limits?: Limits
  /** Public URL of the settings; null: none. Absent: the settings are unknown. */
  publicUrl?: string | null
  /** Whether the settings have a `vault`. Default: unknown. */
  hasVault?: boolean
  /** The address at which other machines could reach routers without authentication; absent: none, or allowed. */
  exposedAt?: string
  /** Whether every client has a certificate (`tls.clientCa` of the settings) that identifies it. Default: unknown. */
  clientCertificates?: boolean
  /** Maximum characters of a description. Default 1,024. */
  descriptionLength?: number
  /** Whether the gateway will listen beyond this machine. Default false. */
  production?: boolean
}

export interface Context {
  read: Read
  configuration: Configuration
  /** Path of the node. */
  path: Path
  options: CheckOptions
  /** Whether the value at a path was omitted or replaced, so that checks must ignore it. */
  isRepaired: ReadConfiguration['isRepaired']
}

/** Rules over one configuration, by the kind of node that they examine. Paths of reports are relative to the node. */
export type Checks = {
  readonly [K in keyof Nodes]?: readonly ((node: Nodes[K], report: Reporter, context: Context) => void)[]
}

/** A key that does nothing where it stands. @param why follows "has no effect" */
export function withoutEffect(path: Path, why: string, hint: string): Report {
  return { code: 'key-without-effect', path, message: `\`${path.at(-1)}\` has no effect ${why}`, hint }
}

/** A reporter of paths below a path. */
export function reportBelow(path: Path, report: Reporter): Reporter {
  return ({ related, ...one }) =>
    report({
      ...one,
      path: [...path, ...one.path],
      ...(related && { related: { ...related, path: [...path, ...related.path] } }),
    })
}

/** Runs checks over one configuration. Reports at paths of repaired values are dropped. */
export function runChecks(checks: Checks, read: Read, options: CheckOptions = {}): Finding[] {
  const { configuration, isRepaired } = read
  const findings: Finding[] = []
  const isUnset = unsetValues(read, read.findings)
  const report: Reporter = (one) => {
    const missing = (one.missing ?? []).map((key) => [...one.path.slice(0, -1), key])
    if ([one.path, ...missing].some((path) => isRepaired(path) || isUnset(path))) return
    findings.push(toFinding(one, read))
  }
  const visit = <K extends keyof Nodes>(kind: K, node: Nodes[K], path: Path) => {
    const own: Checks[K] = checks[kind]
    if (!own) return
    const context = { read, configuration, path, options, isRepaired }
    for (const check of own) check(node, reportBelow(path, report), context)
  }
  visit('configuration', configuration, [])
  const { routers, servers, mcpServers, tools, prompts } = configuration
  for (const [i, router] of routers.entries()) visit('router', router, ['routers', i])
  for (const [i, server] of servers.entries()) visit('server', server, ['servers', i])
  for (const [i, server] of mcpServers.entries()) visit('mcpServer', server, ['mcpServers', i])
  for (const [i, tool] of tools.entries()) {
    visit('tool', tool, ['tools', i])
    for (const [j, arg] of tool.args.entries()) visit('arg', arg, ['tools', i, 'args', j])
  }
  for (const [i, prompt] of prompts.entries()) visit('prompt', prompt, ['prompts', i])
  return findings
}

/** The names of a server's HTTP tools; undefined: known only at run time, or repaired. */
export function toolNames(
  name: string,
  { configuration, isRepaired }: Pick<Read, 'configuration' | 'isRepaired'>,
): readonly string[] | undefined {
  const { servers, tools } = configuration
  const server = servers.find((one) => one.name === name)
  if (!server || isRepaired(['tools']) || tools.some((_, i) => isRepaired(['tools', i, 'name'])))
    return undefined
  return server.allowedTools ?? tools.map((tool) => tool.name)
}

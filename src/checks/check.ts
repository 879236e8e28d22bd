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
  /** Path of the current node; changes after the check returns. */
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

/** Runs checks over one configuration. Reports at paths of repaired values are dropped. */
export function runChecks(checks: Checks, read: Read, options: CheckOptions = {}): Finding[] {
  const { configuration, isRepaired } = read
  const findings: Finding[] = []
  const isUnset = unsetValues(read, read.findings)
  const context = { read, configuration, path: [] as Path, options, isRepaired }
  const report: Reporter = (one) => {
    const { path } = context
    const at = [...path, ...one.path]
    const about = [at, ...(one.missing ?? []).map((key) => [...at.slice(0, -1), key])]
    if (about.some((path) => isRepaired(path) || isUnset(path))) return
    const related = one.related && { ...one.related, path: [...path, ...one.related.path] }
    findings.push(toFinding({ ...one, path: at, ...(related && { related }) }, read))
  }
  for (const check of checks.configuration ?? []) check(configuration, report, context)
  const visit = <K extends keyof Nodes>(kind: K, nodes: readonly Nodes[K][], path: Path) => {
    const own: Checks[K] = checks[kind]
    for (const [i, node] of own ? nodes.entries() : []) {
      // One object for all nodes; checks must not keep it.
      context.path = [...path, i]
      for (const check of own!) check(node, report, context)
    }
  }
  const { routers, servers, mcpServers, tools, prompts } = configuration
  visit('router', routers, ['routers'])
  visit('server', servers, ['servers'])
  visit('mcpServer', mcpServers, ['mcpServers'])
  visit('tool', tools, ['tools'])
  for (const [i, { args }] of tools.entries()) visit('arg', args, ['tools', i, 'args'])
  visit('prompt', prompts, ['prompts'])
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

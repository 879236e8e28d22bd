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
import {
  type Finding,
  type FindingCode,
  type Report,
  type Reporter,
  toFinding,
  unsetValues,
} from '../findings/index.ts'
import { groupBy } from '../text/index.ts'

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

type CheckOf<K extends keyof Nodes> = {
  /** Codes it may report. The catalogue of findings has their phase, severity and documentation. */
  codes: readonly FindingCode[]
  /** Kind of node that it is called for. */
  on: K
  /** Paths of reports are relative to the node. */
  check(node: Nodes[K], report: Reporter, context: Context): void
}

/** A rule over one configuration. */
export type Check = { [K in keyof Nodes]: CheckOf<K> }[keyof Nodes]

/** A key that does nothing where it stands. @param why follows "has no effect" */
export function withoutEffect(path: Path, why: string, hint: string): Report {
  return { code: 'key-without-effect', path, message: `\`${path.at(-1)}\` has no effect ${why}`, hint }
}

/** Runs checks over one configuration. Reports at paths of repaired values are dropped. */
export function runChecks(checks: readonly Check[], read: Read, options: CheckOptions = {}): Finding[] {
  const { configuration, isRepaired } = read
  const findings: Finding[] = []
  const isUnset = unsetValues(read, read.findings)
  const byKind: ByKind = groupBy(checks, ({ on }) => on)
  const context = { read, configuration, path: [] as Path, options, isRepaired }
  const report: Reporter = (one) => {
    const { path } = context
    const at = [...path, ...one.path]
    const about = [at, ...(one.missing ?? []).map((key) => [...at.slice(0, -1), key])]
    if (about.some((path) => isRepaired(path) || isUnset(path))) return
    const related = one.related && { ...one.related, path: [...path, ...one.related.path] }
    findings.push(toFinding({ ...one, path: at, ...(related && { related }) }, read))
  }
  eachNode(configuration, byKind, (own, node, path) => {
    // One object for all nodes; checks must not keep it.
    context.path = path
    for (const { check } of own) check(node as never, report, context)
  })
  return findings
}

type ByKind = ReadonlyMap<keyof Nodes, readonly Check[]>

/** The nodes with their checks. */
function eachNode(
  configuration: Configuration,
  checks: ByKind,
  visit: (own: readonly Check[], node: Nodes[keyof Nodes], path: Path) => void,
): void {
  const visitAll = (kind: keyof Nodes, nodes: readonly Nodes[keyof Nodes][], path: Path) => {
    const own = checks.get(kind)
    if (own) for (let i = 0; i < nodes.length; i++) visit(own, nodes[i]!, [...path, i])
  }
  const { routers, servers, mcpServers, tools, prompts } = configuration
  const whole = checks.get('configuration')
  if (whole) visit(whole, configuration, [])
  visitAll('router', routers, ['routers'])
  visitAll('server', servers, ['servers'])
  visitAll('mcpServer', mcpServers, ['mcpServers'])
  visitAll('tool', tools, ['tools'])
  if (checks.has('arg'))
    for (const [i, { args }] of tools.entries()) visitAll('arg', args, ['tools', i, 'args'])
  visitAll('prompt', prompts, ['prompts'])
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

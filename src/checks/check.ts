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
import { type Finding, type FindingCode, type Reporter, toFinding } from '../findings/index.ts'
import { groupBy } from '../text/index.ts'

/** A configuration that has its shape. */
export type Read = ReadConfiguration & { configuration: Configuration }

/** What checks look at. */
interface Nodes {
  configuration: Configuration
  router: Router
  server: Server
  mcpServer: McpServer
  tool: Tool
  arg: Arg
  prompt: Prompt
}

/** What checks depend on beside the file. */
export interface CheckOptions {
  /** Paths that the gateway serves itself, such as `/_reload`; a prefix may be neither one nor below one. */
  reserved?: readonly string[]
  /** The tenants of the settings; absent: any tenant may have any prefix. */
  tenants?: readonly TenantSettings[] | undefined
  /** Of the settings; absent: they are not known. */
  limits?: Limits
  /** Of the settings; null: they have none. Absent: the settings are not known. */
  publicUrl?: string | null
  /** The address at which other machines reach routers that authenticate nobody; absent: none, or they may. */
  exposedAt?: string
  /** Every client has a certificate (`tls.clientCa` of the settings), which says who it is. Default: it is not known. */
  clientCertificates?: boolean
  /** Characters of a description. Default 1,024. */
  descriptionLength?: number
  /** The gateway will listen beyond this machine. Default false. */
  production?: boolean
}

export interface Context {
  read: Read
  configuration: Configuration
  /** Of the node; that of the next one once the check has returned. */
  path: Path
  options: CheckOptions
  /** Whether the value at a path of the file was left out or replaced, so that nothing can be said of it. */
  doubtful: ReadConfiguration['doubtful']
}

type CheckOf<K extends keyof Nodes> = {
  /** What it may report. Phase, severity and documentation of a code stand in the catalogue of findings. */
  codes: readonly FindingCode[]
  /** It is called for each node of this kind. */
  on: K
  /** Paths of reports are relative to the node. */
  check(node: Nodes[K], report: Reporter, context: Context): void
}

/** A rule over one configuration. */
export type Check = { [K in keyof Nodes]: CheckOf<K> }[keyof Nodes]

/** Runs checks over one configuration. What is reported at a doubtful path is left out. */
export function runChecks(checks: readonly Check[], read: Read, options: CheckOptions = {}): Finding[] {
  const { configuration, doubtful } = read
  const findings: Finding[] = []
  const byKind = grouped(checks)
  const context = { read, configuration, path: [] as Path, options, doubtful }
  const report: Reporter = (one) => {
    const { path } = context
    const at = [...path, ...one.path]
    if (doubtful(at)) return
    const related = one.related && { ...one.related, path: [...path, ...one.related.path] }
    findings.push(toFinding({ ...one, path: at, ...(related && { related }) }, read))
  }
  eachNode(configuration, byKind, (own, node, path) => {
    // One object for all nodes: checks read its path while they run, and keep none.
    context.path = path
    for (const { check } of own) check(node as never, report, context)
  })
  return findings
}

type ByKind = ReadonlyMap<keyof Nodes, readonly Check[]>

const groups = new WeakMap<readonly Check[], ByKind>()

/** Each list of checks is made once, and runs for every node of every file. */
function grouped(checks: readonly Check[]): ByKind {
  const known = groups.get(checks)
  if (known) return known
  const made = groupBy(checks, ({ on }) => on)
  groups.set(checks, made)
  return made
}

/** The nodes for which there are checks, each with those of its kind. */
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

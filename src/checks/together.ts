import { serverNames, type TenantSettings } from '../config/model.ts'
import { atOnce, type Steps } from '../config/turns.ts'
import type { Path, ReadConfiguration } from '../config/types.ts'
import { type Finding, sortFindings } from '../findings/index.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'
import { type At, type Read, report } from './at.ts'
import { type Claim, prefixClaims, take } from './prefixes.ts'
import { tenantFaults } from './tenants.ts'

export interface CheckTogetherOptions {
  /** Paths that the gateway serves itself, such as `/_reload`; a prefix may be neither one nor below one. */
  reserved?: readonly string[]
  /** Those of the settings; absent: any tenant may have any prefix. */
  tenants?: readonly TenantSettings[]
}

/** What is wrong inside of one configuration, and what it claims among all. */
export interface Alone {
  findings: readonly Finding[]
  claims: readonly (readonly Claim[])[]
}

/** What is wrong with names and references inside of one configuration. */
export function checkAlone(read: Read, { reserved = [], tenants }: CheckTogetherOptions): Alone {
  const findings: Finding[] = []
  checkNames(read, findings)
  checkReferences(read, findings)
  const claims = prefixClaims(read, reserved, findings)
  if (tenants) checkTenant(read, tenants, findings)
  return { findings, claims }
}

/**
 * What is wrong with names and references, inside each configuration and among all of them; sorted. Those that
 * could not be read are passed over.
 */
export function checkTogether(
  configurations: readonly ReadConfiguration[],
  options: CheckTogetherOptions = {},
): Finding[] {
  return atOnce(togetherSteps(configurations, (read) => checkAlone(read, options)))
}

/**
 * The same, with pauses.
 * @param aloneOf gives what `checkAlone` says
 */
export function* togetherSteps(
  configurations: readonly ReadConfiguration[],
  aloneOf: (read: Read) => Alone,
): Steps<Finding[]> {
  const findings: Finding[] = []
  const names = new Map<string, At>()
  const taken = new Map<string, Claim>()
  for (const each of configurations) {
    if (!each.configuration) continue
    const read = each as Read
    const { name } = read.configuration
    const at = { read, path: ['name'] }
    if (!read.doubtful(at.path))
      once(names, name, at, findings, 'duplicate-configuration', 'two configurations have the name')
    const alone = aloneOf(read)
    for (const found of alone.findings) findings.push(found)
    for (const claims of alone.claims) take(taken, claims, findings)
    yield
  }
  return sortFindings(findings)
}

function once(
  seen: Map<string, At>,
  name: string,
  at: At,
  findings: Finding[],
  code: Finding['code'],
  same: string,
) {
  const first = seen.get(name)
  const hint = 'Rename or remove one of the two'
  if (first) findings.push(report(at, code, `${same} ${quote(name)}`, hint, first))
  else seen.set(name, at)
}

/** Tools, prompts and arguments by themselves; servers and MCP servers share the names that routers use. */
function checkNames(read: Read, findings: Finding[]) {
  const { tools, prompts, servers, mcpServers } = read.configuration
  const unique = (kind: string, seen: Map<string, At>, name: string, owner: Path) => {
    const path = [...owner, 'name']
    if (!read.doubtful(path))
      once(seen, name, { read, path }, findings, 'duplicate-name', `two ${kind} have the name`)
  }

  const toolNames = new Map<string, At>()
  for (const [i, tool] of tools.entries()) {
    unique('tools', toolNames, tool.name, ['tools', i])
    const args = new Map<string, At>()
    for (const [j, arg] of tool.args.entries()) {
      unique(`arguments of ${quote(tool.name)}`, args, arg.name, ['tools', i, 'args', j])
    }
  }
  const promptNames = new Map<string, At>()
  for (const [i, prompt] of prompts.entries()) {
    unique('prompts', promptNames, prompt.name, ['prompts', i])
    const args = new Map<string, At>()
    for (const [j, arg] of prompt.arguments.entries()) {
      unique(`arguments of ${quote(prompt.name)}`, args, arg.name, ['prompts', i, 'arguments', j])
    }
  }
  const names = new Map<string, At>()
  for (const [i, server] of servers.entries()) unique('servers', names, server.name, ['servers', i])
  for (const [i, server] of mcpServers.entries()) unique('servers', names, server.name, ['mcpServers', i])
}

function checkReferences(read: Read, findings: Finding[]) {
  const { routers, servers, mcpServers, tools } = read.configuration
  const known = new Set([...servers, ...mcpServers].map(({ name }) => name))
  const toolNames = new Set(tools.map(({ name }) => name))
  const serverHint = chooser(known, 'Servers here', 'Add it under `servers` or `mcpServers`')
  const toolHint = chooser(toolNames, 'Tools here', 'Add it under `tools`')
  // Any name may be that of an entry whose name is not known.
  const lacks = (key: 'servers' | 'mcpServers' | 'tools') =>
    read.doubtful([key]) || read.configuration[key].some((_, i) => read.doubtful([key, i, 'name']))
  const allServers = !lacks('servers') && !lacks('mcpServers')
  const allTools = !lacks('tools')
  // What a dangling reference most likely means is not told again as unrouted: one mistake, one finding.
  const meant = new Set<string>()
  let excused = 0
  for (const [i, router] of routers.entries()) {
    if (!allServers || read.doubtful(['routers', i, 'server'])) continue
    for (const [j, server] of serverNames(router).entries()) {
      const path = ['routers', i, 'server', ...(typeof router.server === 'string' ? [] : [j])]
      if (!known.has(server)) {
        const message = `there is no server ${quote(server)}`
        const { close, hint } = serverHint(server)
        if (close) meant.add(close)
        else excused++
        findings.push(report({ read, path }, 'dangling-server', message, hint))
      } else if (path.length === 4 && servers.some(({ name }) => name === server)) {
        const message = `${quote(server)} has HTTP tools, and only MCP servers can share a prefix`
        findings.push(report({ read, path }, 'dangling-server', message, 'Give it a router of its own'))
      }
    }
  }
  for (const [i, { name, allowedTools }] of servers.entries()) {
    for (const [j, tool] of (allowedTools ?? []).entries()) {
      if (toolNames.has(tool) || !allTools) continue
      const message = `the server ${quote(name)} allows the tool ${quote(tool)}, which does not exist`
      const { hint } = toolHint(tool)
      findings.push(report({ read, path: ['servers', i, 'allowedTools', j] }, 'dangling-tool', message, hint))
    }
  }
  if (read.doubtful(['routers']) || routers.some((_, i) => read.doubtful(['routers', i, 'server']))) return
  if (routers.length === 0) {
    // Of a file without a name it is not sure that it is a configuration.
    if (read.doubtful(['name'])) return
    findings.push(
      report(
        { read, path: ['name'] },
        'no-router',
        `the configuration ${quote(read.configuration.name)} has no router`,
        'Add one under `routers`',
      ),
    )
    return
  }
  const routed = new Set(routers.flatMap(serverNames))
  for (const key of ['servers', 'mcpServers'] as const) {
    for (const [i, { name }] of read.configuration[key].entries()) {
      if (routed.has(name) || meant.has(name) || read.doubtful([key, i, 'name'])) continue
      if (excused-- > 0) continue
      const message = `no router names the server ${quote(name)}`
      findings.push(
        report(
          { read, path: [key, i, 'name'] },
          'unrouted-server',
          message,
          `Add a router with \`server: ${name}\`, or remove it`,
        ),
      )
    }
  }
}

function checkTenant(read: Read, tenants: readonly TenantSettings[], findings: Finding[]) {
  if (read.doubtful(['tenant'])) return
  for (const { code, path, message, hint } of tenantFaults(read.configuration, tenants))
    if (!read.doubtful(path)) findings.push(report({ read, path }, code, message, hint))
}

/** So many names are listed in a hint. */
const MAX_LISTED = 12
/** So many pairs of words are compared for one configuration: beyond that, hints only list what there is. */
const MAX_COMPARED = 100_000

/** Hints for words that are none of `names`. */
function chooser(
  names: ReadonlySet<string>,
  what: string,
  add: string,
): (word: string) => { hint: string; close?: string } {
  if (names.size === 0) return () => ({ hint: add })
  const rest = names.size > MAX_LISTED ? ` and ${names.size - MAX_LISTED} more` : ''
  const known = `${what}: ${quoteAll([...names].slice(0, MAX_LISTED))}${rest}`
  let compared = 0
  return (word) => {
    compared += names.size
    const close = compared <= MAX_COMPARED ? nearest(word, names) : undefined
    return close ? { hint: `Did you mean \`${close}\`? ${known}`, close } : { hint: known }
  }
}

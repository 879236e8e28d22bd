import { type Finding, finding, nearest, sortFindings } from '../findings/index.ts'
import { type Configuration, serverNames } from './model.ts'
import type { Path, ReadConfiguration } from './read.ts'
import { list, quote } from './words.ts'

export interface CheckTogetherOptions {
  /** Paths that the gateway serves itself, such as `/_reload`; a prefix may be neither one nor below one. */
  reserved?: readonly string[]
}

type Read = ReadConfiguration & { configuration: Configuration }

/** A place of one of the files. */
interface At {
  read: Read
  path: Path
}

/**
 * What is wrong with names and references, inside each configuration and among all of them; sorted. Those that
 * could not be read are passed over.
 */
export function checkTogether(
  configurations: readonly ReadConfiguration[],
  { reserved = [] }: CheckTogetherOptions = {},
): Finding[] {
  const reads = configurations.filter((read): read is Read => read.configuration !== undefined)
  const findings: Finding[] = []
  const names = new Map<string, At>()
  const claims = new Map<string, { at: At; prefix: string }>()
  for (const read of reads) {
    const { name } = read.configuration
    if (!read.doubtful(['name']))
      once(
        names,
        name,
        { read, path: ['name'] },
        findings,
        'duplicate-configuration',
        `two configurations have the name ${quote(name)}`,
      )
    checkNames(read, findings)
    checkReferences(read, findings)
    checkPrefixes(read, claims, reserved, findings)
  }
  return sortFindings(findings)
}

function report(
  { read, path }: At,
  code: Finding['code'],
  message: string,
  hint: string,
  first?: At,
): Finding {
  const range = placeOf({ read, path })
  const other = first && placeOf(first)
  return finding(code, read.file, message, {
    ...(range && { range }),
    hint,
    ...(first && {
      related: [{ file: first.read.file, ...(other && { range: other }), message: 'the first one' }],
    }),
  })
}

function placeOf({ read, path }: At) {
  return read.locate(path) ?? read.locate.key(path)
}

function once(
  seen: Map<string, At>,
  name: string,
  at: At,
  findings: Finding[],
  code: Finding['code'],
  message: string,
) {
  const first = seen.get(name)
  if (first) findings.push(report(at, code, message, 'Rename or remove one of the two', first))
  else seen.set(name, at)
}

/** Tools, prompts and arguments by themselves; servers and MCP servers share the names that routers use. */
function checkNames(read: Read, findings: Finding[]) {
  const { tools, prompts, servers, mcpServers } = read.configuration
  const unique = (kind: string, seen: Map<string, At>, name: string, owner: Path) => {
    const path = [...owner, 'name']
    const message = `two ${kind} have the name ${quote(name)}`
    if (!read.doubtful(path)) once(seen, name, { read, path }, findings, 'duplicate-name', message)
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
  for (const [i, router] of routers.entries()) {
    if (!allServers || read.doubtful(['routers', i, 'server'])) continue
    for (const [j, server] of serverNames(router).entries()) {
      const path = ['routers', i, 'server', ...(typeof router.server === 'string' ? [] : [j])]
      if (!known.has(server)) {
        const message = `there is no server ${quote(server)}`
        findings.push(report({ read, path }, 'dangling-server', message, serverHint(server)))
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
      const hint = toolHint(tool)
      findings.push(report({ read, path: ['servers', i, 'allowedTools', j] }, 'dangling-tool', message, hint))
    }
  }
  if (read.doubtful(['routers']) || routers.some((_, i) => read.doubtful(['routers', i, 'server']))) return
  if (routers.length === 0) {
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
      if (routed.has(name) || read.doubtful([key, i, 'name'])) continue
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

/** So many names are listed in a hint. */
const MAX_LISTED = 12
/** So many pairs of words are compared for one configuration: beyond that, hints only list what there is. */
const MAX_COMPARED = 100_000

/** Hints for words that are none of `names`. */
function chooser(names: ReadonlySet<string>, what: string, add: string): (word: string) => string {
  if (names.size === 0) return () => add
  const rest = names.size > MAX_LISTED ? ` and ${names.size - MAX_LISTED} more` : ''
  const known = `${what}: ${list([...names].slice(0, MAX_LISTED))}${rest}`
  let compared = 0
  return (word) => {
    compared += names.size
    const close = compared <= MAX_COMPARED ? nearest(word, names) : undefined
    return close ? `Did you mean \`${close}\`? ${known}` : known
  }
}

function checkPrefixes(
  read: Read,
  claims: Map<string, { at: At; prefix: string }>,
  reserved: readonly string[],
  findings: Finding[],
) {
  for (const [i, { prefix, ssePrefix }] of read.configuration.routers.entries()) {
    const own: At = { read, path: ['routers', i, 'prefix'] }
    const sse: At = { read, path: ['routers', i, 'ssePrefix'] }
    const places =
      ssePrefix === undefined
        ? [{ at: own, path: prefix }]
        : [
            { at: own, path: prefix },
            { at: sse, path: ssePrefix },
          ]
    if (read.doubtful(own.path) || read.doubtful(sse.path)) continue
    for (const { at, path } of places) {
      const fault = prefixFault(path)
      if (fault)
        findings.push(
          report(
            at,
            'prefix-form',
            `the prefix ${quote(path)} ${fault}`,
            `Write it like \`${mended(path)}\``,
          ),
        )
      const taken = reserved.find((one) => isBelow(comparable(path), comparable(one)))
      if (taken !== undefined) {
        findings.push(
          report(
            at,
            'reserved-prefix',
            `the prefix ${quote(path)} meets the gateway's own path ${quote(taken)}`,
            'Choose another prefix',
          ),
        )
      }
    }
    if (!claim(claims, 'mcp', own, prefix, findings)) continue
    claim(claims, 'sse', ssePrefix === undefined ? own : sse, ssePrefix ?? prefix, findings)
  }
}

/** Each router serves `/mcp` below one prefix, and `/sse` and `/message` below that or another. */
function claim(
  claims: Map<string, { at: At; prefix: string }>,
  kind: string,
  at: At,
  prefix: string,
  findings: Finding[],
): boolean {
  const key = `${kind} ${comparable(prefix)}`
  const first = claims.get(key)
  if (!first) {
    claims.set(key, { at, prefix })
    return true
  }
  const same = first.prefix === prefix
  const message = same
    ? `two routers have the prefix ${quote(prefix)}`
    : `the prefix ${quote(prefix)} differs from ${quote(first.prefix)} only by case or slashes`
  findings.push(report(at, 'duplicate-prefix', message, 'Give one of the two another prefix', first.at))
  return false
}

function comparable(prefix: string): string {
  return `/${prefix.toLowerCase().split('/').filter(Boolean).join('/')}`
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}/`)
}

function prefixFault(prefix: string): string | undefined {
  if (prefix === '') return 'is empty'
  if (!prefix.startsWith('/')) return 'does not begin with a slash'
  if (prefix.endsWith('/')) return 'ends with a slash'
  if (prefix.includes('//')) return 'has two slashes in a row'
  if (prefix.split('/').some((segment) => segment === '.' || segment === '..')) return 'has a dot segment'
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/.test(prefix)) return 'holds characters that a URL path cannot'
  if (/[*:]/.test(prefix)) return 'holds `*` or `:`'
  return undefined
}

function mended(prefix: string): string {
  const segments = prefix.split('/').map((segment) => segment.replace(/[^A-Za-z0-9\-._~]/g, ''))
  const kept = segments.filter((segment) => segment && segment !== '.' && segment !== '..')
  return kept.length ? `/${kept.join('/')}` : '/name'
}

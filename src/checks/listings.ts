import {
  type FoundMember,
  findMembers,
  type Member,
  nameOf,
  type Router,
  reachesOut,
  SEPARATOR,
  type Servers,
  serversOf,
} from '../config/index.ts'
import { type Finding, type Reporter, reporter, type Suggestion, suggest } from '../findings/index.ts'
import { counted, plural, quote, type Steps } from '../text/index.ts'
import { type Read, reportBelow, toolNames } from './check.ts'
import { MAX_TOOL_NAME } from './practice/naming.ts'

/** Results for routers with lists of servers, which need all configurations. */
interface Listings {
  findings: Finding[]
  /** Servers of a configuration used by routers of others. */
  usedOf(read: Read): ReadonlySet<string>
}

/** A server of a router's list. */
interface Listed extends FoundMember {
  /** Its name as the router's configuration writes it. */
  written: string
  /** The names of its tools; undefined: known only at run time. */
  tools: readonly string[] | undefined
}

type Suggest = (word: string, names: readonly string[]) => Suggestion

/** Maximum pairs of words that one run compares. */
const MAX_COMPARED = 1_000_000

/** Checks routers with lists for unknown servers and tools, and for name clashes. */
export function* listingSteps(reads: readonly Read[]): Steps<Listings> {
  const findings: Finding[] = []
  const used = new Map<Read, Set<string>>()
  const listing = reads.filter(({ configuration }) => configuration.routers.some(isListing))
  const tenants = listing.length ? byTenant(reads) : new Map<string, TenantServers>()
  let compared = 0
  const suggestWithin: Suggest = (word, names) => {
    compared += names.length
    return compared > MAX_COMPARED ? {} : suggest(word, names)
  }
  for (const read of listing) {
    const { configuration, isRepaired } = read
    const known = tenants.get(configuration.tenant) as TenantServers
    const own = serversOf(configuration)
    for (const [i, router] of configuration.routers.entries()) {
      const path = ['routers', i, 'server']
      if (!isListing(router) || isRepaired(path)) continue
      const { found, missing } = findMembers(router, own, reachesOut(router) ? known.servers : [])
      const report = reportBelow(path, reporter(read, findings))
      for (const at of missing) reportMissing(router.server[at]!.server, at, known, suggestWithin, report)
      const listed = found.map((member): Listed => {
        const { configuration: name, server } = member
        const isOwn = name === configuration.name
        const owner = isOwn ? read : known.reads.get(name)
        if (owner && owner !== read) used.set(owner, (used.get(owner) ?? new Set()).add(server))
        return {
          ...member,
          written: isOwn ? server : nameOf(name, server),
          tools: owner && toolNames(server, owner),
        }
      })
      for (const member of listed) {
        const below = reportBelow([member.at], report)
        if (router.names === 'prefixed') reportLong(member, below)
        reportUnknown(member, suggestWithin, below)
      }
      reportClashes(listed, router.names, report)
    }
    yield
  }
  return { findings, usedOf: (read) => used.get(read) ?? new Set() }
}

interface TenantServers {
  reads: Map<string, Read>
  servers: Servers[]
}

function isListing(router: Router): router is Router & { server: Member[] } {
  return typeof router.server !== 'string'
}

function byTenant(reads: readonly Read[]): Map<string, TenantServers> {
  const tenants = new Map<string, TenantServers>()
  for (const read of reads) {
    const { tenant, name } = read.configuration
    const known: TenantServers = tenants.get(tenant) ?? { reads: new Map(), servers: [] }
    tenants.set(tenant, known)
    if (known.reads.has(name)) continue
    known.reads.set(name, read)
    known.servers.push(serversOf(read.configuration))
  }
  return tenants
}

function reportMissing(
  server: string,
  at: number,
  { servers }: TenantServers,
  suggest: Suggest,
  report: Reporter,
): void {
  // References within one configuration are checked there.
  if (!server.includes('/')) return
  const names = servers.flatMap(({ name, servers }) => servers.map((one) => nameOf(name, one)))
  const isGlob = server.includes('*')
  report({
    code: 'dangling-member',
    path: [at],
    message: isGlob
      ? `no server is named like ${quote(server)}`
      : `there is no server ${quote(server)}; clients see nothing of it`,
    ...(isGlob ? {} : suggest(server, names)),
    hint: 'Write `configuration/server`: the `name` of a configuration of the same tenant, and that of its server',
  })
}

/** Servers with equal names, and tools of two servers with the same name. */
function reportClashes(listed: readonly Listed[], naming: Router['names'], report: Reporter): void {
  const tools = new Map<string, Listed>()
  const servers = new Map<string, Listed>()
  for (const member of listed) {
    const { server, at } = member
    const clash = (first: Listed, message: string, hint: string) =>
      report({
        code: 'name-clash',
        path: [at],
        message,
        hint,
        ...(first.at !== at && { related: { path: [first.at], message: 'the first one' } }),
      })
    const same = naming === 'prefixed' ? servers.get(server) : undefined
    if (same) {
      const message = `two servers of the router have the name ${quote(server)}, so their tools begin alike`
      clash(same, message, 'Rename one of the two servers')
      continue
    }
    servers.set(server, member)
    const names = shownTools(member).map((tool) =>
      naming === 'plain' ? tool : `${server}${SEPARATOR}${tool}`,
    )
    let clashing: { first: Listed; name: string } | undefined
    for (const name of names) {
      const first = tools.get(name)
      if (first) clashing ??= { first, name }
      else tools.set(name, member)
    }
    if (!clashing) continue
    const [one, other] = [quote(member.written), quote(clashing.first.written)]
    clash(
      clashing.first,
      `${one} has tools with the names of tools of ${other}, such as ${quote(clashing.name)}: those of ${other} are served`,
      'Rename them with `toolOverrides`, hide them with `blockedTools`, or write `names: prefixed`',
    )
  }
}

/** Tool names for clients, without the server's prefix. */
function shownTools({ tools = [], member }: Listed): string[] {
  const { allowedTools, blockedTools, toolOverrides } = member
  const [allowed, blocked] = [allowedTools && new Set(allowedTools), new Set(blockedTools)]
  return tools
    .filter((tool) => !blocked.has(tool) && (!allowed || allowed.has(tool)))
    .map((tool) => (Object.hasOwn(toolOverrides, tool) ? toolOverrides[tool]?.name : undefined) ?? tool)
}

/** Names that exceed the limit only with their server's prefix. */
function reportLong(listed: Listed, report: Reporter): void {
  const { server } = listed
  const shown = shownTools(listed)
    .filter((tool) => tool.length <= MAX_TOOL_NAME)
    .map((tool) => `${server}${SEPARATOR}${tool}`)
    .filter((name) => name.length > MAX_TOOL_NAME)
  const [first] = shown
  if (first === undefined) return
  const named = plural(shown.length, 'has a name', 'have names')
  report({
    code: 'name-length',
    path: [],
    message: `${counted(shown.length, 'tool')} of ${quote(server)} ${named} of more than the ${MAX_TOOL_NAME} characters that model providers allow, such as ${quote(first)} (${first.length})`,
    hint: 'Shorten the name of the server, or rename the tools with `toolOverrides`',
  })
}

function reportUnknown({ server, tools, member }: Listed, suggest: Suggest, report: Reporter): void {
  const { allowedTools = [], blockedTools, toolOverrides, server: pattern } = member
  // A pattern means several servers, each with its own tools.
  if (!tools || pattern.includes('*')) return
  const known = new Set(tools)
  const check = (tool: string, key: string, at: string | number) => {
    if (!known.has(tool))
      report({
        code: 'dangling-member',
        path: [key, at],
        message: `the server ${quote(server)} has no tool ${quote(tool)}`,
        ...suggest(tool, tools),
        hint: 'Write the name of a tool of the server',
      })
  }
  for (const [i, tool] of allowedTools.entries()) check(tool, 'allowedTools', i)
  for (const [i, tool] of blockedTools.entries()) check(tool, 'blockedTools', i)
  for (const tool of Object.keys(toolOverrides)) check(tool, 'toolOverrides', tool)
}

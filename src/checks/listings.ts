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
import { type Finding, type Reporter, reporter, suggest } from '../findings/index.ts'
import { counted, plural, quote, type Steps } from '../text/index.ts'
import { type Read, toolNames } from './check.ts'
import { MAX_TOOL_NAME } from './practice/naming.ts'

/** Results for routers with lists of servers, which need all configurations. */
interface Listings {
  findings: Finding[]
  /** Servers of a configuration used by routers of others. */
  usedOf(read: Read): ReadonlySet<string>
}

/** Checks routers with lists for unknown servers and tools, and for name clashes. */
export function* listingSteps(reads: readonly Read[]): Steps<Listings> {
  const findings: Finding[] = []
  const used = new Map<Read, Set<string>>()
  const listing = reads.filter(hasListing)
  const tenants = listing.length ? byTenant(reads) : new Map<string, TenantServers>()
  const budget = { left: 1_000_000 }
  for (const read of listing) {
    const { configuration, isRepaired } = read
    const known = tenants.get(configuration.tenant) as TenantServers
    const own = serversOf(configuration)
    for (const [i, router] of configuration.routers.entries()) {
      if (!isListing(router) || isRepaired(['routers', i, 'server'])) continue
      const { found, missing } = findMembers(router, own, reachesOut(router) ? known.servers : [])
      for (const { configuration: name, server } of found) {
        const owner = known.reads.get(name)
        if (!owner || owner === read) continue
        used.set(owner, (used.get(owner) ?? new Set()).add(server))
      }
      const report = reporter(read, findings)
      reportMissing(router, missing, ['routers', i, 'server'], known, budget, report)
      checkFound(router, found, ['routers', i, 'server'], { known, own: read, budget }, report)
    }
    yield
  }
  return { findings, usedOf: (read) => used.get(read) ?? new Set() }
}

interface TenantServers {
  reads: Map<string, Read>
  servers: Servers[]
}

type Budget = { left: number }

/** Whether one of its routers has a list of servers. */
function hasListing({ configuration: { routers } }: Read): boolean {
  return routers.some(isListing)
}

function isListing({ server }: Router): boolean {
  return typeof server !== 'string'
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

/** The most likely intended word, within the budget. */
function suggestWithin(word: string, names: readonly string[], budget: Budget) {
  budget.left -= names.length
  return budget.left < 0 ? {} : suggest(word, names)
}

function reportMissing(
  { server: list }: Router,
  missing: readonly number[],
  path: (string | number)[],
  { servers }: TenantServers,
  budget: Budget,
  report: Reporter,
): void {
  for (const at of missing) {
    const { server } = (list as Member[])[at] as Member
    // References within one configuration are checked there.
    if (!server.includes('/')) continue
    const names = servers.flatMap(({ name, servers }) => servers.map((one) => nameOf(name, one)))
    const isGlob = server.includes('*')
    report({
      code: 'dangling-member',
      path: [...path, at],
      message: isGlob
        ? `no server is named like ${quote(server)}`
        : `there is no server ${quote(server)}; clients see nothing of it`,
      ...(isGlob ? {} : suggestWithin(server, names, budget)),
      hint: 'Write `configuration/server`: the `name` of a configuration of the same tenant, and that of its server',
    })
  }
}

interface ListingContext {
  known: TenantServers
  own: Read
  budget: Budget
}

/** Unknown tools in members, and tools of two members with the same name. */
function checkFound(
  { names: naming }: Router,
  found: readonly FoundMember[],
  path: (string | number)[],
  { known, own, budget }: ListingContext,
  report: Reporter,
): void {
  const firsts = new Map<string, FoundMember>()
  const prefixes = new Map<string, FoundMember>()
  for (const member of found) {
    const { server, at } = member
    const owner =
      member.configuration === own.configuration.name ? own : known.reads.get(member.configuration)
    const clash = (first: FoundMember, message: string, hint: string) =>
      report({
        code: 'name-clash',
        path: [...path, at],
        message,
        hint,
        ...(first.at !== at && { related: { path: [...path, first.at], message: 'the first one' } }),
      })
    if (naming === 'prefixed') {
      const first = prefixes.get(server)
      if (first)
        clash(
          first,
          `two servers of the router have the name ${quote(server)}, so their tools begin alike`,
          'Rename one of the two servers',
        )
      else prefixes.set(server, member)
    }
    const tools = owner && toolNames(server, owner)
    if (!tools) continue
    if (naming === 'prefixed') reportLong(member, tools, [...path, at], report)
    reportUnknown(member, tools, [...path, at], budget, report)
    // Servers with equal names were already reported.
    if (prefixes.has(server) && prefixes.get(server) !== member) continue
    let clashing: [first: FoundMember, tool: string] | undefined
    for (const tool of shownTools(member.member, tools)) {
      const name = naming === 'plain' ? tool : `${server}${SEPARATOR}${tool}`
      const first = firsts.get(name)
      if (!first) firsts.set(name, member)
      else clashing ??= [first, name]
    }
    if (!clashing) continue
    const [first, tool] = clashing
    const [one, other] = [member, first].map((each) => quote(nameInRouter(each, own.configuration.name)))
    clash(
      first,
      `${one} has tools with the names of tools of ${other}, such as ${quote(tool)}: those of ${other} are served`,
      'Rename them with `toolOverrides`, hide them with `blockedTools`, or write `names: prefixed`',
    )
  }
}

/** The server's name as a router of this configuration writes it. */
function nameInRouter({ configuration, server }: FoundMember, own: string): string {
  return configuration === own ? server : nameOf(configuration, server)
}

/** Tool names for clients, without the server's prefix. */
function shownTools(
  { allowedTools, blockedTools, toolOverrides }: Member,
  tools: readonly string[],
): string[] {
  const [allowed, blocked] = [allowedTools && new Set(allowedTools), new Set(blockedTools)]
  return tools
    .filter((tool) => !blocked.has(tool) && (!allowed || allowed.has(tool)))
    .map((tool) => (Object.hasOwn(toolOverrides, tool) ? toolOverrides[tool]?.name : undefined) ?? tool)
}

/** Names that exceed the limit only with their server's prefix. */
function reportLong(
  { server, member }: FoundMember,
  tools: readonly string[],
  path: (string | number)[],
  report: Reporter,
): void {
  const shown = shownTools(member, tools)
    .filter((tool) => tool.length <= MAX_TOOL_NAME)
    .map((tool) => `${server}${SEPARATOR}${tool}`)
    .filter((name) => name.length > MAX_TOOL_NAME)
  const [first] = shown
  if (first === undefined) return
  const named = plural(shown.length, 'has a name', 'have names')
  report({
    code: 'name-length',
    path,
    message: `${counted(shown.length, 'tool')} of ${quote(server)} ${named} of more than the ${MAX_TOOL_NAME} characters that model providers allow, such as ${quote(first)} (${first.length})`,
    hint: 'Shorten the name of the server, or rename the tools with `toolOverrides`',
  })
}

function reportUnknown(
  { server, member: { allowedTools = [], blockedTools, toolOverrides, server: pattern } }: FoundMember,
  tools: readonly string[],
  path: (string | number)[],
  budget: Budget,
  report: Reporter,
): void {
  // A pattern means several servers, each with its own tools.
  if (pattern.includes('*')) return
  const known = new Set(tools)
  const named: [string, (string | number)[]][] = [
    ...allowedTools.map((tool, i): [string, (string | number)[]] => [tool, ['allowedTools', i]]),
    ...blockedTools.map((tool, i): [string, (string | number)[]] => [tool, ['blockedTools', i]]),
    ...Object.keys(toolOverrides).map((tool): [string, (string | number)[]] => [
      tool,
      ['toolOverrides', tool],
    ]),
  ]
  for (const [tool, place] of named)
    if (!known.has(tool))
      report({
        code: 'dangling-member',
        path: [...path, ...place],
        message: `the server ${quote(server)} has no tool ${quote(tool)}`,
        ...suggestWithin(tool, tools, budget),
        hint: 'Write the name of a tool of the server',
      })
}

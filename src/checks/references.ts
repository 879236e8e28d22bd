import {
  type Configuration,
  findMembers,
  isOpen,
  oauthOf,
  type Path,
  type Router,
  serversOf,
} from '../config/index.ts'
import { type Reporter, type Suggestion, suggester } from '../findings/index.ts'
import { quote, quoteAll } from '../text/index.ts'
import type { Check, Context } from './check.ts'
import { PREFIX_CHECKS, TENANT_CHECKS } from './prefixes.ts'
import { AUTHOR_CHECKS } from './tenants.ts'

export const REFERENCE_CHECKS: readonly Check[] = [
  { codes: ['duplicate-name'], on: 'configuration', check: checkNames },
  { codes: ['dangling-server', 'unrouted-server', 'no-router'], on: 'configuration', check: checkRouters },
  {
    codes: ['missing-public-url'],
    on: 'router',
    check(router, report, { options: { publicUrl } }) {
      const oauth = oauthOf(router)
      const isCard = router.card !== undefined
      if (!(oauth || isCard) || publicUrl !== null) return
      report({
        code: 'missing-public-url',
        path: oauth ? ['auth', 'type'] : ['card'],
        message: `${oauth ? `\`type: ${oauth.type}\`` : 'a `card`'} needs \`publicUrl\` in the settings`,
        hint: 'Add it: the URL at which clients reach the gateway, such as `https://tools.example.com`',
      })
    },
  },
  { codes: ['open-router'], on: 'router', check: checkOpen },
  {
    codes: ['dangling-tool'],
    on: 'configuration',
    check({ servers, tools }, report, context) {
      if (lacks('tools', context)) return
      const known = new Set(tools.map(({ name }) => name))
      const hint = chooser(known, 'Tools here', 'Add it under `tools`')
      for (const [i, { name, allowedTools = [] }] of servers.entries())
        for (const [j, tool] of allowedTools.entries())
          if (!known.has(tool))
            report({
              code: 'dangling-tool',
              path: ['servers', i, 'allowedTools', j],
              message: `the server ${quote(name)} allows the tool ${quote(tool)}, which does not exist`,
              ...hint(tool),
            })
    },
  },
  ...PREFIX_CHECKS,
  ...TENANT_CHECKS,
  ...AUTHOR_CHECKS,
]

/** Closed by default: a gateway reachable from other machines must authenticate callers. */
function checkOpen(
  router: Router,
  report: Reporter,
  { configuration, options: { exposedAt, tenants }, path, read }: Context,
) {
  if (exposedAt === undefined || !isOpen(router, configuration, tenants)) return
  const isGiven = read.locate.has([...path, 'auth', 'type'])
  report({
    code: 'open-router',
    path: isGiven ? ['auth', 'type'] : ['prefix'],
    message: `the router ${quote(router.prefix)} has no authentication, and other machines reach it at ${quote(exposedAt)}`,
    hint: read.locate.has(['prefix'])
      ? `Write \`routers: [{server: ${router.server}, prefix: ${router.prefix}, auth: {type: bearer, tokens: [{token: "\${NAME}", caller: …}]}}]\` instead of \`prefix\``
      : `Add \`auth\`, such as \`{type: bearer, tokens: [{token: "\${NAME}", caller: …}]}\``,
  })
}

/** Duplicate names of one kind. Servers and MCP servers share one namespace. */
function checkNames(
  { tools, prompts, servers, mcpServers }: Configuration,
  report: Reporter,
  { isRepaired }: Context,
) {
  const unique = (
    kind: string,
    owners: readonly { name: string }[],
    path: Path,
    firsts = new Map<string, Path>(),
  ) => {
    for (const [i, { name }] of owners.entries()) {
      const own = [...path, i, 'name']
      const first = firsts.get(name)
      if (isRepaired(own)) continue
      if (!first) firsts.set(name, own)
      else
        report({
          code: 'duplicate-name',
          path: own,
          message: `two ${kind} have the name ${quote(name)}`,
          hint: 'Rename or remove one of the two',
          related: { path: first, message: 'the first one' },
        })
    }
  }
  unique('tools', tools, ['tools'])
  unique('prompts', prompts, ['prompts'])
  const ofServers = new Map<string, Path>()
  unique('servers', servers, ['servers'], ofServers)
  unique('servers', mcpServers, ['mcpServers'], ofServers)
  for (const [i, { name, args }] of tools.entries())
    if (hasRepeatedName(args)) unique(`arguments of ${quote(name)}`, args, ['tools', i, 'args'])
  for (const [i, { name, arguments: args }] of prompts.entries())
    if (hasRepeatedName(args)) unique(`arguments of ${quote(name)}`, args, ['prompts', i, 'arguments'])
}

function hasRepeatedName(owners: readonly { name: string }[]): boolean {
  return new Set(owners.map(({ name }) => name)).size < owners.length
}

/** Whether an entry with an unknown name may have any name. */
function lacks(key: 'servers' | 'mcpServers' | 'tools', { configuration, isRepaired }: Context): boolean {
  return isRepaired([key]) || configuration[key].some((_, i) => isRepaired([key, i, 'name']))
}

function checkRouters(configuration: Configuration, report: Reporter, context: Context) {
  const { isRepaired } = context
  const { name, routers, servers, mcpServers } = configuration
  const known = new Set([...servers, ...mcpServers].map(({ name }) => name))
  const hint = chooser(known, 'Servers here', 'Add it under `servers` or `mcpServers`')
  // The server probably meant by a dangling reference is not reported as unrouted: one mistake, one finding.
  const meant = new Set<string>()
  const routed = new Set<string>()
  let excused = 0
  const isOpen = lacks('servers', context) || lacks('mcpServers', context)
  for (const [i, router] of isOpen ? [] : routers.entries()) {
    if (isRepaired(['routers', i, 'server'])) continue
    const { missing, found } = findMembers(router, serversOf(configuration), [])
    for (const { server } of found) routed.add(server)
    for (const j of missing) {
      const [server, ...at] =
        typeof router.server === 'string' ? [router.server] : [router.server[j]!.server, j]
      // References to other configurations are checked once all are read.
      if (at.length && server.includes('/')) continue
      const chosen = hint(server)
      if (chosen.suggestion === undefined) excused++
      else meant.add(chosen.suggestion)
      const path = ['routers', i, 'server', ...at]
      report({ code: 'dangling-server', path, message: `there is no server ${quote(server)}`, ...chosen })
    }
  }
  if (isRepaired(['routers'])) return
  // A server without a name is reported with the same advice.
  if (routers.length === 0 && isOpen) return
  if (routers.length === 0)
    // A file without a name may not be a configuration: its name is then a repaired value.
    return report({
      code: 'no-router',
      path: ['name'],
      message: `the configuration ${quote(name)} has no router`,
      hint:
        servers.length + mcpServers.length === 1
          ? 'Write `prefix: /…` at the top of the file, or a router under `routers`'
          : 'Add one under `routers`',
    })
  if (isOpen || routers.some((_, i) => isRepaired(['routers', i, 'server']))) return
  for (const key of ['servers', 'mcpServers'] as const)
    for (const [i, { name }] of configuration[key].entries()) {
      if (routed.has(name) || meant.has(name) || isRepaired([key, i, 'name']) || excused-- > 0) continue
      report({
        code: 'unrouted-server',
        path: [key, i, 'name'],
        message: `no router names the server ${quote(name)}`,
        hint: `Add a router with \`server: ${name}\`, or remove it`,
      })
    }
}

const MAX_LISTED = 12

/** Suggestions and hints for words not in `names`. */
function chooser(
  names: ReadonlySet<string>,
  what: string,
  add: string,
): (word: string) => Suggestion & { hint: string } {
  if (names.size === 0) return () => ({ hint: add })
  const rest = names.size > MAX_LISTED ? ` and ${names.size - MAX_LISTED} more` : ''
  const hint = `${what}: ${quoteAll([...names].slice(0, MAX_LISTED))}${rest}`
  const suggest = suggester([...names])
  return (word) => ({ ...suggest(word), hint })
}

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
import { quote, quoteSome, repeats } from '../text/index.ts'
import type { Checks, Context } from './check.ts'
import { checkPrefixes } from './prefixes.ts'
import {
  checkOwnKeys,
  checkProcess,
  checkTenant,
  checkTenantLimits,
  checkTenantPrefixes,
  checkTlsFiles,
} from './tenants.ts'

export const REFERENCE_CHECKS: Checks = {
  configuration: [checkNames, checkRouters, checkAllowedTools, checkTenant, checkOwnKeys],
  router: [checkPublicUrl, checkOpen, checkPrefixes, checkTenantPrefixes],
  server: [checkTlsFiles, checkTenantLimits],
  mcpServer: [checkProcess, checkTlsFiles, checkTenantLimits],
  tool: [checkTenantLimits],
}

function checkPublicUrl(router: Router, report: Reporter, { options: { publicUrl } }: Context) {
  const oauth = oauthOf(router)
  const isCard = router.card !== undefined
  if (!(oauth || isCard) || publicUrl !== null) return
  report({
    code: 'missing-public-url',
    path: oauth ? ['auth', 'type'] : ['card'],
    message: `${oauth ? `\`type: ${oauth.type}\`` : 'a `card`'} needs \`publicUrl\` in the settings`,
    hint: 'Add it: the URL at which clients reach the gateway, such as `https://tools.example.com`',
  })
}

function checkAllowedTools({ servers, tools }: Configuration, report: Reporter, context: Context) {
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
}

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
  const named = (owners: readonly { name: string }[], ...path: Path) =>
    owners.map(({ name }, i) => ({ name, path: [...path, i, 'name'] }))
  const unique = (kind: string, owners: ReturnType<typeof named>) => {
    const known = owners.filter(({ path }) => !isRepaired(path))
    for (const [at, first] of repeats(known.map(({ name }) => name)))
      report({
        code: 'duplicate-name',
        path: known[at]!.path,
        message: `two ${kind} have the name ${quote(known[at]!.name)}`,
        hint: 'Rename or remove one of the two',
        related: { path: known[first]!.path, message: 'the first one' },
      })
  }
  unique('tools', named(tools, 'tools'))
  unique('prompts', named(prompts, 'prompts'))
  unique('servers', [...named(servers, 'servers'), ...named(mcpServers, 'mcpServers')])
  for (const [i, { name, args }] of tools.entries())
    unique(`arguments of ${quote(name)}`, named(args, 'tools', i, 'args'))
  for (const [i, { name, arguments: args }] of prompts.entries())
    unique(`arguments of ${quote(name)}`, named(args, 'prompts', i, 'arguments'))
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

/** Suggestions and hints for words not in `names`. */
function chooser(
  names: ReadonlySet<string>,
  what: string,
  add: string,
): (word: string) => Suggestion & { hint: string } {
  if (names.size === 0) return () => ({ hint: add })
  const hint = `${what}: ${quoteSome([...names])}`
  const suggest = suggester([...names])
  return (word) => ({ ...suggest(word), hint })
}

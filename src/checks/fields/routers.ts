import {
  asksForLogin,
  type Configuration,
  ownServers,
  type Router,
  SEPARATOR,
  type Server,
} from '../../config/index.ts'
import { DISCOVERY_TOOLS } from '../../discovery/index.ts'
import { type Reporter, suggester } from '../../findings/index.ts'
import { quote, repeats, wildcards } from '../../text/index.ts'
import { type Context, reportBelow, toolNames, withoutEffect } from '../check.ts'
import { checkCors } from './cors.ts'
import { checkSelection } from './mcp-servers.ts'

export function checkRouterCors(router: Router, report: Reporter, context: Context) {
  const { cors } = router
  if (!cors) return
  const login = asksForLogin(router) || forwardsLogin(context.configuration, router)
  checkCors(cors, login, report, context)
}

export function checkDiscovery(
  { discovery: { type, above } }: Router,
  report: Reporter,
  { path, read }: Context,
) {
  if (type === 'auto' || above === undefined) return
  if (!read.locate.has([...path, 'discovery', 'above'])) return
  report(withoutEffect(['discovery', 'above'], `with \`type: ${type}\``, 'Remove it, or write `type: auto`'))
}

export function checkMembers({ server: list }: Router, report: Reporter) {
  for (const [i, member] of typeof list === 'string' ? [] : list.entries())
    checkSelection(member, reportBelow(['server', i], report))
}

const LOGIN = /\.Request\.Headers(?:\.|\s+\\?["`])Authorization\b/i

/** By configuration, as each of its routers asks. */
const forwarding = new WeakMap<Configuration, ReadonlySet<string>>()

/** Whether a router's servers forward the `Authorization` of callers. */
function forwardsLogin(configuration: Configuration, router: Pick<Router, 'server'>): boolean {
  const names = forwarding.get(configuration) ?? serversForwardingLogin(configuration)
  forwarding.set(configuration, names)
  return ownServers(router, configuration).some((name) => names.has(name))
}

function serversForwardingLogin({ servers, tools, mcpServers }: Configuration): Set<string> {
  const reads = (...values: unknown[]) => LOGIN.test(JSON.stringify(values))
  const readers = tools.filter(({ endpoint, headers, requestBody }) => reads(endpoint, headers, requestBody))
  const names = new Set(readers.map(({ name }) => name))
  const offersReader = ({ allowedTools = [...names] }: Server) => allowedTools.some((name) => names.has(name))
  return new Set(
    [
      ...mcpServers.filter(({ env, url, headers }) => reads(env, url, headers)),
      ...servers.filter((server) => reads(server.headers) || offersReader(server)),
    ].map(({ name }) => name),
  )
}

/** Tools are named `server__tool`, so server names must be unambiguous. */
export function checkServerList(
  { server: list, names: naming }: Router,
  report: Reporter,
  { isRepaired, path, read }: Context,
) {
  if (isRepaired([...path, 'server'])) return
  if (typeof list === 'string') {
    if (read.locate.has([...path, 'names']))
      report(withoutEffect(['names'], 'with one server', 'Remove it, or write `server` as an array'))
    return
  }
  const names = list.map(({ server }) => server)
  const known = new Set(names)
  const repeated = new Set(repeats(names).map(([at]) => at))
  for (const [i, name] of names.entries()) {
    const other = naming === 'prefixed' ? prefixOf(name, known) : undefined
    if (repeated.has(i))
      report({
        code: 'duplicate-name',
        path: ['server', i],
        message: `the router names the server ${quote(name)} twice`,
        hint: 'Remove one of the two',
      })
    else if (other !== undefined)
      report({
        code: 'ambiguous-name',
        path: ['server', i],
        message: `tools of ${quote(name)} can be taken for tools of ${quote(other)}: both begin with \`${other}${SEPARATOR}\``,
        hint: 'Rename one of the two servers',
      })
  }
}

/** The known name, followed by the separator, that a name begins with. */
function prefixOf(name: string, known: ReadonlySet<string>): string | undefined {
  // Bounds the time for an entry that is no name.
  for (let at = name.indexOf(SEPARATOR); at >= 0 && at < 1000; at = name.indexOf(SEPARATOR, at + 1)) {
    const front = name.slice(0, at)
    if (known.has(front)) return front
  }
  return undefined
}

/** Only names of HTTP tools are known. */
export function checkNamedTools(router: Router, report: Reporter, context: Context) {
  const { server } = router
  const names = typeof server === 'string' ? toolNames(server, context) : undefined
  if (!names) return
  const suggest = suggester(names)
  const check = (patterns: readonly string[], path: (string | number)[], does: string) => {
    for (const [j, pattern] of patterns.entries()) {
      if (names.some(wildcards(pattern))) continue
      report({
        code: 'dangling-tool',
        path: [...path, j],
        message: `the server ${quote(String(server))} has no tool ${quote(pattern)}, so this ${does} nothing`,
        ...suggest(pattern),
        hint: 'Write the name of a tool, with `*` for any characters',
      })
    }
  }
  for (const [i, { tools = [] }] of (router.rate ?? []).entries())
    check(tools, ['rate', i, 'tools'], 'limits')
  check(router.discovery.pin, ['discovery', 'pin'], 'pins')
}

/** With search, the gateway adds its own tools. */
export function checkOwnNames(router: Router, report: Reporter, { configuration }: Context) {
  const { type } = router.discovery
  // In a list of servers, each name has its server as prefix.
  if (type === 'list' || typeof router.server !== 'string') return
  for (const name of namesGiven(router, configuration))
    if (DISCOVERY_TOOLS.has(name))
      report({
        code: 'reserved-tool-name',
        path: ['discovery', 'type'],
        message: `with \`type: ${type}\` the tool ${quote(name)} of the router ${quote(router.prefix)} is hidden: the gateway has a tool of this name`,
        hint: 'Rename it; for a proxied server by `name` in `toolOverrides`',
      })
}

/** Tool names for clients, as far as the configuration gives them. */
function namesGiven({ server: name }: Router, { servers, tools, mcpServers }: Configuration): string[] {
  const server = servers.find((one) => one.name === name)
  if (server) return server.allowedTools ?? tools.map((tool) => tool.name)
  const proxied = mcpServers.find((one) => one.name === name)
  if (!proxied) return []
  const { allowedTools = [], toolOverrides } = proxied
  return [...new Set([...allowedTools, ...Object.keys(toolOverrides)])].map(
    (own) => toolOverrides[own]?.name ?? own,
  )
}

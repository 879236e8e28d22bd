import type { Configuration, Router } from '../../config/index.ts'
import { DISCOVERY_TOOLS } from '../../discovery/index.ts'
import { type Reporter, suggest } from '../../findings/index.ts'
import { quote, wildcards } from '../../text/index.ts'
import type { Check, Context } from '../check.ts'

/** Checks of `discovery` of routers. */
export const DISCOVERY_CHECKS: readonly Check[] = [
  { codes: ['dangling-tool'], on: 'router', check: checkNamedTools },
  { codes: ['reserved-tool-name'], on: 'router', check: checkOwnNames },
  {
    codes: ['key-without-effect'],
    on: 'router',
    check({ discovery: { mode, above } }, report, { path, read }) {
      if (mode === 'auto' || above === undefined) return
      if (!read.locate.has([...path, 'discovery', 'above'])) return
      report({
        code: 'key-without-effect',
        path: ['discovery', 'above'],
        message: `\`above\` has no effect with \`mode: ${mode}\``,
        hint: 'Remove it, or write `mode: auto`',
      })
    },
  },
]

/** The tools of a router with HTTP tools; undefined if some are unknown. */
function knownTools(
  { server: name }: Router,
  { configuration: { servers, tools }, doubtful }: Context,
): { server: string; names: ReadonlySet<string> } | undefined {
  const server = servers.find((one) => one.name === name)
  if (!server || doubtful(['tools']) || tools.some((_, i) => doubtful(['tools', i, 'name']))) return undefined
  return { server: server.name, names: new Set(server.allowedTools ?? tools.map((tool) => tool.name)) }
}

/** Only names of HTTP tools are known. */
function checkNamedTools(router: Router, report: Reporter, context: Context) {
  const known = knownTools(router, context)
  if (!known) return
  const { server, names } = known
  const check = (patterns: readonly string[], path: (string | number)[], does: string) => {
    for (const [j, pattern] of patterns.entries()) {
      if ([...names].some(wildcards(pattern))) continue
      report({
        code: 'dangling-tool',
        path: [...path, j],
        message: `the server ${quote(server)} has no tool ${quote(pattern)}, so this ${does} nothing`,
        ...suggest(pattern, names),
        hint: 'Write the name of a tool, with `*` for any characters',
      })
    }
  }
  for (const [i, { tools = [] }] of (router.rate ?? []).entries())
    check(tools, ['rate', i, 'tools'], 'limits')
  check(router.discovery.pin, ['discovery', 'pin'], 'pins')
}

/** With search, the gateway adds its own tools. */
function checkOwnNames(router: Router, report: Reporter, { configuration }: Context) {
  const { mode } = router.discovery
  // In a list of servers, each name has its server as prefix.
  if (mode === 'list' || typeof router.server !== 'string') return
  for (const name of namesGiven(router, configuration))
    if (DISCOVERY_TOOLS.has(name))
      report({
        code: 'reserved-tool-name',
        path: ['discovery', 'mode'],
        message: `with \`mode: ${mode}\` the tool ${quote(name)} of the router ${quote(router.prefix)} is hidden: the gateway has a tool of this name`,
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

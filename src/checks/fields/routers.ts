import { asksForLogin, type Configuration, type Router, serverNames } from '../../config/index.ts'
import { type Reporter, suggest } from '../../findings/index.ts'
import { quote, wildcards } from '../../text/index.ts'
import type { Check, Context } from '../check.ts'
import { AUTH_CHECK } from './auth.ts'
import { AUTHORIZE_CHECK } from './authorize.ts'
import { checkCors } from './cors.ts'
import { checkRates } from './value-rules.ts'

export const ROUTER_CHECKS: readonly Check[] = [
  AUTH_CHECK,
  AUTHORIZE_CHECK,
  {
    codes: ['cors-credentials', 'cors-origin', 'cors-incomplete', 'unknown-method', 'key-without-effect'],
    on: 'router',
    check(router, report, context) {
      const { cors } = router
      if (!cors) return
      const login = asksForLogin(router) || forwardsLogin(context.configuration, router)
      checkCors(cors, login, report, context)
    },
  },
  {
    codes: ['invalid-value'],
    on: 'router',
    check: ({ rate = [] }, report) => checkRates(rate, ['rate'], report),
  },
  { codes: ['dangling-tool'], on: 'router', check: checkRatedTools },
  { codes: ['duplicate-name', 'ambiguous-name'], on: 'router', check: checkServerList },
]

const LOGIN = /\.Request\.Headers(?:\.|\s+\\?["`])Authorization\b/i

/** Whether what a router serves forwards the `Authorization` of its callers. */
function forwardsLogin(
  { servers, tools, mcpServers }: Configuration,
  router: Pick<Router, 'server'>,
): boolean {
  const names = new Set(serverNames(router))
  const reads = (...values: unknown[]) => LOGIN.test(JSON.stringify(values))
  if (mcpServers.some(({ name, env, url, headers }) => names.has(name) && reads(env, url, headers)))
    return true
  return servers.some(
    ({ name, allowedTools }) =>
      names.has(name) &&
      tools.some(
        (tool) =>
          (allowedTools?.includes(tool.name) ?? true) && reads(tool.endpoint, tool.headers, tool.requestBody),
      ),
  )
}

/** Of HTTP tools the names are known. */
function checkRatedTools(
  { rate = [], server: name }: Router,
  report: Reporter,
  { configuration, doubtful }: Context,
) {
  const { servers, tools } = configuration
  const server = servers.find((one) => one.name === name)
  if (!server || doubtful(['tools']) || tools.some((_, i) => doubtful(['tools', i, 'name']))) return
  const names = new Set(server.allowedTools ?? tools.map((tool) => tool.name))
  for (const [i, { tools: patterns = [] }] of rate.entries())
    for (const [j, pattern] of patterns.entries()) {
      if ([...names].some(wildcards(pattern))) continue
      report({
        code: 'dangling-tool',
        path: ['rate', i, 'tools', j],
        message: `the server ${quote(server.name)} has no tool ${quote(pattern)}, so this limits nothing`,
        ...suggest(pattern, names),
        hint: 'Write the name of a tool, with `*` for any characters',
      })
    }
}

/** Tools are known as `server__tool`, so the names of servers must tell them apart. */
function checkServerList({ server: names }: Router, report: Reporter, { doubtful, path }: Context) {
  if (typeof names === 'string' || doubtful([...path, 'server'])) return
  for (const [i, name] of names.entries()) {
    const other = names.find((each) => name.startsWith(`${each}__`))
    if (names.indexOf(name) < i)
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
        message: `tools of ${quote(name)} can be taken for tools of ${quote(other)}: both begin with \`${other}__\``,
        hint: 'Rename one of the two servers',
      })
  }
}

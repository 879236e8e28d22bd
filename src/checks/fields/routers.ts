import { asksForLogin, type Configuration, ownServers, type Router, SEPARATOR } from '../../config/index.ts'
import type { Reporter } from '../../findings/index.ts'
import { quote } from '../../text/index.ts'
import type { Check, Context } from '../check.ts'
import { AUTH_CHECK } from './auth.ts'
import { AUTHORIZE_CHECK } from './authorize.ts'
import { checkCors } from './cors.ts'
import { checkSelection } from './mcp-servers.ts'
import { DISCOVERY_CHECKS } from './router-tools.ts'
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
  ...DISCOVERY_CHECKS,
  { codes: ['duplicate-name', 'ambiguous-name'], on: 'router', check: checkServerList },
  {
    codes: ['empty-allowed-tools', 'key-without-effect', 'duplicate-name', 'mask-syntax'],
    on: 'router',
    check({ server: list }, report) {
      for (const [i, member] of typeof list === 'string' ? [] : list.entries())
        checkSelection(member, report, ['server', i])
    },
  },
]

const LOGIN = /\.Request\.Headers(?:\.|\s+\\?["`])Authorization\b/i

/** Whether a router's servers forward the `Authorization` of callers. */
function forwardsLogin(configuration: Configuration, router: Pick<Router, 'server'>): boolean {
  const { servers, tools, mcpServers } = configuration
  const names = new Set(ownServers(router, configuration))
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

/** Tools are named `server__tool`, so server names must be unambiguous. */
function checkServerList(
  { server: list, names: naming }: Router,
  report: Reporter,
  { doubtful, path }: Context,
) {
  if (typeof list === 'string' || doubtful([...path, 'server'])) return
  const names = list.map(({ server }) => server)
  for (const [i, name] of names.entries()) {
    const other =
      naming === 'prefixed' ? names.find((each) => name.startsWith(`${each}${SEPARATOR}`)) : undefined
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
        message: `tools of ${quote(name)} can be taken for tools of ${quote(other)}: both begin with \`${other}${SEPARATOR}\``,
        hint: 'Rename one of the two servers',
      })
  }
}

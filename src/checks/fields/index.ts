import type { Configuration, Limits, Router, Server } from '../../config/index.ts'
import type { Reporter } from '../../findings/index.ts'
import { quote } from '../../text/index.ts'
import type { Checks, Context } from '../check.ts'
import { checkNotifier } from '../settings.ts'
import { checkAuth } from './auth.ts'
import { checkAuthorize } from './authorize.ts'
import { checkCommand, checkIdleKeys, checkSelection, checkTimes, checkVariables } from './mcp-servers.ts'
import {
  checkDiscovery,
  checkMembers,
  checkNamedTools,
  checkOwnNames,
  checkRouterCors,
  checkServerList,
} from './routers.ts'
import {
  checkConnection,
  checkProxy,
  checkServerRetry,
  checkTlsUrl,
  checkToolRetry,
} from './server-connections.ts'
import {
  checkHosts,
  checkMcpServerCredentials,
  checkServerCredentials,
  checkToolHeaders,
} from './server-credentials.ts'
import {
  checkArg,
  checkAsync,
  checkBody,
  checkMethod,
  checkName,
  checkSchemas,
  checkTakenNames,
  checkToolResponse,
} from './tools.ts'
import { checkLimits, checkRates } from './value-rules.ts'
import { checkConst, checkStyle, checkWireNames } from './wire-form.ts'

const checkOwnLimits = ({ limits }: { limits?: Partial<Limits> }, report: Reporter) =>
  checkLimits(limits, ['limits'], report)

/** Checks of values, and of fields against each other, in one configuration. */
export const FIELD_CHECKS: Checks = {
  configuration: [checkNotifierOf, checkSkills, checkHosts, checkTakenNames],
  router: [
    checkAuth,
    checkAuthorize,
    checkRouterCors,
    ({ rate = [] }: Router, report: Reporter) => checkRates(rate, ['rate'], report),
    checkNamedTools,
    checkOwnNames,
    checkDiscovery,
    checkServerList,
    checkMembers,
  ],
  server: [checkOwnLimits, checkAllowedTools, checkServerCredentials, checkServerRetry, checkConnection],
  mcpServer: [
    checkOwnLimits,
    checkTimes,
    checkIdleKeys,
    (server, report) => checkSelection(server, report, server.limits),
    checkVariables,
    checkCommand,
    checkMcpServerCredentials,
    checkConnection,
    checkTlsUrl,
  ],
  tool: [
    checkOwnLimits,
    checkName('tool'),
    checkMethod,
    checkToolResponse,
    checkAsync,
    checkBody,
    checkWireNames,
    checkSchemas,
    checkToolHeaders,
    checkToolRetry,
    checkProxy,
  ],
  arg: [checkArg, checkStyle, checkConst],
  prompt: [checkName('prompt')],
}

function checkNotifierOf({ notifier }: Configuration, report: Reporter, { isRepaired }: Context) {
  if (notifier && !isRepaired(['notifier'])) checkNotifier(notifier, ['notifier'], report)
}

function checkSkills({ skills, servers }: Configuration, report: Reporter) {
  if (skills !== undefined && servers.length === 0)
    report({
      code: 'key-without-effect',
      path: ['skills'],
      isKey: true,
      message: '`skills` needs `servers`, and there are none',
      hint: 'Remove it: MCP servers have skills of their own',
    })
}

function checkAllowedTools({ name, allowedTools }: Server, report: Reporter) {
  if (allowedTools?.length === 0)
    report({
      code: 'empty-allowed-tools',
      path: ['allowedTools'],
      message: `the server ${quote(name)} allows no tools`,
      hint: 'Name tools, or remove the key to allow all',
    })
}

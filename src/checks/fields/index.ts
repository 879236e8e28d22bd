import { quote } from '../../text/index.ts'
import type { Check } from '../check.ts'
import { checkNotifier } from '../settings.ts'
import { MCP_SERVER_CHECKS } from './mcp-servers.ts'
import { ROUTER_CHECKS } from './routers.ts'
import { CONNECTION_CHECKS } from './server-connections.ts'
import { CREDENTIALS_CHECKS } from './server-credentials.ts'
import { TOOL_CHECKS } from './tools.ts'
import { checkLimits } from './value-rules.ts'

/** Checks of values, and of fields against each other, in one configuration. */
export const FIELD_CHECKS: readonly Check[] = [
  ...ROUTER_CHECKS,
  {
    codes: ['empty-allowed-tools', 'invalid-value'],
    on: 'server',
    check({ name, allowedTools, limits }, report) {
      checkLimits(limits, ['limits'], report)
      if (allowedTools?.length === 0)
        report({
          code: 'empty-allowed-tools',
          path: ['allowedTools'],
          message: `the server ${quote(name)} allows no tools`,
          hint: 'Name tools, or remove the key to allow all',
        })
    },
  },
  ...CREDENTIALS_CHECKS,
  ...CONNECTION_CHECKS,
  ...TOOL_CHECKS,
  ...MCP_SERVER_CHECKS,
  {
    codes: ['key-without-effect', 'invalid-value'],
    on: 'configuration',
    check({ notifier, skills, servers }, report, { isRepaired }) {
      if (notifier && !isRepaired(['notifier'])) checkNotifier(notifier, ['notifier'], report)
      if (skills !== undefined && servers.length === 0)
        report({
          code: 'key-without-effect',
          path: ['skills'],
          isKey: true,
          message: '`skills` needs `servers`, and there are none',
          hint: 'Remove it: MCP servers have skills of their own',
        })
    },
  },
]

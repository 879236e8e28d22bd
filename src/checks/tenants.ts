import type { Limits, ServerTls, TenantSettings } from '../config/index.ts'
import { DEFAULT_TENANT } from '../config/model.ts'
import { namesVariable } from '../config/tenant-env.ts'
import { TRANSPORTS } from '../config/transports.ts'
import type { Path, Reporter } from '../findings/index.ts'
import { isPem } from '../net/tls-files.ts'
import { quote, quoteAll, sizeText, timeText } from '../text/index.ts'
import type { Check, Context } from './check.ts'
import { PEM_MEMBERS } from './fields/server-connections.ts'

/** The tenant of a configuration, if the settings restrict its authors. */
function ownerOf({ configuration, isRepaired, options }: Context): TenantSettings | undefined {
  const { tenant } = configuration
  if (tenant === DEFAULT_TENANT || isRepaired(['tenant'])) return undefined
  return options.tenants?.find(({ name }) => name === tenant)
}

/** Restrictions on authors of a tenant's configurations. */
export const AUTHOR_CHECKS: readonly Check[] = [
  {
    codes: ['tenant-process'],
    on: 'mcpServer',
    check({ type, command = '', env }, report, context) {
      const owner = ownerOf(context)
      if (!owner || !TRANSPORTS[type].startsProcess) return
      const { name, stdio, commands } = owner
      const refuse = (path: Path, message: string, hint: string) =>
        report({ code: 'tenant-process', path, message, hint })
      if (!stdio)
        return refuse(
          ['type'],
          `the tenant ${quote(name)} may not start processes`,
          'Use a server over HTTP, or set `stdio` and `commands` of the tenant in the settings',
        )
      const allowed = commands.filter((one) => one.command === command)
      if (!allowed.length)
        return refuse(
          ['command'],
          `the tenant ${quote(name)} may not run ${quote(command)}`,
          commands.length
            ? `Its \`commands\`: ${quoteAll(commands.map((one) => one.command))}`
            : 'Its `commands` in the settings are empty',
        )
      const variables = allowed.flatMap((one) => one.env)
      for (const variable of Object.keys(env))
        if (!namesVariable(variable, variables))
          refuse(
            ['env', variable],
            `the tenant ${quote(name)} may not set ${quote(variable)} for ${quote(command)}`,
            variables.length
              ? `The settings allow ${quoteAll(variables)}`
              : 'Remove it, or allow it by `env` of the command in the settings',
          )
    },
  },
  {
    codes: ['tenant-notifier'],
    on: 'configuration',
    check({ notifier }, report, context) {
      const owner = ownerOf(context)
      if (!owner || owner.notifier || !notifier) return
      report({
        code: 'tenant-notifier',
        path: ['notifier'],
        message: `the tenant ${quote(owner.name)} may not have notifiers`,
        hint: 'Remove it: the notifier of the settings is used. Or set `notifier: true` of the tenant in the settings',
      })
    },
  },
  {
    codes: ['tenant-file'],
    on: 'configuration',
    check({ skills }, report, context) {
      const owner = ownerOf(context)
      if (!owner || skills === undefined) return
      report({
        code: 'tenant-file',
        path: ['skills'],
        message: `the tenant ${quote(owner.name)} may not have files of the gateway read`,
        hint: 'Remove `skills`, or serve them by an MCP server of the tenant',
      })
    },
  },
  ...(['server', 'mcpServer'] as const).map(
    (on): Check => ({
      codes: ['tenant-file'],
      on,
      check({ tls = {} }: { tls?: ServerTls }, report: Reporter, context: Context) {
        const owner = ownerOf(context)
        if (!owner) return
        for (const member of PEM_MEMBERS)
          if (!isPem(tls[member] ?? '-----BEGIN '))
            report({
              code: 'tenant-file',
              path: ['tls', member],
              message: `the tenant ${quote(owner.name)} may not have files of the gateway read`,
              hint: `Give \`${member}\` as PEM text in a variable that \`env\` of the tenant in the settings names`,
            })
      },
    }),
  ),
  ...(['tool', 'server', 'mcpServer'] as const).map(
    (on): Check => ({
      codes: ['tenant-limits'],
      on,
      check({ limits }: { limits?: Partial<Limits> }, report: Reporter, context: Context) {
        const owner = ownerOf(context)
        const { limits: ofProcess } = context.options
        if (owner && ofProcess && limits) checkLimitsOf(limits, { ...ofProcess, ...owner.limits }, report)
      },
    }),
  ),
]

const LIMIT_TEXT: Record<keyof Limits, (limit: number) => string> = {
  connectTimeout: timeText,
  timeout: timeText,
  maxResponseSize: sizeText,
  maxRequestSize: sizeText,
  resultChars: (limit) => `${limit} characters`,
}

function checkLimitsOf(limits: Partial<Limits>, most: Limits, report: Reporter) {
  for (const key of Object.keys(LIMIT_TEXT) as (keyof Limits)[]) {
    const value = limits[key]
    if (value === undefined || value <= most[key]) continue
    const text = LIMIT_TEXT[key](most[key])
    report({
      code: 'tenant-limits',
      path: ['limits', key],
      message: `\`${key}\` is larger than the ${text} that the settings allow to the tenant`,
      hint: 'Lower it, or raise `limits` of the tenant in the settings',
    })
  }
}

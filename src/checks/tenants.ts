import type { Configuration, Limits, McpServer, Router, ServerTls, TenantSettings } from '../config/index.ts'
import { DEFAULT_TENANT } from '../config/model.ts'
import { namesVariable } from '../config/tenant-env.ts'
import { TRANSPORTS } from '../config/transports.ts'
import { type Path, type Reporter, suggest } from '../findings/index.ts'
import { isPem } from '../net/tls-files.ts'
import { quote, quoteAll, sizeText, timeText } from '../text/index.ts'
import type { Context } from './check.ts'
import { PEM_MEMBERS } from './fields/server-connections.ts'
import { isBelow } from './prefixes.ts'

/** The tenant of a configuration, if the settings restrict its authors. */
function ownerOf({ configuration, isRepaired, options }: Context): TenantSettings | undefined {
  const { tenant } = configuration
  if (tenant === DEFAULT_TENANT || isRepaired(['tenant'])) return undefined
  return options.tenants?.find(({ name }) => name === tenant)
}

/** The tenant must be known. */
export function checkTenant({ tenant }: Configuration, report: Reporter, { options: { tenants } }: Context) {
  const names = tenants?.map(({ name }) => name)
  if (!names || tenant === DEFAULT_TENANT || names.includes(tenant)) return
  const { suggestion } = suggest(tenant, names)
  report({
    code: 'unknown-tenant',
    path: ['tenant'],
    message: `there is no tenant ${quote(tenant)}`,
    ...(suggestion === undefined ? { hint: `Tenants of the settings: ${quoteAll(names)}` } : { suggestion }),
  })
}

/** Prefixes must be below that of their tenant. */
export function checkTenantPrefixes(
  { prefix, ssePrefix }: Router,
  report: Reporter,
  { configuration: { tenant }, isRepaired, options: { tenants } }: Context,
) {
  const own = tenants?.find(({ name }) => name === tenant)
  if (!tenants || isRepaired(['tenant']) || (!own && tenant !== DEFAULT_TENANT)) return
  for (const [key, value] of Object.entries({ prefix, ssePrefix })) {
    if (value === undefined) continue
    if (own && !isBelow(value, own.prefix))
      report({
        code: 'tenant-prefix',
        path: [key],
        message: `the prefix ${quote(value)} is not below ${quote(own.prefix)}, the prefix of the tenant ${quote(tenant)}`,
        hint: `Write for example ${quote(own.prefix + (value === '/' ? '' : value))}`,
      })
    // The owner is not named, as tenants must not learn of each other.
    else if (!own && tenants.some(({ prefix }) => isBelow(value, prefix)))
      report({
        code: 'tenant-prefix',
        path: [key],
        message: `the prefix ${quote(value)} is reserved for a tenant`,
        hint: 'Choose another prefix, or name the tenant',
      })
  }
}

/** The programs and their variables that the settings allow to a tenant. */
export function checkProcess({ type, command = '', env }: McpServer, report: Reporter, context: Context) {
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
}

export function checkOwnKeys({ notifier, skills }: Configuration, report: Reporter, context: Context) {
  const owner = ownerOf(context)
  if (owner && notifier && !owner.notifier)
    report({
      code: 'tenant-notifier',
      path: ['notifier'],
      message: `the tenant ${quote(owner.name)} may not have notifiers`,
      hint: 'Remove it: the notifier of the settings is used. Or set `notifier: true` of the tenant in the settings',
    })
  if (owner && skills !== undefined)
    reportFile(owner, ['skills'], 'Remove `skills`, or serve them by an MCP server of the tenant', report)
}

export function checkTlsFiles({ tls = {} }: { tls?: ServerTls }, report: Reporter, context: Context) {
  const owner = ownerOf(context)
  for (const member of owner ? PEM_MEMBERS : [])
    if (!isPem(tls[member] ?? '-----BEGIN ')) {
      const hint = `Give \`${member}\` as PEM text in a variable that \`env\` of the tenant in the settings names`
      reportFile(owner!, ['tls', member], hint, report)
    }
}

function reportFile({ name }: TenantSettings, path: Path, hint: string, report: Reporter) {
  const message = `the tenant ${quote(name)} may not have files of the gateway read`
  report({ code: 'tenant-file', path, message, hint })
}

const LIMIT_TEXT: Record<keyof Limits, (limit: number) => string> = {
  connectTimeout: timeText,
  timeout: timeText,
  maxResponseSize: sizeText,
  maxRequestSize: sizeText,
  resultChars: (limit) => `${limit} characters`,
}

export function checkTenantLimits(
  { limits = {} }: { limits?: Partial<Limits> },
  report: Reporter,
  context: Context,
) {
  const owner = ownerOf(context)
  if (!owner || !context.options.limits) return
  const most = { ...context.options.limits, ...owner.limits }
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

import type { Finding } from '../findings/index.ts'
import { nearest } from '../findings/index.ts'
import type { Configuration, TenantSettings } from './model.ts'
import type { Path } from './read.ts'
import type { Report } from './rules.ts'
import { list, quote } from './words.ts'

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field
type Checked = Record<string, any>

/** The tenant of configurations that name none. */
export const DEFAULT_TENANT = 'default'

/** The settings' `tenants` with their defaults. */
export function buildTenants(tenants: readonly Checked[]): TenantSettings[] {
  return tenants.map(({ name, prefix, tokens = [] }) => ({
    name,
    prefix,
    tokens: tokens.map(({ token, caller }: Checked) => ({ token, caller })),
  }))
}

/** What one tenant of the settings says about another. Tokens are never shown. */
export function checkTenants(tenants: readonly Checked[], report: Report, admin?: unknown): void {
  // A tenant with the admin's would see and reload everything.
  const tokens = new Map<unknown, Path>([[admin, ['admin', 'token']]])
  for (const [i, { name, prefix, tokens: own = [] }] of tenants.entries()) {
    const before = tenants.slice(0, i)
    const same = before.findIndex((other) => other.name === name)
    if (same >= 0)
      report(
        'duplicate-name',
        ['tenants', i, 'name'],
        `two tenants have the name ${quote(name)}`,
        'Write one entry for each tenant',
        { path: ['tenants', same, 'name'], message: 'the first one' },
      )
    const near = before.findIndex((other) => isAt(prefix, other.prefix) || isAt(other.prefix, prefix))
    if (near >= 0 && near !== same)
      report(
        'duplicate-prefix',
        ['tenants', i, 'prefix'],
        `the prefix ${quote(prefix)} meets ${quote(before[near]!.prefix)} of the tenant ${quote(before[near]!.name)}`,
        'Give each tenant a prefix that no other is at or below',
        { path: ['tenants', near, 'prefix'], message: 'the other one' },
      )
    for (const [k, { token }] of own.entries()) {
      const path = ['tenants', i, 'tokens', k, 'token']
      const first = tokens.get(token)
      if (!first) tokens.set(token, path)
      else
        report('duplicate-token', path, 'this token stands twice', 'Give every caller a token of its own', {
          path: first,
          message: 'the first one',
        })
    }
  }
}

/** What is wrong with a configuration by the tenants of the settings. */
export interface TenantFault {
  code: Finding['code']
  path: Path
  message: string
  hint: string
}

/** A configuration's tenant is known, and its prefixes lie below that tenant's and no other's. */
export function tenantFaults(
  { tenant, routers }: Configuration,
  tenants: readonly TenantSettings[],
): TenantFault[] {
  const own = tenants.find(({ name }) => name === tenant)
  if (!own && tenant !== DEFAULT_TENANT) {
    const names = tenants.map(({ name }) => name)
    const close = nearest(tenant, names)
    const hint = close ? `Did you mean ${quote(close)}?` : `Tenants of the settings: ${list(names)}`
    return [
      { code: 'unknown-tenant', path: ['tenant'], message: `there is no tenant ${quote(tenant)}`, hint },
    ]
  }
  return routers.flatMap(({ prefix, ssePrefix }, i) =>
    [
      { key: 'prefix', value: prefix },
      { key: 'ssePrefix', value: ssePrefix },
    ].flatMap(({ key, value }) => {
      if (value === undefined) return []
      const path = ['routers', i, key]
      const other = tenants.some(({ name, prefix: root }) => name !== tenant && isAt(value, root))
      if (own && !isAt(value, own.prefix)) {
        const message = `the prefix ${quote(value)} is not below ${quote(own.prefix)}, as those of the tenant ${quote(tenant)} are`
        const hint = `Write for example ${quote(own.prefix + (value === '/' ? '' : value))}`
        return [{ code: 'tenant-prefix' as const, path, message, hint }]
      }
      // Whose it is stays untold: tenants may not know of each other.
      if (!own && other) {
        const message = `the prefix ${quote(value)} is kept for a tenant`
        return [
          {
            code: 'tenant-prefix' as const,
            path,
            message,
            hint: 'Choose another prefix, or name the tenant',
          },
        ]
      }
      return []
    }),
  )
}

/** Whether a prefix is another one or below it; by case only different prefixes are the same. */
function isAt(prefix: string, root: string): boolean {
  const [path, top] = [prefix, root].map(
    (text) => `/${text.toLowerCase().split('/').filter(Boolean).join('/')}`,
  )
  return path === top || path!.startsWith(`${top}/`)
}

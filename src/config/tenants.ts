import { quote } from '../text/index.ts'
import type { TenantSettings } from './model.ts'
import type { Report } from './report.ts'
import type { Path } from './types.ts'

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field
type Checked = Record<string, any>

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

/** Whether a prefix is another one or below it; by case only different prefixes are the same. */
export function isAt(prefix: string, root: string): boolean {
  const [path, top] = [prefix, root].map(
    (text) => `/${text.toLowerCase().split('/').filter(Boolean).join('/')}`,
  )
  return path === top || path!.startsWith(`${top}/`)
}

import type { TenantSettings } from './model.ts'

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

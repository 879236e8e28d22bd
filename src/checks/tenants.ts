import type { Configuration, Path, TenantSettings } from '../config/index.ts'
import { DEFAULT_TENANT } from '../config/model.ts'
import { isAt } from '../config/tenants.ts'
import type { Finding } from '../findings/index.ts'
import { nearest, quote, quoteAll } from '../text/index.ts'

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
    const hint = close ? `Did you mean ${quote(close)}?` : `Tenants of the settings: ${quoteAll(names)}`
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

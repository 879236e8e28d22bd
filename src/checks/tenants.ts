import { DEFAULT_TENANT } from '../config/index.ts'
import { suggest } from '../findings/index.ts'
import { quote, quoteAll } from '../text/index.ts'
import type { Check } from './check.ts'
import { isBelow } from './prefixes.ts'

/** A configuration's tenant is known, and its prefixes are below that tenant's and no other's. */
export const TENANT_CHECKS: readonly Check[] = [
  {
    codes: ['unknown-tenant'],
    on: 'configuration',
    check({ tenant }, report, { options: { tenants } }) {
      const names = tenants?.map(({ name }) => name)
      if (!names || tenant === DEFAULT_TENANT || names.includes(tenant)) return
      const { suggestion } = suggest(tenant, names)
      report({
        code: 'unknown-tenant',
        path: ['tenant'],
        message: `there is no tenant ${quote(tenant)}`,
        ...(suggestion === undefined
          ? { hint: `Tenants of the settings: ${quoteAll(names)}` }
          : { suggestion }),
      })
    },
  },
  {
    codes: ['tenant-prefix'],
    on: 'router',
    check({ prefix, ssePrefix }, report, { configuration: { tenant }, doubtful, options: { tenants } }) {
      const own = tenants?.find(({ name }) => name === tenant)
      if (!tenants || doubtful(['tenant']) || (!own && tenant !== DEFAULT_TENANT)) return
      for (const [key, value] of Object.entries({ prefix, ssePrefix })) {
        if (value === undefined) continue
        if (own && !isBelow(value, own.prefix))
          report({
            code: 'tenant-prefix',
            path: [key],
            message: `the prefix ${quote(value)} is not below ${quote(own.prefix)}, the prefix of the tenant ${quote(tenant)}`,
            hint: `Write for example ${quote(own.prefix + (value === '/' ? '' : value))}`,
          })
        // The owner is not named: tenants may not know of each other.
        else if (!own && tenants.some(({ prefix }) => isBelow(value, prefix)))
          report({
            code: 'tenant-prefix',
            path: [key],
            message: `the prefix ${quote(value)} is reserved for a tenant`,
            hint: 'Choose another prefix, or name the tenant',
          })
      }
    },
  },
]

import { namer, slug } from '../openapi/tool-names.ts'

/** Makes names of entries from prefixes: `/shop/orders` → `shop-orders`, `/` → `plantgw`. Each is given once. */
export function entryNamer(): (prefix: string) => string {
  const unique = namer()
  return (prefix) => unique(slug(prefix) || 'plantgw').replaceAll('_', '-')
}

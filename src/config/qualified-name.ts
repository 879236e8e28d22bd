import { type Configuration, DEFAULT_TENANT } from './model.ts'

/** Identifies a configuration: configurations of two tenants may have the same name. */
export type Identity = Pick<Configuration, 'tenant' | 'name'>

/**
 * An identity as one text: `name`, or `tenant/name` where a tenant has it; and what is inside, such as a server. Slashes
 * in the parts are percent-encoded, so that no two identities have the same text.
 */
export function qualifiedName({ tenant, name }: Identity, ...inside: string[]): string {
  const parts = tenant === DEFAULT_TENANT ? [name, ...inside] : [tenant, name, ...inside]
  return parts.map((part) => part.replace(/[%/]/g, encodeURIComponent)).join('/')
}

/** The inverse of `qualifiedName`. @param tenant default for a text without one */
export function identityOf(text: string, tenant = DEFAULT_TENANT): Identity {
  const [first = '', second, third] = text.split('/', 3).map(decoded)
  if (second === undefined) return { tenant, name: first }
  return first && second && third === undefined ? { tenant: first, name: second } : { tenant, name: text }
}

function decoded(part: string): string {
  return part.replace(/%25|%2F/gi, decodeURIComponent)
}

/**
 * A key that two served configurations cannot share. Without tenants in the settings, tenant names are only labels, and
 * configuration names are unique in all tenants.
 */
export function uniqueName(identity: Identity, tenants: readonly unknown[] | undefined): string {
  return tenants ? qualifiedName(identity) : identity.name
}

/**
 * Resolves a name: the configuration with this qualified name, else those with this name. The default
 * tenant's comes first, so that no tenant takes a name from it.
 */
export function named<T extends Identity>(text: string, known: Iterable<T>): T[] {
  return finder(known)(text)
}

/** As `named`, for many names. */
export function finder<T extends Identity>(known: Iterable<T>): (text: string) => T[] {
  const byName = new Map<string, T[]>()
  const exact = new Map<string, T>()
  for (const one of known) {
    const same = byName.get(one.name)
    if (same) same.push(one)
    else byName.set(one.name, [one])
    const name = qualifiedName(one)
    if (!exact.has(name)) exact.set(name, one)
  }
  return (text) => {
    const all = byName.get(text) ?? []
    const found = all.find(({ tenant }) => tenant === DEFAULT_TENANT) ?? exact.get(text)
    return found ? [found] : all
  }
}

export function ambiguous(text: string, found: readonly Identity[]): string {
  const names = found.map((one) => qualifiedName(one)).join(', ')
  return `several tenants have a configuration ${JSON.stringify(text)}: name one of ${names}`
}

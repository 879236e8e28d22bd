import { type FoundMember, findMembers, type Servers } from '../config/index.ts'
import type { Chosen, LinkContext, Listing, Prepared, PreparedServer } from './types.ts'

/** The configurations of one tenant, by name. */
type Known = Map<string, Prepared>

/**
 * Makes the routes of routers with lists of servers, which depend on other configurations, anew where one of those servers
 * is another than before, came or went.
 */
export function link(
  prepared: ReadonlyMap<string, Prepared>,
  context: LinkContext,
): ReadonlyMap<string, Prepared> {
  let tenants: Map<string, Known> | undefined
  const all = new Map(prepared)
  for (const [id, one] of prepared) {
    if (!one.listings) continue
    const { listings } = one
    tenants ??= byTenant(prepared)
    const known = tenants.get(one.tenant) as Known
    const chosen = listings.all.map(({ router }) => chosenOf(router, one.name, known))
    const made = chosen.flat().map(({ server }) => server)
    if (isSame(made, listings.made)) continue
    const routes = listings.all.map((listing, i) => listing.make(chosen[i]!, context))
    all.set(id, { ...one, routes: [...listings.own, ...routes], listings: { ...listings, made } })
  }
  return all
}

function byTenant(prepared: ReadonlyMap<string, Prepared>): Map<string, Known> {
  const tenants = new Map<string, Known>()
  for (const one of prepared.values()) {
    const known: Known = tenants.get(one.tenant) ?? new Map()
    tenants.set(one.tenant, known.set(one.name, one))
  }
  return tenants
}

function chosenOf(router: Listing['router'], name: string, known: Known): Chosen[] {
  const serversOf = (one: Prepared): Servers => ({ name: one.name, servers: [...one.servers.keys()] })
  const own = serversOf(known.get(name) as Prepared)
  const { found } = findMembers(router, own, [...known.values()].map(serversOf))
  return found.flatMap(({ configuration, server, member }: FoundMember) => {
    const one = known.get(configuration)?.servers.get(server)
    return one ? [{ server: one, member }] : []
  })
}

function isSame(made: readonly PreparedServer[], before: readonly PreparedServer[] | undefined): boolean {
  return before?.length === made.length && made.every((server, i) => server === before[i])
}

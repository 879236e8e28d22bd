import { wildcards } from '../text/index.ts'
import type { Configuration, Member, Router } from './model.ts'

/** Between the names of a server and of its tool, where several servers share a prefix. */
export const SEPARATOR = '__'

/** The servers of one configuration, by the names in routers. */
export interface Servers {
  /** The name of the configuration. */
  name: string
  /** The names of its servers of every kind. */
  servers: readonly string[]
}

/** One server that a router means. */
export interface FoundMember {
  /** The names of its configuration and its own. */
  configuration: string
  server: string
  /** The router's entry for the server. */
  member: Member
  /** Its place in the router's list. */
  at: number
}

/** The servers in a router's list, and the places of unknown entries. */
interface Members {
  found: FoundMember[]
  missing: number[]
}

export function serversOf({ name, servers, mcpServers }: Configuration): Servers {
  return { name, servers: [...servers, ...mcpServers].map((server) => server.name) }
}

/** How a router of another configuration names a server. */
export function nameOf(configuration: string, server: string): string {
  return `${configuration}/${server}`
}

/**
 * The servers behind a router, each once: named ones first, then those that `*` matches, sorted by name.
 * @param own the configuration of the router, whose servers need no `configuration/`
 * @param others those of the same tenant; the own one may be among them
 */
export function findMembers(
  { server: list }: Pick<Router, 'server'>,
  own: Servers,
  others: Iterable<Servers>,
): Members {
  if (typeof list === 'string') return findMembers({ server: [plain(list)] }, own, [])
  const all = new Map([...others].map((one) => [one.name, one])).set(own.name, own)
  const named = new Set<string>()
  const byPlace = list.map((member, at): FoundMember[] => {
    const found = candidates(member.server, own, all)
    if (!isPattern(member.server)) for (const one of found) named.add(nameOf(...one))
    return found.map(([configuration, server]) => ({ configuration, server, member, at }))
  })
  const missing = [...byPlace.keys()].filter((at) => byPlace[at]!.length === 0)
  const taken = new Set<string>()
  const found = byPlace.flat().filter(({ configuration, server, member }) => {
    const name = nameOf(configuration, server)
    if (taken.has(name) || (isPattern(member.server) && named.has(name))) return false
    return taken.add(name)
  })
  return { found, missing }
}

/** Possible meanings of a list entry: names of configurations and servers. */
function candidates(text: string, own: Servers, all: ReadonlyMap<string, Servers>): [string, string][] {
  if (own.servers.includes(text)) return [[own.name, text]]
  if (!isPattern(text)) {
    for (let slash = text.indexOf('/'); slash >= 0; slash = text.indexOf('/', slash + 1)) {
      const [name, server] = [text.slice(0, slash), text.slice(slash + 1)]
      if (all.get(name)?.servers.includes(server)) return [[name, server]]
    }
    return []
  }
  const matches = wildcards(text)
  if (!text.includes('/')) return own.servers.filter(matches).map((server) => [own.name, server])
  return [...all.values()]
    .flatMap(({ name, servers }) => servers.map((server): [string, string] => [name, server]))
    .filter((one) => matches(nameOf(...one)))
    .sort((a, b) => (nameOf(...a) < nameOf(...b) ? -1 : 1))
}

function isPattern(text: string): boolean {
  return text.includes('*')
}

function plain(server: string): Member {
  return { server, blockedTools: [], toolOverrides: {} }
}

/** The servers of its own configuration that a router means, by name. */
export function ownServers(router: Pick<Router, 'server'>, configuration: Configuration): string[] {
  return findMembers(router, serversOf(configuration), []).found.map(({ server }) => server)
}

const routersByServer = new WeakMap<Configuration, ReadonlyMap<string, Router[]>>()

/** The routers of a configuration that mean a server of it. */
export function routersTo(server: string, configuration: Configuration): readonly Router[] {
  const known = routersByServer.get(configuration) ?? groupRouters(configuration)
  routersByServer.set(configuration, known)
  return known.get(server) ?? []
}

function groupRouters(configuration: Configuration): Map<string, Router[]> {
  const groups = new Map<string, Router[]>()
  for (const router of configuration.routers)
    for (const name of ownServers(router, configuration)) {
      const group = groups.get(name)
      if (group) group.push(router)
      else groups.set(name, [router])
    }
  return groups
}

/** Whether a router may mean servers of other configurations. */
export function reachesOut({ server }: Pick<Router, 'server'>): boolean {
  return typeof server !== 'string' && server.some((member) => member.server.includes('/'))
}

/** Whether a server offers a tool of its configuration. */
export function offers({ allowedTools }: { allowedTools?: readonly string[] }, tool: string): boolean {
  return allowedTools?.includes(tool) ?? true
}

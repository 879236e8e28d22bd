import { type Configuration, type McpServer, type Router, SEPARATOR } from '../config/index.ts'
import { type Discovery, searchable, type ToolWords } from '../discovery/index.ts'
import { wildcards } from '../text/index.ts'
import type { Chosen, ServerWords, WordsOf } from './types.ts'

export function wordsOf(name: string, configuration: Configuration): ServerWords {
  let made: WordsOf | undefined
  return {
    of(tool) {
      made ??= wordsOfServer(name, configuration)
      return made(tool)
    },
    groups: () => groupsOf(name, configuration),
  }
}

/** How a router shows its tools. */
export function discoveryOf({ discovery, server, names }: Router, chosen: readonly Chosen[]): Discovery {
  const { type, above, pin } = discovery
  const pins = pin.map((pattern) => wildcards(pattern))
  let knownTools: (ReadonlySet<string> | undefined)[] | undefined
  return {
    mode: type,
    above,
    pins: (tool) => pins.some((fits) => fits(tool)),
    wordsOf(tool) {
      if (typeof server === 'string') return chosen[0]?.server.words.of(tool)
      knownTools ??= chosen.map(({ server: { http } }) => http && new Set(http.tools.names))
      for (const [i, one] of chosen.entries()) {
        const front = names === 'plain' ? '' : one.server.name + SEPARATOR
        const words = tool.startsWith(front)
          ? wordsOfMember(one, knownTools[i], tool.slice(front.length))
          : undefined
        if (words) return words
      }
      return undefined
    },
    key: JSON.stringify([
      discovery,
      chosen.map(({ server, member }) => [server.words.groups(), member.toolOverrides]),
    ]),
  }
}

/**
 * Words of a tool by the name that a router shows; undefined: the server has no such tool.
 * @param known names of HTTP tools; those of an MCP server are not known
 */
function wordsOfMember(
  { server, member }: Chosen,
  known: ReadonlySet<string> | undefined,
  shown: string,
): ToolWords | undefined {
  const overrides = Object.entries(member.toolOverrides)
  const own = overrides.find(([, { name }]) => name === shown)?.[0] ?? shown
  const override = overrides.find(([name]) => name === own)?.[1]
  if (known && !known.has(own)) return undefined
  const { group, keywords } = override ?? {}
  return { ...server.words.of(own), ...(group !== undefined && { group }), ...(keywords && { keywords }) }
}

function wordsOfServer(name: string, { mcpServers, tools }: Configuration): WordsOf {
  const proxied = mcpServers.find((one) => one.name === name)
  if (proxied) {
    const overrides = overridesOf(proxied)
    return (tool) => ({ server: name, ...overrides.get(tool) })
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return (tool) => {
    const found = byName.get(tool)
    if (!found) return { server: name }
    const { group, keywords, method, path } = searchable(found)
    return { server: name, group, keywords, method, path }
  }
}

/** By the names that clients see. */
function overridesOf({ toolOverrides }: McpServer): Map<string, Omit<ToolWords, 'server'>> {
  return new Map(
    Object.entries(toolOverrides).map(([own, { name = own, group, keywords }]) => [
      name,
      { group, keywords },
    ]),
  )
}

function groupsOf(server: string, { mcpServers, tools }: Configuration): readonly unknown[] {
  const proxied = mcpServers.find(({ name }) => name === server)
  if (proxied) return [...overridesOf(proxied)]
  return tools.flatMap(({ name, group }) => (group === undefined ? [] : [[name, group]]))
}

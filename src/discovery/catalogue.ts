import { isObject, type Json, type JsonObject, plain, stringify } from '../json/index.ts'
import { inTurns, nearest, numberText, pause, plural, proposal, shorten, tokensIn } from '../text/index.ts'
import {
  DEFAULT_RESULTS,
  DESCRIBE,
  DISCOVERY_TOOLS,
  discoveryTools,
  MAX_DESCRIBED,
  MAX_QUERIES,
  MAX_RESULTS,
  SEARCH,
} from './discovery-tools.ts'
import { lineOf } from './signature.ts'
import { indexSteps, type ToolIndex } from './tool-index.ts'
import { declared, type SearchableTool } from './tool-texts.ts'

/** The answer of a discovery tool: text with advice in case of errors. */
export interface DiscoveryAnswer {
  text: string
  isError?: true
}

/** The tools that a caller may use, for partial listing, search and description. Immutable. */
export interface Catalogue {
  /** Estimated tokens of the whole list. */
  readonly tokens: number
  get(name: string): JsonObject | undefined
  /** The tools in `tools/list`: all, or pinned ones and the discovery tools. */
  list(whole: boolean): readonly JsonObject[]
  /** Whether a tool was excluded because it has a discovery tool's name. */
  readonly clashes: boolean
  /** Answers `search_tools` and `describe_tools`. @param given arguments as received */
  search(given: JsonObject): Promise<DiscoveryAnswer>
  describe(given: JsonObject): DiscoveryAnswer
  /** The message for an unknown tool name. */
  unknown(name: string): string
}

/** @param listed tools as listed to the caller */
export function createCatalogue(listed: readonly JsonObject[], policy: Discovery): Catalogue {
  const tools = listed.filter(({ name }) => typeof name === 'string' && !DISCOVERY_TOOLS.has(name))
  const byName = new Map(tools.map((tool) => [tool.name as string, tool]))
  const words = tools.map(({ name }) => policy.wordsOf(name as string))
  const groups = countsOf(words, byGroupOrServer)
  let tokens: number | undefined
  let shown: readonly JsonObject[] | undefined
  let index: Promise<ToolIndex> | undefined

  const unknown = (name: string) => unknownText(name, [...byName.keys()])

  async function search(given: JsonObject): Promise<DiscoveryAnswer> {
    const asked = readSearch(given)
    if ('isError' in asked) return asked
    const { queries, group, limit } = asked
    if (group !== undefined && !groups.has(group)) {
      const near = nearest(group, groups.keys())
      const cure = near === undefined ? `The groups are ${countsText(groups)}` : `Did you mean ${near}?`
      return error(`There is no group ${shorten(group, 80)}. ${cure}`)
    }
    const searchables = () =>
      tools.map((tool, i) => ({ ...declared(tool), ...words[i], group: words[i]?.group ?? words[i]?.server }))
    index ??= inTurns(indexSteps(searchables()))
    const isIn = (at: number) => words[at]?.group === group || words[at]?.server === group
    const accepts = group === undefined ? undefined : isIn
    const built = await index
    // Otherwise all waiting calls would search in one tick.
    await pause()
    const hits = built.search(queries, { limit, accepts })
    const lines = hits.map(({ at }) => lineOf(tools[at]!))
    const among =
      group === undefined ? numberText(tools.length) : `${numberText(groups.get(group)!)} in ${group}`
    const found = hits.length > 0 ? hits.map(({ at }) => words[at]) : words
    const places = countsOf(found, byGroup)
    const rest = places.size > 0 ? `; groups: ${countsText(places, MAX_RESULTS)}` : ''
    return { text: [...lines, `${hits.length} of ${among}${rest}`].join('\n') }
  }

  return {
    get tokens() {
      tokens ??= tokensOf(tools)
      return tokens
    },
    clashes: listed.length > tools.length,
    get: (name) => byName.get(name),
    list(whole) {
      if (whole) return tools
      shown ??= [
        ...tools.filter(({ name }) => policy.pins(name as string)),
        ...discoveryTools(overviewOf(words)),
      ]
      return shown
    },
    search,
    describe: (given) => describeTools(given, byName),
    unknown,
  }
}

/** The definitions of the named tools. */
function describeTools(given: JsonObject, byName: ReadonlyMap<string, JsonObject>): DiscoveryAnswer {
  const names = [given.names ?? []].flat()
  if (!isTexts(names, MAX_DESCRIBED))
    return error(`\`names\` of ${DESCRIBE} must be an array of 1 to ${MAX_DESCRIBED} names of tools`)
  let left = 200_000
  // Only for the first unknown name, as finding similar names is slow.
  let hasProposed = false
  const texts = [...new Set(names)].map((name) => {
    const tool = byName.get(name)
    if (!tool) {
      if (hasProposed) return notFound(name)
      hasProposed = true
      return unknownText(name, [...byName.keys()])
    }
    const whole = stringify(tool)
    // A single definition is truncated instead of omitted, so that each can be requested.
    const text = left === 200_000 ? shorten(whole, left) : whole
    if (text.length > left)
      return `${shorten(name, 80)}: too long to be described together with the others; describe it alone`
    left -= text.length
    return text
  })
  const text = texts.join('\n')
  return names.some((name) => byName.has(name)) ? { text } : { text, isError: true }
}

/** Estimated tokens of a list of tools. */
export function tokensOf(tools: readonly JsonObject[]): number {
  return tokensIn(tools.reduce((sum, tool) => sum + stringify(tool).length + 1, 0))
}

/** Number of tools for each name returned by `namesOf`. */
function countsOf(
  words: readonly (ToolWords | undefined)[],
  namesOf: (words: ToolWords) => readonly string[],
): Map<string, number> {
  const counts = new Map<string, number>()
  for (const one of words)
    for (const name of new Set(one ? namesOf(one) : [])) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

const byGroup = ({ server, group = server }: ToolWords) => [group]
/** A search may also name a server. */
const byGroupOrServer = ({ server, group = server }: ToolWords) => [group, server]

interface Search {
  queries: string[]
  group: string | undefined
  limit: number
}

function readSearch(given: JsonObject): Search | (DiscoveryAnswer & { isError: true }) {
  const { query, queries, group } = given
  // Clients may fill unused arguments with empty strings.
  const all = [query ?? [], queries ?? []].flat().filter((one) => one !== '')
  if (!isTexts(all, MAX_QUERIES))
    return error(
      `${SEARCH} takes 1 to ${MAX_QUERIES} \`queries\`, an array of texts such as ["create pull request", "open a pull request"]`,
    )
  const limit = plain(given.limit ?? DEFAULT_RESULTS)
  if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 1)
    return error(`\`limit\` of ${SEARCH} must be a whole number from 1 to ${MAX_RESULTS}`)
  if (group !== undefined && group !== null && typeof group !== 'string')
    return error(`\`group\` of ${SEARCH} must be the name of a group`)
  return { queries: all, group: group || undefined, limit: Math.min(limit, MAX_RESULTS) }
}

function isTexts(values: Json | undefined, most: number): values is string[] {
  return (
    Array.isArray(values) &&
    values.length > 0 &&
    values.length <= most &&
    values.every((one) => typeof one === 'string' && one.trim() !== '')
  )
}

function error(text: string): DiscoveryAnswer & { isError: true } {
  return { text, isError: true }
}

function unknownText(name: string, names: readonly string[]): string {
  const proposed = proposal(name, names)
  return `${notFound(name)} ${proposed && `${proposed} `}${SEARCH} finds tools by what they do.`
}

function notFound(name: string): string {
  return `Unknown tool: ${shorten(name, 80)}.`
}

/** The call of another tool in the arguments of `call_tool` or `call_read_tool`. */
interface ToolCall {
  name: string
  arguments: JsonObject
}

const MEMBERS: ReadonlySet<string> = new Set(['name', 'arguments'])

/** The call to make, or why it is unreadable. @param parse reads JSON text */
export function readToolCall(
  by: string,
  given: Json | undefined,
  parse: (text: string) => Json,
): ToolCall | DiscoveryAnswer {
  const call = isObject(given) ? given : {}
  const { name } = call
  if (typeof name !== 'string' || name === '')
    return error(`${by} needs the \`name\` of a tool, as ${SEARCH} shows it, and its \`arguments\``)
  if (DISCOVERY_TOOLS.has(name)) {
    const cure = name === by ? 'give it the name of the tool that you need' : `call ${name} itself`
    return error(`${by} cannot call ${name}: ${cure}`)
  }
  const other = Object.keys(call).find((key) => !MEMBERS.has(key))
  if (other !== undefined)
    return error(
      `${by} takes \`name\` and \`arguments\`, but not \`${shorten(other, 60)}\`: put the arguments of ${shorten(name, 80)} into \`arguments\``,
    )
  const read = readArguments(call.arguments ?? {}, parse)
  return isObject(read)
    ? { name, arguments: read }
    : error(`\`arguments\` of ${by} must be an object, or its JSON text`)
}

function readArguments(given: Json, parse: (text: string) => Json): Json {
  if (typeof given !== 'string') return given
  if (given.trim() === '') return {}
  try {
    return parse(given)
  } catch {
    return null
  }
}

/** Maximum groups named, of one server and in all. */
const MAX_GROUPS = 80

/** `1,222 tools. Groups: repos (201), actions (183), …`, or one line of groups for each server. */
function overviewOf(words: readonly (ToolWords | undefined)[]): string {
  const servers = new Map<string, Map<string, number>>()
  for (const one of words) {
    const { server = '', group = server } = one ?? {}
    const groups = servers.get(server) ?? new Map<string, number>()
    servers.set(server, groups.set(group, (groups.get(group) ?? 0) + 1))
  }
  const total = `${numberText(words.length)} ${plural(words.length, 'tool')}.`
  const all = [...servers]
  const [only] = all
  if (all.length === 1 && only) return only[1].size > 1 ? `${total} Groups: ${countsText(only[1])}` : total
  // If each server is a single group, separate lines would be redundant.
  if (all.every(([server, groups]) => groups.size === 1 && groups.has(server)))
    return `${total} Servers: ${countsText(new Map(all.map(([server, groups]) => [server, groups.get(server)!])))}`
  const each = Math.max(3, Math.floor(MAX_GROUPS / all.length))
  const lines = all
    .slice(0, MAX_GROUPS)
    .map(([server, groups]) => `- ${shorten(server, 60)}: ${countsText(groups, each)}`)
  const left = all.length - lines.length
  return [`${total} Servers, and their groups:`, ...lines, ...(left > 0 ? [`- ${left} more`] : [])].join('\n')
}

/** `repos (201), actions (183), 4 more`: largest first, equal ones by name. */
function countsText(counts: ReadonlyMap<string, number>, most = MAX_GROUPS): string {
  const sorted = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  const shown = sorted.slice(0, most).map(([name, n]) => `${shorten(name, 60)} (${numberText(n)})`)
  const left = sorted.length - shown.length
  return [...shown, ...(left > 0 ? [`${left} more`] : [])].join(', ')
}

/** The tools that `tools/list` shows: all tools, only discovery and pinned tools, or automatically by size. */
type ListingMode = 'list' | 'search' | 'auto'

/** Search words of a tool from the configuration. */
export type ToolWords = Pick<SearchableTool, 'group' | 'keywords' | 'method' | 'path'> & {
  /** Name of its server. */
  server: string
}

/** How a route shows its tools. A reload that changes the route creates a new one. */
export interface Discovery {
  readonly mode: ListingMode
  /** Estimated tokens of the list beyond which `auto` uses search. */
  readonly above: number
  /** Whether a tool stays listed in search mode, by its name for clients. */
  pins(tool: string): boolean
  /** By name for clients; undefined: none. */
  wordsOf(tool: string): ToolWords | undefined
  /** Equal for equal configurations. */
  readonly key: string
}

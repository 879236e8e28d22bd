import { foreignFile } from '../config/foreign-file.ts'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { firstOf, shellWords } from '../text/index.ts'
import { bridged, type ClientServer, oauthOf } from './bridges.ts'
import { tracked } from './unread.ts'

export interface ClientServers {
  servers: ClientServer[]
  skipped: { name: string; reason: string }[]
  /** Parts of the file beside its servers that are not imported. */
  notes: string[]
}

/** Maximum servers, more than any client has. */
const MAX_SERVERS = 1000

/**
 * The MCP servers in a client's or proxy's file: `mcpServers` (Claude Desktop, Claude Code, Cursor, Windsurf, TBXark
 * mcp-proxy and others), `servers` or `mcp.servers` (VS Code), `projects` (Claude Code).
 * @param file name for the fault
 * @returns `fault`: why there are none
 */
export function clientServers(root: Json, file: string): ClientServers | { fault: string } {
  const { value, unread } = tracked(root)
  if (!isObject(value)) return { fault: 'the top level is not an object' }
  const maps = serverMaps(value)
  if (maps.length === 0) {
    const foreign = foreignFile(root, 'mcp', file)
    return {
      fault: foreign ? `it is ${foreign.what}. ${foreign.hint}` : 'it has neither `mcpServers` nor `servers`',
    }
  }
  const proxy = isObject(value.mcpProxy) ? value.mcpProxy : undefined
  const made: ClientServers = { servers: [], skipped: [], notes: [] }
  const entries = maps.flatMap((map) => Object.entries(map))
  if (entries.length === 0)
    return { fault: 'it lists none: name the file of a client that has servers, or a command line in quotes' }
  const read = new Map<string, ClientServer>()
  for (const [name, given] of entries.slice(0, MAX_SERVERS)) {
    const server = isObject(given) ? readServer(name, given, proxy) : 'it is not an object'
    if (typeof server === 'string') made.skipped.push({ name, reason: server })
    else read.set(name, made.servers[made.servers.push(bridged(server)) - 1]!)
  }
  for (const [name] of entries.slice(MAX_SERVERS))
    made.skipped.push({ name, reason: `the file has more than ${MAX_SERVERS} servers` })
  addUnread(made, read, unread())
  return made
}

/** The key of a client's prompts for variables, which become environment variables. */
const PROMPTS = 'inputs'

/** Notes for each part of the file that is not used. */
function addUnread(
  made: ClientServers,
  read: ReadonlyMap<string, ClientServer>,
  paths: readonly string[][],
): void {
  const others: string[] = []
  const skipped = new Set(made.skipped.map(({ name }) => name))
  for (const path of paths) {
    const at = path.findIndex(
      (key, i) => SERVER_MAPS.has(path[i - 1] ?? '') && (read.has(key) || skipped.has(key)),
    )
    const server = read.get(path[at] ?? '')
    if (server) server.notes.push(`its \`${path.slice(at + 1).join('.')}\` is not imported`)
    else if (at < 0 && path[0] !== PROMPTS && path[0] !== '$schema') others.push(`\`${path.join('.')}\``)
  }
  if (others.length === 0) return
  made.notes.push(`not imported: ${firstOf(others).join(', ')}`)
}

const SERVER_MAPS = new Set(['mcpServers', 'servers'])

function serverMaps(value: JsonObject): JsonObject[] {
  const { mcpServers, servers, mcp, projects } = value
  const found = [mcpServers, servers, isObject(mcp) ? mcp.servers : undefined]
  for (const project of isObject(projects) ? Object.values(projects) : [])
    if (isObject(project)) found.push(project.mcpServers)
  return found.filter(isObject)
}

/** Clients' names of the types. */
const TYPES: Readonly<Record<string, ClientServer['type']>> = {
  stdio: 'stdio',
  local: 'stdio',
  sse: 'sse',
  http: 'streamable-http',
  streamablehttp: 'streamable-http',
  remote: 'streamable-http',
}

/** @returns the reason, as text, if it is unsupported */
function readServer(name: string, given: JsonObject, proxy: JsonObject | undefined): ClientServer | string {
  if (given.disabled === true || given.enabled === false) return 'it is disabled'
  // Some nest the connection in an object.
  const { transport } = given
  const one = (key: string) => (isObject(transport) && key in transport ? transport[key] : given[key])
  const url = textOf(one('url')) ?? textOf(one('serverUrl')) ?? textOf(one('httpUrl'))
  const { command, args } = commandOf(
    one('command'),
    url === undefined || one('command') !== undefined ? one('args') : undefined,
  )
  if (url === undefined && command === undefined) return 'it has neither a command nor a URL'
  const said = textOf(one('type')) ?? textOf(one('transportType')) ?? textOf(transport)
  const key = said?.toLowerCase().replace(/[^a-z]/g, '') ?? ''
  const known = Object.hasOwn(TYPES, key) ? TYPES[key] : undefined
  if (said !== undefined && known === undefined) return `the transport ${said.slice(0, 40)} is not supported`
  const isSse = one('httpUrl') === undefined && (proxy !== undefined || /\/sse\/?(?:[?#]|$)/.test(url ?? ''))
  const type = known ?? (url === undefined ? 'stdio' : isSse ? 'sse' : 'streamable-http')
  if (type === 'stdio' ? command === undefined : url === undefined)
    return `it has no ${type === 'stdio' ? 'command' : 'URL'}`
  const shared = {
    name,
    type,
    ...filterOf(given, name),
    tokens: scalars(optionsOf(given).authTokens ?? optionsOf(proxy).authTokens),
    notes: notesOf(one, type),
  }
  const oauth = one('oauth') ?? one('auth')
  const requests = one('requestInit')
  return type === 'stdio'
    ? { ...shared, command: command!, args, env: textsOf(one('env')), headers: {} }
    : {
        ...{ ...shared, args: [], env: {}, url: url! },
        headers: { ...textsOf(isObject(requests) ? requests.headers : {}), ...textsOf(one('headers')) },
        ...((isObject(oauth) || oauth === 'oauth') && { oauth: oauthOf(isObject(oauth) ? oauth : {}) }),
      }
}

/** Some write the whole command as a list, on Windows after `cmd /c`. */
function commandOf(
  command: Json | undefined,
  args: Json | undefined,
): { command: string | undefined; args: string[] } {
  const [first, ...rest] = Array.isArray(command) ? scalars(command) : [textOf(command) ?? '']
  const words = [first ?? '', ...rest, ...(typeof args === 'string' ? wordsOf(args) : scalars(args))]
  const own = /^cmd(?:\.exe)?$/i.test(words[0]!) && /^\/c$/i.test(words[1] ?? '') ? words.slice(2) : words
  return { command: own[0] || undefined, args: own.slice(1) }
}

/** Splits arguments given as one text like a shell; a single argument if only a shell could split it. */
function wordsOf(text: string): string[] {
  const isPlain = /^[A-Za-z]:\\|\s[A-Za-z]:\\/.test(text) || /^[^"'\\|&;<>()`]*$/.test(text)
  return (isPlain ? text.trim().split(/\s+/).filter(Boolean) : shellWords(text)) ?? [text]
}

function optionsOf(given: JsonObject | undefined): JsonObject {
  return isObject(given?.options) ? given.options : {}
}

/** Visible tools: `toolFilter` of TBXark mcp-proxy, `disabledTools`, `includeTools`, `excludeTools` and `tools`. */
function filterOf(given: JsonObject, name: string): Pick<ClientServer, 'allowedTools' | 'blockedTools'> {
  const { toolFilter } = optionsOf(given)
  const { mode, list } = isObject(toolFilter) ? toolFilter : {}
  const filtered = scalars(list).map((tool) => tool.replace(`${name}:`, ''))
  const tools = scalars(given.tools)
  const allowed =
    mode === 'allow' ? filtered : tools.includes('*') ? [] : [...scalars(given.includeTools), ...tools]
  const blocked = [
    ...(mode === 'block' ? filtered : []),
    ...scalars(given.disabledTools),
    ...scalars(given.excludeTools),
  ].filter((tool) => !allowed.includes(tool))
  return {
    ...(allowed.length > 0 && { allowedTools: [...new Set(allowed)] }),
    blockedTools: [...new Set(blocked)],
  }
}

function notesOf(one: (key: string) => Json | undefined, type: ClientServer['type']): string[] {
  const [args, env] = type === 'stdio' ? [one('args'), one('env')] : []
  const headers = type === 'stdio' ? undefined : one('headers')
  const isLost = (value: Json | undefined) =>
    value !== undefined && value !== null && (!isObject(value) || holdsMore(Object.values(value)))
  return [
    typeof args === 'string' && 'its `args` are one text, which was split at spaces: look them over',
    Array.isArray(args) && holdsMore(args) && 'some of its `args` are no text and are left out',
    isLost(env) && !isPairs(env) && 'its `env` or a value of it has an unknown form and is left out',
    isLost(headers) && 'its `headers` or a value of them has an unknown form and is left out',
    one('cwd') !== undefined && 'its `cwd` is not kept: the process starts in the folder of the gateway',
    one('envFile') !== undefined &&
      'its `envFile` is not read: set those variables for the gateway, and name them in `env`',
    one('headersHelper') !== undefined && 'its `headersHelper` is not run: add `credentials` or `headers`',
  ].filter((note) => note !== false)
}

/** Whether a list or object has values other than texts. */
function holdsMore(values: readonly Json[]): boolean {
  return values.some((value) => value === null || typeof value === 'object')
}

/** Whether it is a list of `NAME=value`, Docker's form of an environment. */
function isPairs(value: Json | undefined): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && /^\w+=/.test(one))
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function scalars(value: Json | undefined): string[] {
  if (!Array.isArray(value)) return []
  return value.filter((one) => one !== null && typeof one !== 'object').map(String)
}

function textsOf(value: Json | undefined): Record<string, string> {
  if (isPairs(value))
    return Object.fromEntries(
      value.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)]),
    )
  const entries = isObject(value) ? Object.entries(value) : []
  return Object.fromEntries(
    entries
      .filter(([, one]) => one !== null && typeof one !== 'object')
      .map(([key, one]) => [key, String(one)]),
  )
}

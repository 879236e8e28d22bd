import type { Report } from '../findings/index.ts'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { withoutEndSlashes } from '../text/index.ts'
import type { Server, Tool } from './generated.ts'
import type { Path } from './model.ts'

/** Whether an endpoint is a path below the `baseUrl` of its server, and not a whole URL. */
export function isBelowBase(endpoint: string): boolean {
  return /^\s*\//.test(endpoint)
}

/** The endpoint of a tool behind the `baseUrl` of its server, if it has one; for texts that are only shown or searched. */
export function wholeEndpoint({ endpoint }: Pick<Tool, 'endpoint'>, { baseUrl }: Pick<Server, 'baseUrl'>) {
  return baseUrl !== undefined && isBelowBase(endpoint)
    ? withoutEndSlashes(baseUrl.trim()) + endpoint.trim()
    : endpoint
}

/** A header of a tool's requests, and its place in the configuration. */
export interface DeclaredHeader {
  name: string
  source: string
  path: Path
}

/** Scheme and host of a URL as it is written, or the action that prints them. */
export function writtenOrigin(url: string): string {
  return (/^(?:\{\{[^}]*\}\}|[a-z][a-z\d+.-]*:\/\/[^/?#\\]*)/i.exec(url.trim())?.[0] ?? '').toLowerCase()
}

/** Whether a tool calls the host of its server. A server without `baseUrl` has no other host than that of the tool. */
export function asksOwnHost({ endpoint }: Pick<Tool, 'endpoint'>, { baseUrl }: Pick<Server, 'baseUrl'>) {
  return baseUrl === undefined || isBelowBase(endpoint) || writtenOrigin(endpoint) === writtenOrigin(baseUrl)
}

/**
 * The headers of a tool: those of its server that it does not name itself (in any case), and its own. A tool that calls
 * another host gets none of its server, as they may be secret.
 */
export function headersOf(
  { headers, endpoint }: Pick<Tool, 'headers' | 'endpoint'>,
  path: Path,
  server: Pick<Server, 'headers' | 'baseUrl'> = {},
  serverPath: Path = [],
): DeclaredHeader[] {
  const { headers: shared = {} } = asksOwnHost({ endpoint }, server) ? server : {}
  const own = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  const at = (holder: Path, [name, source]: [string, string]) => ({
    name,
    source,
    path: [...holder, 'headers', name],
  })
  return [
    ...Object.entries(shared)
      .filter(([name]) => !own.has(name.toLowerCase()))
      .map((header) => at(serverPath, header)),
    ...Object.entries(headers).map((header) => at(path, header)),
  ]
}

/** A configuration whose short form was expanded. */
interface Expanded {
  value: JsonObject
  faults: Report[]
  isRepaired: (path: Path) => boolean
  /** Where the file has the value at a path: `prefix` for an added router, `name` for an added name. */
  place: (path: Path) => Path
}

/**
 * Expands the short form: `prefix` at the top becomes a router to the only server, which is named like the file's `name`.
 * @param isFaulty whether the list of servers at a path has a finding already
 */
export function withRouter(given: JsonObject, isFaulty: (path: Path) => boolean = () => false): Expanded {
  const { prefix, ...value } = given
  const isShort = typeof prefix === 'string'
  const fault = isShort ? prefixFault(value, isFaulty) : undefined
  const faults: Report[] = fault ? [fault] : []
  const unnamed = new Set<string>()
  for (const key of KINDS) {
    const list = value[key]
    if (!Array.isArray(list)) continue
    value[key] = list.map((server, i) => {
      if (!isObject(server) || server.name !== undefined) return server
      unnamed.add(JSON.stringify([key, i, 'name']))
      if (!isShort || fault)
        faults.push(nameMissing([key, i], server, prefix === undefined && !value.routers))
      return { ...server, name: value.name! }
    })
  }
  const [server] = serversIn(value)
  if (isShort && isObject(server) && !fault) value.routers = [{ server: server.name!, prefix }]
  const isAdded = (path: Path) => unnamed.has(JSON.stringify(path))
  const place = (path: Path): Path => {
    if (isShort && !fault && path[0] === 'routers' && !(path.length > 2 && path[2] !== 'prefix'))
      return ['prefix']
    return isShort && !fault && isAdded(path) ? ['name'] : path
  }
  return {
    value,
    faults,
    isRepaired: (path) =>
      fault !== undefined ? path[0] === 'routers' && path.length === 1 : !isShort && isAdded(path),
    place,
  }
}

const KINDS = ['servers', 'mcpServers'] as const
const serversIn = (value: JsonObject): Json[] =>
  KINDS.flatMap((key) => (Array.isArray(value[key]) ? (value[key] as Json[]) : []))

function prefixFault(value: JsonObject, isFaulty: (path: Path) => boolean): Report | undefined {
  const count = serversIn(value).length
  const { routers } = value
  const fault = (message: string, hint: string): Report => ({
    code: 'invalid-value',
    path: ['prefix'],
    isKey: true,
    message,
    hint,
  })
  if (Array.isArray(routers) && routers.length > 0)
    return fault('`prefix` stands beside `routers`', 'Give it to a router: `- {server: …, prefix: /…}`')
  if (count === 1 || KINDS.some((key) => isFaulty([key]))) return undefined
  return fault(
    `\`prefix\` is for a file with one server; this one has ${count === 0 ? 'none' : count}`,
    count === 0
      ? 'Add a server under `servers` or `mcpServers`'
      : 'Write a router for each of them: `routers: [{server: …, prefix: /…}, …]`',
  )
}

function nameMissing(path: Path, server: JsonObject, isUnrouted: boolean): Report {
  const message = `${path[0] === 'servers' ? 'a server' : 'an MCP server'} requires \`name\``
  const [first] = Object.keys(server)
  return {
    code: 'missing-key',
    path: first === undefined ? path : [...path, first],
    isKey: first !== undefined,
    message,
    hint: isUnrouted ? 'Add `name` and a router, or `prefix: /…` at the top of the file' : 'Add `name`',
  }
}

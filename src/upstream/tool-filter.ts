import type { McpServer } from '../config/model.ts'
import type { Json, JsonObject } from '../json/index.ts'
import { fold, INVALID_PARAMS, isObject, METHOD_NOT_FOUND, type RpcError } from '../mcp/index.ts'
import type { Pins } from './pins.ts'
import type { Request } from './rpc/link.ts'

const CALL = 'tools/call'
const GET = 'prompts/get'

/** What clients may use of a server's tools and prompts, when that is not simply all of them. */
export interface ToolFilter {
  /** The request as the server is to get it, the same one when its name is its own, or the error that answers it. */
  request(message: Request): Request | RpcError
  /** A tool of a list as clients are to see it: one or none. */
  show(tool: Json): Json[]
  /** The server's own name of a tool that clients see under this one; undefined when they see none. */
  ownName(shown: string): string | undefined
  /** Whether clients may use a prompt. */
  hasPrompt(name: string): boolean
}

/** `allowedTools`, `blockedTools`, `toolOverrides` and `pin: block` of a server; undefined when it has none of them. */
export function createToolFilter(
  { allowedTools, blockedTools, toolOverrides }: McpServer,
  pins?: Pins,
): ToolFilter | undefined {
  const overrides = new Map(Object.entries(toolOverrides))
  if (!allowedTools && !blockedTools.length && !overrides.size && !pins?.blocks) return undefined
  const allowed = allowedTools && new Set(allowedTools)
  // A server may take a name in another case, or with a NUL, for the one that is hidden.
  const blocked = new Set(blockedTools.map(fold))
  const shows = (own: string) => !blocked.has(fold(own)) && (!allowed || allowed.has(own))
  const renamed = new Map(
    [...overrides].flatMap(([own, { name }]) => (name !== undefined && name !== own ? [[name, own]] : [])),
  )
  const hiddenByName = new Set([...renamed.values()].map(fold))

  function ownName(shown: string): string | undefined {
    const own = renamed.get(shown) ?? (hiddenByName.has(fold(shown)) ? undefined : shown)
    return own !== undefined && shows(own) && (!pins || pins.allows('tools', own)) ? own : undefined
  }
  const hasPrompt = (name: string) => !pins || pins.allows('prompts', name)

  function show(tool: Json): Json[] {
    if (!isObject(tool) || typeof tool.name !== 'string') return [tool]
    const own = tool.name
    // A tool whose name another one was given cannot be told from it.
    if (!shows(own) || (renamed.has(own) && !hiddenByName.has(fold(own)))) return []
    const override = overrides.get(own)
    if (!override) return [tool]
    const { annotations, group: _, keywords: __, ...words } = override
    const changed: JsonObject = { ...tool, ...words }
    if (annotations)
      changed.annotations = { ...(isObject(tool.annotations) && tool.annotations), ...annotations }
    return [changed]
  }

  function prompt(message: Request): Request | RpcError {
    const { method, params } = message
    if (typeof params.name === 'string' && hasPrompt(params.name) && method === GET) return message
    if (!pins?.blocks) return message
    return { code: INVALID_PARAMS, message: `Unknown prompt: ${String(params.name).slice(0, 80)}` }
  }

  return {
    ownName,
    show,
    hasPrompt,
    request(message) {
      const { method, params, raw } = message
      if (method !== CALL && fold(method) === CALL)
        return { code: METHOD_NOT_FOUND, message: `Method not found: ${method}. Did you mean ${CALL}?` }
      if (method !== CALL) return fold(method) === GET ? prompt(message) : message
      // A name of another type could be taken for a hidden one by a lenient server.
      if (typeof params.name !== 'string')
        return { code: INVALID_PARAMS, message: 'params.name must be a string' }
      const own = ownName(params.name)
      if (own === undefined)
        return { code: INVALID_PARAMS, message: `Unknown tool: ${params.name.slice(0, 80)}` }
      if (own === params.name) return message
      const renamed = { ...params, name: own }
      return { ...message, params: renamed, raw: { ...raw, params: renamed } }
    },
  }
}

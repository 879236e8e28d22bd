import type { McpServer } from '../config/model.ts'
import { type Json, type JsonObject, stringify } from '../json/index.ts'
import {
  fold,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  type Message,
  type RpcError,
} from '../mcp/index.ts'
import type { Request } from './rpc/link.ts'

const CALL = 'tools/call'

/** What clients see of a server's tools, when that is not simply all of them. */
export interface ToolFilter {
  /** The request as the server is to get it, the same one when its name is its own, or the error that answers it. */
  request(message: Request): Request | RpcError
  /** The text of a response to a request of that method, as the client is to see it. */
  response(method: string, message: Message, text: string): string
  /** The server's own name of a tool that clients see under this one; undefined when they see none. */
  ownName(shown: string): string | undefined
}

/** `allowedTools`, `blockedTools` and `toolOverrides` of a server; undefined when it has none of them. */
export function createToolFilter({
  allowedTools,
  blockedTools,
  toolOverrides,
}: McpServer): ToolFilter | undefined {
  const overrides = new Map(Object.entries(toolOverrides))
  if (!allowedTools && !blockedTools.length && !overrides.size) return undefined
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
    return own !== undefined && shows(own) ? own : undefined
  }

  function show(tool: Json): Json[] {
    if (!isObject(tool) || typeof tool.name !== 'string') return [tool]
    const own = tool.name
    // A tool whose name another one was given cannot be told from it.
    if (!shows(own) || (renamed.has(own) && !hiddenByName.has(fold(own)))) return []
    const override = overrides.get(own)
    if (!override) return [tool]
    const { annotations, ...words } = override
    const changed: JsonObject = { ...tool, ...words }
    if (annotations)
      changed.annotations = { ...(isObject(tool.annotations) && tool.annotations), ...annotations }
    return [changed]
  }

  return {
    ownName,
    request(message) {
      const { method, params, raw } = message
      if (method !== CALL && fold(method) === CALL)
        return { code: METHOD_NOT_FOUND, message: `Method not found: ${method}. Did you mean ${CALL}?` }
      if (method !== CALL) return message
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
    response(method, message, text) {
      if (method !== 'tools/list' || message.kind !== 'response') return text
      const { raw } = message
      // What was judged is what is sent.
      if (!isObject(raw.result) || !Array.isArray(raw.result.tools)) return stringify(raw)
      return stringify({ ...raw, result: { ...raw.result, tools: raw.result.tools.flatMap(show) } })
    },
  }
}

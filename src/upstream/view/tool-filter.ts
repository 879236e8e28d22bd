import type { McpServer, ToolOverride } from '../../config/model.ts'
import type { Json, JsonObject } from '../../json/index.ts'
import { compileShaping, type Shaping } from '../../json/shaping/index.ts'
import { fold, INVALID_PARAMS, isObject, type Request, type RpcError, withParams } from '../../mcp/index.ts'
import { RESULT_SIZE } from '../../tools/schema.ts'
import type { Pins } from './pins.ts'

const CALL = 'tools/call'
const GET = 'prompts/get'

/** Configuration of a filter. */
export type Selection = Pick<McpServer, 'allowedTools' | 'blockedTools' | 'toolOverrides' | 'limits'>

/** Restricts and renames a server's tools and prompts. */
export interface ToolFilter {
  /** The request for the server, identical if not renamed, or the error to answer. */
  request(message: Request): Request | RpcError
  /** A tool as clients should see it; empty if hidden. @param unshaped omit the shaping of results */
  show(tool: Json, unshaped?: boolean): Json[]
  /** The name under which clients see a tool, by the server's own. */
  shownName(own: string): string
  /** The server's own name of a tool that clients see; undefined if hidden. */
  ownName(shown: string): string | undefined
  /** How to shape results of a tool, by the server's own name; undefined: unchanged. */
  shaping(own: string): Shaping | undefined
  /** Whether clients may use a prompt. */
  hasPrompt(name: string): boolean
}

/**
 * A filter from `allowedTools`, `blockedTools`, `toolOverrides`, `limits.resultChars` and `pin: block`; undefined if
 * none is set.
 */
export function createToolFilter(
  { allowedTools, blockedTools, toolOverrides, limits }: Selection,
  pins?: Pins,
): ToolFilter | undefined {
  const overrides = new Map(Object.entries(toolOverrides))
  const shaping = shapings(overrides, limits?.resultChars)
  if (!allowedTools && !blockedTools.length && !overrides.size && !pins?.blocks && !shaping) return undefined
  const allowed = allowedTools && new Set(allowedTools)
  // A server may ignore case or a NUL in a name, so compare folded names.
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

  function show(tool: Json, unshaped = false): Json[] {
    if (!isObject(tool) || typeof tool.name !== 'string') return [tool]
    const own = tool.name
    // Hide a tool whose name another one has taken.
    if (!shows(own) || (renamed.has(own) && !hiddenByName.has(fold(own)))) return []
    const override = overrides.get(own)
    const shaped = unshaped ? undefined : shaping?.(own)
    if (!override && !shaped) return [tool]
    const { annotations, group: _, keywords: __, response: ___, ...words } = override ?? {}
    const changed: JsonObject = { ...tool, ...(shaped && shapedDefinition(tool, shaped)), ...words }
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
    shownName: (own) => overrides.get(own)?.name ?? own,
    shaping: (own) => shaping?.(own),
    hasPrompt,
    request(message) {
      const { method, params } = message
      if (method !== CALL) return method === GET ? prompt(message) : message
      // A lenient server could read a name of another type as a hidden one.
      if (typeof params.name !== 'string')
        return { code: INVALID_PARAMS, message: 'params.name must be a string' }
      const own = ownName(params.name)
      if (own === undefined)
        return { code: INVALID_PARAMS, message: `Unknown tool: ${params.name.slice(0, 80)}` }
      if (own === params.name) return message
      return withParams(message, { ...params, name: own })
    },
  }
}

/** A router's filter over a server's filter. @param outer uses the names that `inner` shows */
export function composed(
  inner: ToolFilter | undefined,
  outer: ToolFilter | undefined,
): ToolFilter | undefined {
  if (!inner || !outer) return inner ?? outer
  const shownName = (own: string) => outer.shownName(inner.shownName(own))
  const outerShaping = (own: string) => outer.shaping(inner.shownName(own))
  return {
    shownName,
    shaping: (own) => outerShaping(own) ?? inner.shaping(own),
    hasPrompt: (name) => outer.hasPrompt(name) && inner.hasPrompt(name),
    ownName(shown) {
      const between = outer.ownName(shown)
      return between === undefined ? undefined : inner.ownName(between)
    },
    show(tool, unshaped = false) {
      const own = isObject(tool) && typeof tool.name === 'string' ? tool.name : ''
      const without = unshaped || outerShaping(own) !== undefined
      return inner.show(tool, without).flatMap((one) => outer.show(one, unshaped))
    },
    request(message) {
      const sent = outer.request(message)
      return 'code' in sent ? sent : inner.request(sent)
    },
  }
}

/** How to shape results of a server's tools, by its own names; undefined: no shaping. */
function shapings(
  overrides: ReadonlyMap<string, ToolOverride>,
  resultChars: number | undefined,
): ((own: string) => Shaping | undefined) | undefined {
  const compiled = ({ response }: ToolOverride) => {
    const maxChars = response?.maxChars ?? resultChars
    const made = response || maxChars !== undefined ? compileShaping({ ...response, maxChars }, Infinity) : []
    // Checks report unreadable masks, and the server is then not served.
    return Array.isArray(made) ? undefined : made
  }
  const others = compiled({})
  const own = new Map([...overrides].map(([name, override]) => [name, compiled(override)]))
  if (!others && [...own.values()].every((one) => !one)) return undefined
  return (name) => own.get(name) ?? others
}

/** Definition changes of a tool with shaped results. */
function shapedDefinition(tool: JsonObject, shaping: Shaping): JsonObject {
  const { outputSchema, _meta } = tool
  const { maxChars } = shaping
  return {
    ...(isObject(outputSchema) && { outputSchema: { type: 'object', ...shaping.schemaOf(outputSchema) } }),
    ...(maxChars !== Infinity && { _meta: { ...(isObject(_meta) && _meta), [RESULT_SIZE]: maxChars } }),
  }
}

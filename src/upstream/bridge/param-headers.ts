import type { Json, JsonObject } from '../../json/index.ts'
import { declaredParamHeaders, isObject, type ParamHeader, paramHeaderFault } from '../../mcp/index.ts'

/** Which arguments of which tools are mirrored into headers, learnt from a server's lists of tools. */
export interface ParamHeaderTable {
  /** Reads a result of `tools/list`. */
  learn(result: Json | undefined): void
  forget(): void
  /** Of a tool; `list` fetches the whole list when nothing is known yet. */
  of(
    tool: string,
    list: (cursor: string | undefined) => Promise<Json | undefined>,
  ): readonly ParamHeader[] | Promise<readonly ParamHeader[]>
}

/** Tools of one server that are remembered. */
const MAX_TOOLS = 100_000
/** Pages of a list that are read at the most. */
const MAX_PAGES = 100

/**
 * A result of `tools/list` without the tools that a client over streamable HTTP must leave out (2026-07-28,
 * Custom Headers from Tool Parameters); `onFault` hears of each.
 */
export function withoutFaulty(result: Json, onFault: (tool: string, fault: string) => void): Json {
  if (!isObject(result) || !Array.isArray(result.tools)) return result
  const tools = result.tools.filter((tool) => {
    const fault = isObject(tool) ? paramHeaderFault(tool.inputSchema) : undefined
    if (fault !== undefined) onFault(String((tool as JsonObject).name), fault)
    return fault === undefined
  })
  return tools.length === result.tools.length ? result : { ...result, tools }
}

export function createParamHeaders(): ParamHeaderTable {
  const known = new Map<string, readonly ParamHeader[]>()
  let complete: Promise<void> | undefined

  function learn(result: Json | undefined): void {
    if (!isObject(result) || !Array.isArray(result.tools)) return
    for (const tool of result.tools)
      if (isObject(tool) && typeof tool.name === 'string' && (known.size < MAX_TOOLS || known.has(tool.name)))
        // What cannot be declared is not sent either.
        known.set(
          tool.name,
          paramHeaderFault(tool.inputSchema) === undefined ? declaredParamHeaders(tool.inputSchema) : [],
        )
  }

  async function fetchAll(list: (cursor: string | undefined) => Promise<Json | undefined>): Promise<void> {
    let cursor: string | undefined
    for (let page = 0; page < MAX_PAGES; page++) {
      const result = await list(cursor)
      learn(result)
      const next = isObject(result) ? (result as JsonObject).nextCursor : undefined
      if (typeof next !== 'string') return
      cursor = next
    }
  }

  return {
    learn,
    forget() {
      known.clear()
      complete = undefined
    },
    of(tool, list) {
      const found = known.get(tool)
      if (found) return found
      complete ??= fetchAll(list)
      return complete.then(() => known.get(tool) ?? [])
    },
  }
}

import { type Member, SEPARATOR } from '../config/index.ts'
import type { Json, JsonObject } from '../json/index.ts'
import type { Shaping } from '../shaping/index.ts'
import { unknownText } from '../tools/argument-text.ts'
import type {
  CompiledTool,
  PromptDefinition,
  Prompts,
  ToolDefinition,
  ToolResult,
  Tools,
} from '../tools/index.ts'
import { shapedResponse } from '../upstream/shaped-result.ts'
import { createToolFilter, type Selection } from '../upstream/tool-filter.ts'
import type { PreparedServer } from './types.ts'

/** A server behind a prefix, and what the router says of it. */
export interface Chosen {
  server: PreparedServer
  member: Member
}

/** How tools and prompts are named. */
export type Naming = 'prefixed' | 'plain'

/** What a router shows of a server; undefined: all that the server shows. */
export function selectionOf({ server, member }: Chosen): Selection | undefined {
  const { allowedTools, blockedTools, toolOverrides } = member
  const overrides = Object.entries(toolOverrides)
  if (!allowedTools && !blockedTools.length && !overrides.length) return undefined
  const { resultChars: maxChars } = server
  // A mask of the router is in place of the server's, and keeps to its limit.
  const limited = overrides.map(([name, { response, ...words }]) => [
    name,
    response ? { ...words, response: { ...(maxChars !== undefined && { maxChars }), ...response } } : words,
  ])
  const given = { blockedTools, toolOverrides: Object.fromEntries(limited) }
  return allowedTools ? { ...given, allowedTools } : given
}

/** The HTTP tools and prompts of several servers as those of one; of two with the same name the first counts. */
export function combine(chosen: readonly Chosen[], naming: Naming): { tools: Tools; prompts: Prompts } {
  const tools = new Map<string, Shown<ToolDefinition, CompiledTool>>()
  const prompts = new Map<string, Shown<PromptDefinition, Prompts['get']>>()
  for (const one of chosen) {
    const { http, name: server } = one.server
    if (!http) continue
    const nameOf = (own: string) => (naming === 'plain' ? own : `${server}${SEPARATOR}${own}`)
    const add = <D extends { name: string }, T>(
      to: Map<string, Shown<D, T>>,
      { definition, by }: Shown<D, T>,
    ) => {
      const name = nameOf(definition.name)
      if (!to.has(name)) to.set(name, { definition: { ...definition, name }, by })
    }
    for (const tool of selected(one, http.tools)) add(tools, tool)
    for (const definition of http.prompts.list)
      add(prompts, { definition, by: (_, args) => http.prompts.get(definition.name, args) })
  }
  const listed = <D>(all: Map<string, Shown<D, unknown>>) =>
    [...all.values()].map(({ definition }) => definition)
  return {
    tools: { list: listed(tools), get: (name) => tools.get(name)?.by },
    prompts: {
      list: listed(prompts),
      async get(name, args) {
        return (
          prompts.get(name)?.by?.(name, args) ?? { error: unknownText('prompt', name, [...prompts.keys()]) }
        )
      },
    },
  }
}

/** Something that clients see, and what answers; absent where nothing is served. */
interface Shown<D, T> {
  definition: D
  by: T | undefined
}

/** The tools of a server that a router shows, as it shows them. */
function selected(chosen: Chosen, { list, get }: Tools): Shown<ToolDefinition, CompiledTool>[] {
  const selection = selectionOf(chosen)
  const filter = selection && createToolFilter(selection)
  if (!filter) return list.map((definition) => ({ definition, by: get(definition.name) }))
  return list.flatMap((one) => {
    const shaping = filter.shaping(one.name)
    const tool = get(one.name)
    const by = tool && shaping ? shaped(tool, shaping) : tool
    return filter
      .show(one as object as Json)
      .map((shown) => ({ definition: shown as object as ToolDefinition, by }))
  })
}

/** A tool whose results are shaped once more. */
function shaped(tool: CompiledTool, shaping: Shaping): CompiledTool {
  return {
    definition: tool.definition,
    ...(tool.operations && { operations: tool.operations }),
    request: (args, call) => tool.request(args, call),
    respond: (args, call, answer) => tool.respond(args, call, answer),
    async call(args, call) {
      const outcome = await tool.call(args, call)
      const { result } = await shapedResponse({ result: outcome.result as object as JsonObject }, shaping)
      return { ...outcome, result: result as object as ToolResult }
    },
  }
}

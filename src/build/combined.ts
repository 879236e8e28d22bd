import { SEPARATOR } from '../config/index.ts'
import type { Json, JsonObject } from '../json/index.ts'
import type { Shaping } from '../json/shaping/index.ts'
import { lazy } from '../text/index.ts'
import { unknownText } from '../tools/argument-text.ts'
import type {
  CallContext,
  CallOutcome,
  CompiledTool,
  PromptDefinition,
  Prompts,
  ToolDefinition,
  ToolResult,
  Tools,
} from '../tools/index.ts'
import { shapedResponse } from '../upstream/view/shaped-result.ts'
import { createToolFilter, type Selection } from '../upstream/view/tool-filter.ts'
import type { Chosen } from './types.ts'

/** How tools and prompts are named. */
type Naming = 'prefixed' | 'plain'

/** The part of a server that a router shows; undefined: all of it. */
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
  const tools = new Map<string, ShownTool>()
  const prompts = new Map<string, Shown<PromptDefinition, Prompts['get']>>()
  for (const one of chosen) {
    const { http, name: server } = one.server
    if (!http) continue
    const nameOf = (own: string) => (naming === 'plain' ? own : `${server}${SEPARATOR}${own}`)
    const add = <S extends { definition: { name: string } }>(to: Map<string, S>, one: S) => {
      const name = nameOf(one.definition.name)
      if (!to.has(name)) to.set(name, { ...one, definition: { ...one.definition, name } })
    }
    for (const tool of selected(one, http.tools)) add(tools, tool)
    for (const definition of http.prompts.list)
      add(prompts, { definition, by: (_, args) => http.prompts.get(definition.name, args) })
  }
  const listed = <D>(all: Map<string, { definition: D }>) =>
    [...all.values()].map(({ definition }) => definition)
  return {
    tools: {
      names: [...tools.keys()],
      slow: [...tools].flatMap(([name, { isSlow }]) => (isSlow ? [name] : [])),
      list: () => listed(tools),
      get: (name) => tools.get(name)?.by(),
    },
    prompts: {
      list: listed(prompts),
      async get(name, args) {
        return (
          (await prompts.get(name)?.by(name, args)) ?? {
            error: unknownText('prompt', name, [...prompts.keys()]),
          }
        )
      },
    },
  }
}

interface Shown<D, By> {
  definition: D
  by: By
}

/** A tool that clients see. `by`: what answers, compiled at its first use; undefined where nothing is served. */
type ShownTool = Shown<ToolDefinition, () => CompiledTool | undefined> & { isSlow: boolean }

/** The tools of a server that a router shows, as it shows them. */
function selected(chosen: Chosen, { list, get, slow }: Tools): ShownTool[] {
  const selection = selectionOf(chosen)
  const filter = selection && createToolFilter(selection)
  const isSlow = new Set(slow)
  return list().flatMap((definition) => {
    const { name } = definition
    const own = { by: () => get(name), isSlow: isSlow.has(name) }
    if (!filter) return [{ definition, ...own }]
    const shaping = filter.shaping(name)
    const by = shaping ? lazy(() => shapedTool(get(name), shaping)) : own.by
    return filter
      .show(definition as object as Json)
      .map((shown) => ({ definition: shown as object as ToolDefinition, ...own, by }))
  })
}

function shapedTool(tool: CompiledTool | undefined, shaping: Shaping): CompiledTool | undefined {
  return tool && shaped(tool, shaping)
}

/** A tool whose results are shaped once more. */
function shaped(tool: CompiledTool, shaping: Shaping): CompiledTool {
  const { definition, operations } = tool
  const again = (outcome: CallOutcome, { keep }: CallContext) => shapedOutcome(outcome, shaping, keep)
  return {
    definition,
    ...(operations && {
      operations: {
        ...operations,
        async poll(operation, call) {
          const polled = await operations.poll(operation, call)
          return 'running' in polled ? polled : again(polled, call)
        },
      },
    }),
    request: (args, call) => tool.request(args, call),
    respond: async (args, call, answer) => again(await tool.respond(args, call, answer), call),
    call: async (args, call) => again(await tool.call(args, call), call),
  }
}

async function shapedOutcome(
  outcome: CallOutcome,
  shaping: Shaping,
  keep: CallContext['keep'],
): Promise<CallOutcome> {
  const before = outcome.result
  const response = await shapedResponse({ result: before as object as JsonObject }, shaping, keep)
  const result = response.result as object as ToolResult
  const savedChars = (outcome.savedChars ?? 0) + Math.max(0, charactersOf(before) - charactersOf(result))
  return { ...outcome, result, ...(savedChars > 0 && { savedChars }) }
}

function charactersOf({ content }: ToolResult): number {
  return content.reduce((sum, one) => sum + (one.type === 'text' ? one.text.length : 0), 0)
}

import type { Configuration, Server } from '../config/model.ts'
import { type JsonObject, stringify } from '../json/index.ts'
import type { Answer, Method, Service } from '../mcp/index.ts'
import { INVALID_PARAMS } from '../mcp/jsonrpc.ts'
import { declaredParamHeaders } from '../mcp/mirror.ts'
import type { Logger } from '../telemetry/log.ts'
import type { CallRecord } from '../telemetry/metrics.ts'
import type { Outcome } from '../telemetry/outcome.ts'
import { closest, giveWay, nearest, shorten } from '../text/index.ts'
import type { Prompts, Tools } from '../tools/index.ts'
import type { Failure, Outcome as ToolOutcome } from '../tools/types.ts'
import type { Lists } from './types.ts'

export interface ServiceParts {
  configuration: Configuration
  server: Server
  prefix: string
  tools: Tools
  prompts: Prompts
  lists: Lists
  log: Logger
  onCall?: (call: CallRecord) => void
  /** Whether callers are told apart, so that a list may not be kept for others. */
  authenticated: boolean
  version: string
}

/** What MCP clients see of one server's HTTP tools and prompts. */
export function createService(parts: ServiceParts): Service {
  const { server, tools, prompts, lists, authenticated, version } = parts
  const methods = new Map<string, Method>()
  methods.set('tools/list', list('tools', lists.tools))
  methods.set('tools/call', callTool(parts))
  if (prompts.list.length) {
    methods.set('prompts/list', list('prompts', lists.prompts))
    methods.set('prompts/get', getPrompt(prompts))
  }
  const paramHeaders = new Map(
    tools.list.map(({ name, inputSchema }) => [name, declaredParamHeaders(inputSchema)] as const),
  )
  return {
    info: { name: server.name, version },
    ...(server.description && { instructions: server.description }),
    capabilities: {
      tools: { listChanged: true },
      ...(prompts.list.length && { prompts: { listChanged: true } }),
    },
    methods,
    paramHeaders: (tool) => paramHeaders.get(tool) ?? [],
    cacheScope: authenticated ? 'private' : 'public',
  }
}

function list(key: keyof Lists, text: string): Method {
  const answer: Answer = { result: `{"${key}":${text}}` }
  return (params) =>
    params.cursor === undefined
      ? answer
      : invalid('Invalid cursor: the list is one page, ask without a cursor')
}

function callTool({ configuration, prefix, tools, log, onCall }: ServiceParts): Method {
  const { tenant } = configuration
  const names = tools.list.map((tool) => tool.name)
  return async (params, call) => {
    const { name } = params
    if (typeof name !== 'string') return invalid('params.name must be a string')
    const tool = tools.get(name)
    if (!tool) return invalid(unknown('tool', name, names))
    const started = performance.now()
    const outcome = await tool.call(params.arguments ?? {}, {
      headers: call.headers as Readonly<Record<string, string>>,
      query: call.query,
      body: call.message,
      signal: call.signal,
      hold: call.hold,
    })
    const { result, upstreamStatus, failure, detail } = outcome
    const ms = performance.now() - started
    onCall?.({ tenant, prefix, method: 'tools/call', tool: name, ms, outcome: howEnded(outcome) })
    const line = {
      tenant,
      prefix,
      tool: name,
      revision: call.revision,
      ...(upstreamStatus !== undefined && { upstreamStatus }),
      ms: Math.round(ms * 10) / 10,
      requestId: call.requestId,
      ...(failure && { failure }),
      ...(detail && { detail }),
    }
    if (failure) log.warn(line, 'tool call failed')
    else log.info(line, 'tool call')
    await giveWay()
    return { result: stringify(result) }
  }
}

/** How a call of an HTTP tool that failed counts. */
const OUTCOMES: Record<Failure, Outcome> = {
  arguments: 'refused',
  template: 'refused',
  request: 'refused',
  'too-large': 'refused',
  'no-room': 'refused',
  timeout: 'timeout',
  cancelled: 'cancelled',
  status: 'tool_error',
  connect: 'failed',
  tls: 'failed',
  network: 'failed',
  redirect: 'failed',
  encoding: 'failed',
  'output-schema': 'failed',
  internal: 'failed',
}

function howEnded({ failure, upstreamStatus }: ToolOutcome): Outcome {
  if (!failure) return 'ok'
  const outcome = OUTCOMES[failure]
  // A limit may also be reached by an answer.
  return outcome === 'refused' && upstreamStatus !== undefined ? 'failed' : outcome
}

function getPrompt(prompts: Prompts): Method {
  const names = prompts.list.map((prompt) => prompt.name)
  return async (params) => {
    const { name, arguments: given = {} } = params
    if (typeof name !== 'string') return invalid('params.name must be a string')
    if (!names.includes(name)) return invalid(unknown('prompt', name, names))
    const { result, error } = await prompts.get(name, given as Record<string, string>)
    return error === undefined ? { result: stringify(result) } : invalid(error)
  }
}

function invalid(message: string, data?: JsonObject): Answer {
  return { error: { code: INVALID_PARAMS, message, ...(data && { data }) } }
}

function unknown(kind: string, name: string, names: readonly string[]): string {
  const shown = shorten(name, 80)
  const near = nearest(name, names)
  if (near) return `Unknown ${kind}: ${shown}. Did you mean ${near}?`
  // Too far off to be what was meant, but a name to go on with.
  const some = closest(name, names)
  return `Unknown ${kind}: ${shown}${some === undefined ? '' : `. The nearest name is ${some}.`}`
}

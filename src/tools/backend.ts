import type { Implementation, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js'
import type { Server } from '../config/model.ts'
import { isObject, type JsonObject, plain, stringify } from '../json/index.ts'
import type {
  Adopted,
  Backend,
  BackendSession,
  Opened,
  ParamHeader,
  StatelessServer,
} from '../mcp/backend.ts'
import type { Call, CallEnd } from '../mcp/call.ts'
import { declaredParamHeaders } from '../mcp/mirror.ts'
import {
  errorText,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isSessionRevision,
  listKinds,
  METHOD_NOT_FOUND,
  negotiate,
  notificationText,
  REVISIONS,
  type Request,
  type RpcError,
  resultText,
  SERVER_INFO,
  SUBSCRIPTION_ID,
} from '../mcp/protocol.ts'
import type { Session } from '../mcp/session.ts'
import { giveWay, withoutHidden } from '../text/index.ts'
import { unknownText } from './argument-text.ts'
import { outcomeOf } from './failure.ts'
import type { Prompts, Tools } from './types.ts'

export interface BackendParts {
  server: Server
  tools: Tools
  prompts: Prompts
  lists: Lists
  /** Whether callers are told apart, so that a list may not be kept for others. */
  authenticated: boolean
  version: string
}

/** JSON text of what `tools/list` and `prompts/list` show: written once, and compared at a reload. */
export interface Lists {
  tools: string
  prompts: string
}

/** What MCP clients see of one server's HTTP tools and prompts. It never changes: a reload makes another one. */
export interface Service {
  /** `serverInfo`. */
  readonly info: Implementation
  readonly instructions?: string
  readonly capabilities: ServerCapabilities
  /** What answers each method but those of the protocol itself. */
  readonly methods: ReadonlyMap<string, Method>
  /** The arguments of a tool that a stateless client mirrors into `Mcp-Param-*` headers. */
  paramHeaders(tool: string): readonly ParamHeader[]
  /** Who may keep the lists: `private` when callers are told apart. */
  readonly cacheScope: 'public' | 'private'
}

/** Answers one request; a rejection is a bug and becomes an internal error. */
export type Method = (params: JsonObject, call: Call) => Answer | Promise<Answer>

/** `result` is the JSON text of an object that has neither `resultType` nor `_meta`. */
export type Answer = { result: string; end?: CallEnd } | { error: RpcError }

/** Makes the backend of one server's HTTP tools and prompts. */
export function createToolsBackend(parts: BackendParts): ToolsBackend {
  const { server, tools, prompts, lists, authenticated, version } = parts
  const methods = new Map<string, Method>()
  methods.set('tools/list', list('tools', lists.tools))
  methods.set('tools/call', callTool(tools))
  // Also without prompts: a reload may have removed the last one, of which a client still asks.
  methods.set('prompts/list', list('prompts', lists.prompts))
  methods.set('prompts/get', getPrompt(prompts))
  const paramHeaders = new Map(
    tools.list.map(({ name, inputSchema }) => [name, declaredParamHeaders(inputSchema)] as const),
  )
  return new ToolsBackend({
    info: { name: server.name, version },
    ...(server.description && { instructions: withoutHidden(server.description) }),
    capabilities: {
      tools: { listChanged: true },
      ...(prompts.list.length && { prompts: { listChanged: true } }),
    },
    methods,
    paramHeaders: (tool) => paramHeaders.get(tool) ?? [],
    cacheScope: authenticated ? 'private' : 'public',
  })
}

/** Milliseconds a client may keep a list; `list_changed` says sooner that it changed. */
const TTL = 60_000
const LISTS = ['tools', 'prompts'] as const
const CACHEABLE = new Set(['server/discover', 'tools/list', 'prompts/list'])

/** HTTP tools have nothing to remember of a session, so that one object serves every session and every request. */
export class ToolsBackend implements Backend, BackendSession, StatelessServer {
  readonly backend = this
  readonly needsUniqueIds = false
  readonly timeout = undefined
  /** The beginning of every result of 2026-07-28. */
  private readonly frame: string

  constructor(private readonly service: Service) {
    this.frame = `{"resultType":"complete","_meta":{"${SERVER_INFO}":${stringify(service.info as JsonObject)}}`
  }

  open(): this {
    return this
  }
  resume(): this {
    return this
  }
  adopt({ served }: Session): Adopted {
    return served instanceof ToolsBackend ? this : undefined
  }
  alone(): this {
    return this
  }
  ticket(): { kind: 'session' } {
    return { kind: 'session' }
  }
  busy(): boolean {
    return false
  }
  notify(): void {}
  close(): void {}

  versions(): readonly string[] {
    return REVISIONS
  }

  paramHeaders(tool: string): readonly ParamHeader[] {
    return this.service.paramHeaders(tool)
  }

  initialize(session: Session, { id, params }: Request): Opened {
    if (typeof params.protocolVersion !== 'string') {
      const message = 'params.protocolVersion must be a string'
      return { ok: false, text: errorText(id, { code: INVALID_PARAMS, message }) }
    }
    const protocolVersion = negotiate(params.protocolVersion)
    session.revision = protocolVersion
    const { info: serverInfo, capabilities, instructions } = this.service
    session.lists = new Set(LISTS.filter((list) => capabilities[list]?.listChanged))
    const result = { protocolVersion, capabilities, serverInfo, ...(instructions && { instructions }) }
    return { ok: true, text: resultText(id, stringify(result as JsonObject)) }
  }

  request(call: Call): Promise<unknown> | undefined {
    const { method, params } = call.request
    const answers = this.service.methods.get(method)
    const answer = answers?.(params, call)
    if (answer instanceof Promise) return answer.then((late) => this.answer(call, late))
    if (answer) this.answer(call, answer)
    else this.own(call, method)
    return undefined
  }

  private answer(call: Call, answer: Answer): void {
    if ('error' in answer) call.error(answer.error)
    else call.result(this.shown(call, answer.result), answer.end)
  }

  /** Methods of the protocol itself. */
  private own(call: Call, method: string): void {
    const inSession = isSessionRevision(call.revision)
    if (inSession && method === 'ping') call.result('{}')
    else if (inSession && method === 'initialize')
      call.error({ code: INVALID_REQUEST, message: 'The session is initialized already' })
    else if (!inSession && method === 'server/discover') this.discover(call)
    else if (!inSession && method === 'subscriptions/listen') this.listen(call)
    else call.error({ code: METHOD_NOT_FOUND, message: `Method not found: ${method}` })
  }

  private discover(call: Call): void {
    const { capabilities, instructions } = this.service
    const body = { supportedVersions: [...REVISIONS], capabilities, ...(instructions && { instructions }) }
    call.result(this.shown(call, stringify(body as JsonObject)))
  }

  /** Acknowledges a subscription, whose notifications the front sends (2026-07-28, Subscriptions). */
  private listen(call: Call): void {
    const { id, params } = call.request
    const wanted = params.notifications
    if (!isObject(wanted)) {
      const message = 'params.notifications must be an object such as {"toolsListChanged": true}'
      call.error({ code: INVALID_PARAMS, message })
      return
    }
    const { tools, prompts } = this.service.capabilities
    const notifications: JsonObject = {
      ...(tools && wanted.toolsListChanged === true && { toolsListChanged: true }),
      ...(prompts && wanted.promptsListChanged === true && { promptsListChanged: true }),
    }
    const method = 'notifications/subscriptions/acknowledged'
    call.message(notificationText(method, { _meta: { [SUBSCRIPTION_ID]: id }, notifications }))
    call.subscribed(listKinds(notifications))
  }

  /** A result with what 2026-07-28 wants on every one, without parsing it. */
  private shown({ revision, request: { method } }: Call, result: string): string {
    if (isSessionRevision(revision)) return result
    const { cacheScope } = this.service
    const cache = CACHEABLE.has(method) ? `,"ttlMs":${TTL},"cacheScope":"${cacheScope}"` : ''
    return `${this.frame}${cache}${result === '{}' ? '}' : `,${result.slice(1)}`}`
  }
}

function list(key: keyof Lists, text: string): Method {
  const answer: Answer = { result: `{"${key}":${text}}` }
  return (params) =>
    params.cursor === undefined
      ? answer
      : invalid('Invalid cursor: the list is one page, ask without a cursor')
}

function callTool(tools: Tools): Method {
  const names = tools.list.map((tool) => tool.name)
  return async (params, call) => {
    const { name } = params
    if (typeof name !== 'string') return invalid('params.name must be a string')
    const tool = tools.get(name)
    // With rules a name that is near would tell of a tool that the caller may not use.
    if (!tool) return invalid(unknownText('tool', name, call.exchange.permissions ? [] : names))
    const { headers, query, stay, identity } = call.exchange
    const { result, ...end } = await tool.call(plain(params.arguments ?? {}), {
      headers,
      query,
      identity,
      body: call.request.raw,
      signal: call,
      span: call.request.span,
      hold: stay.hold,
    })
    await giveWay()
    const outcome = outcomeOf(end.failure, end.upstreamStatus)
    return { result: stringify(result), end: { outcome, tool: name, ...end } }
  }
}

function getPrompt(prompts: Prompts): Method {
  const names = new Set(prompts.list.map(({ name }) => name))
  return async (params, { exchange }) => {
    const { name, arguments: given = {} } = params
    if (typeof name !== 'string') return invalid('params.name must be a string')
    if (exchange.permissions && !names.has(name)) return invalid(unknownText('prompt', name, []))
    const { result, error } = await prompts.get(name, plain(given))
    return error === undefined ? { result: stringify(result) } : invalid(error)
  }
}

function invalid(message: string): Answer {
  return { error: { code: INVALID_PARAMS, message } }
}

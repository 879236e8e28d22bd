import type { Implementation, ServerCapabilities } from '@modelcontextprotocol/sdk/types.js'
import type { Seal } from '../cluster/seal.ts'
import type { Server } from '../config/model.ts'
import { isObject, type Json, type JsonObject, parseVerbatim, plain, stringify } from '../json/index.ts'
import { type Answer, errorAnswer, resultAnswer } from '../mcp/answer.ts'
import type {
  Backend,
  BackendSession,
  ClientSession,
  Migrated,
  Opened,
  StatelessServer,
} from '../mcp/backend.ts'
import type { Call } from '../mcp/call.ts'
import { missingCapability } from '../mcp/client-capabilities.ts'
import { declaredParamHeaders, type ParamHeader } from '../mcp/middleware/mirror.ts'
import { keeperOf } from '../mcp/middleware/read-result.ts'
import {
  CACHEABLE,
  errorText,
  has,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isSessionRevision,
  LISTEN,
  listKinds,
  METHOD_NOT_FOUND,
  metaOf,
  negotiate,
  notificationText,
  progressTokenOf,
  type Request,
  type RpcError,
  resourceNotFound,
  resultText,
  SERVER_INFO,
  SUBSCRIPTION_ID,
  SUPPORTED_VERSIONS,
} from '../mcp/protocol.ts'
import { visibleText } from '../mcp/visible.ts'
import { cut, lazy, withoutHidden } from '../text/index.ts'
import { unknownText } from './argument-text.ts'
import { list, promptResultOf, skillMethods, usesSkills } from './skill-methods.ts'
import { SKILLS_EXTENSION, type Skills } from './skills/index.ts'
import {
  answerOf,
  asksTask,
  declaresTasks,
  RESULT_TOOL,
  TASKS_CAPABILITY,
  TASKS_EXTENSION,
  Tasks,
} from './tasks.ts'
import type { CallContext, Method, MethodAnswer, Prompts, Tools } from './types.ts'

interface BackendParts {
  server: Pick<Server, 'name' | 'description'>
  tools: Tools
  prompts: Prompts
  /** Default: none. */
  skills?: Skills
  /** Seals task ids; absent: tools with `async` offer no tasks. */
  seal?: Seal | undefined
  /** Identifies the server among all that are served. */
  owner?: string
  lists: Lists
  /** Whether cut-off results can be read as resources. */
  keepsResults?: boolean
  /** Whether callers are authenticated, so that lists must not be shared by caches. */
  authenticated: boolean
  version: string
}

/** JSON text of the lists, serialized once and compared at reloads. */
export interface Lists {
  tools: string
  /** Includes one for each skill. */
  prompts: string
  /** Absent: none. */
  skills?: string
}

/** One server's HTTP tools and prompts for MCP clients. Immutable: a reload creates a new one. */
export interface Service {
  /** `serverInfo`. */
  readonly info: Implementation
  readonly instructions?: string
  readonly capabilities: ServerCapabilities
  /** Whether calls may become tasks, declared differently in each revision. */
  readonly hasTasks?: boolean
  readonly lists: Lists
  /** URIs of its resources; absent: none. */
  readonly resources?: ReadonlySet<unknown>
  /** Handlers of all methods except those of the protocol itself. */
  readonly methods: ReadonlyMap<string, Method>
  /** Arguments of a tool that a stateless client mirrors into `Mcp-Param-*` headers. */
  paramHeaders(tool: string): readonly ParamHeader[]
  /** Cache scope of lists: `private` if callers are authenticated. */
  readonly cacheScope: 'public' | 'private'
}

/** Creates the backend of one server's HTTP tools and prompts. */
export function createToolsBackend(parts: BackendParts): ToolsBackend {
  return new ToolsBackend(() => serviceOf(parts))
}

function serviceOf(parts: BackendParts): Service {
  const {
    server,
    tools,
    prompts,
    skills = [],
    lists,
    keepsResults,
    authenticated,
    version,
    seal,
    owner = server.name,
  } = parts
  const methods = new Map<string, Method>()
  methods.set('tools/list', list('tools', lists.tools))
  const isSlow = tools.slow.length > 0
  const tasks = isSlow && seal && new Tasks({ tools, seal, owner, contextOf })
  methods.set('tools/call', callTool(tools, tasks || undefined))
  for (const [name, method] of tasks ? tasks.methods : []) methods.set(name, method)
  // Registered even without prompts, because a client may still list them after a reload removed the last one.
  methods.set('prompts/list', listPrompts(prompts, lists.prompts, skills))
  methods.set('prompts/get', getPrompt(prompts, skills))
  // Kept results appear in no list.
  if (keepsResults) {
    methods.set('resources/list', list('resources', '[]'))
    methods.set('resources/templates/list', list('resourceTemplates', '[]'))
    methods.set('resources/read', async ({ uri }, { revision }) => ({
      error: resourceNotFound(cut(String(uri), 200), revision),
    }))
  }
  for (const [name, method] of skillMethods(skills, lists.skills)) methods.set(name, method)
  const paramHeaders = lazy(
    () =>
      new Map(
        tools.list().map(({ name, inputSchema }) => [name, declaredParamHeaders(inputSchema)] as const),
      ),
  )
  return {
    info: { name: server.name, version },
    ...(server.description && { instructions: withoutHidden(server.description) }),
    capabilities: {
      tools: { listChanged: true },
      ...((prompts.list.length || skills.length) && { prompts: { listChanged: true } }),
      ...(keepsResults && { resources: {} }),
      ...(skills.length && {
        resources: { listChanged: true },
        extensions: { [SKILLS_EXTENSION]: {} },
      }),
    },
    hasTasks: tasks !== false && tasks !== undefined,
    lists,
    ...(skills.length && {
      resources: new Set(skills.flatMap(({ uri, files }) => [uri, ...files.map((file) => file.uri)])),
    }),
    methods,
    paramHeaders: (tool) => paramHeaders().get(tool) ?? [],
    cacheScope: authenticated ? 'private' : 'public',
  }
}

/** Milliseconds for which clients may cache a list; `list_changed` announces earlier changes. */
const TTL = 3_600_000
const LISTS = ['tools', 'prompts', 'resources'] as const

/** Lists do not use the call. */
const NO_CALL = undefined as unknown as Call

/** Data prepared at the first request. */
interface Opening {
  service: Service
  /** `_meta` of most results of 2026-07-28. */
  ownMeta: string
  /** Parsed items of lists, by their text. */
  listed: Map<string, readonly JsonObject[]>
  known: Map<string, ReadonlySet<unknown>>
}

function openingOf(service: Service): Opening {
  const ownMeta = stringify({ [SERVER_INFO]: service.info as JsonObject })
  return { service, ownMeta, listed: new Map(), known: new Map() }
}

/** HTTP tools are stateless, so one object serves every session and request. */
export class ToolsBackend implements Backend, BackendSession, StatelessServer {
  readonly backend = this
  readonly listsAlike = true
  readonly needsUniqueIds = false
  readonly timeout = undefined
  private made: Opening | undefined

  /** @param make called at the first request, as most servers are idle for long */
  constructor(private readonly make: () => Service) {}

  private get opening(): Opening {
    this.made ??= openingOf(this.make())
    return this.made
  }

  private get service(): Service {
    return this.opening.service
  }

  open(): this {
    return this
  }
  resume(): this {
    return this
  }
  async migrate(): Promise<Migrated> {
    return this
  }
  async stateless(): Promise<this> {
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

  async paramHeaders(tool: string): Promise<readonly ParamHeader[]> {
    return this.service.paramHeaders(tool)
  }

  /** Cache lifetime and scope of an answer. */
  hints(method: string): JsonObject {
    const { cacheScope, resources } = this.service
    // The list of prompts depends on whether the client supports skills.
    return { ttlMs: TTL, cacheScope: method === 'prompts/list' && resources ? 'private' : cacheScope }
  }

  /** Its items of a list; empty if it has no such list. @param params of the client's request */
  async items(method: string, key: string, params: JsonObject): Promise<readonly JsonObject[]> {
    const { cursor: _, ...first } = params
    const answer = await this.service.methods.get(method)?.(first, NO_CALL)
    return answer && 'result' in answer ? this.parsed(answer.result, key) : []
  }

  has(kind: 'tools' | 'prompts', name: unknown): boolean {
    return this.names(kind, `{"${kind}":${this.service.lists[kind]}}`, kind, 'name').has(name)
  }

  /** Whether it has the tool, prompt or resource of a request. */
  takes({ method, params }: Pick<Request, 'method' | 'params'>): boolean {
    if (method === 'tools/call') return this.has('tools', params.name)
    if (method === 'prompts/get') return this.has('prompts', params.name)
    return (method === 'resources/read' || method === 'skills/get') && this.hasResource(params.uri)
  }

  hasResource(uri: unknown): boolean {
    return this.service.resources?.has(uri) ?? false
  }

  private names(as: string, text: string, key: string, member: string): ReadonlySet<unknown> {
    const { known } = this.opening
    const names = known.get(as) ?? new Set(this.parsed(text, key).map((one) => one[member]))
    known.set(as, names)
    return names
  }

  private parsed(text: string, key: string): readonly JsonObject[] {
    const { listed } = this.opening
    const items = listed.get(text) ?? ((parseVerbatim(text) as JsonObject)[key] as JsonObject[])
    listed.set(text, items)
    return items
  }

  /** Whether its calls may become tasks. */
  get hasTasks(): boolean {
    return this.service.hasTasks === true
  }

  /** Includes task capabilities, which depend on the revision. */
  capabilitiesFor(revision: string): JsonObject {
    const common = this.service.capabilities as JsonObject
    if (!this.hasTasks) return common
    if (has('tasks', revision)) return { ...common, tasks: TASKS_CAPABILITY }
    if (!has('taskExtension', revision)) return common
    const extensions = isObject(common.extensions) ? common.extensions : {}
    return { ...common, extensions: { ...extensions, [TASKS_EXTENSION[1]]: {} } }
  }

  get instructions(): string | undefined {
    return this.service.instructions
  }

  async initialize(session: ClientSession, { id, params }: Request): Promise<Opened> {
    if (typeof params.protocolVersion !== 'string') {
      const message = 'params.protocolVersion must be a string'
      return { ok: false, text: errorText(id, { code: INVALID_PARAMS, message }) }
    }
    const protocolVersion = negotiate(params.protocolVersion)
    session.revision = protocolVersion
    const { info: serverInfo, instructions } = this.service
    const capabilities = this.capabilitiesFor(protocolVersion) as ServerCapabilities
    session.changeableLists = new Set(LISTS.filter((list) => capabilities[list]?.listChanged))
    const result = { protocolVersion, capabilities, serverInfo, ...(instructions && { instructions }) }
    return { ok: true, text: resultText(id, stringify(result as JsonObject)) }
  }

  async request(call: Call): Promise<Answer> {
    const { method, params } = call.request
    const answer = await this.service.methods.get(method)?.(params, call)
    if (!answer) return this.own(call, method)
    return 'error' in answer
      ? errorAnswer(call, answer.error)
      : resultAnswer(call, this.shown(call, answer), answer.end)
  }

  /** Answers methods of the protocol itself. */
  private async own(call: Call, method: string): Promise<Answer> {
    const inSession = isSessionRevision(call.revision)
    if (inSession && method === 'ping') return resultAnswer(call, '{}')
    if (inSession && method === 'initialize')
      return errorAnswer(call, { code: INVALID_REQUEST, message: 'The session is initialized already' })
    if (!inSession && method === 'server/discover') return this.discover(call)
    if (!inSession && method === LISTEN) return this.listen(call)
    return errorAnswer(call, { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` })
  }

  private discover(call: Call): Answer {
    const { instructions } = this.service
    const capabilities = this.capabilitiesFor(call.revision)
    const body = { ...SUPPORTED_VERSIONS, capabilities, ...(instructions && { instructions }) }
    return resultAnswer(call, this.shown(call, { result: stringify(body as JsonObject) }))
  }

  /**
   * Acknowledges a subscription; the registry sends its notifications and ends it (2026-07-28, Subscriptions).
   */
  private async listen(call: Call): Promise<Answer> {
    const { id, params } = call.request
    const wanted = params.notifications
    if (!isObject(wanted)) {
      const message = 'params.notifications must be an object such as {"toolsListChanged": true}'
      return errorAnswer(call, { code: INVALID_PARAMS, message })
    }
    if (this.hasTasks && wanted.taskIds !== undefined && !declaresTasks(params))
      return errorAnswer(call, missingCapability(TASKS_EXTENSION))
    const notifications = this.granted(wanted)
    const method = 'notifications/subscriptions/acknowledged'
    call.message(notificationText(method, { _meta: { [SUBSCRIPTION_ID]: id }, notifications }))
    call.subscribed(listKinds(notifications))
    return call.interrupted
  }

  /** The requested notifications that can be granted. */
  granted(wanted: Json | undefined): JsonObject {
    if (!isObject(wanted)) return {}
    const { tools, prompts, resources } = this.service.capabilities
    return {
      ...(tools && wanted.toolsListChanged === true && { toolsListChanged: true }),
      ...(prompts && wanted.promptsListChanged === true && { promptsListChanged: true }),
      ...(resources && wanted.resourcesListChanged === true && { resourcesListChanged: true }),
    }
  }

  /** Adds the members that 2026-07-28 requires to a result's text. */
  private shown(
    { revision, request: { method } }: Call,
    {
      result,
      resultType,
      meta,
      cacheScope = this.service.cacheScope,
    }: Exclude<MethodAnswer, { error: RpcError }>,
  ): string {
    const inSession = isSessionRevision(revision)
    if (inSession && !meta) return result
    const rest = result === '{}' ? '}' : `,${result.slice(1)}`
    if (inSession) return `{"_meta":${stringify(meta)}${rest}`
    const cache = CACHEABLE.has(method) ? `,"ttlMs":${TTL},"cacheScope":"${cacheScope}"` : ''
    const _meta = meta
      ? stringify({ ...meta, [SERVER_INFO]: this.service.info as JsonObject })
      : this.opening.ownMeta
    return `{"resultType":"${resultType ?? 'complete'}","_meta":${_meta}${cache}${rest}`
  }
}

/** Clients with skills support get no prompts for them, so the list is not cached for others. */
function listPrompts(prompts: Prompts, whole: string, skills: Skills): Method {
  const all = list('prompts', whole)
  if (skills.length === 0) return all
  const own = list('prompts', visibleText(prompts.list as unknown as Json))
  return async (params, call) => {
    const answer = await (usesSkills(params) ? own : all)(params, call)
    return 'error' in answer ? answer : { ...answer, cacheScope: 'private' }
  }
}

function callTool(tools: Tools, tasks: Tasks | undefined): Method {
  const { names } = tools
  return async (params, call) => {
    const { name } = params
    if (typeof name !== 'string') return invalid('params.name must be a string')
    if (tasks && name === RESULT_TOOL.name) return tasks.result(params, call)
    const tool = tools.get(name)
    // With rules, a suggestion could reveal a tool that the caller may not use.
    if (!tool) return invalid(unknownText('tool', name, call.context.permissions ? [] : names))
    const { operations } = tool
    if (tasks && !operations && asksTask(call))
      return { error: { code: METHOD_NOT_FOUND, message: `The tool ${name} does not support tasks` } }
    const begin = performance.now()
    const outcome = await tool.call(plain(params.arguments ?? {}), contextOf(call))
    return tasks && operations
      ? tasks.answerAfter(name, operations, outcome, call, begin)
      : answerOf(outcome, name)
  }
}

/** The parts of a call that a tool reads. */
function contextOf(call: Call): CallContext {
  const { headers, query, lease, identity } = call.context
  const { raw: body, span } = call.request
  const { reservation } = lease
  const [progress, keep] = [progressOf(call), keeperOf(call)]
  const { signal, onExchange } = call
  return { headers, query, identity, body, signal, span, reservation, progress, keep, onExchange }
}

/** Undefined: the client did not request progress. */
function progressOf(call: Call): ((done: number, message: string) => void) | undefined {
  const progressToken = progressTokenOf(metaOf(call.request.params))
  if (progressToken === undefined) return undefined
  return (progress, message) =>
    call.message(notificationText('notifications/progress', { progressToken, progress, message }))
}

function getPrompt(prompts: Prompts, skills: Skills): Method {
  const names = new Set([...prompts.list, ...skills].map(({ name }) => name))
  const bySkill = new Map(skills.map((skill) => [skill.name, skill]))
  return async (params, { context }) => {
    const { name, arguments: given = {} } = params
    if (typeof name !== 'string') return invalid('params.name must be a string')
    if (context.permissions && !names.has(name)) return invalid(unknownText('prompt', name, []))
    const skill = bySkill.get(name)
    if (skill) return { result: stringify(promptResultOf(skill)) }
    const { result, error } = await prompts.get(name, plain(given))
    return error === undefined ? { result: stringify(result) } : invalid(error)
  }
}

function invalid(message: string): MethodAnswer {
  return { error: { code: INVALID_PARAMS, message } }
}

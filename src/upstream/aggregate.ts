import { randomUUID } from 'node:crypto'
import { type Json, type JsonObject, stringify } from '../json/index.ts'
import {
  ACKNOWLEDGED,
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  Fault,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  LIST_KINDS,
  type ListKind,
  METHOD_NOT_FOUND,
  type Message,
  metaOf,
  missingCapability,
  negotiate,
  omit,
  type ParamHeader,
  PROTOCOL_VERSION,
  REVISIONS,
  type RequestId,
  type RpcError,
  readMessage,
  requestIdOf,
  SERVER_INFO,
  STATELESS_REVISIONS,
  SUBSCRIPTION_ID,
} from '../mcp/index.ts'
import { SKILLS_EXTENSION } from '../skills/index.ts'
import { unexpected } from '../telemetry/unexpected.ts'
import type { ToolsBackend } from '../tools/backend.ts'
import { declaresTasks, TASKS_EXTENSION, UNKNOWN_TASK } from '../tools/tasks.ts'
import { Absence } from './absence.ts'
import { createLasting, type Lasting, type Restored } from './backend/session-state.ts'
import type { Stateless, StatelessCall } from './backend/stateless.ts'
import type { Resolved } from './definition.ts'
import { mergeInstructions } from './instructions.ts'
import { hintsOf } from './kept-lists.ts'
import type { NamedKind, PlainNames } from './plain-names.ts'
import {
  INITIALIZED,
  type Link,
  type LinkEvents,
  noted,
  pass,
  type Request,
  type Response,
  type Started,
} from './rpc/link.ts'
import { isOfTask, ownerOf, prefixed, withOwnTaskIds, withTaskIds } from './server-names.ts'
import type { ServerView } from './server-view.ts'
import { shapedResponse } from './shaped-result.ts'
import type { ToolFilter } from './tool-filter.ts'
import { FAILED } from './transport/channel.ts'
import { announce, announcedLists, keepSubscribed, type StreamWatch } from './transport/lasting-stream.ts'

/** One of several servers behind one prefix, whatever carries its messages. */
export interface AggregatedServer {
  name: string
  filter: ToolFilter | undefined
  view: ServerView
  /** Undefined while the server is down. */
  capabilities: JsonObject | undefined
}

/** What two servers may both have. */
export type ClashKind = 'tool' | 'prompt' | 'resource'

/** What is the same for all clients of several servers. */
export interface AggregateOptions {
  /** `serverInfo` of all together. */
  info: { name: string; version: string }
  /** Where tools and prompts have their own names; undefined: their names tell their server. */
  names: PlainNames | undefined
  /** HTTP tools beside the servers, which answer calls themselves. */
  local(): ToolsBackend | undefined
  /** Hears of what a server has and another one before it, too. */
  onClash(kind: ClashKind, name: string, server: string): void
}

/** Asks one of the servers; undefined when the request was cancelled. */
export type AskServer = (
  i: number,
  method: string,
  params: JsonObject,
) => Promise<JsonObject | Fault | undefined>

/** The answer to a request, or the one server whose request it is, in its own words. */
export type Outcome = { result: JsonObject } | { error: RpcError } | { to: number; params: JsonObject }

const LISTS: Record<string, { key: string; capability: string }> = {
  'tools/list': { key: 'tools', capability: 'tools' },
  'prompts/list': { key: 'prompts', capability: 'prompts' },
  'resources/list': { key: 'resources', capability: 'resources' },
  'tasks/list': { key: 'tasks', capability: 'tasks' },
  'resources/templates/list': { key: 'resourceTemplates', capability: 'resources' },
  'skills/list': { key: 'skills', capability: SKILLS_EXTENSION },
}
const BY_URI = new Set(
  'resources/read resources/subscribe resources/unsubscribe resources/directory/read skills/get'.split(' '),
)
const SINGULAR = { tools: 'tool', prompts: 'prompt' } as const
/** Pages of a list that are read for a name, at the most. */
const MAX_PAGES = 100
/** Resources of which it is remembered whose they are. */
const MAX_OWNERS = 10_000

/** Several servers as one: which of them gets a request, or what they answer together. */
export class Aggregate {
  /** Whose a resource is, learnt from lists. */
  readonly #owners = new Map<string, number>()

  /** @param onMissing hears of each list which servers that are up have no part in it */
  constructor(
    private readonly servers: readonly AggregatedServer[],
    private readonly options: AggregateOptions,
    private readonly onMissing: (method: string, servers: readonly number[]) => void = () => {},
  ) {}

  async decide({ method, params }: Pick<Request, 'method' | 'params'>, ask: AskServer): Promise<Outcome> {
    if (Object.hasOwn(LISTS, method)) return this.#list(method, params, ask)
    if (method === 'tools/call') return this.#byName('tools', params, ask)
    if (method === 'prompts/get') return this.#byName('prompts', params, ask)
    if (method === 'completion/complete' && isObject(params.ref)) {
      const { ref } = params
      if (ref.type !== 'ref/prompt') return this.#byUri(ref.uri, method, params, ask)
      // HTTP prompts complete nothing.
      if (this.options.local()?.has('prompts', ref.name)) return { result: { completion: { values: [] } } }
      const found = await this.#find('prompts', String(ref.name), params, ask)
      if (!found) return unknown('prompts', String(ref.name))
      return { to: found.to, params: { ...params, ref: { ...ref, name: found.own } } }
    }
    if (BY_URI.has(method)) return this.#byUri(params.uri, method, params, ask)
    if (isOfTask(method)) return this.#byTask(method, params)
    if (method === 'logging/setLevel') {
      await Promise.all(this.#able('logging').map((i) => ask(i, method, params)))
      return { result: {} }
    }
    return this.#first([...this.servers.keys()], method, params, ask)
  }

  /** The response of a server to what `decide` sent it, as the client is to see it. */
  shown(i: number, method: string, raw: JsonObject): JsonObject {
    const { view, name } = this.servers[i] as AggregatedServer
    return withTaskIds(view.shown(method, raw), name)
  }

  /** The same, with the result of a call shaped. @param params as the server got them */
  answer(i: number, method: string, params: JsonObject, raw: JsonObject): JsonObject | Promise<JsonObject> {
    const shown = this.shown(i, method, raw)
    const shaping = (this.servers[i] as AggregatedServer).view.shaping({ method, params }, true)
    return shaping ? shapedResponse(shown, shaping) : shown
  }

  /** The server whose tool or prompt it is, by its name. */
  async #byName(kind: NamedKind, params: JsonObject, ask: AskServer): Promise<Outcome> {
    const name = String(params.name)
    const found = await this.#find(kind, name, params, ask)
    const filter = found && this.servers[found.to]?.filter
    const ownName = (name: string) =>
      kind === 'tools' ? filter?.ownName(name) : filter?.hasPrompt(name) ? name : undefined
    const own = found && (filter ? ownName(found.own) : found.own)
    if (!found || own === undefined) return unknown(kind, name)
    return { to: found.to, params: { ...params, name: own } }
  }

  /** The server that shows a name, and under which. @param params of the request */
  async #find(
    kind: NamedKind,
    name: string,
    params: JsonObject,
    ask: AskServer,
  ): Promise<{ to: number; own: string } | undefined> {
    const { names } = this.options
    if (!names) return ownerOf(this.servers, name)
    const base = params._meta === undefined ? {} : { _meta: omit(metaOf(params), 'progressToken') }
    const to = await names.find(kind, name, () =>
      Promise.all(this.servers.map((_, i) => this.#namesOf(i, kind, base, ask))),
    )
    return to === undefined ? undefined : { to, own: name }
  }

  /** All names that a server lists; undefined when it does not answer. */
  async #namesOf(
    i: number,
    kind: NamedKind,
    base: JsonObject,
    ask: AskServer,
  ): Promise<string[] | undefined> {
    const names: string[] = []
    let params = base
    for (let page = 0; page < MAX_PAGES; page++) {
      const raw = await ask(i, `${kind}/list`, params)
      if (!raw || raw instanceof Fault || !isPart(raw)) return undefined
      const { result } = raw
      const items = isObject(result) && Array.isArray(result[kind]) ? result[kind] : []
      for (const item of items) if (isObject(item)) names.push(String(item.name))
      if (!isObject(result) || typeof result.nextCursor !== 'string') return names
      params = { ...base, cursor: result.nextCursor }
    }
    return names
  }

  /** The server whose task it is, by the id. */
  #byTask(method: string, params: JsonObject): Outcome {
    const found = ownerOf(this.servers, String(params.taskId))
    if (found) return { to: found.to, params: { ...params, taskId: found.own } }
    const hasTasks = this.#able('tasks').length || this.#able(TASKS_EXTENSION[1]).length
    return { error: hasTasks ? UNKNOWN_TASK : noMethod(method) }
  }

  async #list(method: string, params: JsonObject, ask: AskServer): Promise<Outcome> {
    const { key, capability } = LISTS[method] as { key: string; capability: string }
    const wanted = cursorsOf(params.cursor, this.servers.length)
    if (!wanted) return { error: { code: INVALID_PARAMS, message: 'Invalid cursor' } }
    const able = wanted.filter(([i]) => this.#has(i, capability))
    if (key === 'tasks' && !able.length) return { error: noMethod(method) }
    const pages = await Promise.all(
      able.map(async ([i, cursor]) => {
        const own = omit(params, 'cursor')
        return ask(i, method, cursor === null ? own : { ...own, cursor })
      }),
    )
    const missing = able.flatMap(([i], at) => (isPart(pages[at]) ? [] : [i]))
    const isFirst = params.cursor === undefined
    const local = this.options.local()
    const items: Json[] = isFirst && local ? [...(await local.items(method, key, params))] : []
    // Who is told of an empty list takes it for the truth.
    if (missing.length && missing.length === able.length && !items.length)
      return { error: missingError(pages) }
    if (isFirst) this.onMissing(method, missing)
    if (isFirst && isNamed(key)) this.options.names?.begin(key)
    const next: [number, string][] = []
    let rest: JsonObject = {}
    for (const [at, raw] of pages.entries()) {
      const i = able[at]![0]
      const result = raw && 'result' in raw && isObject(raw.result) ? raw.result : undefined
      // A server that is down hides what is its own, and nothing else.
      if (!result || !Array.isArray(result[key])) continue
      rest = { ...omit(result, key, 'nextCursor'), ...rest }
      for (const item of result[key]) items.push(...this.#show(i, key, item))
      if (typeof result.nextCursor === 'string') next.push([i, result.nextCursor])
    }
    const nextCursor = next.length && { nextCursor: Buffer.from(JSON.stringify(next)).toString('base64url') }
    return { result: { ...rest, [key]: items, ...nextCursor } }
  }

  #show(i: number, key: string, item: Json): Json[] {
    if (!isObject(item)) return []
    if (key === 'tasks') return [item]
    const { name } = this.servers[i] as AggregatedServer
    if (isNamed(key)) return this.#showNamed(i, key, item)
    const uri = String(item.uri ?? item.uriTemplate)
    const owner = this.options.local()?.hasResource(uri) ? -1 : (this.#owners.get(uri) ?? i)
    this.#learn(uri, owner)
    if (owner === i) return [item]
    this.options.onClash('resource', uri, name)
    return []
  }

  /** A tool or prompt as clients see it, unless another one has its name. */
  #showNamed(i: number, kind: NamedKind, item: JsonObject): Json[] {
    const { names, local, onClash } = this.options
    const { name: server } = this.servers[i] as AggregatedServer
    const own = String(item.name)
    const shown = names ? own : prefixed(server, own)
    if (!local()?.has(kind, shown) && (names?.take(kind, own, i) ?? true))
      return [names ? item : { ...item, name: shown }]
    onClash(SINGULAR[kind], shown, server)
    return []
  }

  #byUri(uri: unknown, method: string, params: JsonObject, ask: AskServer): Promise<Outcome> | Outcome {
    const owner = typeof uri === 'string' ? this.#owners.get(uri) : undefined
    if (owner !== undefined) return { to: owner, params }
    return this.#first(this.#able('resources'), method, params, ask)
  }

  /** Asks one after the other until one knows what is asked for. */
  async #first(candidates: number[], method: string, params: JsonObject, ask: AskServer): Promise<Outcome> {
    let last = noMethod(method)
    for (const i of candidates) {
      const raw = await ask(i, method, params)
      if (!raw || raw instanceof Fault) continue
      if (isObject(raw.result)) {
        if (typeof params.uri === 'string') this.#learn(params.uri, i)
        return { result: raw.result }
      }
      if (isObject(raw.error)) last = raw.error as unknown as RpcError
    }
    return { error: last }
  }

  #able(capability: string): number[] {
    return [...this.servers.keys()].filter((i) => this.#has(i, capability))
  }

  /** @param capability of the protocol, or the name of an extension */
  #has(i: number, capability: string): boolean {
    const { [capability]: own, extensions } = this.servers[i]?.capabilities ?? {}
    return isObject(own) || (isObject(extensions) && isObject(extensions[capability]))
  }

  #learn(uri: string, owner: number): void {
    this.#owners.set(uri, owner)
    // When a resource was forgotten, each server is asked.
    if (this.#owners.size > MAX_OWNERS) this.#owners.delete(this.#owners.keys().next().value as string)
  }
}

function isNamed(key: string): key is NamedKind {
  return key === 'tools' || key === 'prompts'
}

function noMethod(method: string): RpcError {
  return { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` }
}

function unknown(kind: NamedKind, name: string): Outcome {
  return { error: { code: INVALID_PARAMS, message: `Unknown ${SINGULAR[kind]}: ${name.slice(0, 80)}` } }
}

/** Whether an answer says what a server has, if it is that it has no such list. */
function isPart(page: JsonObject | Fault | undefined): boolean {
  if (!page || page instanceof Fault) return false
  return 'result' in page || (isObject(page.error) && page.error.code === METHOD_NOT_FOUND)
}

/** Why no server has a part in a list. */
function missingError(pages: readonly (JsonObject | Fault | undefined)[]): RpcError {
  for (const page of pages) {
    if (page instanceof Fault) return { code: INTERNAL_ERROR, message: page.message }
    if (page && isObject(page.error)) return page.error as unknown as RpcError
  }
  return { code: INTERNAL_ERROR, message: 'No server answered' }
}

/** Which page of which server comes next; all of them from the beginning without a cursor. */
function cursorsOf(cursor: Json | undefined, count: number): [number, string | null][] | undefined {
  if (cursor === undefined) return Array.from({ length: count }, (_, i) => [i, null])
  try {
    const value = JSON.parse(Buffer.from(String(cursor), 'base64url').toString('utf8'))
    const sound = (item: unknown) =>
      Array.isArray(item) &&
      Number.isInteger(item[0]) &&
      item[0] >= 0 &&
      item[0] < count &&
      typeof item[1] === 'string'
    // Each names a server once, so that no cursor makes many requests of one.
    const once = new Set(Array.isArray(value) ? value.map((item) => item?.[0]) : []).size === value?.length
    return Array.isArray(value) && value.length > 0 && once && value.every(sound) ? value : undefined
  } catch {
    return undefined
  }
}

/** The capabilities of all servers together. */
export function mergeCapabilities(all: readonly Pick<AggregatedServer, 'capabilities'>[]): JsonObject {
  const merged: JsonObject = {}
  for (const { capabilities } of all)
    for (const [key, value] of Object.entries(capabilities ?? {})) {
      const before = merged[key]
      merged[key] = isObject(before) && isObject(value) ? mergeFlags(before, value) : value
    }
  return merged
}

function mergeFlags(a: JsonObject, b: JsonObject): JsonObject {
  const merged = { ...a }
  for (const [key, value] of Object.entries(b)) if (merged[key] !== true) merged[key] = value
  return merged
}

/** One of the servers: its name, its filter, and what opens its session. */
export interface Branch {
  name: string
  filter: ToolFilter | undefined
  view: ServerView
  /** @param restore requests that bring a new session into the state of a lost one */
  open(events: LinkEvents, restore: () => Restored[]): Link
}

export interface AggregateSessionOptions extends AggregateOptions {
  branches: readonly Branch[]
  onDown(server: string, reason: string): void
}

interface Beginning {
  request: Request
  text: string
  revision: string
}

/** A request of the gateway's own to one of the servers. */
interface OwnRequest {
  to: number
  resolve(raw: JsonObject | Fault): void
}

/** A client's session with several servers behind one prefix, as one. */
export class AggregateSession implements Link {
  readonly #servers: AggregatedServer[]
  readonly #aggregate: Aggregate
  readonly #links: Link[]
  /** What the client's requests have set in the session of each server. */
  readonly #states: Lasting[]
  readonly #prefix = `plantgw-${randomUUID()}-`
  #count = 0
  readonly #own = new Map<string, OwnRequest>()
  /** Requests of the client that one server has, by id. */
  readonly #routed = new Map<RequestId, { to: number; method: string; params: JsonObject }>()
  /** Requests of servers to the client, under ids that differ among servers. */
  readonly #asked = new Map<string, { from: number; id: RequestId }>()
  /** How the client began, for servers that come up later. */
  #begun: Beginning | undefined
  /** Handshakes with servers that were down; requests for one of them wait. */
  readonly #reviving = new Map<number, Promise<string | undefined>>()
  /** The servers that had no part in the last answer to a method, although they are up. */
  readonly #missing = new Map<string, string>()
  readonly #absence: Absence
  #closed = false

  constructor(
    private readonly options: AggregateSessionOptions,
    private readonly events: LinkEvents,
  ) {
    const { branches } = options
    this.#servers = branches.map(({ name, filter, view }) => ({
      name,
      filter,
      view,
      capabilities: undefined,
    }))
    this.#aggregate = new Aggregate(this.#servers, options, (method, servers) =>
      this.#compare(method, servers),
    )
    this.#absence = new Absence({
      find: (i) => this.#find(i),
      announce: (kinds) => announce(kinds, this.events.message),
    })
    this.#states = branches.map(() => createLasting())
    this.#links = branches.map((_, i) => this.#open(i))
  }

  async start(request: Request, text: string): Promise<Started> {
    const answers = await Promise.all(this.#links.map((link) => link.start(request, text)))
    const results = answers.map((answer, i) => {
      const result = answer instanceof Fault ? undefined : answer.response.raw.result
      const server = this.#servers[i] as AggregatedServer
      if (isObject(result)) {
        server.capabilities = isObject(result.capabilities) ? result.capabilities : {}
        return result
      }
      this.options.onDown(server.name, answer instanceof Fault ? answer.message : REFUSED)
      return undefined
    })
    const up = results.filter((result) => result !== undefined)
    const local = this.options.local()
    if (up.length || local) for (const [i, result] of results.entries()) if (!result) this.#absence.add(i)
    if (!up.length && !local)
      return (
        answers.find((answer) => answer instanceof Fault) ??
        new Fault('unreachable', 'No server took the handshake')
      )
    const instructions = mergeInstructions(
      results.map((result, i) => ({ name: this.#servers[i]!.name, text: result?.instructions })),
      local?.instructions,
    )
    // The oldest that they speak is understood by all.
    const oldest = up.map((each) => String(each.protocolVersion)).sort()[0]
    const revision = oldest ?? negotiate(String(request.params.protocolVersion))
    this.#begun = { request, text, revision }
    const result = {
      protocolVersion: revision,
      capabilities: mergeCapabilities([
        ...this.#servers,
        ...(local ? [{ capabilities: local.capabilitiesFor(revision) }] : []),
      ]),
      serverInfo: { ...this.options.info },
      ...(instructions !== undefined && { instructions }),
    }
    const raw: JsonObject = { jsonrpc: '2.0', id: request.id, result }
    return { response: readMessage(raw) as Response, text: stringify(raw) }
  }

  send(message: Message, text: string): undefined {
    if (message.kind === 'request') this.#take(message)
    else if (message.kind === 'response') {
      const to = this.#asked.get(String(message.id))
      this.#asked.delete(String(message.id))
      if (!to) return
      const raw = withOwnTaskIds({ ...message.raw, id: to.id }, this.#servers[to.from]!.name)
      pass(this.#links[to.from], { ...message, id: to.id, raw }, stringify(raw))
    } else if (message.kind === 'notification') {
      const cancels = message.method === 'notifications/cancelled'
      const call = cancels ? this.#routed.get(requestIdOf(message)) : undefined
      // What no server has, HTTP tools had, or all servers for the gateway.
      if (cancels && !call) return
      for (const [i, link] of this.#links.entries())
        if (this.#servers[i]?.capabilities && (!call || call.to === i)) pass(link, message, text)
    }
  }

  close(): void {
    this.#closed = true
    this.#absence.close()
    for (const link of this.#links) link.close()
    for (const state of this.#states) state.forget()
    for (const id of [...this.#own.keys()]) this.#settle(id, new Fault('lost', 'The session has ended'))
  }

  /** Tells the client that a list has more or less than it had, because of who answers. */
  #compare(method: string, servers: readonly number[]): void {
    const kind = Object.values(LIST_KINDS).find((one) => one === LISTS[method]?.capability)
    const missing = servers.join()
    for (const i of servers) this.#absence.add(i)
    if ((this.#missing.get(method) ?? '') === missing) return
    this.#missing.set(method, missing)
    if (kind) announce([kind], this.events.message)
  }

  #open(i: number): Link {
    return this.options.branches[i]!.open(this.#eventsOf(i), () => this.#states[i]!.restore())
  }

  #eventsOf(i: number): LinkEvents {
    return {
      message: (message, text) => this.#hear(i, message, text),
      refused: () => {
        const server = this.#servers[i] as AggregatedServer
        const kinds = announcedLists(server.capabilities)
        server.capabilities = undefined
        this.options.onDown(server.name, REFUSED)
        announce(kinds, this.events.message)
        this.#absence.add(i)
      },
      silent: () => {
        this.#absence.changed(this.#listsOf(i))
        this.#absence.add(i)
      },
      lost: (fault, only, kept) => {
        if (!only) this.#absence.changed(this.#listsOf(i))
        const concerns = (id: RequestId) => !kept?.has(id) && (!only || [...only].includes(id))
        for (const [id, { to }] of [...this.#own]) if (to === i && concerns(id)) this.#settle(id, fault)
        const routed = [...this.#routed].filter(([id, call]) => call.to === i && concerns(id))
        const ids = routed.map(([id]) => id)
        for (const id of ids) this.#routed.delete(id)
        this.events.lost(fault, ids)
      },
      rejected: (id, fault) => {
        // Without an id it may be the answer to any request of this server.
        for (const own of id === undefined ? [...this.#own.keys()] : [String(id)])
          if (this.#own.get(own)?.to === i) this.#settle(own, fault)
        for (const call of id === undefined ? [...this.#routed.keys()] : [id])
          if (this.#routed.get(call)?.to === i && this.#routed.delete(call)) this.events.rejected(call, fault)
      },
    }
  }

  /** Takes a message of a server. */
  #hear(i: number, message: Message, text: string): void {
    const { name } = this.#servers[i] as AggregatedServer
    if (message.kind === 'request') {
      const id = this.#nextId()
      this.#asked.set(id, { from: i, id: message.id })
      this.#emit(withTaskIds({ ...message.raw, id }, name))
    } else if (message.kind === 'notification') {
      const shown = withTaskIds(message.raw, name)
      if (shown === message.raw) this.events.message(message, text)
      else this.#emit(shown)
    } else if (message.kind !== 'response') this.events.message(message, text)
    else if (message.id !== null && !this.#settle(String(message.id), message.raw)) {
      const call = this.#routed.get(message.id)
      if (call && this.#routed.delete(message.id)) this.#give(i, call, message.id, message.raw)
    }
  }

  /** Gives the client the response of a server. */
  #give(
    i: number,
    { method, params }: { method: string; params: JsonObject },
    id: RequestId,
    raw: JsonObject,
  ): void {
    const shown = this.#aggregate.answer(i, method, params, raw)
    const failed = unexpected(method, () =>
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: FAILED } }),
    )
    if (shown instanceof Promise) shown.then((one) => this.#emit(one)).catch(failed)
    else this.#emit(shown)
  }

  /** Takes a request of the client. */
  #take(request: Request): void {
    const { id, method } = request
    const failed = unexpected(method, () => {
      this.#routed.delete(id)
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: FAILED } })
    })
    this.#answer(request).catch(failed)
  }

  async #answer(request: Request): Promise<void> {
    const { id, method, raw } = request
    if (method === 'ping') return this.#emit({ jsonrpc: '2.0', id, result: {} })
    if (method.endsWith('/list')) this.#reviveAll()
    // Servers that are down are told once they are up.
    if (method === 'logging/setLevel') for (const state of this.#states) state.remember(request)
    const outcome = await this.#aggregate.decide(request, (to, asked, own) =>
      this.#ask(to, asked, own, request.span),
    )
    if (!('to' in outcome)) return this.#emit({ jsonrpc: '2.0', id, ...outcome } as JsonObject)
    const { to, params } = outcome
    this.#routed.set(id, { to, method, params })
    this.#states[to]!.remember({ method, params })
    const sent = { ...raw, params }
    const fault = await this.#deliver(to, { ...request, params, raw: sent }, stringify(sent))
    if (fault && this.#routed.delete(id))
      this.#emit({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: fault.message } })
  }

  #ask(to: number, method: string, params: JsonObject, span?: Request['span']): Promise<JsonObject | Fault> {
    const id = this.#nextId()
    const answer = new Promise<JsonObject | Fault>((resolve) => {
      this.#own.set(id, { to, resolve })
      const raw: JsonObject = { jsonrpc: '2.0', id, method, params }
      const asked: Request = { kind: 'request', id, method, params, raw, ...(span && { span }) }
      this.#deliver(to, asked, stringify(raw))
        .then((fault) => fault && this.#settle(id, fault))
        .catch(unexpected(method, () => this.#settle(id, new Fault('internal', FAILED))))
    })
    return answer.then((raw) => {
      if (raw instanceof Fault) return raw
      if ('result' in raw) this.#states[to]!.remember({ method, params })
      return this.#aggregate.shown(to, method, raw)
    })
  }

  #settle(id: string, answer: JsonObject | Fault): boolean {
    const own = this.#own.get(id)
    own?.resolve(answer)
    return this.#own.delete(id)
  }

  async #deliver(to: number, message: Request, text: string): Promise<Fault | undefined> {
    // Why it is down is told by its link.
    await this.#reviving.get(to)?.catch(() => {})
    return this.#links[to]!.send(message, text)
  }

  /** The lists that a server has. */
  #listsOf(i: number): ListKind[] {
    const { capabilities } = this.#servers[i] as AggregatedServer
    return Object.values(LIST_KINDS).filter((kind) => capabilities?.[kind])
  }

  /** Whether a server that was down is there again; the client hears of it. */
  async #find(i: number): Promise<boolean> {
    const { capabilities } = this.#servers[i] as AggregatedServer
    const begun = this.#begun
    if (!capabilities) return begun !== undefined && (await this.#revival(i, begun)) === undefined
    const kinds = this.#listsOf(i)
    if (kinds[0] && !isPart(await this.#ask(i, `${kinds[0]}/list`, {}))) return false
    this.#absence.changed(kinds)
    return true
  }

  /** Tries servers that were down once more, as their back-off allows; the client hears of those that are up. */
  #reviveAll(): void {
    for (const [i, { name, capabilities }] of this.#servers.entries()) {
      if (capabilities || this.#reviving.has(i) || !this.#begun) continue
      this.#revival(i, this.#begun)
        .then((reason) => {
          if (reason !== undefined) this.options.onDown(name, reason)
        })
        .catch(unexpected('initialize'))
    }
  }

  /** One try at a time to open the session of a server that was down. @returns why it is still down */
  #revival(i: number, begun: Beginning): Promise<string | undefined> {
    const known = this.#reviving.get(i)
    if (known) return known
    const revival = this.#revive(i, begun).finally(() => this.#reviving.delete(i))
    this.#reviving.set(i, revival)
    return revival
  }

  async #revive(i: number, { request, text, revision }: Beginning): Promise<string | undefined> {
    this.#links[i]!.close()
    const link = this.#open(i)
    this.#links[i] = link
    const answer = await link.start(request, text)
    if (answer instanceof Fault) return answer.message
    const { result } = answer.response.raw
    // What the client knows of the protocol holds for the whole session.
    if (!isObject(result) || String(result.protocolVersion) < revision) return REFUSED
    if (this.#closed) return undefined
    const capabilities = isObject(result.capabilities) ? result.capabilities : {}
    this.#servers[i]!.capabilities = capabilities
    await link.send(noted('notifications/initialized'), INITIALIZED)
    for (const { method, params } of this.#states[i]!.restore()) await this.#ask(i, method, params)
    announce(this.#listsOf(i), this.events.message)
    return undefined
  }

  #nextId(): string {
    return `${this.#prefix}${++this.#count}`
  }

  #emit(raw: JsonObject): void {
    this.events.message(readMessage(raw), stringify(raw))
  }
}

const REFUSED = 'it refused the handshake'

const LISTEN = 'subscriptions/listen'
/** Of a server that does not answer: what others say may be kept for no time. */
const NO_HINTS: JsonObject = {}

type Sent = Promise<JsonObject | Fault | undefined>
/** What a server says of itself; undefined while it is down. */
type Found = JsonObject | undefined

/** One of the servers for one caller. */
export interface StatelessBranch {
  name: string
  filter: ToolFilter | undefined
  view: ServerView
  resolved: Resolved
  server: Stateless | Fault
  /** Finds the server again that was down. */
  again(): Promise<Stateless | Fault>
  streams: StreamWatch
}

/** Methods of earlier revisions that 2026-07-28 does not have. */
const REMOVED: ReadonlySet<string> = new Set(['logging/setLevel', 'tasks/list', 'tasks/result'])

/** Several servers behind one prefix, for the requests of one caller that stand alone. */
export class AggregateStateless implements Stateless {
  constructor(
    private readonly branches: readonly StatelessBranch[],
    private readonly options: AggregateOptions,
  ) {}

  versions(): Promise<string[]> {
    return Promise.resolve([...STATELESS_REVISIONS])
  }

  async paramHeaders(tool: string, call: StatelessCall): Promise<readonly ParamHeader[]> {
    const { servers } = await this.#servers(call)
    const asked = { method: 'tools/call', params: { ...call.message.params, name: tool } }
    const aggregate = new Aggregate(servers, this.options)
    const outcome = await aggregate.decide(asked, this.#asking(call, aggregate))
    const to = 'to' in outcome ? this.branches[outcome.to] : undefined
    if (!to || !('to' in outcome) || to.server instanceof Fault) return []
    return to.server.paramHeaders(String(outcome.params.name), { ...call, resolved: to.resolved })
  }

  async request(call: StatelessCall): Sent {
    const { id, method, params } = call.message
    if (method === LISTEN) return this.#listen(call)
    if (REMOVED.has(method)) return { jsonrpc: '2.0', id, error: { ...noMethod(method) } as JsonObject }
    const { servers, found } = await this.#servers(call)
    const meta = { [SERVER_INFO]: { ...this.options.info } }
    if (method === 'server/discover') {
      const result = { ...this.#discovered(servers, found), _meta: meta }
      return { jsonrpc: '2.0', id, result }
    }
    const aggregate = new Aggregate(servers, this.options)
    const asking = this.#asking(call, aggregate)
    const isList = Object.hasOwn(LISTS, method) && method !== 'tasks/list'
    const parts = found.map((each) => (each ? undefined : NO_HINTS))
    const ask: AskServer = async (i, asked, own) => {
      const raw = await asking(i, asked, own)
      if (isList && asked === method)
        parts[i] = raw && !(raw instanceof Fault) && isObject(raw.result) ? raw.result : NO_HINTS
      return raw
    }
    const outcome = await aggregate.decide({ method, params }, ask)
    if ('error' in outcome && outcome.error === UNKNOWN_TASK && !declaresTasks(params))
      return { jsonrpc: '2.0', id, error: { ...missingCapability(TASKS_EXTENSION) } as JsonObject }
    if ('to' in outcome) return ask(outcome.to, method, outcome.params)
    if ('error' in outcome) return { jsonrpc: '2.0', id, error: { ...outcome.error } as JsonObject }
    const { result } = outcome
    return {
      jsonrpc: '2.0',
      id,
      result: {
        resultType: 'complete',
        ...result,
        ...(isList && this.#hints(method, parts)),
        _meta: { ...metaOf(result), ...meta },
      },
    }
  }

  /** How long and for whom an answer may be kept. @param parts what the servers said, where they said something */
  #hints(method: string, parts: readonly (JsonObject | undefined)[]): JsonObject {
    const local = this.options.local()?.hints(method)
    return hintsOf([...parts, local].filter((part) => part !== undefined))
  }

  #asking(call: StatelessCall, aggregate: Aggregate): AskServer {
    return async (i, method, params) => {
      const raw = await this.#send(call, i, method, params)
      return !raw || raw instanceof Fault ? raw : aggregate.answer(i, method, params, raw)
    }
  }

  #send(
    call: StatelessCall,
    i: number,
    method: string,
    params: JsonObject,
    onMessage = call.onMessage,
  ): Sent {
    const { server, resolved, name } = this.branches[i] as StatelessBranch
    if (server instanceof Fault) return Promise.resolve(server)
    const { message } = call
    const raw = { ...message.raw, method, params }
    const hear = (heard: JsonObject) => onMessage(withTaskIds(heard, name))
    return server.request({
      ...call,
      resolved,
      onMessage: hear,
      message: { ...message, method, params, raw },
    })
  }

  /** The servers, with what each says of itself, unless the name in the call reveals its server. */
  async #servers(call: StatelessCall): Promise<{ servers: AggregatedServer[]; found: Found[] }> {
    const named = /^(?:tools\/call|prompts\/get)$/.test(call.message.method)
    const found = named ? [] : await this.#discover(call)
    const servers = this.branches.map(({ name, filter, view }, i) => {
      const capabilities = found[i]?.capabilities
      return { name, filter, view, capabilities: isObject(capabilities) ? capabilities : undefined }
    })
    return { servers, found }
  }

  async #discover(call: StatelessCall): Promise<Found[]> {
    const meta = metaOf(call.message.params)
    const kept = [PROTOCOL_VERSION, CLIENT_INFO, CLIENT_CAPABILITIES]
    const own = kept.flatMap((key) => (meta[key] === undefined ? [] : [[key, meta[key]]]))
    const params = { _meta: Object.fromEntries(own) }
    const answers = await Promise.all(
      this.branches.map((_, i) => this.#send(call, i, 'server/discover', params, () => {})),
    )
    return answers.map((raw, i) => {
      if (!raw || raw instanceof Fault) return undefined
      const { result } = this.branches[i]!.view.shown('server/discover', raw)
      return isObject(result) ? result : undefined
    })
  }

  #discovered(servers: readonly AggregatedServer[], found: readonly Found[]): JsonObject {
    const local = this.options.local()
    const [revision] = STATELESS_REVISIONS
    const instructions = mergeInstructions(
      found.map((each, i) => ({ name: servers[i]!.name, text: each?.instructions })),
      local?.instructions,
    )
    return {
      resultType: 'complete',
      supportedVersions: [...REVISIONS],
      capabilities: mergeCapabilities([
        ...servers,
        ...(local ? [{ capabilities: local.capabilitiesFor(revision) }] : []),
      ]),
      ...this.#hints(
        'server/discover',
        found.map((each) => each ?? NO_HINTS),
      ),
      ...(instructions !== undefined && { instructions }),
    }
  }

  /** Subscribes at every server, also later at one that is down; acknowledged once each was tried. */
  async #listen(call: StatelessCall): Sent {
    const { id } = call.message
    const granted: JsonObject = {}
    const early: JsonObject[] = []
    let acknowledged = false
    const onMessage = (raw: JsonObject) => {
      if (acknowledged) call.onMessage(raw)
      else early.push(raw)
    }
    const onGranted = (notifications: JsonObject) => {
      for (const [key, value] of Object.entries(notifications)) {
        const before = granted[key]
        const isBoth = Array.isArray(value) && Array.isArray(before)
        granted[key] = isBoth ? [...new Set([...before, ...value])] : value
      }
    }
    const opening = this.branches.map((branch) => this.#listenAt(call, branch, onMessage, onGranted))
    const local = this.options.local()?.granted(call.message.params.notifications)
    await Promise.all(opening.map(({ open }) => open))
    if (local) onGranted(local)
    const tag = { [SUBSCRIPTION_ID]: id }
    const params = { _meta: tag, notifications: granted }
    call.onMessage({ jsonrpc: '2.0', method: ACKNOWLEDGED, params })
    acknowledged = true
    for (const raw of early) call.onMessage(raw)
    await Promise.all(opening.map(({ ended }) => ended))
    // Changes of HTTP tools are announced where the client listens.
    if (local && Object.keys(local).length && !call.signal.aborted)
      await new Promise<void>((resolve) => call.signal.addEventListener('abort', resolve))
    if (call.signal.aborted) return undefined
    return { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: tag } }
  }

  /** @returns when the subscription at one server is open, or was tried in vain, and when it has ended */
  #listenAt(
    call: StatelessCall,
    branch: StatelessBranch,
    onMessage: (raw: JsonObject) => void,
    onGranted: (notifications: JsonObject) => void,
  ): { open: Promise<void>; ended: Promise<void> } {
    const { name, resolved, streams, again: find } = branch
    const message = ownTasksOnly(call.message, this.branches, branch)
    let { server } = branch
    let lists: ReadonlySet<ListKind> = new Set()
    const announceAll = () => {
      const _meta = { [SUBSCRIPTION_ID]: call.message.id }
      announce(lists, ({ raw }) => onMessage({ ...raw, params: { _meta } }))
    }
    let ended = Promise.resolve()
    const open = new Promise<void>((resolve) => {
      const subscribe = async (take: (raw: JsonObject) => void) => {
        const at = server
        if (at instanceof Fault) {
          resolve()
          server = await find()
          return at
        }
        return at.request({ ...call, message, resolved, onMessage: take }).finally(resolve)
      }
      const onOpen = (kinds: ReadonlySet<ListKind>, again: boolean, granted: JsonObject) => {
        onGranted(shownTasks(granted, name))
        resolve()
        lists = kinds
        if (again) announceAll()
      }
      // What the server had is missing from lists until it is back.
      const hear = (raw: JsonObject) => onMessage(withTaskIds(raw, name))
      const events = { onMessage: hear, onOpen, onLost: announceAll }
      ended = keepSubscribed(subscribe, events, streams, call.signal)
    })
    return { open: Promise.race([open, ended]), ended }
  }
}

/** A subscription as one of the servers is to have it: it hears of no tasks but its own. */
function ownTasksOnly(
  message: StatelessCall['message'],
  branches: readonly StatelessBranch[],
  branch: StatelessBranch,
): StatelessCall['message'] {
  const { notifications } = message.params
  if (!isObject(notifications) || !Array.isArray(notifications.taskIds)) return message
  const owners = notifications.taskIds.map((id) => ownerOf(branches, String(id)))
  const taskIds = owners.flatMap((owner) => (owner && branches[owner.to] === branch ? [owner.own] : []))
  const own = { ...omit(notifications, 'taskIds'), ...(taskIds.length && { taskIds }) }
  const params = { ...message.params, notifications: own }
  return { ...message, params, raw: { ...message.raw, params } }
}

/** What a server has granted of a subscription, with the ids that clients see of its tasks. */
function shownTasks(granted: JsonObject, name: string): JsonObject {
  const { taskIds } = granted
  return Array.isArray(taskIds)
    ? { ...granted, taskIds: taskIds.map((id) => prefixed(name, String(id))) }
    : granted
}

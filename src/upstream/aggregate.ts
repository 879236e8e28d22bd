import type { Json, JsonObject } from '../json/index.ts'
import {
  Fault,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  METHOD_NOT_FOUND,
  metaOf,
  omit,
  type RpcError,
} from '../mcp/index.ts'
import type { Shaping } from '../shaping/index.ts'
import { SKILLS_EXTENSION } from '../skills/index.ts'
import type { ToolsBackend } from '../tools/backend.ts'
import { TASKS_EXTENSION, UNKNOWN_TASK } from '../tools/tasks.ts'
import type { NamedKind, OwnedKind, Owners, Page } from './owners.ts'
import type { Request } from './rpc/link.ts'
import { isOfTask, ownerOf, prefixed, withTaskIds } from './server-names.ts'
import type { ServerView } from './server-view.ts'
import type { ToolFilter } from './tool-filter.ts'
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
  /** Whether tools and prompts have their own names, which do not tell their server. */
  isPlain: boolean
  owners: Owners
  /** HTTP tools beside the servers, which answer calls themselves. */
  local(): ToolsBackend | undefined
  /** Hears of what a server has and another one before it, too. */
  onClash(kind: ClashKind, name: string, server: string): void
}

/** Of one of the servers; undefined when the request was cancelled. */
type Answer = JsonObject | Fault | undefined
export type AskServer = (i: number, method: string, params: JsonObject) => Promise<Answer>

/** The answer to a request, or the one server whose request it is, in its own words. */
export type Outcome = { result: JsonObject } | { error: RpcError } | { to: number; params: JsonObject }

export const LISTS: Record<string, { key: string; capability: string }> = {
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
/** Servers subscribe clients to what they do not have, too. */
const ANYWHERE = new Set(['resources/subscribe', 'resources/unsubscribe'])
const SINGULAR = { tools: 'tool', prompts: 'prompt' } as const
/** Pages of a list that are read for a name, at the most. */
const MAX_PAGES = 100

/** Several servers as one: which of them gets a request, or what they answer together. */
export class Aggregate {
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
    return { error: noMethod(method) }
  }

  /** The response of a server to what `decide` sent it, as the client is to see it. */
  shown(i: number, method: string, raw: JsonObject): JsonObject {
    const { view, name } = this.servers[i] as AggregatedServer
    return withTaskIds(view.shown(method, raw), name)
  }

  /** How the result of a call is shaped; undefined: it is not. @param params as the server gets them */
  shaping(i: number, method: string, params: JsonObject): Shaping | undefined {
    return (this.servers[i] as AggregatedServer).view.shaping({ method, params }, true)
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
    const { isPlain, owners } = this.options
    if (!isPlain) return ownerOf(this.servers, name)
    const base = params._meta === undefined ? {} : { _meta: omit(metaOf(params), 'progressToken') }
    const to = await owners.find(kind, name, () =>
      Promise.all(this.servers.map((_, i) => this.#pagesOf(i, kind, base, ask))),
    )
    return to === undefined ? undefined : { to, own: name }
  }

  /** All names that a server lists, by page; undefined when it does not answer. */
  async #pagesOf(i: number, kind: NamedKind, base: JsonObject, ask: AskServer): Promise<Page[] | undefined> {
    const pages: Page[] = []
    let params = base
    while (pages.length < MAX_PAGES) {
      const raw = await ask(i, `${kind}/list`, params)
      if (!raw || raw instanceof Fault || !isPart(raw)) return undefined
      // What is no list lacks nothing.
      if (!isObject(raw.result) || !Array.isArray(raw.result[kind])) return pages
      const page = pageOf(kind, params, raw.result)
      pages.push(page)
      if (page.next === undefined) return pages
      params = { ...base, cursor: page.next }
    }
    return pages
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
    const wanted = cursorsOf(params.cursor, this.servers)
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
    // A server that is down hides what is its own, and nothing else.
    const read = able.flatMap(([i, cursor], at) => {
      const raw = pages[at]
      const result = raw && 'result' in raw && isObject(raw.result) ? raw.result : {}
      return Array.isArray(result[key]) ? [{ i, cursor, result, list: result[key] }] : []
    })
    for (const { i, cursor, result } of read) this.#read(i, key, cursor, result)
    const next: [name: string, cursor: string][] = []
    let rest: JsonObject = {}
    for (const { i, result, list } of read) {
      rest = { ...omit(result, key, 'nextCursor'), ...rest }
      for (const item of once(list, key)) items.push(...this.#show(i, key, item))
      if (typeof result.nextCursor === 'string') next.push([this.servers[i]!.name, result.nextCursor])
    }
    const nextCursor = next.length && { nextCursor: Buffer.from(JSON.stringify(next)).toString('base64url') }
    return { result: { ...rest, [key]: items, ...nextCursor } }
  }

  /** Learns what a server has, and has no more. */
  #read(i: number, key: string, cursor: string | null, result: JsonObject): void {
    const { isPlain, owners } = this.options
    if (key === 'tasks' || (isNamed(key) && !isPlain)) return
    owners.read(kindOf(key), key, i, pageOf(key, cursor === null ? {} : { cursor }, result))
  }

  #show(i: number, key: string, item: Json): Json[] {
    if (!isObject(item)) return []
    if (key === 'tasks') return [item]
    const { name } = this.servers[i] as AggregatedServer
    if (isNamed(key)) return this.#showNamed(i, key, item)
    const uri = nameOf(item, key)
    const isLocal = this.options.local()?.hasResource(uri)
    if (!isLocal && this.options.owners.take('resources', uri, i, key)) return [item]
    this.options.onClash('resource', uri, name)
    return []
  }

  /** A tool or prompt as clients see it, unless another one has its name. */
  #showNamed(i: number, kind: NamedKind, item: JsonObject): Json[] {
    const { isPlain, owners, local, onClash } = this.options
    const { name: server } = this.servers[i] as AggregatedServer
    const own = String(item.name)
    const shown = isPlain ? own : prefixed(server, own)
    const isOwn = isPlain ? owners.take(kind, own, i, kind) : ownerOf(this.servers, shown)?.to === i
    if (!local()?.has(kind, shown) && isOwn) return [isPlain ? item : { ...item, name: shown }]
    onClash(SINGULAR[kind], shown, server)
    return []
  }

  #byUri(uri: unknown, method: string, params: JsonObject, ask: AskServer): Promise<Outcome> | Outcome {
    // What HTTP tools have beside them is never subscribed to.
    if (this.options.local()?.hasResource(uri)) return { error: noMethod(method) }
    const owner = typeof uri === 'string' ? this.options.owners.of('resources', uri) : undefined
    if (owner !== undefined) return { to: owner, params }
    // Where no server declares resources, one may say more than that there is no such method.
    const declared = this.#able('resources')
    const able = declared.length ? declared : [...this.servers.keys()]
    return ANYWHERE.has(method)
      ? this.#everywhere(able, method, params, ask)
      : this.#first(able, method, params, ask)
  }

  /** Asks all of them, for what servers take without knowing what is asked for. */
  async #everywhere(
    candidates: number[],
    method: string,
    params: JsonObject,
    ask: AskServer,
  ): Promise<Outcome> {
    const answers = await Promise.all(candidates.map((i) => ask(i, method, params)))
    const result = answers.map((raw) => raw && !(raw instanceof Fault) && raw.result).find(isObject)
    return result ? { result } : { error: refusalOf(answers, method) }
  }

  /** Asks one after the other until one knows what is asked for. */
  async #first(candidates: number[], method: string, params: JsonObject, ask: AskServer): Promise<Outcome> {
    const answers: Answer[] = []
    for (const i of candidates) {
      const raw = await ask(i, method, params)
      answers.push(raw)
      if (!raw || raw instanceof Fault || !isObject(raw.result)) continue
      // One that did not answer may have it, too.
      const isFirst = answers.every((answer) => answer && !(answer instanceof Fault))
      if (isFirst && typeof params.uri === 'string') this.options.owners.take('resources', params.uri, i)
      return { result: raw.result }
    }
    return { error: refusalOf(answers, method) }
  }

  #able(capability: string): number[] {
    return [...this.servers.keys()].filter((i) => this.#has(i, capability))
  }

  /** @param capability of the protocol, or the name of an extension */
  #has(i: number, capability: string): boolean {
    const { [capability]: own, extensions } = this.servers[i]?.capabilities ?? {}
    return isObject(own) || (isObject(extensions) && isObject(extensions[capability]))
  }
}

/** What a server lists, each name once: clients refuse a list with two tools of a name, or with one of no name. */
function once(items: readonly Json[], key: string): readonly Json[] {
  if (!isNamed(key)) return items
  const names = new Set<Json>()
  return items.filter((item) => {
    if (!isObject(item) || typeof item.name !== 'string' || names.has(item.name)) return false
    return names.add(item.name)
  })
}

function isNamed(key: string): key is NamedKind {
  return key === 'tools' || key === 'prompts'
}

function kindOf(key: string): OwnedKind {
  return isNamed(key) ? key : 'resources'
}

function nameOf(item: JsonObject, key: string): string {
  return String(isNamed(key) ? item.name : (item.uri ?? item.uriTemplate))
}

/** What a page of a list names. @param params that asked for it */
function pageOf(key: string, { cursor }: JsonObject, { [key]: items, nextCursor }: JsonObject): Page {
  return {
    names: (Array.isArray(items) ? items : []).flatMap((item) => (isObject(item) ? nameOf(item, key) : [])),
    cursor: typeof cursor === 'string' ? cursor : undefined,
    next: typeof nextCursor === 'string' ? nextCursor : undefined,
  }
}

export function noMethod(method: string): RpcError {
  return { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` }
}

function unknown(kind: NamedKind, name: string): Outcome {
  return { error: { code: INVALID_PARAMS, message: `Unknown ${SINGULAR[kind]}: ${name.slice(0, 80)}` } }
}

/**
 * What is said when none of several servers knows what is asked for: what one of them says that may know it. One that
 * does not answer may, too.
 */
function refusalOf(answers: readonly Answer[], method: string): RpcError {
  const errors = answers.flatMap((raw) => (raw ? errorOf(raw) : []))
  // Other codes come first.
  const rank = ({ code }: RpcError) => UNKNOWING.indexOf(code)
  return errors.sort((a, b) => rank(a) - rank(b))[0] ?? noMethod(method)
}

/** Codes of a server that does not have what is asked for: "resource not found", and what stands for it. */
const UNKNOWING: readonly number[] = [-32002, INVALID_PARAMS, METHOD_NOT_FOUND]

/** Whether an answer says what a server has, if it is that it has no such list. */
export function isPart(page: Answer): boolean {
  if (!page || page instanceof Fault) return false
  return 'result' in page || (isObject(page.error) && page.error.code === METHOD_NOT_FOUND)
}

/** Why no server has a part in a list. */
function missingError(pages: readonly Answer[]): RpcError {
  const [error] = pages.flatMap((page) => (page ? errorOf(page) : []))
  return error ?? { code: INTERNAL_ERROR, message: 'No server answered' }
}

function errorOf(answer: JsonObject | Fault): RpcError[] {
  if (answer instanceof Fault) return [{ code: INTERNAL_ERROR, message: answer.message }]
  return isObject(answer.error) ? [answer.error as unknown as RpcError] : []
}

/**
 * Which page of which server comes next; all of them from the beginning without a cursor. It names servers, as a reload
 * may change their places.
 */
function cursorsOf(
  cursor: Json | undefined,
  servers: readonly AggregatedServer[],
): [number, string | null][] | undefined {
  if (cursor === undefined) return servers.map((_, i) => [i, null])
  try {
    const value: unknown = JSON.parse(Buffer.from(String(cursor), 'base64url').toString('utf8'))
    if (!Array.isArray(value) || !value.length || value.length > servers.length) return undefined
    const wanted = value.map((item): [number, string] | undefined => {
      const [name, own]: unknown[] = Array.isArray(item) ? item : []
      const i = servers.findIndex((server) => server.name === name)
      return i >= 0 && typeof own === 'string' ? [i, own] : undefined
    })
    const sound = wanted.filter((one) => one !== undefined)
    // Each names a server once, so that no cursor makes many requests of one.
    const isOnce = new Set(sound.map(([i]) => i)).size === wanted.length
    return isOnce ? sound : undefined
  } catch {
    return undefined
  }
}

/** The capabilities of a server by its handshake: one that says nothing of itself is asked for tools at least. */
export function saidOf({ capabilities }: JsonObject): JsonObject {
  return isObject(capabilities) && Object.keys(capabilities).length ? capabilities : { tools: {} }
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

import type { Json, JsonObject } from '../../json/index.ts'
import type { Shaping } from '../../json/shaping/index.ts'
import {
  Fault,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  isObject,
  listPages,
  METHOD_NOT_FOUND,
  metaOf,
  omit,
  type Request,
  type RpcError,
} from '../../mcp/index.ts'
import type { ToolsBackend } from '../../tools/backend.ts'
import { SKILLS_EXTENSION } from '../../tools/skills/index.ts'
import { TASKS_EXTENSION, UNKNOWN_TASK } from '../../tools/tasks.ts'
import type { Resolved } from '../definition.ts'
import type { UpstreamServer } from '../server.ts'
import type { ServerView } from '../view/server-view.ts'
import type { ToolFilter } from '../view/tool-filter.ts'
import type { NamedKind, OwnedKind, Owners, Page } from './owners.ts'
import { isOfTask, ownerOf, prefixed, withTaskIds } from './server-names.ts'
/** One of several servers behind one prefix, over any transport. */
export interface AggregatedServer {
  name: string
  filter: ToolFilter | undefined
  view: ServerView
  /** Undefined while the server is down. */
  capabilities: JsonObject | undefined
}

/** One of the servers, for one caller. */
export interface Member extends Omit<AggregatedServer, 'capabilities'> {
  server: UpstreamServer
  resolved: Resolved
}

/** Kinds of items that several servers may define. */
export type ClashKind = 'tool' | 'prompt' | 'resource'

/** Options common to all clients of an aggregate. */
export interface AggregateOptions {
  /** `serverInfo` of the aggregate. */
  info: { name: string; version: string }
  /** Whether tools and prompts keep their own names, without the server's name as prefix. */
  isPlain: boolean
  owners: Owners
  /** HTTP tools beside the servers, which answer their calls themselves. */
  local(): ToolsBackend | undefined
  /** Called for an item that an earlier server defines too. */
  onClash(kind: ClashKind, name: string, server: string): void
}

/** Several servers for one caller. */
export interface MemberOptions extends AggregateOptions {
  members: readonly Member[]
  onDown(server: string, reason: string): void
}

/** Answer of one server; undefined if the request was cancelled. */
type Answer = JsonObject | Fault | undefined
export type AskServer = (i: number, method: string, params: JsonObject) => Promise<Answer>

/** The answer to a request, or the server to send it to, with that server's own parameters. */
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
/** Servers accept subscriptions to resources that they do not have. */
const ANYWHERE = new Set(['resources/subscribe', 'resources/unsubscribe'])
const SINGULAR = { tools: 'tool', prompts: 'prompt' } as const

/** Several servers as one: chooses the server for a request, or combines the answers of all. */
export class Aggregate {
  /** @param onMissing called for each list with the running servers missing from it */
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
      // HTTP prompts have no completions.
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

  /** The response of a server, as the client should see it. */
  shown(i: number, method: string, raw: JsonObject): JsonObject {
    const { view, name } = this.servers[i] as AggregatedServer
    return withTaskIds(view.shown(method, raw), name)
  }

  /** How to shape the result of a call; undefined: unchanged. @param params as sent to the server */
  shaping(i: number, method: string, params: JsonObject): Shaping | undefined {
    return (this.servers[i] as AggregatedServer).view.shaping({ method, params }, true)
  }

  /** The server that has the tool or prompt of this name. */
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

  /** The server that has a name, and its own name there. @param params of the request */
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

  /** All names that a server lists, by page; undefined if it does not answer. */
  async #pagesOf(i: number, kind: NamedKind, base: JsonObject, ask: AskServer): Promise<Page[] | undefined> {
    const pages: Page[] = []
    for await (const raw of listPages((page) => ask(i, `${kind}/list`, { ...base, ...page }))) {
      if (!raw || raw instanceof Fault || !isPart(raw)) return undefined
      // A result that is not a list counts as an empty one.
      if (!isObject(raw.result) || !Array.isArray(raw.result[kind])) return pages
      pages.push(pageOf(kind, pages.at(-1)?.next, raw.result))
    }
    return pages
  }

  /** The server that has the task with this id. */
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
    // An error, because a client would believe an empty list.
    if (missing.length && missing.length === able.length && !items.length)
      return { error: missingError(pages) }
    if (isFirst) this.onMissing(method, missing)
    // A server that is down hides only its own items.
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

  /** Records what a server has, or no longer has. */
  #read(i: number, key: string, cursor: string | null, result: JsonObject): void {
    const { isPlain, owners } = this.options
    if (key === 'tasks' || (isNamed(key) && !isPlain)) return
    owners.read(kindOf(key), key, i, pageOf(key, cursor ?? undefined, result))
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

  /** A tool or prompt as clients see it, unless another item has the same name. */
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

  async #byUri(uri: unknown, method: string, params: JsonObject, ask: AskServer): Promise<Outcome> {
    // Resources of HTTP tools do not support subscriptions.
    if (this.options.local()?.hasResource(uri)) return { error: noMethod(method) }
    const owner = typeof uri === 'string' ? this.options.owners.of('resources', uri) : undefined
    if (owner !== undefined) return { to: owner, params }
    // If no server declares resources, ask all: one may still have them.
    const declared = this.#able('resources')
    const able = declared.length ? declared : [...this.servers.keys()]
    return ANYWHERE.has(method)
      ? this.#everywhere(able, method, params, ask)
      : this.#first(able, method, params, ask)
  }

  /** Asks all servers, for methods that servers accept without having the resource. */
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

  /** Asks the servers in order until one has the resource. */
  async #first(candidates: number[], method: string, params: JsonObject, ask: AskServer): Promise<Outcome> {
    const answers: Answer[] = []
    for (const i of candidates) {
      const raw = await ask(i, method, params)
      answers.push(raw)
      if (!raw || raw instanceof Fault || !isObject(raw.result)) continue
      // An earlier server that did not answer may have the resource too.
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

/** Items without duplicates and unnamed ones: clients refuse a list with either. */
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

/** The names on a page of a list. */
function pageOf(key: string, cursor: string | undefined, { [key]: items, nextCursor }: JsonObject): Page {
  return {
    names: (Array.isArray(items) ? items : []).flatMap((item) => (isObject(item) ? nameOf(item, key) : [])),
    cursor,
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
 * Picks the error to return when no member has the item. A member that failed to answer may have it, so its error comes
 * first.
 */
function refusalOf(answers: readonly Answer[], method: string): RpcError {
  const errors = answers.flatMap((raw) => (raw ? errorOf(raw) : []))
  // Errors with other codes come first.
  const rank = ({ code }: RpcError) => UNKNOWING.indexOf(code)
  return errors.sort((a, b) => rank(a) - rank(b))[0] ?? noMethod(method)
}

/** Codes with which a server says that it does not have the item. */
const UNKNOWING: readonly number[] = [-32002, INVALID_PARAMS, METHOD_NOT_FOUND]

/** Whether an answer is a valid part of a list; a missing list method counts as an empty part. */
export function isPart(page: Answer): boolean {
  if (!page || page instanceof Fault) return false
  return 'result' in page || (isObject(page.error) && page.error.code === METHOD_NOT_FOUND)
}

/** The error to return if no server contributed to a list. */
function missingError(pages: readonly Answer[]): RpcError {
  const [error] = pages.flatMap((page) => (page ? errorOf(page) : []))
  return error ?? { code: INTERNAL_ERROR, message: 'No server answered' }
}

function errorOf(answer: JsonObject | Fault): RpcError[] {
  if (answer instanceof Fault) return [{ code: INTERNAL_ERROR, message: answer.message }]
  return isObject(answer.error) ? [answer.error as RpcError] : []
}

/**
 * The next page of each server; without a cursor, the first page of all. Cursors name servers, as a reload may reorder
 * them.
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
    // At most one page of each server, so that a cursor cannot cause many requests to one.
    const isOnce = new Set(sound.map(([i]) => i)).size === wanted.length
    return isOnce ? sound : undefined
  } catch {
    return undefined
  }
}

/** A server's declared capabilities; one that declares nothing is assumed to have tools. */
export function saidOf({ capabilities }: JsonObject): JsonObject {
  return isObject(capabilities) && Object.keys(capabilities).length ? capabilities : { tools: {} }
}

/** The combined capabilities of all servers. */
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

/** Instructions of several servers, each under its name. @param first text before them */
export function mergeInstructions(
  all: readonly { name: string; text: Json | undefined }[],
  first?: string,
): string | undefined {
  const told = all.filter(({ text }) => typeof text === 'string' && text !== '')
  const parts = told.map(({ name, text }) => `${name}:\n${text}`)
  if (first) parts.unshift(first)
  return parts.length ? parts.join('\n\n') : undefined
}

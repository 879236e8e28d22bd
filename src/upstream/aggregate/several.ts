import { type Json, type JsonObject, parse, stringify } from '../../json/index.ts'
import { Fault, INVALID_PARAMS, isObject, METHOD_NOT_FOUND, type RpcError } from '../../mcp/index.ts'
import { omit } from '../../mcp/meta.ts'
import type { Request } from '../rpc/link.ts'
import type { ToolFilter } from '../tool-filter.ts'

/** One of several servers behind one prefix, whatever carries its messages. */
export interface AggregatedServer {
  name: string
  filter: ToolFilter | undefined
  /** Undefined while the server is down. */
  capabilities: JsonObject | undefined
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
  'resources/templates/list': { key: 'resourceTemplates', capability: 'resources' },
}
const SEPARATOR = '__'
/** Resources of which it is remembered whose they are. */
const MAX_OWNERS = 10_000

/** Several servers as one: which of them gets a request, or what they answer together. */
export class Aggregate {
  /** Whose a resource is, learnt from lists. */
  readonly #owners = new Map<string, number>()

  /** @param onClash hears of a resource that two servers have; the first one's is served */
  constructor(
    private readonly servers: readonly AggregatedServer[],
    private readonly onClash: (uri: string, server: string) => void,
  ) {}

  async decide({ method, params }: Pick<Request, 'method' | 'params'>, ask: AskServer): Promise<Outcome> {
    if (Object.hasOwn(LISTS, method)) return this.#list(method, params, ask)
    if (method === 'tools/call' || method === 'prompts/get') return this.#byName(method, params)
    if (method === 'completion/complete' && isObject(params.ref)) {
      const { ref } = params
      if (ref.type !== 'ref/prompt') return this.#byUri(ref.uri, method, params, ask)
      const found = this.#split(String(ref.name))
      if (!found) return { error: { code: INVALID_PARAMS, message: `Unknown prompt: ${ref.name}` } }
      return { to: found.to, params: { ...params, ref: { ...ref, name: found.own } } }
    }
    if (/^resources\/(?:read|subscribe|unsubscribe)$/.test(method))
      return this.#byUri(params.uri, method, params, ask)
    if (method === 'logging/setLevel') {
      await Promise.all(this.#able('logging').map((i) => ask(i, method, params)))
      return { result: {} }
    }
    return this.#first([...this.servers.keys()], method, params, ask)
  }

  /** The response of a server to what `decide` sent it, as the client is to see it. */
  shown(i: number, method: string, raw: JsonObject): JsonObject {
    const { filter } = this.servers[i] as AggregatedServer
    if (!filter) return raw
    return parse(filter.response(method, { kind: 'response', id: null, raw }, stringify(raw))) as JsonObject
  }

  /** The server whose tool or prompt it is, by its name. */
  #byName(method: 'tools/call' | 'prompts/get', params: JsonObject): Outcome {
    const kind = method === 'tools/call' ? 'tool' : 'prompt'
    const name = String(params.name)
    const found = this.#split(name)
    const filter = found && kind === 'tool' ? this.servers[found.to]?.filter : undefined
    const own = found && (filter ? filter.ownName(found.own) : found.own)
    if (!found || own === undefined)
      return { error: { code: INVALID_PARAMS, message: `Unknown ${kind}: ${name.slice(0, 80)}` } }
    return { to: found.to, params: { ...params, name: own } }
  }

  #split(name: string): { to: number; own: string } | undefined {
    // The longest name counts, as a server's name may begin with another's.
    let best: { to: number; own: string } | undefined
    for (const [to, { name: server }] of this.servers.entries()) {
      if (!name.startsWith(server + SEPARATOR)) continue
      const own = name.slice(server.length + SEPARATOR.length)
      if (!best || own.length < best.own.length) best = { to, own }
    }
    return best
  }

  async #list(method: string, params: JsonObject, ask: AskServer): Promise<Outcome> {
    const { key, capability } = LISTS[method] as { key: string; capability: string }
    const wanted = cursorsOf(params.cursor, this.servers.length)
    if (!wanted) return { error: { code: INVALID_PARAMS, message: 'Invalid cursor' } }
    const able = wanted.filter(([i]) => isObject(this.servers[i]?.capabilities?.[capability]))
    const pages = await Promise.all(
      able.map(async ([i, cursor]) => {
        const own = omit(params, 'cursor')
        return ask(i, method, cursor === null ? own : { ...own, cursor })
      }),
    )
    const items: Json[] = []
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
    const { name } = this.servers[i] as AggregatedServer
    if (key === 'tools' || key === 'prompts') return [{ ...item, name: `${name}${SEPARATOR}${item.name}` }]
    const uri = String(item.uri ?? item.uriTemplate)
    const owner = this.#owners.get(uri) ?? i
    this.#learn(uri, owner)
    if (owner === i) return [item]
    this.onClash(uri, name)
    return []
  }

  #byUri(uri: unknown, method: string, params: JsonObject, ask: AskServer): Promise<Outcome> | Outcome {
    const owner = typeof uri === 'string' ? this.#owners.get(uri) : undefined
    if (owner !== undefined) return { to: owner, params }
    return this.#first(this.#able('resources'), method, params, ask)
  }

  /** Asks one after the other until one knows what is asked for. */
  async #first(candidates: number[], method: string, params: JsonObject, ask: AskServer): Promise<Outcome> {
    let last: RpcError = { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` }
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
    return [...this.servers.keys()].filter((i) => isObject(this.servers[i]?.capabilities?.[capability]))
  }

  #learn(uri: string, owner: number): void {
    this.#owners.set(uri, owner)
    // When a resource was forgotten, each server is asked.
    if (this.#owners.size > MAX_OWNERS) this.#owners.delete(this.#owners.keys().next().value as string)
  }
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

/** Instructions of several servers, each under its name. */
export function mergeInstructions(
  all: readonly { name: string; text: Json | undefined }[],
): string | undefined {
  const told = all.filter(({ text }) => typeof text === 'string' && text !== '')
  if (!told.length) return undefined
  return told.map(({ name, text }) => `${name}:\n${text}`).join('\n\n')
}

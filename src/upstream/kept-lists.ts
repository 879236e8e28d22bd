import { type Json, type JsonObject, stringify } from '../json/index.ts'
import { CLIENT_CAPABILITIES, Fault, isObject, metaOf, omit, PROTOCOL_VERSION } from '../mcp/index.ts'
import { type Stateless, type StatelessCall, whoseCall } from './backend/stateless.ts'

/** What may be kept for as long as its `ttlMs` says (2026-07-28, Caching). */
const METHODS = new Set(
  'server/discover tools/list prompts/list resources/list resources/templates/list'.split(' '),
)
/** Answers of one server that are kept, and their characters; the oldest give way. */
const MAX_ANSWERS = 1_000
const MAX_CHARACTERS = 16 * 1024 * 1024
/** Milliseconds for which an answer is kept at the most. */
const MAX_TTL = 86_400_000

interface Kept {
  result: JsonObject
  method: string
  until: number
  size: number
}

/** A server of 2026-07-28 whose lists are asked for once for as long as it says that they are fresh. */
export class KeptLists implements Stateless {
  readonly #kept = new Map<string, Kept>()
  #size = 0

  constructor(private readonly server: Stateless) {}

  versions: Stateless['versions'] = (resolved) => this.server.versions(resolved)
  paramHeaders: Stateless['paramHeaders'] = (tool, call) => this.server.paramHeaders(tool, call)

  abandon(requestState: string): void {
    this.server.abandon?.(requestState)
  }

  request(call: StatelessCall): ReturnType<Stateless['request']> {
    const { method, id } = call.message
    // Whoever hears of a change wants the new list.
    if (method === 'subscriptions/listen')
      return this.server.request({ ...call, onMessage: (raw) => this.#hear(raw, call) })
    if (!METHODS.has(method)) return this.server.request(call)
    const known = this.#find(keyOf(call, undefined)) ?? this.#find(keyOf(call, whoseCall(call)))
    if (!known) return this.#ask(call)
    const ttlMs = Math.ceil(known.until - performance.now())
    return Promise.resolve({ jsonrpc: '2.0', id, result: { ...known.result, ttlMs } })
  }

  async #ask(call: StatelessCall): Promise<JsonObject | Fault | undefined> {
    const asked = performance.now()
    const raw = await this.server.request(call)
    if (raw && !(raw instanceof Fault) && isObject(raw.result)) this.#keep(call, raw.result, asked)
    return raw
  }

  #keep(call: StatelessCall, result: JsonObject, asked: number): void {
    const { ttlMs, cacheScope, resultType = 'complete' } = result
    const ttl = Math.min(Number(ttlMs), MAX_TTL)
    const whose = cacheScope === 'public' ? undefined : whoseCall(call)
    // What is private may be kept for a caller who is known.
    if (!(ttl > 0) || resultType !== 'complete' || whose === '') return
    const key = keyOf(call, whose)
    const kept = { result, method: call.message.method, until: asked + ttl, size: stringify(result).length }
    this.#drop(key)
    this.#kept.set(key, kept)
    this.#size += kept.size
    while (this.#kept.size > MAX_ANSWERS || this.#size > MAX_CHARACTERS)
      this.#drop(this.#kept.keys().next().value as string)
  }

  #find(key: string): Kept | undefined {
    const kept = this.#kept.get(key)
    if (kept && kept.until > performance.now()) return kept
    this.#drop(key)
    return undefined
  }

  #drop(key: string): void {
    this.#size -= this.#kept.get(key)?.size ?? 0
    this.#kept.delete(key)
  }

  #hear(raw: JsonObject, call: StatelessCall): void {
    const changed = /^notifications\/(\w+)\/list_changed$/.exec(String(raw.method))?.[1]
    if (changed)
      for (const [key, { method }] of [...this.#kept]) if (method.startsWith(`${changed}/`)) this.#drop(key)
    call.onMessage(raw)
  }
}

/** What may have another answer. @param whose undefined: everybody's */
function keyOf({ resolved, message: { method, params } }: StatelessCall, whose: string | undefined): string {
  const meta = metaOf(params)
  const told: (Json | undefined)[] = [meta[PROTOCOL_VERSION], meta[CLIENT_CAPABILITIES]]
  return stringify([
    resolved.key,
    whose ?? null,
    method,
    omit(params, '_meta'),
    ...told.map((one) => one ?? null),
  ] as Json)
}

/** How long and for whom what several servers say together may be kept. */
export function hintsOf(parts: readonly JsonObject[]): { ttlMs: number; cacheScope: string } {
  const ttls = parts.map(({ ttlMs }) => (typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0))
  const isPublic = parts.length > 0 && parts.every(({ cacheScope }) => cacheScope === 'public')
  return { ttlMs: parts.length ? Math.min(...ttls) : 0, cacheScope: isPublic ? 'public' : 'private' }
}

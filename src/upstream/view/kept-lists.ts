import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import {
  ACKNOWLEDGED,
  CLIENT_CAPABILITIES,
  Fault,
  isObject,
  LIST_KINDS,
  LISTEN,
  metaOf,
  omit,
  PROTOCOL_VERSION,
} from '../../mcp/index.ts'
import { type StatelessUpstream, type UpstreamCall, whoseCall } from '../rpc/stateless-upstream.ts'
import { announce } from '../transport/lasting-stream.ts'

/** Methods cacheable for their `ttlMs` (2026-07-28, Caching). */
const METHODS = new Set(
  'server/discover tools/list prompts/list resources/list resources/templates/list'.split(' '),
)
/** Maximum answers cached for one server, and characters of all; the oldest are dropped first. */
const MAX_ANSWERS = 1_000
const MAX_CHARACTERS = 16 * 1024 * 1024
/** Maximum milliseconds for which an answer is cached. */
const MAX_TTL = 86_400_000

interface Kept {
  result: JsonObject
  method: string
  until: number
  size: number
}

/** Caches a 2026-07-28 server's lists for the lifetime that it declares. */
export class KeptLists {
  readonly #kept = new Map<string, Kept>()
  #size = 0
  /** Number of invalidations; an answer requested before the last one may be stale. */
  #changes = 0

  /** @param onChanged called when a list changed, with the key of the template values */
  constructor(
    private readonly server: StatelessUpstream,
    private readonly onChanged: ((key: string, method: string) => void) | undefined,
  ) {}

  request(call: UpstreamCall): ReturnType<StatelessUpstream['request']> {
    const { method, id } = call.message
    if (method === LISTEN) return this.#listen(call)
    if (!METHODS.has(method)) return this.server.request(call)
    const known = this.#find(keyOf(call, undefined)) ?? this.#find(keyOf(call, whoseCall(call)))
    if (!known) return this.#ask(call)
    const ttlMs = Math.ceil(known.until - performance.now())
    return Promise.resolve({ jsonrpc: '2.0', id, result: { ...known.result, ttlMs } })
  }

  async #ask(call: UpstreamCall): Promise<JsonObject | Fault | undefined> {
    const asked = performance.now()
    const changes = this.#changes
    const raw = await this.server.request(call)
    const isNew = changes === this.#changes
    if (isNew && raw && !(raw instanceof Fault) && isObject(raw.result)) this.#keep(call, raw.result, asked)
    return raw
  }

  /** Change notifications must invalidate the cache before they reach the client. */
  async #listen(call: UpstreamCall): Promise<JsonObject | Fault | undefined> {
    let isOpen = false
    const onMessage = (raw: JsonObject) => {
      isOpen ||= raw.method === ACKNOWLEDGED
      this.#hear(raw, call)
    }
    const answer = await this.server.request({ ...call, onMessage })
    // Changes until the next subscription are not announced.
    if (isOpen && !call.signal.aborted) {
      this.#forget('')
      announce(Object.values(LIST_KINDS), ({ method }) => this.onChanged?.(call.resolved.key, method))
    }
    return answer
  }

  #keep(call: UpstreamCall, result: JsonObject, asked: number): void {
    const { ttlMs, cacheScope, resultType = 'complete' } = result
    const ttl = typeof ttlMs === 'number' ? Math.min(ttlMs, MAX_TTL) : 0
    const whose = cacheScope === 'public' ? undefined : whoseCall(call)
    // Private answers are cached only for a known caller.
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

  /** Invalidates a list reported as changed. @returns whether the method is such a notification */
  changed(method: string): boolean {
    const list = /^notifications\/(\w+)\/list_changed$/.exec(method)?.[1]
    if (list) this.#forget(`${list}/`)
    return list !== undefined
  }

  #hear(raw: JsonObject, call: UpstreamCall): void {
    const method = String(raw.method)
    if (this.changed(method)) this.onChanged?.(call.resolved.key, method)
    call.onMessage(raw)
  }

  /** @param methods prefix of the methods whose answers are stale */
  #forget(methods: string): void {
    this.#changes++
    for (const [key, { method }] of [...this.#kept]) if (method.startsWith(methods)) this.#drop(key)
  }
}

/** Cache key. @param whose undefined: shared by all callers */
function keyOf({ resolved, message: { method, params } }: UpstreamCall, whose: string | undefined): string {
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

/** Lifetime and scope of an answer combined from several servers. */
export function hintsOf(parts: readonly JsonObject[]): { ttlMs: number; cacheScope: string } {
  const ttls = parts.map(({ ttlMs }) => (typeof ttlMs === 'number' && ttlMs > 0 ? ttlMs : 0))
  const isPublic = parts.length > 0 && parts.every(({ cacheScope }) => cacheScope === 'public')
  return { ttlMs: parts.length ? Math.min(...ttls) : 0, cacheScope: isPublic ? 'public' : 'private' }
}

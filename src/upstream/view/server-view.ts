import type { McpServer } from '../../config/model.ts'
import { type Json, type JsonObject, stringify } from '../../json/index.ts'
import type { Shaping } from '../../json/shaping/index.ts'
import { isObject, isPlain, type Request, visible } from '../../mcp/index.ts'
import { isRepeatable } from '../rpc/upstream-session.ts'
import type { Repeat } from '../transport/http.ts'
import type { Pins } from './pins.ts'
import { type OnFault, repairedHandshake, repairedList } from './repaired.ts'
import type { ToolFilter } from './tool-filter.ts'

/** Members of results with declarations that models read. */
export const LISTS: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}
const HANDSHAKES: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

/** The tools, prompts, resources and instructions of a server that clients see. */
export class ServerView {
  private readonly safeTools: SafeTools

  /** @param safe tools that are safe to repeat, or the overrides that say so */
  constructor(
    private readonly filter: ToolFilter | undefined,
    private readonly pins: Pins | undefined,
    safe: SafeTools | McpServer['toolOverrides'],
    private readonly onFault: OnFault = () => {},
  ) {
    this.safeTools = safe instanceof SafeTools ? safe : new SafeTools(safe)
  }

  /** The same server with a router's filter. */
  filtered(filter: ToolFilter | undefined): ServerView {
    return filter === this.filter ? this : new ServerView(filter, this.pins, this.safeTools, this.onFault)
  }

  /** Whether responses to this method must be read. */
  reads(method: string): boolean {
    return Object.hasOwn(LISTS, method) || HANDSHAKES.has(method)
  }

  /**
   * How to shape the result of a request; undefined: unchanged. @param own whether `params` has the server's own name
   */
  shaping({ method, params }: Pick<Request, 'method' | 'params'>, own = false): Shaping | undefined {
    if (method !== 'tools/call' || !this.filter || typeof params.name !== 'string') return undefined
    const name = own ? params.name : this.filter.ownName(params.name)
    return name === undefined ? undefined : this.filter.shaping(name)
  }

  /** Whether and when a request may be repeated. @param params with the server's own names */
  repeat({ method, params }: Pick<Request, 'method' | 'params'>): Repeat | undefined {
    // A session opened twice would never be closed.
    if (method === 'initialize') return 'unsent'
    const isSafe = method === 'tools/call' ? this.safeTools.has(String(params.name)) : isRepeatable(method)
    return isSafe ? 'always' : undefined
  }

  /**
   * A response as clients should see it: without hidden characters and blocked items.
   * @param text of `raw`; returned if nothing changes
   */
  response(method: string, raw: JsonObject, text: string): string {
    if (!this.reads(method)) return text
    const shown = this.shown(method, raw, text)
    return shown === raw && !this.filter && !this.pins ? text : stringify(shown)
  }

  /** The same for a response without text. */
  shown(method: string, raw: JsonObject, text?: string): JsonObject {
    const { result } = raw
    if (!this.reads(method) || !isObject(result)) return raw
    const judged = this.judge(method, this.repaired(method, result))
    // Plain text needs no search for hidden characters.
    const clean = text !== undefined && isPlain(text) ? judged : visible(judged)
    return clean === result ? raw : { ...raw, result: clean }
  }

  private repaired(method: string, result: JsonObject): JsonObject {
    if (HANDSHAKES.has(method)) return repairedHandshake(result)
    return repairedList(LISTS[method] as string, result, this.onFault)
  }

  /** An item of a list beside the pin file; undefined: nothing is pinned. */
  pinOf(kind: 'tools' | 'prompts', declared: JsonObject): ReturnType<Pins['stateOf']> | undefined {
    const { [kind]: items } = repairedList(kind, { [kind]: [declared] }, () => {})
    const [item] = Array.isArray(items) ? items : []
    return isObject(item) ? this.pins?.stateOf(kind, item) : undefined
  }

  /** A result with only the visible items, hidden characters included. */
  judge(method: string, result: JsonObject): JsonObject {
    const { filter, pins } = this
    if (HANDSHAKES.has(method)) return pins ? pins.handshake(result) : result
    const kind = LISTS[method] as string
    const list = result[kind]
    if (!Array.isArray(list)) return result
    if (kind === 'tools') this.safeTools.learn(list)
    let shown: Json[] = list
    if (pins && (kind === 'tools' || kind === 'prompts')) shown = pins.list(kind, shown)
    if (filter && kind === 'tools') shown = shown.flatMap((tool) => filter.show(tool))
    return shown === list ? result : { ...result, [kind]: shown }
  }
}

/** Maximum tools remembered for a server, and characters of their names. */
const MAX_TOOLS = 10_000
const MAX_NAME = 256

interface Hints {
  readOnlyHint: boolean
  idempotentHint: boolean
}

/**
 * A server's tools, by its own names, that are safe to call twice: `readOnlyHint` or `idempotentHint` in its latest
 * list or, with precedence, in `toolOverrides`.
 */
class SafeTools {
  /** Hints of tools with at least one of them. */
  private readonly listed = new Map<string, Hints>()

  constructor(private readonly overrides: McpServer['toolOverrides']) {}

  /** @param tools of the server's list, or of a page of it */
  learn(tools: readonly Json[]): void {
    for (const tool of tools) {
      if (!isObject(tool) || typeof tool.name !== 'string') continue
      const { name, annotations } = tool
      const hints = isObject(annotations) ? annotations : {}
      const idempotentHint = hints.idempotentHint === true
      const readOnlyHint = hints.readOnlyHint === true
      if (!idempotentHint && !readOnlyHint) this.listed.delete(name)
      else if ((this.listed.size < MAX_TOOLS || this.listed.has(name)) && name.length <= MAX_NAME)
        this.listed.set(name, { readOnlyHint, idempotentHint })
    }
  }

  has(name: string): boolean {
    const own = Object.hasOwn(this.overrides, name) ? this.overrides[name]?.annotations : undefined
    const { readOnlyHint, idempotentHint } = { ...this.listed.get(name), ...own }
    return readOnlyHint === true || idempotentHint === true
  }
}

import { type Json, type JsonObject, stringify } from '../json/index.ts'
import { isObject, type Request, visible } from '../mcp/index.ts'
import type { Shaping } from '../shaping/index.ts'
import type { Pins } from './pins.ts'
import type { ToolFilter } from './tool-filter.ts'

/** The members of results in which a server declares what models read. */
const LISTS: Readonly<Record<string, string>> = {
  'tools/list': 'tools',
  'prompts/list': 'prompts',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
}
const HANDSHAKES: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

/** What clients see of what a server declares: tools, prompts, resources and instructions. */
export class ServerView {
  constructor(
    private readonly filter: ToolFilter | undefined,
    private readonly pins: Pins | undefined,
  ) {}

  /** Whether the response to a request of this method is to be read. */
  reads(method: string): boolean {
    return Object.hasOwn(LISTS, method) || HANDSHAKES.has(method)
  }

  /** How the result of a request is shaped; undefined: it passes as it is. @param own whether `params` has the server's own name */
  shaping({ method, params }: Pick<Request, 'method' | 'params'>, own = false): Shaping | undefined {
    if (method !== 'tools/call' || !this.filter || typeof params.name !== 'string') return undefined
    const name = own ? params.name : this.filter.ownName(params.name)
    return name === undefined ? undefined : this.filter.shaping(name)
  }

  /**
   * The text of a response to a request of this method, as clients are to see it: without hidden characters, and without
   * what is blocked.
   * @param text of `raw`; the same text where nothing is left out or replaced
   */
  response(method: string, raw: JsonObject, text: string): string {
    if (!this.reads(method)) return text
    const shown = this.shown(method, raw, text)
    return shown === raw && !this.filter && !this.pins ? text : stringify(shown)
  }

  /** The same of a response that has no text yet. */
  shown(method: string, raw: JsonObject, text?: string): JsonObject {
    const { result } = raw
    if (!this.reads(method) || !isObject(result)) return raw
    const judged = this.judge(method, result)
    // A text without escapes shows what it holds: most lists are not walked.
    const clean = text !== undefined && isPlain(text) ? judged : visible(judged)
    return clean === result ? raw : { ...raw, result: clean }
  }

  private judge(method: string, result: JsonObject): JsonObject {
    const { filter, pins } = this
    if (HANDSHAKES.has(method)) return pins ? pins.handshake(result) : result
    const kind = LISTS[method] as string
    const list = result[kind]
    if (!Array.isArray(list)) return result
    let shown: Json[] = list
    if (pins && (kind === 'tools' || kind === 'prompts')) shown = pins.list(kind, shown)
    if (filter && kind === 'tools') shown = shown.flatMap(filter.show)
    return shown === list ? result : { ...result, [kind]: shown }
  }
}

/** Whether a JSON text is printable ASCII without escapes that could stand for other characters. */
function isPlain(text: string): boolean {
  return /^[\t\n\r\x20-\x7e]*$/.test(text) && !text.includes('\\u')
}

import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { Fault } from './fault.ts'
import { METHOD_NOT_FOUND } from './protocol.ts'

/** What a list says of a tool, as far as approval depends on it. */
export interface ListedTool {
  title: string | undefined
  /**
   * Whether it may destroy something. By the defaults of MCP (ToolAnnotations) it may, unless `readOnlyHint` is true or
   * `destructiveHint` is false.
   */
  destructive: boolean
}

type Tools = ReadonlyMap<string, ListedTool>

/** Asks what answers a client for a page of `tools/list`: the response as the client would see it. */
export type AskList = (params: JsonObject) => Promise<JsonObject | Fault>

/** Milliseconds for which a list is known; `list_changed` ends that before. */
const LIFE = 60_000
/** Lists of one backend that are kept; the oldest gives way. */
const MAX_LISTS = 1_000
/** Pages of a list that are read at the most. */
const MAX_PAGES = 100

interface Known {
  tools: Promise<Tools | Fault>
  until: number
}

/** Lists by what gave them and who saw them; what is served no more takes its lists with it. */
const lists = new WeakMap<object, Map<string, Known>>()

/** A tool as a client sees it; undefined: it sees none. @param viewer tells those apart that may see different lists */
export async function listedTool(
  name: string,
  of: object,
  viewer: string,
  ask: AskList,
): Promise<ListedTool | Fault | undefined> {
  const known = lists.get(of)?.get(viewer)
  if (known && known.until > performance.now()) {
    const tools = await known.tools
    const tool = tools instanceof Fault ? undefined : tools.get(name)
    if (tool) return tool
  }
  // A tool that was added since is in a new list.
  const tools = await read(of, viewer, ask)
  return tools instanceof Fault ? tools : tools.get(name)
}

/** A list has changed. */
export function forgetTools(of: object, viewer: string): void {
  lists.get(of)?.delete(viewer)
}

function read(of: object, viewer: string, ask: AskList): Promise<Tools | Fault> {
  const own = lists.get(of) ?? new Map<string, Known>()
  lists.set(of, own)
  own.delete(viewer)
  const known = { tools: fetchAll(ask), until: performance.now() + LIFE }
  own.set(viewer, known)
  if (own.size > MAX_LISTS) own.delete(own.keys().next().value as string)
  return known.tools
}

async function fetchAll(ask: AskList): Promise<Tools | Fault> {
  const tools = new Map<string, ListedTool>()
  let cursor: Json | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const response = await ask(cursor === undefined ? {} : { cursor })
    if (response instanceof Fault) return response
    const { result, error } = response
    if (isObject(error) && error.code === METHOD_NOT_FOUND) return tools
    if (!isObject(result) || !Array.isArray(result.tools))
      return new Fault('invalid', 'The server gave no list of its tools, so nobody knows which need approval')
    for (const tool of result.tools)
      if (isObject(tool) && typeof tool.name === 'string') tools.set(tool.name, listed(tool))
    if (typeof result.nextCursor !== 'string') return tools
    cursor = result.nextCursor
  }
  return tools
}

function listed({ title, annotations }: JsonObject): ListedTool {
  const hints = isObject(annotations) ? annotations : {}
  const own = [title, hints.title].find((one) => typeof one === 'string')
  return {
    title: own as string | undefined,
    destructive: hints.readOnlyHint !== true && hints.destructiveHint !== false,
  }
}

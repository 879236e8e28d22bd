import { createHash } from 'node:crypto'
import { isObject, type Json, type JsonObject, stringify } from '../json/index.ts'
import { giveWay } from '../text/index.ts'
import { Fault } from './fault.ts'
import { METHOD_NOT_FOUND, omit } from './protocol.ts'

/** The tools that a caller sees. The same list is the same object, whoever sees it. */
export interface ListedTools {
  readonly tools: readonly JsonObject[]
  /** By name; of two with the same name the last one. */
  readonly byName: ReadonlyMap<string, JsonObject>
  /** What a result of `tools/list` says besides. */
  readonly rest: JsonObject
  /** Of its JSON text. */
  readonly size: number
}

/** Asks what answers a client for a page of `tools/list`: the response as the client would see it. */
export type AskList = (params: JsonObject) => Promise<JsonObject | Fault>

/** Whose list is meant, and how it is read. */
export interface ListSource {
  /** What gives the list; what is served no more takes its lists with it. */
  of: object
  /** Among what is served by it, lists that are the same are one. */
  among: object
  /** Tells those apart that may see different lists. */
  viewer: string
  /** By which the list was cut. */
  rules: string
  /** It does not change as long as what gives it is served. */
  stands?: true
  ask: AskList
}

/** Milliseconds for which a list is known; `list_changed` ends that before. */
const LIFE = 60_000
/** Milliseconds for which a name that a new list did not have is unknown. */
const UNKNOWN = 5_000
/** Lists of one backend that are kept, and characters of those that differ; the oldest gives way. */
const MAX_LISTS = 1_000
const MAX_SIZE = 64_000_000
/** Pages of a list that are read at the most. */
const MAX_PAGES = 100

interface Known {
  list: Promise<ListedTools | Fault>
  /** Once it is there. */
  read?: ListedTools
  rules: string
  until: number
  /** Until then a name that is not in it is not looked for in a newer one. */
  searchedUntil?: number
}

/** Lists by their viewers. */
type ByViewer = Map<string, Known>
/** Lists by a digest of what they show. */
type ByDigest = Map<string, WeakRef<ListedTools>>

const lists = new WeakMap<object, ByViewer>()
const digests = new WeakMap<object, ByDigest>()

/** The list of a caller, no older than LIFE; where it has to be `fresh`, one that is being read, or read now. */
export function listedTools(source: ListSource, fresh = false): Promise<ListedTools | Fault> {
  const known = knownOf(source)
  const isFresh = source.stands || !known?.read
  return known && (isFresh || !fresh) ? known.list : read(source)
}

function knownOf({ of, viewer, rules }: ListSource): Known | undefined {
  const known = lists.get(of)?.get(viewer)
  return known?.rules === rules && known.until > performance.now() ? known : undefined
}

/** A tool as a client sees it; undefined: it sees none. */
export async function listedTool(
  name: string,
  source: ListSource,
): Promise<{ tool: JsonObject | undefined; list: ListedTools } | Fault> {
  const list = await listedTools(source)
  const tool = list instanceof Fault ? undefined : list.byName.get(name)
  if (tool) return { tool, list: list as ListedTools }
  // A tool that was added since is in a new list.
  const newer = await newerList(source)
  return newer instanceof Fault ? newer : { tool: newer.byName.get(name), list: newer }
}

/** Read again for all names that are looked for meanwhile, and a while after. */
async function newerList(source: ListSource): Promise<ListedTools | Fault> {
  const before = knownOf(source)
  const isSearched = before?.searchedUntil !== undefined && before.searchedUntil > performance.now()
  const newer = await listedTools(source, !isSearched)
  const known = knownOf(source)
  if (known && !isSearched) known.searchedUntil = performance.now() + UNKNOWN
  return newer
}

/** A list has changed. */
export function forgetTools(of: object, viewer: string): void {
  lists.get(of)?.delete(viewer)
}

function read({ of, among, viewer, rules, stands, ask }: ListSource): Promise<ListedTools | Fault> {
  const byViewer: ByViewer = lists.get(of) ?? new Map()
  lists.set(of, byViewer)
  const byDigest: ByDigest = digests.get(among) ?? new Map()
  digests.set(among, byDigest)
  byViewer.delete(viewer)
  const until = stands ? Infinity : performance.now() + LIFE
  const known: Known = { list: fetchAll(ask, byDigest), rules, until }
  byViewer.set(viewer, known)
  return known.list.then((list) => {
    if (list instanceof Fault) {
      // Whoever asks next asks the server again.
      if (byViewer.get(viewer) === known) byViewer.delete(viewer)
    } else {
      known.read = list
      makeRoom(byViewer)
      for (const [digest, other] of byDigest) if (!other.deref()) byDigest.delete(digest)
    }
    return list
  })
}

/** Lets go of the oldest lists, until those that are left are few and short enough. */
function makeRoom(byViewer: ByViewer): void {
  const kept = new Set<ListedTools>()
  let size = 0
  for (const [viewer, { read }] of [...byViewer].reverse()) {
    if (!read) continue
    if (!kept.has(read)) size += read.size
    kept.add(read)
    if (kept.size > 1 && size > MAX_SIZE) byViewer.delete(viewer)
  }
  while (byViewer.size > MAX_LISTS) byViewer.delete(byViewer.keys().next().value as string)
}

async function fetchAll(ask: AskList, byDigest: ByDigest): Promise<ListedTools | Fault> {
  const tools: Json[] = []
  let rest: JsonObject | undefined
  let cursor: Json | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const response = await ask(cursor === undefined ? {} : { cursor })
    if (response instanceof Fault) return response
    const { result, error } = response
    if (isObject(error) && error.code === METHOD_NOT_FOUND) break
    if (!isObject(result) || !Array.isArray(result.tools))
      return new Fault('invalid', 'The server gave no list of its tools, so nobody knows what they do')
    for (const tool of result.tools) tools.push(tool)
    rest ??= omit(result, 'tools', 'nextCursor')
    if (typeof result.nextCursor !== 'string') break
    cursor = result.nextCursor
  }
  const hash = createHash('sha256')
  let size = 0
  for (const part of [rest ?? {}, ...tools]) {
    const text = `${stringify(part)}\n`
    hash.update(text)
    size += text.length
    // Long lists take long.
    const pause = giveWay()
    if (pause) await pause
  }
  const digest = hash.digest('base64url')
  const found = byDigest.get(digest)?.deref()
  if (found) return found
  const list = listOf(tools, rest, size)
  byDigest.set(digest, new WeakRef(list))
  return list
}

function listOf(all: readonly Json[], rest: JsonObject = {}, size = 0): ListedTools {
  const tools = all.filter((tool): tool is JsonObject => isObject(tool) && typeof tool.name === 'string')
  return { tools, byName: new Map(tools.map((tool) => [tool.name as string, tool])), rest, size }
}

import { createHash } from 'node:crypto'
import { isObject, type Json, type JsonObject, stringify } from '../../json/index.ts'
import { paced } from '../../text/index.ts'
import type { Call } from '../call.ts'
import { Fault } from '../fault.ts'
import { listPages } from '../list-pages.ts'
import { METHOD_NOT_FOUND, omit } from '../protocol.ts'

/** The tools that a caller sees. Equal lists are the same object for all callers. */
export interface ListedTools {
  readonly tools: readonly JsonObject[]
  /** By name; the last one wins if names repeat. */
  readonly byName: ReadonlyMap<string, JsonObject>
  /** Other members of the `tools/list` result. */
  readonly rest: JsonObject
  /** Characters of its JSON text. */
  readonly size: number
}

/** Which list is meant, and how to read it. */
export interface ListSource {
  /** Object that provides the list; the cached list is freed with it. */
  of: object
  /** Scope in which equal lists are shared. */
  among: object
  /** Key of viewers that may see different lists. */
  viewer: string
  /** Key of the rules that filtered the list. */
  rules: string
  /** The list cannot change while its provider is served. */
  stands?: true
  /** Requests a page of `tools/list`; the response is the one the client would see. */
  ask(params: JsonObject): Promise<JsonObject | Fault>
}

/** Source of the tool list that the client of a call sees. */
export function listSource(call: Call): ListSource {
  const { of, among, key, kind } = call.viewer
  const rules = call.context.permissions?.key() ?? ''
  const ask: ListSource['ask'] = (params) => call.inquire('tools/list', params)
  return among.listsAlike
    ? { of, among, viewer: `${kind} ${rules}`, rules, stands: true, ask }
    : { of, among, viewer: key, rules, ask }
}

/** Milliseconds for which a list is cached, unless `list_changed` comes earlier. */
const LIFE = 60_000
/** Milliseconds for which a name missing from a new list counts as unknown. */
const UNKNOWN = 5_000
/** Maximum lists cached for one backend, and characters of the distinct ones; the oldest are dropped first. */
const MAX_LISTS = 1_000
const MAX_SIZE = 64_000_000

interface Known {
  list: Promise<ListedTools | Fault>
  /** Set once the list has been read. */
  read?: ListedTools
  rules: string
  until: number
  /** Time until which an unknown name does not cause another read. */
  searchedUntil?: number
}

/** Lists by viewer. */
type ByViewer = Map<string, Known>
/** Lists by digest of their content. */
type ByDigest = Map<string, WeakRef<ListedTools>>

const lists = new WeakMap<object, ByViewer>()
const digests = new WeakMap<object, ByDigest>()

/** The cached list if it is younger than LIFE. If `fresh`, starts a reading, or joins one under way. */
export function listedTools(source: ListSource, fresh = false): Promise<ListedTools | Fault> {
  const known = knownOf(source)
  const isFresh = source.stands || !known?.read
  return known && (isFresh || !fresh) ? known.list : read(source)
}

function knownOf({ of, viewer, rules }: ListSource): Known | undefined {
  const known = lists.get(of)?.get(viewer)
  return known?.rules === rules && known.until > performance.now() ? known : undefined
}

/** A tool as the client sees it; undefined if it is not listed. */
export async function listedTool(
  name: string,
  source: ListSource,
): Promise<{ tool: JsonObject | undefined; list: ListedTools } | Fault> {
  const list = await listedTools(source)
  const tool = list instanceof Fault ? undefined : list.byName.get(name)
  if (tool) return { tool, list: list as ListedTools }
  // The server may have added the tool since then.
  const newer = await newerList(source)
  return newer instanceof Fault ? newer : { tool: newer.byName.get(name), list: newer }
}

/** Reads the list again at most once for all unknown names of the next UNKNOWN ms. */
async function newerList(source: ListSource): Promise<ListedTools | Fault> {
  const before = knownOf(source)
  const isSearched = before?.searchedUntil !== undefined && before.searchedUntil > performance.now()
  const newer = await listedTools(source, !isSearched)
  const known = knownOf(source)
  if (known && !isSearched) known.searchedUntil = performance.now() + UNKNOWN
  return newer
}

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
      // Failures are not cached.
      if (byViewer.get(viewer) === known) byViewer.delete(viewer)
    } else {
      known.read = list
      makeRoom(byViewer)
      for (const [digest, other] of byDigest) if (!other.deref()) byDigest.delete(digest)
    }
    return list
  })
}

/** Drops the oldest lists beyond the limits of number and size. */
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

async function fetchAll(ask: ListSource['ask'], byDigest: ByDigest): Promise<ListedTools | Fault> {
  const tools: Json[] = []
  let rest: JsonObject | undefined
  for await (const response of listPages(ask)) {
    if (response instanceof Fault) return response
    const { result, error } = response
    if (isObject(error) && error.code === METHOD_NOT_FOUND) break
    if (!isObject(result) || !Array.isArray(result.tools))
      return new Fault('invalid', 'The server gave no list of its tools, so it is unknown what they do')
    for (const tool of result.tools) tools.push(tool)
    rest ??= omit(result, 'tools', 'nextCursor')
  }
  const hash = createHash('sha256')
  let size = 0
  const pace = paced()
  for (const part of [rest ?? {}, ...tools]) {
    const text = `${stringify(part)}\n`
    hash.update(text)
    size += text.length
    await pace(text.length)
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

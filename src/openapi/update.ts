import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isSeq, parse, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml'
import { isObject, type Json, type JsonObject, valueAt } from '../json/index.ts'
import type { Imported } from './index.ts'
import { hasAnchor, heldValue, type Merged, mergeMap, nodeOf } from './merge.ts'
import { writtenLike } from './written-like.ts'

/** A file with tools of an earlier import. */
export interface EditedFile {
  file: string
  text: string
}

export interface Updated {
  /** New texts of changed files. */
  files: EditedFile[]
  /** Operations such as `GET /pets`, with their tool and file. */
  added: UpdatedTool[]
  changed: (UpdatedTool & { parts: string[] })[]
  removed: UpdatedTool[]
  /** Parts changed in both the file and the description, which are kept. */
  conflicts: (UpdatedTool & { parts: string[] })[]
}

export interface UpdatedTool {
  operation: string
  tool: string
  file: string
}

type Tools = ReadonlyMap<string, JsonObject>

/** Members that callers depend on. */
const KEPT = new Set(['name'])

/**
 * Merges a new version of a description into edited configurations of an earlier import. Both versions are imported
 * again and compared, so that only changes of the API are applied: names, removed tools and manual edits are kept.
 * @throws Error for invalid YAML
 */
export function updateImport(before: Imported, after: Imported, given: readonly EditedFile[]): Updated {
  const made: Updated = { files: [], added: [], changed: [], removed: [], conflicts: [] }
  const files = ofImport(
    given.map(({ file, text }) => openFile(file, text)).filter((one) => one !== undefined),
    before,
  )
  const [old, next] = [toolsOf(before), toolsOf(after)]
  const held = new Map<string, Held>()
  for (const [operation, tool] of old) {
    const found = findTool(files, tool)
    if (found) held.set(operation, found)
  }
  for (const [operation, { file, node }] of held) {
    const [was, is] = [old.get(operation)!, next.get(operation)]
    const about = { operation, tool: String(node.get('name')), file: file.file }
    if (is) {
      const merged = mergeTool(node, was, is)
      if (merged.changed.length > 0) made.changed.push({ ...about, parts: merged.changed })
      if (merged.conflicts.length > 0) made.conflicts.push({ ...about, parts: merged.conflicts })
      continue
    }
    if (isDeepStrictEqual(heldValue(node), was) && !hasAnchor(node)) {
      file.tools.items.splice(file.tools.items.indexOf(node), 1)
      made.removed.push(about)
    } else made.conflicts.push({ ...about, parts: ['the operation was removed'] })
  }
  for (const [operation, tool] of next) {
    if (old.has(operation) || findTool(files, tool)) continue
    const file = fileFor(operation, after, files, held)
    if (file) made.added.push({ operation, tool: addTool(file, tool), file: file.file })
  }
  for (const file of files) mergeConfig(file, before, after, made)
  const touched = new Set([...made.added, ...made.changed, ...made.removed].map(({ file }) => file))
  for (const { file, text, document } of files)
    if (touched.has(file)) made.files.push({ file, text: writtenLike(text, document) })
  return made
}

interface OpenFile extends EditedFile {
  document: Document
  tools: YAMLSeq
}

interface Held {
  file: OpenFile
  node: YAMLMap
}

/** Undefined: it has no tools. @throws Error */
function openFile(file: string, text: string): OpenFile | undefined {
  const document = parseDocument(text, { logLevel: 'error', prettyErrors: false })
  const [error] = document.errors
  if (error) throw new Error(`${file} is not YAML: ${error.message}`)
  const tools = document.get('tools')
  return isSeq(tools) ? { file, text, document, tools } : undefined
}

/** The tools of an import, by operation. */
function toolsOf({ configurations, listed }: Imported): Tools {
  const byName = new Map<Json | undefined, JsonObject>()
  for (const { text } of configurations)
    for (const tool of (parse(text) as { tools: JsonObject[] }).tools) byName.set(tool.name, tool)
  return new Map(
    listed.flatMap(({ operation, name }) => {
      const tool = name === undefined ? undefined : byName.get(name)
      return tool ? [[operation, tool] as const] : []
    }),
  )
}

/** The files of the import by name or address, as a folder may contain others with the same tool names. */
function ofImport(files: readonly OpenFile[], { configurations }: Imported): OpenFile[] {
  const names = new Set<unknown>(configurations.map(({ name }) => name))
  const urls = new Set(configurations.flatMap(({ text }) => urlsOf(parse(text))))
  const own = files.filter(({ document }) => {
    const value = document.toJS({ maxAliasCount: 100 }) as Json
    return isObject(value) && (names.has(value.name) || urlsOf(value).some((url) => urls.has(url)))
  })
  return own.length > 0 ? own : [...files]
}

function urlsOf(value: Json): Json[] {
  const config = valueAt(value, ['servers', '0', 'config'])
  const entries = isObject(config) ? Object.entries(config) : []
  return entries.filter(([key]) => /^url\d*$/.test(key)).map(([, url]) => url)
}

/** The tool by name and request, by name alone, or by request if renamed. */
function findTool(files: readonly OpenFile[], { name, method, endpoint }: JsonObject): Held | undefined {
  const all = files.flatMap((file) => file.tools.items.filter(isMap).map((node) => ({ file, node })))
  const isNamed = ({ node }: Held) => node.get('name') === name
  const requests = ({ node }: Held) => node.get('method') === method && node.get('endpoint') === endpoint
  return all.find((one) => isNamed(one) && requests(one)) ?? all.find(isNamed) ?? all.find(requests)
}

function mergeTool(node: YAMLMap, before: JsonObject, after: JsonObject): Merged {
  const merged: Merged = { changed: [], conflicts: [] }
  mergeMap(node, before, after, merged, '', KEPT)
  return merged
}

/** The only file, or the one with most tools of the same group. */
function fileFor(
  operation: string,
  { configurations, listed }: Imported,
  files: readonly OpenFile[],
  held: ReadonlyMap<string, Held>,
): OpenFile | undefined {
  const names = new Map(listed.map((one) => [one.operation, one.name]))
  const beside = configurations.find(({ tools }) => tools.includes(names.get(operation) ?? ''))?.tools ?? []
  const votes = new Map<OpenFile, number>()
  for (const [other, { file }] of held)
    if (beside.includes(names.get(other) ?? '')) votes.set(file, (votes.get(file) ?? 0) + 1)
  const [best] = [...votes].sort((a, b) => b[1] - a[1])
  return best?.[0] ?? files[0]
}

/** @returns the tool's name, unique in the file */
function addTool({ tools }: OpenFile, tool: JsonObject): string {
  const taken = new Set(tools.items.map((item) => (isMap(item) ? item.get('name') : undefined)))
  let name = String(tool.name)
  for (let n = 2; taken.has(name); n++) name = `${String(tool.name)}_${n}`
  const node = nodeOf({ ...tool, name })
  node.spaceBefore = true
  tools.items.push(node)
  return name
}

/** Merges addresses and credentials of the server. */
function mergeConfig(
  { file, document, tools }: OpenFile,
  before: Imported,
  after: Imported,
  made: Updated,
): void {
  const config = document.getIn(['servers', 0, 'config'])
  if (!isMap(config)) return
  const merged: Merged = { changed: [], conflicts: [] }
  const was = configOf(before)
  const used = JSON.stringify(tools.toJSON())
  // New values are added where a tool reads them.
  const isWanted = (key: string) => Object.hasOwn(was, key) || used.includes(`.Config.${key}`)
  const is = Object.fromEntries(Object.entries(configOf(after)).filter(([key]) => isWanted(key)))
  mergeMap(config, was, is, merged)
  const about = { operation: 'all operations', tool: 'config', file }
  if (merged.changed.length > 0) made.changed.push({ ...about, parts: merged.changed })
  if (merged.conflicts.length > 0) made.conflicts.push({ ...about, parts: merged.conflicts })
}

function configOf({ configurations }: Imported): JsonObject {
  const all = configurations.map(({ text }) => {
    const { servers } = parse(text) as { servers: JsonObject[] }
    return isObject(servers[0]?.config) ? servers[0].config : {}
  })
  return Object.assign({}, ...all)
}

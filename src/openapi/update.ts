import { isDeepStrictEqual } from 'node:util'
import { type Document, isMap, isSeq, parse, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import type { Imported } from './index.ts'
import { heldValue, type Merged, mergeMap, nodeOf } from './merge.ts'
import { LAYOUT } from './yaml.ts'

/** A file with tools of an earlier import. */
export interface EditedFile {
  file: string
  text: string
}

export interface Updated {
  /** The new texts of the files that changed. */
  files: EditedFile[]
  /** Operations, such as `GET /pets`, each with the name of its tool and of the file that it is in. */
  added: UpdatedTool[]
  changed: (UpdatedTool & { parts: string[] })[]
  removed: UpdatedTool[]
  /** Parts that the file and the description both changed, which stay as the file has them. */
  conflicts: (UpdatedTool & { parts: string[] })[]
}

export interface UpdatedTool {
  operation: string
  tool: string
  file: string
}

type Tools = ReadonlyMap<string, JsonObject>

/** A tool stays what its callers know it as. */
const KEPT = new Set(['name'])

/**
 * Merges a new version of a description into configurations that were imported from an earlier one and edited since. The
 * versions are compared as imports of today, so that only what the API changed is new: names, removed tools, and all that a
 * person wrote stay.
 * @throws Error for a file that is no YAML
 */
export function updateImport(before: Imported, after: Imported, given: readonly EditedFile[]): Updated {
  const made: Updated = { files: [], added: [], changed: [], removed: [], conflicts: [] }
  const files = given.map(({ file, text }) => openFile(file, text)).filter((one) => one !== undefined)
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
    if (isDeepStrictEqual(heldValue(node), was)) {
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
  for (const { file, document } of files)
    if (touched.has(file)) made.files.push({ file, text: document.toString(LAYOUT) })
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

/** The tools of an import by their operations. */
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

/** The tool by its name, or by what it requests where it was renamed. */
function findTool(files: readonly OpenFile[], { name, method, endpoint }: JsonObject): Held | undefined {
  const all = files.flatMap((file) => file.tools.items.filter(isMap).map((node) => ({ file, node })))
  return (
    all.find(({ node }) => node.get('name') === name) ??
    all.find(({ node }) => node.get('method') === method && node.get('endpoint') === endpoint)
  )
}

function mergeTool(node: YAMLMap, before: JsonObject, after: JsonObject): Merged {
  const merged: Merged = { changed: [], conflicts: [] }
  mergeMap(node, before, after, merged, '', KEPT)
  return merged
}

/** The only file, else the one with most of the tools that the import puts beside it. */
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

/** @returns the name of the tool, unlike the others of the file */
function addTool({ tools }: OpenFile, tool: JsonObject): string {
  const taken = new Set(tools.items.map((item) => (isMap(item) ? item.get('name') : undefined)))
  let name = String(tool.name)
  for (let n = 2; taken.has(name); n++) name = `${String(tool.name)}_${n}`
  const node = nodeOf({ ...tool, name })
  node.spaceBefore = true
  tools.items.push(node)
  return name
}

/** Addresses and credentials of the server. */
function mergeConfig({ file, document }: OpenFile, before: Imported, after: Imported, made: Updated): void {
  const config = document.getIn(['servers', 0, 'config'])
  if (!isMap(config)) return
  const merged: Merged = { changed: [], conflicts: [] }
  mergeMap(config, configOf(before), configOf(after), merged)
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

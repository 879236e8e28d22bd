import { isDeepStrictEqual } from 'node:util'
import {
  Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parse,
  parseDocument,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml'
import { isObject, type Json, type JsonObject, valueAt } from '../json/index.ts'
import type { Imported } from './index.ts'
import { LAYOUT, layOut } from './yaml.ts'

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

interface UpdatedTool {
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
  for (const file of files) mergeServer(file, before, after, made)
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
  const server = valueAt(value, ['servers', '0'])
  const { baseUrl, config } = isObject(server) ? server : {}
  const entries = isObject(config) ? Object.entries(config) : []
  const others = entries.filter(([key]) => /^url\d*$/.test(key)).map(([, url]) => url)
  return baseUrl === undefined ? others : [baseUrl, ...others]
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

/** Merges the address, headers and credentials of the server. */
function mergeServer(
  { file, document, tools }: OpenFile,
  before: Imported,
  after: Imported,
  made: Updated,
): void {
  const server = document.getIn(['servers', 0])
  if (!isMap(server)) return
  const merged: Merged = { changed: [], conflicts: [] }
  const [was, is] = [serverOf(before), serverOf(after)]
  const used = JSON.stringify(tools.toJSON())
  // New values are added where a tool reads them.
  const known = isObject(was.config) ? was.config : {}
  const isWanted = (key: string) => Object.hasOwn(known, key) || used.includes(`.Config.${key}`)
  if (isObject(is.config))
    is.config = Object.fromEntries(Object.entries(is.config).filter(([key]) => isWanted(key)))
  // A file of an earlier release says in each tool what its server says now.
  for (const key of ['baseUrl', 'headers'] as const) {
    const isMissing = !server.has(key) && made.added.some((one) => one.file === file)
    if (isMissing && is[key] !== undefined) server.set(key, nodeOf(is[key]))
  }
  mergeMap(server, was, is, merged)
  const about = { operation: 'all operations', tool: 'server', file }
  if (merged.changed.length > 0) made.changed.push({ ...about, parts: merged.changed })
  if (merged.conflicts.length > 0) made.conflicts.push({ ...about, parts: merged.conflicts })
}

/** The servers of an import as one, without description. */
function serverOf({ configurations }: Imported): JsonObject {
  const all = configurations.map(({ text }) => (parse(text) as { servers: JsonObject[] }).servers[0] ?? {})
  const merge = (key: string) =>
    Object.assign({}, ...all.map((one) => (isObject(one[key]) ? one[key] : {}))) as JsonObject
  const { description: _, ...rest } = Object.assign({}, ...all) as JsonObject
  const maps = ['config', 'headers'].map((key) => [key, merge(key)] as const)
  return { ...rest, ...Object.fromEntries(maps.filter(([, map]) => Object.keys(map).length > 0)) }
}

/** Layouts of files, that of imports first. */
const LAYOUTS = [2, 4].flatMap((indent) =>
  [true, false].flatMap((indentSeq) =>
    [true, false].map((flowCollectionPadding) => ({ ...LAYOUT, indent, indentSeq, flowCollectionPadding })),
  ),
)

/** Serializes a document like the original text: layout, line ends and byte order mark. */
function writtenLike(text: string, document: Document): string {
  const plain = text.replaceAll('\r\n', '\n')
  const lines = new Set(plain.split('\n'))
  const before = parseDocument(plain, { logLevel: 'error', prettyErrors: false })
  const alike = (layout: (typeof LAYOUTS)[number]) =>
    before
      .toString(layout)
      .split('\n')
      .filter((line) => lines.has(line)).length
  const [best] = LAYOUTS.map((layout) => ({ layout, lines: alike(layout) })).sort((a, b) => b.lines - a.lines)
  const made = document.toString(best!.layout)
  const ended = text.includes('\r\n') ? made.replaceAll('\n', '\r\n') : made
  return text.startsWith('\uFEFF') ? `\uFEFF${ended}` : ended
}

/** Result of a merge: paths of changed values, and of conflicts, which are kept. */
interface Merged {
  changed: string[]
  conflicts: string[]
}

/**
 * Merges the changes between two versions of a map into an edited one: unedited values are updated, comments and order
 * are kept. Lists of named maps are merged by name.
 * @param except keys that are kept
 */
function mergeMap(
  node: YAMLMap,
  before: JsonObject,
  after: JsonObject,
  merged: Merged,
  path = '',
  except: ReadonlySet<string> = new Set(),
): void {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (except.has(key)) continue
    const at = path === '' ? key : `${path}.${key}`
    const held = node.get(key, true) as Node | undefined
    const put = (value: Json | undefined) => {
      if (value === undefined) node.delete(key)
      else node.set(key, replaced(held, value))
    }
    mergeValue(held, before[key], after[key], merged, at, put)
  }
}

function mergeValue(
  held: Node | undefined,
  before: Json | undefined,
  after: Json | undefined,
  merged: Merged,
  path: string,
  put: (value: Json | undefined) => void,
): void {
  if (isDeepStrictEqual(before, after)) return
  const own = heldValue(held)
  if (isDeepStrictEqual(own, after)) return
  // Nested values first, to keep their comments.
  if (isMap(held) && isObject(before) && isObject(after)) mergeMap(held, before, after, merged, path)
  else if (isSeq(held) && isNamed(own) && isNamed(before) && isNamed(after))
    mergeNamed(held, before, after, merged, path)
  else if (isDeepStrictEqual(own, before) && !hasAnchor(held)) {
    merged.changed.push(path)
    put(after)
  } else merged.conflicts.push(path)
}

type Named = (JsonObject & { name: string })[]

function isNamed(value: Json | undefined): value is Named {
  return Array.isArray(value) && value.every((one) => isObject(one) && typeof one.name === 'string')
}

function mergeNamed(list: YAMLSeq, before: Named, after: Named, merged: Merged, path: string): void {
  for (const name of new Set([...before, ...after].map((one) => one.name))) {
    const held = list.items.find((item) => isMap(item) && item.get('name') === name) as Node | undefined
    const [old, next] = [before, after].map((all) => all.find((one) => one.name === name))
    mergeValue(held, old, next, merged, `${path}.${name}`, (value) => {
      const at = held === undefined ? list.items.length : list.items.indexOf(held)
      list.items.splice(at, held === undefined ? 0 : 1, ...(value === undefined ? [] : [nodeOf(value)]))
    })
  }
}

/** Values repeated elsewhere in the file are kept. */
function hasAnchor(node: Node | undefined): boolean {
  let found = false
  if (node)
    visit(node, {
      Node(_, one) {
        found ||= 'anchor' in one && one.anchor !== undefined
      },
    })
  return found
}

/** A node with the comments of the one that it replaces. */
function replaced(held: Node | undefined, value: Json): Node {
  const made = nodeOf(value)
  const { commentBefore: above = null, comment: beside = null } = held ?? {}
  // A comment beside a scalar would be below a list or map.
  const isMoved = isScalar(held) && !isScalar(made)
  const before = [above, isMoved ? beside : null].filter((one) => one !== null)
  if (before.length > 0) made.commentBefore = before.join('\n')
  if (beside !== null && !isMoved) made.comment = beside
  return made
}

function nodeOf(value: Json): Node {
  const node = new Document(value, { aliasDuplicateObjects: false }).contents as Node
  layOut(node)
  return node
}

/** The value in the file. */
function heldValue(node: Node | undefined): Json | undefined {
  return node === undefined ? undefined : (node.toJSON() as Json)
}

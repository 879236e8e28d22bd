import type { ErrorObject } from 'ajv'
import { isObject, type Json, type JsonObject, pointerOf, setOwn, stringify, valueAt } from '../json/index.ts'
import { adviseOn, written } from './misplaced.ts'
import type { Path } from './model.ts'
import { pointerPath } from './schema-findings.ts'
import { type LoadedSchema, schemaErrorsOf } from './schemas.ts'
import { type Shape, shapeAt } from './shape.ts'
import { likelyType } from './transports.ts'
import type { Nodes, YamlNode } from './yaml/places.ts'

interface Faulty {
  file: string
  value: Json
  /** Characters of the file. */
  size: number
  schema: LoadedSchema
  nodes: Nodes
  errors: readonly ErrorObject[]
  /** Nodes that have a finding about their value already. */
  reportedNodes: ReadonlySet<YamlNode>
  /** Keys that the file has in a wrong place, by their right one, such as `routers[].prefix`. */
  misplaced: ReadonlySet<string>
}

/** A value that the schema accepts, for finding further mistakes; it is never served. */
export interface Repaired {
  value: JsonObject
  nodes: Nodes
  /** Whether the value at a path differs from the file. */
  isRepaired: (path: Path) => boolean
}

/**
 * Makes a faulty configuration match the schema: misspelt keys are renamed, other faulty parts are removed, and
 * harmless values replace required ones.
 * @param faulty its value is changed
 * @param most maximum errors of one validation; with so many the file is not repaired
 * @returns undefined if it cannot be repaired
 */
export function repair(faulty: Faulty, most: number): Repaired | undefined {
  const { size, schema } = faulty
  if (!isObject(faulty.value)) return undefined
  const tree = new Tree(faulty.value)
  const nodes = tree.nodes(faulty.nodes)
  let names: string[] | undefined
  const configNames = () => (names ??= namesRead(tree.at(['tools']) ?? null, 'Config'))
  const context: RepairContext = { file: faulty.file, configNames }
  let { errors } = faulty
  for (const path of faultyValuePaths(faulty)) removeOrReplace(tree, path, context)
  for (let round = 0; round === 0 || errors.length > 0; round++) {
    // Removing a value may make its map faulty, and that its list.
    if (round === 12 || errors.length >= most) return undefined
    // Keys first: a missing one may be there under another name.
    for (const error of errors) if (error.keyword === 'additionalProperties') repairKey(error, tree, schema)
    for (const error of errors)
      if (error.keyword !== 'additionalProperties') repairError(error, tree, context)
    tree.closeGaps()
    errors = schemaErrorsOf(tree.value, size, schema, nodes, most)
  }
  const { value } = tree
  for (const i of (value.tools as Json[] | undefined)?.keys() ?? []) allowUnknownArguments(['tools', i], tree)
  const lists = [...faulty.misplaced].map((key) => (key === 'prefix' ? 'routers' : key.replace(/\[\].*/, '')))
  // A key in a wrong place may have been meant for a list that is missing.
  const absent = new Set(lists.filter((key) => !(key in value)))
  const isRepaired = (path: Path) =>
    tree.isChanged(path) ||
    (path.length === 1 && absent.has(String(path[0]))) ||
    (faulty.misplaced.size > 0 &&
      faulty.misplaced.has(written(path.map((key) => (typeof key === 'number' ? '[]' : key)))))
  return { value, nodes, isRepaired }
}

type Key = string | number

/** Replaces a removed item until `closeGaps`. */
const REMOVED_ITEM: Json = []

/** A value with moved, removed and added members that knows the original place of each. */
class Tree {
  /** The changed keys of each object; of a list only whether any item changed. */
  readonly #changes = new Map<Json, Set<Key>>()
  /** Original keys and indexes, by the current ones. */
  readonly #origins = new Map<Json, Map<Key, Key>>()
  readonly #gaps = new Set<Json[]>()

  constructor(readonly value: JsonObject) {}

  at(path: Path): Json | undefined {
    return valueAt(this.value, path)
  }

  /** Replaces the value at a path; undefined removes the member or item. */
  replace(path: Path, next: Json | undefined) {
    const holder = this.at(path.slice(0, -1))
    const key = path.at(-1)
    if (holder === REMOVED_ITEM || key === undefined) return
    this.#markAll(next)
    if (Array.isArray(holder)) {
      if (next === undefined) this.#gaps.add(holder)
      this.#mark(holder, key)
      holder[Number(key)] = next ?? REMOVED_ITEM
    } else if (isObject(holder)) {
      this.#mark(holder, key)
      if (next === undefined) delete holder[key]
      else setOwn(holder, String(key), next)
    }
  }

  /** Renames a member and sets `value`, of the same form; its contents keep their original places. */
  rename(path: Path, key: string, next: Json) {
    const holder = this.at(path.slice(0, -1))
    const old = path.at(-1)
    if (!isObject(holder) || old === undefined) return
    setOwn(holder, key, next)
    delete holder[old]
    this.#origins.set(holder, new Map(this.#origins.get(holder)).set(key, old))
  }

  /** Closes the gaps of removed items; until then, indexes stay the same. */
  closeGaps() {
    for (const list of this.#gaps) {
      const kept = [...list.keys()].filter((i) => list[i] !== REMOVED_ITEM)
      const was = this.#origins.get(list)
      this.#origins.set(list, new Map(kept.map((i, now) => [now, was?.get(i) ?? i])))
      list.splice(0, list.length, ...kept.map((i) => list[i]!))
    }
    this.#gaps.clear()
  }

  /** Whether a value was replaced or removed at the path, or in the list there. */
  isChanged(path: Path): boolean {
    const holder = this.at(path.slice(0, -1)) ?? null
    const here = this.at(path)
    return (
      (isObject(holder) && this.#changes.get(holder)?.has(path.at(-1) ?? '') === true) ||
      (Array.isArray(here) && this.#changes.has(here))
    )
  }

  /** The nodes of the file, by paths of this tree. */
  nodes(nodes: Nodes): Nodes {
    return { at: (path) => nodes.at(this.#original(path)), key: (path) => nodes.key(this.#original(path)) }
  }

  #original(path: Path): Path {
    return path.map((key, i) => this.#origins.get(this.at(path.slice(0, i)) ?? null)?.get(key) ?? key)
  }

  #mark(holder: Json, key: Key) {
    this.#changes.set(holder, (this.#changes.get(holder) ?? new Set()).add(key))
  }

  /** Marks every part of an inserted value as changed. */
  #markAll(value: Json | undefined) {
    if (!isObject(value) && !Array.isArray(value)) return
    for (const [key, held] of Object.entries(value)) {
      this.#mark(value, key)
      this.#markAll(held)
    }
  }
}

/** Paths of values that are nothing but a faulty variable or alias; a text with more around it may still be useful. */
function faultyValuePaths({ value, nodes, reportedNodes }: Faulty): Path[] {
  if (reportedNodes.size === 0) return []
  const visit = (at: Json, path: Path): Path[] => {
    if (Array.isArray(at)) return at.flatMap((item, i) => visit(item, [...path, i]))
    if (isObject(at)) return Object.entries(at).flatMap(([key, member]) => visit(member, [...path, key]))
    if (at !== null && !(typeof at === 'string' && /^(?:\$\{[^}]*\})?$/.test(at))) return []
    const node = nodes.at(path)
    return node && reportedNodes.has(node) ? [path] : []
  }
  return visit(value, [])
}

function repairKey(error: ErrorObject, tree: Tree, schema: LoadedSchema) {
  const { instancePath, params } = error
  const path = pointerPath(instancePath, tree.value)
  const { means: close } = adviseOn(error, path, schema)
  const own = [...path, params.additionalProperty]
  const value = tree.at(own)
  if (!close || value === undefined || tree.at([...path, close]) !== undefined)
    return tree.replace(own, undefined)
  tree.rename(own, close, scalarsAsTexts(value, shapeAt(schema.shape, [...path, close])))
}

/** Below an unknown key, scalars have the types of YAML: where the schema requires strings, they become strings. */
function scalarsAsTexts(value: Json, shape: Shape): Json {
  if (Array.isArray(value)) return value.map((item) => scalarsAsTexts(item, shape.items))
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, scalarsAsTexts(member, shapeAt(shape, [key]))]),
    )
  if (shape.kind !== 'text' || typeof value === 'string') return value
  return value === null ? '' : stringify(value)
}

function repairError({ keyword, instancePath, params }: ErrorObject, tree: Tree, context: RepairContext) {
  const path = pointerPath(instancePath, tree.value)
  if (keyword === 'if') return
  if (keyword !== 'required') return removeOrReplace(tree, path, context)
  const missing = [...path, params.missingProperty]
  if (tree.at(missing) !== undefined) return
  // The holder is invalid without this member: leave it out too.
  removeOrReplace(tree, ruleOf(pointerOf(missing)) ? missing : path, context)
}

function removeOrReplace(tree: Tree, path: Path, context: RepairContext) {
  const rule = ruleOf(pointerOf(path))
  if (rule && 'without' in rule) return tree.replace(path.slice(0, rule.without), undefined)
  const holder = tree.at(path.slice(0, -1))
  tree.replace(path, rule?.fill(isObject(holder) ? holder : {}, context))
}

/** An argument of unknown type may be any value; if one is missing, all arguments that templates read are declared. */
function allowUnknownArguments(path: Path, tree: Tree) {
  const tool = tree.at(path) as { args?: JsonObject[]; inputSchema?: JsonObject }
  const { args = [], inputSchema } = tool
  const unknown = (...keys: Path) => tree.isChanged([...path, ...keys])
  const untyped = args.filter((_, j) => unknown('args', j, 'type')).map(({ name }) => name as string)
  const unnamed = args.filter((_, j) => unknown('args', j, 'name'))
  // In this position no template has to name the argument.
  for (const arg of unnamed) arg.position = 'query'
  const open = unknown('args') || unknown('inputSchema') || unnamed.length > 0
  if (untyped.length === 0 && !open) return
  const { properties = {}, required = [] } = inputSchema ?? {}
  if (!isObject(properties) || !Array.isArray(required)) return
  const read = open ? namesRead(tool as JsonObject, 'Args') : []
  const known = new Set([...Object.keys(properties), ...args.map(({ name }) => name as string)])
  const added = [...untyped, ...read.filter((name) => !known.has(name))]
  tool.inputSchema = {
    type: 'object',
    ...inputSchema,
    properties: { ...properties, ...Object.fromEntries(added.map((name) => [name, {}])) },
    required: [...required, ...(open ? added : [])],
    additionalProperties: open || (inputSchema?.additionalProperties ?? inputSchema !== undefined),
  }
}

/**
 * The repair of a faulty or missing value in a configuration that is only checked for further findings:
 * `fill` puts another value in its place, `without` leaves out the map or list at that depth with its contents.
 */
type RepairRule = { fill: (holder: JsonObject, context: RepairContext) => Json } | { without: number }

/** The context for a replacement value. */
interface RepairContext {
  file: string
  /** Names that templates read behind `.Config`. */
  configNames: () => readonly string[]
}

const fill = (value: Json): RepairRule => ({ fill: () => value })
/** Prints nothing, and counts as a use of every argument, as the actual uses are unknown. */
const TEMPLATE = '{{with .Args}}{{end}}'
const content = (): JsonObject => ({ type: 'text', text: TEMPLATE })

/** By JSON pointer. A value without a rule is removed alone. */
const RULES: [RegExp, RepairRule][] = [
  // Unique, as the path of the file is.
  [/^\/name$/, { fill: (_holder, { file }) => file }],
  [/^\/prefix$/, fill('/unnamed')],
  [/^\/(?:servers|mcpServers|tools|prompts|tools\/\d+\/args)\/\d+\/name$/, fill('unnamed')],
  [/^\/routers\/\d+\/server$/, fill('unnamed')],
  [/^\/routers\/\d+\/prefix$/, fill('/unnamed')],
  [/^\/routers\/\d+\/auth(?:\/|$)/, { without: 3 }],
  // Without a server the tools would have no `.Config`.
  [/^\/servers$/, { fill: (_holder, context) => [serverOf(context)] }],
  [/^\/servers\/\d+$/, { fill: (_holder, context) => serverOf(context) }],
  [/^\/servers\/\d+\/baseUrl$/, fill('http://localhost')],
  [/^\/servers\/\d+\/config$/, { fill: (_holder, { configNames }) => configOf(configNames()) }],
  [/^\/servers\/\d+\/config\/[^/]*$/, fill('http://localhost')],
  [/^\/tools\/\d+\/endpoint$/, fill(`http://localhost/${TEMPLATE}`)],
  // With GET a body would be another mistake.
  [/^\/tools\/\d+\/method$/, fill('POST')],
  // With an unknown media type the body is not parsed as JSON.
  [/^\/tools\/\d+\/headers$/, { fill: () => ({ 'Content-Type': TEMPLATE }) }],
  [/^\/tools\/\d+\/headers\/[^/]*$/, fill(TEMPLATE)],
  [/^\/tools\/\d+\/(?:request|response|error)Body$/, fill(TEMPLATE)],
  [/^\/tools\/\d+\/inputSchema$/, { fill: () => ({ type: 'object' }) }],
  [/^\/tools\/\d+\/proxy(?:\/|$)/, { without: 3 }],
  [/^\/tools\/\d+\/args\/\d+\/position$/, fill('query')],
  [/^\/tools\/\d+\/args\/\d+\/required$/, fill(true)],
  [
    /^\/tools\/\d+\/args\/\d+\/type$/,
    { fill: ({ items, properties }) => (items ? 'array' : properties ? 'object' : 'string') },
  ],
  [/^\/tools\/\d+\/args\/\d+\/(?:.*\/)?properties\/[^/]*$/, { fill: () => ({}) }],
  [/^\/prompts\/\d+\/arguments(?:\/|$)/, { without: 2 }],
  [/^\/prompts\/\d+\/promptResponse$/, { fill: () => [{ role: 'user', content: content() }] }],
  [/^\/prompts\/\d+\/promptResponse\/\d+$/, { fill: () => ({ role: 'user', content: content() }) }],
  [/^\/prompts\/\d+\/promptResponse\/\d+\/role$/, fill('user')],
  [/^\/prompts\/\d+\/promptResponse\/\d+\/content$/, { fill: content }],
  [/^\/prompts\/\d+\/promptResponse\/\d+\/content\/type$/, fill('text')],
  [/^\/prompts\/\d+\/promptResponse\/\d+\/content\/text$/, fill(TEMPLATE)],
  [/^\/mcpServers\/\d+\/type$/, { fill: likelyType }],
  [/^\/mcpServers\/\d+\/command$/, fill('true')],
  [/^\/mcpServers\/\d+\/url$/, fill('http://localhost/')],
  [/^\/notifier(?:\/|$)/, { without: 1 }],
]

function ruleOf(pointer: string): RepairRule | undefined {
  return RULES.find(([pattern]) => pattern.test(pointer))?.[1]
}

function serverOf({ configNames }: RepairContext): JsonObject {
  return { name: 'unnamed', config: configOf(configNames()) }
}

function configOf(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, 'http://localhost']))
}

/** The names behind `.Config` or `.Args` in any text of a value. */
function namesRead(value: Json, root: 'Config' | 'Args'): string[] {
  const found = stringify(value).matchAll(new RegExp(`\\.${root}(?:\\.(\\w+)| +\\\\"([^"\\\\]*))`, 'g'))
  return [...new Set([...found].map(([, field, key]) => field ?? key ?? ''))]
}

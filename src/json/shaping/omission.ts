import { isObject, type Json, type JsonObject, setOwn } from '../index.ts'
import type { Entry, MaskFault, Step } from './mask-text.ts'

/** The parts that masks remove from a value. */
interface Node {
  whole: boolean
  byName: Map<string, Node>
  members?: Node
  items?: Node
  /** Removed at any depth below. */
  deep?: Node
  /** Whether it applies to everything below too. */
  lasting: boolean
}

/** The nodes that apply to a value. */
export interface Drop {
  readonly nodes: readonly Node[]
  /** The nodes that apply to everything below. */
  readonly lasting: Drop
}

/** Compiles the entries of `drop`. */
export function compileDrop(entries: readonly Entry[]): Drop | MaskFault {
  const root = emptyNode(false)
  for (const entry of entries) {
    const fault = add(root, entry)
    if (fault) return fault
  }
  return dropOf([root])
}

function emptyNode(lasting: boolean): Node {
  return { whole: false, byName: new Map(), lasting }
}

function add(node: Node, { name, steps, fields, start, end }: Entry): MaskFault | undefined {
  if (name !== undefined) return { fault: 'gives a name to what it leaves out', start, end }
  let at = node
  for (const step of steps) at = below(at, step)
  if (!fields) at.whole = true
  for (const field of fields ?? []) {
    const fault = add(at, field)
    if (fault) return fault
  }
  return undefined
}

function below(node: Node, step: Step): Node {
  if (typeof step === 'string') {
    const isDeep = step === 'deep'
    // `**.**` equals `**`.
    if (isDeep && node.lasting) return node
    node[step] ??= emptyNode(isDeep)
    return node[step]
  }
  const next = node.byName.get(step.member) ?? emptyNode(false)
  node.byName.set(step.member, next)
  return next
}

function dropOf(given: readonly Node[]): Drop {
  const nodes = [...new Set(given.flatMap((node) => (node.deep ? [node, node.deep] : [node])))]
  const lasting = nodes.filter((node) => node.lasting)
  const drop = { nodes } as { nodes: Node[]; lasting: Drop }
  drop.lasting = lasting.length === nodes.length ? drop : dropOf(lasting)
  return drop
}

/** The drop for a member or, without a name, for an item. */
export function dropBelow(drop: Drop, name?: string): Drop {
  let more: Node[] | undefined
  for (const { byName, members, items } of drop.nodes) {
    const found = name === undefined ? [items] : [byName.get(name), members]
    for (const node of found) if (node) more = [...(more ?? []), node]
  }
  return more ? dropOf([...more, ...drop.lasting.nodes]) : drop.lasting
}

export function isDropped({ nodes }: Drop): boolean {
  return nodes.some(({ whole }) => whole)
}

/** Whether a drop removes some members of this value by name. */
export function dropsByName({ nodes }: Drop): boolean {
  return nodes.some(({ byName }) => byName.size > 0)
}

/** The value without removed parts; the same object if nothing changes. */
export function without(drop: Drop, value: Json): Json {
  if (drop.nodes.length === 0) return value
  if (Array.isArray(value)) {
    const next = dropBelow(drop)
    return isDropped(next) ? [] : value.map((item) => without(next, item))
  }
  if (!isObject(value)) return value
  const left: JsonObject = {}
  for (const [name, member] of Object.entries(value)) {
    const next = dropBelow(drop, name)
    if (!isDropped(next)) setOwn(left, name, without(next, member))
  }
  return left
}

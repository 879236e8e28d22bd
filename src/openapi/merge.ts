import { isDeepStrictEqual } from 'node:util'
import { Document, isMap, isScalar, isSeq, type Node, visit, type YAMLMap, type YAMLSeq } from 'yaml'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { layOut } from './yaml.ts'

/** What a merge did: paths of values that changed, and of those that both sides changed, which stay as they are. */
export interface Merged {
  changed: string[]
  conflicts: string[]
}

/**
 * Merges what changed between two versions of a map into an edited one: values that nobody edited become the new ones,
 * and comments and order stay. Lists of maps with names are merged by these names.
 * @param except keys that stay
 */
export function mergeMap(
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
  // What is inside first: its comments stay.
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

/** What other places of the file repeat stays. */
export function hasAnchor(node: Node | undefined): boolean {
  let found = false
  if (node)
    visit(node, {
      Node(_, one) {
        found ||= 'anchor' in one && one.anchor !== undefined
      },
    })
  return found
}

/** A node with the comments of the one whose place it takes. */
function replaced(held: Node | undefined, value: Json): Node {
  const made = nodeOf(value)
  const { commentBefore: above = null, comment: beside = null } = held ?? {}
  // Beside a scalar is below a list or a map.
  const isMoved = isScalar(held) && !isScalar(made)
  const before = [above, isMoved ? beside : null].filter((one) => one !== null)
  if (before.length > 0) made.commentBefore = before.join('\n')
  if (beside !== null && !isMoved) made.comment = beside
  return made
}

export function nodeOf(value: Json): Node {
  const node = new Document(value, { aliasDuplicateObjects: false }).contents as Node
  layOut(node)
  return node
}

/** As the file says it. */
export function heldValue(node: Node | undefined): Json | undefined {
  return node === undefined ? undefined : (node.toJSON() as Json)
}

import { isDeepStrictEqual } from 'node:util'
import { Document, isMap, isScalar, isSeq, type Node, visit, type YAMLMap, type YAMLSeq } from 'yaml'
import { isObject, type Json, type JsonObject } from '../json/index.ts'
import { layOut } from './yaml.ts'

/** Result of a merge: paths of changed values, and of conflicts, which are kept. */
export interface Merged {
  changed: string[]
  conflicts: string[]
}

/**
 * Merges the changes between two versions of a map into an edited one: unedited values are updated, comments and order
 * are kept. Lists of named maps are merged by name.
 * @param except keys that are kept
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

export function nodeOf(value: Json): Node {
  const node = new Document(value, { aliasDuplicateObjects: false }).contents as Node
  layOut(node)
  return node
}

/** The value in the file. */
export function heldValue(node: Node | undefined): Json | undefined {
  return node === undefined ? undefined : (node.toJSON() as Json)
}

import { ExactNumber, type Json, type JsonObject } from '../json/index.ts'
import type { Path } from './types.ts'
import type { Nodes } from './yaml/locate.ts'

type Container = JsonObject | Json[]
type Key = string | number

/** A copy of a value in which things are moved, taken out and put in, and which knows where each of them was. */
export interface Tree {
  value: Json
  at(path: Path): Json | undefined
  /** Puts a value in place of what is at the path; undefined takes it out, be it a member or an item. */
  put(path: Path, value: Json | undefined): void
  /** Gives a member another key, and `value` of the same form; what it holds is still found where it was. */
  rename(path: Path, key: string, value: Json): void
  /** Closes the gaps that items taken out have left: paths of before hold until then. */
  close(): void
  /** Whether something was put in or taken out at the path, or in the list that is there. */
  changed(path: Path): boolean
  /** The nodes of the file, by paths of this tree. */
  nodes(nodes: Nodes): Nodes
}

/** Stands for an item that was taken out. */
const GONE: Json = []

export function plantTree(given: Json): Tree {
  const value = copy(given)
  const changes = new Map<Container, Set<Key>>()
  const origins = new Map<Container, Map<Key, Key>>()
  const gaps = new Set<Json[]>()
  /** Those of which an item was changed. */
  const lists = new Set<Json>()

  const at = (path: Path): Json | undefined => {
    let found: Json | undefined = value
    for (const key of path) found = isContainer(found) ? member(found, key) : undefined
    return found
  }
  const mark = (container: Container, key: Key) =>
    changes.set(container, (changes.get(container) ?? new Set()).add(key))
  // Nothing of what is put in is what the file says.
  const markAll = (container: Json | undefined) => {
    if (!isContainer(container)) return
    for (const [key, held] of Object.entries(container)) {
      mark(container, key)
      markAll(held)
    }
  }
  const original = (path: Path): Path => {
    let found: Json | undefined = value
    return path.map((key) => {
      const container: Json | undefined = found
      if (!isContainer(container)) return key
      found = member(container, key)
      return origins.get(container)?.get(key) ?? key
    })
  }

  return {
    value,
    at,
    put(path, next) {
      const container = at(path.slice(0, -1))
      const key = path.at(-1)
      if (!isContainer(container) || container === GONE || key === undefined) return
      markAll(next)
      if (Array.isArray(container)) {
        if (next === undefined) gaps.add(container)
        lists.add(container)
        container[Number(key)] = next ?? GONE
        return
      }
      mark(container, key)
      if (next === undefined) delete container[key]
      else setMember(container, String(key), next)
    },
    rename(path, key, next) {
      const container = at(path.slice(0, -1))
      const old = path.at(-1)
      if (!isContainer(container) || Array.isArray(container) || old === undefined) return
      setMember(container, key, next)
      delete container[old]
      origins.set(container, new Map(origins.get(container)).set(key, old))
    },
    close() {
      for (const list of gaps) {
        const kept = [...list.keys()].filter((i) => list[i] !== GONE)
        const was = origins.get(list)
        origins.set(list, new Map(kept.map((i, now) => [now, was?.get(i) ?? i])))
        list.splice(0, list.length, ...kept.map((i) => list[i]!))
      }
      gaps.clear()
    },
    changed(path) {
      const container = at(path.slice(0, -1))
      const here = isContainer(container) && changes.get(container)?.has(path.at(-1) ?? '')
      return here === true || lists.has(at(path) ?? null)
    },
    nodes: (nodes) => ({
      at: (path) => nodes.at(original(path)),
      key: (path) => nodes.key(original(path)),
    }),
  }
}

function copy(value: Json): Json {
  if (Array.isArray(value)) return value.map(copy)
  if (!isContainer(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, copy(held)]))
}

function isContainer(value: Json | undefined): value is Container {
  return typeof value === 'object' && value !== null && !(value instanceof ExactNumber)
}

function member(container: Container, key: Key): Json | undefined {
  return Object.hasOwn(container, key) ? (container as JsonObject)[key] : undefined
}

/** Assignment would set the prototype for the key `__proto__`. */
function setMember(container: JsonObject, key: string, value: Json) {
  Object.defineProperty(container, key, { value, enumerable: true, configurable: true, writable: true })
}

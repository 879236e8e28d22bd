import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml'
import type { Range } from '../../findings/index.ts'
import type { Env, Locate, Path, Source } from '../model.ts'
import type { Parsed } from './document.ts'
import { placeBefore, replaceEnv } from './env.ts'
import { placeInScalar } from './scalar-trace.ts'
import { keyText } from './yaml-values.ts'

type Pair = { key: Node | null; value: Node | null }

/** Finds nodes by path; each map is indexed when it is first looked into. */
export interface Nodes {
  /** Null for an empty value, undefined when there is no such value. */
  at(path: Path): Node | null | undefined
  key(path: Path): Node | undefined
}

export function nodesOf(root: Node | null, aliases: ReadonlyMap<Alias, Node>): Nodes {
  const indexes = new Map<YAMLMap, Map<string, Pair>>()
  const follow = (node: Node | null | undefined) => (isAlias(node) ? aliases.get(node) : node)

  const index = (map: YAMLMap): Map<string, Pair> => {
    const known = indexes.get(map)
    if (known) return known
    const pairs = new Map<string, Pair>()
    indexes.set(map, pairs)
    const merged: Pair[] = []
    for (const pair of map.items as unknown as Pair[]) {
      const key = follow(pair.key)
      if (key && !isScalar(key)) continue
      if (key?.type === 'PLAIN' && key.source === '<<') merged.push(pair)
      else pairs.set(keyText(key ?? null), pair)
    }
    for (const { value } of merged) addMerged(pairs, value)
    return pairs
  }
  const addMerged = (pairs: Map<string, Pair>, from: Node | null) => {
    const target = follow(from)
    for (const item of isSeq(target) ? (target as YAMLSeq<Node>).items : [target]) {
      const node = follow(item)
      if (!isMap(node)) continue
      for (const [name, pair] of index(node)) if (!pairs.has(name)) pairs.set(name, pair)
    }
  }
  const step = (node: Node | null | undefined, segment: string | number): Node | null | undefined => {
    const target = follow(node)
    if (isSeq(target)) return (target as YAMLSeq<Node>).items[Number(segment)]
    return isMap(target) ? index(target).get(String(segment))?.value : undefined
  }
  const at: Nodes['at'] = (path) => {
    let node: Node | null | undefined = root
    for (const segment of path) node = step(node, segment)
    return follow(node) ?? node
  }
  return {
    at,
    key(path) {
      const map = at(path.slice(0, -1))
      return isMap(map) ? (index(map).get(String(path.at(-1)))?.key ?? undefined) : undefined
    },
  }
}

/** The `locate` of a file that was read; nothing is done before it is called. */
export function locator(source: Source, env: Env, { range }: Parsed, nodes: Nodes): Locate {
  const rangeOf = (node: Node | null | undefined): Range | undefined =>
    node?.range ? range(node.range[0], node.range[1]) : undefined

  const key = (path: Path) => rangeOf(nodes.key(path))
  const locate = (path: Path, start?: number, end?: number): Range | undefined => {
    const node = nodes.at(path)
    // An empty value has no place of its own.
    if (node === null || (isScalar(node) && node.source === '' && node.type === 'PLAIN'))
      return key(path) ?? rangeOf(node)
    if (start === undefined || !isScalar(node)) return rangeOf(node)
    const { pieces } = replaceEnv(node.source ?? '', env)
    const [from, to] = pieces.length ? placeBefore(pieces, start, end ?? start) : [start, end ?? start]
    return placeInScalar({ source, range }, node, from, to)
  }
  return Object.assign(locate, { key, has: (path: Path) => nodes.key(path) !== undefined })
}

/** Longest text whose tree is kept beside the tree that was used last: trees are many times as large as their text. */
const MAX_SECOND = 512 * 1024

/** Whether a file has a key, as far as that is known without its tree. */
export type Given = (path: Path) => boolean | undefined

interface Opened {
  late: Locate
  /** Absent until a place is asked for. */
  locate?: Locate
  given: Given
  size: number
}

/** What was used last, of two files, as findings about two files name places in both. */
let opened: readonly Opened[] = []

/**
 * A `locate` that keeps no tree of nodes for long: most places are asked for while a file is read, or never.
 * @param open reads the file again
 * @param now what `open` would return, where it is there already, or which keys the file has
 */
export function lateLocator(
  { text: { length: size } }: Source,
  open: () => Locate,
  now: Pick<Opened, 'locate' | 'given'>,
): Locate {
  const entry = () => opened.find((one) => one.late === late)
  const get = () => {
    const locate = entry()?.locate ?? open()
    const others = opened.filter((one) => one.late !== late && one.size <= MAX_SECOND)
    opened = [{ late, locate, given: locate.has, size }, ...others].slice(0, 2)
    return locate
  }
  const late: Locate = Object.assign((path: Path, start?: number, end?: number) => get()(path, start, end), {
    key: (path: Path) => get().key(path),
    has: (path: Path) => entry()?.given(path) ?? get().has(path),
  })
  // Where trees of files that are read in turn outlive the next one, V8 expects it of all, and moves every one of them.
  opened = [{ late, ...now, size }]
  return late
}

import { SCALAR_STYLE, type ScalarEvent } from 'js-yaml'
import type { Range } from '../../findings/index.ts'
import type { Env, Locate, Path } from '../model.ts'
import { placeBefore, replaceEnv } from './env.ts'
import type { Parsed } from './syntax.ts'

export interface Member {
  key: YamlNode
  value: YamlNode
}

/** A value in the text. Of an alias: the value that it stands for; if there is none, the alias. */
export interface YamlNode {
  start: number
  end: number
  scalar?: ScalarEvent
  /** The text of a scalar, decoded, before variables are replaced. */
  source?: string
  items?: YamlNode[]
  /** By key, those that are merged included. */
  members?: Map<string, Member>
}

/** Finds nodes by path. */
export interface Nodes {
  at(path: Path): YamlNode | undefined
  key(path: Path): YamlNode | undefined
}

export function nodesOf(root: YamlNode | undefined): Nodes {
  const at = (path: Path) =>
    path.reduce<YamlNode | undefined>(
      (node, key) => (node?.items ? node.items[Number(key)] : node?.members?.get(String(key))?.value),
      root,
    )
  return { at, key: (path) => at(path.slice(0, -1))?.members?.get(String(path.at(-1)))?.key }
}

/** The `locate` of a file that was read. */
export function locator(text: string, env: Env, range: Parsed['range'], nodes: Nodes): Locate {
  const rangeOf = (node: YamlNode | undefined) => node && range(node.start, node.end)
  const key = (path: Path) => rangeOf(nodes.key(path))
  const locate = (path: Path, start?: number, end = start): Range | undefined => {
    const node = nodes.at(path)
    // An empty value has no place of its own.
    if (node?.scalar && node.start === node.end) return key(path) ?? rangeOf(node)
    if (node?.source === undefined || start === undefined) return rangeOf(node)
    const { pieces } = replaceEnv(node.source, env)
    const [from, to] = pieces.length ? placeBefore(pieces, start, end!) : [start, end!]
    return placeInScalar(text, range, node, from, to)
  }
  return Object.assign(locate, { key, has: (path: Path) => nodes.key(path) !== undefined })
}

/** The place of the part `[start, end)` of a scalar's decoded text, before variables are replaced; else that of the scalar. */
export function placeInScalar(
  text: string,
  range: Parsed['range'],
  node: YamlNode,
  start: number,
  end: number,
): Range {
  const { scalar, source = '' } = node
  if (!scalar || start < 0 || end < start || end > source.length) return range(node.start, node.end)
  if (scalar.fast) return range(scalar.valueStart + start, scalar.valueStart + end)
  const trace = traces.get(scalar) ?? traceOf(text, scalar, source)
  traces.set(scalar, trace)
  const first = trace.starts[start]
  if (first === undefined) return range(node.start, node.end)
  // The end of a part is the end of its last character: what follows it may stand on another line.
  return range(first, end === start ? first : Math.max(first, trace.ends[end - 1]!))
}

/** A scalar may hold many places, and many aliases may stand for it. */
const traces = new WeakMap<ScalarEvent, Trace>()

/** Where in the file each UTF-16 unit of a scalar's decoded text is written; `starts` has one more for the end. */
interface Trace {
  starts: number[]
  ends: number[]
}

const NOWHERE: Trace = { starts: [], ends: [] }

/** White space, which is folded where it holds line breaks; then characters that stand for themselves. */
const FOLDED = String.raw`(?<space>[ \t\r\n]+)|[^\s\\\']+|[^]`
const UNITS: Record<number, RegExp> = {
  [SCALAR_STYLE.PLAIN]: new RegExp(FOLDED, 'g'),
  [SCALAR_STYLE.SINGLE_QUOTED]: new RegExp(`(?<escaped>'')|${FOLDED}`, 'g'),
  [SCALAR_STYLE.DOUBLE_QUOTED]: new RegExp(
    String.raw`(?<escaped>\\(?:x..|u.{4}|U.{8}|[^\r\n]))|(?<joined>\\\r?\n[ \t]*)|${FOLDED}`,
    'g',
  ),
}

/** Follows the folding of lines and the escapes of scalars (YAML 1.2, 7.3 and 8.1); empty where it cannot. */
function traceOf(text: string, scalar: ScalarEvent, value: string): Trace {
  const trace: Trace = { starts: [], ends: [] }
  const { valueStart: from, valueEnd: to, indent, style } = scalar
  const taken = ` {0,${Math.max(0, indent)}}`
  const isBlock = !UNITS[style]
  const skipped = isBlock ? new RegExp(`^${taken}`).exec(text.slice(from, to))![0].length : 0
  const units = UNITS[style] ?? new RegExp(String.raw`(?<line>\r?\n${taken})|[^\r\n]+|[^]`, 'g')
  let done = 0
  const put = (length: number, start: number, size: number, step = 0) => {
    for (let i = 0; i < length; i++) {
      trace.starts.push(start + i * step)
      trace.ends.push(start + i * step + size)
    }
    done += length
  }
  for (const { 0: piece, index, groups = {} } of text.slice(from + skipped, to).matchAll(units)) {
    const at = from + skipped + index
    const breaks = groups.space?.match(/\n/g)?.length ?? 0
    if (groups.escaped !== undefined)
      put(Number.parseInt(piece.slice(2), 16) > 0xffff ? 2 : 1, at, piece.length)
    // One break is a space, each further one a line feed.
    else if (breaks > 0) put(Math.max(1, breaks - 1), at, 1)
    // Folding may have taken it away.
    else if (groups.line !== undefined) put(/[ \n]/.test(value[done] ?? '') ? 1 : 0, at, 1)
    else if (groups.joined === undefined) {
      if (!value.startsWith(piece, done)) return NOWHERE
      put(piece.length, at, 1, 1)
    }
  }
  trace.starts.push(to)
  return done === value.length ? trace : NOWHERE
}

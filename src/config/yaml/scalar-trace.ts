import type { Scalar } from 'yaml'
import type { Range } from '../../findings/index.ts'
import type { Source } from '../model.ts'
import type { Parsed } from './document.ts'

/** The place in the file of the part `[start, end)` of a scalar's decoded text, before variables are replaced. */
export function placeInScalar(
  { source, range }: { source: Source; range: Parsed['range'] },
  node: Scalar,
  start: number,
  end: number,
): Range {
  const [from, to] = node.range ?? [0, 0]
  const trace = traceOf(source.text, node)
  if (!trace || start < 0 || end < start || end >= trace.starts.length) return range(from, to)
  const first = trace.starts[start]!
  // The end of a part is the end of its last character: what follows it may stand on another line.
  return range(first, end === start ? first : Math.max(first, trace.ends[end - 1]!))
}

/** Where in the file each UTF-16 unit of a scalar's decoded text is written; `starts` has one more for the end. */
interface Trace {
  starts: number[]
  ends: number[]
}

const traces = new WeakMap<Scalar, Trace | null>()

/** Traced once: a scalar may hold many places. Null when it cannot be traced, so that no wrong place is ever given. */
function traceOf(text: string, node: Scalar): Trace | null {
  const known = traces.get(node)
  if (known !== undefined) return known
  const trace = traceScalar(text, node) ?? null
  traces.set(node, trace)
  return trace
}

/** White space, which is folded where it holds line breaks; then whatever stands for itself. */
const FOLDED = String.raw`(?<space>[ \t\r\n]+)|[^\s\\']+|[^]`
const FLOW: Record<string, RegExp> = {
  PLAIN: new RegExp(FOLDED, 'g'),
  QUOTE_SINGLE: new RegExp(`(?<escaped>'')|${FOLDED}`, 'g'),
  QUOTE_DOUBLE: new RegExp(
    String.raw`(?<escaped>\\(?:x..|u.{4}|U.{8}|[^\r\n]))|(?<joined>\\\r?\n[ \t]*)|${FOLDED}`,
    'g',
  ),
}

function traceScalar(text: string, { range, source: value = '', type }: Scalar): Trace | undefined {
  const [from, to] = range ?? [0, 0]
  const quote = type?.startsWith('QUOTE') ? 1 : 0
  const flow = FLOW[type ?? '']
  if (flow) return traced(text, from + quote, to - quote, value, flow)
  const header = text.indexOf('\n', from)
  if (header === -1 || header >= to) return traced(text, to, to, value, FLOW.PLAIN!)
  const body = text.slice(header + 1, to)
  // Seen at the first line that is not empty, here and decoded.
  const indent =
    (/^( *)[^ \r\n]/m.exec(body)?.[1] ?? '').length - (/^( *)[^ \n]/m.exec(value)?.[1] ?? '').length
  const taken = ` {0,${Math.max(0, indent)}}`
  const begin = header + 1 + new RegExp(`^${taken}`).exec(body)![0].length
  return traced(text, begin, to, value, new RegExp(String.raw`(?<line>\r?\n${taken})|[^\r\n]+|[^]`, 'g'))
}

/**
 * Follows the folding of lines and the escapes of scalars (YAML 1.2, 7.3 and 8.1).
 * @param units has a group for each kind of piece that may be decoded to something else than itself
 */
function traced(text: string, from: number, to: number, value: string, units: RegExp): Trace | undefined {
  const trace: Trace = { starts: [], ends: [] }
  let done = 0
  const put = (length: number, start: number, size: number, step = 0) => {
    for (let i = 0; i < length; i++) {
      trace.starts.push(start + i * step)
      trace.ends.push(start + i * step + size)
    }
    done += length
  }
  for (const { 0: piece, index, groups = {} } of text.slice(from, to).matchAll(units)) {
    const at = from + index
    const breaks = groups.space?.match(/\n/g)?.length ?? 0
    if (groups.escaped !== undefined)
      put(Number.parseInt(piece.slice(2), 16) > 0xffff ? 2 : 1, at, piece.length)
    // One break is a space, each further one a line feed.
    else if (breaks > 0) put(Math.max(1, breaks - 1), at, 1)
    // Folding may have taken it away.
    else if (groups.line !== undefined) put(/[ \n]/.test(value[done] ?? '') ? 1 : 0, at, 1)
    else if (groups.joined === undefined) {
      if (!value.startsWith(piece, done)) return undefined
      put(piece.length, at, 1, 1)
    }
  }
  trace.starts.push(to)
  return done === value.length ? trace : undefined
}

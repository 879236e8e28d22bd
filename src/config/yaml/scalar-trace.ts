import type { Scalar } from 'yaml'
import type { Range } from '../../findings/index.ts'
import type { Source } from '../types.ts'
import type { Parsed } from './document.ts'

/** The place in the file of the part `[start, end)` of a scalar's decoded text, before variables are replaced. */
export function placeInScalar(
  { source, range }: { source: Source; range: Parsed['range'] },
  node: Scalar,
  start: number,
  end: number,
): Range {
  const [from, to] = node.range ?? [0, 0]
  const offsets = traceOf(source.text, node)
  const last = offsets && offsets.length - 1
  if (!offsets || start < 0 || end < start || end > last!) return range(from, to)
  const first = offsets[start]!
  // The end of a part is the end of its last character: what follows it may stand on another line.
  return range(first, end === start ? first : Math.max(first, endOf(offsets, source.text, end - 1)))
}

/** Where the character at `index` ends in the file: an escape is longer than what it stands for. */
function endOf(offsets: readonly number[], text: string, index: number): number {
  const at = offsets[index]!
  const next = offsets[index + 1]!
  if (text[at] === '\\' && next > at) return Math.min(next, at + escapeLength(text, at))
  if (text[at] === "'" && text[at + 1] === "'" && next === at + 2) return next
  return at + 1
}

const traces = new WeakMap<Scalar, number[] | null>()

/** Traced once: a scalar may hold many places. */
function traceOf(text: string, node: Scalar): number[] | null {
  const known = traces.get(node)
  if (known !== undefined) return known
  const trace = traceScalar(text, node) ?? null
  traces.set(node, trace)
  return trace
}

/**
 * For each UTF-16 unit of a scalar's decoded text the offset in the file where it is written, and one more for
 * the end. Undefined when it cannot be traced, so that no wrong place is ever given.
 */
export function traceScalar(text: string, node: Scalar): number[] | undefined {
  const [from, to] = node.range ?? [0, 0]
  const value = node.source ?? ''
  if (node.type === 'PLAIN') {
    if (text.slice(from, to) === value) return Array.from({ length: value.length + 1 }, (_, i) => from + i)
    return checked(traceFlow(text, from, to, ''), value)
  }
  if (node.type === 'QUOTE_SINGLE') return checked(traceFlow(text, from + 1, to - 1, "'"), value)
  if (node.type === 'QUOTE_DOUBLE') return checked(traceFlow(text, from + 1, to - 1, '"'), value)
  if (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED') return traceBlock(text, from, to, value)
  return undefined
}

interface Trace {
  text: string
  offsets: number[]
}

function checked(trace: Trace, value: string): number[] | undefined {
  return trace.text === value ? trace.offsets : undefined
}

const ESCAPES: Record<string, string> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  e: '\x1b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  N: '\u0085',
  _: '\u00a0',
  L: '\u2028',
  P: '\u2029',
}

function escapeLength(text: string, at: number): number {
  return { x: 4, u: 6, U: 10 }[text[at + 1] ?? ''] ?? 2
}

/** Follows the folding of lines and the escapes of flow scalars (YAML 1.2, 7.3). */
function traceFlow(text: string, from: number, to: number, quote: '' | "'" | '"'): Trace {
  const out: string[] = []
  const offsets: number[] = []
  const put = (piece: string, at: number) => {
    out.push(piece)
    for (let i = 0; i < piece.length; i++) offsets.push(at)
  }
  let at = from
  while (at < to) {
    const fold = foldAt(text, at, to)
    if (fold) {
      put(fold.text, at)
      at = fold.end
    } else if (quote === '"' && text[at] === '\\') {
      const newline = /\\\r?\n[ \t]*/y
      newline.lastIndex = at
      const joined = newline.exec(text)
      const length = joined ? joined[0].length : escapeLength(text, at)
      if (!joined) put(unescaped(text, at, length), at)
      at += length
    } else {
      put(text[at]!, at)
      at += quote === "'" && text[at] === "'" ? 2 : 1
    }
  }
  offsets.push(to)
  return { text: out.join(''), offsets }
}

function unescaped(text: string, at: number, length: number): string {
  const letter = text[at + 1] ?? ''
  if (length === 2) return ESCAPES[letter] ?? letter
  const code = Number.parseInt(text.slice(at + 2, at + length), 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : ''
}

/** White space with line breaks in it: one break is a space, each further one a line feed. */
function foldAt(text: string, at: number, to: number): { text: string; end: number } | undefined {
  const first = text[at]
  if (first !== ' ' && first !== '\t' && first !== '\n' && first !== '\r') return undefined
  let end = at
  let breaks = 0
  for (; end < to && ' \t\r\n'.includes(text[end]!); end++) if (text[end] === '\n') breaks++
  if (breaks > 0) return { text: breaks === 1 ? ' ' : '\n'.repeat(breaks - 1), end }
  return { text: text.slice(at, end), end }
}

/** Finds the lines of the decoded text one after the other in the indented lines of a block scalar. */
function traceBlock(text: string, from: number, to: number, value: string): number[] | undefined {
  const header = text.indexOf('\n', from)
  if (header === -1 || header >= to) return value === '' ? [to] : undefined
  const indent = blockIndent(text, header + 1, to, value)
  const offsets: number[] = []
  let at = header + 1
  let done = 0
  while (at < to) {
    const lineEnd = text.indexOf('\n', at)
    const next = lineEnd === -1 || lineEnd >= to ? to : lineEnd + 1
    const stop = lineEnd === -1 || lineEnd >= to ? to : text[lineEnd - 1] === '\r' ? lineEnd - 1 : lineEnd
    const begin = Math.min(at + indent, stop)
    const line = text.slice(begin, stop)
    // Between two lines stand a space or line feeds, or nothing where folding took the break away.
    while (done < value.length && line !== '' && !value.startsWith(line, done)) {
      if (value[done] !== ' ' && value[done] !== '\n') return undefined
      offsets.push(Math.max(header, at - 1))
      done++
    }
    for (let i = 0; i < line.length && done < value.length; i++, done++) offsets.push(begin + i)
    at = next
  }
  for (; done < value.length; done++) {
    if (value[done] !== '\n') return undefined
    offsets.push(Math.max(header, to - 1))
  }
  offsets.push(to)
  return offsets.every((offset, i) => sameText(text, offset, value, i)) ? offsets : undefined
}

/** A traced character stands there as it is; only line breaks may have been folded. */
function sameText(text: string, offset: number, value: string, i: number): boolean {
  return i >= value.length || value[i] === '\n' || value[i] === ' ' || text[offset] === value[i]
}

/** How many spaces were taken from each line: seen at the first line that is not empty, here and decoded. */
function blockIndent(text: string, begin: number, to: number, value: string): number {
  const here = /^( *)[^ \r\n]/m.exec(text.slice(begin, to))
  const decoded = /^( *)[^ \n]/m.exec(value)
  return Math.max(0, (here?.[1]?.length ?? 0) - (decoded?.[1]?.length ?? 0))
}

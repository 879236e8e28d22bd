import type { Env } from '../model.ts'

/** Is thrown where a text leaves the part of YAML that `common-yaml.ts` reads. */
export const NOT_COMMON = new Error('this YAML is read by the exact reader')

/** Where a value stands. */
export interface Place {
  /** Offsets of its key; -1: it has none. */
  key: readonly [start: number, end: number]
  /** Offsets of the value; undefined: it is nothing, or a block map or list, of which only the exact reader knows the end. */
  value?: readonly [start: number, end: number]
  members?: Map<string, Place>
  items?: Place[]
}

export interface Reading {
  text: string
  env: Env
  /** Offset of what is read next. */
  pos: number
  /** Where the line begins that `pos` is in. */
  lineStart: number
  /** Offset of the token that was found last at the beginning of a line. */
  found: number
  /** Open collections. */
  depth: number
  /** Whether the value of a key was left out. */
  leavesOut: boolean
  /** Of the key that was read last. */
  key: readonly [start: number, end: number]
  /** Takes where the next value stands; undefined: the place is not needed. */
  place: Place | undefined
}

export function note({ place }: Reading, start: number, end: number): void {
  if (place) place.value = [start, end]
}

const NEWLINE = 10
const SPACE = 32
const QUOTE = 34
const HASH = 35
const APOSTROPHE = 39
const COLON = 58
const BACKSLASH = 92

export function isBlank(code: number): boolean {
  return code === SPACE || code === NEWLINE || Number.isNaN(code)
}

export function isQuote(code: number): boolean {
  return code === QUOTE || code === APOSTROPHE
}

const INDICATORS = `,[]{}#&*!|>'"%@\``

/** `,[]{}` */
function isFlowIndicator(code: number): boolean {
  return code === 44 || code === 91 || code === 93 || code === 123 || code === 125
}

/** Whether a plain scalar can begin here. */
export function mayBeginPlain(text: string, at: number, inFlow: boolean): boolean {
  const char = text.charAt(at)
  if (INDICATORS.includes(char)) return false
  if (char !== '-' && char !== '?' && char !== ':') return true
  return !isBlank(text.charCodeAt(at + 1)) && !(inFlow && isFlowIndicator(text.charCodeAt(at + 1)))
}

/** Without the spaces at its end; of other white space YAML has none. */
export function unpadded(text: string, from: number, to: number): string {
  let end = to
  while (text.charCodeAt(end - 1) === SPACE) end--
  return text.slice(from, end)
}

/** The end of what a plain scalar has on its line: its `:`, where it is a key, a comment, or the end of the line. */
export function plainEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === NEWLINE) return at
    if (code === COLON && isBlank(text.charCodeAt(at + 1))) return at
    if (code === HASH && text.charCodeAt(at - 1) === SPACE) return at
  }
  return text.length
}

/** The same in a flow collection, where a plain scalar ends on its line. */
export function flowPlainEnd(text: string, from: number): number {
  if (!mayBeginPlain(text, from, true)) throw NOT_COMMON
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === NEWLINE || isFlowIndicator(code)) return at
    if (code === HASH && text.charCodeAt(at - 1) === SPACE) throw NOT_COMMON
    if (code !== COLON) continue
    const next = text.charCodeAt(at + 1)
    if (next === SPACE) return at
    if (isBlank(next) || isFlowIndicator(next)) throw NOT_COMMON
  }
  throw NOT_COMMON
}

/** A plain scalar outside of flow collections; its lines are folded. @param parent column of the collection it is in */
export function plainScalar(reading: Reading, parent: number): string {
  const { text, pos } = reading
  if (!mayBeginPlain(text, pos, false)) throw NOT_COMMON
  let end = plainEnd(text, pos)
  // In the last line without a break, the exact reader keeps spaces at the end.
  let value = unpadded(text, pos, end)
  note(reading, pos, pos + value.length)
  for (;;) {
    const code = text.charCodeAt(end)
    if (code === COLON || text.indexOf('\n', end) < 0) throw NOT_COMMON
    reading.pos = end
    if (code === HASH || end === text.length) return value
    let at = end
    let breaks = 0
    let start = at
    while (text.charCodeAt(at) === NEWLINE) {
      breaks++
      start = ++at
      while (text.charCodeAt(at) === SPACE) at++
    }
    if (at === text.length || at - start <= parent || text.charCodeAt(at) === HASH) return value
    // A dash there starts no item, but its author means one.
    if (!mayBeginPlain(text, at, false)) throw NOT_COMMON
    end = plainEnd(text, at)
    const more = unpadded(text, at, end)
    note(reading, pos, at + more.length)
    value += (breaks === 1 ? ' ' : '\n'.repeat(breaks - 1)) + more
  }
}

/** A scalar in quotes, on one line. @returns `end`: behind the closing quote */
export function quotedScalar(text: string, from: number): { value: string; end: number } {
  const quote = text.charCodeAt(from)
  let value = ''
  let start = from + 1
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === NEWLINE) break
    if (code === quote) {
      const isEscaped = quote === APOSTROPHE && text.charCodeAt(at + 1) === APOSTROPHE
      if (!isEscaped) return { value: value + text.slice(start, at), end: at + 1 }
      value += text.slice(start, at + 1)
      start = ++at + 1
    } else if (code === BACKSLASH && quote === QUOTE) {
      const [char, length] = escaped(text, at + 1)
      value += text.slice(start, at) + char
      at += length
      start = at + 1
    }
  }
  throw NOT_COMMON
}

/** YAML 1.2, 5.7; without those that span lines or planes. */
const ESCAPES: Record<string, string> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
}
const CODES = /x([\da-fA-F]{2})|u([\da-fA-F]{4})/y

/** What an escape stands for, and its length without the backslash. */
function escaped(text: string, at: number): [char: string, length: number] {
  const simple = ESCAPES[text.charAt(at)]
  if (simple !== undefined) return [simple, 1]
  CODES.lastIndex = at
  const [whole, byte, unit] = CODES.exec(text) ?? []
  if (!whole) throw NOT_COMMON
  return [String.fromCharCode(Number.parseInt((byte ?? unit)!, 16)), whole.length]
}

const HEADER = /[|>]-? *\n/y

/**
 * A literal (`|`) or folded (`>`) scalar, whose indentation the first line shows.
 * @param parent column of the collection that it is in
 */
export function blockScalar(reading: Reading, parent: number): string {
  const { text, pos } = reading
  HEADER.lastIndex = pos
  if (!HEADER.test(text)) throw NOT_COMMON
  const isFolded = text[pos] === '>'
  const keepsBreak = text[pos + 1] !== '-'
  const lines: string[] = []
  let indent = -1
  let at = HEADER.lastIndex
  let length = 0
  while (at < text.length) {
    let end = text.indexOf('\n', at)
    if (end < 0) end = text.length
    let column = at
    while (text.charCodeAt(column) === SPACE) column++
    if (column === end) {
      // Spaces beyond the indentation would be content.
      length = Math.max(length, column - at)
      lines.push('')
    } else {
      if (indent < 0) indent = Math.max(column - at, 0)
      if (column - at < indent || indent <= parent) break
      // More to the right, lines are not folded.
      if (isFolded && column - at > indent) throw NOT_COMMON
      lines.push(text.slice(at + indent, end))
      note(reading, pos, end + 1)
    }
    at = end + 1
  }
  if (indent <= parent || indent === 0 || length > indent) throw NOT_COMMON
  if (at > text.length) throw NOT_COMMON
  reading.pos = at
  let last = lines.length
  while (lines[last - 1] === '') last--
  if (last === 0) throw NOT_COMMON
  lines.length = last
  const value = isFolded ? folded(lines) : lines.join('\n')
  return keepsBreak ? `${value}\n` : value
}

function folded(lines: readonly string[]): string {
  let value = ''
  let breaks = 0
  for (const line of lines) {
    if (line === '') {
      breaks++
      continue
    }
    value += breaks > 0 ? '\n'.repeat(breaks) : value === '' ? '' : ' '
    value += line
    breaks = 0
  }
  return value
}

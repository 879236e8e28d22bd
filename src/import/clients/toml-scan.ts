/** A statement of a TOML text: a table's header, or a key with its value. */
export interface Statement {
  kind: 'table' | 'array' | 'key'
  /** The whole path, also of the table that a key is in. */
  path: readonly string[]
  /** Offsets. */
  start: number
  end: number
  /** Offset of the key's value. */
  valueStart: number
}

/** A TOML syntax error. */
export class TomlFault extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message)
  }
}

const SPACE = /[ \t]*/y
const BLANK = /(?:[ \t\r\n]|#[^\n]*)*/y
const BARE = /[A-Za-z0-9_-]+/y

/**
 * The headers and keys of a TOML text (1.0.0), in one pass. Values are scanned only for their end.
 * @throws TomlFault
 */
export function scanToml(text: string): Statement[] {
  const found: Statement[] = []
  let table: readonly string[] = []
  let i = skip(text, BLANK, text.startsWith('\uFEFF') ? 1 : 0)
  while (i < text.length) {
    const start = i
    const isHeader = text[i] === '['
    const isArray = isHeader && text[i + 1] === '['
    const name = keyAt(text, isHeader ? i + (isArray ? 2 : 1) : i)
    const closing = isHeader ? (isArray ? ']]' : ']') : '='
    if (!text.startsWith(closing, name.end)) throw new TomlFault(`\`${closing}\` is missing`, name.end)
    const behind = skip(text, SPACE, name.end + closing.length)
    const end = isHeader ? behind : valueEnd(text, behind)
    const path = isHeader ? name.path : [...table, ...name.path]
    if (isHeader) table = path
    found.push({ kind: isArray ? 'array' : isHeader ? 'table' : 'key', path, start, end, valueStart: behind })
    i = lineEnd(text, end)
  }
  return found
}

function skip(text: string, what: RegExp, at: number): number {
  what.lastIndex = at
  what.test(text)
  return what.lastIndex
}

/** A key with dots, whose parts may be quoted; `end`: behind the blanks that follow it. */
function keyAt(text: string, from: number): { path: string[]; end: number } {
  const path: string[] = []
  let i = from
  for (;;) {
    i = skip(text, SPACE, i)
    const quote = text[i]
    const end = quote === '"' || quote === "'" ? stringEnd(text, i) : skip(text, BARE, i)
    if (end <= i) throw new TomlFault('a key is missing', i)
    path.push(textOf(text.slice(i, end)))
    i = skip(text, SPACE, end)
    if (text[i] !== '.') return { path, end: i }
    i++
  }
}

/** The text of a key or string as it is written. */
export function textOf(written: string): string {
  if (/^("{3}|'{3})/.test(written)) return written.slice(3, -3)
  if (written.startsWith("'")) return written.slice(1, -1)
  if (!written.startsWith('"')) return written
  try {
    return String(JSON.parse(written))
  } catch {
    // Such as `\U0001F331`, which no address has.
    return written.slice(1, -1)
  }
}

/** Behind a string that begins at `i`, on one line or on several. */
function stringEnd(text: string, i: number): number {
  const quote = text[i] as string
  const long = quote.repeat(3)
  const isLong = text.startsWith(long, i)
  for (let at = i + (isLong ? 3 : 1); at < text.length; at++) {
    const c = text[at]
    if (c === '\\' && quote === '"') at++
    else if (c === '\n' && !isLong) break
    else if (isLong ? text.startsWith(long, at) : c === quote) {
      let end = at + (isLong ? 3 : 1)
      // Quotes just before the closing ones belong to the string.
      while (isLong && text[end] === quote) end++
      return end
    }
  }
  throw new TomlFault('a string has no end', i)
}

/** Behind a value: at the end of its line, unless a bracket is open. */
function valueEnd(text: string, from: number): number {
  let depth = 0
  let i = from
  while (i < text.length) {
    const c = text[i] as string
    if (c === '"' || c === "'") {
      i = stringEnd(text, i)
      continue
    }
    if (c === '[' || c === '{') depth++
    else if (c === ']' || c === '}') depth--
    else if ((c === '\n' || c === '#') && depth <= 0) break
    else if (c === '#') i = text.indexOf('\n', i) < 0 ? text.length : text.indexOf('\n', i)
    i++
  }
  if (depth !== 0) throw new TomlFault('a bracket has no counterpart', from)
  if (text.slice(from, i).trim() === '') throw new TomlFault('a value is missing', from)
  return i
}

/** Where the next statement begins. */
function lineEnd(text: string, from: number): number {
  const rest = skip(text, SPACE, from)
  if (rest < text.length && !/[\r\n#]/.test(text[rest] as string))
    throw new TomlFault('a line break is missing', rest)
  return skip(text, BLANK, rest)
}

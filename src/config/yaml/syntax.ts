import { type Event, parseEvents, YAMLException } from 'js-yaml'
import { type Finding, finding, type Range } from '../../findings/index.ts'
import { positionsOf } from '../../text/index.ts'
import type { Source } from '../model.ts'
import { type Uneven, unevenLine } from './indentation.ts'

/** Bytes. A larger file is taken for an accident and refused. */
export const MAX_FILE_SIZE = 4 * 1024 * 1024
/** Bytes of the file of a tenant: all tenants wait while it is read. */
export const MAX_TENANT_FILE = 256 * 1024

/** The first document of a file. */
export interface Parsed {
  /** Offsets are those of the text. Empty where the text is not YAML. */
  events: readonly Event[]
  /** Syntax errors, and unsupported directives. */
  findings: Finding[]
  range(start: number, end: number): Range
}

/** Parses the first document of a text, and reports further ones. Never throws. */
export function parseYaml(source: Source): Parsed {
  const { file, text } = source
  const position = positionsOf(text)
  const range: Parsed['range'] = (start, end) => ({ start: position(start), end: position(end) })
  const { prelude, end, next } = firstDocument(text)
  const findings = directiveFindings(file, prelude, range)
  try {
    const events = eventsOf(text.slice(0, end))
    if (next !== undefined) {
      const hint = 'Put each configuration in its own file'
      const at = range(next, next + (text.startsWith('---', next) ? 3 : 1))
      findings.push(finding('several-documents', file, 'a second document starts here', { range: at, hint }))
    }
    return { events, findings, range }
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error
    const { start, end: to, message, hint } = explain(error, text)
    findings.push(finding('yaml-syntax', file, message, { range: range(start, to), hint }))
    return { events: [], findings, range }
  }
}

const MARKER = /^(?:---|\.\.\.)(?=\s|$)/gm
/** A line that is not blank, a comment or a directive. */
const CONTENT = /^(?!%)[ \t\uFEFF]*[^ \t\uFEFF#]/
const REST = /(?:\s|#.*)*/y

function hasContent(text: string): boolean {
  return text.split(/[\r\n]/).some((line) => CONTENT.test(line))
}

/**
 * Finds the end of the first document, and the start of the next one: only markers begin a line with `---` or `...`.
 * @returns `prelude`: the text before its own `---`
 */
function firstDocument(text: string): { prelude: string; end: number; next?: number } {
  let from = 0
  let prelude = ''
  let hasBegun = false
  for (const { 0: marker, index } of text.matchAll(MARKER)) {
    hasBegun ||= hasContent(text.slice(from, index))
    const isEnd = marker === '...'
    if (hasBegun) {
      REST.lastIndex = isEnd ? index + 3 : index
      REST.test(text)
      const next = REST.lastIndex
      // Another `...` is no document.
      return next < text.length && !/^\.\.\.\s*$/.test(text.slice(next))
        ? { prelude, end: index, next }
        : { prelude, end: index }
    }
    if (!isEnd) {
      hasBegun = true
      prelude = text.slice(0, index)
    }
    from = index + 3
  }
  return { prelude, end: text.length }
}

function directiveFindings(file: string, prelude: string, range: Parsed['range']): Finding[] {
  const unsupported = [...prelude.matchAll(/^%(?!TAG[ \t]|YAML[ \t]+1\.[12]\b)(\S*).*/gm)].slice(0, 100)
  return unsupported.map(({ 0: line, 1: name, index }) => {
    const message = name === 'YAML' ? 'unsupported YAML version' : `unknown directive %${name}`
    return finding('yaml-warning', file, message, {
      range: range(index, index + line.length),
      hint: 'Remove it',
    })
  })
}

/** @throws YAMLException, whose mark has offsets of the text */
function eventsOf(text: string): Event[] {
  try {
    return parseEvents(text, OPTIONS)
  } catch (error) {
    const moved = isIndentation(error, text) ? relaxed(text) : undefined
    if (!moved) throw error
    return eventsOfMoved(moved)
  }
}

// Nesting that the parser, which recurses, accepts; `values.ts` accepts less of collections.
const OPTIONS = { filename: '', maxDepth: 500 }

/** Whether `relaxed` may help: at a bracket, or behind a tab in the line. */
function isIndentation(error: unknown, text: string): boolean {
  if (!(error instanceof YAMLException) || error.reason !== 'deficient indentation') return false
  const at = error.mark?.position ?? 0
  const before = text.slice(text.lastIndexOf('\n', at - 1) + 1, at)
  return /[\]}]/.test(text.charAt(at)) || before.trimStart().includes('\t')
}

/** A text with inserted spaces. */
interface Moved {
  text: string
  /** The offset in the text as it was. */
  before(offset: number): number
}

/** A line that closes a list or map; a line in which a block scalar begins. */
const CLOSER = /^[ \t]*[\]}]/
const PREFIX = /^(?: |[-?] )*/
const BLOCK_HEADER = /(?:^|[\s:])[|>][-+\d]*[ \t]*(?:#.*)?\r?$/

/**
 * Changes a text that most parsers accept so that this one does, too: indents lines that begin with `]` or `}`, and
 * replaces tabs within lines by spaces. Block scalars stay the same.
 * @returns undefined if the text would grow too much
 */
function relaxed(text: string): Moved | undefined {
  const added: { at: number; sum: number }[] = []
  let out = ''
  let widest = 0
  let sum = 0
  /** The column of the key whose block scalar this line may belong to. */
  let scalar = Number.POSITIVE_INFINITY
  for (const line of text.split('\n')) {
    const indent = line.search(/\S/)
    if (indent >= 0 && indent <= scalar) scalar = Number.POSITIVE_INFINITY
    if (scalar === Number.POSITIVE_INFINITY) {
      const prefix = PREFIX.exec(line)![0].length
      const rest = line.slice(prefix)
      if (CLOSER.test(line)) {
        out += ' '.repeat(widest + 1)
        sum += widest + 1
        added.push({ at: out.length, sum })
      } else widest = Math.max(widest, prefix)
      if (BLOCK_HEADER.test(rest)) scalar = /^[|>]/.test(rest) ? prefix - 2 : prefix
    }
    if (sum > MAX_FILE_SIZE) return undefined
    out += indent < 0 ? `${line}\n` : `${line.slice(0, indent)}${line.slice(indent).replaceAll('\t', ' ')}\n`
  }
  const before = (offset: number) => {
    let low = 0
    let high = added.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (added[middle]!.at <= offset) low = middle + 1
      else high = middle
    }
    return offset - (added[low - 1]?.sum ?? 0)
  }
  return { text: out.slice(0, -1), before }
}

function eventsOfMoved({ text, before }: Moved): Event[] {
  try {
    const events = parseEvents(text, OPTIONS)
    for (const event of events as unknown as Record<string, number>[])
      for (const key of OFFSETS) if (event[key]! >= 0) event[key] = before(event[key]!)
    return events
  } catch (error) {
    if (error instanceof YAMLException && error.mark) error.mark.position = before(error.mark.position)
    throw error
  }
}

const OFFSETS = ['start', 'valueStart', 'valueEnd', 'anchorStart', 'anchorEnd', 'tagStart', 'tagEnd']

/** A syntax error, explained to the author of the file. */
interface Explained {
  start: number
  end: number
  message: string
  hint: string
}

type Words = readonly [message: string, hint: string]

/** Finds the mistake and its fix; the parser only reports where it could not continue, in its own words. */
function explain(error: YAMLException, text: string): Explained {
  const { reason = '', mark } = error
  const at = Math.min(mark?.position ?? 0, text.length)
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const line = text.slice(lineStart, lineStart + 300).split('\n', 1)[0]!
  const explained = ([message, hint]: Words, start = at, end = start + 1): Explained => ({
    start,
    end,
    message,
    hint,
  })
  const key = reason.includes('multiline key') ? keyLine(text, lineStart) : undefined
  const conflict = CONFLICT.exec(key?.text ?? line)
  if (conflict) {
    const start = key?.start ?? lineStart
    return explained(MERGE_CONFLICT, start, start + (key?.text ?? line).length)
  }
  const uneven = /indent|multiline key|expected ':'|^end of the stream/.test(reason)
    ? unevenIn(text, at)
    : undefined
  if (uneven) return explained([uneven.message, uneven.hint], uneven.start)
  const template = BARE_TEMPLATE.exec(line)
  if (template) {
    const start = lineStart + template.index
    return explained(['a template without quotes', QUOTE_TEMPLATE], start, start + template[0].length)
  }
  const tab = /^ *\t+/.exec(line)
  if (tab) return explained(TAB, lineStart, lineStart + tab[0].length)
  if (UNCLOSED.test(reason) || (reason.startsWith('missed comma') && /[\]}]/.test(text.charAt(at)))) {
    const opener = openerBefore(text, at)
    const char = text.charAt(opener)
    if (opener >= 0)
      return explained(
        [`this \`${char}\` is never closed`, `Write \`${CLOSERS[char] ?? char}\` where it ends`],
        opener,
      )
  }
  if (key) return explained(NO_COLON, key.start, key.start + key.text.length)
  const backslash = /escape sequence|hexadecimal/.test(reason) ? text.lastIndexOf('\\', at) : -1
  if (backslash >= 0)
    return explained(
      [
        `invalid escape sequence ${text.slice(backslash, at + 1)}`,
        'Double the backslash, or use single quotes',
      ],
      backslash,
      at + 1,
    )
  const indent = line.search(/\S/)
  const words = wordsOf(error, line, at - lineStart)
  if (words === UNEVEN && indent >= 0) return explained(words, lineStart + indent)
  if (words === NO_COLON) return explained(words, lineStart + indent, lineStart + line.trimEnd().length)
  // The parser has passed the `*` or `&` without a name.
  return /^name of an a/.test(reason) ? explained(words, at - 1) : explained(words)
}

const CONFLICT = /^(?:<{7}|={7}|>{7})(?: |$)/
const MERGE_CONFLICT: Words = [
  'the file contains a merge conflict',
  'Choose one side, and remove the markers',
]
const TAB: Words = ['a tab is used as indentation', 'Indent with spaces, not tabs']
const UNEVEN: Words = ['inconsistent indentation', 'Indent the line like the lines around it']
const NO_COLON: Words = ['a key without `: `', 'A key needs a `:` and a space after it, on its line']
const UNCLOSED = /within a (?:flow|single|double)|deficient indentation/
const CLOSERS: Record<string, string> = { '[': ']', '{': '}' }

/** The rest of a line from a value that begins with a template. */
const BARE_TEMPLATE = /\{\{(?<=[:-]\s+\{\{)(?:.*\S)?/
export const QUOTE_TEMPLATE = 'Put a value that starts with a template in quotes: `"{{…}}"`'

/** The line of the key that lines before an offset continue, as they have no `:`. */
function keyLine(text: string, lineStart: number): { start: number; text: string } {
  let start = lineStart
  for (;;) {
    const before = text.lastIndexOf('\n', start - 2) + 1
    const line = text.slice(before, start)
    if (start === 0 || line.trim() === '' || /:\s|^\s*#/.test(line)) break
    start = before
  }
  const line = text.slice(start).split('\n', 1)[0]!
  const key = line.trim()
  return { start: start + line.indexOf(key), text: key }
}

/** A quoted scalar, a comment, or a bracket. */
const TOKEN = /(?<=^|[\s,:[{])(?:"(?:\\[\s\S]|[^"\\])*"?|'(?:''|[^'])*'?)|(?<=^|\s)#.*|[[\]{}]/gm

const BEFORE_VALUE = /(?:^|[-:?]\s)\s*$/

/**
 * The innermost bracket or quote that is open at an offset; -1: not found. The longest part of the text that can be
 * parsed ends before the line that has the outermost of them.
 */
function openerBefore(text: string, at: number): number {
  if (text.length > MAX_TENANT_FILE) return -1
  const starts = [...text.slice(0, at).matchAll(/^/gm)].map(({ index }) => index)
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (isWhole(text.slice(0, starts[middle]))) low = middle
    else high = middle - 1
  }
  const open: number[] = []
  for (const { 0: token, index } of text.slice(starts[low], at).matchAll(TOKEN)) {
    const offset = starts[low]! + index
    if (/^["']/.test(token)) {
      if (token.length === 1 || !token.endsWith(token[0]!)) return offset
    } else if (token === '[' || token === '{') {
      if (open.length > 0 || BEFORE_VALUE.test(text.slice(Math.max(starts[low]!, offset - 200), offset)))
        open.push(offset)
    } else if (token === ']' || token === '}') open.pop()
  }
  return open.at(-1) ?? -1
}

function unevenIn(text: string, at: number): Uneven | undefined {
  if (text.length > MAX_TENANT_FILE) return undefined
  return unevenLine(text, at, (offset) => isWhole(text.slice(0, offset)))
}

function isWhole(text: string): boolean {
  try {
    eventsOf(text)
    return true
  } catch {
    return false
  }
}

/** @param column of the place in its line */
function wordsOf({ reason = '' }: YAMLException, line: string, column: number): Words {
  const before = line.slice(0, column)
  const char = line.charAt(column)
  const known = MESSAGES.find(([pattern]) => pattern.test(reason))?.[1]
  const said: Words = known ?? [reason, 'Fix the YAML here; quote a string that contains special characters']
  if (/(?:^|["'])[^"'{[,]*[{[,][^"']*\$\{/.test(line))
    return [said[0], 'Inside `{ }` and `[ ]` put `${NAME}` in quotes: `"${NAME}"`']
  if (known || !/^bad indent|^end of the stream|^expected ':'/.test(reason)) return said
  if (/^[\s-]*$/.test(before)) return UNEVEN
  if (/["']\s*$/.test(before))
    return [
      'unexpected text after the closing quote',
      "Put the whole value in the quotes; inside them write `\\\"` in `\"…\"`, and `''` in `'…'`",
    ]
  if (char === ':' && !/:\s/.test(before)) return UNEVEN
  if (char === ':')
    return [
      'a second `key: value` on one line',
      'Put a value that contains `: ` in quotes, or start a new line',
    ]
  if (char === '#')
    return ['a comment without a space before it', 'Write a space before `#`, or put the value in quotes']
  if (char === '-')
    return ['a list that begins on the line of its key', 'Write its first `- ` on a line of its own']
  if (/[%@`]/.test(char))
    return [`a value without quotes cannot start with ${char}`, 'Put the value in quotes']
  if (/[\]}]/.test(char)) return [`this \`${char}\` closes nothing`, 'Remove it, or put the value in quotes']
  if (/^\s*[\w-]+\s*$/.test(line)) return NO_COLON
  return ['unexpected text after the value', said[1]]
}

const MESSAGES: readonly (readonly [RegExp, Words])[] = [
  [/^tab characters/, TAB],
  [/maxDepth/, ['the YAML is nested too deeply', 'Flatten it']],
  [
    /^missed comma/,
    [
      'a `,` is missing before this',
      'Inside `{ }` and `[ ]` put `,` between entries, and write `{ }` and `[ ]` only',
    ],
  ],
  [/but found ','/, ['nothing stands before this `,`', 'Remove the `,`, or write an entry before it']],
  [/^name of an a/, ['unresolved alias', 'Put a string that starts with `*` or `&` in quotes: `"*"`']],
  [/^duplication of a|^alias node/, ['too many tags or anchors in a row', 'A value has at most one of each']],
  [
    /line break is expected|block scalar/,
    ['unexpected text after `|` or `>`', 'Begin the text on the next line, or put the value in quotes'],
  ],
  [
    /non-printable|JSON character|null byte/,
    ['a control character', 'Remove it, or write it as an escape in double quotes'],
  ],
  [/^a whitespace character/, ['a key without a space after its `:`', 'Write a space after the `:`']],
]

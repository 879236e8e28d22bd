import {
  Composer,
  type Document,
  isMap,
  isScalar,
  Lexer,
  type Node,
  type ParsedNode,
  Parser,
  visit,
  type YAMLError,
  YAMLParseError,
} from 'yaml'
import { type Finding, finding, type Range } from '../../findings/index.ts'
import { lowerFirst, positionsOf, type Steps } from '../../text/index.ts'
import type { Source } from '../model.ts'

/** Bytes. A larger file is taken for an accident and refused. */
export const MAX_FILE_SIZE = 4 * 1024 * 1024
/** The same of a tenant's file, for all tenants wait while it is read. */
export const MAX_TENANT_FILE = 256 * 1024

/** A parsed file: the tree of YAML nodes, and where offsets are. */
export interface Parsed {
  root: ParsedNode | null
  /** Syntax errors; with any of them the tree cannot be trusted. */
  findings: Finding[]
  range(start: number, end: number): Range
}

/** At most so many syntax errors are told: those after the first are often its echo. */
const MAX_SYNTAX_ERRORS = 10
/** The YAML parser takes time by the square of their number. */
export const TAG_HEAP = /(?:[!&][^\s!&]{0,99}\s{1,99}){50}/
const MAX_WARNINGS = 100

/** Parses one YAML 1.2 document (core schema). Never throws. */
export function* parseYaml(source: Source): Steps<Parsed> {
  const position = positionsOf(source.text)
  const range: Parsed['range'] = (start, end) => ({ start: position(start), end: position(end) })
  const heap = TAG_HEAP.exec(source.text)
  if (heap) {
    const found = finding('yaml-syntax', source.file, 'too many tags or anchors in a row', {
      range: range(heap.index, heap.index + 1),
      hint: 'A value has at most one of each',
    })
    return { root: null, findings: [found], range }
  }
  let doc: Document.Parsed
  try {
    doc = yield* documentOf(source.text)
  } catch (error) {
    // The parser recurses: only a stack that is used up gets here.
    const message = error instanceof RangeError ? 'the YAML is nested too deeply' : 'the YAML cannot be read'
    return { root: null, findings: [finding('yaml-syntax', source.file, message)], range }
  }
  const findings: Finding[] = []
  let line = 0
  let tabs = false
  for (const error of doc.errors) {
    if (findings.length === MAX_SYNTAX_ERRORS) break
    // After the tree has ended, each further token would repeat the first error.
    const echo = findings.length > 0 && error.message.includes('in YAML stream')
    const { line: at } = range(error.pos[0], error.pos[0]).start
    if (echo || at === line) continue
    // With tabs the parser loses its way: of later lines it is only right about what is in quotes.
    if (tabs && error.code !== 'BAD_DQ_ESCAPE') continue
    tabs ||= error.code === 'TAB_AS_INDENT'
    line = at
    findings.push(errorFinding(error, source, range, doc))
  }
  for (const warning of doc.warnings.slice(0, MAX_WARNINGS))
    findings.push(warningFinding(warning, source, range))
  return { root: doc.contents, findings, range }
}

/** So many words of YAML are looked at in one step. */
const STEP = 50

/** What `writtenKey` has parsed last: where a file has findings, its tree is wanted again to find their places. */
let last: { text: string; parsed: Parsed } | undefined

/** The tree of a sound text that was parsed last. */
export function parsedBefore({ text }: Source): Parsed | undefined {
  return last?.text === text ? { ...last.parsed, findings: [] } : undefined
}

/**
 * The text of a key of the top level, as it is written; undefined where it is absent.
 * @returns null where that does not show: behind aliases and merges, and where the file is not sound
 */
export function* writtenKey(source: Source, wanted: string): Steps<string | undefined | null> {
  const parsed = yield* parseYaml(source)
  const { root, findings } = parsed
  if (!isMap(root) || findings.length > 0) return null
  // The tree takes many times the room.
  if (source.text.length <= MAX_TENANT_FILE) last = { text: source.text, parsed }
  let found: string | undefined
  for (const { key, value } of root.items) {
    if (!isScalar(key) || key.value === '<<') return null
    if (key.value !== wanted) continue
    if (found !== undefined || !isScalar(value) || typeof value.value !== 'string') return null
    found = value.value
  }
  return found
}

/** As `parseDocument` of the parser, which takes no pause. */
function* documentOf(text: string): Steps<Document.Parsed> {
  const parser = new Parser()
  const composer = new Composer({
    schema: 'core',
    resolveKnownTags: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: 'error',
  })
  const docs: Document.Parsed[] = []
  const compose = (tokens: ReturnType<Parser['next']>) => {
    for (const token of tokens) docs.push(...composer.next(token))
  }
  let words = 0
  for (const word of new Lexer().lex(text)) {
    compose(parser.next(word))
    if (docs.length > 1) break
    if (++words % STEP === 0) yield
  }
  yield
  compose(parser.end())
  docs.push(...composer.end(true, text.length))
  const [doc, second] = docs as [Document.Parsed, Document.Parsed?]
  // Its message is ours.
  if (second) doc.errors.push(new YAMLParseError([second.range[0], second.range[1]], 'MULTIPLE_DOCS', ''))
  return doc
}

function errorFinding(
  error: YAMLError,
  { file, text }: Source,
  range: Parsed['range'],
  doc: Document.Parsed,
): Finding {
  const [from, to] = error.pos
  const at = range(from, Math.max(to, from + 1))
  if (error.code === 'MULTIPLE_DOCS') {
    return finding('several-documents', file, 'a second document starts here', {
      range: at,
      hint: 'Put each configuration in its own file',
    })
  }
  if (error.code === 'RESOURCE_EXHAUSTION') {
    return finding('yaml-syntax', file, 'the YAML is nested too deeply', { range: at, hint: 'Flatten it' })
  }
  const { start, end, message, hint } = explain(error, text, doc)
  return finding('yaml-syntax', file, message, { range: range(start, end), hint })
}

function warningFinding(warning: YAMLError, { file }: Source, range: Parsed['range']): Finding {
  const at = range(warning.pos[0], warning.pos[1])
  if (warning.code !== 'TAG_RESOLVE_FAILED') {
    return finding('yaml-warning', file, lowerFirst(warning.message), { range: at, hint: 'Remove it' })
  }
  return finding(
    'not-json',
    file,
    `the tag \`${warning.message.replace(/^.*: /, '').replace('tag:yaml.org,2002:', '!!')}\` has no JSON equivalent`,
    {
      range: at,
      hint: 'Remove the tag, and write the value as a string, number, array or object',
    },
  )
}

/** What a syntax error means to the author of the file. */
interface Explained {
  start: number
  end: number
  message: string
  hint: string
}

/** The parser reports where it could not go on, in words of its own; this is where the mistake is, and how to fix it. */
function explain(error: YAMLError, text: string, doc: Document.Parsed): Explained {
  const [at, end] = error.pos
  const unclosed = openerOf(error, doc)
  if (unclosed !== undefined) {
    const opener = text.charAt(unclosed)
    return {
      start: unclosed,
      end: unclosed + 1,
      message: `this \`${opener}\` is never closed`,
      hint: `Write \`${CLOSERS[opener] ?? opener}\` where it ends`,
    }
  }
  const lineStart = text.lastIndexOf('\n', at - 1) + 1
  const line = text.slice(lineStart, lineStart + 300).split('\n', 1)[0]!
  const before = text.slice(lineStart, at)
  const template = BARE_TEMPLATE.exec(line)
  if (template) {
    const start = lineStart + template.index
    return {
      start,
      end: start + template[0].length,
      message: 'a template without quotes',
      hint: QUOTE_TEMPLATE,
    }
  }
  return { start: at, end: Math.max(end, at + 1), ...wordsOf(error, line, before) }
}

/** The rest of a line from a value on that begins with a template. */
const BARE_TEMPLATE = /\{\{(?<=[:-]\s+\{\{)(?:.*\S)?/
export const QUOTE_TEMPLATE = 'Put a value that starts with a template in quotes: `"{{…}}"`'

const CLOSERS: Record<string, string> = { '[': ']', '{': '}' }

/** Where the quote, list or map begins that an error says has no end. */
function openerOf({ message, pos: [at] }: YAMLError, doc: Document.Parsed): number | undefined {
  const quote = message.startsWith('Missing closing ')
  if (!quote && !/^Flow \w+ .*\bend with a /.test(message)) return undefined
  let found: number | undefined
  const look = (node: Node) => {
    // The innermost of those that end there comes first.
    if (node.range?.[1] === at && node.range[0] < at) found = node.range[0]
  }
  visit(doc, {
    Scalar: (_, node) => {
      if (quote && node.type?.startsWith('QUOTE')) look(node)
    },
    Collection: (_, node) => {
      if (!quote && node.flow && isMap(node) === message.startsWith('Flow map')) look(node)
    },
  })
  return found
}

const UNEVEN = {
  message: 'inconsistent indentation',
  hint: 'Indent the line like the lines around it',
}

function wordsOf(error: YAMLError, line: string, before: string): { message: string; hint: string } {
  const { code } = error
  if (/^(?:<{7}|={7}|>{7})(?: |$)/.test(line))
    return {
      message: 'the file contains a merge conflict',
      hint: 'Choose one side, and remove the markers',
    }
  const message =
    MESSAGES[code] ??
    lowerFirst(error.message)
      .replace(/\.$/, '')
      .replace(
        /flow-map-start|flow-seq-start|flow-map-end|flow-seq-end|seq-item-ind/g,
        (name) => TOKENS[name]!,
      )
  if (/(?:^|["'])[^"'{[,]*[{[,][^"']*\$\{/.test(line))
    return { message, hint: 'Inside `{ }` and `[ ]` put `${NAME}` in quotes: `"${NAME}"`' }
  if (error.message.startsWith('Sequence item without')) return UNEVEN
  // On the line of its key it is a second pair, on one of its own it is not where it belongs.
  if (code === 'BLOCK_AS_IMPLICIT_KEY' && /^[\s-]*$/.test(before)) return UNEVEN
  const quoted = code === 'BLOCK_AS_IMPLICIT_KEY' && /^["']/.test(line.slice(before.length))
  if (quoted || (code === 'UNEXPECTED_TOKEN' && /["']\s*$/.test(before)))
    return {
      message: 'unexpected text after the closing quote',
      hint: "Put the whole value in the quotes; inside them write `\\\"` in `\"…\"`, and `''` in `'…'`",
    }
  if (code === 'UNEXPECTED_TOKEN' && error.message.endsWith('at node end'))
    return { message: 'unexpected text after the value', hint: HINT }
  return { message, hint: HINTS[code] ?? HINT }
}

const HINT = 'Fix the YAML here; quote a string that contains special characters'

/** Where the parser speaks of its own affairs. */
const MESSAGES: Partial<Record<YAMLError['code'], string>> = {
  TAB_AS_INDENT: 'a tab is used as indentation',
  BLOCK_AS_IMPLICIT_KEY: 'a second `key: value` on one line',
  MULTILINE_IMPLICIT_KEY: 'a key without `: `',
  BAD_ALIAS: 'unresolved alias',
}

const TOKENS: Record<string, string> = {
  'flow-map-start': '`{`',
  'flow-seq-start': '`[`',
  'flow-map-end': '`}`',
  'flow-seq-end': '`]`',
  'seq-item-ind': '`-`',
}

const HINTS: Partial<Record<YAMLError['code'], string>> = {
  TAB_AS_INDENT: 'Indent with spaces, not tabs',
  BAD_SCALAR_START: 'Put the value in quotes',
  BAD_ALIAS: 'Put a string that starts with `*` or `&` in quotes: `"*"`',
  BAD_DQ_ESCAPE: 'Double the backslash, or use single quotes',
  BLOCK_AS_IMPLICIT_KEY: 'Put a value that contains `: ` in quotes, or start a new line',
  MULTILINE_IMPLICIT_KEY: 'A key needs a `:` and a space after it, on its line',
  BAD_INDENT: UNEVEN.hint,
  BLOCK_IN_FLOW: 'Inside `{ }` and `[ ]` put `,` between entries, and write `{ }` and `[ ]` only',
}

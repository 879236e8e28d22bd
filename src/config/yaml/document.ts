import { Composer, type Document, Lexer, type ParsedNode, Parser, type YAMLError, YAMLParseError } from 'yaml'
import { type Finding, finding, type Position, type Range } from '../../findings/index.ts'
import type { Source } from '../types.ts'
import type { Steps } from '../work-turns.ts'
import { explain } from './syntax-errors.ts'

/** Bytes. A larger file is taken for an accident and refused. */
export const MAX_FILE_SIZE = 4 * 1024 * 1024

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
const TAG_HEAP = /(?:[!&][^\s!&]{0,99}\s{1,99}){50}/
const MAX_WARNINGS = 100

/** Parses one YAML 1.2 document (core schema). Never throws. */
export function* parseYaml(source: Source): Steps<Parsed> {
  const range = rangesOf(source.text)
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
  for (const error of doc.errors) {
    if (findings.length === MAX_SYNTAX_ERRORS) break
    // Once the tree is left, every further token is told: an echo of the first error.
    const echo = findings.length > 0 && error.message.includes('in YAML stream')
    const { line: at } = range(error.pos[0], error.pos[0]).start
    if (echo || at === line) continue
    line = at
    findings.push(errorFinding(error, source, range, doc))
  }
  for (const warning of doc.warnings.slice(0, MAX_WARNINGS))
    findings.push(warningFinding(warning, source, range))
  return { root: doc.contents, findings, range }
}

/** So many words of YAML are looked at in one step. */
const STEP = 50

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

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
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

/** Offsets → positions, with the starts of lines found when the first one is asked for. */
function rangesOf(text: string): Parsed['range'] {
  let starts: number[] | undefined
  const position = (wanted: number): Position => {
    starts ??= lineStarts(text)
    const offset = Math.max(0, Math.min(wanted, text.length))
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - starts[low]! + 1, offset }
  }
  return (start, end) => ({ start: position(start), end: position(end) })
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

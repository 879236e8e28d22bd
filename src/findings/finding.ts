import { isOneEdit, nearest, type Position, withoutKnown } from '../text/index.ts'
import { CODES, type FindingCode, type Severity } from './codes.ts'

/** From `start` up to, not including, `end`. */
export interface Range {
  start: Position
  end: Position
}

/** One thing that is wrong with what a user wrote: where it is, and how to fix it. */
export interface Finding {
  code: FindingCode
  severity: Severity
  /** Path as the user gave it; `-` for standard input. */
  file: string
  /** Absent when the finding concerns the file as a whole. */
  range?: Range
  /** One sentence without a full stop that names the thing at fault. */
  message: string
  /** How to fix it, as an instruction; begins with the suggestion. */
  hint?: string
  /** The most likely intended word. */
  suggestion?: string
  /** Other places that belong to it, such as the first of two duplicates. */
  related?: { file: string; range?: Range; message: string }[]
  /** The edit of `--fix`, only if unambiguous. */
  fix?: Fix
}

/** A replacement of the text between two places of the finding's file. */
export interface Fix {
  range: Range
  text: string
}

type More = {
  [K in 'range' | 'hint' | 'suggestion' | 'related' | 'severity' | 'fix']?: Finding[K] | undefined
}

/** A finding with the severity that the catalogue gives its code, and a hint that begins with its suggestion. */
export function finding(code: FindingCode, file: string, message: string, more: More = {}): Finding {
  const { range, suggestion, related, severity, fix } = more
  const hint =
    suggestion === undefined
      ? more.hint
      : [`Did you mean \`${suggestion}\`?`, more.hint ?? ''].join(' ').trim()
  return {
    code,
    severity: severity ?? CODES[code].severity,
    file,
    ...(range && { range }),
    // It may quote a value that a variable holds, and goes into logs.
    message: withoutKnown(message),
    ...(hint !== undefined && { hint: withoutKnown(hint) }),
    ...(suggestion !== undefined && { suggestion }),
    ...(related?.length && { related }),
    ...(fix && { fix }),
  }
}

const RANK = { error: 0, warning: 1, info: 2 }

/** Findings about file names come after all others. */
const LAST: ReadonlySet<string> = new Set(['file-name'])

/** A new list by file, place, severity, code and message: the same whatever order the stages ran in. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return [...findings].sort(
    (a, b) =>
      Number(LAST.has(a.code)) - Number(LAST.has(b.code)) ||
      compare(a.file, b.file) ||
      (a.range?.start.offset ?? -1) - (b.range?.start.offset ?? -1) ||
      RANK[a.severity] - RANK[b.severity] ||
      compare(a.code, b.code) ||
      compare(a.message, b.message),
  )
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

export function hasErrors(findings: readonly Finding[]): boolean {
  return findings.some(({ severity }) => severity === 'error')
}

/** How many there are of each severity, and in how many files. */
export function countFindings(findings: readonly Finding[]) {
  const counts = { error: 0, warning: 0, info: 0, files: new Set(findings.map(({ file }) => file)).size }
  for (const { severity } of findings) counts[severity]++
  return counts
}

/** Exit code of a checking command: 1 if there is an error, else 0. */
export function exitCode(findings: readonly Finding[]): 0 | 1 {
  return hasErrors(findings) ? 1 : 0
}

/** Keys and indexes from the top of a file to a value, such as `['tools', 0, 'endpoint']`. */
export type Path = readonly (string | number)[]

export interface Locate {
  /**
   * The range of a value. With `start` and `end` (UTF-16 offsets into the scalar as read) the range of that part;
   * the whole scalar where the part cannot be traced, the key where the value is empty. Undefined when there is
   * no such value.
   */
  (path: Path, start?: number, end?: number): Range | undefined
  /** The range of the key whose value `path` names. */
  key(path: Path): Range | undefined
  /** Whether the file has that key. */
  has(path: Path): boolean
}

/** Locates nothing. */
export const NOWHERE: Locate = Object.assign(() => undefined, { key: () => undefined, has: () => false })

export interface Place {
  file: string
  text: string
  locate: Locate
}

/** The most likely intended word. */
export interface Suggestion {
  suggestion?: string
  fix?: Replacement
}

/** An edit of `--fix`: it replaces `was` of the file as read. */
interface Replacement {
  was: string
  now: string
  /** Whether `now` stands without the quotes of `was`. */
  bare?: boolean
}

/** One thing that a check has found. */
export interface Report extends Omit<Suggestion, 'fix'> {
  /**
   * A function if it replaces another place than that of the report; its result is undefined if the place is unsure.
   */
  fix?: Replacement | ((place: Place) => Fix | undefined)
  code: Finding['code']
  /** The value at fault. */
  path: Path
  /** Keys beside `path`; one of them is missing. */
  missing?: readonly string[]
  /** The key of `path` is at fault, not its value. */
  isKey?: boolean
  /** UTF-16 offsets into the string at `path`. Default: all of it. */
  start?: number
  end?: number
  message: string
  /** An instruction; it follows the suggestion. */
  hint?: string | undefined
  /** Default: the severity of the code. */
  severity?: Severity | undefined
  /** Another place, by default in the same file. */
  related?: { path: Path; message: string; place?: Place }
}

export type Reporter = (report: Report) => void

const UNSET: ReadonlySet<string> = new Set(['env-unset', 'env-syntax', 'secret-file', 'env-withheld'])

/** Whether a value contains a variable that is already reported as unset, so that the value is unknown. */
export function unsetValues(
  { locate }: Pick<Place, 'locate'>,
  findings: readonly Finding[],
): (path: Path) => boolean {
  const unset = findings.flatMap(({ code, range }) => (UNSET.has(code) && range ? [range] : []))
  if (unset.length === 0) return () => false
  return (path) => {
    const at = locate(path)
    return (
      at !== undefined &&
      unset.some(({ start, end }) => at.start.offset <= start.offset && end.offset <= at.end.offset)
    )
  }
}

/** A reporter that adds findings of one file. */
export function reporter(place: Place, findings: Finding[]): Reporter {
  return (report) => {
    findings.push(toFinding(report, place))
  }
}

/** The finding at its place in the file, with its fix if the file contains exactly the text to replace. */
export function toFinding(report: Report, place: Place): Finding {
  const { code, path, isKey, start, end, fix, related, missing: _, ...rest } = report
  const range = isKey
    ? (place.locate.key(path) ?? place.locate(path.slice(0, -1)))
    : (place.locate(path, start, end) ?? place.locate.key(path))
  const replaced = typeof fix === 'function' ? fix(place) : fix && range && fixAt(range, fix, place.text)
  const near = related?.place ?? place
  const other = related && (near.locate(related.path) ?? near.locate.key(related.path))
  return finding(code, place.file, rest.message, {
    ...rest,
    ...(range && { range }),
    ...(replaced && { fix: replaced }),
    ...(related && {
      related: [{ file: near.file, ...(other && { range: other }), message: related.message }],
    }),
  })
}

/** Texts that are the same in YAML with and without quotes: names, paths and origins. */
const SAFE = /^[\w./][\w./~@-]*(?::\/\/[\w.-]+(?::\d+)?)?$/

/** Undefined if the file writes the text by an alias, a variable or an escape. */
function fixAt(range: Range, { was, now, bare }: Replacement, text: string): Fix | undefined {
  if (was === '' || !SAFE.test(now)) return undefined
  const written = text.slice(range.start.offset, range.end.offset)
  const quote = written === was ? '' : written[0]
  if (quote && (!(quote === '"' || quote === "'") || written !== quote + was + quote)) return undefined
  return { range, text: bare ? now : `${quote}${now}${quote}` }
}

/**
 * The name that a misspelt word most likely means. It is also the fix, unless another name differs from the word by
 * one edit, or by case.
 * @param names those that exist
 * @param also further candidates, which are never a fix
 */
export function suggest(word: string, names: Iterable<string>, also: Iterable<string> = []): Suggestion {
  const known = new Set(names)
  const suggestion = nearest(word, [...known, ...also])
  if (suggestion === undefined) return {}
  const near = [...known].filter((name) => isNear(word, name))
  return near.length === 1 && near[0] === suggestion
    ? { suggestion, fix: { was: word, now: suggestion } }
    : { suggestion }
}

/** Maximum pairs of words that one `suggester` compares. */
const MAX_COMPARED = 100_000

/** `suggest` for many words, which knows nothing more once it has compared many, so that no file takes long. */
export function suggester(names: readonly string[]): (word: string) => Suggestion {
  let compared = 0
  return (word) => {
    compared += names.length
    return compared > MAX_COMPARED ? {} : suggest(word, names)
  }
}

/** Whether two words differ by one edit, or by case. */
function isNear(one: string, other: string): boolean {
  if (one.toLowerCase() === other.toLowerCase()) return true
  // Every short word is near every other one.
  return Math.max(one.length, other.length) >= 3 && isOneEdit(one, other)
}

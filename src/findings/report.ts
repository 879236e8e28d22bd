import { isOneEdit, nearest } from '../text/index.ts'
import type { Finding, Fix, Range, Severity } from './finding.ts'
import { finding } from './list.ts'

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
}

/** A file in which things are found. */
export interface Place {
  file: string
  text: string
  locate: Locate
}

/** What was most likely meant instead of a word. */
export interface Suggestion {
  suggestion?: string
  fix?: Replacement
}

/** What `--fix` writes, where `was` stands in the file as it was read. */
export interface Replacement {
  was: string
  now: string
  /** Whether `now` stands without the quotes of `was`. */
  bare?: boolean
}

/** One thing that a check has found. */
export interface Report extends Suggestion {
  code: Finding['code']
  /** The value at fault. */
  path: Path
  /** The key of `path` is at fault, not its value. */
  isKey?: boolean
  /** UTF-16 offsets into the string at `path`. Default: all of it. */
  start?: number
  end?: number
  message: string
  /** An instruction; it follows the suggestion. */
  hint?: string | undefined
  /** Default: that of the code. */
  severity?: Severity | undefined
  /** Another place, by default in the same file. */
  related?: { path: Path; message: string; place?: Place }
}

export type Reporter = (report: Report) => void

/** A reporter that adds findings of one file. */
export function reporter(place: Place, findings: Finding[]): Reporter {
  return (report) => {
    findings.push(toFinding(report, place))
  }
}

/** The finding at its place in the file, with a fix where the file holds exactly what the fix replaces. */
export function toFinding(report: Report, place: Place): Finding {
  const { code, path, isKey, start, end, fix, related, ...rest } = report
  const range = isKey
    ? (place.locate.key(path) ?? place.locate(path.slice(0, -1)))
    : (place.locate(path, start, end) ?? place.locate.key(path))
  const replaced = fix && range && fixAt(range, fix, place.text)
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

/** What can stand in YAML with and without quotes: names, paths and origins. */
const SAFE = /^[\w./][\w./~@-]*(?::\/\/[\w.-]+(?::\d+)?)?$/

/** Nothing where an alias, a variable or an escape stands for the text. */
function fixAt(range: Range, { was, now, bare }: Replacement, text: string): Fix | undefined {
  if (was === '' || !SAFE.test(now)) return undefined
  const written = text.slice(range.start.offset, range.end.offset)
  const quote = written === was ? '' : written[0]
  if (quote && (!(quote === '"' || quote === "'") || written !== quote + was + quote)) return undefined
  return { range, text: bare ? now : `${quote}${now}${quote}` }
}

/**
 * The name that a misspelt word most likely means. It is also the fix when no other name is one edit, or its case, away
 * from the word.
 * @param names those that exist
 * @param also further ones that may be meant, which are no fix
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

/** Whether one edit, or its case, makes one of the other. */
function isNear(one: string, other: string): boolean {
  if (one.toLowerCase() === other.toLowerCase()) return true
  // Every short word is near every other one.
  return Math.max(one.length, other.length) >= 3 && isOneEdit(one, other)
}

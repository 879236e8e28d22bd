import { type CheckName, CODES, checkOf, type FindingCode, type Severity } from './codes.ts'
import { type Finding, finding, type Range, sortFindings, suggest } from './finding.ts'

interface IgnoreOptions {
  /** Whether all checks for a code ran; only then can a comment for it be reported as unused. */
  ran: (code: FindingCode, file: string) => boolean
}

/** One code of one comment. */
interface Ignore {
  code: FindingCode
  range: Range
  used: boolean
}

interface Comments {
  /** By the line on which they silence. */
  ignores: Map<number, Ignore[]>
  faults: Finding[]
  lines: string[]
}

/**
 * Removes the findings that a comment of their file silences: `# plantgw-ignore CODE: reason` on the line where the
 * finding begins, or alone on the line before; for a finding in a block scalar also at its key. Adds findings for
 * malformed and for unused comments; sorted.
 * @param sources the text of each file
 */
export function applyIgnores(
  findings: readonly Finding[],
  sources: ReadonlyMap<string, string>,
  { ran }: IgnoreOptions,
): Finding[] {
  const byFile = new Map<string, Comments>()
  for (const [file, text] of sources)
    if (text.includes('plantgw-ignore')) byFile.set(file, commentsOf(file, text))
  const left = findings.filter((found) => {
    const comments = byFile.get(found.file)
    return !comments || !found.range || !isSilenced(found.code, found.range.start.line, comments)
  })
  for (const [file, { ignores, faults }] of byFile) {
    left.push(...faults)
    for (const { code, range, used } of [...ignores.values()].flat())
      if (!used && ran(code, file)) {
        const hint = 'Remove the comment'
        left.push(finding('unused-ignore', file, `there is no finding \`${code}\` here`, { range, hint }))
      }
  }
  return sortFindings(left)
}

const COMMENT = /(?:^|\s)#\s*plantgw-ignore\b(.*)$/

function commentsOf(file: string, text: string): Comments {
  const lines = text.split('\n')
  const comments: Comments = { ignores: new Map(), faults: [], lines }
  let offset = 0
  for (const [i, line] of lines.entries()) {
    const match = COMMENT.exec(line)
    // In a block scalar it is text.
    if (match && linesOfComments(i + 1, lines).length === 1) {
      const column = line.indexOf('#', match.index)
      const range = {
        start: { line: i + 1, column: column + 1, offset: offset + column },
        end: { line: i + 1, column: line.length + 1, offset: offset + line.length },
      }
      let target = i
      // Several may stand below each other, all for the line after them.
      if (isComment(line)) for (target++; target < lines.length && isComment(lines[target]!); ) target++
      readComment(match[1]!, range, target + 1, file, comments)
    }
    offset += line.length + 1
  }
  return comments
}

function isComment(line: string): boolean {
  return /^\s*#/.test(line)
}

function readComment(text: string, range: Range, line: number, file: string, { ignores, faults }: Comments) {
  const [, names, reason] = /^\s+([\w-]+(?:\s*,\s*[\w-]+)*)\s*(?::\s*(\S.*))?$/.exec(text.trimEnd()) ?? []
  const fault = (message: string, hint: string) =>
    faults.push(finding('ignore-form', file, message, { range, hint }))
  const form = 'Write it like `# plantgw-ignore CODE: reason`'
  if (names === undefined) return fault('this comment names no finding to silence', form)
  if (reason === undefined) return fault('this comment gives no reason', form)
  for (const name of names.split(',').map((one) => one.trim())) {
    if (Object.hasOwn(CODES, name)) {
      const own = ignores.get(line) ?? []
      own.push({ code: name as FindingCode, range, used: false })
      ignores.set(line, own)
      continue
    }
    const { suggestion } = suggest(name, Object.keys(CODES))
    faults.push(
      finding('ignore-form', file, `there is no finding \`${name}\``, {
        range,
        ...(suggestion === undefined ? { hint: '`plantgw explain` lists the codes' } : { suggestion }),
      }),
    )
  }
}

function isSilenced(code: FindingCode, line: number, { ignores, lines }: Comments): boolean {
  for (const at of linesOfComments(line, lines)) {
    const own = ignores.get(at)?.filter((one) => one.code === code) ?? []
    for (const one of own) one.used = true
    if (own.length > 0) return true
  }
  return false
}

/** The line itself, and for a place in a block scalar the line of its key, since a block cannot contain comments. */
function linesOfComments(line: number, lines: readonly string[]): number[] {
  const places = [line]
  let indent = indentOf(lines[line - 1] ?? '')
  for (let i = line - 2; i >= 0 && indent > 0; i--) {
    const above = lines[i]!
    if (above.trim() === '' || indentOf(above) >= indent) continue
    indent = indentOf(above)
    if (/:\s+[|>][-+\d]*(?:\s+#.*)?\r?$/.test(above)) places.push(i + 1)
  }
  return places
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

interface Selection {
  /** The only checks and codes to report. Empty: all. */
  only: readonly string[]
  /** Checks and codes not to report. */
  skip: readonly string[]
  /** Severities by code or by check; a code takes precedence. */
  severity: Readonly<Record<string, Severity | 'off'>>
}

/** Whether findings with this code are reported. */
function isWanted(code: FindingCode, { only, skip, severity }: Selection): boolean {
  const check: CheckName = checkOf(code)
  const named = (names: readonly string[]) => names.includes(code) || names.includes(check)
  return (
    !named(skip) &&
    (only.length === 0 || named(only)) &&
    (severity[code] ?? severity[check] ?? 'on') !== 'off'
  )
}

/**
 * The findings that are wanted, with the severities that were set; sorted.
 * @param unread files that could not be read: their errors are always reported, because a file without findings
 * counts as valid
 */
export function select(
  findings: readonly Finding[],
  selection: Selection,
  unread: ReadonlySet<string>,
): Finding[] {
  const { severity } = selection
  const selected = findings.flatMap((found): Finding[] => {
    if (found.severity === 'error' && unread.has(found.file)) return [found]
    if (!isWanted(found.code, selection)) return []
    const set = severity[found.code] ?? severity[checkOf(found.code)]
    return [set === undefined || set === 'off' ? found : { ...found, severity: set }]
  })
  return sortFindings(selected)
}

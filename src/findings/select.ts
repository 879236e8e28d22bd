import { type CheckName, checkOf, type FindingCode, type Severity } from './codes.ts'
import { type Finding, sortFindings } from './finding.ts'

/** The findings to report. */
export interface Selection {
  /** The only checks and codes to report. Empty: all. */
  only: readonly string[]
  /** Checks and codes not to report. */
  skip: readonly string[]
  /** Severities by code or by check; a code takes precedence. */
  severity: Readonly<Record<string, Severity | 'off'>>
}

/** Whether findings with this code are reported. */
export function isWanted(code: FindingCode, { only, skip, severity }: Selection): boolean {
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
 * @param unread files that could not be looked into: their errors are always reported, since
 *   silence would pass for soundness
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

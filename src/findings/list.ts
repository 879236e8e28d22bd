import { CODES, type FindingCode } from './codes.ts'
import type { Finding } from './finding.ts'

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
    message,
    ...(hint !== undefined && { hint }),
    ...(suggestion !== undefined && { suggestion }),
    ...(related?.length && { related }),
    ...(fix && { fix }),
  }
}

const RANK = { error: 0, warning: 1, info: 2 }

/** A new list by file, place, severity, code and message: the same whatever order the stages ran in. */
export function sortFindings(findings: readonly Finding[]): Finding[] {
  return [...findings].sort(
    (a, b) =>
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

/** Of a command that checks: 1 when there is an error, else 0. */
export function exitCode(findings: readonly Finding[]): 0 | 1 {
  return hasErrors(findings) ? 1 : 0
}

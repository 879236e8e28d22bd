import type { Finding } from './finding.ts'
import { printable, printableLines } from './frame.ts'

const COMMANDS = { error: 'error', warning: 'warning', info: 'notice' } as const

/**
 * Findings as workflow commands of GitHub Actions, one line each, which become annotations of the changed files.
 * Empty without findings.
 */
export function formatGithub(findings: readonly Finding[]): string {
  return findings.map((one) => `${line(one)}\n`).join('')
}

function line({ code, severity, file, range, message, hint }: Finding): string {
  const properties: [string, string | number][] = [['file', file]]
  if (range) {
    const { start, end } = range
    properties.push(['line', start.line], ['endLine', end.line])
    // Columns of an annotation hold for one line only; its last column is a part of it.
    if (start.line === end.line)
      properties.push(['col', start.column], ['endColumn', Math.max(start.column, end.column - 1)])
  }
  properties.push(['title', code])
  const written = properties
    .map(([name, value]) => `${name}=${escapeProperty(printable(String(value)))}`)
    .join(',')
  const text = hint === undefined ? message : `${message}\n${hint}`
  return `::${COMMANDS[severity]} ${written}::${escapeData(printableLines(text))}`
}

/** As the runner of GitHub Actions reads them back. */
function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}

import type { Finding } from './finding.ts'
import { printableLines } from './frame.ts'

export interface FormatJunitOptions {
  /** Paths of the files that were looked at: one without an error is a test that passed. */
  files: readonly string[]
  /** Why the whole fails although no finding is an error. */
  failure?: string | undefined
}

/**
 * Findings as JUnit's XML, as CI services show it: a test case for each file, which fails with each of its errors;
 * warnings and notes are what the test printed. In the order of the files.
 */
export function formatJunit(findings: readonly Finding[], { files, failure }: FormatJunitOptions): string {
  const names = [...new Set([...files, ...findings.map(({ file }) => file)])].sort()
  const cases = names.map((file) =>
    testCase(
      file,
      findings.filter((one) => one.file === file),
    ),
  )
  if (failure !== undefined)
    cases.push({
      text: element('all', 'warnings', [`      <failure message="${attribute(failure)}"/>`]),
      failed: true,
    })
  const counts = `tests="${cases.length}" failures="${cases.filter(({ failed }) => failed).length}" errors="0"`
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="plantgw" ${counts}>
  <testsuite name="plantgw" ${counts} skipped="0">
${cases.map(({ text }) => text).join('\n')}
  </testsuite>
</testsuites>
`
}

function testCase(file: string, findings: readonly Finding[]): { text: string; failed: boolean } {
  const errors = findings.filter(({ severity }) => severity === 'error')
  const others = findings.filter(({ severity }) => severity !== 'error')
  const parts: string[] = []
  const [first] = errors
  if (first) {
    // Some services read the first failure of a test case only.
    const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
    const attributes = `type="${first.code}" message="${attribute(first.message + more)}"`
    parts.push(`      <failure ${attributes}>${xml(errors.map(lineOf).join('\n'))}</failure>`)
  }
  if (others.length > 0) parts.push(`      <system-out>${xml(others.map(lineOf).join('\n'))}</system-out>`)
  return { text: element(file, file, parts), failed: errors.length > 0 }
}

function element(classname: string, name: string, parts: readonly string[]): string {
  const head = `    <testcase classname="${attribute(classname)}" name="${attribute(name)}"`
  return parts.length === 0 ? `${head}/>` : `${head}>\n${parts.join('\n')}\n    </testcase>`
}

function lineOf({ code, severity, file, range, message, hint }: Finding): string {
  const place = range ? `${file}:${range.start.line}:${range.start.column}` : file
  return `${place}: ${severity}: ${message} [${code}]${hint === undefined ? '' : `\n  hint: ${hint}`}`
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Text of an XML document; what XML 1.0 cannot hold, or would steer a terminal, becomes the replacement character. */
export function xml(text: string): string {
  return printableLines(Buffer.from(text).toString())
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"]/g, (character) => ENTITIES[character]!)
}

/** The same inside of quotes. */
export function attribute(text: string): string {
  return xml(text).replaceAll('\n', '&#10;')
}

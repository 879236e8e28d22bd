import { pathToFileURL } from 'node:url'
import { printable, printableJson, printableLines } from '../text/index.ts'
import { CODES, type CodeInfo } from './codes.ts'
import type { Finding, Fix, Range } from './finding.ts'

const COMMANDS = { error: 'error', warning: 'warning', info: 'notice' } as const

/**
 * Findings as workflow commands of GitHub Actions, one line each, which become annotations of the changed files.
 * Empty without findings.
 */
export function formatGithub(findings: readonly Finding[]): string {
  return findings.map((one) => `${commandOf(one)}\n`).join('')
}

function commandOf({ code, severity, file, range, message, hint }: Finding): string {
  const properties: [string, string | number][] = [['file', file]]
  if (range) {
    const { start, end } = range
    properties.push(['line', start.line], ['endLine', end.line])
    // An annotation has columns only within one line; the last one is inclusive.
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

interface FormatJunitOptions {
  /** Paths of the checked files; a file without errors is a passed test. */
  files: readonly string[]
  /** Why the run fails although no finding is an error. */
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

/** Text of an XML document; characters that XML 1.0 forbids, or that control a terminal, become U+FFFD. */
export function xml(text: string): string {
  return printableLines(Buffer.from(text).toString())
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replace(/[&<>"]/g, (character) => ENTITIES[character]!)
}

/** The same inside of quotes. */
export function attribute(text: string): string {
  return xml(text).replaceAll('\n', '&#10;')
}

const LEVELS = { error: 'error', warning: 'warning', info: 'note' } as const

/**
 * Findings as SARIF 2.1.0 (OASIS), as code scanning services read it: one run, the rules that occur, a result
 * for each finding with its fix where it has one. Columns count UTF-16 units.
 * @param version of the program
 */
export function formatSarif(findings: readonly Finding[], version: string): string {
  const codes = Object.keys(CODES).filter((code) => findings.some((one) => one.code === code))
  const log = {
    $schema: 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: { name: 'plantgw', version, rules: codes.map((code) => rule(code as Finding['code'])) },
        },
        columnKind: 'utf16CodeUnits',
        results: findings.map((one) => result(one, codes.indexOf(one.code))),
      },
    ],
  }
  return `${printableJson(JSON.stringify(log, null, 2))}\n`
}

function rule(code: Finding['code']) {
  const { severity, title, cause, fix }: CodeInfo = CODES[code]
  return {
    id: code,
    shortDescription: { text: title },
    fullDescription: { text: cause },
    help: { text: fix },
    defaultConfiguration: { level: LEVELS[severity] },
  }
}

function result({ code, severity, file, range, message, hint, related, fix }: Finding, ruleIndex: number) {
  return {
    ruleId: code,
    ruleIndex,
    level: LEVELS[severity],
    message: { text: hint === undefined ? message : `${message}. ${hint}` },
    locations: [location(file, range)],
    ...(related && {
      relatedLocations: related.map((other, i) => ({
        id: i + 1,
        ...location(other.file, other.range),
        message: { text: other.message },
      })),
    }),
    ...(fix && { fixes: [fixOf(file, fix)] }),
  }
}

function location(file: string, range: Range | undefined) {
  return {
    physicalLocation: { artifactLocation: { uri: uriOf(file) }, ...(range && { region: region(range) }) },
  }
}

function region({ start, end }: Range) {
  return {
    startLine: start.line,
    startColumn: start.column,
    endLine: end.line,
    endColumn: end.column,
    charOffset: start.offset,
    charLength: end.offset - start.offset,
  }
}

function fixOf(file: string, { range, text }: Fix) {
  return {
    artifactChanges: [
      {
        artifactLocation: { uri: uriOf(file) },
        replacements: [{ deletedRegion: region(range), insertedContent: { text } }],
      },
    ],
  }
}

/** A relative path stays relative, to the root of the repository that the command ran in. */
function uriOf(file: string): string {
  if (file === '-') return 'stdin'
  if (file.startsWith('/') || /^[A-Za-z]:[\\/]/.test(file)) return pathToFileURL(file).href
  // A colon in the first segment would look like a scheme.
  const path = file.replaceAll('\\', '/').split('/').map(encodeSegment).join('/')
  return /^[^/]*:/.test(path) ? `./${path}` : path
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(Buffer.from(segment).toString())
}

import { pathToFileURL } from 'node:url'
import { printableJson } from '../text/index.ts'
import { CODES, type CodeInfo } from './codes.ts'
import type { Finding, Fix, Range } from './finding.ts'

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
  // A colon in the first segment would make a scheme of it.
  const path = file.replaceAll('\\', '/').split('/').map(encodeSegment).join('/')
  return /^[^/]*:/.test(path) ? `./${path}` : path
}

function encodeSegment(segment: string): string {
  return encodeURIComponent(Buffer.from(segment).toString())
}

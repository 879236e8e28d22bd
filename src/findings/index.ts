export type { Severity } from './codes.ts'
export { CHECKS, type CheckName, CODES, type CodeInfo, checkOf, codeInfo, type FindingCode } from './codes.ts'
export { explain, listCodes } from './explain.ts'
export type { Finding, Fix, Position, Range } from './finding.ts'
export {
  countFindings,
  exitCode,
  finding,
  hasErrors,
  type Locate,
  type Path,
  type Place,
  type Report,
  type Reporter,
  reporter,
  type Suggestion,
  sortFindings,
  suggest,
  toFinding,
} from './finding.ts'
export { type FormatTextOptions, formatJson, formatText, palette } from './format.ts'
export { printable, printableLines } from './frame.ts'
export { formatGithub } from './github.ts'
export { applyIgnores, type IgnoreOptions } from './ignore.ts'
export { attribute as xmlAttribute, type FormatJunitOptions, formatJunit, xml as xmlText } from './junit.ts'
export { formatSarif } from './sarif.ts'
export { type Selection, select } from './select.ts'

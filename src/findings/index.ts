export { attribute as xmlAttribute, formatGithub, formatJunit, formatSarif, xml as xmlText } from './ci.ts'
export type { Severity } from './codes.ts'
export { CHECKS, type CheckName, CODES, type CodeInfo, checkOf, type FindingCode } from './codes.ts'
export type { Finding, Fix, Range } from './finding.ts'
export {
  countFindings,
  exitCode,
  finding,
  hasErrors,
  type Locate,
  NOWHERE,
  type Path,
  type Place,
  type Report,
  type Reporter,
  reporter,
  type Suggestion,
  sortFindings,
  suggest,
  suggester,
  toFinding,
  unsetValues,
} from './finding.ts'
export { explain, formatJson, formatText, listCodes, palette } from './format.ts'
export { applyIgnores, select } from './ignore.ts'

import { CONNECTIONS } from './catalogue/connections.ts'
import { ENDPOINTS } from './catalogue/endpoints.ts'
import { FIELDS } from './catalogue/fields.ts'
import { FILES } from './catalogue/files.ts'
import { IGNORES } from './catalogue/ignores.ts'
import { NAMES } from './catalogue/names.ts'
import { PRACTICE } from './catalogue/practice.ts'
import { TEMPLATES } from './catalogue/templates.ts'
import { UPSTREAM } from './catalogue/upstream.ts'
import type { Severity } from './finding.ts'

/** What a code stands for. `docs/findings.md` is made from it, and so is what `explain` prints. */
export interface CodeInfo {
  severity: Severity
  title: string
  /** Why it is a fault: what would happen if it were served. */
  cause: string
  /** What to do. */
  cure: string
  /** YAML that gives the finding. */
  wrong?: string
  /** The same, mended. */
  right?: string
}

/** The closed catalogue of findings, in the order in which a file meets them. */
export const CODES = {
  ...FILES,
  ...IGNORES,
  ...FIELDS,
  ...NAMES,
  ...TEMPLATES,
  ...UPSTREAM,
  ...CONNECTIONS,
  ...ENDPOINTS,
  ...PRACTICE,
} as const

export type FindingCode = keyof typeof CODES

/** What the catalogue says of a code. */
export function codeInfo(code: FindingCode): CodeInfo {
  return CODES[code]
}

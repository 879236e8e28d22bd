import { CONNECTIONS, ENDPOINTS, PID } from './catalogue/connections.ts'
import { FIELDS, UPSTREAM } from './catalogue/fields.ts'
import { ENV, FILES, IGNORES } from './catalogue/files.ts'
import { NAMES } from './catalogue/names.ts'
import { PRACTICE } from './catalogue/practice.ts'
import { SKILLS } from './catalogue/skills.ts'
import { TEMPLATES } from './catalogue/templates.ts'
import type { Severity } from './finding.ts'

/** What a code stands for. `docs/findings.md` and `plantgw explain` are made from it. */
export interface CodeInfo {
  severity: Severity
  title: string
  /** Why it is a fault: what would happen if it were served. */
  cause: string
  /** What to do. */
  fix: string
  /** YAML that gives the finding. */
  wrong?: string
  /** The same, fixed. */
  right?: string
}

/** The checks that `validate` consists of, as `--only` and `--skip` name them, and what each looks at. */
export const CHECKS = {
  yaml: 'files that can be read and are YAML',
  env: 'environment variables that must be set',
  fields: 'keys, types and values, and how they fit each other',
  references: 'names, prefixes, what refers to them, and skills',
  templates: 'syntax of templates, and their variables',
  practice: 'what works, but experience advises against',
  pid: 'whether the pid file of `--settings` can be written',
  connections: 'whether databases and brokers accept this machine; only with `--all`',
  endpoints: 'whether endpoints can be reached; only with `--endpoints` or `--all`',
} as const

export type CheckName = keyof typeof CHECKS

/** The closed catalogue of findings, in the order in which a file meets them. */
export const CODES = {
  ...FILES,
  ...ENV,
  ...IGNORES,
  ...FIELDS,
  ...NAMES,
  ...SKILLS,
  ...TEMPLATES,
  ...UPSTREAM,
  ...PID,
  ...CONNECTIONS,
  ...ENDPOINTS,
  ...PRACTICE,
} as const

export type FindingCode = keyof typeof CODES

const SECTIONS: Record<CheckName, object> = {
  yaml: { ...FILES, ...IGNORES },
  env: ENV,
  fields: { ...FIELDS, ...UPSTREAM },
  references: { ...NAMES, ...SKILLS },
  templates: TEMPLATES,
  practice: PRACTICE,
  pid: PID,
  connections: CONNECTIONS,
  endpoints: ENDPOINTS,
}

const CHECK_NAMES = Object.keys(SECTIONS) as CheckName[]

/** The check that a code belongs to. */
export function checkOf(code: FindingCode): CheckName {
  return CHECK_NAMES.find((check) => code in SECTIONS[check])!
}

/** What the catalogue says of a code. */
export function codeInfo(code: FindingCode): CodeInfo {
  return CODES[code]
}

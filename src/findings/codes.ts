import CATALOGUE from './catalogue.json' with { type: 'json' }

export type Severity = 'error' | 'warning' | 'info'

/** Description of a code, for `docs/findings.md` and `plantgw explain`. */
export interface CodeInfo {
  /** The check that the code belongs to. */
  check: CheckName
  severity: Severity
  title: string
  /** Why it is a fault: what would happen if it were served. */
  cause: string
  /** The remedy. */
  fix: string
  /** An example that gives the finding: part of a configuration, or files, each after a line `# path`, and commands. */
  wrong: string
  /** The same, fixed. */
  right: string
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

export type FindingCode = keyof typeof CATALOGUE

interface Entry extends Omit<CodeInfo, 'wrong' | 'right'> {
  /** Lines. */
  wrong: string[]
  right: string[]
}

/** The closed catalogue of findings, in the order of the checking stages. */
export const CODES = Object.fromEntries(
  Object.entries(CATALOGUE as Record<string, Entry>).map(([code, { wrong, right, ...info }]) => [
    code,
    {
      ...info,
      wrong: wrong.join('\n'),
      right: right.join('\n'),
    },
  ]),
) as Readonly<Record<FindingCode, CodeInfo>>

/** The check that a code belongs to. */
export function checkOf(code: FindingCode): CheckName {
  return CODES[code].check
}

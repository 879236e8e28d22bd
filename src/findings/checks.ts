import { CONNECTIONS } from './catalogue/connections.ts'
import { ENDPOINTS } from './catalogue/endpoints.ts'
import { FILES } from './catalogue/files.ts'
import { IGNORES } from './catalogue/ignores.ts'
import { NAMES } from './catalogue/names.ts'
import { PRACTICE } from './catalogue/practice.ts'
import { TEMPLATES } from './catalogue/templates.ts'
import type { FindingCode } from './codes.ts'

/** The checks that `validate` is made of, and what each looks at. */
export const CHECKS = {
  yaml: 'files that can be read and are YAML',
  env: 'environment variables that must be set',
  fields: 'keys, types and values, and what one says about another',
  references: 'names, prefixes, and what refers to them',
  templates: 'syntax of templates, and their variables',
  practice: 'what works, and experience advises against',
  pid: 'whether the pid file of `--settings` can be written',
  connections: 'whether databases and brokers let this machine in; looked at with `--all` only',
  endpoints: 'whether what is called can be reached; looked at with `--endpoints` or `--all` only',
} as const

export type CheckName = keyof typeof CHECKS

const OF_ENV = ['env-unset', 'env-syntax']

/** The check that a code belongs to. */
export function checkOf(code: FindingCode): CheckName {
  if (OF_ENV.includes(code)) return 'env'
  if (code in FILES || code in IGNORES) return 'yaml'
  if (code in NAMES) return 'references'
  if (code in TEMPLATES) return 'templates'
  if (code === 'pid-not-writable') return 'pid'
  if (code === 'missing-package') return 'fields'
  if (code in CONNECTIONS) return 'connections'
  if (code in ENDPOINTS) return 'endpoints'
  if (code in PRACTICE) return 'practice'
  return 'fields'
}

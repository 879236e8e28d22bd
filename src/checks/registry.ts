import type { CheckName } from '../findings/index.ts'
import type { Check } from './check.ts'
import { FIELD_CHECKS } from './fields/index.ts'
import { PRACTICE_CHECKS } from './practice/index.ts'
import { REFERENCE_CHECKS } from './references.ts'

/**
 * The checks over one configuration, by the name that `--only` and `--skip` give their phase. Other phases are stages
 * of their own: reading (`yaml`, `env`, the shape of `fields`), `templates`, claims among all files, and `pid`,
 * `connections` and `endpoints`, which look beyond the files.
 */
export const REGISTRY = {
  fields: FIELD_CHECKS,
  references: REFERENCE_CHECKS,
  practice: PRACTICE_CHECKS,
} satisfies Partial<Record<CheckName, readonly Check[]>>

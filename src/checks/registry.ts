import type { CheckName } from '../findings/index.ts'
import type { Check } from './check.ts'
import { FIELD_CHECKS } from './fields/index.ts'
import { PRACTICE_CHECKS } from './practice/index.ts'
import { REFERENCE_CHECKS } from './references.ts'

/**
 * The checks of one configuration, by their phase in `--only` and `--skip`. Other phases run elsewhere: reading
 * (`yaml`, `env`, the shape of `fields`), `templates`, claims among all files, and `pid`, `connections` and
 * `endpoints`, which look beyond the files.
 */
export const REGISTRY = {
  fields: FIELD_CHECKS,
  references: REFERENCE_CHECKS,
  practice: PRACTICE_CHECKS,
} satisfies Partial<Record<CheckName, readonly Check[]>>

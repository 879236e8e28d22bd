export {
  filesOf,
  type ReadConfigurationsResult,
  type Reader,
  type ReadFilesOptions,
  readFiles,
  readSource,
} from './files.ts'
export { createFileReader } from './known-files.ts'
export { LINT_CONFIG_FILE, type LintConfig, readLintConfig } from './lint-config.ts'
export type * from './model.ts'
export { DEFAULT_LIMITS, serverNames } from './model.ts'
export { type Address, parseAddresses, reloadUrl } from './notifier.ts'
export { leadsOutside, outsideFinding } from './outside.ts'
export type {
  Env,
  Locate,
  Path,
  ReadConfiguration,
  Source,
} from './read.ts'
export { type SchemaName, schemaFile } from './schemas.ts'
export { DEFAULT_SERVER_LIMITS, type ServerLimits } from './server-limits.ts'
export { type ReadSettings, readSettings, type SettingsFlags } from './settings.ts'
export { DEFAULT_TENANT } from './tenants.ts'
export { takeTurns } from './turns.ts'
export { parseDuration, parseSize } from './units.ts'

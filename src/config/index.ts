export { parseDuration, parseSize } from './build.ts'
export {
  filesOf,
  leadsOutside,
  outsideFinding,
  type ReadConfigurationsResult,
  type Reader,
  type ReadFilesOptions,
  readFiles,
} from './files.ts'
export { LINT_CONFIG_FILE, readLintConfig } from './lint-config.ts'
export { createFileReader, readSource } from './loader.ts'
export type * from './model.ts'
export { DEFAULT_LIMITS, DEFAULT_TENANT, METHODS, routerTokens, serverNames } from './model.ts'
export { type SchemaName, schemaFile } from './schemas.ts'
export type { ReadSettings, SettingsFlags } from './settings.ts'
export { type Address, parseAddresses, reloadUrl } from './settings.ts'
export type { SchemaNode } from './shape.ts'
export type { Env, Locate, Path, ReadConfiguration, Source } from './types.ts'
export { takeTurns } from './work-turns.ts'

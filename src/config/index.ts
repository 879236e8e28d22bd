export { type CheckTogetherOptions, checkTogether } from './check.ts'
export {
  filesOf,
  type ReadConfigurationsOptions,
  type ReadConfigurationsResult,
  readConfigurations,
  readSource,
} from './files.ts'
export type * from './model.ts'
export { DEFAULT_LIMITS, serverNames } from './model.ts'
export {
  type Env,
  type Locate,
  type Path,
  type ReadConfiguration,
  readConfiguration,
  type Source,
} from './read.ts'
export { schemaFile } from './schemas.ts'
export { type ReadSettings, readSettings, type SettingsFlags } from './settings.ts'
export { parseDuration, parseSize } from './units.ts'

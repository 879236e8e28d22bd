export type { CheckOptions } from './check.ts'
export {
  createReader,
  type ReadConfigurationsOptions,
  readConfiguration,
  readConfigurations,
  readerKeeper,
} from './reader.ts'
export { readSettings } from './settings.ts'
export { checkTogether } from './together.ts'

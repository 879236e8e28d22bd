export {
  createReader,
  type ReadConfigurationsOptions,
  readConfiguration,
  readConfigurations,
  readerKeeper,
} from './reader.ts'
export { type CheckTogetherOptions, checkTogether } from './together.ts'

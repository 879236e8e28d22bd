export { urlOf } from './bridge.ts'
export type { ClientFile, FileEdits } from './client-file.ts'
export {
  CLIENT_NAMES,
  type Client,
  type ClientName,
  clientOf,
  type Endpoint,
  type Places,
} from './clients.ts'
export { entryNamer } from './entry-names.ts'
export { FileFault } from './file-fault.ts'

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
export { deepLinks, snippetsOf } from './links.ts'
export { inputsOf, newFile } from './new-file.ts'
export { TOKEN_ENV } from './token-env.ts'

export { FileFault } from './client-file.ts'
export type { Endpoint } from './clients.ts'
export {
  CLIENT_NAMES,
  type Client,
  type ClientName,
  clientOf,
  entryNamer,
  type Places,
  TOKEN_ENV,
  urlOf,
} from './clients.ts'
export { inputsOf, newFile, openFile } from './files.ts'

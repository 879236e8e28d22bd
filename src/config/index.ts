export { parseDuration, parseSize } from './build.ts'
export { exposedAt, isOpen, type Listening, provesIssuers } from './exposure.ts'
export {
  filesAt,
  filesOf,
  leadsOutside,
  mayBeConfiguration,
  noFiles,
  outsideFinding,
  SETTINGS_FILE,
} from './files.ts'
export { LINT_CONFIG_FILE, readLintConfig } from './lint-config.ts'
export {
  type FoundMember,
  findMembers,
  nameOf,
  ownServers,
  reachesOut,
  SEPARATOR,
  type Servers,
  serversOf,
} from './listed-servers.ts'
export {
  clientBase,
  endpointPath,
  isLocal,
  type ListenAddress,
  listenText,
  originOf,
  parseListen,
  socketPath,
} from './listen.ts'
export { readFiles, readSource } from './loader.ts'
export type * from './model.ts'
export {
  asksForLogin,
  DEFAULT_LIMITS,
  DEFAULT_TENANT,
  hasTemplate,
  isRepeatable,
  METHODS,
  oauthOf,
  RESULT_TOOL_NAME,
} from './model.ts'
export {
  ambiguous,
  finder,
  type Identity,
  identityOf,
  named,
  qualifiedName,
  uniqueName,
} from './qualified-name.ts'
export { type SchemaName, schemaFile } from './schemas.ts'
export type { ReadSettings, SettingsFlags } from './settings.ts'
export { type Address, parseAddresses, parseNetwork, reloadTarget } from './settings.ts'
export type { SchemaNode } from './shape.ts'
export { tokenDigest, tokenExpiry } from './tokens.ts'

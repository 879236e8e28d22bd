export { parseDuration, parseSize } from './build.ts'
export {
  filesAt,
  filesOf,
  LINT_CONFIG_FILE,
  leadsOutside,
  mayBeConfiguration,
  noFiles,
  outsideFinding,
  readLintConfig,
  SETTINGS_FILE,
  unreadSettings,
} from './files.ts'
export {
  type FoundMember,
  findMembers,
  nameOf,
  offers,
  ownServers,
  reachesOut,
  routersTo,
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
  socketPath,
} from './listen.ts'
export { readFiles, readSource } from './loader.ts'
export type * from './model.ts'
export {
  asksForLogin,
  DEFAULT_LIMITS,
  DEFAULT_TENANT,
  exposedAt,
  hasTemplate,
  isOpen,
  isRepeatable,
  METHODS,
  oauthOf,
  provesIssuers,
  RESULT_TOOL_NAME,
  tokenDigest,
  tokenExpiry,
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
export { type SchemaName, schemaFile, schemaOf } from './schemas.ts'
export type { ReadSettings, SettingsFlags } from './settings.ts'
export { parseAddresses, parseNetwork, reloadTarget } from './settings.ts'
export type { SchemaNode } from './shape.ts'

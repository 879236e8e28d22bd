/**
 * Configurations and settings as the rest of the program sees them: checked, with defaults and `${ENV}` replaced,
 * durations in milliseconds, sizes in bytes. The types are made from the schemas, which describe every field.
 */
import type { Arg, Limits, Plants, ProcessLimits, Router, Settings as SettingsFile } from './generated.ts'

export type {
  Arg,
  Cluster as ClusterSettings,
  Configuration,
  Cors,
  Limits,
  LintConfiguration as LintConfig,
  McpServer,
  Notifier,
  Prompt,
  Proxy,
  RedisNotifier as RedisSettings,
  Router,
  Server,
  Tenant as TenantSettings,
  Tool,
} from './generated.ts'
export { DEFAULT_LIMITS } from './generated.ts'

export type ArgPosition = Arg['position']

/** What the process takes of its clients; of all of them together unless said otherwise. */
export type ServerLimits = Omit<ProcessLimits, keyof Limits>

/** Process-level settings, after files, environment and flags are merged; paths of the settings file are absolute. */
export interface Settings extends Omit<SettingsFile, 'plants' | 'storage'> {
  plants?: PlantSettings
  /** Where configurations are, for `serve` without paths and for `config`. */
  storage?: StorageSettings
}

/**
 * A folder or file (absolute paths), or a database on a server (URL with credentials). `poll`: milliseconds between
 * two looks whether it changed, 0: none; settings that were read always have it.
 */
export type StorageSettings =
  | { type: 'directory'; path: string; poll?: never }
  | { type: 'lowdb'; file: string; poll?: number }
  | { type: 'postgres' | 'mysql'; url: string; poll?: number }

export interface PlantSettings extends Omit<Plants, 'file' | 'storage'> {
  storage: PlantStorage
}

/** Where plants are kept: a file (absolute path), or a database on a server (URL with credentials). */
export type PlantStorage =
  | { type: 'lowdb'; file: string }
  | { type: 'postgres'; url: string }
  | { type: 'mysql'; url: string }

/** The tenant of configurations that name none. */
export const DEFAULT_TENANT = 'default'

/** Methods that a tool may use, and a router's `cors` may allow. */
export const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** The tokens that open a router; undefined: it asks for none. */
export function routerTokens({ auth }: Pick<Router, 'auth'>) {
  return auth?.mode === 'bearer' ? auth.tokens : undefined
}

/** The names of the servers behind a router. */
export function serverNames({ server }: Pick<Router, 'server'>): string[] {
  return typeof server === 'string' ? [server] : server
}

import type { Env, StorageSettings, TenantSettings } from '../config/index.ts'
import { requirePackages } from '../text/packages.ts'
import type { ConfigurationStore } from './store.ts'

export { settle } from './journal.ts'
export type {
  Change,
  ConfigurationStore,
  Conflict,
  HistoryEntry,
  Outcome,
  Reason,
  Snapshot,
  StoredConfiguration,
  StoredSummary,
} from './store.ts'
export { StoreError } from './store-error.ts'

/**
 * The store that the settings name. Nothing is opened or connected before the first call, which may therefore fail
 * and work later. Only what the type needs is loaded.
 * @throws Error when a package for the type is not installed
 * @param env for names in a folder that are variables
 * @param tenants of the settings, whose files are read with what they may read
 */
export async function openStore(
  storage: StorageSettings,
  env: Env,
  tenants?: readonly TenantSettings[],
): Promise<ConfigurationStore> {
  switch (storage.type) {
    case 'directory':
      return (await import('./directory.ts')).directoryStore(storage.path, env, tenants)
    case 'lowdb':
      return (await import('./lowdb.ts')).lowdbStore(storage.file, storage.keep)
    case 'postgres':
    case 'mysql':
      requirePackages(storage.type)
      return (await import('./sql.ts')).sqlStore(storage.type, storage.url, storage.keep)
  }
}

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
 * The store that the settings name. It opens or connects at the first call, so a later call may succeed after a failed
 * one. Loads only the packages of the type.
 * @throws Error when a package for the type is not installed
 * @param env environment variables, which names of configurations in a folder may refer to
 * @param tenants of the settings, which limit what a tenant's configurations may read
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

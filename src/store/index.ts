import type { Env, StorageSettings } from '../config/index.ts'
import { requirePackages } from '../durable/packages.ts'
import type { ConfigurationStore } from './store.ts'

export { StoreError } from '../durable/store-error.ts'
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

/**
 * The store that the settings name. Nothing is opened or connected before the first call, which may therefore fail
 * and work later. Only what the type needs is loaded.
 * @throws Error when a package for the type is not installed
 * @param env for names in a folder that are variables
 */
export async function openStore(storage: StorageSettings, env: Env): Promise<ConfigurationStore> {
  switch (storage.type) {
    case 'directory':
      return (await import('./directory.ts')).directoryStore(storage.path, env)
    case 'lowdb':
      return (await import('./lowdb.ts')).lowdbStore(storage.file, storage.keep)
    default:
      requirePackages(storage.type)
      return (await import('./sql.ts')).sqlStore(storage.type, storage.url, storage.keep)
  }
}

import type { Env, StorageSettings } from '../config/index.ts'
import type { ConfigurationStore } from './store.ts'

export { settle } from './journal.ts'
export {
  type Change,
  type ConfigurationStore,
  type Conflict,
  type HistoryEntry,
  type Outcome,
  type Reason,
  type Snapshot,
  type StoredConfiguration,
  type StoredSummary,
  StoreError,
} from './store.ts'

/**
 * The store that the settings name. Nothing is opened or connected before the first call, which may therefore fail
 * and work later. Only what the type needs is loaded.
 * @param env for names in a folder that are variables
 */
export async function openStore(storage: StorageSettings, env: Env): Promise<ConfigurationStore> {
  switch (storage.type) {
    case 'directory':
      return (await import('./directory.ts')).directoryStore(storage.path, env)
    case 'lowdb':
      return (await import('./lowdb.ts')).lowdbStore(storage.file)
    default:
      return (await import('./sql.ts')).sqlStore(storage.type, storage.url)
  }
}

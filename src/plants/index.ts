import type { Hono } from 'hono'
import { StoreError } from '../store/store-error.ts'
import type { Logger } from '../telemetry/log.ts'
import { requirePackages } from '../text/packages.ts'
import type { JudgeLogin } from './app.ts'
import { LateStore } from './late.ts'
import { lowdbStore } from './lowdb.ts'
import { Outage } from './outage.ts'
import { isPlantsPath } from './paths.ts'
import type { PlantSettings, PlantStorage, PlantStore } from './store.ts'
import { openFile } from './store-file.ts'

export type { JudgeLogin } from './app.ts'
export { isPlantsPath } from './paths.ts'

/** The plant store, opened. */
export interface Plants {
  app: Hono
  /** Whether `app` answers a path. */
  owns(path: string): boolean
  /** Whether the store works, according to the last operation. */
  available(): boolean
  /** Completes running writes and releases the file or database. Later changes are answered with 503. */
  close(): Promise<void>
}

const SILENT = { error() {}, info() {} }

/**
 * Opens the plant store of the specification's area A, as `schemas/plants.openapi.json` describes it.
 * An absent file is an empty store. Creates the folders of a file, or the tables of a database. While the database
 * server is unreachable, even at the start, requests are answered with 503.
 * @param settings the path of a file should be absolute
 * @param log gets two lines for each outage. Default: no log
 * @param judgeLogin limits wrong tokens. Default: no limit
 * @throws StoreError when another process holds the file, or the file or database is damaged;
 *   Error when a package for the type is not installed
 */
export async function openPlants(
  settings: PlantSettings,
  log: Pick<Logger, 'error' | 'info'> = SILENT,
  judgeLogin?: JudgeLogin,
): Promise<Plants> {
  const outage = new Outage(log)
  const store = await openStore(settings.storage, outage)
  const { plantsApp } = await import('./app.ts')
  const onError = (error: Error) => {
    if (!(error instanceof StoreError)) log.error({ err: error }, 'unexpected error in the plant store')
  }
  return {
    app: plantsApp(settings, outage.watch(store), onError, judgeLogin),
    owns: isPlantsPath(settings.basePath),
    available: () => outage.reason === undefined,
    close: () => store.close(),
  }
}

async function openStore(storage: PlantStorage, outage: Outage): Promise<PlantStore> {
  if (storage.type !== 'lowdb') {
    const { type, url } = storage
    // Kysely and the drivers are optional packages.
    requirePackages(type)
    const { openSqlStore } = await import('./sql.ts')
    return LateStore.open(() => openSqlStore(type, url), outage)
  }
  const file = await openFile(storage.file)
  const store = lowdbStore(file.adapter, file.snapshot)
  return {
    ...store,
    async close() {
      await store.close()
      await file.close()
    },
  }
}

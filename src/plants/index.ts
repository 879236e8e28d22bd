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
  /** Whether the store works, as far as the last operation shows. */
  available(): boolean
  /** Ends the writes under way and lets go of the file or database; later changes are answered 503. */
  close(): Promise<void>
}

const SILENT = { error() {}, info() {} }

/**
 * Opens the plant store of the specification's area A, as `schemas/plants.openapi.json` describes it.
 * An absent file is an empty store; its folders are made, as are the tables of a database. While the server of a
 * database is away, also from the start, requests are answered 503.
 * @param settings a file's path is used as it is, so it should be absolute
 * @param log gets two lines for each outage; default: none
 * @param judgeLogin bounds wrong tokens; default: there may be any number of them
 * @throws StoreError when another process holds the file, or when it or the database is damaged;
 *   Error when a package for it is not installed
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

import type { Hono } from 'hono'
import { requirePackages } from '../durable/packages.ts'
import { plantsApp } from './app.ts'
import { lowdbStore } from './lowdb.ts'
import type { PlantSettings, PlantStorage, PlantStore } from './store.ts'
import { openFile } from './store-file.ts'

export type { Access, NewPlant, Plant, PlantStore } from './store.ts'

/** The plant store, opened: `app` answers the paths that `isPlantsPath` is true for. */
export interface Plants {
  app: Hono
  /** Ends the writes under way and lets go of the file or database; later changes are answered 503. */
  close(): Promise<void>
}

/**
 * Opens the plant store of the specification's area A, as `schemas/plants.openapi.json` describes it.
 * An absent file is an empty store; its folders are made, as are the tables of a database.
 * @param settings a file's path is used as it is, so it should be absolute
 * @param options `onError` is told of every operation that failed, for the log
 * @throws StoreError when another process holds the file, or when it or the database is damaged or out of reach;
 *   Error when a package for it is not installed
 */
export async function openPlants(
  settings: PlantSettings,
  options: { onError?: (error: Error) => void } = {},
): Promise<Plants> {
  const store = await openStore(settings.storage)
  return { app: plantsApp(settings, store, options.onError), close: () => store.close() }
}

async function openStore(storage: PlantStorage): Promise<PlantStore> {
  if (storage.type !== 'lowdb') {
    // Kysely and the drivers are optional packages.
    requirePackages(storage.type)
    const { openSqlStore } = await import('./sql.ts')
    return openSqlStore(storage.type, storage.url)
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

/** Whether a path (decoded, with the base path) belongs to the plant store. */
export function isPlantsPath(basePath: string): (path: string) => boolean {
  const root = `${basePath.replace(/(?<!\/)\/+$/, '')}/plants`
  return (path) => path === root || path.startsWith(`${root}/`)
}

import { dirname, resolve } from 'node:path'
import type { PlantSettings, PlantStorage } from './model.ts'

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field
type Checked = Record<string, any>

/** The settings' `plants` with its defaults; paths are relative to the settings file. */
export function buildPlants(plants: Checked, settingsFile: string): PlantSettings {
  const folder = settingsFile === '-' ? '.' : dirname(settingsFile)
  return {
    basePath: plants.basePath ?? '/',
    storage: buildStorage(plants.storage ?? { type: 'lowdb', file: plants.file }, folder),
    tokens: (plants.tokens ?? []).map((entry: Checked) => ({
      token: entry.token,
      caller: entry.caller,
      access: entry.access ?? 'own',
    })),
  }
}

function buildStorage({ type, file, url }: Checked, folder: string): PlantStorage {
  return type === 'lowdb' ? { type, file: resolve(folder, file ?? 'data/plants.json') } : { type, url }
}

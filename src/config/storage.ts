import { dirname, resolve } from 'node:path'
import type { StorageSettings } from './model.ts'
import { parseDuration } from './units.ts'

// biome-ignore lint/suspicious/noExplicitAny: the schema has checked every field
type Checked = Record<string, any>

/** The settings' `storage` with its defaults; paths are relative to the settings file. */
export function buildStorage({ type, path, file, url }: Checked, settingsFile: string): StorageSettings {
  const folder = settingsFile === '-' ? '.' : dirname(settingsFile)
  if (type === 'directory') return { type, path: resolve(folder, path ?? 'configs') }
  if (type === 'lowdb') return { type, file: resolve(folder, file ?? 'data/configurations.json') }
  return { type, url }
}

/** Milliseconds. */
const DEFAULT_POLL = 5_000

/** The storage of configurations, which is looked at for changes besides. */
export function buildConfigurationStorage(given: Checked, settingsFile: string): StorageSettings {
  const storage = buildStorage(given, settingsFile)
  return storage.type === 'directory'
    ? storage
    : { ...storage, poll: parseDuration(String(given.poll)) ?? DEFAULT_POLL }
}

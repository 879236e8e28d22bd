import { dirname, resolve } from 'node:path'
import { quoteAll } from '../text/index.ts'
import type { StorageSettings } from './model.ts'
import { MAX_DURATION, type Report } from './report.ts'
import type { Path } from './types.ts'
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

const SCHEMES = {
  postgres: ['postgres:', 'postgresql:'],
  mysql: ['mysql:', 'mariadb:'],
}

/** The key that says where a storage of the type is. */
const KEYS: Record<string, string> = { directory: 'path', lowdb: 'file', postgres: 'url', mysql: 'url' }

/** What one field of a `storage` says about another. A URL is never shown: it may hold a password. */
export function checkStorage(storage: Checked, path: Path, report: Report): void {
  const { type, url } = storage
  for (const idle of new Set(Object.values(KEYS)))
    if (idle !== KEYS[type] && storage[idle] !== undefined)
      report(
        'key-without-effect',
        [...path, idle],
        `\`${idle}\` does nothing for a storage of type \`${type}\``,
        'Remove it, or change `type`',
      )
  if ((type !== 'postgres' && type !== 'mysql') || isDatabase(url, type)) return
  report(
    'invalid-value',
    [...path, 'url'],
    `\`url\` is no ${type} URL that names a database`,
    `Write for example \`${type}://plantgw:\${DB_PASSWORD}@127.0.0.1/plantgw\`; ` +
      `characters such as ${quoteAll(['@', '/', '#', '%'])} in a password are percent-encoded`,
  )
}

function isDatabase(text: string, type: keyof typeof SCHEMES): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, pathname } = new URL(text)
  return SCHEMES[type].includes(protocol) && pathname.length > 1
}

/** Milliseconds. */
const DEFAULT_POLL = 5_000
const SHORTEST_POLL = 100

/** The storage of configurations, which is looked at for changes besides. */
export function buildConfigurationStorage(given: Checked, settingsFile: string): StorageSettings {
  const storage = buildStorage(given, settingsFile)
  return storage.type === 'directory'
    ? storage
    : { ...storage, poll: parseDuration(String(given.poll)) ?? DEFAULT_POLL }
}

export function checkConfigurationStorage(storage: Checked, path: Path, report: Report): void {
  checkStorage(storage, path, report)
  if (storage.poll === undefined) return
  const at = [...path, 'poll']
  if (storage.type === 'directory') {
    const hint = 'Write `watch: true` beside `storage`: its files are watched then'
    report('key-without-effect', at, '`poll` does nothing for a storage of type `directory`', hint)
  }
  const poll = parseDuration(String(storage.poll)) ?? 0
  if (poll !== 0 && (poll < SHORTEST_POLL || poll > MAX_DURATION))
    report(
      'invalid-value',
      at,
      '`poll` is out of range',
      'Write a duration from 100ms to 24d, or 0s for never',
    )
}

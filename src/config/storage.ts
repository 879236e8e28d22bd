import { dirname, resolve } from 'node:path'
import type { StorageSettings } from './model.ts'
import type { Path } from './read.ts'
import type { Report } from './rules.ts'
import { list } from './words.ts'

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
      `characters such as ${list(['@', '/', '#', '%'])} in a password are percent-encoded`,
  )
}

function isDatabase(text: string, type: keyof typeof SCHEMES): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, pathname } = new URL(text)
  return SCHEMES[type].includes(protocol) && pathname.length > 1
}

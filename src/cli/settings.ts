import { existsSync, statSync } from 'node:fs'
import { relative } from 'node:path'
import { Option } from 'commander'
import { readSettings } from '../checks/index.ts'
import {
  type Env,
  listenText,
  originOf,
  SETTINGS_FILE,
  type Settings,
  type SettingsFlags,
  type Source,
} from '../config/index.ts'
import type { Vault } from '../credentials/oauth/vault.ts'
import { hasErrors } from '../findings/index.ts'
import { printable } from '../text/index.ts'
import { environmentOf } from './env-files.ts'
import { printFindings } from './output.ts'
import { readInTime, readNamed } from './read-in-time.ts'

/** `--settings`. @param what the command reads from the file */
export function settingsOption(what: string): Option {
  const flags = '-s, --settings <file>'
  return new Option(flags, `${what} (default: $PLANTGW_SETTINGS, else ${SETTINGS_FILE} in this folder)`)
}

/**
 * The settings file of `--settings`, `PLANTGW_SETTINGS`, or `plantgw.yaml` in this folder, if any.
 * @throws Error with the reason
 */
export function settingsSource(file: string | undefined): Source | undefined {
  const named = file ?? (process.env.PLANTGW_SETTINGS || undefined)
  if (named !== undefined || existsSync(SETTINGS_FILE))
    return namedSource(named ?? SETTINGS_FILE, 'settings file')
  return undefined
}

/**
 * The settings of file, environment and flags; findings are printed.
 * @returns no settings if there are errors; `code`: the exit code for them, 2 if one is in a flag or variable instead of the file
 * @throws Error with the reason, if the file is unreadable
 */
export function loadSettings(
  file: string | undefined,
  flags: SettingsFlags = {},
): { settings: Settings | undefined; code: 1 | 2; file: string | undefined } {
  const source = settingsSource(file)
  const { settings, findings } = readSettings(source, process.env, flags)
  if (findings.length) printFindings(findings, new Map(source ? [[source.file, source.text]] : []))
  const failed = !settings || hasErrors(findings)
  return {
    file: source?.file,
    settings: failed ? undefined : settings,
    code: findings.some((found) => found.file !== source?.file) ? 2 : 1,
  }
}

/** `--settings` of commands that only need the variables for configurations. */
export function environmentOption(): Option {
  return settingsOption('settings file, for its `secrets` and the `.env` beside it')
}

/**
 * The variables for configurations, including those of the settings, and these, if they have no errors. Errors in named
 * settings are printed; those in this folder's are only mentioned, as the configurations may not need them.
 * @returns undefined if named settings have errors
 * @throws Error with the reason, if the file is unreadable
 */
export function environmentFor(named: string | undefined): { env: Env; settings?: Settings } | undefined {
  const source = named === undefined ? settingsSource(undefined) : undefined
  const { settings } = source ? readSettings(source, process.env) : loadSettings(named)
  if (settings) return { env: environmentOf(settings), settings }
  if (!source) return undefined
  process.stderr.write(
    `plantgw: ${printable(source.file)} has errors, so its \`secrets\` are not read: see \`plantgw validate\`\n`,
  )
  return { env: process.env }
}

/** Works with the logins of the settings; undefined: they name no `vault`, or have errors. */
export async function withVault<T>(
  named: string | undefined,
  work: (vault: Vault | undefined) => Promise<T>,
): Promise<T> {
  const { vault: given } = readSettings(settingsSource(named), process.env).settings ?? {}
  if (!given) return work(undefined)
  const { openVault } = await import('../credentials/oauth/vault.ts')
  const vault = await openVault(given)
  try {
    return await work(vault)
  } finally {
    await vault.close()
  }
}

/** The folder of configurations where neither the command line nor the settings name any. */
const CONFIGURATIONS_FOLDER = 'configs'

/** The configurations of the settings, or else `configs/`, if there is one; in this folder, relative to it. */
export function usualPaths({ storage }: Pick<Settings, 'storage'>): string[] {
  if (storage) return storage.type === 'directory' ? [pathFromHere(storage.path)] : []
  const isThere = statSync(CONFIGURATIONS_FOLDER, { throwIfNoEntry: false })?.isDirectory()
  return isThere ? [CONFIGURATIONS_FOLDER] : []
}

/**
 * The given paths, or else those that `serve` reads.
 * @throws Error if there are none
 */
export function pathsOr(
  given: readonly string[],
  settings: Pick<Settings, 'storage'> = {},
): readonly string[] {
  const paths = given.length > 0 ? given : usualPaths(settings)
  if (paths.length === 0) throw new Error('nothing to read: pass files or folders, or --settings')
  return paths
}

/** Describes paths whose default is `pathsOr`. */
export const USUAL_PATHS =
  'configuration files or folders; - for standard input (default: those that `serve` reads)'

function pathFromHere(path: string): string {
  const fromHere = relative('.', path)
  return fromHere.startsWith('..') ? path : fromHere || '.'
}

/**
 * A file named by an option, if given.
 * @param what description for the message
 * @throws Error with the reason
 */
export function namedSource(file: string | undefined, what: string): Source | undefined {
  return file === undefined
    ? undefined
    : { file, text: readNamed(file, `the ${what}`, readInTime).toString() }
}

/** Local URL of the admin routes of a gateway with these settings: `http://127.0.0.1:5235`, `unix:/path`. */
export function adminUrlOf({ admin, ...main }: Pick<Settings, 'host' | 'port' | 'tls' | 'admin'>): string {
  const own = admin?.listen
  if (!own) return originOf(main)
  return own.path === undefined ? originOf(own) : listenText(own)
}

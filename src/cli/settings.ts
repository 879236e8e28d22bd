import { existsSync } from 'node:fs'
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
import { hasErrors } from '../findings/index.ts'
import { environmentOf } from './env-files.ts'
import { printFindings } from './output.ts'
import { readInTime } from './read-in-time.ts'

/** `--settings`, with what the command takes from the file. */
export function settingsOption(what: string): Option {
  const flags = '-s, --settings <file>'
  return new Option(flags, `${what} (default: $PLANTGW_SETTINGS, else ${SETTINGS_FILE} in this folder)`)
}

/**
 * The settings file of `--settings`, else of `PLANTGW_SETTINGS`, else `plantgw.yaml` in this folder, if there is one.
 * @throws Error that says why it cannot be read
 */
export function settingsSource(file: string | undefined): Source | undefined {
  const named = file ?? (process.env.PLANTGW_SETTINGS || undefined)
  if (named !== undefined || existsSync(SETTINGS_FILE))
    return namedSource(named ?? SETTINGS_FILE, 'settings file')
  return undefined
}

/**
 * The settings of the file, the environment and the flags; what is wrong with them is printed.
 * @returns no settings where there are errors; `wrongUse` says that one is in a flag or a variable, not in the file
 * @throws Error that says why the file cannot be read
 */
export function loadSettings(
  file: string | undefined,
  flags: SettingsFlags = {},
): { settings: Settings | undefined; wrongUse: boolean; file: string | undefined } {
  const source = settingsSource(file)
  const { settings, findings } = readSettings(source, process.env, flags)
  if (findings.length) printFindings(findings, new Map(source ? [[source.file, source.text]] : []))
  const failed = !settings || hasErrors(findings)
  return {
    file: source?.file,
    settings: failed ? undefined : settings,
    wrongUse: failed && findings.some((found) => found.file !== source?.file),
  }
}

/**
 * The variables that configurations read, with those of the settings of this folder. What is wrong with the settings is
 * told where they are used.
 * @throws Error that says why the file cannot be read
 */
export function localEnvironment(): Env {
  const source = settingsSource(undefined)
  const settings = source && readSettings(source, process.env).settings
  return settings ? environmentOf(settings) : process.env
}

/**
 * A file that an option names, when it is given.
 * @param what it is, in the message
 * @throws Error that says why it cannot be read
 */
export function namedSource(file: string | undefined, what: string): Source | undefined {
  if (file === undefined) return undefined
  try {
    return { file, text: readInTime(file).toString() }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'no such file' : message
    throw new Error(`cannot read the ${what} ${file}: ${why}`)
  }
}

/** Where a gateway with these settings has its own pages, seen from this machine: `http://127.0.0.1:5235`, `unix:/path`. */
export function ownPagesOf({ admin, ...main }: Pick<Settings, 'host' | 'port' | 'tls' | 'admin'>): string {
  const own = admin?.listen
  if (!own) return originOf(main)
  return own.path === undefined ? originOf(own) : listenText(own)
}

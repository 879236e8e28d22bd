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
 * @returns no settings if there are errors; `wrongUse`: an error is in a flag or variable instead of the file
 * @throws Error with the reason, if the file is unreadable
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
 * The variables for configurations, including those of this folder's settings. Findings in the settings are reported by
 * commands that use them.
 * @throws Error with the reason, if the file is unreadable
 */
export function localEnvironment(): Env {
  const source = settingsSource(undefined)
  const settings = source && readSettings(source, process.env).settings
  return settings ? environmentOf(settings) : process.env
}

/**
 * A file named by an option, if given.
 * @param what description for the message
 * @throws Error with the reason
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

/** Local URL of the admin routes of a gateway with these settings: `http://127.0.0.1:5235`, `unix:/path`. */
export function adminUrlOf({ admin, ...main }: Pick<Settings, 'host' | 'port' | 'tls' | 'admin'>): string {
  const own = admin?.listen
  if (!own) return originOf(main)
  return own.path === undefined ? originOf(own) : listenText(own)
}
